"""A label beside what was expected when its row was asked: is it far outside?

The expectation is kept in the event of the ask, so that no model is needed to say so at once. It is
the middle and the 90 % interval of a label; a label counts as far outside when it is more than FAR
times the interval's half width away from the middle: for a normal distribution 6.6 sds. Models of
few labels are sometimes wrong by 5. On clean campaigns that was said of 4 in 1,260 labels (36 of 45
labels each, a third of them skewed); a factor of 10 is farther as a rule. Where nothing was
expected, see `first_labels`.
Standard library only.

A label beside the labels so far, where nothing was expected of it: is it far from them?

Nothing is expected before there is a model, nor of rows that nobody asked for. A label counts as
far from the others when it is more than FAR times their range beyond it, as it is or, where all are
above 0, in logs: a decimal slip to a tenth lies within three ranges more often than not. Of four
labels that were drawn at random one is far by chance in 3 % (normal) to 8 % (log-normal, sd 1) of
cases, of eight in less than 0.1 and in 1.3 %; of slips by a factor of 10 among labels that vary by
a seventh, 96 % are found and more.

The first few have too few others when they come: they are looked at again once there are LATER. In
long campaigns (`rules.EARLY`) only the model is asked, by `weal status`.
Standard library only.

A number as it is typed at the bench, and whether it is far from what was expected.

A decimal comma is understood where it can be nothing else (12,5 and 0,125; not 1,250, which may be
twelve hundred and fifty). Whatever else is refused in the words of `weal.tables.cells`.

What is far is asked about once, so that it may be nearer than what `campaign.surprise` speaks of:
on the sample of alloys (3 seeds, 48 labels each) none of the right labels was asked about, and all
that were ten times too large or too small. Where nothing was expected, the labels so far say what
is far (`campaign.first_labels`), as they do to `weal tell`.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from weal.campaign.ledger import Ledger
from weal.text import number, plus_minus
from weal.text import number as shown

if TYPE_CHECKING:
    from weal.campaign.rules import LabelDecision, LabelInput


FAR_HALF_WIDTHS = 4.0  # half widths of the interval that was given
_NORMAL = 1.6449  # half width of a 90 % interval, in sds of a normal


def far_from_expected(now: Ledger, entry: "LabelInput") -> str | None:
    """Why this label is far from what was expected, in words; None where it is not."""
    body = expectation(now, entry.id)
    if body is None:
        return None
    mean, half = body["mean"], 0.5 * (body["high"] - body["low"])
    beyond = 0.5 * _NORMAL * (entry.noise or 0.0)  # what is known of its noise counts for it
    if half <= 0.0 or abs(entry.y - mean) <= FAR_HALF_WIDTHS * (half + beyond):
        return None
    expected = plus_minus(mean, half / _NORMAL)
    return f"{number(entry.y, 8)} is far outside what was expected ({expected})"


def implausible_message(campaign: str, name: str, why: str) -> str:
    """What to say of a label that may be wrong, and what to do."""
    return (
        f"{name}: {why}. A typo, or another unit? `{command(campaign, name)}` corrects it; --sure "
        "says that it is right"
    )


def implausible_warning(name: str, why: str) -> str:
    """The same, to a program."""
    return (
        f"{name}: {why}. A typo, or another unit? tell(..., replace=True) corrects it; sure=True "
        "says that it is right"
    )


def command(campaign: str, name: str) -> str:
    """The command that corrects a label, to be pasted."""
    from shlex import quote

    dashes = "-- " if campaign.startswith("-") or name.startswith("-") else ""
    return f"weal tell --replace {dashes}{quote(campaign)} {quote(name)} VALUE"


def expectation(now: Ledger, name: str) -> Mapping[str, Any] | None:
    """What the ask of a row says was expected; None: nobody asked, or there was no model."""
    lease = now.leases.get(name)
    foretold = (past.body for past in now.foretold if past.told.id == name)
    body = lease.body if lease else next(foretold, None)
    if body is None or body.get("mean") is None or body.get("low") is None:
        return None
    return body


FAR_RANGES = 3.0  # times the range of the others
MIN_OTHER_LABELS = 3  # others that have a range
MIN_LATER_LABELS = 5  # others of a label that came before there were enough


def far_from_labels(y: float, others: Sequence[float]) -> str | None:
    """Why somebody might look at this label again, in words; None: nothing is strange.

    >>> far_from_labels(31.2, [300.0, 312.5, 320.0])
    '31.2 is far from the labels so far: 300 to 320'
    """
    return _far(y, len(others), min(others), max(others)) if others else None


def early_label_warnings(
    ledger: Ledger, tellings: Sequence["LabelDecision"]
) -> tuple[list["LabelDecision"], list[tuple[str, str]]]:
    """The tellings, with doubts on those of which nothing was expected; and early labels, by id,
    with doubts that there are since.

    The ledger is that before they were told, or after.
    """
    if not any(one.blind for one in tellings):
        return list(tellings), []
    written = {one.entry.id for one in tellings if one.draft}
    before = {
        name: [told.y for told in several]
        for name, several in ledger.labels.items()
        if name not in written
    }
    after: dict[str, list[float]] = {**before}
    for one in tellings:
        if one.draft:
            after[one.entry.id] = [*after.get(one.entry.id, ()), one.entry.y]
    since, until = _LabelRanges(after), _LabelRanges(before)
    found = [
        replace(one, doubt=since.far(one.entry.id, one.entry.y)) if one.blind else one
        for one in tellings
    ]
    early = [
        (told.id, words)
        for told in ledger.told()[:MIN_OTHER_LABELS]
        if told.id in before and not told.sure and _is_blind(ledger, told.id)
        if (words := since.far(told.id, told.y, MIN_LATER_LABELS))
        and not until.far(told.id, told.y, MIN_LATER_LABELS)
    ]
    return found, early


def _is_blind(ledger: Ledger, name: str) -> bool:
    return expectation(ledger, name) is None


class _LabelRanges:
    """The range of the labels of all rows but one, for each."""

    def __init__(self, labels: Mapping[str, Sequence[float]]) -> None:
        self.n = {name: len(several) for name, several in labels.items()}
        self.total = sum(self.n.values())
        each = [(y, name) for name, several in labels.items() for y in several]
        self.low = _two(sorted(each))
        self.high = _two(sorted(each, reverse=True))

    def far(self, name: str, y: float, enough: int = MIN_OTHER_LABELS) -> str | None:
        """Why a label of this row might be looked at again."""
        n = self.total - self.n.get(name, 0)
        if n < enough:
            return None
        low, high = (
            next(other for one, other in ends.items() if one != name)
            for ends in (self.low, self.high)
        )
        return _far(y, n, low, high)


def _two(ordered: Iterable[tuple[float, str]]) -> dict[str, float]:
    """The first label of each of the first two rows, by row."""
    found: dict[str, float] = {}
    for y, name in ordered:
        found.setdefault(name, y)
        if len(found) == 2:
            break
    return found


def _far(y: float, n: int, low: float, high: float) -> str | None:
    if n < MIN_OTHER_LABELS or low == high:
        return None
    logs = min(y, low) > 0.0 and _outside(math.log(y), math.log(low), math.log(high))
    if not logs and not _outside(y, low, high):
        return None
    return f"{number(y, 8)} is far from the labels so far: {number(low)} to {number(high)}"


def _outside(y: float, low: float, high: float) -> bool:
    reach = FAR_RANGES * (high - low)
    return not low - reach <= y <= high + reach


# times half the width of the 90 % interval: 3.3 sds, once in a thousand labels
DOUBTED_HALF_WIDTHS = 2.0


@dataclass(frozen=True, slots=True)
class ExpectedLabel:
    """What was expected of a label when its row was asked."""

    mean: float
    low: float
    high: float


def prediction_in_event(body: Mapping[str, Any] | None) -> ExpectedLabel | None:
    """What the event of an ask says was expected; None: there was no model."""
    if body is None or body["mean"] is None:
        return None
    return ExpectedLabel(body["mean"], body["low"], body["high"])


def implausible_question(y: float, of: ExpectedLabel | None, others: Sequence[float]) -> str | None:
    """Why somebody might look at this value again, in words; None: nothing is strange.

    >>> implausible_question(31.2, ExpectedLabel(312.0, 300.0, 324.0), [])
    '31.2 is far from what was expected: 312, most likely between 300 and 324.'
    """
    if of is not None:
        reach = of.high - of.mean if y > of.mean else of.mean - of.low
        if abs(y - of.mean) <= DOUBTED_HALF_WIDTHS * reach:
            return None
        between = f"most likely between {shown(of.low)} and {shown(of.high)}"
        return f"{shown(y)} is far from what was expected: {shown(of.mean)}, {between}."
    words = far_from_labels(y, others)
    return f"{words}." if words else None
