"""`weal show`, `log`, `remove`, and who has what."""

import json

import pytest

from shell import events, typed

pytestmark = pytest.mark.usefixtures("in_a_folder")


def test_one_row_is_shown_with_all_that_is_known(alloys):
    [row] = json.loads(typed("ask", "alloys", "--by", "ann", "--json").out)
    name = row["id"]
    said = typed("show", "alloys", name).out
    for words in (name, "temp", "out              ann, until", "predicted", "asked because"):
        assert words in said
    assert any(f"({function}" in said for function in row["shares"])  # which the table leaves out
    typed("tell", "alloys", name, "312.5", "--note", "fine", "--by", "bob")
    said = typed("show", "alloys", name).out
    assert "312.5" in said
    assert "by bob (fine)" in said
    found = json.loads(typed("show", "alloys", name, "--json").out)
    assert found["labels"][0]["y"] == 312.5
    assert found["expected"]["mean"] == row["mean"]
    assert found["row"] == row["row"]
    assert "'a 3'; did you mean 'A-0003'?" in typed("show", "alloys", "a 3").complaint


def test_the_reasons_of_a_batch_are_short_and_differ(alloys):
    out = typed("ask", "alloys", "-n", "4").out
    whys = [line.split("  ")[-1] for line in out.splitlines()[1:]]
    assert len(set(whys)) > 1
    assert not any(" %)" in why for why in whys)


def test_the_log_has_the_events_newest_last(bare):
    typed("tell", "bare", "A-0003", "1", "--by", "ann", "--note", "cold")
    typed("skip", "bare", "A-0004", "--by", "bob")
    typed("tell", "bare", "A-0003", "2", "--replace", "--by", "bob")
    lines = typed("log", "bare").out.splitlines()
    assert [line.split()[0] for line in lines] == ["number", "1", "2", "3", "4", "5"]
    assert "1 (cold)" in lines[3]
    assert len(typed("log", "bare", "--by", "bob").out.splitlines()) == 3
    assert len(typed("log", "bare", "--id", "A-0003").out.splitlines()) == 3
    assert len(typed("log", "bare", "--since", "4").out.splitlines()) == 3
    assert len(typed("log", "bare", "--since", "1h", "--json").out) > 100
    assert typed("log", "bare", "--since", "2990-01-01").out == ""
    assert "write a date" in typed("log", "bare", "--since", "soon").complaint


def test_an_archived_campaign_is_hidden_and_comes_back(bare):
    assert typed("archive", "bare").code == 0
    done = typed("list")
    assert done.out == ""
    assert "1 campaign archived: `weal list --all` shows all" in done.err
    assert json.loads(typed("list", "--all", "--json").out)[0]["archived"] is True
    before = events("bare")
    assert typed("archive", "bare").code == 0
    assert events("bare") == before
    assert typed("archive", "bare", "--undo").code == 0
    assert typed("list").out.splitlines()[1].startswith("bare")


def test_who_has_what(bare):
    typed("ask", "bare", "-n", "2", "--by", "ann")
    typed("ask", "bare", "--by", "bob")
    header, *rows = typed("ask", "bare", "--again").out.splitlines()
    assert {"with", "until"} <= set(header.split())
    assert len(rows) == 3
    assert len(typed("ask", "bare", "--again", "--by", "ann").out.splitlines()) == 3


def test_predictions_before_there_is_a_model_are_refused(bare):
    done = typed("export", "bare", "--what", "predictions", "--to", "p.csv")
    assert done.code == 1
    assert "no predictions before there is a model: " in done.complaint


def test_added_candidates_far_outside_are_said_to_be(alloys):
    from pathlib import Path

    Path("more.csv").write_text(
        "sample,temp,hours,steel,hardness\nB-1,900000,3,A,\nB-2,900,3,A,300\n"
    )
    done = typed("add", "alloys", "more.csv")
    assert "2 candidates added, with 1 label, 42 now" in done.out
    assert "temp: 1 of 2 are far outside the range of the existing candidates" in done.err


def test_a_word_for_no_label_points_to_skip(bare):
    said = typed("tell", "bare", "A-0003", "n/a").complaint
    assert "`weal skip bare A-0003 --note n/a`" in said
