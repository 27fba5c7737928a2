"""The conformance suite of stores: memory, SQLite and PostgreSQL."""

import threading
from datetime import UTC, datetime, timedelta

import pytest

from campaign import dying
from campaign.telling import NAME, added, chunk, created, labels, make, names, tell
from weal.errors import (
    AlreadyLabelled,
    Conflict,
    UnknownCampaign,
    UnknownId,
    WealError,
)
from weal.store.events import Draft
from weal.store.protocol import Chunk, append, open_store
from weal.store.urls import mask

ODD_IDS = ["x" * 4096, "y" * 257, "🧪👩‍🔬", "מדגם", "../../x", "'; DROP TABLE weal_event;--"]
ODD_IDS += ["%s ?", "<script>", "a\nb", "\t", " ", "é", "e\u0301", '"', "\\", "NULL", "1", "01"]


def settings(**changes):
    return Draft("settings", {"v": 1, "changes": changes})


def test_a_new_store_has_nothing(store):
    assert store.campaigns() == []
    with pytest.raises(UnknownCampaign, match=r"no campaign 'alloys'.*weal new"):
        store.read(NAME)


def test_a_campaign_is_made_once(store):
    assert make(store, names(3))
    assert not make(store, names(5))
    assert store.campaigns() == [NAME]
    assert [event.kind for event in store.read(NAME)] == ["created", "added"]
    assert store.existing_ids(NAME, names(5)) == set(names(3))


def test_campaigns_do_not_see_each_other(store):
    make(store, ["a", "b", "c"], "one")
    make(store, ["c", "d"], "two")
    tell(store, "c", 1.5, "one")
    tell(store, "c", 2.5, "two")
    assert store.campaigns() == ["one", "two"]
    assert labels(store, "one") == {"c": 1.5}
    assert labels(store, "two") == {"c": 2.5}
    assert store.existing_ids("two", ["a", "c", "d"]) == {"c", "d"}
    assert store.head("one") != store.head("two")


def test_every_method_names_the_campaigns_there_are(store):
    make(store, names(1))
    for call in (
        lambda: store.read("alloy"),
        lambda: store.head("alloy"),
        lambda: store.events_of("alloy", ["a"]),
        lambda: store.events_between("alloy", 1, 1),
        lambda: store.existing_ids("alloy", ["a"]),
        lambda: list(store.read_chunks("alloy")),
        lambda: store.read_snapshot("alloy", "mind"),
        lambda: store.write_snapshot("alloy", "mind", 1, "", b""),
        lambda: store.transact("alloy", lambda book: []),
    ):
        with pytest.raises(UnknownCampaign, match=r"no campaign 'alloy'.*it has 'alloys'"):
            call()


def test_events_come_back_as_they_were_answered(store):
    make(store, names(9))
    written = store.transact(
        NAME,
        lambda book: [
            Draft("told", {"v": 1, "y": 0.1 + 0.2, "note": "µ\0🧪"}, id="id3", who="mk", key="k1"),
            Draft("asked", {"v": 1, "until": "2026", "why": {"a": [1, None, True]}}, id="id4"),
            settings(seed=-0.0),
        ],
    )
    assert [event.seq for event in written] == [3, 4, 5]
    assert tuple(store.read(NAME, since=2)) == written
    assert store.read(NAME, since=4) == [written[2]]
    assert store.read(NAME, since=5) == store.read(NAME, since=99) == []
    assert store.head(NAME) == (5, written[-1].hash)
    assert written[0].body["note"] == "µ\0🧪"
    assert (written[0].who, written[0].key, written[1].key) == ("mk", "k1", None)


def test_times_are_utc_and_by_the_stores_clock(store):
    before = store.now()
    make(store, names(2))
    tell(store, "id1", 2.0)
    times = [event.time for event in store.read(NAME)]
    assert all(time.utcoffset() == timedelta(0) for time in [before, *times])
    assert before <= times[0] <= times[-1] <= store.now()
    assert abs(store.now() - datetime.now(UTC)) < timedelta(minutes=1)


def test_nothing_decided_is_nothing_written(store):
    make(store, names(2))
    assert store.transact(NAME, lambda book: []) == ()
    assert store.head(NAME)[0] == 2


def test_an_error_while_deciding_writes_nothing_and_is_raised(store):
    make(store, names(2))

    def decide(book):
        raise OSError("the oven is off")

    with pytest.raises(OSError, match="the oven is off"):
        store.transact(NAME, decide)
    with pytest.raises(ValueError, match="an event is"):
        store.transact(NAME, lambda book: [settings(), Draft("said", {"v": 1})])
    assert store.head(NAME)[0] == 2
    assert tell(store, "id1", 1.0) == 3


