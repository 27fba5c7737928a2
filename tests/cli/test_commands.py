"""`weal new`, `ask`, `tell` and the rest as a user types them: what goes where, and exit codes."""

import csv
import json
import re
from pathlib import Path

import pytest

import weal
from campaign.alloys import TOLD, write_pool
from shell import events, typed

MINUS = "\N{MINUS SIGN}"


pytestmark = pytest.mark.usefixtures("in_a_folder")


def test_a_new_campaign_says_what_it_found(alloys):
    assert alloys.out == (
        "alloys: 40 candidates, 3 inputs (2 numbers, 1 category -> 3, 1 dropped: constant), "
        '12 labels already in the column "hardness"\n'
    )
    lines = alloys.err.splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("  temp: number")
    assert "lab: dropped, constant ('north' in every row)" in lines[3]


def test_a_new_campaign_without_labels_says_so(bare):
    [row] = json.loads(typed("list", "--json").out)
    counts = {"candidates": 40, "labels": 0, "out": 0, "skipped": 0}
    assert row == {"name": "bare", "title": None, **counts}


def test_a_new_campaign_in_json(tmp_path):
    write_pool("candidates.csv")
    words = ["--features", "temp,hours", "--type", "hours=category", "--seed", "3", "--lease", "2d"]
    done = typed("new", "alloys", "--pool", "candidates.csv", "--id", "sample", *words, "--json")
    found = json.loads(done.out)
    assert found["candidates"] == 40
    assert [column["kind"] for column in found["plan"]["columns"]] == ["number", "category"]
    assert found["settings"]["seed"] == 3
    assert found["settings"]["lease"] == 2 * 86400
    assert done.err == ""


def test_a_column_whose_name_has_commas_or_equals_signs_can_be_named():
    rows = [["id", "a,b", "c=d", "e"], *([n, n * 1.5, n * n, n % 7] for n in range(9))]
    with open("odd.csv", "w", newline="") as file:
        csv.writer(file).writerows(rows)
    words = ["--features", '"a,b",c=d', "--type", "c=d=category"]
    done = typed("new", "odd", "--pool", "odd.csv", "--id", "id", *words, "--json")
    columns = json.loads(done.out)["plan"]["columns"]
    assert [(one["name"], one["kind"]) for one in columns] == [
        ("a,b", "number"),
        ("c=d", "category"),
    ]


def test_a_name_that_is_taken_is_refused_with_what_to_do(alloys):
    before = events("alloys")
    done = typed("new", "alloys", "--pool", "nowhere.csv", "--id", "sample")
    assert done.code == 2
    assert "already: continue with `weal ask alloys`" in done.complaint
    assert events("alloys") == before


def test_candidates_are_added_and_what_is_new_in_them_is_said(alloys):
    write_pool("more.csv", n=7, told=2, first=100)
    Path("more.csv").write_text(Path("more.csv").read_text().replace(",A,", ",Z,"))
    done = typed("add", "alloys", "more.csv")
    assert (done.code, done.out) == (0, "alloys: 7 candidates added, with 2 labels, 47 now\n")
    assert "of unknown levels ('Z'), encoded as no level" in done.err
    assert json.loads(typed("list", "--json").out)[0]["labels"] == TOLD + 2


def test_asked_rows_come_as_a_table_that_says_why(alloys):
    done = typed("ask", "alloys", "-n", "2")
    header, *rows = done.out.splitlines()
    assert done.code == 0
    assert header.split() == ["id", "temp", "hours", "steel", "expected", "why"]
    assert len(rows) == 2
    for row in rows:
        assert re.match(r"A-\d{4}  [\d.]+ +[\d.]+ +[ABC] +[\d.]+ \+- [\d.]+ +\S.*\.$", row)


