"""The judgement of `benchmarks/attack.py` finds what it is to count; the attack itself is long."""

import pytest
from benchmarks import attack_people, attack_round

from campaign.lab import campaign
from weal.campaign.campaign import open_campaign
from weal.store.events import Draft
from weal.store.protocol import open_store


@pytest.fixture
def judged(sqlite_url):
    """What is found beside a store where r1 was told, and r1 to r3 were asked."""
    with campaign(sqlite_url) as one:
        one.ask_for(["r1", "r2", "r3"])
        one.tell("r1", 0.5, key="tell r1")

    def judge(*lines):
        found = attack_round.judge(sqlite_url, [list(lines)])
        names = ("acknowledged", "lost", "doubled", "leased twice", "broken")
        return {name: found[name] for name in names}

    return judge


TOLD = {"op": "told", "id": "r1", "y": 0.5, "s": 0.01}
FINE = {"acknowledged": 1, "lost": 0, "doubled": 0, "leased twice": 0, "broken": 0}


def test_a_store_that_has_every_label_is_fine(judged):
    assert judged(TOLD) == FINE


def test_a_label_that_is_not_there_or_another_is_lost(judged):
    assert judged(TOLD, {**TOLD, "id": "r2"}) == {**FINE, "acknowledged": 2, "lost": 1}
    assert judged({**TOLD, "y": 0.25}) == {**FINE, "lost": 1}


def test_a_row_with_two_labels_is_doubled(judged, sqlite_url):
    with open_campaign("lab", sqlite_url) as one:
        one.tell("r1", 0.5, repeat=True)
    assert judged(TOLD) == {**FINE, "doubled": 1}


def test_a_row_that_two_people_were_answered_is_leased_twice(judged):
    answers = [{"op": "asked", "key": key, "ids": ["r2"], "s": 0.1} for key in ("a", "b")]
    assert judged(TOLD, *answers) == {**FINE, "leased twice": 1}


def test_a_row_that_goes_out_while_it_is_out_is_leased_twice(judged, sqlite_url):
    store = open_store(sqlite_url)
    body = next(one.body for one in store.read("lab") if one.id == "r2")
    store.transact("lab", lambda book: [Draft("asked", body, "r2", "bo")])
    store.close()
    assert judged(TOLD) == {**FINE, "leased twice": 1}


def test_a_person_who_was_killed_repeats_what_was_not_acknowledged(tmp_path):
    journal = attack_people.Journal(tmp_path / "0.jsonl")
    journal.add(op="ask", key="0-0")
    again = attack_people.Journal(journal.path)
    assert (again.open_key(), again.rows_to_tell()) == ("0-0", [])
    again.add(op="asked", key="0-0", ids=["r4", "r7"], s=0.1)
    again.add(op="told", id="r4", y=1.0, s=0.1)
    once_more = attack_people.Journal(journal.path)
    assert (once_more.open_key(), once_more.rows_to_tell(), once_more.asks()) == (None, ["r7"], 1)
