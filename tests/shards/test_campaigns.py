"""Campaigns on files: the store keeps what they are known by, and asks as with rows of its own."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import weal
from shards.pools import f, inputs, names_of, write
from shell import typed
from weal.errors import ChangedShard
from weal.shards import pool as pools
from weal.store.doctor import examine

U = 300


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(pools, "ROWS", 60)


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
        assert there.ledger.rows == here.ledger.rows == U
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
        assert again.learner.labels.by_name.keys() == {"c00007"}
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
        assert campaign.ledger.asked == 2


def test_files_are_added_and_ids_that_are_there_are_refused(tmp_path, folder):
    with opened(tmp_path, folder, n_start=5) as campaign:
        for name in names_of(U)[:7]:
            campaign.tell(name, measured(name))
        more = write(tmp_path / "more", 4.0 * inputs(40, 5), [], names=[f"m{n}" for n in range(40)])
        assert campaign.add(more) == 40
        assert campaign.ledger.rows == U + 40
        assert any(name.startswith("m") for name in campaign.ask(6))
        again = write(tmp_path / "again", inputs(3), [], names=["new", "m3", "c00001"])
        with pytest.raises(ValueError, match="2 ids come more than once"):
            campaign.add(again)
        assert campaign.ledger.rows == U + 40


def test_labels_in_the_column_of_the_target_are_taken(tmp_path):
    y = [0.5, None, 1.5, *[None] * (U - 3)]
    folder = write(tmp_path / "pool", inputs(U), [100], y=pa.array(y, pa.float64()).to_pylist())
    with opened(tmp_path, folder, target="y") as campaign:
        assert {one.id: one.y for one in campaign.ledger.told()} == {"c00000": 0.5, "c00002": 1.5}
        assert campaign.learner.candidates.input_names == ["x0", "x1", "x2"]


def test_messy_columns_become_inputs_as_in_memory(tmp_path):
    steel, hot = ["A", "B", None] * 100, [900 + n % 7 if n % 5 else None for n in range(U)]
    folder = write(tmp_path / "pool", inputs(U), [100], steel=steel, hot=hot)
    with (
        opened(tmp_path, folder) as there,
        opened(tmp_path, folder, "copied", copy=True) as here,
    ):
        assert there.ledger.plan == here.ledger.plan
        np.testing.assert_array_equal(there.session.pool.X[:], here.session.pool.X)


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
        (["--pool", "{}", "--id", "id", "--cost", "x0"], "costs are for candidates that the store"),
    ],
)
def test_what_is_wrong_is_one_line_and_there_is_no_campaign(tmp_path, folder, words, line):
    given = [word.format(folder) for word in words]
    assert line in run(tmp_path, "new", "screen", *given).complaint
    assert run(tmp_path, "list").out == ""


def test_a_scheduler_that_does_not_answer_is_one_line_and_nothing_is_asked(
    tmp_path, folder, monkeypatch
):
    monkeypatch.setattr("weal.shards.cluster.CONNECT", 1)
    run(tmp_path, "new", "screen", "--pool", str(folder), "--id", "id", "--n-start", "5")
    for name in names_of(U)[:6]:
        run(tmp_path, "tell", "screen", name, str(measured(name)))
    asked = run(tmp_path, "ask", "screen", "--scheduler", "tcp://127.0.0.1:9")
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in asked.complaint
    assert "no row of screen is out" in run(tmp_path, "ask", "screen", "--again").err
