"""The headline of a status: one number for the progress, its interval, and comparisons.

    error      of a goal that learns a number: the root mean square error of predicting a label.
               With MIN_CHECKS random checks or more, the error of these rows, which were drawn at
               random and predicted before they were measured. With fewer, leave-one-out.
    accuracy   of words that are learnt: the share of labels predicted right from the others
    best       the best label, and the possible gain (`diagnostics.posterior_draws`)
    members    rows of the goal's set that were found, and the number expected among the others
    front      measured Pareto rows, and what one more label may add to their hypervolume

Comparisons are in the units of the value: the value after the first labels, the value with as many
rows chosen at random (estimated by the model), and the value of guessing the mean.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from weal import text
from weal.diagnostics.estimate_intervals import rms_interval, share_interval
from weal.diagnostics.model_status import ModelStatus
from weal.diagnostics.posterior_draws import Interval, PossibleGain
from weal.diagnostics.random_baseline import MAX_LABELS
from weal.goals.protocol import Goal, SetProgress

MIN_CHECKS = 10  # random checks from which their error is the headline
RandomErrors = tuple[int, float, float | None] | None  # number, rms error, its standard error
HeadlineKind = Literal["error", "accuracy", "best", "members", "front"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A number to compare the headline with."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    estimated: bool = False  # by the model, not by labels


@dataclass(frozen=True, slots=True)
class Headline:
    """The one number, its interval, and its comparisons."""

    kind: HeadlineKind
    value: float
    low: float | None  # 90 % interval
    high: float | None
    remaining: Interval | None  # the possible gain, or rows that are still expected
    source: str  # the estimate that the value is
    shown: str  # the value as text, in the digits that its interval justifies
    words: str
    how: str
    comparisons: tuple[Comparison, ...] = ()
    note: str = ""  # the comparison that is missing, and why


def error_headline(
    beliefs: ModelStatus, check: RandomErrors, name: str, unit: str, chosen: int
) -> Headline:
    """The error to trust, of a number."""
    labels = beliefs.left_out.course[-1][0]
    if check is not None and check[0] >= MIN_CHECKS:
        n, value, error = check
        source = "random checks"
        low, high = rms_interval(value, n, error)
        how = (
            f"{n} rows were drawn at random and predicted before they were measured, some of "
            "them with fewer labels than now."
        )
    else:
        source, value = "leave-one-out", beliefs.left_out.now
        low, high = beliefs.left_out_interval
        how = (
            "Each label is predicted from all others. The interval is wide because labelled rows "
            "are not a random sample of all rows: {MIN_CHECKS} random checks would narrow it."
        )
    shown = text.rounded(value, low, high)
    of = f" of {name}" if name else ""
    units = f" {unit}" if unit else ""
    words = (
        f"Predictions{of} are off by {shown}{units} (90 %: {text.rounded(low, low, high)} to "
        f"{text.rounded(high, low, high)}){_beside(value, beliefs.baseline)}."
    )
    return Headline(
        "error", value, low, high, None, source, shown, words, how,
        tuple(_error_comparisons(beliefs, value, labels)),
        "" if beliefs.random else _no_random(chosen, labels),
    )  # fmt: skip


def _beside(value: float, baseline: float) -> str:
    """The error as a share of that of guessing the mean."""
    if baseline <= 0.0:
        return ""
    share = value / baseline
    if share > 0.95:
        much = "as much as" if share < 1.05 else "more than"
        return f", {much} guessing the mean would be"
    return f", {text.fraction(share)} of what guessing the mean would be off"


def _error_comparisons(beliefs: ModelStatus, value: float, labels: int) -> Sequence[Comparison]:
    first, before = beliefs.left_out.course[0]
    found = [Comparison(f"first {first} labels", before)] if first < labels else []
    if (random := beliefs.random) is not None:
        ends = (random.low * value, random.high * value)
        name = f"{random.labels} random rows"
        found.append(Comparison(name, random.ratio * value, *ends, estimated=True))
    if beliefs.baseline > 0.0:
        found.append(Comparison("guessing the mean", beliefs.baseline))
    return found


def _no_random(chosen: int, labels: int) -> str:
    if not chosen:
        return "There is no comparison with random choice: the model has not chosen any row yet."
    if labels > MAX_LABELS:
        return f"Random choice is not simulated beyond {MAX_LABELS} labels."
    return ""


def accuracy_headline(name: str, n: int, accuracy: float, commonest: float) -> Headline:
    """The share of n labels of words that are predicted right from the others."""
    low, high = share_interval(round(accuracy * n), n)
    shown = text.percent(accuracy)
    words = (
        f"{shown} of the labels of {name} are predicted right (90 %: {text.percent(low)} to "
        f"{text.percent(high)}); always guessing the most common word gives "
        f"{text.percent(commonest)}."
    )
    return Headline(
        "accuracy", accuracy, low, high, None, "leave-one-out", shown, words,
        "Each label is predicted from all others, as the most probable word.",
        (Comparison("the most common word", commonest),),
        "Random choice is not simulated for pass/fail, classes and grades.",
    )  # fmt: skip


def best_headline(
    members: SetProgress, found: PossibleGain | None, goal: Goal, first: tuple[int, float | None],
    name: str,
) -> Headline | None:  # fmt: skip
    """The best label, and the possible gain."""
    if members.best is None:
        return None
    best, sign = members.best, -1.0 if goal.lowest else 1.0
    gain = found.gain if found else None
    comparisons = []
    if first[1] is not None:
        comparisons.append(Comparison(f"first {first[0]} labels", first[1]))
    if found and found.random:
        one = found.random
        comparisons.append(
            Comparison(f"{members.measured_rows} random rows", best + one.value, best + one.low,
                       best + one.high, estimated=True)
        )  # fmt: skip
    if gain:
        least, most = sorted((best + sign * gain.low, best + sign * gain.high))
        comparisons.append(
            Comparison("best of all rows", best + sign * gain.value, least, most, estimated=True)
        )
    shown, meeting = text.number(best), " that meets all constraints" if goal.is_joint else ""
    words = f"The best {name or 'label'} found{meeting} is {shown} (row {members.best_id})"
    if gain and gain.high <= 0.0:
        words += "; no better row is left, with a probability above 95 %."
    elif gain:
        ends = (gain.low, gain.high)
        value, low, high = (text.rounded(one, *ends) for one in (gain.value, *ends))
        words += f"; {value} may still be gained (90 %: {low} to {high})."
    elif members.gain is not None:
        words += f"; one more label is expected to gain {text.number(members.gain, 2)} at most."
    else:
        words += "."
    how = (
        "The possible gain is that of the best row without a label, in functions drawn from the "
        "model; noise does not count as a gain."
        if gain
        else "The gain is the largest expected improvement by one more label."
    )
    note = "" if found and found.random else "Random choice is not simulated here."
    return Headline(
        "best", best, None, None, gain, "labels", shown, words, how, tuple(comparisons), note
    )


def members_headline(
    members: SetProgress, left: Interval | None, goal: Goal, first: tuple[int, int]
) -> Headline:
    """Rows of the goal's set that were found, and how many are still expected."""
    which = str(goal.set_text)
    value, others = members.measured, members.rows - members.measured_rows
    shown = f"{value:,.0f}"
    remaining = left or Interval(members.unmeasured, members.unmeasured, members.unmeasured)
    ends = f" (90 %: {remaining.low:,.0f} to {remaining.high:,.0f})" if left else ""
    words = (
        f"{shown} row{'' if shown == '1' else 's'} {which} found; "
        f"{text.about(remaining.value)} more expected{ends} among the {others:,} other rows."
    )
    all_rows = Comparison("all rows", value + remaining.value, estimated=True)
    if left:
        all_rows = replace(all_rows, low=value + left.low, high=value + left.high)
    comparisons = (
        Comparison(f"first {first[0]} labels", float(first[1])),
        Comparison(f"{members.measured_rows} random rows", members.by_chance, estimated=True),
        all_rows,
    )
    how = (
        "Measured rows count by the probability that they belong to the set despite the noise of "
        "their labels; the others are counted in functions drawn from the model."
    )
    return Headline("members", value, None, None, left, "labels", shown, words, how, comparisons)


def front_headline(members: SetProgress) -> Headline:
    """The measured Pareto rows."""
    n = len(members.front)
    words = f"{n} Pareto row{'' if n == 1 else 's'} found"
    if members.gain is not None:
        most = text.percent(members.gain)
        words += f"; one more label is expected to add {most} to the hypervolume at most"
    return Headline(
        "front", float(n), None, None, None, "labels", f"{n}", f"{words}.",
        "A Pareto row is a measured row that no other is better than in both objectives.", (),
        "Random choice is not simulated for two objectives.",
    )  # fmt: skip
