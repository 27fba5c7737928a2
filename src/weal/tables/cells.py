"""Cells: missing-value markers, numbers and dates in text, and numbers that a person types.

Columns (`read_numbers`; `number_columns` reads units, separators and cells in doubt)
    missing     blank, NA, na, N/A, n/a, #N/A, <NA>, NaN, NAN, nan, NULL, Null, null, None, - and ?
                (in this spelling: Na is sodium, and `none` may be a coating); beside numbers also
                n.a., k.A., n.v., #NV, #N/D and missing, in any case
    numbers     Python's syntax without underscores; the typographic minus is a minus. A column is
                numeric if ALL its cells are. 1e400 reads as infinite.
    12,5        a number where the comma does not separate cells and the whole column is written
                with decimal commas

Typed numbers (`read_typed_number`): the shell, the page, Python and results files use it
    read        312.5, " 3.1e2 ", .5, -4, the typographic minus; on the page and in files 12,5 and
                0,125 too, which can only be decimal commas
    refused     1,250 (1.25 or 1250?), blank, n/a, nan, inf, 1e400, thousands separators, units,
                hexadecimal, 1_000, and whole numbers above 2^53 that a float would round

Dates (`find_date_form`, `read_date`), with or without a time 12:30, 12:30:15.5, Z or +01:00
    year-first     2024-03-01, 2024/3/1
    day-first      1.3.2024; 1/3/2024 and 1-3-2024 where some day is beyond 12
    month-first    3/1/2024 and 3-1-2024 where some day is beyond 12
    named          1 Mar 2024, 1-Mar-2024, 1. March 2024

A column that can be read day first and month first is ambiguous until the user declares the form.
"""

import math
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, time


class PercentCell(float):
    """A share that a spreadsheet shows as a percentage: 0.594 for 59.4 %."""

    __slots__ = ()

    def as_shown(self) -> str:
        """The percentage as text.

        >>> PercentCell(0.594).as_shown()
        '59.4%'
        """
        return f"{float(f'{100 * self:.15g}'):.15g}%"


Cell = str | int | float | bool | datetime | None
Numbers = list[int | float | None]

MISSING_MARKERS = frozenset(
    {"", "NA", "na", "N/A", "n/a", "#N/A", "<NA>", "NaN", "NAN", "nan"}
    | {"NULL", "Null", "null", "None", "-", "?"}
)
# the same, in a column whose other cells are numbers; as words they may be levels
NUMBER_GAP_MARKERS = frozenset({"n.a.", "n. a.", "k.a.", "k. a.", "n.v.", "#nv", "#n/d", "missing"})
MINUS = "\N{MINUS SIGN}"
MAX_EXACT_INTEGER = 2.0**53  # a float represents every integer up to here
_MIN_INTEGER_DIGITS, _MAX_INTEGER_DIGITS = 16, 300  # of whole numbers that a float holds, rounded
_MAX_INTEGER = 10**_MAX_INTEGER_DIGITS
_COMMA_NUMBER = re.compile(r"\s*[+-]?[0-9]+(,[0-9]+)?([eE][+-]?[0-9]+)?\s*")
_MAX_CELLS_SHOWN = 10
_MAX_CELL_SHOWN = 40


def replace_missing_markers(cells: Iterable[str]) -> list[str | None]:
    """The cells, with None instead of missing-value markers.

    >>> replace_missing_markers(["3", " NA ", "Na", ""])
    ['3', None, 'Na', None]
    """
    return [None if cell.strip() in MISSING_MARKERS else cell for cell in cells]


def cell_text(cell: object) -> str:
    """A cell as text: whole numbers without a point, times in ISO format.

    >>> cell_text(7.0), cell_text("007"), cell_text(True), cell_text(0.5)
    ('7', '007', 'true', '0.5')
    """
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e16:
        return str(int(cell))
    return cell.isoformat(" ") if isinstance(cell, datetime) else str(cell)


