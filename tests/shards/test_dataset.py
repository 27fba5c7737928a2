"""Pools are opened, not read; what is wrong with a file is said in one line that names it."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import weal
from shards.pools import D, f, inputs, names_of, write
from weal.errors import ChangedShard, UnreadableFile, UnreadableShard
from weal.shards.executors import ThreadExecutor
from weal.shards.id_index import kept_index, make_index
from weal.shards.parquet_file import ParquetFile
from weal.shards.shard import FileShard

U = 400


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path / "pool", inputs(U), [150, 300], groups=80)


def learner_on(source, **how):
    return weal.ActiveLearner(weal.open_pool(source, id_column="id", **how), n_start=5)


def test_opening_reads_no_row(folder, monkeypatch):
    monkeypatch.setattr(FileShard, "batches", lambda *_: pytest.fail("a row was read"))
    for source in (folder, str(folder / "*.parquet"), sorted(folder.iterdir())):
        pool = weal.open_pool(source, id_column="id")
        assert len(pool) == U
        assert [file.rows for file in pool.files] == [150, 150, 100]
        assert pool.columns == ("x0", "x1", "x2")


def test_no_file_matches(tmp_path):
    with pytest.raises(ValueError, match=r"no file matches '.*none.*parquet' \(from the folder"):
        weal.open_pool(tmp_path / "none*.parquet")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="has no Parquet file in it"):
        weal.open_pool(tmp_path / "empty")


def test_a_column_missing_in_one_shard_is_named_with_it(folder):
    path = folder / "part-001.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["x1"]), path)
    with pytest.raises(UnreadableFile, match=r"part-001.parquet has no column 'x1'"):
        weal.open_pool(folder, id_column="id")
    with pytest.raises(ValueError, match=r"part-000.parquet has no column 'size'; it has id, x0"):
        weal.open_pool(folder, id_column="id", columns=["size"])


def test_two_files_with_different_columns_are_named(folder):
    path = folder / "part-002.parquet"
    table = pq.read_table(path)
    pq.write_table(table.set_column(1, "x0", pa.array(["a"] * len(table))), path)
    with pytest.raises(UnreadableFile, match=r"'x0' is string in .*part-002.*double in .*part-000"):
        weal.open_pool(folder, id_column="id")


@pytest.mark.parametrize("content", [b"", b"id,x\n1,2\n", b"PAR1" + b"\0" * 40 + b"PAR1"])
def test_a_file_that_is_not_parquet_is_named(folder, content):
    (folder / "part-001.parquet").write_bytes(content)
    with pytest.raises(UnreadableFile, match=r"part-001.parquet is not Parquet"):
        weal.open_pool(folder, id_column="id")


@pytest.mark.parametrize("twin", [3, 380])
def test_ids_that_repeat_are_found_and_named_with_their_shards(tmp_path, twin):
    names = names_of(U)
    names[200] = names[twin]
    write(tmp_path / "pool", inputs(U), [150, 300], names=names)
    where = "part-000" if twin == 3 else "part-002"
    with pytest.raises(ValueError, match=f"1 ids are duplicates: '{names[twin]}'.*") as error:
        learner_on(tmp_path / "pool")
    assert where in str(error.value)
    assert "part-001" in str(error.value)


def test_rows_without_an_id_are_refused(tmp_path):
    names = [*names_of(U)[:-1], None]
    write(tmp_path / "pool", inputs(U), [150], names=names)
    with pytest.raises(ValueError, match=r"part-001.parquet: 1 rows have no id in 'id'"):
        learner_on(tmp_path / "pool")


def labelled(learner):
    rows = names_of(U)[:9]
    learner.tell(rows, f(inputs(U)[:9]))
    return learner


def test_a_file_that_changed_is_named_and_not_used(folder):
    learner = labelled(learner_on(folder))
    learner.ask()
    path = folder / "part-001.parquet"
    before, table = path.read_bytes(), pq.read_table(path)
    pq.write_table(table.set_column(1, "x0", pa.array(np.zeros(len(table)))), path)
    learner.tell(learner.ask(), 0.5)
    with pytest.raises(ChangedShard, match=r"part-001.parquet has changed since the pool was op"):
        learner.ask()
    path.unlink()
    with pytest.raises(ChangedShard, match=r"part-001.parquet was a shard of this pool, and now"):
        learner.ask()
    path.write_bytes(before)
    assert learner.ask() is not None


def test_a_shard_that_cannot_be_read_is_named(folder, monkeypatch):
    learner = labelled(learner_on(folder))
    path = folder / "part-002.parquet"
    data = bytearray(path.read_bytes())
    data[4:2000] = b"\xff" * 1996  # the footer stays what it was
    path.write_bytes(data)
    asked = learner.pending
    with pytest.raises(UnreadableShard, match=r"part-002.parquet .*cannot be read"):
        learner.ask()
    assert learner.pending == asked


def test_ctrl_c_ends_the_pass_and_nothing_is_asked(folder, monkeypatch):
    learner = labelled(learner_on(folder))
    read = FileShard.blocks

    def interrupted(shard, *given):
        if shard.start:
            raise KeyboardInterrupt
        return read(shard, *given)

    monkeypatch.setattr(FileShard, "blocks", interrupted)
    with pytest.raises(KeyboardInterrupt):
        learner.ask(8)
    assert not learner.pending
    monkeypatch.undo()
    assert len(learner.ask(8)) == 8


def test_progress_counts_every_row_once(folder):
    seen = []
    learner = labelled(learner_on(folder))
    learner._beliefs.progress = lambda *step: seen.append(step)
    learner.ask(4)
    done = [n for what, n, _ in seen if what == "scoring"]
    assert done[0] == 0
    assert done == sorted(done)
    assert done[-1] == seen[-1][2] == U
    assert len(done) == 1 + len(learner.candidates.parts)  # one pass for the batch


def test_an_index_is_kept_and_made_again_where_it_is_not_whole(folder, tmp_path):
    pool = weal.open_pool(folder, id_column="id")
    each = ThreadExecutor(2).each
    first, hashed = kept_index(tmp_path / "kept", pool, each)
    again, same = kept_index(tmp_path / "kept", pool, lambda *_: pytest.fail("ids were read"))
    np.testing.assert_array_equal(first.positions, again.positions)
    assert hashed.sums == same.sums == make_index(pool, each)[1].sums
    np.testing.assert_array_equal(make_index(pool, each)[0].hashes, first.hashes)


def test_ids_are_found_and_strangers_refused(folder):
    candidates = learner_on(folder).candidates
    X = inputs(U)
    for n in (0, 149, 150, 399):
        np.testing.assert_array_equal(candidates.x(names_of(U)[n]), X[n])
        assert candidates.row(names_of(U)[n])["x2"] == X[n, 2]
    for stranger in ("nobody", 7, None, float("nan"), ("c00001",)):
        with pytest.raises(weal.UnknownId, match="no candidate has the id"):
            candidates.position(stranger)
    assert candidates.rows(["c00399", "c00001"]).column("id").to_pylist() == ["c00399", "c00001"]


def test_messy_columns_go_through_a_plan_and_what_comes_later_is_counted(tmp_path):
    X = inputs(U)
    steel = ["A", "B", None, "C"] * (U // 4)
    hot = [900.0 + n if n % 5 else None for n in range(U)]
    write(tmp_path / "pool", X, [150], steel=steel, hot=hot)
    learner = learner_on(tmp_path / "pool")
    assert learner.candidates.encoder.names[3:] == (
        *("steel=A", "steel=B", "steel=C", "steel missing"), *("hot", "hot missing"),
    )  # fmt: skip
    learner = labelled(learner)
    learner.ask()
    assert learner.notes == []
    more = write(
        tmp_path / "more", inputs(50, 3), [], names=[f"m{n}" for n in range(50)],
        steel=["A", "D"] * 25, hot=[1.0] * 50,
    )  # fmt: skip
    learner.add(more)
    learner.ask(more=True)
    assert learner.notes == ["steel: of unknown levels, encoded as no level (25 rows)"]


def test_a_gap_that_the_sample_did_not_show_is_refused_with_its_shard(folder, monkeypatch):
    learner = labelled(learner_on(folder))
    path = folder / "more.parquet"
    rows = {"id": ["new"], **{f"x{j}": [np.nan] for j in range(D)}}
    pq.write_table(pa.table(rows), path)
    learner.add(path)
    with pytest.raises(ValueError, match=r"more.parquet: 1 rows have no finite number.*plan=True"):
        learner.ask()


def test_csv_is_made_into_parquet_once(tmp_path, monkeypatch):
    X = inputs(U)
    table = pd.DataFrame({"id": range(U), **{f"x{j}": X[:, j] for j in range(D)}})
    table["code"] = [f"{n % 7:03d}" for n in range(U)]
    path = tmp_path / "big.csv"
    table.to_csv(path, index=False, sep=";", decimal=",")
    pool = weal.open_pool(path, id_column="id", columns=["x0", "x1", "x2"])
    learner = weal.ActiveLearner(pool)
    np.testing.assert_array_equal(learner.candidates.x(17), X[17])
    assert weal.open_pool(path, id_column="id", columns=["code"]).kinds == ("string",)
    monkeypatch.setattr("weal.shards.parquet_file.open_csv", lambda _: pytest.fail("read again"))
    weal.open_pool(path, id_column="id")


def test_memory_is_cut_in_blocks_and_checked():
    X = inputs(50).astype(np.float32)
    pool = weal.open_pool(X)
    assert pool.parts[0].X.base is not None  # no copy
    with pytest.raises(ValueError, match="got 3 ids for 50 candidates"):
        weal.open_pool(X, ids=[1, 2, 3])
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="1 candidates have NaN or infinite inputs"):
        weal.open_pool(X)
    with pytest.raises(ValueError, match="id_column is for a pool in memory"):
        weal.ActiveLearner(weal.open_pool(inputs(9)), id_column="x")


def test_a_function_of_all_candidates_is_refused(folder):
    def own(belief):
        return belief.mean - belief.mean.max()

    pool = weal.open_pool(folder, id_column="id")
    learner = labelled(weal.ActiveLearner(pool, acquisition=own, n_start=5))
    with pytest.raises(ValueError, match="'own' looks at all candidates at once"):
        learner.ask()


def test_a_file_is_another_if_a_byte_of_its_footer_is(folder):
    path = folder / "part-000.parquet"
    first = weal.open_pool(path).files[0]
    assert isinstance(first, ParquetFile)
    table = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata({"a": "b"}), path, row_group_size=80)
    with pytest.raises(ChangedShard):
        first.check()
