"""What a column is, found from all its cells; and its cells as what it was found to be.

    number      every cell that is not missing is one
    flag        truth values, or both of a pair of words: yes no, true false, y n, t f, on off
    date        times, or text that is dates in one form (see `dates`)
    category    text of few values: at most 20, and at most half as many as rows
    dropped     of no use, with the reason: empty; constant; row counter (whole numbers 0, 1, 2, ...
                or 1, 2, 3, ... in order); id-like (text, each cell another); free text; ambiguous
                dates

A single row has no constant columns: everything there is kept as it is.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from weal.table.cells import cell_text, read_number, short
from weal.table.dates import AMBIGUOUS, find_form, read_date
from weal.table.matrix import Matrix
from weal.table.reading import Cells

MOST_LEVELS = 20  # of a category that is found; a declared one may have MOST_DECLARED
MOST_DECLARED = 1000
_FLAGS = (("no", "yes"), ("false", "true"), ("n", "y"), ("f", "t"), ("off", "on"), ("0", "1"))
FLAG_WORDS = {word: float(n) for pair in _FLAGS for n, word in enumerate(pair)}
_COUNTED = 3  # rows that a counter has at the least


@dataclass(frozen=True, slots=True)
class Found:
    """What a column is: its kind, the form of its dates, and why it is dropped."""

    kind: str
    form: str | None = None
    why: str | None = None  # in a word or two
    detail: str = ""


def detect(cells: Cells, may_count: bool = True) -> Found:
    """What the column is; with `may_count` a row counter is told from other numbers."""
    if isinstance(cells, np.ndarray):
        return _detect_numbers(cells, may_count)
    known = [cell for cell in cells if cell is not None]
    if not known:
        return Found("dropped", why="empty", detail="no cell has a value")
    values = {level(cell) for cell in known}
    if len(values) == 1 and len(cells) > 1:
        return _constant(known[0], len(known) < len(cells))
    kind = type(known[0])
    if kind is str:
        return _detect_text(values, known, len(cells))
    return Found({bool: "flag", datetime: "date"}.get(kind, "number"))


def level(cell: Any) -> str:
    """A cell as the name of a category."""
    return cell_text(cell).strip()


def as_numbers(cells: Cells) -> tuple[Matrix, list[int]]:
    """Numbers (N,), NaN where missing, and the rows that hold something else."""
    if isinstance(cells, np.ndarray):
        return cells.astype(np.float64), []
    return _each(cells, _number)


def as_flags(cells: Cells) -> tuple[Matrix, list[int]]:
    """0 and 1 (N,), NaN where missing, and the rows that hold something else."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "b":
        return cells.astype(np.float64), []
    return _each(_listed(cells), lambda cell: FLAG_WORDS.get(level(cell).lower()))


def as_places(cells: Cells, levels: Sequence[str]) -> tuple[Matrix, list[int]]:
    """Places among the levels (N,), NaN where missing, and the rows that hold something else."""
    places = {one: float(n) for n, one in enumerate(levels)}
    return _each(_listed(cells), lambda cell: places.get(level(cell)))


def as_days(cells: Cells, form: str | None, origin: datetime) -> tuple[Matrix, list[int]]:
    """Days since the origin (N,), NaN where missing, and the rows that hold something else."""
    seen: dict[Any, float | None] = {}

    def days(cell: Any) -> float | None:
        if cell not in seen:
            moment = as_date(cell, form)
            seen[cell] = None if moment is None else (moment - origin).total_seconds() / 86400
        return seen[cell]

    return _each(_listed(cells), days)


def as_date(cell: Any, form: str | None) -> datetime | None:
    """A cell as a time: one already, or text in this form or with the year first."""
    if isinstance(cell, datetime):
        return cell
    if not isinstance(cell, str):
        return None
    return (read_date(cell, form) if form else None) or read_date(cell, "year-first")


def _each(cells: list[Any], read: Callable[[Any], float | None]) -> tuple[Matrix, list[int]]:
    numbers = [np.nan if cell is None else read(cell) for cell in cells]
    bad = [n for n, number in enumerate(numbers) if number is None]
    return np.array([np.nan if x is None else x for x in numbers], dtype=np.float64), bad


def _number(cell: Any) -> float | None:
    if isinstance(cell, datetime):
        return None
    return read_number(cell) if isinstance(cell, str) else float(cell)


def _listed(cells: Cells) -> list[Any]:
    if isinstance(cells, list):
        return cells
    return [None if cell != cell else cell for cell in cells.tolist()]


def _detect_numbers(cells: np.ndarray[Any, Any], may_count: bool) -> Found:
    known = cells[~np.isnan(cells)] if cells.dtype.kind == "f" else cells
    if not len(known):
        return Found("dropped", why="empty", detail="no cell has a value")
    if len(cells) > 1 and (known == known[0]).all():
        return _constant(known[0].item(), len(known) < len(cells))
    if may_count and _counts_rows(cells):
        return Found("dropped", why="row counter", detail=f"counts the rows from {cells[0]}")
    return Found("flag" if cells.dtype.kind == "b" else "number")


def _counts_rows(cells: np.ndarray[Any, Any]) -> bool:
    if cells.dtype.kind != "i" or len(cells) < _COUNTED or cells[0] not in (0, 1):
        return False
    return bool((np.diff(cells) == 1).all())


def _constant(value: Any, gaps: bool) -> Found:
    where = "wherever there is a value" if gaps else "in every row"
    return Found("dropped", why="constant", detail=f"{short(value)} {where}")


def _detect_text(values: set[str], known: list[str], n: int) -> Found:
    if {value.lower() for value in values} in [set(pair) for pair in _FLAGS]:
        return Found("flag")
    form = find_form(values)
    if form == AMBIGUOUS:
        detail = f"{short(known[0])}: day or month first? Declare it day-first or month-first"
        return Found("dropped", why="ambiguous dates", detail=detail)
    if form:
        return Found("date", form=form)
    if len(values) <= min(MOST_LEVELS, max(n // 2, 1)):
        return Found("category")
    different = f"{len(values)} different values"
    if len(values) == len(known):
        return Found("dropped", why="id-like", detail=different + _nearly_numbers(known))
    return Found("dropped", why="free text", detail=different + _nearly_numbers(known))


def _nearly_numbers(known: list[str]) -> str:
    """A hint where most cells are numbers, and a few keep the column from being one."""
    others = [cell for cell in known if read_number(cell) is None]
    if not others or len(others) > len(known) / 2:
        return f", such as {short(known[0])}"
    return f"; all are numbers but {len(others)}, such as {short(others[0])}"
