"""Damaged stores: found, never believed, and saved as far as possible: R6 of the test plan."""

import csv
import json
import random
import shutil
import sqlite3
import warnings

import pytest

from campaign import dying
from campaign.telling import NAME, chunk, labels, make, names, opened, tell
from weal.errors import WealError
from weal.store.integrity import examine
from weal.store.protocol import open_store
from weal.store.recovery import recover

TOLD = {f"id{i}": i / 7 for i in range(150)}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A store with 150 labels, and its events."""
    path = tmp_path_factory.mktemp("whole") / "weal.db"
    store = open_store(str(path))
    make(store, names(400))
    for one, y in TOLD.items():
        tell(store, one, y)
    store.write_snapshot(NAME, "mind", *store.head(NAME), bytes(range(256)) * 40)
    events = store.read(NAME)
    store.close()
    return path, events


def flip(data, rng):
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def overwrite(data, rng):
    at = rng.randrange(len(data) - 64)
    data[at : at + 64] = rng.randbytes(64)


def zero_page(data, rng):
    at = 4096 * rng.randrange(len(data) // 4096)
    data[at : at + 4096] = bytes(4096)


def swap_pages(data, rng):
    one, other = (4096 * rng.randrange(len(data) // 4096) for _ in range(2))
    data[one : one + 4096], data[other : other + 4096] = (
        data[other : other + 4096],
        data[one : one + 4096],
    )


def truncate(data, rng):
    del data[rng.randrange(1, len(data)) :]


def truncate_pages(data, rng):
    del data[4096 * rng.randrange(1, len(data) // 4096) :]


def flip_header(data, rng):
    data[rng.randrange(100)] ^= 1 << rng.randrange(8)


DAMAGES = [flip, overwrite, zero_page, swap_pages, truncate, truncate_pages, flip_header]


def broken(url):
    return [finding for finding in examine(url) if finding.level == "broken"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_found_or_reads_the_same(whole, quick_folder, damage):  # R6
    path, events = whole
    url, rng, found = f"sqlite:///{quick_folder}/weal.db", random.Random(3), 0
    for number in range(30):
        data = bytearray(path.read_bytes())
        damage(data, rng)
        (quick_folder / "weal.db").write_bytes(data)
        said = _read(url, events)
        found += bool(said or broken(url))
        assert not said or (url in said and "\n" not in said)
        _check_rescue(url, quick_folder / f"saved {number}")
        shutil.rmtree(quick_folder / f"saved {number}")
        (quick_folder / "weal.db-journal").unlink(missing_ok=True)
    assert found >= 3


def _read(url, events):
    """What reading and telling the store are refused with; "" when all is as it was."""
    store = None
    try:
        store = open_store(url)
        assert store.read(NAME) == events
        assert list(store.read_chunks(NAME)) == [chunk(names(400)).data]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "the snapshot .* is damaged")
            kept = store.read_snapshot(NAME, "mind")
        assert kept in (None, (*store.head(NAME), bytes(range(256)) * 40))
        assert tell(store, "id7", 1.0) == 10
    except WealError as error:
        return str(error)
    finally:
        if store:
            store.close()
    return ""


def _check_rescue(url, folder):
    """What the chain vouches for is what was told."""
    paths = recover(url, folder).paths
    assert {"events.jsonl", "labels.csv"} <= {path.name for path in paths}
    with (folder / "labels.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if row["vouched"] == "yes":
                assert TOLD[row["id"]] == float(row["label"])


def test_a_whole_store_is_fine(whole):
    path, _ = whole
    findings = examine(str(path))
    assert {finding.level for finding in findings} == {"fine"}
    said = "\n".join(map(str, findings))
    for word in ("version 1", "pages and indexes", "synced", "152 events", "400 candidates"):
        assert word in said


def test_everything_is_saved_from_a_whole_store(whole, tmp_path):
    path, events = whole
    before = path.read_bytes()
    saved = recover(str(path), tmp_path / "saved")
    counts = "150 labels, 400 ids of candidates, 1 chunks"
    assert str(saved) == f"152 events (152 with valid hashes), {counts}"
    paths = saved.paths
    written = ["events.jsonl", "labels.csv", "ids.csv", "chunk-0.parquet"]
    assert [one.name for one in paths] == written
    assert sorted((tmp_path / "saved").iterdir()) == sorted(paths)
    lines = [json.loads(line) for line in paths[0].read_text().splitlines()]
    assert [line["hash"] for line in lines] == [event.hash for event in events]
    assert {line["vouched"] for line in lines} == {"yes"}
    with paths[1].open(newline="") as file:
        assert {row["id"]: float(row["label"]) for row in csv.DictReader(file)} == TOLD
    assert path.read_bytes() == before


def test_a_lost_page_costs_no_more_than_its_rows(whole, tmp_path):
    path, _ = whole
    counts = []
    for page in range(2, path.stat().st_size // 4096):
        data = bytearray(path.read_bytes())
        data[4096 * page : 4096 * page + 4096] = bytes(4096)
        (tmp_path / "weal.db").write_bytes(data)
        saved = recover(str(tmp_path / "weal.db"), tmp_path / f"saved{page}")
        counts.append(saved.paths[1].read_text().count(",yes"))
    assert sorted(counts)[len(counts) // 2] >= 130


def change(path, statement):
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    ("statement", "word"),
    [
        ("UPDATE weal_event SET body = replace(body, '0.14', '0.15') WHERE seq = 4", "event 4"),
        ("UPDATE weal_event SET who = 'eve' WHERE seq = 9", "event 9"),
        ("DELETE FROM weal_event WHERE seq = 30", "event 31"),
        ("DELETE FROM weal_event WHERE seq = 152", "missing"),
        ("DELETE FROM weal_campaign", "not a campaign"),
        ("DELETE FROM weal_candidate WHERE id = 'id300'", "it has 399 ids"),
        ("UPDATE weal_candidate SET id = 'x' WHERE id = 'id3'", "not candidates: 'id3'"),
        ("UPDATE weal_chunk SET data = x'00'", "chunk 0"),
        ("DELETE FROM weal_chunk", "chunk 0"),
        ("DROP INDEX weal_event_id", None),
        ("DROP TABLE weal_chunk", "weal_chunk"),
        ("PRAGMA user_version = 7", "newer weal"),
        ("PRAGMA application_id = 7", "another program"),
    ],
)
def test_what_is_changed_behind_our_back_is_found(whole, tmp_path, statement, word):
    path = tmp_path / "weal.db"
    shutil.copy(whole[0], path)
    change(path, statement)
    said = "\n".join(str(finding) for finding in broken(str(path)))
    assert (word in said) if word else not said


def test_a_snapshot_of_other_events_is_a_warning(whole, tmp_path):
    path = tmp_path / "weal.db"
    shutil.copy(whole[0], path)
    change(path, "UPDATE weal_snapshot SET seq = 3")
    [finding] = [finding for finding in examine(str(path)) if finding.level != "fine"]
    assert finding.level == "warning"
    assert "snapshot 'mind'" in finding.what


def test_the_chain_says_which_rows_to_trust(whole, tmp_path):
    path = tmp_path / "weal.db"
    shutil.copy(whole[0], path)
    change(path, "UPDATE weal_event SET who = 'eve' WHERE seq = 9")
    change(path, "DELETE FROM weal_event WHERE seq = 30")
    lines = recover(str(path), tmp_path / "saved").paths[0].read_text().splitlines()
    trust = {event["seq"]: event["vouched"] for event in map(json.loads, lines)}
    assert {seq: word for seq, word in trust.items() if word != "yes"} == {9: "no", 31: "alone"}


def test_a_journal_that_was_deleted_is_found_or_harmless(tmp_path):  # R6
    url = f"sqlite:///{tmp_path}/weal.db"
    store = open_store(url)
    make(store, names(3000))
    tell(store, "id1", 1.5)
    events = store.read(NAME)
    store.close()
    dying.run("at", url, "before commit", 1, "tell", killed=True)
    (tmp_path / "weal.db-journal").unlink(missing_ok=True)
    assert _read_events(url) in (events, None)


def _read_events(url):
    try:
        with opened(url) as store:
            return store.read(NAME)
    except WealError:
        return None


def test_an_interrupted_write_is_rolled_back_by_the_doctor_too(tmp_path):
    url = f"sqlite:///{tmp_path}/weal.db"
    store = open_store(url)
    make(store, names(9))
    store.close()
    dying.run("at", url, "before commit", 1, "tell", killed=True)
    assert broken(url) == []
    recover(url, tmp_path / "saved")
    with opened(url) as store:
        assert labels(store) == {}


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0", b"id,label\n" * 999, bytes(9999)])
def test_other_files(tmp_path, content):
    (tmp_path / "weal.db").write_bytes(content)
    assert [finding for finding in examine(f"{tmp_path}/weal.db") if finding.level != "fine"]
    assert (tmp_path / "weal.db").read_bytes() == content
    recover(f"{tmp_path}/weal.db", tmp_path / "saved")


def test_stores_that_are_not_there(tmp_path):
    assert examine("memory:")[0].level == "fine"
    assert examine(f"{tmp_path}/weal.db")[0].level == "broken"
    assert examine(f"sqlite:///{tmp_path}")[0].level == "broken"
    assert examine("postgresql://127.0.0.1:1/x?password=s3cret")[0].level == "broken"
    assert "s3cret" not in str(examine("postgresql://127.0.0.1:1/x?password=s3cret"))
    with pytest.raises(WealError, match="there is no file"):
        recover(f"{tmp_path}/weal.db", tmp_path / "saved")


def test_a_folder_with_files_is_left_alone(whole, tmp_path):
    (tmp_path / "mine").touch()
    with pytest.raises(WealError, match="has files in it: name an empty"):
        recover(str(whole[0]), tmp_path)


def test_the_doctor_looks_at_postgres_too(postgres_url):
    store = open_store(postgres_url)
    make(store, names(9))
    tell(store, "id1", 1.5)
    assert {finding.level for finding in examine(postgres_url)} == {"fine"}
    store.engine.write(lambda sql, again: sql.rows("UPDATE weal_event SET who = 'eve'"))
    assert "does not match its hash" in str(broken(postgres_url)[0])
    store.close()
