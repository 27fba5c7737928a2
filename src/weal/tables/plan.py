"""The plan: the encoding of each column as inputs, made from the first table.

    {"v": 1, "id": "sample", "target": "hardness", "columns": [
        {"name": "temp", "kind": "number", "gaps": true, "median": 512.5, "scale": 1.0},
        {"name": "steel", "kind": "category", "gaps": false, "levels": ["grade A", "grade B"]},
        {"name": "made", "kind": "date", "gaps": false, "median": 41.0, "origin":
            "2024-03-01T00:00:00", "form": "year-first"},
        {"name": "furnace", "kind": "dropped", "why": "constant", "detail": "'F1' in every row"}]}

Columns go by name; their position and other columns do not matter. `plan_columns` encodes each kind
of column. Encoded values are finite; others are refused.

The unit of a number column ("unit") and other spellings of levels ("same") are written only if
present, so a plan without them has the format of 0.2.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from weal.tables.cells import short
from weal.tables.columns import check_columns, has_words, row_ids, row_labels
from weal.tables.frames import Matrix
from weal.tables.input_columns import find_near_results, find_results
from weal.tables.plan_columns import (
    DECLARED,
    ORDERED,
    PlanColumn,
    column_notes,
    encode_column,
    plan_column,
)
from weal.tables.plan_json import check_keys, column_from_json, column_to_json, expect, is_text
from weal.tables.table import Table
from weal.tables.table_error import Remedy, TableError
from weal.tables.table_options import TableOptions, check_features
from weal.text import facts_html

PLAN_VERSION = 1
# The type that makes an input of a column that was dropped, by the reason.
WAYS_IN = {"free text": "category", "id-like": "category", "row counter": "number"}
_PLURALS = {
    "number": "numbers",
    "flag": "flags",
    "date": "dates",
    "ordered": "ordered categories",
    "category": "categories",
}
_LEVELS_SHOWN = 6
_COLUMNS_SHOWN = 60
MIN_TARGET_GAPS = 0.8  # share of missing cells that makes a column a likely target


class PlanBody(TypedDict):
    """A plan as JSON."""

    v: int
    id: str
    target: str | None
    columns: list[dict[str, object]]


@dataclass(frozen=True, slots=True)
class TablePlan:
    """The encoding of each column; plain JSON."""

    id_column: str  # empty if the rows have no ids
    target: str | None
    columns: tuple[PlanColumn, ...]

    @property
    def names(self) -> list[str]:
        """Names of the d inputs."""
        return [name for column in self.columns for name in column.inputs]

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of columns of each input of a model: the levels of a category are one input. Empty
        if no category has two or more levels; a gap counts as a level.
        """
        each = [
            (len(column.inputs),) if column.kind == "category" else (1,) * len(column.inputs)
            for column in self.columns
            if column.inputs
        ]
        found = tuple(width for widths in each for width in widths)
        return found if max(found, default=1) > 1 else ()

    @property
    def units(self) -> dict[str, str]:
        """The units of columns of numbers, where there are some."""
        return {column.name: column.unit for column in self.columns if column.unit}

    def describe(self) -> str:
        """The number of columns of each kind, in one line.

        >>> TablePlan("id", None, (PlanColumn("T", "number", median=1.0),
        ...     PlanColumn("steel", "category", levels=("A", "B")))).describe()
        '2 inputs (1 number, 1 category -> 2)'
        """
        counts = Counter(column.kind for column in self.columns)
        parts = [_count_text(kind, counts[kind]) for kind in _PLURALS if counts[kind]]
        levels = sum(len(column.inputs) for column in self.columns if column.kind == "category")
        split = _count_text("category", counts["category"])
        parts = [f"{part} -> {levels}" if part == split else part for part in parts]
        why = dict.fromkeys(column.why or "" for column in self.columns if column.kind == "dropped")
        parts += [f"{counts['dropped']} dropped: {', '.join(why)}"] if why else []
        used = len(self.columns) - counts["dropped"]
        inputs = "1 input" if used == 1 else f"{used} inputs"
        return f"{inputs} ({', '.join(parts)})"

    def lines(self) -> list[str]:
        """One line for each column."""
        return [f"{column.name}: {_column_text(column)}" for column in self.columns]

    def __repr__(self) -> str:
        return "\n".join([f"<TablePlan: {self.describe()}>", *self._shown().values()])

    def _repr_html_(self) -> str:
        shown = {name: line.partition(": ")[2] for name, line in self._shown().items()}
        return facts_html(f"Plan: {self.describe()}", shown)

    def _shown(self) -> dict[str, str]:
        """The lines of the first columns by name, and how many others there are."""
        each = zip(self.columns, self.lines(), strict=True)
        found = {one.name: f"  {line}" for one, line in list(each)[:_COLUMNS_SHOWN]}
        more = len(self.columns) - _COLUMNS_SHOWN
        return {**found, "...": f"  ...: {more} more columns"} if more > 0 else found

    def to_json(self) -> PlanBody:
        """The plan as a JSON object."""
        columns = list(map(column_to_json, self.columns))
        return {"v": PLAN_VERSION, "id": self.id_column, "target": self.target, "columns": columns}

    @classmethod
    def from_json(cls, source: object) -> "TablePlan":
        """The plan that `to_json` wrote; ValueError names the problem of any other object."""
        given = check_keys(source, {"v", "id", "target", "columns"}, "a plan")
        if given["v"] != PLAN_VERSION:
            raise ValueError(
                f"the plan is of version {given['v']!r}, not {PLAN_VERSION}: upgrade weal"
            )
        expect(is_text(given["id"]), "its id is not text")
        expect(given["target"] is None or is_text(given["target"]), "its target is not text")
        expect(isinstance(given["columns"], list), "its columns are not a list")
        columns = tuple(map(column_from_json, given["columns"]))
        names = {column.name for column in columns}
        expect(len(names) == len(columns), "two of its columns have the same name")
        expect(any(column.inputs for column in columns), "it has no inputs")
        return cls(given["id"], given["target"], columns)


