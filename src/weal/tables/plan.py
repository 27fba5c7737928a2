"""The plan: the encoding of each column as inputs, made from the first table.

    {"v": 1, "id": "sample", "target": "hardness", "columns": [
        {"name": "temp", "kind": "number", "gaps": true, "median": 512.5, "scale": 1.0},
        {"name": "steel", "kind": "category", "gaps": false, "levels": ["grade A", "grade B"]},
        {"name": "made", "kind": "date", "gaps": false, "median": 41.0, "origin":
            "2024-03-01T00:00:00", "form": "year-first"},
        {"name": "furnace", "kind": "dropped", "why": "constant", "detail": "'F1' in every row"}]}

Columns go by name; their position and other columns do not matter. `plan_columns` encodes each kind
of column. Encoded values are finite; others are refused.

`similar_levels` asks about levels of a category that may be the same, and changes nothing: ethanol
and methanol can both be meant.

    'Alkyd' and 'alkyd', 'grade  A' and 'grade a'     they differ in case and blanks only
    'acrylc' and 'acrylic'                            one letter is wrong, missing or too many, or
                                                      two are swapped, in a rare word

Digits never count as typos (S235 and S355 are two steels), nor do letters of short words.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict, TypeGuard

import numpy as np

from weal.tables.cells import DATE_FORMS, short
from weal.tables.columns import check_columns, level, row_ids, row_labels
from weal.tables.frames import Matrix
from weal.tables.plan_columns import (
    COLUMN_KINDS_OF_PLAN,
    DECLARED,
    ORDERED,
    PlanColumn,
    column_notes,
    encode_column,
    plan_column,
)
from weal.tables.table import Table

PLAN_VERSION = 1
_NUMERIC = ("gaps", "median")
_COLUMN_FIELDS = {  # JSON fields of each kind beside name and kind
    "number": (*_NUMERIC, "scale"),
    "flag": _NUMERIC,
    "date": (*_NUMERIC, "origin", "form"),
    "category": ("gaps", "levels"),
    "ordered": (*_NUMERIC, "levels"),
    "dropped": ("why", "detail"),
}
_PLURALS = {
    "number": "numbers",
    "flag": "flags",
    "date": "dates",
    "ordered": "ordered categories",
    "category": "categories",
}
_LEVELS_SHOWN = 6
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

    id_column: str  # empty: the rows have no ids
    target: str | None
    columns: tuple[PlanColumn, ...]

    @property
    def names(self) -> list[str]:
        """Names of the d inputs."""
        return [name for column in self.columns for name in column.inputs]

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

    def to_json(self) -> PlanBody:
        """The plan as a JSON object."""
        columns = [
            {"name": one.name, "kind": one.kind}
            | {name: _plain(getattr(one, name)) for name in _COLUMN_FIELDS[one.kind]}
            for one in self.columns
        ]
        return {"v": PLAN_VERSION, "id": self.id_column, "target": self.target, "columns": columns}

    @classmethod
    def from_json(cls, source: object) -> "TablePlan":
        """The plan that `to_json` wrote; ValueError names the problem of any other object."""
        given = _check_keys(source, {"v", "id", "target", "columns"}, "a plan")
        if given["v"] != PLAN_VERSION:
            raise ValueError(
                f"the plan is of version {given['v']!r}, not {PLAN_VERSION}: upgrade weal"
            )
        _expect(_is_text(given["id"]), "its id is not text")
        _expect(given["target"] is None or _is_text(given["target"]), "its target is not text")
        _expect(isinstance(given["columns"], list), "its columns are not a list")
        columns = tuple(map(_column_from_json, given["columns"]))
        names = {column.name for column in columns}
        _expect(len(names) == len(columns), "two of its columns have the same name")
        _expect(any(column.inputs for column in columns), "it has no inputs")
        return cls(given["id"], given["target"], columns)


def make_plan(
    table: Table,
    *,
    id_column: str | None,
    target: str | None = None,
    features: str | Sequence[str] = "auto",
    types: Mapping[str, str] | None = None,
) -> TablePlan:
    """The plan of a table; ValueError names the rows that prevent it.

    `features` are the input columns, by default all but id and target; `types` declares the type of
    a column: number, flag, date, day-first, month-first, category, ordered:low,high or drop.

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
    types = types or {}
    ids = row_ids(table, id_column)
    if target is not None:
        row_labels(table, target, ids)
    names = _features(table, features, [id_column, target])
    _check_types(types, names)
    may_count = isinstance(features, str)
    columns = (plan_column(table, name, ids, types.get(name), may_count) for name in names)
    plan = TablePlan(id_column or "", target, tuple(columns))
    if not plan.names:
        reasons = "; ".join(plan.lines()[:10]) or f"The table has {', '.join(table.columns)}"
        raise ValueError(f"no column is left to learn from. {reasons}")
    return plan


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
    table: Table, features: str | Sequence[str], others: Sequence[str | None]
) -> list[str]:
    if isinstance(features, str):
        if features != "auto":
            raise ValueError(f"features is {features!r}; it is 'auto' or a list of column names")
        return [name for name in table.columns if name not in others]
    names = list(dict.fromkeys(features))
    check_columns(table, names)
    both = [name for name in names if name in others]
    if both or not names:
        raise ValueError(f"features is {list(features)}; name columns beside the id and the target")
    return names


