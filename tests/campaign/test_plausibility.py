"""Labels far from their prediction or from the other labels are saved, with a warning."""

import json
import warnings
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

from campaign.alloys import begin_bare
from campaign.lab import campaign
from shell import typed
from weal.campaign import plausibility
from weal.campaign.events import LedgerLabel
from weal.campaign.ledger import Ledger, QuantityLedger
from weal.campaign.plausibility import judge_first_labels
from weal.campaign.rules import LabelDecision, LabelInput
from weal.quantities.number import MIN_OTHER_LABELS, Number
from weal.quantities.protocol import ExpectedLabel, LabelRange
from weal.store.events import Draft

HARDNESS = Number("hardness")
RIGHT = [312.5, 318.0, 305.2, 321.7, 299.9, 314.4, 308.8]


def ids(n):
    return [f"A-{k:04d}" for k in range(n)]


def ledger(labels):
    told = (
        LedgerLabel(name, y, None, seq, datetime(2026, 1, 1, tzinfo=UTC), "")
        for seq, (name, y) in enumerate(labels, start=1)
    )
    own = QuantityLedger(HARDNESS, {one.id: (one,) for one in told})
    return Ledger("lab", quantities={"hardness": own})


def telling(name, y):
    return LabelDecision(LabelInput("hardness", name, y), Draft("told", {}, name), needs_range=True)


def by_others(y, others):
    """The judgement of a label by a list of other labels."""
    some = LabelRange(len(others), min(others), max(others)) if others else None
    return HARDNESS.judge(y, None, some)


@pytest.mark.parametrize("seed", range(40))
def test_each_label_is_looked_at_beside_all_others(seed):
    rng = np.random.default_rng([seed, 4])
    before, new = rng.integers(0, 7), rng.integers(1, 6)
    y = rng.lognormal(0.0, 3.0, before + new) * rng.choice([-1.0, 1.0], p=[0.1, 0.9])
    pairs = list(zip(ids(before + new), y.tolist(), strict=True))
    tellings = [telling(*pair) for pair in pairs[before:]]
    found, early = judge_first_labels(ledger(pairs[:before]), tellings)
    assert [one.implausible for one in found] == [
        by_others(value, [other for one, other in pairs if one != name])
        for name, value in pairs[before:]
    ]
    crossed = len(pairs[:before]) - 1 < 5 <= len(pairs) - 1
    slow = [
        (name, words, None)
        for name, value in (pairs[: min(before, MIN_OTHER_LABELS)] if crossed else [])
        if (words := by_others(value, [other for one, other in pairs if one != name]))
    ]
    assert early == slow
    after, _ = judge_first_labels(ledger(pairs), tellings)
    assert after == found


def test_the_reason_is_given_in_words():
    assert str(by_others(31.25, RIGHT)) == "31.25 is far from the labels so far: 299.9 to 321.7"
    for y, others in ((310.0, RIGHT), (31.25, RIGHT[:2]), (31.25, [5.0] * 4), (31.25, [])):
        assert by_others(y, others) is None


@pytest.mark.parametrize(("y", "is_far"), [(360.5, True), (359.5, False), (263.5, True)])
def test_a_prediction_comes_before_the_other_labels(y, is_far):
    expected = ExpectedLabel(312.0, 300.0, 324.0)
    found = HARDNESS.judge(y, expected, LabelRange(3, 1.0, 2.0))
    assert bool(found) == is_far
    assert not found or str(found) == f"{y} is far from its prediction (312.0 +- 7.3)"
    assert HARDNESS.judge(y, expected, None, noise=5.0) is None


@pytest.mark.parametrize("factor", [1e3, 100.0, 10.0, 0.1, 0.01, 1e-3, -1.0])
def test_slips_are_found_whichever_way(factor):
    for n in range(MIN_OTHER_LABELS, len(RIGHT)):
        assert by_others(factor * RIGHT[n], RIGHT[:n])
        assert not by_others(RIGHT[n], RIGHT[:n])


def test_values_that_no_float_holds_twice_are_no_trouble():
    assert not by_others(1e308, [-1e308, 1e308, 0.0])
    assert by_others(1e300, [1e-300, 2e-300, 3e-300])
    assert not by_others(0.0, [0.0, 1e-320, 5.0])


