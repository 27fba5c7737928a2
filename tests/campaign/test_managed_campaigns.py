"""Titles, archived campaigns and copies; the same on every store, and on stores of weal 0.2."""

import shutil
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from campaign.lab import campaign, number, pool, truth
from campaign.several import labels as labels_by_quantity
from campaign.several import several
from weal.campaign.campaign import Campaign, open_campaign
from weal.campaign.events import settings_body
from weal.campaign.idempotency import AskCall
from weal.campaign.suggestions import choose_rows, decide_leases
from weal.errors import Archived, CampaignExists, ReusedKey
from weal.store.events import Draft
from weal.store.protocol import open_store

GOLDEN = Path(__file__).parent.parent / "golden_0_2"
HOSTILE = "<script>alert(1)</script> \N{ARABIC LETTER ALEF}\N{ARABIC LETTER BEH} =1+1"


def measured(one, n=12):
    """The campaign with labels, a correction, a repeat, a withdrawal, a failure and a skip."""
    for name in one.ask(n):
        one.tell(name, truth(number(name)), note="batch 7")
    first, second, third = list(one.read_ledger().labelled())[:3]
    one.tell(first, 0.5, replace=True, by="bob")
    again = one.tell(second, 0.25, repeat=True)
    one.withdraw([second], event=again)
    one.withdraw([third])
    out = one.ask(3)
    one.skip([out[0]], note="broken")
    one.fail([out[1]], note="exploded")
    return one


def predictions(one):
    session = one.read_session()
    found = one.read_model().predict(session.pool.X, return_std=True)
    return np.concatenate(found)


def test_a_title_is_shown_and_the_name_stays(url):
    with campaign(url) as one:
        assert one.title is None
        one.change(title="  Alloys,\n second round ")
        assert one.title == "Alloys, second round"
        with open_campaign("lab", url if url != "memory:" else one.store) as again:
            assert again.title == "Alloys, second round"
        one.change(title=HOSTILE)
        assert one.title == HOSTILE
        one.change(title="  ")
        assert (one.title, one.name) == (None, "lab")
        assert one.read_ledger().settings["title"] is None


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("x" * 10_000, "at most 200 characters, not 10,000; shorten it"),
        ("a\x1b[2Jb", "invisible or control characters"),
        ("a\N{RIGHT-TO-LEFT OVERRIDE}b", "invisible or control characters"),
        ("a\0b", "NUL"),
        ("a\ud800b", "surrogate"),
        (7, "text"),
    ],
)
def test_a_title_that_cannot_be_shown_is_refused(title, words):
    with campaign() as one, pytest.raises(ValueError, match=words):
        one.change(title=title)


def test_a_campaign_is_created_with_a_title():
    with campaign(title=" Round\t2 ") as one:
        assert one.title == "Round 2"


def test_an_archived_campaign_asks_no_rows_and_loses_no_label(url):
    with campaign(url) as one:
        first, *out = one.ask(3, key="k")
        one.archive()
        assert one.read_ledger().is_archived
        before = one.read_ledger().seq
        one.archive()
        assert one.read_ledger().seq == before
        for ask in (one.ask, lambda: one.ask(check=True), lambda: one.ask_for(["r1"])):
            with pytest.raises(Archived, match="weal archive lab --undo"):
                ask()
        assert one.ask(3, key="k") == [first, *out]  # of a retry, the rows that were asked
        one.tell(first, 3.5)
        one.tell(first, 3.75, replace=True)
        one.skip([out[0]])
        one.tell("r39", 1.0)
        assert one.read_ledger().n_labels == 2
        one.archive(False)
        assert one.ask() not in (first, *out)


def test_an_ask_that_began_before_the_campaign_was_archived_leases_nothing(url):
    with campaign(url) as one:
        session = one.read_session()
        found, _ = choose_rows(session.state, session.beliefs, 1, 0)
        other = Campaign("lab", one.store, "bob")
        other.archive()

        def decide(tx):
            call = AskCall(1, "ann", check=False)
            return decide_leases(tx, session.ledger, found, call, timedelta(hours=1), None)

        with pytest.raises(Archived):
            one.transact(decide)
        assert not one.read_ledger().leases