def test_asked_rows_in_json_have_everything(alloys):
    rows = json.loads(typed("ask", "alloys", "-n", "2", "--by", "ann", "--json").out)
    assert len({row["id"] for row in rows}) == 2
    for row in rows:
        assert row["low"] < row["mean"] < row["high"]
        assert row["sd"] > 0
        assert row["who"] == "ann"
        assert row["row"]["sample"] == row["id"]
        assert row["why"]
        assert row["until"] > row["since"]
        assert sum(row["shares"].values()) == pytest.approx(1.0)


def test_every_ask_offers_other_rows_and_again_shows_those_that_are_out(bare):
    one = json.loads(typed("ask", "bare", "-n", "2", "--json").out)
    two = json.loads(typed("ask", "bare", "--lease", "1h", "--json").out)
    again = json.loads(typed("ask", "bare", "--again", "--json").out)
    assert [row["id"] for row in again] == [row["id"] for row in one + two]
    assert len({row["id"] for row in again}) == 3
    assert two[0]["until"] < one[0]["until"]
    assert "not known yet" in typed("ask", "bare", "--again").out


def test_again_without_rows_that_are_out_asks_for_none(bare):
    done = typed("ask", "bare", "--again")
    assert (done.code, done.out) == (0, "")
    assert "no row of bare is out" in done.err
    assert typed("ask", "bare", "--again", "-n", "2").code == 2


def test_rows_for_an_unbiased_test_are_random_ones(bare):
    rows = json.loads(typed("ask", "bare", "-n", "1", "--check", "2", "--json").out)
    assert [row["check"] for row in rows] == [False, True, True]
    rows = json.loads(typed("ask", "bare", "--check", "1", "--json").out)
    assert [row["check"] for row in rows] == [True]


def test_when_no_row_is_left_the_exit_code_is_3(bare):
    assert typed("ask", "bare", "-n", "41").code == 3
    assert typed("ask", "bare", "-n", "40").code == 0
    done = typed("ask", "bare")
    assert done.code == 3
    assert done.complaint


def test_a_label_is_kept_and_its_number_is_told(bare):
    done = typed("tell", "bare", "A-0003", "312.5")
    assert done == (0, "3\n", "A-0003: 312.5 saved\n")
    done = typed("tell", "bare", "A-0003", "312.50")
    assert done == (0, "3\n", "A-0003: 312.50 was saved before\n")
    done = typed("tell", "bare", "A-0004", "-3.5", "--noise", "0.5", "--note", "cold", "--json")
    assert json.loads(done.out) == {"event": 4, "labels": 1, "new": 1, "doubts": []}
    with weal.open_campaign("bare") as campaign:
        [one, two] = campaign.read_ledger().quantity().told()
    assert (one.y, one.who) == (312.5, "mk")
    assert (two.y, two.noise, two.note) == (-3.5, 0.5, "cold")


@pytest.mark.parametrize("value", ["-3.5", "-.5", "-1e3", f"{MINUS}2", "+7", " 8 "])
def test_a_value_may_begin_with_a_sign(bare, value):
    assert typed("tell", "bare", "A-0003", value, "--by", "ann").code == 0
    with weal.open_campaign("bare") as campaign:
        assert campaign.read_ledger().quantity().told()[0].y == float(value.replace(MINUS, "-"))


def test_another_label_is_refused_unless_it_corrects_or_repeats(bare):
    typed("tell", "bare", "A-0003", "1")
    done = typed("tell", "bare", "A-0003", "2")
    assert done.code == 2
    assert "--replace" in done.complaint
    assert "--repeat" in done.complaint
    assert typed("tell", "bare", "A-0003", "2", "--repeat").code == 0
    assert typed("tell", "bare", "A-0003", "5", "--replace").code == 0
    assert typed("tell", "bare", "A-0003", "5", "--replace", "--repeat").code == 2
    with weal.open_campaign("bare") as campaign:
        assert [told.y for told in campaign.read_ledger().quantity().told()] == [5.0]
        assert [event.kind for event in campaign.events()][2:] == ["told", "told", "corrected"]


