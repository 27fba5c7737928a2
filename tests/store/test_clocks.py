"""Clocks that are wrong: leases count from the clock of whoever asks, order from the numbers."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from campaign.lab import campaign
from shell import typed
from weal.store import memory
from weal.store.integrity import examine
from weal.store.sqlite import SqliteSql

FAR = timedelta(days=20 * 365)


@pytest.fixture
def clock(monkeypatch, url):
    """Sets how far the clock of the store is off."""

    def set_off(by):
        def now(self):
            return datetime.now(UTC) + by

        monkeypatch.setattr(SqliteSql, "now", now)
        monkeypatch.setattr(memory.MemoryStore, "now", now)
        if url.startswith("postgres"):
            from weal.store.postgres import PostgresSql

            monkeypatch.setattr(PostgresSql, "now", now)

    return set_off


def test_a_lease_counts_from_the_clock_of_whoever_asks(url, clock):
    with campaign(url, rows=8) as one:
        clock(FAR)
        one.tell("r1", 0.5)
        clock(timedelta(0))
        [name] = one.ask(1, lease="1h")
        lease = one.read_ledger().leases[name]
        assert lease.until - datetime.now(UTC) <= timedelta(hours=1)
        assert lease.until - lease.since == timedelta(hours=1)
        clock(timedelta(hours=2))
        assert name in one.ask(7 - 0)


def test_order_comes_from_the_numbers_whatever_the_clocks_say(url, clock):
    with campaign(url, rows=8) as one:
        for n, off in enumerate((FAR, -FAR, timedelta(0))):
            clock(off)
            one.tell(f"r{n}", float(n))
        told = one.read_ledger().quantity().told()
        assert [label.id for label in told] == ["r0", "r1", "r2"]
        assert [label.time.year for label in told] != sorted(label.time.year for label in told)


def test_the_doctor_names_events_from_the_future(sqlite_url, monkeypatch):
    with campaign(sqlite_url, rows=8) as one:
        with monkeypatch.context() as patch:
            patch.setattr(SqliteSql, "now", lambda self: datetime.now(UTC) + FAR)
            one.tell("r1", 0.5)
        one.tell("r2", 0.5)
    said = [str(finding) for finding in examine(sqlite_url) if finding.level == "warning"]
    year = (datetime.now(UTC) + FAR).year
    assert any(f"event 3 of {year}-" in line and "in the future" in line for line in said)
    assert any("times go back at event 4" in line for line in said)
    assert not [one for one in examine(sqlite_url) if one.level == "broken"]


@pytest.mark.usefixtures("steel")
def test_status_names_events_from_the_future(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(SqliteSql, "now", lambda self: datetime.now(UTC) + FAR)
        assert typed("tell", "steel", "A-5", "7", "--by", "ann").code == 0
    done = typed("status", "steel")
    assert done.code == 0
    assert "event 6 (told by ann) is dated" in done.err
    assert json.loads(typed("status", "steel", "--json").out)["future"] == [6]
