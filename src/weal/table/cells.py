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
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Cell = str | int | float | bool | datetime | None

MISSING = frozenset(
    {"", "NA", "na", "N/A", "n/a", "#N/A", "<NA>", "NaN", "NAN", "nan"}
    | {"NULL", "Null", "null", "None", "-", "?"}
)
MINUS = "\N{MINUS SIGN}"
WHOLE = 2.0**53  # beyond, a float does not hold every whole number
_FEWEST_DIGITS, _MOST_DIGITS = 16, 300  # of whole numbers that a float rounds, but can hold
_LARGEST_WHOLE = 10**_MOST_DIGITS
_COMMA_NUMBER = re.compile(r"\s*[+-]?[0-9]+(,[0-9]+)?([eE][+-]?[0-9]+)?\s*")
_NUMBER = r"[+-]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?"
_DIGIT = re.compile("[0-9]")
_UNIT = r"[^\W\d_][^\s\d<>=~*]{0,9}|[%‰°µΩ][^\s\d<>=~*]{0,9}"
_WITH_UNIT = re.compile(rf"({_NUMBER})\s*({_UNIT})")
_ODD_UNIT = r"\s+[^\W\d_]\S{0,9}|\s*[%‰°µΩ]\S{0,9}"  # 316L is a name
_BETWEEN = "[-/±\N{EN DASH}\N{EM DASH}]"
_NEARLY = re.compile(  # <0.5   ca. 3   3 - 4   12*   120 °C   (7)   2 ± 1
    rf"(?:[<>≤≥=~≈±]+|ca\.?|about|approx\.?|etwa|max\.?|min\.?|\()?\s*{_NUMBER}"
    rf"(?:\s*(?:{_BETWEEN}|\+-|\+/-|to|bis)\s*{_NUMBER})?(?:{_ODD_UNIT})?\s*[*?!)]*",
    re.IGNORECASE,
)
MOST_ODD, FEWEST_NUMBERS = 0.3, 3  # share of cells that are not quite numbers, and numbers beside
_SHOWN = 5
_LONGEST_SHOWN = 40


def without_markers(cells: Iterable[str]) -> list[str | None]:
    """The cells as they were, with None for those that stand for a missing one.

    >>> without_markers(["3", " NA ", "Na", ""])
    ['3', None, 'Na', None]
    """
    return [None if cell.strip() in MISSING else cell for cell in cells]


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
class Nearly:
    """A column of numbers, all but a few cells of which are: these are missing."""

    numbers: list[Any]
    odd: tuple[str, ...] = ()  # cells that are no numbers
    unit: str = ""  # that all others had
    mixed: tuple[str, ...] = ()  # cells with a decimal comma, where others have a point


def nearly_numbers(cells: Sequence[str | None], decimal_comma: bool = False) -> Nearly | None:
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
        return Nearly(numbers, (), unit)
    comma = decimal_comma and sum(bool(cell and _COMMA_NUMBER.fullmatch(cell)) for cell in bare)
    good = [_one_number(cell, bool(comma)) for cell in bare]
    odd = [cell for cell, one in zip(bare, good, strict=True) if cell is not None and one is None]
    known = sum(cell is not None for cell in bare)
    nearly = all(_NEARLY.fullmatch(cell.strip()) for cell in odd)
    if not nearly or len(odd) > MOST_ODD * known or known - len(odd) < FEWEST_NUMBERS:
        return None
    whole = all(one is None or one.is_integer() for one in good)
    if whole and not any("." in cell or "," in cell for cell in bare if cell):
        return Nearly([None if one is None else int(one) for one in good], tuple(odd), unit)
    return Nearly(good, tuple(odd), unit, _mixed(bare) if comma else ())


def _mixed(cells: Sequence[str | None]) -> tuple[str, ...]:
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
    return ", ".join(map(str, shown[:_SHOWN])) + (", ..." if len(shown) > _SHOWN else "")


def short(cell: object) -> str:
    """A cell, quoted and cut, for a message."""
    text = cell_text(cell)
    return repr(text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "...")
