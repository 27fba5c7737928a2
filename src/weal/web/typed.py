"""A number as it is typed at the bench, and whether it is far from what was expected.

A decimal comma is understood where it can be nothing else (12,5 and 0,125; not 1,250, which may be
twelve hundred and fifty). Whatever else is refused in the words of `weal.table.entry`.

What is far is asked about once, so that it may be nearer than what `campaign.surprise` speaks of:
on the sample of alloys (3 seeds, 48 labels each) none of the right labels was asked about, and all
that were ten times too large or too small. Where nothing was expected, the labels so far say what
is far (`campaign.first_labels`), as they do to `weal tell`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weal.campaign.first_labels import far_from_labels
from weal.diagnostics.wording import number as shown
from weal.table.entry import number

FAR = 2.0  # times half the width of the 90 % interval: 3.3 sds, once in a thousand labels
_COMMA = re.compile(r"\s*[+\-\N{MINUS SIGN}]?(?:0?|[1-9][0-9]*),[0-9]+(?:[eE][+-]?[0-9]+)?\s*")
_THOUSANDS = re.compile(r"\s*[+\-\N{MINUS SIGN}]?[1-9][0-9]{0,2},[0-9]{3}\s*")


@dataclass(frozen=True, slots=True)
class Expected:
    """What was expected of a label when its row was asked."""

    mean: float
    low: float
    high: float


def read_value(text: str, field: str) -> float:
    """The number that was typed; ValueError says what to write instead.

    >>> read_value("12,5", "hardness"), read_value(" 0,125 ", "hardness")
    (12.5, 0.125)
    >>> read_value("1,250", "hardness")
    Traceback (most recent call last):
    ValueError: hardness is '1,250'; write 1.250 or 1250, whichever is meant
    """
    if _COMMA.fullmatch(text) and not _THOUSANDS.fullmatch(text):
        text = text.replace(",", ".")
    return number(text, field)


def expected(body: Mapping[str, Any] | None) -> Expected | None:
    """What the event of an ask says was expected; None: there was no model."""
    if body is None or body["mean"] is None:
        return None
    return Expected(body["mean"], body["low"], body["high"])


def doubt(y: float, of: Expected | None, others: Sequence[float]) -> str | None:
    """Why somebody might look at this value again, in words; None: nothing is strange.

    >>> doubt(31.2, Expected(312.0, 300.0, 324.0), [])
    '31.2 is far from what was expected: 312, most likely between 300 and 324.'
    """
    if of is not None:
        reach = of.high - of.mean if y > of.mean else of.mean - of.low
        if abs(y - of.mean) <= FAR * reach:
            return None
        between = f"most likely between {shown(of.low)} and {shown(of.high)}"
        return f"{shown(y)} is far from what was expected: {shown(of.mean)}, {between}."
    words = far_from_labels(y, others)
    return f"{words}." if words else None