def inexact_integers(cells: Iterable[object]) -> list[int]:
    """Whole numbers in the cells, also as text, that a float cannot represent exactly.

    >>> inexact_integers(["9007199254740993", 2**53, 2.0**60, "1e17", None])
    [9007199254740993]
    """
    integers = (_integer(cell) for cell in cells)
    return [one for one in integers if one is not None and one != int(float(one))]


def _integer(cell: object) -> int | None:
    """The whole number in a cell that may have too many digits for a float."""
    if isinstance(cell, int):
        return cell if abs(cell) < _MAX_INTEGER else None
    if not isinstance(cell, str) or not _MIN_INTEGER_DIGITS <= len(cell) <= _MAX_INTEGER_DIGITS:
        return None
    text = cell.strip()
    return int(text) if text.lstrip("+-").isdecimal() else None


def read_numbers(cells: Sequence[str | None], decimal_comma: bool = False) -> Numbers | None:
    """All cells as numbers (ints where all are whole), None if missing; None if one is text.

    >>> read_numbers(["1", None, "2"]), read_numbers(["1", "2.5"]), read_numbers(["1", "low"])
    ([1, None, 2], [1.0, 2.5], None)
    >>> read_numbers(["1,5", "2"], decimal_comma=True)
    [1.5, 2.0]
    """
    if decimal_comma and _all_with_commas(cells):
        cells = [cell and cell.replace(",", ".") for cell in cells]
    found = _all_as(int, cells)
    return _all_as(float, cells) if found is None else found


def read_number(cell: str) -> float | None:
    """One cell as a number; None for text."""
    found = _all_as(float, [cell])
    return None if found is None else found[0]


def has_decimal_comma(cell: object) -> bool:
    """Whether a cell is a number if commas are decimal marks."""
    return isinstance(cell, str) and bool(_COMMA_NUMBER.fullmatch(cell.replace(MINUS, "-")))


def _all_as(kind: type[int] | type[float], cells: Sequence[str | None]) -> Numbers | None:
    try:
        known = [cell for cell in cells if cell is not None]
        found: Numbers = list(map(kind, known))
        if len(known) < len(cells):
            numbers = iter(found)
            found = [None if cell is None else next(numbers) for cell in cells]
    except ValueError:
        minus = MINUS in "".join(filter(None, cells))
        return (
            _all_as(kind, [cell and cell.replace(MINUS, "-") for cell in cells]) if minus else None
        )
    return None if "_" in "".join(filter(None, cells)) else found


def _all_with_commas(cells: Sequence[str | None]) -> bool:
    written = [cell.replace(MINUS, "-") for cell in cells if cell is not None]
    some = any("," in cell for cell in written)
    return some and all(map(_COMMA_NUMBER.fullmatch, written))


def some_of(shown: Sequence[object]) -> str:
    """The first ten of several, for a message.

    >>> some_of(range(11))
    '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...'
    """
    return ", ".join(map(str, shown[:_MAX_CELLS_SHOWN])) + (
        ", ..." if len(shown) > _MAX_CELLS_SHOWN else ""
    )


def short(cell: object) -> str:
    """A cell, quoted and shortened, for a message."""
    text = cell_text(cell)
    return repr(text if len(text) <= _MAX_CELL_SHOWN else text[: _MAX_CELL_SHOWN - 3] + "...")


MAX_NUMBER_DIGITS = 400  # digits: a float has 309
_TYPED_COMMA = re.compile(r"[+-]?(?:0?|[1-9][0-9]*),[0-9]+(?:[eE][+-]?[0-9]+)?")
_TYPED_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")
_TYPED_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+(?:[eE][+-]?[0-9]+)?")
_THOUSANDS_COMMA = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?")
_BASE = re.compile(r"[+-]?0[xXbBoO].*")
_WRITTEN = _TYPED_NUMBER.replace(r"\.", "[.,]")
_TYPED_UNIT = re.compile(_WRITTEN + r"(?:\s+\S*[^\W\d_].*|\s*[^\W\d_].*|\s*[%°‰].*)", re.DOTALL)


