"""R10: several people, several instruments, at the same time."""

import multiprocessing
import os
import signal
import time
from datetime import datetime, timedelta

from campaign.lab import campaign, number, truth
from weal.campaign.campaign import Campaign
from weal.campaign.opening import open_campaign
from weal.store.store import open_store

PROCESSES, ASKS, BATCH = 8, 5, 20
_fork = multiprocessing.get_context("fork")


def at_once(work, *arguments):
    """What each of the processes returned; all start at the same moment."""
    barrier, answers = _fork.Barrier(PROCESSES), _fork.SimpleQueue()

    def run(n):
        barrier.wait()
        answers.put(work(n, *arguments))

    workers = [_fork.Process(target=run, args=(n,)) for n in range(PROCESSES)]
    for worker in workers:
        worker.start()
    found = [answers.get() for _ in workers]
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    return found


def ask_and_tell(n, url):
    """Ask many times, and bring back some of the labels."""
    asked = []
    with open_campaign("lab", url, by=f"person {n}") as one:
        for turn in range(ASKS):
            ids = one.ask(BATCH)
            asked += ids
            if turn == 0:
                one.tell(ids[0], truth(number(ids[0])))
    return asked


def test_no_row_is_given_to_two(shared_url):
    with campaign(shared_url, rows=PROCESSES * ASKS * BATCH + 20, acquisition="wvar") as one:
        for name in one.ask(6):
            one.tell(name, truth(number(name)))
    asked = [name for ids in at_once(ask_and_tell, shared_url) for name in ids]
    assert len(set(asked)) == len(asked) == PROCESSES * ASKS * BATCH
    with open_campaign("lab", shared_url) as one:
        events = one.events()
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert one.ledger.n_labels == 6 + PROCESSES
        open_ = one.ledger.open_leases(one.store.now())
        assert {lease.who for lease in open_} == {f"person {n}" for n in range(PROCESSES)}


def take_and_wait(url, lease, told):
    with open_campaign("lab", url, by="holder") as one:
        told.put(one.ask(3, lease=lease))
        time.sleep(600)


def test_rows_of_one_who_died_are_offered_again_when_the_lease_ends(shared_url):
    with campaign(shared_url, rows=5) as one:
        told = _fork.SimpleQueue()
        for lease in (3.0, 12.0, 48.0):  # longer, should this machine be too slow
            holder = _fork.Process(target=take_and_wait, args=(shared_url, lease, told))
            holder.start()
            gone = told.get()
            os.kill(holder.pid, signal.SIGKILL)
            holder.join()
            end = max(one.ledger.leases[name].until for name in gone)
            rest = one.ask(2)
            if one.ledger.leases[rest[0]].since < end:
                break
            one.withdraw([*one.ledger.leases])
        assert set(rest).isdisjoint(gone)
        while one.store.now() < end:
            time.sleep(0.1)
        assert set(one.ask(3)) == set(gone)


def make(n, url):
    with campaign(url) as one:
        return one.tell(f"r{n}", truth(n))


def test_eight_who_make_the_same_campaign_make_one(shared_url):
    numbers = at_once(make, shared_url)
    assert len(set(numbers)) == PROCESSES
    with open_campaign("lab", shared_url) as one:
        assert [event.kind for event in one.events()].count("created") == 1
        assert one.ledger.n_labels == PROCESSES


def test_the_clock_of_the_client_does_not_matter(shared_url, monkeypatch):
    """Leases end by the database's clock, an hour off or not."""

    class Late(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + timedelta(hours=1)

    with campaign(shared_url, rows=6) as one:
        mine = one.ask(3, lease="30m")
        ours = ("campaign.campaign", "campaign.rules", "campaign.ledger", "store.store")
        for module in (*ours, "store.statements", "store.memory"):
            monkeypatch.setattr(f"weal.{module}.datetime", Late, raising=False)
        monkeypatch.setattr(time, "time", lambda: 0.0)
        other = Campaign("lab", open_store(shared_url), "bob")
        assert set(other.ask(3)).isdisjoint(mine)
        other.close()
