"""Inputs of arrays and frames: numbers unchanged, other columns encoded by a plan.

    array               its numbers
    frame of numbers    the same: every column but ids, target and costs, all cells finite numbers
                        or booleans
    any other frame     text, categories, dates and gaps: encoded by a plan (`plan`), which is made
                        from the first table and used for all later ones

Ids come from the id column, else the index of a pandas frame, else 0, 1, 2, ...
"""

import warnings
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from weal.tables.cells import some_of
from weal.tables.columns import check_columns, row_ids, row_labels
from weal.tables.csv_reader import is_filled
from weal.tables.frames import (
    Matrix,
    as_frame,
    frame_columns,
    matrix,
    plain_cells,
    plain_id,
    read_numbers,
    with_columns,
)
from weal.tables.input_columns import find_results
from weal.tables.plan import TablePlan, encode, likely_targets, make_plan, notes
from weal.tables.table import Table, table_of
from weal.tables.table_options import Same, TableOptions

if TYPE_CHECKING:
    from weal.tables.frames import Frame

# Reasons for dropping a column that may hold information
REPORTED_DROP_REASONS = ("id-like", "free text", "ambiguous dates")


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """Rows of inputs, and the frame they came in."""

    frame: "Frame | None"  # None for an array
    columns: tuple[str, ...] | None  # input columns of the frame; None for an array
    X: Matrix  # (N, d)
    ids: list[Hashable]
    plan: TablePlan | None = None  # None if the numbers are the inputs


def read_inputs(
    table: object,
    id_column: str | None = None,
    *,
    aside: Collection[str] = (),
    features: str | Sequence[str] = "auto",
    types: Mapping[str, str] | None = None,
    same: Same | None = None,
    units: Mapping[str, str] | None = None,
    leave_out: bool = False,
) -> Inputs:
    """The inputs of the first table; `aside` has other columns, such as the target.

    `same` and `units` are as in `TableOptions`. With `leave_out`, rows without inputs are left out,
    with a warning.

    >>> import pandas as pd
    >>> columns = {"T": [900, None, 875, 850], "steel": list("BABA")}
    >>> frame = pd.DataFrame(columns, index=list("wxyz"))
    >>> read = read_inputs(frame)
    >>> read.ids, read.plan.names
    (['w', 'x', 'y', 'z'], ['T', 'T missing', 'steel=A', 'steel=B'])
    """
    frame = as_frame(table)
    if frame is None:
        _refuse_frame_options(
            id_column, features, {**(types or {}), **(same or {}), **(units or {})}
        )
        read = read_numbers(table)
        return Inputs(None, None, read.X, read.ids)
    others = {id_column, *aside}
    names = [name for name in frame.columns if name not in others]
    how = TableOptions(types=types or {}, same=same or {}, units=units or {})
    if leave_out:
        frame = without_blank_rows(
            frame, names if isinstance(features, str) else features, id_column
        )
    ids = frame_ids(frame, id_column)
    if isinstance(features, str) and not how.named and (X := _numbers(frame, names)) is not None:
        return Inputs(frame, tuple(names), X, ids)
    made = frame_table(frame, id_column, how)
    wanted = [str(name) for name in names] if isinstance(features, str) else features
    types = dict(types or {})
    if isinstance(features, str):
        results = [
            one
            for name in aside
            for one in find_results(made, name, _undeclared(made, others, types))
        ]
        _warn_of_results(results)
        types |= dict.fromkeys(results, "drop")
    how = replace(how, features=tuple(wanted) or None, types=types)
    plan = make_plan(made, how)
    if isinstance(features, str):
        _refuse_hidden_target(made, plan, types or {})
        _warn_of_dropped(plan, id_column)
    used = {column.name for column in plan.columns}
    return Inputs(
        frame, tuple(n for n in frame.columns if str(n) in used), encode(plan, made), ids, plan
    )


def inputs_of(
    table: object, columns: Sequence[str] | None, plan: TablePlan | None
) -> Matrix:  # (N, d)
    """The inputs of other rows, read like the first table; array columns go by position."""
    frame = as_frame(table)
    if plan is None or frame is None:
        return read_numbers(with_columns(table, columns)).X
    made = frame_table(frame, None, TableOptions(units=plan.units))
    check_columns(made, [column.name for column in plan.columns if column.kind != "dropped"])
    for note in notes(plan, made):
        warnings.warn(note, UserWarning, stacklevel=4)
    return encode(plan, made)


