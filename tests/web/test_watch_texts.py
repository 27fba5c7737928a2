"""Texts of the pages: no commands of the shell, and no digits that the uncertainty makes idle."""

import math
import re
from pathlib import Path

import pytest

import weal
from weal.store.protocol import open_store
from weal.web.pages.watch import without_commands
from web.visiting import Visitor, plain

SOURCE = Path(weal.__file__).parent
COMMAND = re.compile(r"`weal |--[a-z]")
ADVICE = {
    "Stop: the budget is used up, 90 of 80. `weal settings 'my lab' --budget NUMBER` raises it.":
        "Stop: the budget is used up, 90 of 80. Settings has a field that raises it.",
    "2 rows are without one: add candidates (`weal add alloys FILE`).":
        "2 rows are without one: add candidates in Settings.",
    "Labels may be mostly noise (measure a few rows again, with --repeat), some may be wrong":
        "Labels may be mostly noise (measure a few rows again), some may be wrong",
    "A few labels with the goal learn, or of random rows (--check), would reveal such a region.":
        "A few labels with the goal learn, or of random rows, would reveal such a region.",
    "Measure R-3 again first (--repeat): its label is treated as wrong":
        "Measure R-3 again first: its label is treated as wrong",
    "Check the numbers and their units; change them with `weal settings NAME --subject-to`.":
        "Check the numbers and their units; change them in Settings.",
    "Keep going: 12 more labels.": "Keep going: 12 more labels.",
}  # fmt: skip


@pytest.mark.parametrize("words", ADVICE)
def test_the_page_names_its_own_buttons_in_place_of_commands(words):
    assert without_commands(words) == ADVICE[words]


def texts_with_commands():
    """Texts of advice in the source, joined as Python joins them, that name a command."""
    for path in (*SOURCE.glob("goals/*.py"), SOURCE / "campaign" / "status.py"):
        joined = re.sub(r'"\s*\n\s*f?"', "", path.read_text())
        for one in re.findall(r'f?"([^"\n]*)"', joined):
            if re.search(r"`weal (settings|add) |\(--|with --", one):
                yield one


def test_no_advice_of_the_source_keeps_its_command():
    found = list(texts_with_commands())
    assert len(found) >= 8
    assert [one for one in found if COMMAND.search(without_commands(one))] == []


def test_the_bench_shows_a_prediction_in_the_digits_that_its_interval_justifies(servers, steel):
    with weal.open_campaign("steel", steel, by="ann") as campaign:
        for n in range(12):
            campaign.tell(f"A-{n}", 40.0 + 7.0 * (n % 5), sure=True)
        id_ = campaign.ask()
        [asked] = [one.body for one in open_store(steel).read("steel") if one.kind == "asked"]
    mean, low, high = asked["mean"], asked["low"], asked["high"]
    places = max(1 - math.floor(math.log10((high - low) / 3.29)), 0)  # two digits of the sd
    ends = [f"{one:.{places}f}" for one in (mean, low, high)]
    with Visitor(servers.start(steel, worker="here")) as ann:
        words = " ".join(plain(ann.get(f"/c/steel/bench?id={id_}").text).split())
        assert f"Predicted: {ends[0]} (90 % interval {ends[1]} to {ends[2]})" in words
