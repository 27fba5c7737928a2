"""All candidates with predictions: as of single rows, for every kind of quantity, with progress."""

import sqlite3
from contextlib import closing

import pytest

from campaign.several import several
from weal.campaign.prediction_text import moments_of
from weal.campaign.row_predictions import predict_quantity
from weal.web import candidate_predictions, candidate_search, jobs
from weal.web.app import make_templates
from weal.web.job_context import JobContext


@pytest.fixture
def told():
    with several(rows=30) as one:
        for n in range(14):
            one.tell(f"r{n}", {
                "yield": 50.0 + n % 5, "purity": 90.0 + n % 3,
                "crystallised": ["ja", "nein"][n % 2],
                "phase": ["fcc", "bcc", "hcp"][n % 3], "grade": ["low", "medium", "high"][n % 3],
            })  # fmt: skip
        one.tell("r2", {"yield": 53.0}, repeat=True)
        yield one


def is_known(cell):
    return cell is not None


def test_the_file_has_what_single_rows_have(told, tmp_path, constants):
    constants(candidate_predictions, BLOCK_ROWS=7)
    context, seen = JobContext(told.store, tmp_path), []
    jobs.run(context, "explore", {"name": "lab"}, lambda *said: seen.append(said))
    session = told.read_session()
    X = session.state.candidates.inputs_at(slice(0, 30))
    for n, quantity in enumerate(session.state.measured):
        bodies = predict_quantity(session.state, session.beliefs, quantity, X)
        expected = [(*moments_of(quantity, one), one["low"], one["high"]) for one in bodies]
        path = context.results.path("lab", candidate_search.candidates_file(n))
        with closing(sqlite3.connect(path)) as base:
            rows = base.execute("SELECT id, y, mean, sd, low, high, c0, c2 FROM row ORDER BY n")
            found = rows.fetchall()
        assert [row[0] for row in found] == [f"r{k}" for k in range(30)]
        for row, one in zip(found, expected, strict=True):
            assert [cell is None for cell in row[2:6]] == [cell is None for cell in one]
            known = [cell for cell in one if cell is not None]
            assert list(filter(is_known, row[2:6])) == pytest.approx(known, rel=1e-6, abs=1e-9)
        labels = session.ledger.quantity(quantity.name).labels
        assert [row[1] is None for row in found] == [f"r{k}" not in labels for k in range(30)]
        assert {type(row[6]) for row in found} == {float}
        assert found[0][7] == "hard"
        if quantity.name == "yield":
            assert found[2][1] == pytest.approx((52.0 + 53.0) / 2)
    parts = [done / total for _, done, total in seen]
    assert parts == sorted(parts)
    assert parts[-1] == 1.0
    assert len(parts) > 20


def test_without_a_model_there_are_rows_without_predictions(tmp_path):
    with several(rows=10) as one:
        context = JobContext(one.store, tmp_path)
        jobs.run(context, "explore", {"name": "lab"}, lambda *_: None)
        found = candidate_search.read(
            context.results.path("lab", "explore.db"), candidate_search.CandidateQuery()
        )
    assert len(found.rows) == 10
    assert {row["mean"] for row in found.rows} == {None}


def test_cells_that_sqlite_cannot_keep_are_changed_and_others_are_not(tmp_path):
    cells = [["a", "b", "c"], [1.5, None, 0.0], [1.0, float("nan"), float("inf")], [None] * 3,
             [2**70, 3, True], ["x", "\ud800", None], ["x", 3, 1.5]]  # fmt: skip
    path = tmp_path / "explore.db"
    candidate_search.write(path, 3, ["odd"], cells)
    with closing(sqlite3.connect(path)) as base:
        rows = base.execute("SELECT id, y, mean, sd, low, high, c0 FROM row ORDER BY n").fetchall()
    assert rows == [
        ("a", 1.5, 1.0, None, str(2**70), "x", "x"), ("b", None, None, None, 3, "?", 3),
        ("c", 0.0, None, None, 1, None, 1.5),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("progress", "words"),
    [
        (("predicting the candidates", 4200, 10_000), "Predicting the candidates: 42 %"),
        (("reading the table", 0, 4), "Reading the table: 0 %"),
        (("saving", 2, 2), "Saving: 100 %"),
        (None, ""),
        (("odd", 0, 0), ""),
    ],
)
def test_the_waiting_page_shows_stage_and_percent(progress, words):
    macro = make_templates().env.get_template("macros.html").module.job_progress
    shown = str(macro({"progress": progress}))
    assert words in shown
    assert ("value=" in shown) == bool(words)
