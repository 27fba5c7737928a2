from datetime import UTC, datetime, timedelta

from weal.campaign.ledger import Ledger, apply_events
from weal.store.events import Event

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def event(seq, kind, name=None, hours=0.0, **body):
    time = START + timedelta(hours=hours)
    return Event("lab", seq, kind, name, {"v": 1, **body}, "ann", time, None, f"hash{seq}")


def told(seq, name, y, kind="told"):
    return event(seq, kind, name, y=y, noise=None, note=None, repeat=False)


def asked(seq, name, hours=0.0, lease=24.0, check=False, **more):
    until = (START + timedelta(hours=hours + lease)).isoformat()
    body = {"check": check, "mean": 1.0, "why": {"how": "chosen"}, **more}
    return event(seq, "asked", name, hours, until=until, **body)


def created():
    body = {
        "settings": {"acquisition": "wvar", "lease": 1.0, "seed": 3},
        "plan": {"p": 1},
        "target": "y",
        "id": "name",
    }
    return event(1, "created", **body)


def after(*events):
    return apply_events(Ledger("lab"), events)


def test_the_head_is_that_of_the_last_event():
    ledger = after(created(), event(2, "added", rows=7, chunk=0, sha256=""))
    assert (ledger.seq, ledger.hash, ledger.rows) == (2, "hash2", 7)
    assert ledger.quantity().quantity.column == "y"
    assert ledger.settings == {"acquisition": "wvar", "lease": 1.0, "seed": 3, "until": None}


def test_folding_in_parts_is_folding_at_once_and_leaves_what_it_was_given():
    events = [
        created(),
        event(2, "added", rows=9, chunk=0, sha256=""),
        asked(3, "a"),
        told(4, "a", 1.0),
        told(5, "a", 1.5),
        told(6, "b", 2.0),
        told(7, "b", 3.0, "corrected"),
        event(8, "skipped", "c", on=True, note="broken"),
        event(9, "withdrawn", "a", note=None),
        asked(10, "d"),
        event(11, "settings", changes={"lease": 5.0}),
    ]
    whole = after(*events)
    for cut in range(len(events)):
        before = after(*events[:cut])
        kept = repr(before)
        assert apply_events(before, events[cut:]) == whole
        assert repr(before) == kept


def test_a_lease_ends_by_its_label_by_the_clock_or_when_it_is_given_back():
    ledger = after(created(), asked(2, "a"), asked(3, "b", lease=1.0), asked(4, "c"), asked(5, "d"))
    at = START + timedelta(hours=2)
    assert [lease.id for lease in ledger.open_leases(at)] == ["a", "c", "d"]
    ledger = apply_events(ledger, [told(6, "a", 1.0), event(7, "withdrawn", "c", note=None)])
    ledger = apply_events(ledger, [event(8, "skipped", "d", on=True, note=None)])
    assert ledger.open_leases(START) == [ledger.leases["b"]]
    assert ledger.quantity().labels.keys() == {"a"}


def test_a_row_asked_again_after_its_lease_comes_last():
    ledger = after(created(), asked(2, "a", lease=1.0), asked(3, "b"), asked(4, "a", hours=3.0))
    assert [lease.id for lease in ledger.open_leases(START)] == ["b", "a"]
    assert ledger.asked == 3


def test_a_label_brings_a_skipped_row_back():
    ledger = after(created(), event(2, "skipped", "a", on=True, note=None), told(3, "a", 1.0))
    assert not ledger.skipped
    ledger = apply_events(ledger, [event(4, "skipped", "b", on=True, note="x")])
    assert ledger.skipped == {"b": "x"}
    assert not apply_events(ledger, [event(5, "skipped", "b", on=False, note=None)]).skipped


def test_labels_told_again_corrected_and_withdrawn_are_counted_once():
    ledger = after(
        created(),
        event(2, "added", rows=9, chunk=0, sha256=""),
        told(3, "a", 1.0),
        told(4, "a", 1.1),
        told(5, "a", 1.2, "corrected"),
        event(6, "withdrawn", "a", note=None),
        event(7, "withdrawn", "b", note=None),
        told(8, "a", 1.3),
        event(9, "added", rows=2, chunk=1, sha256=""),
    )
    assert ledger.n_labels == 1
    assert ledger.quantity().labels["a"][0].y == 1.3
    assert ledger.rows == 11


def test_a_label_stands_beside_what_was_expected_when_its_row_was_asked():
    ledger = after(created(), asked(2, "a"), told(3, "a", 1.0), told(4, "b", 2.0))
    (past,) = ledger.quantity().foretold
    assert (past.told.y, past.body["mean"]) == (1.0, 1.0)
    ledger = apply_events(ledger, [told(5, "a", 7.0, "corrected")])
    assert ledger.quantity().foretold[0].told.y == 7.0
    assert not apply_events(ledger, [event(6, "withdrawn", "a", note=None)]).quantity().foretold
