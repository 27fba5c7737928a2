"""Runs that fail: labels of the quantity "worked", which later labels replace."""

import sqlite3

import pytest

from campaign.lab import campaign, truth
from campaign.test_ledger import after, event, told
from weal.campaign.campaign import Campaign, open_campaign
from weal.errors import AlreadyLabelled, ReusedKey, UnknownId


def failed(one):
    return set(one.read_ledger().failures.labels)


def test_a_failure_is_kept_with_its_note_and_counts_as_no_label():
    with campaign() as one:
        seq = one.fail("r3", note="stirrer stopped", by="bea")
        [label] = one.read_ledger().failures.labels["r3"]
        assert (label.seq, label.note, label.who, label.y) == (seq, "stirrer stopped", "bea", 0.0)
        ledger = one.read_ledger()
        assert (ledger.n_labels, ledger.is_labelled("r3"), list(ledger.quantities)) == (
            0,
            True,
            ["value"],
        )
        assert one.events()[-1].body["quantity"] == "worked"


def test_a_failed_row_is_not_asked_again_and_its_lease_ends():
    with campaign() as one:
        name = one.ask()
        one.fail(name)
        assert name not in one.read_ledger().leases
        assert name not in one.ask(39)


def test_a_label_told_later_replaces_the_failure():
    with campaign() as one:
        one.fail("r3")
        one.tell("r3", 0.5)
        assert not failed(one)
        assert one.read_ledger().n_labels == 1


def test_a_row_with_a_label_worked_unless_it_is_replaced():
    with campaign() as one:
        one.tell("r3", 0.5)
        with pytest.raises(AlreadyLabelled, match=r"has a label \(value 0.5\).*--replace"):
            one.fail(["r2", "r3"])
        assert not failed(one)
        one.fail("r3", replace=True)
        assert (failed(one), one.read_ledger().n_labels) == ({"r3"}, 0)


def test_the_same_failure_again_changes_nothing():
    with campaign() as one:
        first = one.fail("r3")
        with pytest.warns(UserWarning, match="r3 was told as failed before"):
            assert one.fail("r3") == first


def test_a_failure_is_withdrawn_like_a_label():
    with campaign() as one:
        one.fail(["r2", "r3"])
        one.withdraw("r2")
        one.withdraw("r3", quantity="failed")
        assert not failed(one)
        assert not one.read_ledger().is_labelled("r2")
        with pytest.raises(ValueError, match="'r2': not told as failed"):
            one.withdraw("r2", quantity="failed")


def test_an_accident_is_a_skip_that_teaches_nothing():
    with campaign() as one:
        one.fail("r2")
        one.fail(["r2", "r3"], accident=True, note="power cut")
        assert not failed(one)
        assert one.read_ledger().skipped["r3"] == "failed by accident: power cut"
        assert one.events()[-1].body["accident"] is True
        one.unskip("r2")
        assert "r2" not in one.read_ledger().skipped


def test_skip_of_a_failed_row_says_what_it_is():
    with campaign() as one:
        one.fail("r2")
        with pytest.raises(AlreadyLabelled, match=r"told as failed already.*--accident"):
            one.skip("r2")


def test_a_key_makes_a_retry_harmless():
    with campaign() as one:
        first = one.fail(["r2", "r3"], key="k")
        assert one.fail(["r3", "r2"], key="k") == first
        with pytest.raises(ReusedKey, match="'r4': failed"):
            one.fail("r4", key="k")
        with pytest.raises(ReusedKey):
            one.tell("r2", 0.5, key="k")
        one.tell("r2", 0.5)
        with pytest.warns(UserWarning, match="r2: failed was told under this key"):
            one.fail(["r2", "r3"], key="k")
        assert failed(one) == {"r3"}


def test_unknown_rows_fail_for_all():
    with campaign() as one, pytest.raises(UnknownId):
        one.fail(["r2", "nosuch"])


def test_a_campaign_of_0_2_that_measures_worked_goes_on_and_keeps_failures():
    settings = {"acquisition": "wvar", "lease": 1.0, "seed": 3}
    created = event(1, "created", settings=settings, plan={}, target="worked", id="name")
    failure = event(3, "told", "b", y=0.0, noise=None, note=None, quantity="worked")
    ledger = after(created, told(2, "a", 3.5), failure)
    assert list(ledger.quantities) == ["worked (measured)"]
    assert ledger.quantity().labels["a"][0].y == 3.5
    assert list(ledger.failures.labels) == ["b"]


def version(path):
    with sqlite3.connect(path) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


def test_only_a_store_with_failures_is_refused_by_0_2(tmp_path):
    path = tmp_path / "weal.db"
    with campaign(f"sqlite:///{path}") as one:
        one.tell({f"r{n}": truth(n) for n in range(4)})
        one.tell("r1", 0.25, replace=True)
        one.withdraw("r2")
        one.skip("r2")
        one.fail("r5", accident=True)
        assert version(path) == 1
        with pytest.raises(UnknownId):
            one.fail(["r6", "nosuch"])
        assert version(path) == 1
        one.fail("r6")
        assert version(path) == 2
    with Campaign("lab", open_campaign("lab", f"sqlite:///{path}").store) as again:
        assert failed(again) == {"r6"}


def test_a_label_of_several_that_is_withdrawn_is_refused_by_0_2_too(tmp_path):
    path = tmp_path / "weal.db"
    with campaign(f"sqlite:///{path}") as one:
        first = one.tell("r1", 0.5)
        one.tell("r1", 0.6, repeat=True)
        assert version(path) == 1
        one.withdraw("r1", event=first)
        assert version(path) == 2
