"""Rows that were changed behind the back of a store, or by another clock or a newer weal."""

import pytest

from campaign.telling import NAME, make, names, tell
from weal.errors import DamagedStore, WealError
from weal.store.protocol import open_store


@pytest.mark.parametrize(
    ("statement", "word"),
    [
        ("UPDATE weal_event SET body = replace(body, '2.5', '2.6') WHERE seq = 3", "event 3"),
        ("UPDATE weal_event SET time = '2020' || substr(time, 5) WHERE seq = 4", "event 4"),
        ("DELETE FROM weal_event WHERE seq = 3", "event 4"),
        ("DELETE FROM weal_event WHERE seq = 4", "missing"),
        ("UPDATE weal_campaign SET last = 3", "last event"),
        ("UPDATE weal_campaign SET hash = 'ab'", "last event"),
    ],
)
def test_a_row_that_was_changed_is_found(shared_url, statement, word):
    store = open_store(shared_url)
    make(store, names(3))
    tell(store, "id1", 2.5)
    tell(store, "id2", 3.5)
    store.engine.write(lambda sql, again: sql.rows(statement))
    with pytest.raises(DamagedStore, match=f"is damaged: .*{word}.*weal doctor --store"):
        store.read(NAME)
    store.close()


def test_a_changed_chunk_is_damage_and_a_changed_snapshot_is_none(shared_url):
    store = open_store(shared_url)
    make(store, names(3))
    store.write_snapshot(NAME, "mind", 2, "ab", b"123")
    store.engine.write(lambda sql, again: sql.rows("UPDATE weal_chunk SET data = ?", (b"1",)))
    store.engine.write(lambda sql, again: sql.rows("UPDATE weal_snapshot SET seq = 3"))
    with pytest.raises(DamagedStore, match="chunk 0"):
        list(store.read_chunks(NAME))
    with pytest.warns(
        UserWarning, match=r"the snapshot 'mind' of .* is damaged \(wrong checksum\)"
    ):
        assert store.read_snapshot(NAME, "mind") is None
    store.close()


def test_a_label_is_not_taken_from_a_changed_row(shared_url):
    store = open_store(shared_url)
    make(store, names(3))
    tell(store, "id1", 2.5)
    tell(store, "id2", 3.5)
    change = "UPDATE weal_event SET body = replace(body, '2.5', '2.6') WHERE seq = 3"
    store.engine.write(lambda sql, again: sql.rows(change))
    with pytest.raises(DamagedStore, match="event 3"):
        tell(store, "id1", 2.6)
    store.close()


def test_a_store_from_a_newer_version_is_refused(shared_url):
    store = open_store(shared_url)
    make(store, names(3))
    newer = "UPDATE weal_schema SET version = 99"
    if shared_url.startswith("sqlite"):
        newer = "PRAGMA user_version = 99"
    store.engine.write(lambda sql, again: sql.rows(newer))
    store.close()
    with pytest.raises(WealError, match=r"newer weal \(its tables have version 99.*upgrade weal"):
        open_store(shared_url).read(NAME)