def read_typed_number(text: object, field: str, decimal_comma: bool = True) -> float:
    """The finite number that a person typed into the field; ValueError has advice.

    The page and files accept an unambiguous decimal comma. Commands and Python do not, since a
    comma also separates values there; the error says what to write.

    >>> read_typed_number(" 3.1e2 ", "hardness"), read_typed_number("12,5", "hardness")
    (310.0, 12.5)
    >>> read_typed_number("1,250", "hardness")
    Traceback (most recent call last):
    ValueError: hardness is '1,250'; write 1.250 or 1250, whichever you mean
    """
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise ValueError(f"{field} is {text!r}; write a number, such as 312.5")
    if isinstance(text, int) and abs(text) >= 10**MAX_NUMBER_DIGITS:
        raise ValueError(f"{field} is too large; check its unit")
    written = str(text).strip().replace(MINUS, "-")
    is_comma = _TYPED_COMMA.fullmatch(written) and not _TYPED_THOUSANDS.fullmatch(written)
    if decimal_comma and is_comma:
        written = written.replace(",", ".")
    if not re.fullmatch(_TYPED_NUMBER, written):
        raise ValueError(f"{field} is {_quote(text)}; {_advice(written)}")
    value = float(written)
    if not math.isfinite(value):
        raise ValueError(f"{field} is {_quote(text)}, which is too large; check its unit")
    if is_rounded(written, value):
        raise ValueError(
            f"{field} is {_quote(text)}, which has more digits than can be kept: it would become "
            f"{short(int(value))}; round it ({value!r}), or write it in a larger unit"
        )
    return value


def is_rounded(written: str, value: float) -> bool:
    """Whether a float rounds this whole number."""
    whole, _, rest = written.partition(".")
    if abs(value) < MAX_EXACT_INTEGER or rest.strip("0") or not whole.lstrip("+-").isdigit():
        return False
    return int(whole) != int(value)


def _quote(text: object) -> str:
    return "empty" if isinstance(text, str) and not text.strip() else short(text)


def _advice(written: str) -> str:
    if _THOUSANDS_COMMA.fullmatch(written) and ("." in written or written.count(",") > 1):
        return f"write it without thousands separators: {written.replace(',', '')}"
    if _THOUSANDS_COMMA.fullmatch(written):
        point, plain = written.replace(",", "."), written.replace(",", "")
        return f"write {point} or {plain}, whichever you mean"
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


def find_date_form(texts: Iterable[str]) -> str | None:
    """The form in which all texts are dates; AMBIGUOUS where two forms fit, None if none does.

    >>> [find_date_form(t) for t in (["1/3/2024", "13/3/2024"], ["1/3/2024"], ["1/3"])]
    ['day-first', 'ambiguous', None]
    """
    known = list(texts)
    forms = [form for form in DATE_FORMS if known and all(read_date(t, form) for t in known)]
    return AMBIGUOUS if len(forms) > 1 else forms[0] if forms else None


def read_date(text: str, form: str) -> datetime | None:
    """The time in a text of this form, in UTC where the text names a zone; None if it has none.

    >>> read_date("1.3.2024 12:30", "day-first")
    datetime.datetime(2024, 3, 1, 12, 30)
    """
    found = _FORMS[form].fullmatch(text.strip())
    if not found:
        return None
    month = _month(found["m"])
    try:
        day = datetime(int(found["y"]), month, int(found["d"]))
        return _add_time(day, found["time"], found["zone"])
    except (ValueError, OverflowError):  # such as 31 February
        return None


def _month(text: str) -> int:
    """The number of a month; 0 for a word that is not a month."""
    if text.isdigit():
        return int(text)
    starts = [n for n, name in enumerate(_MONTHS, start=1) if name.startswith(text.lower())]
    return starts[0] if starts else 0


def _add_time(day: datetime, clock: str | None, zone: str | None) -> datetime:
    if not clock:
        return day
    hour, _, rest = clock.partition(":")
    whole, point, part = rest.partition(".")
    fraction = point + part.ljust(6, "0") if point else ""
    moment = time.fromisoformat(f"{int(hour):02}:{whole}{fraction}{zone or ''}")
    found = datetime.combine(day, moment)
    return found.astimezone(UTC).replace(tzinfo=None) if zone else found