def test_a_copy_gives_the_same_predictions_and_takes_no_lease_over(url):
    with campaign(url, title="First", seed=3) as one:
        measured(one)
        one.change(until="labels = 80")
        before = one.read_ledger()
        one.archive()
        copy = one.copy("second", by="cy")
        ledger = copy.read_ledger()
        assert np.array_equal(predictions(copy), predictions(one))
        assert (ledger.n_labels, ledger.rows) == (before.n_labels, before.rows)
        assert before.leases
        assert not ledger.leases
        assert ledger.skipped == before.skipped
        assert ledger.failures.labels.keys() == before.failures.labels.keys()
        assert (ledger.title, ledger.is_archived) == (None, False)
        assert ledger.settings["until"] == "labels = 80"
        last = one.read_ledger()
        assert ledger.copied_from == {"campaign": "lab", "seq": last.seq, "hash": last.hash}
        told = [(t.id, t.y, t.note, t.who, t.time) for t in before.quantity().told()]
        assert [(t.id, t.y, t.note, t.who, t.time) for t in ledger.quantity().told()] == told
        assert copy.events()[0].who == "cy"
        copy.tell(copy.ask(), 0.75)
        assert one.read_ledger() == last
        third = copy.copy("third").read_ledger().quantity().told()
        assert [t.time for t in third][:-1] == [row[-1] for row in told]


def test_a_copy_without_labels_begins_anew(url):
    with campaign(url, seed=3) as one:
        first = one.ask(2)
        measured(one)
        fresh = one.copy("fresh", labels=False)
        ledger = fresh.read_ledger()
        assert (ledger.n_labels, ledger.skipped, ledger.failures.labels) == (0, {}, {})
        assert ledger.rows == one.read_ledger().rows
        assert fresh.ask(2) == first


def test_candidates_that_came_after_labels_are_copied_in_their_place(url):
    with campaign(url, rows=20) as one:
        for name in one.ask(8):
            one.tell(name, truth(number(name)))
        one.add(pool(20, 40))
        for name in one.ask(4):
            one.tell(name, truth(number(name)))
        copy = one.copy("again")
        assert copy.read_ledger().rows == 40
        assert np.array_equal(predictions(copy), predictions(one))


def test_a_copy_has_all_quantities_and_words_that_were_added():
    with several() as one:
        one.add_words("phase", "amorphous")
        for n in range(8):
            one.tell(f"r{n}", {"yield": 50.0 + n, "crystallised": "ja", "phase": "amorphous"})
        one.tell("r9", {"grade": "high"})
        copy = one.copy("again")
        assert labels_by_quantity(copy) == labels_by_quantity(one)
        copy.tell("r10", {"phase": "amorphous"})
        copy.add_words("phase", "glass")
        copy.tell("r11", {"phase": "glass"})


def test_a_name_that_is_taken_is_refused_and_a_key_copies_once(url):
    with campaign(url) as one:
        one.tell("r1", 2.0)
        one.copy("again", key="k")
        before = one.store.head("again")
        one.tell("r2", 2.5)
        one.copy("again", key="k")
        assert one.store.head("again") == before
        with pytest.raises(ReusedKey):
            one.copy("again", labels=False, key="k")
        for name in ("again", "lab"):
            with pytest.raises(CampaignExists, match="choose another name"):
                one.copy(name)
        with pytest.raises(ValueError, match="choose another"):
            one.copy("../x")


@pytest.mark.parametrize("file", ["campaigns.db", "backup.db"])
def test_campaigns_of_weal_0_2_are_titled_archived_and_copied(tmp_path, file):
    shutil.copy(GOLDEN / file, tmp_path / "old.db")
    store = open_store(tmp_path / "old.db")
    for name in store.campaigns():
        one = Campaign(name, store, "ann")
        copy = one.copy(f"{name} again")
        assert copy.read_ledger().n_labels == one.read_ledger().n_labels
        one.change(title="Old")
        one.archive()
        assert (one.title, one.read_ledger().is_archived) == ("Old", True)
        one.archive(False)
    assert {event.body["v"] for name in store.campaigns() for event in store.read(name)} == {1}


def test_predictions_of_a_copied_campaign_of_weal_0_2_are_the_same(tmp_path):
    shutil.copy(GOLDEN / "campaigns.db", tmp_path / "old.db")
    store = open_store(tmp_path / "old.db")
    sizes = {name: Campaign(name, store).read_ledger().n_labels for name in store.campaigns()}
    name = max(sizes, key=lambda one: sizes[one])
    one = Campaign(name, store, "ann")
    assert np.array_equal(predictions(one.copy("again")), predictions(one))


def test_titles_and_archives_are_settings_that_weal_0_2_reads():
    """It applies every setting to its ledger, and knows `hidden`; a body of version 1 opens it."""
    body = settings_body({"title": "x", "hidden": True})
    assert body["v"] == 1
    assert Draft("settings", body).kind == "settings"
