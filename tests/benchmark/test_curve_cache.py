"""Finished curves on disk: read back to the last bit, never lost, never mistaken for others."""

import sqlite3
import threading

import numpy as np
import pytest

from weal.benchmark.curve_cache import CURVES_FILE, check_folder, open_store
from weal.benchmark.protocol import Curve
from weal.errors import UnreadableFile


def a_curve(n=0, T=3):
    rng = np.random.default_rng(n)
    labels, nmse, npll, joint, seconds = rng.standard_normal((5, T + 1))
    npll[-1], nmse[0] = np.nan, np.inf  # a method may fail so badly
    experts = {"RBF(0.1)": rng.random(T + 1).tolist(), "same": rng.random(T + 1).tolist()}
    joint[1:-1] = np.nan  # read now and then
    numbers = labels, nmse, npll, joint, seconds
    return Curve(f"task {n}", "méthode", n, *numbers, experts, {"same": [1.0] * (T + 1)})


def same(a, b):
    names = ("task", "method", "realisation", "experts", "acquisitions")
    numbers = ("labels", "nmse", "npll", "joint", "seconds")
    return all(getattr(a, name) == getattr(b, name) for name in names) and all(
        getattr(a, name).tobytes() == getattr(b, name).tobytes() for name in numbers
    )


def fill(folder, n=3):
    with open_store(folder) as store:
        sitting = store.begin_session("weal bench quick")
        for i in range(n):
            store.save(f"key {i}", a_curve(i), sitting, i + 1.0)
    return folder / CURVES_FILE


def test_a_curve_reads_back_to_the_last_bit(tmp_path):
    fill(tmp_path)
    with open_store(tmp_path) as store:
        assert store.has(["key 0", "key 2", "another"]) == {"key 0", "key 2"}
        assert all(same(store.get(f"key {i}"), a_curve(i)) for i in range(3))


def test_a_curve_without_weights_reads_back(tmp_path):
    curve = Curve("t", "m", 0, *np.ones((5, 2)), experts={}, acquisitions={})
    with open_store(tmp_path) as store:
        store.save("k", curve, store.begin_session(""), 0.0)
        assert same(store.get("k"), curve)


def test_the_first_curve_under_a_key_stays(tmp_path):
    with open_store(tmp_path) as store:
        sitting = store.begin_session("")
        store.save("k", a_curve(1), sitting, 0.0)
        store.save("k", a_curve(2), sitting, 0.0)
        assert same(store.get("k"), a_curve(1))


def test_a_curve_that_was_kept_is_seen_by_others_at_once(tmp_path):
    with open_store(tmp_path) as one, open_store(tmp_path) as other:
        one.save("k", a_curve(), one.begin_session(""), 0.0)
        assert other.has(["k"]) == {"k"}


def test_writers_at_the_same_time_lose_nothing(tmp_path):
    def write(n):
        with open_store(tmp_path) as store:
            sitting = store.begin_session("")
            for i in range(10):
                store.save(f"{n} {i}", a_curve(i), sitting, 0.0)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open_store(tmp_path) as store:
        assert len(store.has(f"{n} {i}" for n in range(4) for i in range(10))) == 40


def test_the_wall_clock_counts_the_sittings_that_computed_these_curves(tmp_path):
    with open_store(tmp_path) as store:
        for key, seconds in (("a", 10.0), ("b", 5.0), ("c", 100.0)):
            store.save(key, a_curve(), store.begin_session(key), seconds)
        assert store.wall_seconds(["a", "b"]) == 15.0


def test_without_a_folder_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open_store(None) as store:
        store.save("k", a_curve(), store.begin_session(""), 0.0)
        assert same(store.get("k"), a_curve())
    assert not list(tmp_path.iterdir())


def test_a_folder_is_made_with_its_parents(tmp_path):
    assert fill(tmp_path / "a" / "b").is_file()


def test_an_empty_file_is_a_store_that_was_killed_at_birth(tmp_path):
    (tmp_path / CURVES_FILE).touch()
    fill(tmp_path)
    with open_store(tmp_path) as store:
        assert store.has(["key 0"])


@pytest.mark.parametrize("content", [b"not a database at all", b"\x00" * 4096, b"SQLite format 3"])
def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path, content):
    (tmp_path / CURVES_FILE).write_bytes(content)
    with pytest.raises(UnreadableFile, match="move it away"), open_store(tmp_path):
        pass
    assert (tmp_path / CURVES_FILE).read_bytes() == content


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path):
    db = sqlite3.connect(tmp_path / CURVES_FILE)
    db.execute("CREATE TABLE curve (mine TEXT)")
    db.close()
    before = (tmp_path / CURVES_FILE).read_bytes()
    with pytest.raises(UnreadableFile, match="another program"), open_store(tmp_path):
        pass
    assert (tmp_path / CURVES_FILE).read_bytes() == before


def test_a_database_of_a_newer_weal_is_refused(tmp_path):
    db = sqlite3.connect(fill(tmp_path))
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(UnreadableFile, match="newer weal"), open_store(tmp_path):
        pass


def test_a_truncated_file_is_refused(tmp_path):
    path = fill(tmp_path, 20)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(UnreadableFile, match="damaged"), open_store(tmp_path):
        pass


def test_no_flipped_byte_gives_other_numbers(tmp_path):
    path = fill(tmp_path)
    whole = path.read_bytes()
    rng = np.random.default_rng(5)
    found = 0
    for place in rng.choice(len(whole), 100, replace=False):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        try:
            with open_store(tmp_path) as store:
                for i in range(3):
                    if store.has([f"key {i}"]):
                        assert same(store.get(f"key {i}"), a_curve(i))
        except (UnreadableFile, ValueError):
            found += 1
    assert found


def test_a_folder_that_is_a_file_is_refused_and_nothing_is_made(tmp_path):
    (tmp_path / "file").write_text("mine")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ValueError, match="is a file; choose another folder"):
            check_folder(folder)
        with pytest.raises(ValueError, match="cannot write into"), open_store(folder):
            pass
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_folder_that_cannot_be_written_is_refused():
    with pytest.raises(ValueError, match="cannot write into /proc/weal"):
        check_folder("/proc/weal")
    with pytest.raises(ValueError, match="cannot write into /proc/weal"), open_store("/proc/weal"):
        pass


def test_looking_for_room_makes_nothing(tmp_path):
    check_folder(tmp_path / "a" / "b")
    assert not list(tmp_path.iterdir())


def test_a_folder_where_the_file_should_be_is_refused(tmp_path):
    (tmp_path / CURVES_FILE).mkdir()
    with pytest.raises(ValueError, match="cannot open"):
        check_folder(tmp_path)
