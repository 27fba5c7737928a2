"""A shard that is written again with other numbers is noticed, whatever its writer keeps in the
footer, before any of its numbers is used or shown; and files that are damaged are made anew."""

import json
import os
import re
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import weal
from clusters import LEFT, running
from shards.pools import f, inputs, names_of, write
from shell import typed
from weal.campaign import candidate_files
from weal.errors import ChangedShard, UnreadableFile, UnreadableShard
from weal.files import FolderKind, atomic_folder
from weal.shards import id_index, parquet_file, row_groups
from weal.shards.shard import FileShard

U = 300
BARE = {"compression": "none", "use_dictionary": False, "write_statistics": False}


def rewritten(path, factor=-1.0):
    """The same file with other numbers in x1, and the same footer."""
    table = pq.read_table(path)
    column = pa.array(table.column("x1").to_numpy() * factor)
    pq.write_table(table.set_column(2, "x1", column), path, row_group_size=80, **BARE)


def bare(folder):
    for path in folder.iterdir():
        pq.write_table(pq.read_table(path), path, row_group_size=80, **BARE)
    return folder


@pytest.fixture
def folder(tmp_path):
    return bare(write(tmp_path / "pool", inputs(U), [100, 200]))


@pytest.fixture(params=[False, True], ids=["new files", "old files"])
def any_folder(request, folder):
    if request.param:
        for path in folder.iterdir():
            os.utime(path, (1e9, 1e9))
    return folder


def learner_on(pool, **how):
    return weal.ActiveLearner(pool, n_start=5, **how)


def opened(folder):
    return weal.open_pool(folder, id_column="id")


CHANGED = r"part-001.parquet.* has changed since the pool was opened"


def test_the_footer_alone_does_not_show_it(folder):
    before = opened(folder).files[1]
    rewritten(folder / "part-001.parquet")
    before.check()
    assert opened(folder).files[1] == before
    assert opened(folder).content != before


@pytest.mark.parametrize("id_column", ["id", None])
def test_a_change_between_opening_and_the_first_pass_is_noticed(any_folder, id_column):
    pool = weal.open_pool(any_folder, id_column=id_column, columns=["x0", "x1", "x2"])
    rewritten(any_folder / "part-001.parquet")
    with pytest.raises(ChangedShard, match=CHANGED):
        learner_on(pool).candidates.inputs_at(np.arange(U))


def test_rows_and_first_asks_notice(folder):
    learner = learner_on(opened(folder))
    rewritten(folder / "part-001.parquet")
    for look in (
        lambda: learner.rows(["c00150"]),
        lambda: learner.candidates.x("c00150"),
        lambda: learner.ask(4),  # a space-filling start, without a pass over the pool
        lambda: learner.tell("c00150", 1.0),
    ):
        with pytest.raises(ChangedShard, match=CHANGED + r" \(it has other values in the column"):
            look()
    assert not learner.pending
    assert learner.rows(["c00007"]).num_rows == 1  # of a file that is as it was


def test_passes_and_predictions_notice(folder, tmp_path):
    learner = learner_on(opened(folder))
    learner.tell(names_of(U)[:9], f(inputs(U)[:9]))
    before = (folder / "part-001.parquet").read_bytes()
    rewritten(folder / "part-001.parquet")
    for look in (lambda: learner.ask(4), lambda: learner.predict_pool(tmp_path / "out")):
        with pytest.raises(ChangedShard, match=CHANGED):
            look()
    assert not (tmp_path / "out").exists()
    (folder / "part-001.parquet").write_bytes(before)
    assert len(learner.ask(4)) == 4


def test_ids_that_changed_are_noticed(folder):
    learner = learner_on(opened(folder))
    path = folder / "part-001.parquet"
    table = pq.read_table(path)
    names = pa.array([f"d{n:05d}" for n in range(len(table))])
    pq.write_table(table.set_column(0, "id", names), path, row_group_size=80, **BARE)
    with pytest.raises(ChangedShard, match="other values in the column 'id'"):
        learner.candidates.position("c00150")


