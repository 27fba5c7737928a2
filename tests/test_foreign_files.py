"""Nothing of the user's is removed or overwritten: a stranger's file, folder, link and pipe are
planted in every place that weal removes from, moves to or writes to, and stay as they are."""

import ast
import json
import os
import re
import runpy
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import weal
from shards.pools import inputs, names_of, write
from shell import typed
from weal import files
from weal.benchmark import curve_cache, figures, report
from weal.campaign import candidate_files
from weal.campaign.export import export
from weal.errors import ForeignFile
from weal.formats import archive
from weal.learner.pools import shard_pass as kept_scores
from weal.plots.canvas import figure
from weal.store.recovery import backup, recover
from weal.web import access, candidate_search, server_folder
from weal.web.server_folder import JobResults

NOTES = b"three months of work\n"
SOURCE = Path(weal.__file__).parent


def plant_file(place):
    place.write_bytes(NOTES)


def plant_folder(place):
    place.mkdir()
    (place / "notes.txt").write_bytes(NOTES)


def plant_look_alike(place):
    """A folder with files that are called as ours are, and no mark."""
    place.mkdir()
    for name in ("part-00000.parquet", "hashes.npy"):
        (place / name).write_bytes(NOTES)


def plant_link(place):
    (place.parent / "far.txt").write_bytes(NOTES)
    place.symlink_to(place.parent / "far.txt")


def plant_linked_folder(place):
    (place.parent / "far").mkdir(exist_ok=True)
    (place.parent / "far" / "notes.txt").write_bytes(NOTES)
    place.symlink_to(place.parent / "far")


def plant_dangling(place):
    place.symlink_to(place.parent / "gone")


def plant_pipe(place):
    os.mkfifo(place)


STRANGERS = {
    "file": plant_file, "folder": plant_folder, "look-alike": plant_look_alike, "link": plant_link,
    "linked folder": plant_linked_folder, "dangling link": plant_dangling, "pipe": plant_pipe,
}  # fmt: skip