def make_plan(
    table: Table,
    options: TableOptions | None = None,
    *,
    id_column: str | None = None,
    target: str | None = None,
    features: str | Sequence[str] = "auto",
    types: Mapping[str, str] | None = None,
) -> TablePlan:
    """The plan of a table; ValueError names the rows that prevent it.

    The other arguments are options too: `features` are the input columns, by default all but id and
    target; `types` declares the type of a column: number, flag, date, day-first, month-first,
    category, ordered:low,high or drop.

    >>> from weal.tables.table import table_of
    >>> table = table_of({"id": ["a", "b", "c", "d"], "T": [900, 950, None, 875],
    ...                   "steel": ["B", "B", "A", "A"], "lab": ["x"] * 4})
    >>> plan = make_plan(table, id_column="id")
    >>> plan.describe(), plan.names
    ('2 inputs (1 number, 1 category -> 2, 1 dropped: constant)',
     ['T', 'T missing', 'steel=A', 'steel=B'])
    >>> encode(plan, table).tolist()[2]
    [900.0, 1.0, 1.0, 0.0]
    """
    if options is None:
        options = TableOptions(id_column, target, check_features(features), types or {})
    ids = row_ids(table, options.id_column)
    for target in options.targets:
        if not (options.is_words(target) or has_words(table, target)):
            row_labels(table, target, ids)
    names = _features(table, options.features, [options.id_column, *options.targets])
    _check_types(options, names)
    automatic = options.features is None
    others = [one for one in names if one not in options.types and one not in options.also_inputs]
    results = {
        name: target
        for target in (options.targets if automatic else ())
        for name in find_results(table, target, others)
    }
    if automatic:
        _refuse_near_results(table, options, [name for name in others if name not in results])
    columns = tuple(
        _result_column(name, results[name]) if name in results
        else plan_column(table, name, ids, options, automatic)
        for name in names
    )  # fmt: skip
    plan = TablePlan(options.id_column or "", options.target, columns)
    if not plan.names:
        reasons = "; ".join(plan.lines()[:20]) or f"The table has {', '.join(table.columns)}"
        raise TableError(
            f"no column is left to learn from. {reasons}",
            *_ways_in(plan),
            otherwise="or add a column of inputs that differ between rows",
        )
    return plan


def _refuse_near_results(table: Table, options: TableOptions, names: Sequence[str]) -> None:
    """Refuse a column that is filled where a target is, and in few other rows."""
    for target in options.targets:
        for name, with_label, others in find_near_results(table, target, names):
            raise TableError(
                f"the column {name!r} is filled in {with_label} rows with {target!r} and in only "
                f"{others} without: is it a result?",
                Remedy("type", f"{name}=drop", "leaves it out"),
                Remedy("also-input", name, "makes it an input"),
            )


def _result_column(name: str, target: str) -> PlanColumn:
    way = Remedy("also-input", name, "").for_shell()
    detail = f"filled only where {target!r} is; {way} makes it an input"
    return PlanColumn(name, "dropped", why="result", detail=detail)