def test_a_learner_s_file_carries_the_hashes(folder, tmp_path):
    learner_on(opened(folder)).save(tmp_path / "learner.weal")
    rewritten(folder / "part-001.parquet")
    again = weal.ActiveLearner.load(tmp_path / "learner.weal")
    with pytest.raises(ChangedShard, match=CHANGED):
        again.rows(["c00150"])


def campaign_on(folder, tmp_path, **how):
    return weal.open_campaign("screen", f"sqlite:///{tmp_path / 'weal.db'}", **how)


@pytest.mark.parametrize("index", ["kept", "gone"])
def test_a_campaign_notices_in_another_process(folder, tmp_path, monkeypatch, index):
    with campaign_on(folder, tmp_path, pool=folder, id_column="id") as campaign:
        campaign.add(bare(write(tmp_path / "more", inputs(50), [], names=names_of(U + 50)[U:])))
    if index == "gone":
        (tmp_path / "weal.db.pools").rename(tmp_path / "lost")
    for path in (folder / "part-001.parquet", tmp_path / "more" / "part-000.parquet"):
        before = path.read_bytes()
        rewritten(path)
        monkeypatch.chdir(tmp_path)
        asked = typed("ask", "screen", "-n", "2")
        assert asked.code == 1
        assert f"{path.name} " in asked.err.replace("(", " (")
        assert "has changed since the pool was opened" in asked.err
        assert asked.err.count("\n") == 1
        path.write_bytes(before)
    assert typed("ask", "screen", "-n", "2").code == 0


def test_a_campaign_of_0_2_notices_from_its_first_opening_on(folder, tmp_path, monkeypatch):
    from weal.shards import dataset

    monkeypatch.setattr(dataset, "sums_to_json", lambda _: None)  # as 0.2 wrote events
    campaign_on(folder, tmp_path, pool=folder, id_column="id").close()
    monkeypatch.undo()
    for place in (tmp_path / "weal.db.pools").iterdir():  # and its index
        (place / ".weal-folder").unlink()
        (place / "index.json").write_text('{"version": 1}')
    with campaign_on(folder, tmp_path) as campaign:
        campaign.read_session().pool.candidates.row("c00150")
    rewritten(folder / "part-001.parquet")
    with campaign_on(folder, tmp_path) as campaign, pytest.raises(ChangedShard, match=CHANGED):
        campaign.read_session().pool.candidates.row("c00150")


def test_an_index_is_not_adopted_for_a_file_that_was_written_since(folder, tmp_path):
    learner_on(opened(folder), index=tmp_path / "kept")
    rewritten(folder / "part-001.parquet")
    learner = learner_on(opened(folder), index=tmp_path / "kept")
    assert learner.rows(["c00150"]).column("x1")[0].as_py() == -inputs(U)[150, 1]


@LEFT
def test_workers_notice(folder):
    with running(n_workers=1, threads_per_worker=1, processes=True) as made:
        learner = learner_on(opened(folder), scheduler=made.scheduler_address)
        learner.tell(names_of(U)[:9], f(inputs(U)[:9]))
        rewritten(folder / "part-001.parquet")
        with pytest.raises(ChangedShard, match=CHANGED):
            learner.ask(4)
        learner.close()


def test_a_file_that_is_written_while_it_is_read_gives_the_old_rows_or_an_error(folder):
    learner = learner_on(opened(folder))
    part = learner.candidates.parts[1]
    batches = part.batches(["x1"])
    first = next(batches)
    rewritten(folder / "part-001.parquet")
    rest = pa.Table.from_batches([first, *batches])
    np.testing.assert_array_equal(rest.column("x1").to_numpy(), inputs(U)[100:200, 1])


