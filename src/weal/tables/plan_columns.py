"""Plan of one column: the statistics of its cells, and their encoding as inputs.

    number      x / scale, the median for missing cells; the scale is 1 unless the largest value is
                beyond 1e100 or below 1e-100, whose square would overflow
    flag        0 or 1, the median for missing cells
    date        days since the first, the median for missing cells
    ordered     the position among the declared levels, 0 the lowest, the median for missing cells
    category    one input for each known level (one-hot); 0 everywhere for a new level
    gaps        one more input marks missing cells, if there were any when the plan was made

scikit-learn's SimpleImputer and OneHotEncoder do the same and are the reference in the tests; a
plan is plain JSON and is applied without them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from weal.tables.cells import AMBIGUOUS, Cell, find_date_form, has_decimal_comma, short
from weal.tables.columns import (
    MAX_DECLARED_LEVELS,
    ColumnKind,
    as_date,
    as_days,
    as_flags,
    as_numbers,
    as_places,
    detect_kind,
    level,
    refuse_rows,
)
from weal.tables.frames import Matrix
from weal.tables.number_columns import find_doubtful
from weal.tables.table import Table
from weal.tables.table_error import Remedy, TableError
from weal.tables.table_options import TableOptions
from weal.tables.typed_columns import name_cells

COLUMN_KINDS_OF_PLAN = ("number", "flag", "date", "category", "ordered", "dropped")
DECLARED = ("number", "flag", "date", "day-first", "month-first", "category", "drop")
ORDERED = "ordered:"  # followed by the levels, separated by commas, the lowest first
_MAX_SCALE, _MIN_SCALE = 1e100, 1e-100


@dataclass(frozen=True, slots=True)
class PlanColumn:
    """The encoding of one column as inputs, or the reason for dropping it."""

    name: str
    kind: str
    gaps: bool = False
    median: float = 0.0  # number, flag (of 0 and 1), date (of days)
    scale: float = 1.0  # number
    origin: str | None = None  # date: day 0 in ISO format
    form: str | None = None  # date: the form of text
    unit: str = ""  # number
    levels: tuple[str, ...] = ()  # category, ordered
    same: tuple[tuple[str, str], ...] = ()  # category: other spellings, and their levels
    why: str | None = None  # dropped: in a word or two
    detail: str = ""

    @property
    def inputs(self) -> list[str]:
        """Names of its inputs."""
        if self.kind == "dropped":
            return []
        single = self.kind != "category"
        own = [self.name] if single else [f"{self.name}={one}" for one in self.levels]
        return [*own, f"{self.name} missing"] if self.gaps else own


def plan_column(
    table: Table, name: str, ids: Sequence[str], options: TableOptions, may_count: bool
) -> PlanColumn:
    """The plan of a column of the declared kind, or of the detected one."""
    declared = options.types.get(name)
    if declared is None and name in options.same:
        declared = "category"
    if declared == "drop":
        return PlanColumn(name, "dropped", why="as declared")
    if declared is not None and declared.startswith(ORDERED):
        return _plan_numbers(
            table, name, ids, ColumnKind("ordered"), ordered_levels(name, declared)
        )
    if name in table.refusals:
        raise table.refusals[name]
    if declared is None:
        found = detect_kind(table.columns[name], may_count and name not in options.also_inputs)
    else:
        found = _as_declared(table, name, declared)
    if found.kind == "dropped":
        _refuse_doubtful(table, name, ids)
        return PlanColumn(name, "dropped", why=found.why, detail=found.detail)
    if found.kind == "category":
        return _plan_category(name, table.cells(name), options.same.get(name, {}))
    return _plan_numbers(table, name, ids, found)


def _refuse_doubtful(table: Table, name: str, ids: Sequence[str]) -> None:
    """Refuse to drop a column of text in which two thirds of the cells are numbers."""
    cells = table.columns[name]
    if not isinstance(cells, list) or not any(isinstance(cell, str) for cell in cells):
        return
    odd = find_doubtful([None if cell is None else str(cell) for cell in cells])
    if odd:
        count = "1 cell is" if len(odd) == 1 else f"{len(odd)} cells are"
        raise TableError(
            f"column {name!r} holds numbers, but {count} not: {name_cells(odd, ids)}",
            Remedy("type", f"{name}=number", "reads the numbers and leaves the others missing"),
            Remedy("type", f"{name}=category", "reads the column as text"),
            Remedy("type", f"{name}=drop", "leaves the column out"),
        )


def encode_column(column: PlanColumn, table: Table, ids: Sequence[str]) -> Matrix:  # (N, k)
    """The inputs of a column."""
    if column.kind == "category":
        return _one_hot(column, table.cells(column.name))
    x = _read(column, table, ids)
    missing = np.isnan(x)
    with np.errstate(over="ignore"):  # infinite values are refused below
        x = np.where(missing, column.median, x) / column.scale
    far = np.flatnonzero(~np.isfinite(x)).tolist()
    refuse_rows(
        far,
        table,
        column.name,
        ids,
        "column {} must have values of the size it had in the first table",
    )
    return np.column_stack([x, missing]) if column.gaps else x[:, None]


def column_notes(column: PlanColumn, table: Table) -> list[str]:
    """Notes on new gaps and new levels in a column."""
    cells = table.cells(column.name)
    notes, gaps = [], sum(cell is None for cell in cells)
    if gaps and not column.gaps:
        what = "no level" if column.kind == "category" else "the median"
        notes.append(
            f"{column.name}: {gaps} missing, encoded as {what}; the first table had no gaps"
        )
    if column.kind == "category":
        known = {*column.levels, *dict(column.same)}
        new = [level(cell) for cell in cells if cell is not None and level(cell) not in known]
        if new:
            some = ", ".join(short(one) for one in sorted(set(new))[:20])
            notes.append(
                f"{column.name}: {len(new)} of unknown levels ({some}), encoded as no level"
            )
    return notes


def _as_declared(table: Table, name: str, declared: str) -> ColumnKind:
    known = [cell for cell in table.cells(name) if cell is not None]
    if not known:
        raise ValueError(
            f"column {name!r} is declared {declared}, but it has no value at all; leave out its "
            "--type, and the column is left out"
        )
    if declared in ("day-first", "month-first"):
        return ColumnKind("date", form=declared)
    form = find_date_form({cell for cell in known if isinstance(cell, str)})
    if declared == "date" and form == AMBIGUOUS:
        raise TableError(
            f"the dates in column {name!r}, such as {short(known[0])}, are ambiguous: day or month "
            "first",
            Remedy("type", f"{name}=day-first", "reads the day first"),
            Remedy("type", f"{name}=month-first", "reads the month first"),
        )
    return ColumnKind(declared, form=form if declared == "date" else None)


def _plan_category(name: str, cells: list[Cell], same: Mapping[str, str]) -> PlanColumn:
    written = [level(cell) for cell in cells if cell is not None]
    there = set(written)
    if wrong := [one for one in same if one not in there]:
        some = ", ".join(map(short, sorted(there)[:20]))
        raise ValueError(
            f"column {name!r} has no value {wrong[0]!r} to replace; write one of {some} before the "
            "= of --same"
        )
    same = _resolved(name, same)
    levels = tuple(sorted({same.get(one, one) for one in there}))
    if len(levels) > MAX_DECLARED_LEVELS:
        raise TableError(
            f"column {name!r} has {len(levels)} different values, which is too many for a "
            f"category; group them to {MAX_DECLARED_LEVELS} at most",
            Remedy("type", f"{name}=drop", "leaves the column out"),
        )
    pairs = tuple(sorted(same.items()))
    return PlanColumn(name, "category", len(written) < len(cells), levels=levels, same=pairs)


def _resolved(name: str, same: Mapping[str, str]) -> dict[str, str]:
    """The level of each other spelling, where a level may be a spelling of another one.

    >>> _resolved("x", {"a": "b", "b": "c"})
    {'a': 'c', 'b': 'c'}
    """
    found = {}
    for spelling in same:
        meant, passed = same[spelling], {spelling}
        while meant in same and meant not in passed:
            passed.add(meant)
            meant = same[meant]
        if meant in passed:
            raise ValueError(
                f"column {name!r}: {spelling!r} and {same[spelling]!r} are each a spelling of the "
                "other; leave one of them as it is"
            )
        found[spelling] = meant
    return found


def ordered_levels(name: str, declared: str) -> tuple[str, ...]:
    """The levels of an ordered column, the lowest first.

    >>> ordered_levels("grade", "ordered:low, medium, high")
    ('low', 'medium', 'high')
    """
    levels = tuple(one.strip() for one in declared.removeprefix(ORDERED).split(","))
    if len(levels) < 2 or len(set(levels)) < len(levels) or not all(levels):
        raise ValueError(
            f"column {name!r} is declared {declared!r}; name two levels or more, each once: "
            "ordered:low,medium,high"
        )
    return levels


def _plan_numbers(
    table: Table, name: str, ids: Sequence[str], found: ColumnKind, levels: tuple[str, ...] = ()
) -> PlanColumn:
    column = PlanColumn(name, found.kind, form=found.form, levels=levels)
    if found.kind == "date":
        origin = _origin(table, name, found.form, ids)
        column = PlanColumn(name, "date", form=found.form, origin=origin.isoformat())
    x = _read(column, table, ids)
    known = x[~np.isnan(x)]
    if not len(known):
        raise ValueError(
            f"column {name!r} is declared ordered, but it has no value at all; leave out its "
            "--type, and the column is left out"
        )
    scale = _scale(known)
    median = float(np.clip(np.median(known / scale) * scale, known.min(), known.max()))
    return PlanColumn(
        name,
        found.kind,
        gaps=len(known) < len(x),
        unit=table.units.get(name, "") if found.kind == "number" else "",
        median=median,
        scale=scale,
        origin=column.origin,
        form=column.form,
        levels=levels,
    )


def _scale(known: Matrix) -> float:
    largest = float(np.abs(known).max())
    if largest == 0 or _MIN_SCALE <= largest <= _MAX_SCALE:
        return 1.0
    return float(f"1e{max(int(np.floor(np.log10(largest))), -300)}")  # 1e-324 would be 0


def _origin(table: Table, name: str, form: str | None, ids: Sequence[str]) -> datetime:
    cells = table.cells(name)
    moments = {cell: as_date(cell, form) for cell in set(cells) if cell is not None}
    bad = [n for n, cell in enumerate(cells) if cell is not None and moments[cell] is None]
    refuse_rows(bad, table, name, ids, "column {} must hold dates, such as 2024-03-01")
    return min(moment for moment in moments.values() if moment is not None)


def _read(column: PlanColumn, table: Table, ids: Sequence[str]) -> Matrix:  # (N,)
    """The column as numbers, NaN if missing; ValueError names the rows with other cells."""
    cells, name = table.columns[column.name], column.name
    origin = datetime.fromisoformat(column.origin) if column.origin else datetime.min
    readers: dict[str, tuple[Callable[[], tuple[Matrix, list[int]]], str]] = {
        "number": (lambda: as_numbers(cells), "numbers"),
        "flag": (lambda: as_flags(cells), "yes or no"),
        "date": (lambda: as_days(cells, column.form, origin), "dates, such as 2024-03-01"),
        "ordered": (lambda: as_places(cells, column.levels), "one of " + ", ".join(column.levels)),
    }
    read, what = readers[column.kind]
    x, bad = read()
    if bad and column.kind == "number" and all(has_decimal_comma(cells[n]) for n in bad):
        what = "numbers with decimal points"
    refuse_rows(bad, table, name, ids, "column {} must hold " + what)
    infinite = np.flatnonzero(np.isinf(x)).tolist()
    refuse_rows(infinite, table, name, ids, "column {} must hold finite numbers")
    return x


def _one_hot(
    column: PlanColumn, cells: list[Cell]
) -> Matrix:  # (N, levels), and one more with gaps
    place: dict[Cell, int] = {one: n for n, one in enumerate(column.levels)}
    place |= {one: place[meant] for one, meant in column.same if meant in place}
    at = np.array([-1 if cell is None else place.get(level(cell), -1) for cell in cells])
    one_hot = np.zeros((len(cells), len(column.inputs)))
    rows = np.flatnonzero(at >= 0)
    one_hot[rows, at[rows]] = 1.0
    if column.gaps:
        one_hot[:, -1] = [cell is None for cell in cells]
    return one_hot
