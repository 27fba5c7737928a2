"""Several quantities in stores: people at once, kills, versions, backups and recovery."""

import csv
import sqlite3

import pytest

from campaign import crowd, dying, dying_campaigns
from campaign.lab import campaign, truth
from campaign.several import labels, several
from weal.campaign.campaign import open_campaign
from weal.store import statements
from weal.store.integrity import examine
from weal.store.recovery import backup, recover

NEWEST_OF_0_2 = 1  # the highest version of a store that weal 0.2 opens
ROUNDS = 6


def version(url):
    """The number that weal 0.2 compares with its own."""
    if url.startswith("sqlite"):
        with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
            return connection.execute("PRAGMA user_version").fetchone()[0]
    import psycopg

    with psycopg.connect(url) as connection:
        return connection.execute("SELECT max(version) FROM weal_schema").fetchone()[0]


def test_people_who_tell_different_quantities_of_a_row_at_once_are_all_kept(shared_url):
    answers = crowd.together("own_quantities", shared_url, ROUNDS)
    assert len({seq for each in answers for seq in each}) == 4 * ROUNDS
    with open_campaign("lab", shared_url) as one:
        found = labels(one)
    rows = [f"r{r}" for r in range(ROUNDS)]
    words = {"yield": "50", "purity": "90", "crystallised": "ja", "phase": "bcc"}
    assert found == {name: {row: [word] for row in rows} for name, word in words.items()}


def test_a_kill_leaves_all_labels_of_a_call_or_none(quick_sqlite_url):
    several(quick_sqlite_url).close()
    program = dying_campaigns.__file__
    [there] = dying.run("killed_tellers_of_several", quick_sqlite_url, 12, program=program)
    assert there
    assert not [one for one in examine(quick_sqlite_url) if one.level == "broken"]


def test_a_campaign_with_one_number_stays_readable_by_0_2(shared_url):
    with campaign(shared_url) as one:
        one.tell({f"r{n}": truth(n) for n in range(6)})
        one.ask(2)
        one.tell("r1", 0.25, replace=True)
        one.tell("r2", 0.5, repeat=True, note="again")
        one.tell("r2", 0.5, sure=True)
        one.skip("r9")
        one.fail("r8", accident=True)
        one.withdraw("r3")
        one.change(until="labels = 80", lease="3d")
        one.change(goal="learn")
        body = one.events()[0].body
    assert version(shared_url) == NEWEST_OF_0_2
    assert body["settings"]["goal"] is None  # as 0.2 writes it
    with open_campaign("lab", shared_url) as again:
        settings = again.read_ledger().settings
        assert (settings["goal"], settings["until"]) == ("learn", "labels = 80")


def test_two_targets(shared_url):
    several(shared_url, ["yield [%]", "purity [%]"]).close()
    assert version(shared_url) == statements.STORE_VERSION > NEWEST_OF_0_2


def test_one_target_of_words(shared_url):
    several(shared_url, ["crystallised"]).close()
    assert version(shared_url) > NEWEST_OF_0_2


def test_another_goal_than_to_learn(shared_url):
    campaign(shared_url).close()
    assert version(shared_url) == NEWEST_OF_0_2
    campaign(shared_url, name="best", goal="maximise").close()
    assert version(shared_url) > NEWEST_OF_0_2


def test_a_goal_that_is_set_later(shared_url):
    with campaign(shared_url) as one:
        one.change(goal="maximise")
    assert version(shared_url) > NEWEST_OF_0_2


def test_a_failure(shared_url):
    with campaign(shared_url) as one:
        one.fail("r1")
    assert version(shared_url) > NEWEST_OF_0_2
    with open_campaign("lab", shared_url) as again:
        assert list(again.read_ledger().failures.labels) == ["r1"]


def test_one_label_of_several_withdrawn(shared_url):
    with campaign(shared_url) as one:
        first = one.tell("r1", 0.5)
        one.tell("r1", 0.6, repeat=True)
        assert version(shared_url) == NEWEST_OF_0_2
        one.withdraw("r1", event=first)
    assert version(shared_url) > NEWEST_OF_0_2


@pytest.fixture
def whole(tmp_path):
    """A store with several quantities and failures."""
    url = f"sqlite:///{tmp_path}/weal.db"
    with several(url) as one:
        one.tell("r1", {"yield": 82.1, "crystallised": "ja", "grade": "high"}, note="x")
        one.tell("r2", {"purity": 97.0})
        one.fail("r3", note="leak")
        found = labels(one)
    return url, found


def test_doctor_finds_a_store_with_several_quantities_sound(whole):
    found = examine(whole[0])
    assert {one.level for one in found} == {"fine"}
    assert any("version 2" in str(one) for one in found)


def test_a_backup_has_all_quantities_and_failures(whole, tmp_path):
    url, found = whole
    backup(url, tmp_path / "copy.db")
    with open_campaign("lab", f"sqlite:///{tmp_path}/copy.db") as one:
        assert labels(one) == found


def test_recovered_labels_name_their_quantity(whole, tmp_path):
    recover(whole[0], tmp_path / "saved")
    with (tmp_path / "saved" / "labels.csv").open(newline="") as file:
        rows = {(row["quantity"], row["id"]): float(row["label"]) for row in csv.DictReader(file)}
    assert rows == {
        ("yield", "r1"): 82.1,
        ("crystallised", "r1"): 1.0,
        ("grade", "r1"): 2.0,
        ("purity", "r2"): 97.0,
        ("worked", "r3"): 0.0,
    }