@pytest.mark.parametrize("how", [BARE, {"compression": "zstd", "data_page_size": 200}, {}])
def test_what_is_read_is_what_pyarrow_reads(tmp_path, how):
    table = pa.table({
        "id": names_of(500), "steel": ["A", "B", None, "C"] * 125, "x": inputs(500)[:, 0],
        "list": [[1.5] * (n % 3) for n in range(500)],
    })  # fmt: skip
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=90, **how)
    part = weal.open_pool(tmp_path / "a.parquet", id_column="id", columns=["x", "steel"]).parts[0]
    for columns in (None, ["x"], ["steel", "id"], ["list"]):
        found = pa.Table.from_batches(part.batches(columns))
        assert found.equals(table if columns is None else table.select(found.column_names))
    sums = row_groups.hash_row_groups(part.file, part.groups, ["x"])
    assert len(set(sums["x"])) == 6


def test_old_files_are_opened_without_reading_their_rows(folder, monkeypatch):
    for path in folder.iterdir():
        os.utime(path, (1e9, 1e9))
    monkeypatch.setattr(row_groups.Reader, "chunk", lambda *_: pytest.fail("a row was read"))
    assert opened(folder).sums == {}


def test_files_of_the_future_are_hashed_when_they_are_opened(folder):
    later = time.time() + 3600
    os.utime(folder / "part-002.parquet", (later, later))
    assert str(folder / "part-002.parquet") in opened(folder).sums


# Derived files that are damaged

DAMAGE = {
    "empty": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "flipped": lambda data: data[:-9] + bytes([data[-9] ^ 4]) + data[-8:],
}


@pytest.mark.covering
@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", ["hashes.npy", "positions.npy", "index.json", ".weal-folder"])
def test_a_damaged_index_is_made_anew_with_one_line(folder, tmp_path, monkeypatch, name, damage):
    campaign_on(folder, tmp_path, pool=folder, id_column="id").close()
    place = next((tmp_path / "weal.db.pools").iterdir())
    whole = {path.name: path.read_bytes() for path in place.iterdir()}
    (place / name).write_bytes(DAMAGE[damage](whole[name]))
    if name == ".weal-folder" and damage == "flipped":
        (place / name).write_bytes(whole[name].replace(b'"weal"', b'"veal"'))
    monkeypatch.chdir(tmp_path)
    told = typed("tell", "screen", "c00250", "1.5")
    assert told.code == 0
    note = [line for line in told.err.splitlines() if "index" in line]
    assert len(note) == 1
    assert f"{name if name != '.weal-folder' else '.weal-folder'} is damaged" in note[0]
    for one in ("hashes.npy", "positions.npy"):
        assert (place / one).read_bytes() == whole[one]
    assert sorted(whole) == sorted(os.listdir(place))
    assert typed("tell", "screen", "c00251", "1.5").err.count("damaged") == 0


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe", "dangling"])
def test_an_index_without_a_file_never_hangs(folder, tmp_path, kind):
    learner_on(opened(folder), index=tmp_path / "kept")
    path = next((tmp_path / "kept").iterdir()) / "positions.npy"
    path.unlink()
    {"missing": lambda: None, "folder": path.mkdir, "pipe": lambda: os.mkfifo(path),
     "dangling": lambda: path.symlink_to("gone")}[kind]()  # fmt: skip
    with pytest.warns(UserWarning, match=r"positions\.npy"):
        learner = learner_on(opened(folder), index=tmp_path / "kept")
    assert learner.candidates.position("c00299") == 299


def csv(tmp_path):
    rows = "".join(f"{n},{n / 7!r}\n" for n in range(500))
    (tmp_path / "lab.csv").write_text(f"id,x\n{rows}")
    return tmp_path / "lab.csv", tmp_path / "lab.csv.parquet"


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", ["converted.json", "part-00000.parquet", ".weal-folder"])
def test_a_damaged_conversion_is_made_anew_with_one_line(tmp_path, name, damage, recwarn):
    path, place = csv(tmp_path)
    weal.open_pool(path)
    whole = (place / name).read_bytes()
    (place / name).write_bytes(DAMAGE[damage](whole))
    if damage == "flipped":  # in the middle of the data
        middle = len(whole) // 2
        (place / name).write_bytes(whole[:middle] + b"\x00" + whole[middle + 1 :])
    pool = weal.open_pool(path, id_column="id")
    learner = weal.ActiveLearner(pool)
    assert learner.candidates.x(499)[0] == 499 / 7
    said = [str(one.message) for one in recwarn]
    if name == ".weal-folder":  # without it, the folder is one as weal 0.2 made it
        assert len(said) <= 1
    else:
        assert len(said) == 1
        assert f"{place} is rebuilt from {path}: " in said[0]
        assert name in said[0]
    weal.open_pool(path)
    assert len(list(recwarn)) == len(said)