def _check_types(types: Mapping[str, str], names: Sequence[str]) -> None:
    for name, kind in types.items():
        if name not in names:
            raise ValueError(f"types declares {name!r}, which is not among the features {names}")
        if kind not in DECLARED and not kind.startswith(ORDERED):
            raise ValueError(
                f"{name!r} is declared {kind!r}; it may be {', '.join(DECLARED)} or "
                "ordered:low,medium,high"
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
        return f"category of {len(column.levels)} ({shown}{more}){gaps}"
    if column.kind == "date":
        return f"date, in days since {str(column.origin).removesuffix('T00:00:00')}{gaps}"
    if column.kind == "ordered":
        return f"ordered category: {' < '.join(column.levels)}{gaps}"
    unit = f", in units of {column.scale:g}" if column.scale != 1 else ""
    return f"{column.kind}, median {column.median:.6g}{unit}{gaps}"


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _column_from_json(source: object) -> PlanColumn:
    if not isinstance(source, dict):
        raise _not_a_plan(f"its column {source!r} is not an object")
    kind = str(source.get("kind"))
    _expect(
        kind in COLUMN_KINDS_OF_PLAN,
        f"a column is of kind {source.get('kind')!r}, not one of {', '.join(COLUMN_KINDS_OF_PLAN)}",
    )
    given = _check_keys(source, {"name", "kind", *_COLUMN_FIELDS[kind]}, f"a column of kind {kind}")
    for name, value in given.items():
        _expect(_VALID[name](value), f"{name} of column {given['name']!r} is {value!r}")
    return PlanColumn(**given | {"levels": tuple(given.get("levels", ()))})


def _check_keys(given: object, keys: set[str], what: str) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise _not_a_plan(f"{what} is not an object")
    found = set(given)
    _expect(found == keys, f"{what} has {sorted(map(str, found))}, not {sorted(keys)}")
    return given


def _expect(is_valid: bool, problem: str) -> None:
    if not is_valid:
        raise _not_a_plan(problem)


def _not_a_plan(problem: str) -> ValueError:
    return ValueError(f"this is not a plan of weal's: {problem}")


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str)


def _is_number(value: object) -> TypeGuard[float]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max  # False for NaN and for ints beyond floats


def _is_levels(value: object) -> bool:
    if not isinstance(value, list) or not all(map(_is_text, value)):
        return False
    return 0 < len(value) == len(set(value))


def _is_time(value: object) -> bool:
    try:
        return _is_text(value) and datetime.fromisoformat(value).tzinfo is None
    except ValueError:
        return False


_VALID: dict[str, Callable[[object], bool]] = {
    "name": lambda value: _is_text(value) and bool(value),
    "kind": _is_text,
    "gaps": lambda value: isinstance(value, bool),
    "median": _is_number,
    "scale": lambda value: _is_number(value) and value > 0,
    "origin": _is_time,
    "form": lambda value: value is None or value in DATE_FORMS,
    "levels": _is_levels,
    "why": _is_text,
    "detail": _is_text,
}

MIN_WORD_LETTERS = 5  # of a word that may have a typo
MIN_FREQUENCY_RATIO = 5.0  # of the right spelling to the typo
MAX_LEVELS_COMPARED = 200


def similar_levels(plan: TablePlan, table: Table) -> list[str]:
    """A question for each pair of levels that may be the same.

    >>> from weal.tables.table import table_of
    >>> table = table_of({"id": list("abcdefgh"), "binder": ["alkyd"] * 6 + ["Alkyd", "alkdy"]})
    >>> for words in similar_levels(make_plan(table, id_column="id"), table):
    ...     print(words)
    binder: 'Alkyd' (1 row) and 'alkyd' (6 rows) are two levels: are they the same?
    binder: 'alkdy' (1 row) and 'alkyd' (6 rows) are two levels: are they the same?
    """
    found = []
    for column in plan.columns:
        if column.kind == "category":
            cells = table.cells(column.name)
            found += _similar_in_column(
                column.name, Counter(level(c) for c in cells if c is not None)
            )
    return found


def _similar_in_column(name: str, counts: Counter[str]) -> list[str]:
    if len(counts) > MAX_LEVELS_COMPARED:
        return []
    often = sorted(counts, key=lambda one: (-counts[one], one))
    questions = []
    for n, rare in enumerate(often):
        like = [one for one in often[:n] if _is_similar(rare, one, counts)]
        if like:
            two = " and ".join(f"{short(one)} ({_rows(counts[one])})" for one in (rare, like[0]))
            questions.append(f"{name}: {two} are two levels: are they the same?")
    return questions


def _is_similar(rare: str, other: str, counts: Counter[str]) -> bool:
    a, b = (one.casefold().split() for one in (rare, other))
    if a == b:
        return True
    x, y = _different_words(a, b)
    long = min(len(x), len(y)) >= MIN_WORD_LETTERS
    return long and counts[other] >= MIN_FREQUENCY_RATIO * counts[rare] and _is_typo(x, y)


def _different_words(a: list[str], b: list[str]) -> tuple[str, str]:
    """The one word in which two levels differ, otherwise all words."""
    differ = [(x, y) for x, y in zip(a, b, strict=False) if x != y]
    return differ[0] if len(a) == len(b) and len(differ) == 1 else (" ".join(a), " ".join(b))


def _is_typo(a: str, b: str) -> bool:
    """Whether one letter is wrong, missing or too many, or two neighbours are swapped."""
    if abs(len(a) - len(b)) > 1:
        return False
    start = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), None)
    start = min(len(a), len(b)) if start is None else start
    end = 0
    while end < min(len(a), len(b)) - start and a[-1 - end] == b[-1 - end]:
        end += 1
    one, other = a[start : len(a) - end], b[start : len(b) - end]
    letters = not any(map(str.isdigit, one + other))
    return letters and (max(len(one), len(other)) == 1 or (len(one) == 2 and one == other[::-1]))


def _rows(n: int) -> str:
    return "1 row" if n == 1 else f"{n:,} rows"