def test_the_book_shows_what_is_there(store):
    make(store, names(9))
    tell(store, "id3", 3.5)
    tell(store, "id1", 1.5)
    store.transact(NAME, lambda book: [Draft("skipped", {"v": 1, "on": True}, id="id3", key="k")])
    seen = {}

    def decide(book):
        seen.update(last=book.last, now=book.now, of=book.events_of(["id1", "id3", "id8", "id3"]))
        seen.update(known=book.existing_ids(["id8", "id9"]), hash=book.hash)
        seen.update(keys=book.events_by_keys(["q", "k", "k"]), no_keys=book.events_by_keys([]))
        seen.update(two=book.events_between(2, 3), beyond=book.events_between(9, 9))
        seen.update(chunks=book.count_chunks(), none=(book.events_of([]), book.existing_ids([])))
        return []

    store.transact(NAME, decide)
    assert seen["last"] == 5
    assert [(event.seq, event.id) for event in seen["of"]] == [(3, "id3"), (4, "id1"), (5, "id3")]
    assert seen["of"] == store.events_of(NAME, ["id3", "id1"])
    assert (seen["known"], seen["hash"]) == ({"id8"}, store.read(NAME)[-1].hash)
    assert (seen["chunks"], seen["none"]) == (1, ([], set()))
    assert ([event.seq for event in seen["keys"]], seen["no_keys"]) == ([5], [])
    assert ([event.seq for event in seen["two"]], seen["beyond"]) == ([2, 3], [])
    assert (store.events_between(NAME, 2, 3), store.events_between(NAME, 9, 9)) == (seen["two"], [])
    assert seen["now"] >= store.read(NAME)[-1].time


def test_a_label_again_is_harmless_and_another_is_not(store):
    make(store, names(4))
    assert tell(store, "id2", 2.5) == tell(store, "id2", 2.5) == 3
    with pytest.raises(AlreadyLabelled):
        tell(store, "id2", 2.6)
    with pytest.raises(UnknownId):
        tell(store, "id4", 1.0)
    assert labels(store) == {"id2": 2.5}


def test_odd_ids_are_kept_verbatim(store):
    make(store, ODD_IDS)
    for i, one in enumerate(ODD_IDS):
        tell(store, one, float(i))
    assert labels(store) == {one: float(i) for i, one in enumerate(ODD_IDS)}
    assert store.existing_ids(NAME, [*ODD_IDS, "b"]) == set(ODD_IDS)
    assert [event.id for event in store.events_of(NAME, ODD_IDS)] == ODD_IDS


def test_names_with_quotes_and_marks(store):
    for name in ("'; DROP TABLE weal_event;--", "%s", "?", '"', "Häuser 🧪"):
        make(store, names(2), name)
        tell(store, "id1", 1.5, name)
        assert labels(store, name) == {"id1": 1.5}
    with pytest.raises(ValueError, match="campaign's name"):
        make(store, names(2), "a/b")


def test_chunks_come_back_in_order(store):
    one, two, three = chunk(["a"]), chunk(["b", "c"]), Chunk.of(bytes(range(256)) * 9, ["d"])
    store.create(NAME, [created(), added(one), added(two, 1)], [one, two])
    store.transact(NAME, lambda book: [added(three, book.count_chunks())], [three])
    assert list(store.read_chunks(NAME)) == [one.data, two.data, three.data]
    assert store.existing_ids(NAME, "abcde") == set("abcd")
    assert store.read(NAME)[-1].body["chunk"] == 2


def test_ids_that_are_there_twice_are_refused_with_the_first_five(store):
    with pytest.raises(ValueError, match=r"7 ids .*'id0', 'id1', 'id2', 'id3', 'id4', \.\.\.;"):
        make(store, names(7) + names(8))
    assert store.campaigns() == []
    make(store, names(9))
    more = chunk(["x", "id3", "y", "id1"])
    with pytest.raises(ValueError, match=r"2 ids .*'id3', 'id1';"):
        store.transact(NAME, lambda book: [added(more)], [more])
    assert store.existing_ids(NAME, ["x", "y"]) == set()
    assert len(list(store.read_chunks(NAME))) == 1