@pytest.mark.usefixtures("in_a_folder")
def test_the_command_keeps_it_and_says_so():
    begin_bare()
    for name, y in zip(ids(3), RIGHT, strict=False):
        assert typed("tell", "bare", name, y).err == f"{name}: {y} saved\n"
    done = typed("tell", "bare", "A-0003", 321700)
    assert done == (
        0,
        "6\n",
        "A-0003: 321700 saved\nA-0003: 321700 is far from the labels so far: 305.2 to 318. A typo, "
        "or another unit? `weal tell --replace bare A-0003 VALUE` corrects it; --sure confirms "
        "it\n",
    )
    assert typed("tell", "bare", "A-0004", "4e5", "--sure").err == "A-0004: 4e5 saved\n"
    found = json.loads(typed("tell", "bare", "A-0004", "4e5", "--replace", "--json").out)
    assert found["new"] == 1
    typed("tell", "bare", "A-0004", 299.9, "--replace")
    assert typed("tell", "bare", "A-0003", 321.7, "--replace").err == "A-0003: 321.7 saved\n"


@pytest.mark.usefixtures("in_a_folder")
@pytest.mark.parametrize("wrong", [0, 2])
def test_one_of_the_first_is_named_once_there_are_others(wrong):
    begin_bare()
    said = []
    for k, (name, y) in enumerate(zip(ids(7), RIGHT, strict=True)):
        done = typed("tell", "bare", name, 1000 * y if k == wrong else y, "--json")
        said.append(json.loads(done.out)["doubts"])
    early = 1000 * RIGHT[wrong]
    assert [len(one) for one in said] == [0, 0, 0, 0, 0, 1, 0]
    assert f"A-000{wrong}: {early:.0f} is far from the labels so far: 29" in said[5][0]


@pytest.mark.usefixtures("in_a_folder")
def test_a_line_of_a_file_is_named_and_all_are_kept():
    begin_bare()
    values = [*RIGHT[:4], RIGHT[4] / 10, *RIGHT[5:]]
    pd.DataFrame({"sample": ids(7), "value": values}).to_csv("first.csv", index=False)
    for words in (["--dry-run"], []):
        done = typed("tell", "bare", "--file", "first.csv", *words)
        assert done.code == 0
        assert [line for line in done.err.splitlines() if "far from" in line] == [
            "line 6: A-0004: 29.99 is far from the labels so far: 305.2 to 321.7. A typo, or "
            "another unit? `weal tell --replace bare A-0004 VALUE` corrects it; --sure confirms "
            "it"
        ]
    assert "7 rows saved" in done.err
    again = typed("tell", "bare", "--file", "first.csv", "--sure")
    assert "far from" not in again.err


def test_a_program_is_warned_and_the_label_is_kept():
    one = campaign(n_start=9)
    says = (
        r"r4: 1650 is far from the labels so far: 1.5 to 1.7\. A typo, or another unit\? "
        r"tell\(\.\.\., replace=True\) corrects it; sure=True confirms it"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one.tell({"r1": 1.5, "r2": 1.7, "r3": 1.6})
        with pytest.raises(UserWarning, match=says):
            one.tell("r4", 1650)
        assert one.read_ledger().quantity().labels["r4"][0].y == 1650
        one.tell("r4", 1650, sure=True)
        one.tell("r4", 1.65, replace=True)


def test_what_was_expected_is_what_counts_where_there_is_a_model():
    one = campaign(n_start=4)
    one.tell({"r1": 1.5, "r2": 1.7, "r3": 1.6, "r4": 1.65, "r5": 1.55, "r6": 1.62})
    name = one.ask()
    mean = one.asked([name])[0].mean
    with pytest.warns(UserWarning, match=rf"{name}: .* is far from its prediction") as caught:
        one.tell(name, mean + 1000.0)
    assert len(caught) == 1


def test_a_long_campaign_is_not_read_for_it(constants):
    one = campaign(n_start=9)
    one.tell({"r1": 1.5, "r2": 1.7, "r3": 1.6})
    constants(plausibility, MAX_EVENTS_FOR_RANGES=one.read_ledger().seq - 1)
    one.tell("r4", 1650)
    constants(plausibility, MAX_EVENTS_FOR_RANGES=one.read_ledger().seq)
    with pytest.warns(UserWarning, match="r5: 9999 is far from"):
        one.tell("r5", 9999)
