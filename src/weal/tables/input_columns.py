"""Which columns of a table can be inputs, and which inputs or rows are duplicates.

result        filled only where the target is filled: it is measured with the target
same gaps     without a target, columns with the same gaps: one may be the target
twin          two categories, each of which determines the other (a name and its formula), or
two columns of numbers that are linear in each other
equal rows    two ids with the same inputs
"""

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from weal.tables.cells import short
from weal.tables.columns import level
from weal.tables.frames import Matrix
from weal.tables.plan_columns import PlanColumn
from weal.tables.table import Table

MIN_ASKED_GAPS = 0.5  # share of missing cells of columns with the same gaps
MAX_STRAY_SHARE = 0.1  # of the other rows that have a value in a column that may be a result
MAX_TWIN_COLUMNS = 60  # columns that are compared in pairs
TWIN_SHARE = 0.95  # of rows in which one category determines the other
TWIN_CORRELATION = 1 - 1e-9
MAX_TWIN_ROWS = 20_000  # rows that are compared
_MIN_ROWS = 6
_SHOWN_ROWS = 5
Mask = NDArray[np.bool_]


def filled(table: Table, name: str) -> Mask:  # (N,)
    """Which cells of a column are not missing."""
    column = table.columns[name]
    if isinstance(column, list):
        return np.array([cell is not None for cell in column], dtype=bool)
    return ~np.isnan(column) if column.dtype.kind == "f" else np.ones(len(column), dtype=bool)


def find_results(table: Table, target: str | None, names: Sequence[str]) -> list[str]:
    """Columns that are filled only where the target is, but not everywhere.

    >>> from weal.tables.table import table_of
    >>> table = table_of({"T": [1, 2, 3], "y": [5, None, None], "purity": [9, None, None]})
    >>> find_results(table, "y", ["T", "purity"])
    ['purity']
    """
    if target is None or target not in table.columns:
        return []
    labelled = _measured(table, target)
    if labelled.all() or not labelled.any():
        return []
    some = ((name, filled(table, name)) for name in names if _may_have_gaps(table, name))
    return [name for name, there in some if there.any() and not there[~labelled].any()]


def _measured(table: Table, target: str) -> Mask:  # (N,)
    """The rows with a label, with a bound, or with a run that failed."""
    found = filled(table, target)
    found[[n for n, _ in table.failures]] = True
    return found


def find_near_results(
    table: Table, target: str | None, names: Sequence[str]
) -> Iterator[tuple[str, int, int]]:
    """Columns filled mostly where the target is; the filled cells with and without a label."""
    if target is None or target not in table.columns:
        return
    labelled = _measured(table, target)
    for name in names:
        if not _may_have_gaps(table, name) or (~labelled).sum() < _MIN_ROWS:
            continue
        there = filled(table, name)
        with_label, others = int(there[labelled].sum()), int(there[~labelled].sum())
        most = MAX_STRAY_SHARE * int((~labelled).sum())
        if 0 < others <= most and 2 * with_label >= int(labelled.sum()) > 0:
            yield name, with_label, others


def find_same_gaps(table: Table, names: Sequence[str]) -> list[str]:
    """Columns of numbers that are mostly empty, and filled in the same rows as another column."""
    groups: dict[bytes, list[str]] = defaultdict(list)
    for name in names:
        if _may_have_gaps(table, name):
            there = filled(table, name)
            if there.any() and not there.all() and 1 - there.mean() >= MIN_ASKED_GAPS:
                groups[np.packbits(there).tobytes()].append(name)
    found = (some for some in groups.values() if len(some) > 1)
    numeric = (some for some in found if any(_is_numeric(table, name) for name in some))
    return next(numeric, [])


def _may_have_gaps(table: Table, name: str) -> bool:
    column = table.columns[name]
    return isinstance(column, list) or column.dtype.kind == "f"


def _is_numeric(table: Table, name: str) -> bool:
    column = table.columns[name]
    if isinstance(column, list):
        return all(isinstance(cell, int | float) for cell in column if cell is not None)
    return column.dtype.kind in "fi"


def twin_notes(
    columns: Sequence[PlanColumn], table: Table, X: Matrix, mixtures: Sequence[tuple[str, ...]] = ()
) -> Iterator[str]:
    """A note for each pair of redundant inputs, except pairs of a mixture."""
    used = [one for one in columns if one.kind in ("number", "category")][:MAX_TWIN_COLUMNS]
    if len(table) < _MIN_ROWS:
        return
    starts = _starts(columns)
    rows = slice(0, MAX_TWIN_ROWS)
    some = table if len(table) <= MAX_TWIN_ROWS else table.take(rows)
    numbers = {one.name: X[rows, starts[one.name]] for one in used if one.kind == "number"}
    levels = {
        one.name: list(map(level, some.cells(one.name)))
        for one in used
        if one.kind == "category"
    }  # fmt: skip
    for (a, x), (b, y) in itertools.combinations(numbers.items(), 2):
        if (a, b) not in mixtures and _are_linear(x, y):
            yield f"{a} and {b} are linear in each other: {_drop(b)} leaves one out"
    for (a, p), (b, q) in itertools.combinations(levels.items(), 2):
        if _determines(p, q) and _determines(q, p):
            yield f"{a} and {b} determine each other: {_drop(b)} leaves one out"


def _drop(name: str) -> str:
    from weal.tables.table_error import Remedy

    return Remedy("type", f"{name}=drop", "").for_shell()


def _starts(columns: Sequence[PlanColumn]) -> Mapping[str, int]:
    ends = itertools.accumulate((len(one.inputs) for one in columns), initial=0)
    return {one.name: start for one, start in zip(columns, ends, strict=False)}


def _are_linear(x: Matrix, y: Matrix) -> bool:
    x, y = x - x.mean(), y - y.mean()
    scale = float(np.linalg.norm(x) * np.linalg.norm(y))
    return len(x) >= _MIN_ROWS and scale > 0 and abs(float(x @ y)) >= TWIN_CORRELATION * scale


def _determines(p: Sequence[str], q: Sequence[str]) -> bool:
    """Whether p determines q in nearly all rows, and not because each level is unique."""
    groups: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for one, other in zip(p, q, strict=True):
        groups[one][other] += 1
    agree = sum(max(counts.values()) for counts in groups.values())
    return agree >= TWIN_SHARE * len(p) and 2 * len(groups) <= len(p)


def equal_rows_note(X: Matrix, ids: Sequence[object]) -> list[str]:
    """A note on rows that are equal in all inputs under different ids."""
    if len(X) < 2:
        return []
    mark = X @ np.random.default_rng(0).standard_normal(X.shape[1])  # equal rows have equal marks
    order = np.argsort(mark, kind="stable")
    near = np.flatnonzero(np.diff(mark[order]) == 0)
    pairs = [(order[n], order[n + 1]) for n in near if (X[order[n]] == X[order[n + 1]]).all()]
    if not pairs:
        return []
    shown = "; ".join(f"{short(ids[a])} and {short(ids[b])}" for a, b in pairs[:_SHOWN_ROWS])
    more = "; ..." if len(pairs) > _SHOWN_ROWS else ""
    rows = "1 row has" if len(pairs) == 1 else f"{len(pairs):,} rows have"
    return [f"{rows} the inputs of another row under another id: {shown}{more}"]
