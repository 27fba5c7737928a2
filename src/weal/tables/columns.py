"""Kinds of columns, detected from all cells; cells as numbers; ids and labels of the rows.

    number      every cell that is not missing is a number
    flag        booleans, or both words of a pair: yes no, true false, y n, t f, on off
    date        times, or text that is dates in one form (`cells`)
    category    text of levels that repeat: at most 500, and at most half as many as rows
    dropped     useless, with the reason: empty; constant; row counter (whole numbers 0, 1, 2, ...
                or 1, 2, 3, ... in order); id-like (text, each cell different); free text;
                ambiguous dates

A single row has no constant columns. Ids are text, present and unique. A label is a finite number;
an empty cell in the target column is a row without a label.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from weal.tables.cells import (
    AMBIGUOUS,
    Cell,
    cell_text,
    find_date_form,
    has_decimal_comma,
    read_date,
    read_number,
    short,
    some_of,
)
from weal.tables.frames import Matrix
from weal.tables.number_columns import OddCell
from weal.tables.table import Table
from weal.tables.table_error import Remedy, TableError
from weal.tables.typed_columns import Cells, name_cells

MAX_FOUND_LEVELS = 500  # of a detected category
MAX_DECLARED_LEVELS = 1000  # of a category that the user declared
_FLAGS = (("no", "yes"), ("false", "true"), ("n", "y"), ("f", "t"), ("off", "on"), ("0", "1"))
FLAG_WORDS = {word: float(n) for pair in _FLAGS for n, word in enumerate(pair)}
_MIN_COUNTER_ROWS = 3


@dataclass(frozen=True, slots=True)
class ColumnKind:
    """The kind of a column, the form of its dates, and the reason for dropping it."""

    kind: str
    form: str | None = None
    why: str | None = None  # dropped: the reason in a word or two
    detail: str = ""


def detect_kind(cells: Cells, may_count: bool = True) -> ColumnKind:
    """The kind of a column; `may_count` allows the kind row counter."""
    if isinstance(cells, np.ndarray):
        return _detect_numbers(cells, may_count)
    known = [cell for cell in cells if cell is not None]
    if not known:
        return ColumnKind("dropped", why="empty", detail="no cell has a value")
    values = {level(cell) for cell in known}
    if len(values) == 1 and len(cells) > 1:
        return _constant(known[0], len(known) < len(cells))
    texts = [cell for cell in known if isinstance(cell, str)]
    if texts:
        return _detect_text(values, texts, len(cells))
    return ColumnKind({bool: "flag", datetime: "date"}.get(type(known[0]), "number"))


def level(cell: object) -> str:
    """A cell as a level of a category."""
    return cell_text(cell).strip()


def as_numbers(cells: Cells) -> tuple[Matrix, list[int]]:
    """Numbers (N,), NaN if missing, and the rows with other cells."""
    if isinstance(cells, np.ndarray):
        return cells.astype(np.float64), []
    return _each(cells, _number)


def as_flags(cells: Cells) -> tuple[Matrix, list[int]]:
    """0 and 1 (N,), NaN if missing, and the rows with other cells."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "b":
        return cells.astype(np.float64), []
    return _each(_as_list(cells), lambda cell: FLAG_WORDS.get(level(cell).lower()))


def as_places(cells: Cells, levels: Sequence[str]) -> tuple[Matrix, list[int]]:
    """Places among the levels (N,), NaN if missing, and the rows with other cells."""
    places = {one: float(n) for n, one in enumerate(levels)}
    return _each(_as_list(cells), lambda cell: places.get(level(cell)))


def as_days(cells: Cells, form: str | None, origin: datetime) -> tuple[Matrix, list[int]]:
    """Days since the origin (N,), NaN if missing, and the rows with other cells."""
    seen: dict[Cell, float | None] = {}

    def days(cell: Cell) -> float | None:
        if cell not in seen:
            moment = as_date(cell, form)
            seen[cell] = None if moment is None else (moment - origin).total_seconds() / 86400
        return seen[cell]

    return _each(_as_list(cells), days)


