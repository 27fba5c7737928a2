"""Campaigns on files: the store keeps what they are known by, and asks as with rows of its own."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import weal
from shards.pools import f, inputs, names_of, write
from shell import typed
from weal.campaign import candidate_files, creation
from weal.errors import ChangedShard, Conflict
from weal.shards import dask_executor
from weal.shards import dataset as pools
from weal.store.integrity import examine
from weal.web import candidate_search, jobs
from weal.web.job_context import JobContext

U = 300


@pytest.fixture(autouse=True)
def small(constants):
    constants(pools, MIN_SHARD_ROWS=60)


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path / "pool", inputs(U), [70, 200], groups=50)


def opened(tmp_path, source, name="screen", **how):
    return weal.open_campaign(
        name, f"sqlite:///{tmp_path / 'weal.db'}", pool=source, id_column="id", **how
    )


def measured(name):
    return float(f(inputs(U)[names_of(U).index(name)]))


def test_rows_stay_in_their_files_and_the_same_are_asked(tmp_path, folder):
    with (
        opened(tmp_path, folder, n_start=6) as there,
        opened(tmp_path, folder, "copied", n_start=6, copy=True) as here,
    ):
        for _ in range(4):
            ids = here.ask(2)
            assert there.ask(2) == ids
            for name in ids:
                here.tell(name, measured(name))
                there.tell(name, measured(name))
        assert there.read_ledger().rows == here.read_ledger().rows == U
        body = next(event.body for event in there.events() if event.kind == "added")
        assert [file["path"] for file in body["shards"]["files"]] == sorted(
            map(str, folder.iterdir())
        )
        assert there.asked() == []
    assert next((tmp_path / "weal.db.pools").iterdir()).name.startswith("index-")


def test_ids_are_known_by_the_index_and_strangers_are_refused(tmp_path, folder):
    with opened(tmp_path, folder) as campaign:
        campaign.tell("c00007", 1.5)
        campaign.skip("c00299")
        with pytest.raises(weal.UnknownId, match="no candidate has the id 'c00300'"):
            campaign.tell("c00300", 1.5)
    with weal.open_campaign("screen", f"sqlite:///{tmp_path / 'weal.db'}") as again:
        assert again.read_learner().labels.by_name.keys() == {"c00007"}
        again.withdraw("c00007")
        assert again.status().candidates == U


def test_a_file_that_changed_is_named_and_nothing_is_asked(tmp_path, folder):
    with opened(tmp_path, folder) as campaign:
        campaign.ask(2)
    path = folder / "part-001.parquet"
    pq.write_table(pq.read_table(path).slice(1), path)
    with weal.open_campaign("screen", f"sqlite:///{tmp_path / 'weal.db'}") as campaign:
        with pytest.raises(ChangedShard, match=r"part-001.parquet has changed"):
            campaign.ask(2)
        assert campaign.read_ledger().asked == 2


def test_files_are_added_and_ids_that_are_there_are_refused(tmp_path, folder):
    with opened(tmp_path, folder, n_start=5) as campaign:
        for name in names_of(U)[:7]:
            campaign.tell(name, measured(name))
        more = write(tmp_path / "more", 4.0 * inputs(40, 5), [], names=[f"m{n}" for n in range(40)])
        assert campaign.add(more) == 40
        assert campaign.read_ledger().rows == U + 40
        assert any(name.startswith("m") for name in campaign.ask(6))
        again = write(tmp_path / "again", inputs(3), [], names=["new", "m3", "c00001"])
        with pytest.raises(ValueError, match="2 ids are duplicates"):
            campaign.add(again)
        assert campaign.read_ledger().rows == U + 40


def test_the_same_files_added_by_two_at_once_come_once(tmp_path, folder, monkeypatch):
    more = write(tmp_path / "more", inputs(40, 5), [], names=[f"m{n}" for n in range(40)])
    with opened(tmp_path, folder) as one, opened(tmp_path, folder) as other:
        drafts = creation.more

        def draft_late(*given):
            monkeypatch.setattr(creation, "more", drafts)
            found = drafts(*given)
            other.tell("c00001", 1.0)
            other.add(more)
            return found

        monkeypatch.setattr(creation, "more", draft_late)
        with pytest.raises(Conflict, match="another user has added candidates"):
            one.add(more)
        assert one.read_ledger().rows == U + 40
        assert len(one.read_session().state.candidates) == U + 40


def test_labels_in_the_column_of_the_target_are_taken(tmp_path):
    y = [0.5, None, 1.5, *[None] * (U - 3)]
    folder = write(tmp_path / "pool", inputs(U), [100], y=pa.array(y, pa.float64()).to_pylist())
    with opened(tmp_path, folder, target="y") as campaign:
        assert {one.id: one.y for one in campaign.read_ledger().quantity().told()} == {
            "c00000": 0.5,
            "c00002": 1.5,
        }
        assert campaign.read_learner().candidates.input_names == ["x0", "x1", "x2"]


def test_messy_columns_become_inputs_as_in_memory(tmp_path):
    steel, hot = ["A", "B", None] * 100, [900 + n % 7 if n % 5 else None for n in range(U)]
    folder = write(tmp_path / "pool", inputs(U), [100], steel=steel, hot=hot)
    with (
        opened(tmp_path, folder) as there,
        opened(tmp_path, folder, "copied", copy=True) as here,
    ):
        assert there.read_ledger().plan == here.read_ledger().plan
        np.testing.assert_array_equal(
            there.read_learner().candidates.inputs_at(slice(None)), here.read_session().pool.X
        )


def test_the_doctor_finds_nothing_wrong(tmp_path, folder):
    with opened(tmp_path, folder) as campaign:
        campaign.tell("c00007", 1.5)
    found = examine(f"sqlite:///{tmp_path / 'weal.db'}")
    assert {one.level for one in found} == {"fine"}


def run(tmp_path, *words):
    return typed(*words, "--store", f"sqlite:///{tmp_path / 'weal.db'}")


def test_the_command_line_begins_asks_and_writes_predictions(tmp_path, folder):
    pattern = str(folder / "*.parquet")
    made = run(tmp_path, "new", "screen", "--pool", pattern, "--id", "id", "--n-start", "5")
    assert made.out == "screen: 300 candidates, 3 inputs (3 numbers), no labels yet\n"
    for name in names_of(U)[:6]:
        run(tmp_path, "tell", "screen", name, str(measured(name)))
    rows = json.loads(run(tmp_path, "ask", "screen", "-n", "3", "--json").out)
    assert len({row["id"] for row in rows}) == 3
    to = str(tmp_path / "predictions") + "/"
    said = run(tmp_path, "export", "screen", "--what", "predictions", "--to", to)
    assert "300 rows of predictions written" in said.err
    table = ds.dataset(tmp_path / "predictions").to_table()
    assert table.column("id").to_pylist() == names_of(U)
    assert sum(table.column("labelled").to_pylist()) == 6
    assert "300 candidates" in run(tmp_path, "status", "screen").out


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--pool", "nowhere/*.parquet", "--id", "id"], "no file matches 'nowhere/*.parquet'"),
        (["--pool", "{}", "--id", "smiles"], "has no column 'smiles'; it has id, x0, x1, x2"),
        (["--pool", "{}", "--id", "id", "--cost", "x0"], "costs need candidates in the store"),
    ],
)
def test_what_is_wrong_is_one_line_and_there_is_no_campaign(tmp_path, folder, words, line):
    given = [word.format(folder) for word in words]
    assert line in run(tmp_path, "new", "screen", *given).complaint
    assert run(tmp_path, "list").out == ""


def test_a_scheduler_that_does_not_answer_is_one_line_and_nothing_is_asked(
    tmp_path, folder, constants
):
    constants(dask_executor, CONNECT_TIMEOUT_SECONDS=1)
    run(tmp_path, "new", "screen", "--pool", str(folder), "--id", "id", "--n-start", "5")
    for name in names_of(U)[:6]:
        run(tmp_path, "tell", "screen", name, str(measured(name)))
    asked = run(tmp_path, "ask", "screen", "--scheduler", "tcp://127.0.0.1:9")
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in asked.complaint
    assert "no row of screen is out" in run(tmp_path, "ask", "screen", "--again").err


def test_worksheets_go_out_and_come_back(tmp_path, folder):
    with opened(tmp_path, folder, target="y", n_start=4) as campaign:
        campaign.ask(3)
        lines = campaign.worksheet(None, tmp_path / "w.csv").read_text().splitlines()
        at = lines[0].split(",").index("y")
        rows = [line.split(",") for line in lines[1:]]
        for row in rows:
            row[at] = str(measured(row[0]))
        rows[1][1] = "77"
        (tmp_path / "w.csv").write_text("\n".join([lines[0], *map(",".join, rows)]))
        found = campaign.preview(tmp_path / "w.csv")
        assert found.counts == {"told": 3}
        assert "77 here" in found.rows[1].message
        assert campaign.tell_file(tmp_path / "w.csv").new == 3
        assert campaign.tell_file(tmp_path / "w.csv").counts == {"same": 3}
        (tmp_path / "w.csv").write_text("id,y\nc7,1.0\n")
        with pytest.raises(weal.UnknownId, match=r"'c7'; did you mean 'c00007'\?"):
            campaign.tell_file(tmp_path / "w.csv")
        assert campaign.ask_for(["c00150"]) == ["c00150"]
        with pytest.raises(weal.UnknownId, match="no candidate has the id 'c7'"):
            campaign.ask_for(["c7"])
        assert campaign.card("c00150").who
        assert campaign.candidate_ids() == names_of(U)


@pytest.mark.filterwarnings("ignore:c00017. .* is far from the labels so far")
def test_a_label_that_looks_wrong_is_named(tmp_path, folder):
    with opened(tmp_path, folder, target="y") as campaign:
        for k in range(30):
            campaign.tell(f"c{k:05}", measured(f"c{k:05}") * (1000.0 if k == 17 else 1.0))
        assert [one.id for one in campaign.suspects()] == ["c00017"]


@pytest.mark.parametrize(("how", "words"), [
    ({"cost": "x0", "acquisition": "ivr"}, "costs need candidates in the store"),
    ({"missing": {"x0": ["?"]}}, "--missing, --sheet and --header are for candidates"),
    ({"target": "X0"}, "no column 'X0', but one named 'x0'"),
])  # fmt: skip
def test_what_files_cannot_have_is_said(tmp_path, folder, how, words):
    with pytest.raises(ValueError, match=words):
        opened(tmp_path, folder, **how)


@pytest.mark.parametrize("most", [1000, 100])
def test_pages_show_candidates_in_files_or_say_that_they_are_many(
    tmp_path, folder, constants, most
):
    constants(candidate_files, MAX_TABLE_ROWS=most)
    with opened(tmp_path, folder, target="y") as campaign:
        for name in names_of(U)[:14]:
            campaign.tell(name, measured(name))
        (tmp_path / "kept").mkdir()
        context = JobContext(campaign.store, tmp_path / "kept")
        work = lambda kind, **more: jobs.run(context, kind, {"name": "screen", **more}, print)  # noqa: E731
        for kind in ("rows", "why", "measured"):
            work(kind)
        assert context.results.rows("screen", ["c00003"])["c00003"]["id"] == "c00003"
        assert context.results.rows_after("screen") == campaign.read_ledger().seq
        assert len(work("near", id="c00200")) == 3
        assert work("effect", input="x0")["over"] == 200
        assert work("map", x="x0", y="x1")["points"]
        if most < U:
            with pytest.raises(ValueError, match="300 predictions are too many for one table"):
                work("explore")
        else:
            work("explore")
            found = candidate_search.read_row(
                context.results.path("screen", candidate_search.CANDIDATES_FILE), "c00200"
            )
            assert list(found["cells"]) == [name for name in campaign.columns() if name != "id"]


def test_rows_that_are_in_no_file_are_predicted(tmp_path, folder):
    with (
        opened(tmp_path, folder, n_start=6) as there,
        opened(tmp_path, folder, "copied", n_start=6, copy=True) as here,
    ):
        for one in (there, here):
            one.tell({name: measured(name) for name in names_of(U)[:240:20]})
        table = pd.DataFrame(inputs(40, seed=9), columns=["x0", "x1", "x2"])
        found = there.predict(table)
        np.testing.assert_allclose(
            found.drop(columns="id"), here.predict(table).drop(columns="id"), rtol=1e-7
        )
        with pytest.warns(UserWarning, match=r"id: of candidates \(c00007\)"):
            there.predict(table.head(1).assign(id="c00007"))
        with pytest.warns(UserWarning, match="x1: 40 of 40 are far outside"):
            there.predict(table.assign(x1=table["x1"] + 1000.0))
