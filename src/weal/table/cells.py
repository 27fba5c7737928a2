"""Cells: what one may hold, what stands for a missing one, and text that is a number.

a cell       str | int | float | bool | datetime | None (missing)
missing      blank, NA, na, N/A, n/a, #N/A, <NA>, NaN, NAN, nan, NULL, Null, null, None, - and ?
             (as written here: Na is sodium, and `none` may be a coating)
numbers      as Python reads them, without its underscores; the typographic minus is a minus.
             A column is of numbers when ALL its cells are. 1e400 reads as infinite, and is
             refused where infinite values are.
12,5         is text, unless the file is separated by semicolons and the whole column is
             written so (no cell with a point)
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

Cell = str | int | float | bool | datetime | None

MISSING = frozenset(
    {"", "NA", "na", "N/A", "n/a", "#N/A", "<NA>", "NaN", "NAN", "nan"}
    | {"NULL", "Null", "null", "None", "-", "?"}
)
MINUS = "\N{MINUS SIGN}"
_COMMA_NUMBER = re.compile(r"\s*[+-]?[0-9]+(,[0-9]+)?([eE][+-]?[0-9]+)?\s*")
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


def read_number(cell: str) -> float | None:
    """One cell as a number; None where it is not one."""
    found = _all_as(float, [cell])
    return None if found is None else found[0]


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