def frame_ids(frame: "Frame", id_column: str | None) -> list[Hashable]:
    """The ids of a frame's rows: from the column, the index, or 0, 1, 2, ..."""
    import narwhals as nw

    if id_column is None:
        index = nw.maybe_get_index(frame)
        return list(range(len(frame))) if index is None else [plain_id(name) for name in index]
    if id_column not in frame.columns:
        raise ValueError(
            f"no column {id_column!r}; name one that the pool has: {list(frame.columns)}"
        )
    return [plain_id(name) for name in frame.get_column(id_column).to_list()]


def frame_labels(frame: "Frame", target: str) -> Matrix:  # (N,)
    """The labels in the target column, NaN for rows without one."""
    made = frame_table(frame.select(target), None)
    return row_labels(made, target, row_ids(made, None))


def without_blank_rows(
    frame: "Frame", names: Sequence[str], id_column: str | None = None
) -> "Frame":
    """The frame without rows in which all of these columns are blank, which a warning names.

    A gap in a single column is a missing value, and the row stays.
    """
    blank: set[int] | None = None
    if len(names) < 2:
        return frame
    for name in names:
        if name not in frame.columns:
            return frame
        cells = plain_cells(frame.get_column(name).to_list())
        own = {n for n, cell in enumerate(cells) if not is_filled(cell)}
        blank = own if blank is None else blank & own
        if not blank:
            return frame
    if not blank or len(blank) == len(frame):
        return frame
    ids = frame_ids(frame, id_column)
    rows = "1 row was" if len(blank) == 1 else f"{len(blank)} rows were each"
    shown = some_of([repr(ids[n]) for n in sorted(blank)])
    message = f"{rows} left out because it has no inputs: {shown}"
    warnings.warn(message, UserWarning, stacklevel=6)
    return frame.filter([n not in blank for n in range(len(frame))])


def frame_table(
    frame: "Frame", id_column: str | None, options: TableOptions | None = None
) -> Table:
    """The frame as a table of cells, without its ids."""
    import narwhals as nw

    rows = frame if id_column is None else frame.drop(id_column)
    plain = nw.maybe_reset_index(rows)  # an index is ids, not a column
    columns, dropped = frame_columns(plain.to_native())
    return table_of(columns, options, notes=dropped)


def _numbers(frame: "Frame", names: list[str]) -> Matrix | None:
    """The columns as numbers; None if one holds other cells or a gap."""
    import narwhals as nw

    kinds = [frame.schema[name] for name in names]
    if not all(kind.is_numeric() or kind == nw.Boolean for kind in kinds):
        return None
    if any(frame.get_column(name).null_count() for name in names):
        return None
    X = matrix(frame.select(*map(nw.col, names)).to_numpy().reshape(len(frame), len(names)))
    return X if np.isfinite(X).all() else None


def _refuse_frame_options(
    id_column: str | None, features: str | Sequence[str], types: Mapping[str, object] | None
) -> None:
    if id_column is not None:
        raise ValueError("id_column needs a frame; for an array give ids=[...]")
    if not isinstance(features, str) or types:
        raise ValueError(
            "features, types, same and units name columns of a frame, and the pool is an array: "
            "give a frame, or leave them out"
        )


def _undeclared(
    table: Table, others: Collection[str | None], types: Mapping[str, str]
) -> list[str]:
    return [name for name in table.columns if name not in others and name not in types]


def _warn_of_results(names: Sequence[str]) -> None:
    """Warn of columns that are filled only where the target is."""
    for name in names:
        message = (
            f"{name}: filled only where the target is, so it was read as a result, not as an "
            "input; "
            f"types={{{name!r}: 'number'}} makes it an input"
        )
        warnings.warn(message, UserWarning, stacklevel=5)


def _warn_of_dropped(plan: TablePlan, id_column: str | None) -> None:
    """Warn of dropped columns that may hold information."""
    for column, words in zip(plan.columns, plan.lines(), strict=True):
        if column.kind == "dropped" and column.why in REPORTED_DROP_REASONS:
            ids = column.why == "id-like" and id_column is None
            hint = f"if it holds the ids, give id_column={column.name!r}; otherwise " if ids else ""
            message = f"{words}; {hint}declare its type: types={{{column.name!r}: ...}}"
            warnings.warn(message, UserWarning, stacklevel=5)


def _refuse_hidden_target(table: Table, plan: TablePlan, types: Mapping[str, str]) -> None:
    """Refuse an input column that looks like the labels."""
    for name, empty in likely_targets(plan, table, types):
        raise ValueError(
            f"the column {name!r} is empty in {empty:.0%} of the rows: is it the target? Then give "
            f"target={name!r}; if it is an input, give types={{{name!r}: 'number'}}"
        )