def test_the_same_key_writes_once(bare):
    one = typed("tell", "bare", "A-0003", "1", "--repeat", "--key", "k1")
    two = typed("tell", "bare", "A-0003", "1", "--repeat", "--key", "k1")
    assert one.out == two.out == "3\n"
    assert "was saved before" in two.err


def test_a_file_of_labels_is_kept(bare):
    Path("results.csv").write_text("sample,value,sd,note\nA-0001,5,0.1,x\nA-0002,-6,,\nA-0003,,,\n")
    done = typed("tell", "bare", "--file", "results.csv")
    assert (done.code, done.out) == (0, "4\n")
    assert done.err == "results.csv: 2 rows saved, 1 row without a value\n"
    assert "2 rows saved before" in typed("tell", "bare", "--file", "results.csv").err


@pytest.mark.parametrize(
    "words",
    [
        ["A-0003"],
        [],
        ["A-0003", "1", "2"],
        ["A-0003", "1", "--file", "r.csv"],
        ["--file", "r.csv", "--note", "x"],
        ["A-0003", "1", "--replcae"],
    ],
)
def test_a_tell_that_says_too_little_or_too_much_is_wrong_usage(bare, words):
    before = events("bare")
    done = typed("tell", "bare", *words)
    assert done.code == 2
    assert "weal tell --help" in done.complaint
    assert events("bare") == before


def test_rows_are_skipped_and_brought_back(bare):
    done = typed("skip", "bare", "A-0001", "A-0002", "--note", "cracked")
    assert (done.code, done.out, done.err) == (0, "", "A-0001: skipped\nA-0002: skipped\n")
    assert json.loads(typed("list", "--json").out)[0]["skipped"] == 2
    done = typed("skip", "bare", "A-0001", "--undo", "--json")
    assert json.loads(done.out) == {"back": ["A-0001"]}
    assert json.loads(typed("list", "--json").out)[0]["skipped"] == 1


def test_labels_are_withdrawn(bare):
    typed("tell", "bare", "A-0001", "1")
    assert typed("withdraw", "bare", "A-0001", "--note", "wrong sample").code == 0
    assert json.loads(typed("list", "--json").out)[0]["labels"] == 0
    assert typed("withdraw", "bare", "A-0001").code == 2


def test_settings_are_shown_and_changed(bare):
    assert re.search(r"^lease +7d$", typed("settings", "bare").out, re.MULTILINE)
    done = typed("settings", "bare", "--lease", "12h", "--goal", "5", "--acquisition", "ivr,qbc")
    assert "bare: " in done.err
    assert "lease" in done.err
    assert re.search(r"^lease +12h$", done.out, re.MULTILINE)
    found = json.loads(typed("settings", "bare", "--json").out)
    assert found["acquisition"] == ["ivr", "qbc"]
    assert (found["goal"]["text"], found["until"]["text"]) == ("learn", "error < 5")
    assert "--goal 5 is a stopping condition: write --until 'error < 5'" in done.err
    assert typed("settings", "bare", "--lease", "soon").code == 2
    assert typed("settings", "bare", "--acquisition", "crystal-ball").code == 2


def test_the_store_is_named_by_option_or_environment(bare, monkeypatch):
    assert json.loads(typed("list", "--store", "other.db", "--json").out) == []
    assert "has no campaigns yet" in typed("list", "--store", "other.db").err
    monkeypatch.setenv("WEAL_STORE", "sqlite:///other.db")
    assert typed("tell", "bare", "A-0001", "1").code == 2
    assert typed("tell", "bare", "A-0001", "1", "--store", "weal.db").code == 0
    assert not Path("other.db").exists()


def test_rows_that_were_asked_are_shown_though_too_few_are_left_for_a_check(bare):
    done = typed("ask", "bare", "-n", "38", "--check", "5", "--json")
    assert done.code == 3
    assert len(json.loads(done.out)) == 38
    assert "2 candidates are left" in done.err


def test_a_row_named_twice_is_skipped_once(bare):
    before = len(events("bare"))
    typed("skip", "bare", "A-0001", "A-0001")
    assert len(events("bare")) == before + 1