def as_date(cell: Cell, form: str | None) -> datetime | None:
    """A cell as a time: a time, or text in this form or with the year first."""
    if isinstance(cell, datetime):
        return cell
    if not isinstance(cell, str):
        return None
    return (read_date(cell, form) if form else None) or read_date(cell, "year-first")


def _each(cells: Sequence[Cell], read: Callable[[Cell], float | None]) -> tuple[Matrix, list[int]]:
    numbers = [np.nan if cell is None else read(cell) for cell in cells]
    bad = [n for n, number in enumerate(numbers) if number is None]
    return np.array([np.nan if x is None else x for x in numbers], dtype=np.float64), bad


def _number(cell: Cell) -> float | None:
    if isinstance(cell, str):
        return read_number(cell)
    return float(cell) if isinstance(cell, int | float) else None


def _as_list(cells: Cells) -> list[Cell]:
    if isinstance(cells, list):
        return cells
    return [None if cell != cell else cell for cell in cells.tolist()]


def _detect_numbers(cells: NDArray[np.generic], may_count: bool) -> ColumnKind:
    known = cells[~np.isnan(cells)] if cells.dtype.kind == "f" else cells
    if not len(known):
        return ColumnKind("dropped", why="empty", detail="no cell has a value")
    if len(cells) > 1 and (known == known[0]).all():
        return _constant(known[0].item(), len(known) < len(cells))
    if may_count and _counts_rows(cells):
        return ColumnKind("dropped", why="row counter", detail=f"counts the rows from {cells[0]}")
    return ColumnKind("flag" if cells.dtype.kind == "b" else "number")


def _counts_rows(cells: NDArray[np.generic]) -> bool:
    if cells.dtype.kind != "i" or len(cells) < _MIN_COUNTER_ROWS or cells[0] not in (0, 1):
        return False
    return bool((np.diff(cells) == 1).all())


def _constant(value: Cell, gaps: bool) -> ColumnKind:
    where = "wherever there is a value" if gaps else "in every row"
    return ColumnKind("dropped", why="constant", detail=f"{short(value)} {where}")