def contents(folder):
    """Every path below a folder, with what it is and holds; drafts included."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"link to {os.readlink(path)}"
        elif path.is_file():
            found[name] = path.read_bytes()
        else:
            found[name] = path.stat().st_mode
    return found


def pool_learner(tmp_path):
    pool = write(tmp_path / "pool", inputs(40), [20])
    learner = weal.ActiveLearner(weal.open_pool(pool, id_column="id"), n_start=5)
    learner.tell(names_of(40)[:6], np.arange(6.0))
    return learner


def csv_pool(tmp_path):
    pd.DataFrame({"id": range(9), "x": np.arange(9.0)}).to_csv(tmp_path / "lab.csv", index=False)
    return tmp_path / "lab.csv", tmp_path / "lab.csv.parquet"


# Conversion of a CSV: NAME.csv.parquet


@pytest.mark.parametrize("stranger", STRANGERS)
def test_a_conversion_leaves_what_stands_in_its_place(tmp_path, stranger):
    path, place = csv_pool(tmp_path)
    STRANGERS[stranger](place)
    before = contents(tmp_path)
    with pytest.raises(ForeignFile, match=re.escape(str(place))) as error:
        weal.open_pool(path)
    assert "left as it is" in str(error.value)
    assert contents(tmp_path) == before


def changed(path):
    path.write_text(path.read_text() + "9,9.5\n")
    os.utime(path, ns=(0, 0))


@pytest.mark.parametrize("name", ["notes.txt", "part-00007.parquet", ".hidden", "converted.json.2"])
def test_a_conversion_is_not_made_anew_over_a_file_of_the_user(tmp_path, name):
    path, place = csv_pool(tmp_path)
    weal.open_pool(path)
    (place / name).write_bytes(NOTES)
    changed(path)
    before = contents(tmp_path)
    with pytest.raises(ForeignFile, match=re.escape(str(place / name))):
        weal.open_pool(path)
    assert contents(tmp_path) == before
    (place / name).unlink()
    assert len(weal.open_pool(path)) == 10


def test_a_folder_that_0_2_converted_is_used_and_made_anew(tmp_path):
    path, place = csv_pool(tmp_path)
    weal.open_pool(path)
    (place / files.FOLDER_MARK).unlink()  # 0.2 wrote none
    assert len(weal.open_pool(path)) == 9
    assert not (place / files.FOLDER_MARK).exists()  # it was used as it is
    changed(path)
    assert len(weal.open_pool(path)) == 10
    assert sorted(os.listdir(tmp_path)) == ["lab.csv", "lab.csv.parquet"]


def test_a_folder_named_like_a_draft_of_0_2_is_left(tmp_path):
    path, place = csv_pool(tmp_path)
    plant_folder(place.with_name(f"{place.name}.{os.getpid()}"))
    weal.open_pool(path)
    assert (tmp_path / f"lab.csv.parquet.{os.getpid()}" / "notes.txt").read_bytes() == NOTES


def test_a_link_to_a_converted_folder_is_read_and_not_replaced(tmp_path):
    path, place = csv_pool(tmp_path)
    weal.open_pool(path)
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    assert len(weal.open_pool(path)) == 9
    changed(path)
    with pytest.raises(ForeignFile, match=r"a link .*lab\.csv\.parquet"):
        weal.open_pool(path)


# Predictions: the folder that the user names


@pytest.mark.parametrize("stranger", STRANGERS)
def test_predictions_leave_what_stands_in_their_place_even_with_force(tmp_path, stranger):
    learner = pool_learner(tmp_path)
    STRANGERS[stranger](tmp_path / "out")
    before = contents(tmp_path)
    for force in (False, True):
        with pytest.raises(ForeignFile, match=re.escape(str(tmp_path / "out"))):
            learner.predict_pool(tmp_path / "out", force=force)
    assert contents(tmp_path) == before


def test_predictions_never_replace_the_pool_itself(tmp_path):
    learner = pool_learner(tmp_path)
    before = contents(tmp_path)
    with pytest.raises(ForeignFile, match=r"part-000\.parquet is not a file that weal wrote"):
        learner.predict_pool(tmp_path / "pool", force=True)
    assert contents(tmp_path) == before


def test_predictions_replace_predictions_and_fill_an_empty_folder(tmp_path):
    learner, out = pool_learner(tmp_path), tmp_path / "out"
    out.mkdir()
    assert learner.predict_pool(out) == 40
    with pytest.raises(ValueError, match="is not empty; choose another, or use force"):
        learner.predict_pool(out)
    assert learner.predict_pool(out, force=True) == 40
    assert pq.read_table(out).num_rows == 40
    (out / "notes.txt").write_bytes(NOTES)
    with pytest.raises(ForeignFile, match=r"notes\.txt is not a file that weal wrote"):
        learner.predict_pool(out, force=True)
    assert (out / "notes.txt").read_bytes() == NOTES
    assert sorted(os.listdir(tmp_path)) == ["out", "pool"]


# The index of a pool: index-DIGEST in the folder of indexes


@pytest.mark.parametrize("stranger", [one for one in STRANGERS if one != "look-alike"])
def test_an_index_leaves_what_stands_in_its_place(tmp_path, stranger):
    pool = weal.open_pool(write(tmp_path / "pool", inputs(40), [20]), id_column="id")
    (tmp_path / "kept").mkdir()
    place = tmp_path / "kept" / f"index-{pool.digest}"
    STRANGERS[stranger](place)
    before = contents(tmp_path / "kept")
    with pytest.warns(UserWarning, match=re.escape(str(place))):
        learner = weal.ActiveLearner(pool, index=tmp_path / "kept")
    assert learner.candidates.position("c00039") == 39
    assert contents(tmp_path / "kept") == before


# Files that the user names


def save_learner(path):
    weal.ActiveLearner(np.arange(8.0)[:, None]).save(path)


@pytest.mark.parametrize("stranger", STRANGERS)
def test_saving_leaves_a_file_that_weal_did_not_write(tmp_path, stranger):
    STRANGERS[stranger](tmp_path / "mine")
    before = contents(tmp_path)
    with pytest.raises(ForeignFile, match=re.escape(str(tmp_path / "mine"))):
        save_learner(tmp_path / "mine")
    assert contents(tmp_path) == before


def test_saving_replaces_a_file_of_weal_and_an_empty_one(tmp_path):
    for name in ("new", "empty"):
        (tmp_path / "empty").touch()
        save_learner(tmp_path / name)
        save_learner(tmp_path / name)
        assert archive.may_replace(tmp_path / name)
    (tmp_path / "new").write_bytes((tmp_path / "empty").read_bytes()[:60])  # cut off
    save_learner(tmp_path / "new")
    weal.ActiveLearner.load(tmp_path / "new")


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    url = f"sqlite:///{tmp_path / 'weal.db'}"
    table = pd.DataFrame({"x": np.arange(12.0)}, index=names_of(12))
    with weal.open_campaign("screen", url, pool=table, target="y", n_start=5) as campaign:
        campaign.tell(dict(zip(names_of(12)[:6], range(6), strict=True)))
    return url


@pytest.mark.parametrize("stranger", STRANGERS)
def test_a_backup_leaves_what_is_no_store_even_with_force(store, tmp_path, stranger):
    STRANGERS[stranger](tmp_path / "copy.db")
    before = contents(tmp_path)
    for force in (False, True):
        with pytest.raises(ValueError, match=r"copy\.db already"):
            backup(store, tmp_path / "copy.db", force)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("end", ["-journal", "-wal"])
@pytest.mark.parametrize("there", [True, False])
def test_a_backup_is_not_written_beside_the_journal_of_a_store_that_was_killed(
    store, tmp_path, end, there
):
    """SQLite would play it into the copy, and damage it."""
    if there:
        backup(store, tmp_path / "copy.db")
    (tmp_path / f"copy.db{end}").write_bytes(b"pages")
    before = contents(tmp_path)
    with pytest.raises(ValueError, match=rf"copy\.db{end} belongs to a store"):
        backup(store, tmp_path / "copy.db", force=True)
    assert contents(tmp_path) == before


def test_a_backup_replaces_a_store_and_an_empty_file(store, tmp_path):
    (tmp_path / "copy.db").touch()
    for _ in range(2):
        backup(store, tmp_path / "copy.db", force=True)
    assert weal.open_campaign("screen", f"sqlite:///{tmp_path / 'copy.db'}").status().labels == 6


@pytest.mark.parametrize("stranger", STRANGERS)
def test_exports_and_worksheets_leave_what_is_there(store, tmp_path, stranger):
    STRANGERS[stranger](tmp_path / "mine.csv")
    before = contents(tmp_path)
    for words in (["export", "screen"], ["ask", "screen"]):
        assert typed(*words, "--to", "mine.csv").code == 2
    with weal.open_campaign("screen", store) as campaign:
        if stranger in ("folder", "look-alike", "pipe"):  # `force` is for files
            with pytest.raises(ForeignFile, match=r"mine\.csv"):
                export(campaign, "labels", tmp_path / "mine.csv", force=True)
    assert {**contents(tmp_path), "weal.db": 0} == {**before, "weal.db": 0}


def test_force_replaces_a_link_and_leaves_what_it_leads_to(store, tmp_path):
    plant_link(tmp_path / "mine.csv")
    with weal.open_campaign("screen", store) as campaign:
        export(campaign, "labels", tmp_path / "mine.csv", force=True)
    assert (tmp_path / "far.txt").read_bytes() == NOTES


# Folders of output that the user names: pictures, figures, the report of a benchmark


@pytest.mark.parametrize("stranger", STRANGERS)
@pytest.mark.parametrize("name", ["mine.png", "mine.svg", files.FOLDER_MARK])
def test_figures_leave_what_is_there(tmp_path, stranger, name):
    STRANGERS[stranger](tmp_path / name)
    before = contents(tmp_path)
    with pytest.raises(ForeignFile, match=re.escape(name)):
        figures.save(figure(1, 2.0), tmp_path, "mine")
    assert contents(tmp_path) == before


def test_pictures_leave_what_is_there_and_replace_their_own(tmp_path):
    learner = weal.ActiveLearner(np.linspace(0, 6, 31)[:, None], n_start=5)
    learner.tell(range(0, 31, 3), np.sin(np.arange(11.0)))
    plant_file(tmp_path / "inputs.png")
    with pytest.raises(ForeignFile, match=r"inputs\.png already that weal has no record of writi"):
        learner.plot.save(tmp_path)
    assert contents(tmp_path) == {"inputs.png": NOTES}


def test_output_that_the_user_changed_is_the_user_s(tmp_path):
    files.write_files(tmp_path / "out", {"a.csv": b"1", "figures/b.png": b"2"})
    files.write_files(tmp_path / "out", {"a.csv": b"3"})
    (tmp_path / "out" / "figures" / "b.png").write_bytes(NOTES)
    before = contents(tmp_path)
    with pytest.raises(ForeignFile, match=r"b\.png"):
        files.write_files(tmp_path / "out", {"a.csv": b"4", "figures/b.png": b"5"})
    assert contents(tmp_path) == before
    files.write_files(tmp_path / "out", {"a.csv": b"4"})


def test_a_write_that_was_killed_half_way_can_be_repeated(tmp_path, monkeypatch):
    files.write_files(tmp_path, {"a.csv": b"1", "b.csv": b"1"})
    real = files.write_atomically

    def killed(path, *given):
        real(path, *given)
        if path.name == "a.csv":
            raise KeyboardInterrupt

    monkeypatch.setattr(files, "write_atomically", killed)
    with pytest.raises(KeyboardInterrupt):
        files.write_files(tmp_path, {"a.csv": b"2", "b.csv": b"2"})
    monkeypatch.undo()
    files.write_files(tmp_path, {"a.csv": b"3", "b.csv": b"3"})
    assert (tmp_path / "b.csv").read_bytes() == b"3"


def test_a_report_leaves_tables_of_others_and_knows_folders_of_0_2(tmp_path):
    plant_file(tmp_path / "results.csv")
    with pytest.raises(ForeignFile, match=r"results\.csv"):
        report.check_place(tmp_path)
    with curve_cache.open_store(tmp_path), pytest.raises(ForeignFile, match=r"results\.csv"):
        report.check_place(tmp_path)
    (tmp_path / files.FOLDER_MARK).unlink()  # 0.2 kept curves, and wrote none
    report.check_place(tmp_path)
    (tmp_path / "claims.csv").symlink_to(tmp_path / "results.csv")
    with pytest.raises(ForeignFile, match=r"claims\.csv"):
        report.check_place(tmp_path)


# The rest: samples, the rescue of a store, copies before an upgrade, the server's folder, scores


@pytest.mark.parametrize("stranger", STRANGERS)
def test_a_sample_is_not_copied_over_anything(tmp_path, monkeypatch, stranger):
    monkeypatch.chdir(tmp_path)
    STRANGERS[stranger](tmp_path / "alloys.csv")
    before = contents(tmp_path)
    with pytest.raises(ValueError, match=r"alloys\.csv already; it was left as it is"):
        runpy.run_module("weal.samples.__main__")["copy"]("alloys.csv")
    assert contents(tmp_path) == before


def test_a_rescue_writes_into_an_empty_folder_alone(store, tmp_path):
    plant_folder(tmp_path / "saved")
    before = contents(tmp_path / "saved")
    with pytest.raises(weal.WealError, match="has files in it"):
        recover(store, tmp_path / "saved")
    assert contents(tmp_path / "saved") == before


@pytest.mark.parametrize("stranger", STRANGERS)
def test_a_copy_before_an_upgrade_takes_a_free_name(store, tmp_path, stranger):
    from weal.store import sqlite_file

    STRANGERS[stranger](tmp_path / "weal.db.v1")
    before = contents(tmp_path)
    kept = sqlite_file._copy(tmp_path / "weal.db", 1)
    assert kept.name == "weal.db.v1-2"
    assert contents(tmp_path) == {**before, kept.name: kept.read_bytes()}


@pytest.mark.parametrize("stranger", [one for one in STRANGERS if one != "look-alike"])
def test_the_folder_of_a_server_keeps_what_is_not_the_server_s(tmp_path, stranger):
    server, kept = tmp_path / "serve", JobResults(tmp_path / "serve")
    (server / "files").mkdir(parents=True)
    plant = STRANGERS[stranger]
    plant(server / "files" / "notes.csv")
    old = time.time() - 10 * server_folder.MAX_UPLOAD_AGE_SECONDS
    for path in (server / "files").iterdir():
        if path.exists():
            os.utime(path, (old, old), follow_symlinks=False)
    plant(kept.path("screen", "trend.json"))
    plant(kept.path("screen", "all.db"))
    before = contents(server)
    server_folder.delete_old_uploads(server)
    with pytest.raises(ForeignFile, match=r"trend\.json"):
        kept.write_result("screen", "trend", 3, {})
    with pytest.raises(ForeignFile, match=r"all\.db"):
        candidate_search.write(kept.path("screen", "all.db"), 3, [], [])
    assert contents(server) == before


def test_a_token_replaces_a_token_alone(tmp_path):
    first = access.get_or_create_token(tmp_path)
    assert access.get_or_create_token(tmp_path, new=True) != first
    plant_file(tmp_path / "token")
    with pytest.raises(ForeignFile, match="token already that weal did not write"):
        access.get_or_create_token(tmp_path, new=True)
    (tmp_path / "token").chmod(0o644)
    with pytest.raises(ForeignFile, match="token already that weal did not write"):
        access.get_or_create_token(tmp_path)
    assert (tmp_path / "token").read_bytes() == NOTES


@pytest.mark.parametrize("stranger", STRANGERS)
def test_sessions_remove_sessions_alone(tmp_path, stranger):
    """Whatever its name: a file that does not say that it is a session stays."""
    (tmp_path / "sessions").mkdir()
    STRANGERS[stranger](tmp_path / "sessions" / ("ab" * 32))
    before = contents(tmp_path)
    some = access.Sessions(tmp_path)
    some.end(some.begin("a digest"))
    some.begin("a digest")
    some.end_all()
    assert contents(tmp_path) == before


def test_scores_that_are_forgotten_take_nothing_else_along(constants):
    constants(kept_scores, SCORE_CACHE_BYTES=0)
    kept_scores.keep("a", 0, np.zeros((1, 4), np.float32))
    folder = kept_scores._kept.folder
    (folder / "notes.txt").write_bytes(NOTES)
    kept_scores.forget()
    assert contents(folder) == {"notes.txt": NOTES}
    (folder / "notes.txt").unlink()
    folder.rmdir()


def test_a_cached_table_of_the_benchmark_is_not_kept_over_a_file_of_the_user(tmp_path, monkeypatch):
    from weal.benchmark import data_folders

    for plant in (plant_folder, plant_link, plant_dangling, plant_pipe):
        folder = tmp_path / plant.__name__
        folder.mkdir()
        plant(folder / "0123.weal")  # the name of a real one is a hash of what it is computed from
        before = contents(folder)
        with pytest.warns(UserWarning, match=r"0123\.weal already that weal did not write"):
            data_folders._write(folder / "0123.weal", "robot", np.zeros(3))
        assert contents(folder) == before


def test_a_campaign_leaves_a_folder_of_the_user_beside_its_store(tmp_path):
    url = f"sqlite:///{tmp_path / 'weal.db'}"
    plant_folder(tmp_path / "weal.db.pools")
    pool = write(tmp_path / "pool", inputs(40), [20])
    with weal.open_campaign("screen", url, pool=pool, id_column="id") as campaign:
        assert len(campaign.ask(2)) == 2
        assert candidate_files.index_folder(campaign.store) == tmp_path / "weal.db.pools"
    assert (tmp_path / "weal.db.pools" / "notes.txt").read_bytes() == NOTES


# The audit: every call that removes, moves or writes is in this list, with the reason

CALLS = {
    "unlink", "rmdir", "rmtree", "remove", "removedirs", "rename", "renames", "replace", "move",
    "write_text", "write_bytes", "copyfile", "copy", "copy2", "copytree", "truncate", "link",
    "symlink", "symlink_to", "hardlink_to", "touch", "mkstemp", "mkdtemp", "NamedTemporaryFile",
    "TemporaryDirectory", "write_table", "savez", "to_csv", "to_parquet",
}  # fmt: skip
OF_PATHS = {"replace", "rename", "copy", "remove", "link"}  # methods of texts, sets, frames too
LISTED = json.loads((Path(__file__).parent / "file_calls.json").read_text())


def calls_of(path):
    """Calls in a file that may remove, move or write a file: name -> how often."""
    found = Counter()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and (name := called(node)):
            found[name] += 1
    return found


def called(node):
    name = getattr(node.func, "attr", None) or getattr(node.func, "id", "")
    on = ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else ""
    if name in ("open", "fdopen", "ZipFile"):
        texts = [one.value for one in node.args if isinstance(one, ast.Constant)]
        modes = [one for one in texts if isinstance(one, str) and re.fullmatch("[rwaxbt+]+", one)]
        writes = any(set(mode) & set("wax+") for mode in modes) or "O_CREAT" in ast.unparse(node)
        return "open to write" if writes else None
    if name == "save":
        return "np.save" if on == "np" else None
    if name == "connect":
        return "sqlite3.connect" if on == "sqlite3" else None
    if name in OF_PATHS:
        one_path = name in ("replace", "rename") and len(node.args) == 1 and not node.keywords
        return name if on in ("os", "shutil") or one_path else None
    return name if name in CALLS else None


def test_every_call_that_removes_moves_or_writes_a_file_is_listed_with_its_reason():
    found = {
        str(path.relative_to(SOURCE)): dict(sorted(calls_of(path).items()))
        for path in sorted(SOURCE.rglob("*.py"))
        if calls_of(path)
    }
    listed = {name: entry["calls"] for name, entry in LISTED.items()}
    assert found == listed, "list it in tests/file_calls.json, and plant a stranger's file there"
    assert all(len(entry["why"]) > 10 for entry in LISTED.values())
