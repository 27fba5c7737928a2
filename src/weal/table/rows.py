"""Who the rows are, and what is known of them: ids, and labels in the target column.

Ids are text, all there and all different. A label is a finite number; an empty cell of the target
is a row without a label.
"""

from collections.abc import Sequence

import numpy as np

from weal.table.cells import Cell, cell_text, short, some_of, with_comma
from weal.table.columns import as_numbers
from weal.table.matrix import Matrix
from weal.table.reading import Table


def row_ids(table: Table, id_column: str | None) -> list[str]:
    """The ids of all rows; without an id column they are called row 1, row 2, ..."""
    if not table.n:
        raise ValueError("the table has no rows; it needs one at the least")
    if id_column is None:
        return [f"row {n}" for n in range(1, table.n + 1)]
    check_columns(table, [id_column])
    cells = table.cells(id_column)
    missing = [n for n, cell in enumerate(cells, start=1) if cell is None]
    if missing:
        one = len(missing) == 1
        raise ValueError(
            f"{len(missing)} {'row has' if one else 'rows have'} no id in column {id_column!r}: "
            f"{'row' if one else 'rows'} {some_of(missing)}; every row needs one"
        )
    ids = [cell_text(cell) for cell in cells]
    _refuse_duplicates(ids, id_column)
    return ids


def row_labels(table: Table, target: str, ids: Sequence[str]) -> Matrix:
    """Labels (N,), NaN where there is none; ValueError where a cell is no finite number."""
    check_columns(table, [target])
    y, bad = as_numbers(table.columns[target])
    refuse_rows(
        _not_for_commas(bad, table.cells(target)),
        table,
        target,
        ids,
        "the target column {} must hold numbers",
    )
    infinite = np.flatnonzero(np.isinf(y)).tolist()
    refuse_rows(infinite, table, target, ids, "the target column {} must hold finite numbers")
    return y


def _not_for_commas(bad: list[int], cells: Sequence[Cell]) -> list[int]:
    """Of the rows that are no numbers, those to be mended: where labels are written with decimal
    commas, one other cell has kept the column from being read so.
    """
    others = [n for n in bad if not with_comma(cells[n])]
    known = sum(cell is not None for cell in cells)
    return others if others and 2 * (len(bad) - len(others)) > known else bad


def check_columns(table: Table, names: Sequence[str]) -> None:
    """Refuse a table that has not all of these columns."""
    absent = [name for name in names if name not in table.columns]
    if absent:
        lost = some_of([repr(name) for name in absent])
        there = ", ".join(list(table.columns)[:20]) + (", ..." if len(table.columns) > 20 else "")
        raise ValueError(f"the table has no column {lost}; it has {there}")


def refuse_rows(bad: Sequence[int], table: Table, name: str, ids: Sequence[str], rule: str) -> None:
    """Raise ValueError, if any rows are bad, with their count and the first five ids and cells."""
    if not bad:
        return
    cells = table.cells(name)
    shown = some_of([f"{ids[n]} ({short(cells[n])})" for n in bad[:6]])
    rows = "1 row does" if len(bad) == 1 else f"{len(bad)} rows do"
    raise ValueError(f"{rule.format(repr(name))}, but {rows} not: {shown}")


def _refuse_duplicates(ids: list[str], id_column: str) -> None:
    if len(set(ids)) == len(ids):
        return
    seen: set[str] = set()
    twice = [name for name in ids if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
    ids_, come = ("id", "comes") if len(twice) == 1 else ("ids", "come")
    raise ValueError(
        f"{len(twice)} {ids_} in column {id_column!r} {come} more than once: "
        f"{some_of(list(dict.fromkeys(twice)))}; ids are unique (1 and '1' are the same)"
    )