def _detect_text(values: set[str], known: list[str], n: int) -> ColumnKind:
    if {value.lower() for value in values} in [set(pair) for pair in _FLAGS]:
        return ColumnKind("flag")
    form = find_date_form(values)
    if form == AMBIGUOUS:
        detail = f"{short(known[0])}: day or month first? Declare it day-first or month-first"
        return ColumnKind("dropped", why="ambiguous dates", detail=detail)
    if form:
        return ColumnKind("date", form=form)
    if len(values) <= min(MAX_FOUND_LEVELS, max(n // 2, 1)):
        return ColumnKind("category")
    different = f"{len(values)} different values"
    if len(values) == len(known):
        return ColumnKind("dropped", why="id-like", detail=different + _nearly_numbers(known))
    return ColumnKind("dropped", why="free text", detail=different + _nearly_numbers(known))


def _nearly_numbers(known: list[str]) -> str:
    """A hint for a column in which most cells are numbers."""
    others = [cell for cell in known if read_number(cell) is None]
    if not others or len(others) > len(known) / 2:
        return f", such as {short(known[0])}"
    return f"; all are numbers but {len(others)}, such as {short(others[0])}"


def row_ids(table: Table, id_column: str | None) -> list[str]:
    """The ids of all rows; row 1, row 2, ... without an id column."""
    if not table.n:
        raise ValueError(
            "the table has no rows below its column names; choose another sheet (--sheet) or "
            "another line of the column names (--header), or add rows"
        )
    if id_column is None:
        return [f"row {n}" for n in range(1, table.n + 1)]
    check_columns(table, [id_column])
    cells = table.cells(id_column)
    missing = [n for n, cell in enumerate(cells, start=1) if cell is None]
    if missing:
        one = len(missing) == 1
        raise ValueError(
            f"{len(missing)} {'row has' if one else 'rows have'} no id in column {id_column!r}: "
            f"{'row' if one else 'rows'} {some_of(missing)}; fill them in, or leave "
            "out --id, and the rows are numbered"
        )
    ids = [cell_text(cell) for cell in cells]
    _refuse_duplicates(ids, id_column)
    return ids


def has_words(table: Table, target: str) -> bool:
    """Whether all labels of a column are words, or booleans: none is a number."""
    check_columns(table, [target])
    cells = {cell for cell in table.cells(target) if cell is not None}
    return (
        target not in table.refusals
        and bool(cells)
        and all(isinstance(cell, bool) or _is_word(cell) for cell in cells)
    )


def _is_word(cell: Cell) -> bool:
    return isinstance(cell, str) and read_number(cell.replace(",", ".")) is None


def row_labels(table: Table, target: str, ids: Sequence[str]) -> Matrix:
    """Labels (N,), NaN for rows without one; ValueError if a cell is not a finite number."""
    check_columns(table, [target])
    if target in table.refusals:
        raise table.refusals[target]
    y, bad = as_numbers(table.columns[target])
    cells = table.cells(target)
    if rows := _not_for_commas(bad, cells):
        odd = [OddCell(n, cell_text(cells[n]), "text") for n in rows]
        count = "1 row does" if len(odd) == 1 else f"{len(odd)} rows do"
        raise TableError(
            f"the target column {target!r} must hold numbers, but {count} not: "
            f"{name_cells(odd, ids)}",
            Remedy("type", f"{target}=number", "leaves these rows without a label"),
            otherwise="or correct the file",
        )
    infinite = np.flatnonzero(np.isinf(y)).tolist()
    refuse_rows(infinite, table, target, ids, "the target column {} must hold finite numbers")
    return y


def _not_for_commas(bad: list[int], cells: Sequence[Cell]) -> list[int]:
    """The rows to correct in a column of labels.

    If most labels have decimal commas, only the cells without one, which prevented the conversion.
    """
    others = [n for n in bad if not has_decimal_comma(cells[n])]
    known = sum(cell is not None for cell in cells)
    return others if others and 2 * (len(bad) - len(others)) > known else bad


def check_columns(table: Table, names: Sequence[str]) -> None:
    """Refuse a table without one of these columns."""
    absent = [name for name in names if name not in table.columns]
    if absent:
        lost = some_of([repr(name) for name in absent])
        there = ", ".join(list(table.columns)[:20]) + (", ..." if len(table.columns) > 20 else "")
        raise ValueError(
            f"the table has no column {lost}; it has {there}: correct the name; in a file, "
            "another sheet (--sheet) or line (--header) may have the column names"
        )


def refuse_rows(bad: Sequence[int], table: Table, name: str, ids: Sequence[str], rule: str) -> None:
    """Raise TableError with the count of bad rows and the first twenty, if there are any."""
    if not bad:
        return
    cells = table.cells(name)
    odd = [OddCell(n, cell_text(cells[n]), "") for n in bad]
    rows = "1 row does" if len(bad) == 1 else f"{len(bad)} rows do"
    texts = {cells[n] for n in bad if isinstance(cells[n], str)}
    remedies = [
        Remedy("missing", f"{name}={text}", "leaves such cells missing") for text in texts
    ] if len(texts) == 1 else []  # fmt: skip
    raise TableError(
        f"{rule.format(repr(name))}, but {rows} not: {name_cells(odd, ids)}",
        *remedies,
        otherwise="correct these cells, or leave them blank",
    )


def _refuse_duplicates(ids: list[str], id_column: str) -> None:
    if len(set(ids)) == len(ids):
        return
    seen: set[str] = set()
    twice = [name for name in ids if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
    ids_, are = ("id", "is") if len(twice) == 1 else ("ids", "are")
    raise ValueError(
        f"{len(twice)} {ids_} in column {id_column!r} {are} not unique: "
        f"{some_of(list(dict.fromkeys(twice)))}; give each row its own (1 and '1' are the same), "
        "or leave out --id, and the rows are numbered"
    )
