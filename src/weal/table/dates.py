"""Dates as text: which way they are written, and what they say.

    year-first     2024-03-01, 2024/3/1
    day-first      1.3.2024; 1/3/2024 and 1-3-2024 when some day is beyond 12
    month-first    3/1/2024 and 3-1-2024 when some day is beyond 12
    named          1 Mar 2024, 1-Mar-2024, 1. March 2024

each with or without a time: 2024-03-01T12:30, 12:30:15.5, Z or +01:00 (turned into UTC). A column
that reads both ways, day first and month first, is ambiguous, and no date until someone says which.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, time

FORMS = ("year-first", "day-first", "month-first", "named")
AMBIGUOUS = "ambiguous"
_TIME = (
    r"(?:[T ]\s*(?P<time>\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)\s*(?P<zone>Z|[+-]\d{2}:?\d{2})?)?"
)
_PATTERNS = {
    "year-first": r"(?P<y>\d{4})(?P<s>[-/.])(?P<m>\d{1,2})(?P=s)(?P<d>\d{1,2})",
    "day-first": r"(?P<d>\d{1,2})(?P<s>[-/.])(?P<m>\d{1,2})(?P=s)(?P<y>\d{4})",
    "month-first": r"(?P<m>\d{1,2})(?P<s>[-/])(?P<d>\d{1,2})(?P=s)(?P<y>\d{4})",
    "named": r"(?P<d>\d{1,2})[ .-]{1,2}(?P<m>[A-Za-z]{3,9})[ .,-]{1,2}(?P<y>\d{4})",
}
_FORMS = {form: re.compile(text + _TIME, re.ASCII) for form, text in _PATTERNS.items()}
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)


def find_form(texts: Iterable[str]) -> str | None:
    """The form in which all texts are dates; AMBIGUOUS where there are two, None where none.

    >>> find_form(["1/3/2024", "13/3/2024"]), find_form(["1/3/2024"]), find_form(["1/3"])
    ('day-first', 'ambiguous', None)
    """
    known = list(texts)
    forms = [form for form in FORMS if known and all(read_date(t, form) for t in known)]
    return AMBIGUOUS if len(forms) > 1 else forms[0] if forms else None


def read_date(text: str, form: str) -> datetime | None:
    """The time that a text in this form says, in UTC where it names a zone; None if none.

    >>> read_date("1.3.2024 12:30", "day-first")
    datetime.datetime(2024, 3, 1, 12, 30)
    """
    found = _FORMS[form].fullmatch(text.strip())
    if not found:
        return None
    month = _month(found["m"])
    try:
        day = datetime(int(found["y"]), month, int(found["d"]))
        return _at(day, found["time"], found["zone"])
    except (ValueError, OverflowError):  # no such day or hour
        return None


def _month(text: str) -> int:
    """Number of a month; 0, which is none, for a word that is not a month."""
    if text.isdigit():
        return int(text)
    starts = [n for n, name in enumerate(_MONTHS, start=1) if name.startswith(text.lower())]
    return starts[0] if starts else 0


def _at(day: datetime, clock: str | None, zone: str | None) -> datetime:
    if not clock:
        return day
    hour, _, rest = clock.partition(":")
    whole, point, part = rest.partition(".")
    fraction = point + part.ljust(6, "0") if point else ""
    moment = time.fromisoformat(f"{int(hour):02}:{whole}{fraction}{zone or ''}")
    found = datetime.combine(day, moment)
    return found.astimezone(UTC).replace(tzinfo=None) if zone else found
