"""R10: several people, several instruments, at the same time."""

import time
from datetime import datetime, timedelta

import pytest

from campaign import crowd, dying, dying_campaigns
from campaign.lab import campaign, number, truth
from soak import count
from weal.campaign.campaign import Campaign, open_campaign
from weal.errors import Exhausted
from weal.store.protocol import open_store

PROCESSES = crowd.COUNT
ASKS, BATCH = count((3, 3), long=(5, 6))


def test_no_row_is_given_to_two(shared_url):
    with campaign(shared_url, rows=PROCESSES * ASKS * BATCH + 20, acquisition="wvar") as one:
        for name in one.ask(6):
            one.tell(name, truth(number(name)))
    asked = [name for ids in crowd.together("asking", shared_url, ASKS, BATCH) for name in ids]
    assert len(set(asked)) == len(asked) == PROCESSES * ASKS * BATCH
    with open_campaign("lab", shared_url) as one:
        events = one.events()
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert one.read_ledger().n_labels == 6 + PROCESSES
        open_ = one.read_ledger().open_leases(one.store.now())
        assert {lease.who for lease in open_} == {f"person {n}" for n in range(PROCESSES)}


def taken_by_one_who_died(url, n, lease):
    [ids] = dying.run("holding", url, n, lease, killed=True, program=dying_campaigns.__file__)
    return ids


def test_rows_of_one_who_died_are_not_offered_before_the_lease_ends(shared_url):
    with campaign(shared_url, rows=5) as one:
        gone = taken_by_one_who_died(shared_url, 3, 1e6)
        assert set(one.ask(2)).isdisjoint(gone)
        with pytest.raises(Exhausted):
            one.ask()


def test_rows_of_one_who_died_are_offered_again_when_the_lease_ends(shared_url):
    with campaign(shared_url, rows=5) as one:
        mine = one.ask(2, lease="2w")
        gone = taken_by_one_who_died(shared_url, 3, 0.2)
        assert set(mine).isdisjoint(gone)
        end = max(one.read_ledger().leases[name].until for name in gone)
        while one.store.now() < end:
            time.sleep(0.01)
        assert set(one.ask(3)) == set(gone)


def test_eight_who_make_the_same_campaign_make_one(shared_url):
    numbers = crowd.together("making", shared_url)
    assert len(set(numbers)) == PROCESSES
    with open_campaign("lab", shared_url) as one:
        assert [event.kind for event in one.events()].count("created") == 1
        assert one.read_ledger().n_labels == PROCESSES


def test_the_clock_of_the_client_does_not_matter(shared_url, monkeypatch):
    """Leases end by the database's clock, an hour off or not."""

    class Late(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + timedelta(hours=1)

    with campaign(shared_url, rows=6) as one:
        mine = one.ask(3, lease="30m")
        ours = ("campaign.campaign", "campaign.rules", "campaign.ledger", "store.protocol")
        for module in (*ours, "store.statements", "store.memory"):
            monkeypatch.setattr(f"weal.{module}.datetime", Late, raising=False)
        monkeypatch.setattr(time, "time", lambda: 0.0)
        other = Campaign("lab", open_store(shared_url), "bob")
        assert set(other.ask(3)).isdisjoint(mine)
        other.close()