def test_a_conversion_of_0_2_with_a_damaged_note_is_named_and_left(tmp_path):
    path, place = csv(tmp_path)
    weal.open_pool(path)
    (place / ".weal-folder").unlink()
    (place / "converted.json").write_bytes(b'{"size": 1')
    with pytest.raises(weal.WealError, match=r"lab\.csv\.parquet already, and it has no mark"):
        weal.open_pool(path)


def test_an_interrupted_conversion_leaves_nothing(tmp_path, monkeypatch):
    path, _ = csv(tmp_path)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("weal.shards.parquet_file._write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        weal.open_pool(path)
    assert os.listdir(tmp_path) == ["lab.csv"]


def test_a_damaged_snapshot_is_computed_anew_with_one_line(tmp_path, monkeypatch):
    import sqlite3
    from contextlib import closing

    monkeypatch.chdir(tmp_path)
    table = {"id": names_of(40), **{f"x{k}": inputs(40)[:, k] for k in range(3)}}
    url = f"sqlite:///{tmp_path / 'weal.db'}"
    with weal.open_campaign("screen", url, pool=pa.table(table), id_column="id", n_start=4) as one:
        one.tell(dict(zip(names_of(40)[:8], f(inputs(40)[:8]).tolist(), strict=True)))
    first = typed("status", "screen")
    with closing(sqlite3.connect("weal.db")) as base, base:
        kinds = [kind for (kind,) in base.execute("SELECT kind FROM weal_snapshot ORDER BY kind")]
        base.execute("UPDATE weal_snapshot SET data = x'00'")
    again = typed("status", "screen")
    assert again.code == first.code == 0
    assert again.out == first.out
    for kind in kinds:
        assert f"the snapshot {kind!r} of 'screen' is damaged" in again.err
    assert "damaged" not in typed("status", "screen").err


# What is no file


@pytest.mark.parametrize("kind", ["dangling", "pipe", "folder", "linked folder", "loop"])
@pytest.mark.parametrize("name", ["a.parquet", "b.csv"])
@pytest.mark.timeout(60)
def test_what_is_no_shard_is_named_in_one_line(folder, tmp_path, kind, name):
    path = folder / name
    {
        "dangling": lambda: path.symlink_to("gone"), "pipe": lambda: os.mkfifo(path),
        "folder": path.mkdir, "linked folder": lambda: path.symlink_to(tmp_path / "far"),
        "loop": lambda: path.symlink_to(folder),
    }[kind]()  # fmt: skip
    (tmp_path / "far").mkdir()
    sources = [str(path), [str(path)]]
    sources += [folder, str(folder / "*.parquet")] if name == "a.parquet" and kind != "loop" else []
    sources += [folder] if name == "a.parquet" and kind == "loop" else []
    for source in sources if kind != "loop" or name == "a.parquet" else []:
        with pytest.raises((UnreadableFile, ValueError)) as error:
            weal.open_pool(source, id_column="id")
        assert name in str(error.value) or kind == "linked folder"
        assert "\n" not in str(error.value)


def test_a_shard_that_becomes_a_pipe_does_not_hang(folder):
    learner = learner_on(opened(folder))
    (folder / "part-001.parquet").unlink()
    os.mkfifo(folder / "part-001.parquet")
    with pytest.raises((ChangedShard, UnreadableShard), match=r"part-001.parquet is a named pipe"):
        learner.rows(["c00150"])


def test_a_folder_of_shards_within_a_folder_is_read_once(folder):
    (folder / "more.parquet").mkdir()
    write(folder / "more.parquet", inputs(20), [], names=names_of(U + 20)[U:])
    assert len(opened(folder)) == U + 20


def test_the_description_of_a_pool_is_small(folder):
    from weal.shards.dataset import dataset_from_json, dataset_to_json

    pool = learner_on(opened(folder)).candidates.dataset
    plain = json.loads(json.dumps(dataset_to_json(pool)))
    assert dataset_from_json(plain).sums == pool.sums
    assert all(isinstance(part, FileShard) for part in dataset_from_json(plain).parts)
    assert len(plain["files"][0]["sums"]["x1"]) == 2 * 17 - 1
    del plain["files"][0]["sums"]  # as 0.2 wrote it
    assert len(dataset_from_json(plain).sums) == 2
    assert parquet_file.is_settled(dataset_from_json(plain).files[0]) is False


def test_a_table_is_not_copied_from_files_that_were_written_again(any_folder):
    pool = opened(any_folder)
    rewritten(any_folder / "part-001.parquet")
    with pytest.raises(ChangedShard, match=CHANGED):
        weal.open_campaign("copy", "memory:", pool=pool, copy=True, target="y")


def test_labels_are_not_taken_from_a_file_that_was_written_again(folder, monkeypatch):
    """Their column is no input, and has no checksums."""
    for path in sorted(folder.iterdir()):
        table = pq.read_table(path)
        pq.write_table(table.append_column("y", table.column("x1")), path, **BARE)
    describe = candidate_files.dataset_to_json

    def describe_late(pool):
        rewritten(folder / "part-001.parquet")
        return describe(pool)

    monkeypatch.setattr(candidate_files, "dataset_to_json", describe_late)
    with pytest.raises(ChangedShard, match=CHANGED):
        weal.open_campaign("lab", "memory:", pool=folder, id_column="id", target="y")


def test_drafts_of_weal_are_no_shards(folder):
    draft = folder / ".weal-0123456789abcdef.draft"
    draft.mkdir()
    (draft / "part-00000.parquet").write_bytes((folder / "part-000.parquet").read_bytes())
    assert len(opened(folder)) == U


def test_a_converted_pool_whose_mark_is_damaged_is_made_anew(tmp_path):
    (tmp_path / "lab.csv").write_text("id,x\n" + "".join(f"r{n},{n}\n" for n in range(9)))
    weal.open_pool(tmp_path / "lab.csv", id_column="id")
    (tmp_path / "lab.csv.parquet" / ".weal-folder").write_bytes(b"")
    with pytest.warns(UserWarning, match=r"its \.weal-folder is damaged"):
        pool = weal.open_pool(tmp_path / "lab.csv", id_column="id")
    assert len(pool) == 9


def test_an_index_that_cannot_be_read_is_made_again(folder, tmp_path, monkeypatch):
    pool, each = opened(folder), lambda work, parts: enumerate(map(work, parts))
    first, _ = id_index.kept_index(tmp_path / "index", pool, each)

    def denied(*_):
        raise PermissionError("not yours")

    monkeypatch.setattr(id_index, "changed_file", denied)
    again, _ = id_index.kept_index(tmp_path / "index", pool, each)
    np.testing.assert_array_equal(first.hashes, again.hashes)


def test_of_two_processes_that_replace_a_folder_one_wins(tmp_path, monkeypatch):
    """The other comes between the two moves of the first."""
    kind = FolderKind("trial", re.compile("a"))
    place, rename = tmp_path / "made", Path.rename

    def write(text):
        with atomic_folder(place, kind) as draft:
            (draft / "a").write_text(text)

    def race(self, target):
        found = rename(self, target)
        if self == place:
            monkeypatch.setattr(Path, "rename", rename)
            write("second")
        return found

    write("first")
    monkeypatch.setattr(Path, "rename", race)
    write("third")
    assert (place / "a").read_text() in ("second", "third")
    assert [one.name for one in tmp_path.iterdir()] == ["made"]