def test_a_chunk_that_does_not_match_its_sum_is_refused(store):
    wrong = Chunk(b"other bytes", ["a"], chunk(["a"]).sha256)
    with pytest.raises(ValueError, match="sha256"):
        store.create(NAME, [created(), added(wrong)], [wrong])
    assert store.campaigns() == []


def test_chunks_need_an_event_and_campaigns_a_beginning(store):
    with pytest.raises(ValueError, match="begins with the event 'created'"):
        store.create(NAME, [], [])
    with pytest.raises(ValueError, match="begins with the event 'created'"):
        store.create(NAME, [settings()], [])
    make(store, names(1))
    with pytest.raises(ValueError, match="chunks need an event"):
        store.transact(NAME, lambda book: [], [chunk(["x"])])


def test_a_hundred_thousand_candidates(store):
    ids = [f"candidate {i}" for i in range(100_000)]
    make(store, ids)
    assert store.existing_ids(NAME, [*ids, "x"]) == set(ids)


def test_a_key_is_used_once(store):
    make(store, names(3))
    store.transact(NAME, lambda book: [Draft("settings", {"v": 1}, key="k")])
    for drafts in (
        [Draft("settings", {"v": 1}, key="k")],
        [Draft("settings", {"v": 1}, key="n"), Draft("settings", {"v": 1}, key="n")],
    ):
        with pytest.raises(ValueError, match="was used already"):
            store.transact(NAME, lambda book, drafts=drafts: drafts)
    assert store.head(NAME)[0] == 3


def test_append_refuses_when_somebody_else_wrote(store):
    make(store, names(3))
    assert append(store, NAME, 2, [settings(a=1)])[0].seq == 3
    with pytest.raises(Conflict, match="3 events now, not 2"):
        append(store, NAME, 2, [settings(a=2)])
    assert append(store, NAME, 3, [settings(a=2)])[0].seq == 4


def test_a_snapshot_replaces_the_one_of_its_kind(store):
    make(store, names(1))
    assert store.read_snapshot(NAME, "mind") is None
    store.write_snapshot(NAME, "mind", 2, "ab", b"\0\1")
    store.write_snapshot(NAME, "other", 1, "cd", b"")
    store.write_snapshot(NAME, "mind", 3, "ef", b"new")
    assert store.read_snapshot(NAME, "mind") == (3, "ef", b"new")
    assert store.read_snapshot(NAME, "other") == (1, "cd", b"")
    assert store.head(NAME)[0] == 2


def test_threads_share_a_store(store):
    make(store, names(80))
    failed = []

    def work(k):
        try:
            for i in range(k, 80, 8):
                tell(store, f"id{i}", float(i))
                store.read(NAME)
        except WealError as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not failed
    assert labels(store) == {f"id{i}": float(i) for i in range(80)}


def test_a_store_can_be_looked_at_while_deciding(store):
    make(store, names(3))

    def decide(book):
        return [settings(seen=len(store.read(NAME)), campaigns=store.campaigns())]

    assert store.transact(NAME, decide)[0].body["changes"] == {"seen": 2, "campaigns": [NAME]}


def test_a_closed_store_opens_again_when_used(shared_url):
    store = open_store(shared_url)
    make(store, names(3))
    store.close()
    store.close()
    assert tell(store, "id1", 1.5) == 3
    other = open_store(shared_url)
    assert labels(other) == {"id1": 1.5}
    store.close()
    other.close()


def test_a_forked_child_does_not_disturb_its_parent(shared_url):
    assert dying.run("forked", shared_url) == [{"id1": 1.0, "id2": 2.0}]


def test_the_default_store_is_named_by_the_environment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WEAL_STORE", raising=False)
    assert open_store().url == "sqlite:///weal.db"
    monkeypatch.setenv("WEAL_STORE", "memory:")
    assert open_store().url == "memory:"


@pytest.mark.parametrize("given", ["mysql://ann:s3cret@h/d", "weal.csv", "weal", "sqlite:weal"])
def test_text_that_is_not_a_store_name_is_refused(given):
    with pytest.raises(ValueError, match="is not the name of a") as caught:
        open_store(given)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:s3cret@host/db",
        "postgresql://host/db?user=ann&password=s3cret",
        "postgresql://host/db?sslpassword=s3cret&a=b",
        "postgresql://:s3cret@host/db",
    ],
)
def test_passwords_are_masked(url):
    assert "***" in mask(url)
    assert "s3" not in mask(url)
    assert "et" not in mask(url)
    assert "host/db" in mask(url)
