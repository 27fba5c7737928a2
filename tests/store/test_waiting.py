"""Fair waiting: nobody chooses in vain, who waits longer tries more often, who wrote lets others.

How long people wait is measured by `benchmarks/store_edges.py waiting`; no times are asserted here.
"""

import sqlite3
from contextlib import closing
from itertools import islice

from campaign import crowd
from campaign.lab import campaign, number, truth
from campaign.telling import NAME, make, names, opened, tell
from soak import count
from weal.campaign import suggestions
from weal.campaign.campaign import open_campaign
from weal.store import postgres, sqlite
from weal.store.database import pauses

ASKS = count(2, long=3)


def test_an_ask_stands_whatever_else_was_written_and_none_is_made_in_vain(shared_url):
    with campaign(shared_url, rows=80, acquisition="wvar") as one:
        for name in one.ask(6):
            one.tell(name, truth(number(name)))
    assert crowd.together("counting", shared_url, ASKS) == [ASKS] * crowd.COUNT


def test_labels_told_while_an_ask_chooses_do_not_undo_it(shared_url, monkeypatch):
    offers, chosen = suggestions._choose, []

    def slow(self, *rest):
        found = offers(self, *rest)
        chosen.append(1)
        with open_campaign("lab", shared_url) as other:
            out = {offer.id for offer in found[0]}
            for _ in range(5):
                name = next(
                    f"r{k}"
                    for k in range(40)
                    if f"r{k}" not in out | other.read_ledger().quantity().labels.keys()
                )
                other.tell(name, truth(number(name)))
        return found

    with campaign(shared_url) as one:
        monkeypatch.setattr(suggestions, "_choose", slow)
        assert one.ask(3)
    assert chosen == [1]


def test_a_turn_that_never_comes_is_gone_without(shared_url, constants):
    constants(sqlite if shared_url.startswith("sqlite") else postgres, LOCK_TIMEOUT_SECONDS=0.01)
    with opened(shared_url) as one, opened(shared_url) as other:
        make(one, names(3))
        with one.turn(NAME), other.turn(NAME):
            tell(other, "id1", 1.0)
        with other.turn(NAME):
            tell(other, "id2", 1.0)


def test_who_has_waited_longer_tries_more_often():
    tries = list(islice(pauses(), 60))
    assert min(tries[:4]) > max(tries[20:])
    assert sum(tries[20:]) / 40 < 0.3 * sum(tries[:4]) / 4


def test_who_had_to_wait_lets_others_go_first(sqlite_url, tmp_path, monkeypatch, constants):
    constants(sqlite, CONTENTION_SECONDS=1e6)  # however slow the machine is
    with opened(sqlite_url) as store:
        make(store, names(9))
        slept = []
        tell(store, "id1", 1.0)
        with closing(sqlite3.connect(tmp_path / "weal.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")

            def sleep(seconds):
                slept.append(seconds)
                if len(slept) == 3:
                    other.execute("COMMIT")

            monkeypatch.setattr("time.sleep", sleep)
            tell(store, "id2", 1.0)  # waits three times
            assert len(slept) == 3
            tell(store, "id3", 1.0)
            assert len(slept) == 4
            store.engine._crowded = 0.0  # a while later
            tell(store, "id4", 1.0)
            assert len(slept) == 4
