"""Cells: what one may hold, what stands for a missing one, and text that is a number.

a cell       str | int | float | bool | datetime | None (missing)
missing      blank, NA, na, N/A, n/a, #N/A, <NA>, NaN, NAN, nan, NULL, Null, null, None, - and ?
             (as written here: Na is sodium, and `none` may be a coating)
numbers      as Python reads them, without its underscores; the typographic minus is a minus.
             A column is of numbers when ALL its cells are. 1e400 reads as infinite, and is
             refused where infinite values are.
12,5         is text, unless the file is separated by semicolons and the whole column is
             written so (no cell with a point)
nearly       where most cells are numbers and a few are <0.5, > 200, ca. 3, 3 - 4, 12* or 120 °C,
             the column is of numbers, and those few are missing; a column of one unit, or of
             percent signs, throughout is of numbers, without it

One number typed by a person, or an error that names the field and says what to write.

Taken: 312.5, " 3.1e2 ", .5, -4, and the typographic minus. Refused, rather than guessed at: blank,
n/a, nan, inf, 1e400 (too large for a float), decimal commas and thousands separators, units,
hexadecimal, 1_000, and whole numbers that a float would round: above 2^53 = 9007199254740992 it
holds every second one at the most.

Dates as text: which way they are written, and what they say.

    year-first     2024-03-01, 2024/3/1
    day-first      1.3.2024; 1/3/2024 and 1-3-2024 when some day is beyond 12
    month-first    3/1/2024 and 3-1-2024 when some day is beyond 12
    named          1 Mar 2024, 1-Mar-2024, 1. March 2024

each with or without a time: 2024-03-01T12:30, 12:30:15.5, Z or +01:00 (turned into UTC). A column
that reads both ways, day first and month first, is ambiguous, and no date until someone says which.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Any

Cell = str | int | float | bool | datetime | None

MISSING_MARKERS = frozenset(
    {"", "NA", "na", "N/A", "n/a", "#N/A", "<NA>", "NaN", "NAN", "nan"}
    | {"NULL", "Null", "null", "None", "-", "?"}
)
MINUS = "\N{MINUS SIGN}"
WHOLE = 2.0**53  # beyond, a float does not hold every whole number
_FEWEST_DIGITS, _MOST_DIGITS = 16, 300  # of whole numbers that a float rounds, but can hold
_LARGEST_WHOLE = 10**_MOST_DIGITS
_COMMA_NUMBER = re.compile(r"\s*[+-]?[0-9]+(,[0-9]+)?([eE][+-]?[0-9]+)?\s*")
_NUMBER_PATTERN = r"[+-]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?"
_DIGIT = re.compile("[0-9]")
_UNIT_PATTERN = r"[^\W\d_][^\s\d<>=~*]{0,9}|[%‰°µΩ][^\s\d<>=~*]{0,9}"
_WITH_UNIT = re.compile(rf"({_NUMBER_PATTERN})\s*({_UNIT_PATTERN})")
_ODD_UNIT = r"\s+[^\W\d_]\S{0,9}|\s*[%‰°µΩ]\S{0,9}"  # 316L is a name
_RANGE_SIGNS = "[-/±\N{EN DASH}\N{EM DASH}]"
_NEARLY = re.compile(  # <0.5   ca. 3   3 - 4   12*   120 °C   (7)   2 ± 1
    rf"(?:[<>≤≥=~≈±]+|ca\.?|about|approx\.?|etwa|max\.?|min\.?|\()?\s*{_NUMBER_PATTERN}"
    rf"(?:\s*(?:{_RANGE_SIGNS}|\+-|\+/-|to|bis)\s*{_NUMBER_PATTERN})?(?:{_ODD_UNIT})?\s*[*?!)]*",
    re.IGNORECASE,
)
# share of cells that are not quite numbers, and numbers beside
MAX_ODD_SHARE, FEWEST_NUMBERS = 0.3, 3
_MAX_CELLS_SHOWN = 5
_LONGEST_SHOWN = 40


def without_markers(cells: Iterable[str]) -> list[str | None]:
    """The cells as they were, with None for those that stand for a missing one.

    >>> without_markers(["3", " NA ", "Na", ""])
    ['3', None, 'Na', None]
    """
    return [None if cell.strip() in MISSING_MARKERS else cell for cell in cells]


def cell_text(cell: Any) -> str:
    """A cell as text: whole numbers without a point, times as ISO writes them.

    >>> cell_text(7.0), cell_text("007"), cell_text(True), cell_text(0.5)
    ('7', '007', 'true', '0.5')
    """
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e16:
        return str(int(cell))
    return cell.isoformat(" ") if isinstance(cell, datetime) else str(cell)


def rounded(cells: Iterable[Any]) -> list[int]:
    """Whole numbers among cells, or written in them, that a float does not hold.

    >>> rounded(["9007199254740993", 2**53, 2.0**60, "1e17", None])
    [9007199254740993]
    """
    whole = (_whole(cell) for cell in cells)
    return [one for one in whole if one is not None and one != int(float(one))]


def _whole(cell: Any) -> int | None:
    """A whole number that is written with all its digits, and may have too many for a float."""
    if isinstance(cell, int):
        return cell if abs(cell) < _LARGEST_WHOLE else None
    if not isinstance(cell, str) or not _FEWEST_DIGITS <= len(cell) <= _MOST_DIGITS:
        return None
    text = cell.strip()
    return int(text) if text.lstrip("+-").isdecimal() else None


def read_numbers(cells: Sequence[str | None], decimal_comma: bool = False) -> list[Any] | None:
    """All cells as numbers (ints where all are whole), None where missing; None if one is not.

    >>> read_numbers(["1", None, "2"]), read_numbers(["1", "2.5"]), read_numbers(["1", "low"])
    ([1, None, 2], [1.0, 2.5], None)
    >>> read_numbers(["1,5", "2"], decimal_comma=True)
    [1.5, 2.0]
    """
    if decimal_comma and _all_with_commas(cells):
        cells = [cell and cell.replace(",", ".") for cell in cells]
    found = _all_as(int, cells)
    return _all_as(float, cells) if found is None else found


@dataclass(frozen=True, slots=True)
class AlmostNumeric:
    """A column of numbers, all but a few cells of which are: these are missing."""

    numbers: list[Any]
    odd: tuple[str, ...] = ()  # cells that are no numbers
    unit: str = ""  # that all others had
    mixed: tuple[str, ...] = ()  # cells with a decimal comma, where others have a point


def nearly_numbers(
    cells: Sequence[str | None], decimal_comma: bool = False
) -> AlmostNumeric | None:
    """Numbers in a column some of whose cells are not quite; None where it is one of text.

    >>> nearly_numbers(["1.5", "<0.5", "2", "3", "4", None])
    Nearly(numbers=[1.5, None, 2.0, 3.0, 4.0, None], odd=('<0.5',), unit='', mixed=())
    >>> nearly_numbers(["12 %", "7 %", None])
    Nearly(numbers=[12, 7, None], odd=(), unit='%', mixed=())
    >>> nearly_numbers(["1", "low", "high", "2"])
    """
    if not any(cell and _DIGIT.search(cell) for cell in cells):
        return None
    unit, bare = _without_unit(cells)
    numbers = read_numbers(bare, decimal_comma)
    if numbers is not None:
        return AlmostNumeric(numbers, (), unit)
    comma = decimal_comma and sum(bool(cell and _COMMA_NUMBER.fullmatch(cell)) for cell in bare)
    good = [_one_number(cell, bool(comma)) for cell in bare]
    odd = [cell for cell, one in zip(bare, good, strict=True) if cell is not None and one is None]
    known = sum(cell is not None for cell in bare)
    nearly = all(_NEARLY.fullmatch(cell.strip()) for cell in odd)
    if not nearly or len(odd) > MAX_ODD_SHARE * known or known - len(odd) < FEWEST_NUMBERS:
        return None
    whole = all(one is None or one.is_integer() for one in good)
    if whole and not any("." in cell or "," in cell for cell in bare if cell):
        return AlmostNumeric([None if one is None else int(one) for one in good], tuple(odd), unit)
    return AlmostNumeric(good, tuple(odd), unit, _mixed_decimal_marks(bare) if comma else ())


def _mixed_decimal_marks(cells: Sequence[str | None]) -> tuple[str, ...]:
    known = [cell for cell in cells if cell is not None]
    commas = tuple(cell for cell in known if _COMMA_NUMBER.fullmatch(cell) and "," in cell)
    return commas if any("." in cell for cell in known) else ()


def _one_number(cell: str | None, comma: bool) -> float | None:
    if cell is None:
        return None
    if comma and _COMMA_NUMBER.fullmatch(cell.replace(MINUS, "-")):
        cell = cell.replace(",", ".")
    return read_number(cell)


def _without_unit(cells: Sequence[str | None]) -> tuple[str, list[str | None]]:
    """The unit that all cells end in, if they do, and the cells without it."""
    known = [cell.strip() for cell in cells if cell is not None]
    found = [_WITH_UNIT.fullmatch(cell) for cell in known]
    units = {one[2] for one in found if one}
    if not known or not all(found) or len(units) != 1:
        return "", list(cells)
    return units.pop(), [None if c is None else _WITH_UNIT.fullmatch(c.strip())[1] for c in cells]  # type: ignore[index]


def read_number(cell: str) -> float | None:
    """One cell as a number; None where it is not one."""
    found = _all_as(float, [cell])
    return None if found is None else found[0]


def with_comma(cell: object) -> bool:
    """Whether a cell is a number where commas are decimal ones."""
    return isinstance(cell, str) and bool(_COMMA_NUMBER.fullmatch(cell.replace(MINUS, "-")))


def _all_as(kind: type[int] | type[float], cells: Sequence[str | None]) -> list[Any] | None:
    try:
        found = [None if cell is None else kind(cell) for cell in cells]
    except ValueError:
        minus = any(MINUS in cell for cell in cells if cell)
        return (
            _all_as(kind, [cell and cell.replace(MINUS, "-") for cell in cells]) if minus else None
        )
    return None if any("_" in cell for cell in cells if cell) else found


def _all_with_commas(cells: Sequence[str | None]) -> bool:
    written = [cell.replace(MINUS, "-") for cell in cells if cell is not None]
    some = any("," in cell for cell in written)
    return some and all(map(_COMMA_NUMBER.fullmatch, written))


def some_of(shown: Sequence[object]) -> str:
    """The first five, for a message.

    >>> some_of([1, 2, 3, 4, 5, 6])
    '1, 2, 3, 4, 5, ...'
    """
    return ", ".join(map(str, shown[:_MAX_CELLS_SHOWN])) + (
        ", ..." if len(shown) > _MAX_CELLS_SHOWN else ""
    )


def short(cell: object) -> str:
    """A cell, quoted and cut, for a message."""
    text = cell_text(cell)
    return repr(text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "...")


MAX_NUMBER_DIGITS = 400  # digits: a float has 309
_TYPED_COMMA = re.compile(
    r"\s*[+\-\N{MINUS SIGN}]?(?:0?|[1-9][0-9]*),[0-9]+(?:[eE][+-]?[0-9]+)?\s*"
)
_TYPED_THOUSANDS = re.compile(r"\s*[+\-\N{MINUS SIGN}]?[1-9][0-9]{0,2},[0-9]{3}\s*")
_TYPED_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+(?:[eE][+-]?[0-9]+)?")
_THOUSANDS_COMMA = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?")
_BASE = re.compile(r"[+-]?0[xXbBoO].*")
_WRITTEN = _TYPED_NUMBER.replace(r"\.", "[.,]")
_TYPED_UNIT = re.compile(_WRITTEN + r"(?:\s+\S*[^\W\d_].*|\s*[^\W\d_].*|\s*[%°‰].*)", re.DOTALL)


def number(text: object, field: str) -> float:
    """The finite number that was typed into the field; ValueError where there is none.

    >>> number(" 3.1e2 ", "hardness")
    310.0
    >>> number("12,5", "hardness")
    Traceback (most recent call last):
    ValueError: hardness is '12,5'; write it with a decimal point: 12.5
    """
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise ValueError(f"{field} is {text!r}; write a number, such as 312.5")
    if isinstance(text, int) and abs(text) >= 10**MAX_NUMBER_DIGITS:
        raise ValueError(f"{field} is too large; check its unit")
    written = str(text).strip().replace(MINUS, "-")
    if not re.fullmatch(_TYPED_NUMBER, written):
        raise ValueError(f"{field} is {_quote(text)}; {_advice(written)}")
    value = float(written)
    if not math.isfinite(value):
        raise ValueError(f"{field} is {_quote(text)}, which is too large; check its unit")
    if _is_rounded(written, value):
        raise ValueError(
            f"{field} is {_quote(text)}, which has more digits than can be kept: it would become "
            f"{short(int(value))}; round it ({value!r}), or write it in a larger unit"
        )
    return value


def _is_rounded(written: str, value: float) -> bool:
    """Whether a whole number, written with all its digits, is another one as a float."""
    whole, _, rest = written.partition(".")
    if abs(value) < WHOLE or rest.strip("0") or not whole.lstrip("+-").isdigit():
        return False
    return int(whole) != int(value)


def _quote(text: object) -> str:
    return "empty" if isinstance(text, str) and not text.strip() else short(text)


def _advice(written: str) -> str:
    if _THOUSANDS_COMMA.fullmatch(written) and ("." in written or written.count(",") > 1):
        return f"write it without thousands separators: {written.replace(',', '')}"
    if _THOUSANDS_COMMA.fullmatch(written):
        point, plain = written.replace(",", "."), written.replace(",", "")
        return f"write {point} or {plain}, whichever is meant"
    if _DECIMAL_COMMA.fullmatch(written):
        return f"write it with a decimal point: {written.replace(',', '.')}"
    if _TYPED_UNIT.fullmatch(written) and not _BASE.fullmatch(written):
        return "write the number alone, without a unit"
    return "write a finite number, such as 312.5; leave out what was not measured"


DATE_FORMS = ("year-first", "day-first", "month-first", "named")
AMBIGUOUS = "ambiguous"
_TIME_PATTERN = (
    r"(?:[T ]\s*(?P<time>\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)\s*(?P<zone>Z|[+-]\d{2}:?\d{2})?)?"
)
_PATTERNS = {
    "year-first": r"(?P<y>\d{4})(?P<s>[-/.])(?P<m>\d{1,2})(?P=s)(?P<d>\d{1,2})",
    "day-first": r"(?P<d>\d{1,2})(?P<s>[-/.])(?P<m>\d{1,2})(?P=s)(?P<y>\d{4})",
    "month-first": r"(?P<m>\d{1,2})(?P<s>[-/])(?P<d>\d{1,2})(?P=s)(?P<y>\d{4})",
    "named": r"(?P<d>\d{1,2})[ .-]{1,2}(?P<m>[A-Za-z]{3,9})[ .,-]{1,2}(?P<y>\d{4})",
}
_FORMS = {form: re.compile(text + _TIME_PATTERN, re.ASCII) for form, text in _PATTERNS.items()}
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
    forms = [form for form in DATE_FORMS if known and all(read_date(t, form) for t in known)]
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


def read_value(text: str, field: str) -> float:
    """The number that was typed; ValueError says what to write instead.

    >>> read_value("12,5", "hardness"), read_value(" 0,125 ", "hardness")
    (12.5, 0.125)
    >>> read_value("1,250", "hardness")
    Traceback (most recent call last):
    ValueError: hardness is '1,250'; write 1.250 or 1250, whichever is meant
    """
    if _TYPED_COMMA.fullmatch(text) and not _TYPED_THOUSANDS.fullmatch(text):
        text = text.replace(",", ".")
    return number(text, field)