def _ways_in(plan: TablePlan) -> list[Remedy]:
    """Options that make inputs of the dropped columns."""
    return [way for one in plan.columns if one.why in WAYS_IN and (way := way_in(one))][:3]


def way_in(column: PlanColumn) -> Remedy | None:
    """The option that makes an input of a dropped column, or None."""
    effect = f"makes an input of {column.name}"
    if column.why == "result":
        return Remedy("also-input", column.name, effect)
    kind = WAYS_IN.get(column.why or "")
    return None if kind is None else Remedy("type", f"{column.name}={kind}", effect)


def encode(plan: TablePlan, table: Table, ids: Sequence[str] | None = None) -> Matrix:  # (N, d)
    """The inputs of all rows, finite; ValueError names the rows that cannot be encoded.

    Errors name rows by `ids`, by default those in the id column.
    """
    used = [column for column in plan.columns if column.kind != "dropped"]
    if ids is None:
        ids = row_ids(table, plan.id_column if plan.id_column in table.columns else None)
    check_columns(table, [column.name for column in used])
    X = np.empty((table.n, len(plan.names)))
    start = 0
    for column in used:
        if column.kind == "number" and column.name in table.refusals:
            raise table.refusals[column.name]
        end = start + len(column.inputs)
        X[:, start:end] = encode_column(column, table, ids)
        start = end
    return X


def likely_targets(
    plan: TablePlan, table: Table, types: Mapping[str, str]
) -> Iterator[tuple[str, float]]:
    """Undeclared numeric columns that are almost empty, with the share of missing cells."""
    for column in plan.columns:
        if column.kind == "number" and column.gaps and column.name not in types:
            empty = sum(cell is None for cell in table.cells(column.name)) / len(table)
            if empty >= MIN_TARGET_GAPS:
                yield column.name, empty


def notes(plan: TablePlan, table: Table) -> list[str]:
    """Notes on new levels and new gaps in a table."""
    used = [column for column in plan.columns if column.kind != "dropped"]
    return [note for column in used for note in column_notes(column, table)]


def _features(
    table: Table, features: Sequence[str] | None, others: Sequence[str | None]
) -> list[str]:
    if features is None:
        return [name for name in table.columns if name not in others]
    names = list(dict.fromkeys(features))
    check_columns(table, names)
    both = [name for name in names if name in others]
    if both or not names:
        raise ValueError(
            f"the input columns (--features) are {list(features)}; name columns beside the id and "
            "the target"
        )
    return names


def _check_types(options: TableOptions, names: Sequence[str]) -> None:
    for name, kind in options.types.items():
        if name in options.targets:
            continue  # a quantity
        if name not in names:
            raise ValueError(
                f"--type declares {name!r}, which is not among the inputs {', '.join(names)}; name "
                "one of them, or leave the option out"
            )
        if kind not in DECLARED and not kind.startswith(ORDERED):
            raise ValueError(
                f"{name!r} is declared {kind!r}; write one of {', '.join(DECLARED)} or "
                "ordered:low,medium,high"
            )
    others = {"also-input": options.also_inputs, "same": options.same}
    for option, some in others.items():
        if wrong := [name for name in some if name not in names]:
            raise ValueError(
                f"--{option} names {wrong[0]!r}, which is not an input column; name one of "
                f"{', '.join(names)}"
            )


def _count_text(kind: str, n: int) -> str:
    kind_ = "ordered category" if kind == "ordered" else kind
    return f"1 {kind_}" if n == 1 else f"{n} {_PLURALS[kind]}"


def _column_text(column: PlanColumn) -> str:
    if column.kind == "dropped":
        return f"dropped, {column.why}" + (f" ({column.detail})" if column.detail else "")
    gaps = "; plus a yes/no input that marks missing values" if column.gaps else ""
    if column.kind == "category":
        more = ", ..." if len(column.levels) > _LEVELS_SHOWN else ""
        shown = ", ".join(map(short, column.levels[:_LEVELS_SHOWN]))
        same = f"; {len(column.same)} other spellings" if column.same else ""
        return f"category of {len(column.levels)} ({shown}{more}){same}{gaps}"
    if column.kind == "date":
        return f"date, in days since {str(column.origin).removesuffix('T00:00:00')}{gaps}"
    if column.kind == "ordered":
        return f"ordered category: {' < '.join(column.levels)}{gaps}"
    unit = f", in {column.unit}" if column.unit else ""
    unit += f", in units of {column.scale:g}" if column.scale != 1 else ""
    return f"{column.kind}, median {column.median:.6g}{unit}{gaps}"
