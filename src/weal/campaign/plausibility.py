"""Plausibility of a label: one judgement for the shell, the page, Python and results files.

A label is implausible if it is far

    from its prediction    the ask of its row predicted it: more than FAR_HALF_WIDTHS half widths of
                           the 90 % interval from the mean (6.6 sds of a normal distribution)
    from the other labels  there is no prediction: more than FAR_RANGES times the range of the other
                           rows' labels beyond it, or the same in logs where all are above 0

Error rates. First rule: 4 of 1,260 correct labels were called implausible (36 simulated campaigns
of 45 labels, a third of them skewed; models of few labels are sometimes wrong by 5 sds), and a
label that is wrong by a factor of 10 usually is (`benchmarks.real_labels.suspects`). Second rule:
one of four random labels is called implausible in 3 % (normal) to 8 % (log-normal, sd 1) of cases,
one of eight in less than 0.1 % and in 1.3 %; at least 96 % of slips by a factor of 10 among labels
that vary by a seventh are found. Logs are needed because a tenth often lies within three ranges.

The first MIN_OTHER_LABELS labels have too few others; they are judged again once there are
MIN_LATER_LABELS. The second rule needs all labels, so it ends after MAX_EVENTS_FOR_RANGES events;
`weal status` compares labels with the model later. The shell and Python save an implausible label
and warn; the page asks before it saves. Standard library only.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from weal.campaign.events import PredictionBody
from weal.campaign.ledger import Ledger
from weal.text import number, plus_minus

if TYPE_CHECKING:
    from weal.campaign.rules import LabelDecision, LabelInput

FAR_HALF_WIDTHS = 4.0  # half widths of the predicted interval
FAR_RANGES = 3.0  # ranges of the other labels
MIN_OTHER_LABELS = 3  # other labels that give a range
MIN_LATER_LABELS = 5  # other labels for which the first labels are judged again
MAX_EVENTS_FOR_RANGES = 2000  # events of a campaign whose labels are all read for a range
_NORMAL = 1.6449  # half width of a 90 % interval, in sds of a normal distribution


class ExpectedLabel(NamedTuple):
    """The prediction for a row when it was asked: mean and 90 % interval of its label."""

    mean: float
    low: float
    high: float


class LabelRange(NamedTuple):
    """The number of labels and their range."""

    n: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Implausible:
    """A label that is far from its prediction or from the other labels; `str` gives the reason."""

    y: float
    low: float  # of the predicted interval, or of the other labels
    high: float
    mean: float | None = None  # the prediction; None: there was none

    def __str__(self) -> str:
        if self.mean is None:
            others = f"{number(self.low)} to {number(self.high)}"
            return f"{number(self.y, 8)} is far from the labels so far: {others}"
        predicted = plus_minus(self.mean, 0.5 * (self.high - self.low) / _NORMAL)
        return f"{number(self.y, 8)} is far from its prediction ({predicted})"


def judge_label(
    y: float, expected: ExpectedLabel | None, others: LabelRange | None, noise: float | None = None
) -> Implausible | None:
    """The reason why a label is implausible; None for a plausible one.

    >>> print(judge_label(31.2, ExpectedLabel(312.0, 300.0, 324.0), None))
    31.2 is far from its prediction (312.0 +- 7.3)
    >>> print(judge_label(31.2, None, LabelRange(3, 300.0, 320.0)))
    31.2 is far from the labels so far: 300 to 320
    """
    if expected is not None:
        half = 0.5 * (expected.high - expected.low)
        reach = FAR_HALF_WIDTHS * (half + 0.5 * _NORMAL * (noise or 0.0))
        is_far = half > 0.0 and abs(y - expected.mean) > reach
        return Implausible(y, expected.low, expected.high, expected.mean) if is_far else None
    if others is None or others.n < MIN_OTHER_LABELS or others.low == others.high:
        return None
    _, low, high = others
    is_far = _is_outside(y, low, high)
    if min(y, low) > 0.0:
        is_far = is_far or _is_outside(math.log(y), math.log(low), math.log(high))
    return Implausible(y, low, high) if is_far else None


def _is_outside(y: float, low: float, high: float) -> bool:
    reach = FAR_RANGES * (high - low)
    return not low - reach <= y <= high + reach


def judge_in_ledger(ledger: Ledger, entry: "LabelInput") -> Implausible | None:
    """The reason why a label to be saved is implausible in this campaign, or None."""
    if entry.sure:
        return None
    others = None
    if needs_range(ledger, entry.id, ledger.seq):
        others = _LabelRanges(_labels_by_row(ledger)).without(entry.id)
    return judge_label(entry.y, expected_label(ledger, entry.id), others, entry.noise)


def needs_range(ledger: Ledger, id_: str, events: int) -> bool:
    """Whether a label of this row is compared with the other labels."""
    return events <= MAX_EVENTS_FOR_RANGES and expected_label(ledger, id_) is None


def expected_label(ledger: Ledger, id_: str) -> ExpectedLabel | None:
    """The prediction in the ask of a row; None without an ask, or without a model then."""
    lease = ledger.leases.get(id_)
    past = (one.body for one in ledger.foretold if one.told.id == id_)
    return expected_in_event(lease.body if lease else next(past, None))


def expected_in_event(body: PredictionBody | None) -> ExpectedLabel | None:
    """The prediction in the body of an event `asked`; None where there was no model."""
    if body is None:
        return None
    mean, low, high = body["mean"], body["low"], body["high"]
    return None if mean is None or low is None or high is None else ExpectedLabel(mean, low, high)


def judge_first_labels(
    ledger: Ledger, decisions: Sequence["LabelDecision"]
) -> tuple[list["LabelDecision"], list[tuple[str, Implausible]]]:
    """Judge labels without a prediction by the other labels, and the first labels again.

    Returns the decisions, and by id the first labels that are implausible since these labels came.

    The ledger may include the labels of the decisions or not.
    """
    if not any(one.needs_range for one in decisions):
        return list(decisions), []
    written = {one.entry.id for one in decisions if one.draft}
    before = {id_: ys for id_, ys in _labels_by_row(ledger).items() if id_ not in written}
    after: dict[str, list[float]] = {**before}
    for one in decisions:
        if one.draft:
            after[one.entry.id] = [*after.get(one.entry.id, ()), one.entry.y]
    ranges, earlier_ranges = _LabelRanges(after), _LabelRanges(before)
    judged = [
        replace(one, implausible=judge_label(one.entry.y, None, ranges.without(one.entry.id)))
        if one.needs_range
        else one
        for one in decisions
    ]
    first = [
        (told.id, found)
        for told in ledger.told()[:MIN_OTHER_LABELS]
        if told.id in before and not told.sure and expected_label(ledger, told.id) is None
        if (found := ranges.judge_again(told.id, told.y))
        and not earlier_ranges.judge_again(told.id, told.y)
    ]
    return judged, first


def _labels_by_row(ledger: Ledger) -> dict[str, list[float]]:
    return {id_: [told.y for told in several] for id_, several in ledger.labels.items()}


class _LabelRanges:
    """The range of the labels of all rows but one, for each row."""

    def __init__(self, labels: Mapping[str, Sequence[float]]) -> None:
        self.n = {id_: len(several) for id_, several in labels.items()}
        self.total = sum(self.n.values())
        pairs = sorted((y, id_) for id_, several in labels.items() for y in several)
        self.low, self.high = _first_two_rows(pairs), _first_two_rows(reversed(pairs))

    def without(self, id_: str) -> LabelRange | None:
        """The range of the other rows' labels; None where there are none."""
        n = self.total - self.n.get(id_, 0)
        if not n:
            return None
        low, high = (
            next(y for other, y in ends.items() if other != id_) for ends in (self.low, self.high)
        )
        return LabelRange(n, low, high)

    def judge_again(self, id_: str, y: float) -> Implausible | None:
        """Judge one of the first labels, once there are enough others."""
        others = self.without(id_)
        is_early = others is None or others.n < MIN_LATER_LABELS
        return None if is_early else judge_label(y, None, others)


def _first_two_rows(pairs: Iterable[tuple[float, str]]) -> dict[str, float]:
    """The first label of each of the first two rows, by row."""
    found: dict[str, float] = {}
    for y, id_ in pairs:
        found.setdefault(id_, y)
        if len(found) == 2:
            break
    return found


def implausible_message(id_: str, reason: Implausible, campaign: str | None = None) -> str:
    """The warning for an implausible label: for the shell of a campaign, or for Python (None)."""
    if campaign is None:
        advice = "tell(..., replace=True) corrects it; sure=True confirms it"
    else:
        advice = f"`{correction_command(campaign, id_)}` corrects it; --sure confirms it"
    return f"{id_}: {reason}. A typo, or another unit? {advice}"


def correction_command(campaign: str, id_: str) -> str:
    """The command that corrects a label, to be pasted."""
    from shlex import quote

    dashes = "-- " if campaign.startswith("-") or id_.startswith("-") else ""
    return f"weal tell --replace {dashes}{quote(campaign)} {quote(id_)} VALUE"
