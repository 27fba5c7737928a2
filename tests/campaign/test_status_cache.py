"""A status that was computed once is read while nothing is new, and never when something is."""

import json
from dataclasses import fields, is_dataclass, replace
from datetime import timedelta

import pytest

from campaign.taught import measured, taught
from weal.campaign import status_cache
from weal.campaign.log import CampaignLog
from weal.campaign.status import Status
from weal.campaign.status_cache import STATUS_KIND, from_plain


@pytest.fixture
def one(constants):
    """A campaign whose status is kept, however few its labels."""
    constants(status_cache, KEPT_FROM=5)
    return taught(14)


def kept(campaign):
    return campaign.store.read_snapshot(campaign.name, STATUS_KIND)


def refuse(monkeypatch):
    """Nobody may look at candidates or labels from now on."""

    def session(self):
        raise AssertionError("the learner was needed")

    monkeypatch.setattr(CampaignLog, "replay_session", session)


def test_a_status_with_nothing_new_is_read(one, monkeypatch):
    first = one.status()
    assert first.beliefs is not None
    refuse(monkeypatch)
    again = one.status()
    assert again == first
    assert again.to_dict() == first.to_dict()
    assert again.lines() == first.lines()


def test_every_field_comes_back_as_the_type_that_it_was(one):
    def types(value):
        if is_dataclass(value):
            each = [types(getattr(value, field.name)) for field in fields(value)]
            return (type(value), *each)
        return (type(value), *map(types, value)) if isinstance(value, tuple) else type(value)

    first = one.status()
    assert types(one.status()) == types(first)


def test_rows_that_are_out_are_those_of_the_time_of_asking(one, monkeypatch):
    name = one.ask()
    assert [out.id for out in one.status().out] == [name]
    later = one.store.now() + timedelta(days=400)
    refuse(monkeypatch)
    monkeypatch.setattr(type(one.store), "now", lambda self: later)
    found = one.status()
    assert not found.out
    assert [out.id for out in found.lapsed] == [name]


@pytest.mark.parametrize("what", ["tell", "skip", "goal", "settings"])
def test_what_is_new_is_in_the_status(one, what):
    first = one.status()
    free = next(
        name
        for name in one.read_session().pool.ids
        if name not in one.read_ledger().quantity().labels
    )
    if what == "tell":
        one.tell(free, measured(free))
        assert one.status().labels == first.labels + 1
    elif what == "skip":
        one.skip(free)
        assert one.status().skipped == first.skipped + 1
    elif what == "goal":
        assert one.status(goal=0.5).needed is not None
        assert one.status() == first
    else:
        one.change(goal=0.25)
        assert one.status().until == "error < 0.25"


def test_a_status_that_was_not_kept_for_these_events_is_thrown_away(one):
    first = one.status()
    seq, hash, data = kept(one)
    wrong = data.replace(b'"labels": 14', b'"labels": 99')
    assert wrong != data
    one.store.write_snapshot(one.name, STATUS_KIND, seq, hash, wrong)
    assert one.status().labels == 99  # it is believed
    other = json.loads(wrong)
    other["of"][1] = "0.0.0"
    for bad in [
        (seq, "0" * len(hash), wrong),
        (seq - 1, hash, wrong),
        (seq, hash, wrong[:-9]),
        (seq, hash, b"[1]"),
        (seq, hash, b"[" * 100_000),
        (seq, hash, b'{"of": 1}'),
        (seq, hash, json.dumps(other).encode()),
        (seq, hash, wrong.replace(b'"advice"', b'"advise"')),
    ]:
        one.store.write_snapshot(one.name, STATUS_KIND, *bad)
        assert one.status() == first


def test_what_json_cannot_say_is_not_kept(one):
    found = replace(one.status(), name=object())
    before = kept(one)
    status_cache.keep(one.store, one.read_ledger(), None, None, found)
    assert kept(one) == before


def test_few_labels_are_not_kept():
    one = taught(14)
    one.status()
    assert kept(one) is None


def test_a_status_before_there_is_a_model_comes_back(constants):
    constants(status_cache, KEPT_FROM=1)
    one = taught(2)
    first = one.status()
    plain = json.loads(kept(one)[2])["status"]
    assert from_plain(Status, plain) == first
