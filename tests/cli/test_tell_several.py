"""`weal tell` with several quantities: names, failures, and what people mistype."""

import json
from pathlib import Path

import pytest

from shell import alone_in, typed
from weal.campaign.campaign import open_campaign

TABLE = """run,temp,hours,yield [%],C=O stretch,crystallised
R-1,20,1,,,
R-2,30,4,,,
a=b,40,2,,,
yield=3,50,3,,,
-R 5,60,5,,,
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    alone_in(tmp_path, monkeypatch)
    Path("runs.csv").write_text(TABLE)
    targets = ("--target", "yield [%]", "--target", "C=O stretch", "--target", "crystallised")
    done = typed("new", "salts", "--pool", "runs.csv", "--id", "run", *targets,
                 "--type", "crystallised=pass:ja,nein")  # fmt: skip
    assert done.code == 0, done.err
    assert "crystallised: pass/fail (ja or nein)" in done.err


def labels():
    with open_campaign("salts") as one:
        ledger = one.read_ledger()
        every = ledger.with_failures().items()
        return {
            name: {k: v[-1].y for k, v in own.labels.items()} for name, own in every if own.labels
        }


def test_names_with_units_signs_and_other_cases():
    done = typed("tell", "salts", "R-1", "Yield=82.5", "C=O stretch=1700", "crystallised=Ja")
    assert done.code == 0, done.err
    assert "R-1: Yield=82.5 C=O stretch=1700 crystallised=Ja saved" in done.err
    assert labels() == {
        "yield": {"R-1": 82.5},
        "C=O stretch": {"R-1": 1700.0},
        "crystallised": {"R-1": 1.0},
    }


def test_ids_that_look_like_values_are_ids():
    for id_ in ("a=b", "yield=3"):
        assert typed("tell", "salts", id_, "yield=7").code == 0
    assert typed("tell", "salts", "--", "-R 5", "yield=-0.5").code == 0
    assert labels() == {"yield": {"a=b": 7.0, "yield=3": 7.0, "-R 5": -0.5}}


WRONG = {
    "no name": (["82.1"], "write yield=... 'C=O stretch'=... crystallised=..."),
    "a typo": (["yeild=82"], "did you mean yield?"),
    "twice": (["yield=1", "yield [%]=2"], "is a second label of yield"),
    "a word for a number": (["yield=good"], "yield: the label of R-1 is 'good'"),
    "a number for a word": (["crystallised=0.5"], "passes or fails; write ja or nein"),
    "failed beside a label": (["yield=5", "failed"], "leave out what was not measured"),
    "not measured beside a label": (["yield=5", "C=O stretch=n/a"], "leave out what was not"),
    "an accident that did not fail": (["yield=5", "--accident"], "--accident needs failed"),
    "a mistyped option": (["yield=5", "--repaet"], "No such option"),
    "noise of a word": (["crystallised=ja", "--noise", "crystallised=1"], "are words"),
    "noise without a name": (["yield=5", "--noise", "0.1"], "has no name"),
    "nothing measured": (["n/a"], "skip a row without one: `weal skip salts R-1 --note n/a`"),
}  # fmt: skip


@pytest.mark.parametrize(("words", "says"), WRONG.values(), ids=WRONG)
def test_one_clear_line_and_nothing_saved(words, says):
    done = typed("tell", "salts", "R-1", *words)
    assert done.code == 2
    assert says in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert labels() == {}


def test_all_or_nothing():
    done = typed("tell", "salts", "R-1", "yield=5", "crystallised=vielleicht")
    assert done.code == 2
    assert labels() == {}


def test_a_failure_an_accident_and_a_label_in_the_end():
    done = typed("tell", "salts", "R-1", "failed - stirrer stopped", "--note", "again", "--json")
    assert json.loads(done.out)["failed"] == ["R-1"]
    with open_campaign("salts") as one:
        assert one.read_ledger().failures.labels["R-1"][0].note == "stirrer stopped; again"
    assert "told as failed before" in typed("tell", "salts", "R-1", "failed").err
    done = typed("tell", "salts", "R-1", "failed", "--accident")
    assert "the model ignores it" in done.err
    assert labels() == {}
    assert typed("tell", "salts", "R-2", "yield=failed").code == 0
    assert labels() == {"worked": {"R-2": 0.0}}
    assert typed("tell", "salts", "R-2", "yield=4").code == 0
    assert labels() == {"yield": {"R-2": 4.0}}
    refused = typed("tell", "salts", "R-2", "failed")
    assert refused.code != 0
    assert "so its run worked; use replace (--replace)" in refused.err
    assert typed("tell", "salts", "R-2", "failed", "--replace").code == 0
    assert labels() == {"worked": {"R-2": 0.0}}


def test_labels_of_one_quantity_are_withdrawn():
    typed("tell", "salts", "R-1", "yield=5", "crystallised=ja")
    assert typed("withdraw", "salts", "R-1", "--quantity", "Yield").code == 0
    assert labels() == {"crystallised": {"R-1": 1.0}}
    done = typed("withdraw", "salts", "R-1", "--quantity", "yeild")
    assert "did you mean yield?" in done.err


def test_a_bound_names_its_quantity():
    done = typed("tell", "salts", "R-1", "yield=>95")
    assert "kept as yield >95: a bound, not learned from" in done.err
    with open_campaign("salts") as one:
        assert one.read_ledger().skipped["R-1"] == "yield >95: a bound, not learned from"


def test_a_worksheet_goes_out_and_comes_back():
    assert typed("ask", "salts", "-n", "3", "--to", "sheet.csv").code == 0
    header, *lines = Path("sheet.csv").read_text().splitlines()
    assert header.endswith("yield [%],C=O stretch,crystallised,note")
    full = [line.rsplit(",", 4)[0] for line in lines]
    rows = [f"{full[0]},5,1700,ja,", f"{full[1]},failed - leak,,,", f"{full[2]},6,,,later"]
    Path("sheet.csv").write_text("\n".join([header, *rows]) + "\n")
    dry = typed("tell", "salts", "--file", "sheet.csv", "--dry-run")
    assert "crystallised" in dry.out
    assert labels() == {}
    done = typed("tell", "salts", "--file", "sheet.csv")
    assert done.code == 0, done.err
    assert {name: len(some) for name, some in labels().items()} == {
        "yield": 2, "C=O stretch": 1, "crystallised": 1, "worked": 1,
    }  # fmt: skip


def test_a_word_of_a_named_pass_or_fail_is_its_label_and_no_failed_run():
    done = typed("tell", "salts", "R-1", "yield=5", "crystallised=failed")
    assert done.code == 0, done.err
    assert typed("tell", "salts", "R-2", "crystallised=FAIL").code == 0
    assert labels() == {"yield": {"R-1": 5.0}, "crystallised": {"R-1": 0.0, "R-2": 0.0}}
    done = typed("tell", "salts", "a=b", "crystallised=failed - leaked")
    assert done.code == 0, done.err
    assert labels()["worked"] == {"a=b": 0.0}


def test_the_log_names_quantities_and_failures():
    for words in (["R-1", "yield=5", "crystallised=ja"], ["R-2", "failed", "--note", "leaked"]):
        assert typed("tell", "salts", *words).code == 0
    assert typed("withdraw", "salts", "R-1", "--quantity", "yield").code == 0
    done = typed("log", "salts")
    assert done.code == 0, done.err
    ends = [row.split(maxsplit=6)[4:] for row in done.out.strip().splitlines()[-4:]]
    assert [" ".join(one) for one in ends] == [
        "told R-1 yield 5",
        "told R-1 crystallised ja",
        "told R-2 failed (leaked)",
        "withdrawn R-1 yield",
    ]


def test_a_declared_target_needs_no_column_in_the_table():
    Path("plain.csv").write_text("run,temp\nR-1,20\nR-2,30\nR-3,45\n")
    Path("more.csv").write_text("run,temp\nR-4,70\n")
    words = ("--target", "yield", "--target", "phase", "--type", "phase=classes:fcc,bcc")
    done = typed("new", "plain", "--pool", "plain.csv", "--id", "run", *words)
    assert done.code == 0, done.err
    assert typed("add", "plain", "more.csv").code == 0
    done = typed("tell", "plain", "R-4", "yield=5", "phase=BCC")
    assert done.code == 0, done.err
    wrong = typed("new", "typo", "--pool", "plain.csv", "--id", "run", *words, "--type", "tmp=drop")
    assert wrong.code == 2
    assert "no column 'tmp'" in wrong.err
