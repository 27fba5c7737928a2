"""An ask whose answer was lost: its rows are out, are named by the next, and come back by key."""

import json
import re

import pytest

from campaign import dying, dying_campaigns
from campaign.alloys import begin_alloys
from campaign.lab import campaign, number, truth
from shell import typed
from weal.campaign.campaign import open_campaign
from weal.cli import screen
from weal.errors import Exhausted
from weal.web import jobs
from weal.web.job_context import JobContext


@pytest.fixture(autouse=True)
def quiet(constants):
    """No command says that it is still choosing, on a busy machine either."""
    constants(screen, SECONDS_BEFORE_WORDS=600.0)


def asked(*words):
    """What came of `weal ask alloys`: ids, and what was said."""
    done = typed("ask", "alloys", *words, "--json")
    assert done.code == 0, done.err
    return [row["id"] for row in json.loads(done.out)], done.err


def test_a_key_gives_the_rows_of_the_first_time_and_writes_nothing(url):
    with campaign(url, rows=12) as one:
        ids = one.ask(3, key="monday")
        others = one.ask(2, by="bo")
        before = one.read_ledger().seq
        assert one.ask(3, key="monday") == ids
        one.tell(ids[1], truth(number(ids[1])))
        assert one.ask(3, key="monday") == ids
        assert one.read_ledger().seq == before + 1
        rest = one.ask(2, key="tuesday")
        assert not {*rest} & {*ids, *others}
        with pytest.raises(Exhausted):
            one.ask(99, key="wednesday")
        one.ask(12 - 7)
        assert one.ask(3, key="monday") == ids  # though none is left
        with pytest.raises(Exhausted):
            one.ask(key="thursday")


def test_keys_of_labels_are_others():
    one = campaign()
    one.tell("r1", truth(1), key="monday")
    ids = one.ask(2, key="monday")
    one.tell(ids[0], truth(number(ids[0])), key="monday/0")
    assert one.read_ledger().n_labels == 2
    assert one.ask(2, key="monday") == ids
    for key in ("", "x" * 200, "nul\0", 7):
        with pytest.raises(ValueError, match="a key"):
            one.ask(key=key)


def test_who_was_killed_before_the_answer_finds_the_rows(sqlite_url):
    with campaign(sqlite_url) as one:
        for name in one.ask(8):
            one.tell(name, truth(number(name)))
    words = [
        "in_a_campaign",
        sqlite_url,
        "weal.campaign.session.pack_experts_snapshot",
        "ask_monday",
    ]
    assert dying.run(*words, killed=True, program=dying_campaigns.__file__) == []
    with open_campaign("lab", sqlite_url) as again:
        out = list(again.read_ledger().leases)
        assert len(out) == 3
        assert again.ask(3, key="monday") == out
        assert list(again.read_ledger().leases) == out


def test_a_form_of_the_page_asks_once_though_the_server_was_restarted(tmp_path):
    with campaign(f"sqlite:///{tmp_path / 'lab.db'}") as one:
        given = {"name": "lab", "who": "ann", "n": 3, "check": False, "form": "0a" * 16}
        found = []
        for kept in ("first", "second"):  # a server and the next know nothing of each other
            (tmp_path / kept).mkdir()
            found.append(
                jobs.run(JobContext(one.store, tmp_path / kept), "ask", dict(given), print)
            )
        assert found[0] == found[1] == list(one.read_ledger().leases)


@pytest.mark.usefixtures("in_a_folder")
def test_the_next_ask_names_the_rows_that_are_out_with_who_asks():
    begin_alloys()
    first, said = asked("-n", "2", "--by", "ann")
    assert said == ""
    second, said = asked("--by", "bo")
    assert said == ""
    third, said = asked("--by", "ann")
    assert re.fullmatch(
        rf"2 rows are out with ann already \({first[0]}, {first[1]}\), the last since "
        r"\d{4}-\d\d-\d\d \d\d:\d\d UTC: `weal ask alloys --again --by ann` shows them\n",
        said,
    )
    assert not {*first, *second} & {*third}
    assert asked("--again", "--by", "ann")[0] == [*first, *third]


@pytest.mark.usefixtures("in_a_folder")
def test_the_command_takes_a_key():
    begin_alloys()
    ids, _ = asked("-n", "2", "--check", "1", "--key", "w1")
    assert len(ids) == 3
    again, said = asked("-n", "2", "--check", "1", "--key", "w1")
    assert again == ids
    assert said == "3 rows were asked under this key before, and no other is asked\n"
    typed("tell", "alloys", ids[0], "310")
    left, said = asked("-n", "2", "--check", "1", "--key", "w1")
    assert left == ids[1:]
    assert "3 rows were asked under this key before, and no other is asked\n" in said
    assert f"{ids[0]}: labelled since\n" in said
    other = typed("ask", "alloys", "-n", "2", "--key", "w1", "--by", "bo", "--json")
    assert other.code == 2
    assert "2 rows and 1 row drawn at random for mk (event" in other.complaint
    assert "2 rows for bo" in other.complaint
    assert typed("ask", "alloys", "--again", "--key", "w1").code == 2


@pytest.mark.usefixtures("in_a_folder")
def test_a_key_whose_labels_came_says_what_became_of_its_rows():
    begin_alloys()
    ids, _ = asked("-n", "3", "--key", "w1")
    [other], _ = asked("--by", "bo")
    typed("tell", "alloys", ids[0], "310")
    typed("tell", "alloys", ids[1], "312")
    typed("skip", "alloys", ids[2])
    for form in (["--json"], []):
        done = typed("ask", "alloys", "-n", "3", "--key", "w1", *form)
        assert done.code == 0
        assert done.out.strip() in ("[]", "")
        assert done.err.splitlines() == [
            "3 rows were asked under this key before, and no other is asked",
            f"{ids[0]}, {ids[1]}: labelled since",
            f"{ids[2]}: skipped since",
            "no row of the key 'w1' is out with mk any more; `weal ask alloys -n 3 --key OTHER` "
            "asks for other rows",
        ]
    assert asked("--again")[0] == [other]
