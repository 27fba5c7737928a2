"""A label beside the labels so far, where nothing was expected of it: is it far from them?

Nothing is expected before there is a model, nor of rows that nobody asked for. A label counts as
far from the others when it is more than FAR times their range beyond it, as it is or, where all are
above 0, in logs: a decimal slip to a tenth lies within three ranges more often than not. Of four
labels that were drawn at random one is far by chance in 3 % (normal) to 8 % (log-normal, sd 1) of
cases, of eight in less than 0.1 and in 1.3 %; of slips by a factor of 10 among labels that vary by
a seventh, 96 % are found and more.

The first few have too few others when they come: they are looked at again once there are LATER. In
long campaigns (`rules.EARLY`) only the model is asked, by `weal status`.
Standard library only.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from weal.campaign.ledger import Ledger
from weal.campaign.surprise import expectation
from weal.diagnostics.wording import number

if TYPE_CHECKING:
    from weal.campaign.rules import Telling

FAR = 3.0  # times the range of the others
ENOUGH = 3  # others that have a range
LATER = 5  # others of a label that came before there were enough


def far_from_labels(y: float, others: Sequence[float]) -> str | None:
    """Why somebody might look at this label again, in words; None: nothing is strange.

    >>> far_from_labels(31.2, [300.0, 312.5, 320.0])
    '31.2 is far from the labels so far: 300 to 320'
    """
    return _far(y, len(others), min(others), max(others)) if others else None


def at_first(
    ledger: Ledger, tellings: Sequence["Telling"]
) -> tuple[list["Telling"], list[tuple[str, str]]]:
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
    since, until = _Spread(after), _Spread(before)
    found = [
        replace(one, doubt=since.far(one.entry.id, one.entry.y)) if one.blind else one
        for one in tellings
    ]
    early = [
        (told.id, words)
        for told in ledger.told()[:ENOUGH]
        if told.id in before and not told.sure and _is_blind(ledger, told.id)
        if (words := since.far(told.id, told.y, LATER)) and not until.far(told.id, told.y, LATER)
    ]
    return found, early


def _is_blind(ledger: Ledger, name: str) -> bool:
    return expectation(ledger, name) is None


class _Spread:
    """The range of the labels of all rows but one, for each."""

    def __init__(self, labels: Mapping[str, Sequence[float]]) -> None:
        self.n = {name: len(several) for name, several in labels.items()}
        self.total = sum(self.n.values())
        each = [(y, name) for name, several in labels.items() for y in several]
        self.low = _two(sorted(each))
        self.high = _two(sorted(each, reverse=True))

    def far(self, name: str, y: float, enough: int = ENOUGH) -> str | None:
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
    if n < ENOUGH or low == high:
        return None
    logs = min(y, low) > 0.0 and _outside(math.log(y), math.log(low), math.log(high))
    if not logs and not _outside(y, low, high):
        return None
    return f"{number(y, 8)} is far from the labels so far: {number(low)} to {number(high)}"


def _outside(y: float, low: float, high: float) -> bool:
    reach = FAR * (high - low)
    return not low - reach <= y <= high + reach
