"""A table of candidates: read, planned and checked, with notes for the user.

    rows       units, repeated headers, totals and footnotes are left out (`candidate_rows`)
    repeats    an id that occurs again with the same inputs and another label is measured again;
               duplicate lines count once; an id with different inputs is refused
    columns    a plan (`plan`): results beside the target and ids are not inputs
    notes      on all of these, on twins among the columns, equal rows and similar levels

The shell, the page, Python and the simulation read candidates here.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from weal.tables.cells import Cell, cell_text, short
from weal.tables.columns import check_columns
from weal.tables.fixed_sums import plan_fixed_sums
from weal.tables.frames import Matrix
from weal.tables.input_columns import equal_rows_note, find_same_gaps, twin_notes
from weal.tables.label_bounds import find_bounds
from weal.tables.plan import TablePlan, encode, likely_targets, make_plan
from weal.tables.similar_levels import SimilarLevels, similar_levels
from weal.tables.table import Table, read_table, table_of
from weal.tables.table_error import Remedy, TableError
from weal.tables.table_options import TableOptions

DEFAULT_ID_COLUMN = "id"  # name of the ids if the table has no id column
MIN_NAME_SIMILARITY = 0.8  # difflib's ratio above which a name may be a typo of the other
_SHOWN_REPEATS = 10


class RepeatedLabel(NamedTuple):
    """A further label of a row, in a later line of its id."""

    id: str
    label: Cell
    column: str


@dataclass(frozen=True, slots=True, eq=False)
class PlannedTable:
    """One row for each candidate, their inputs, and further labels of the same rows."""

    table: Table  # with the column of ids
    plan: TablePlan
    X: Matrix  # (N, d)
    repeats: tuple["RepeatedLabel", ...] = ()  # of rows that occur again
    failures: tuple[tuple[str, str], ...] = ()  # id and note of rows whose label failed
    questions: tuple[SimilarLevels, ...] = ()
    notes: tuple[str, ...] = ()
    is_numbered: bool = False  # whether the rows were given numbers as ids

    @property
    def changes(self) -> list[str]:
        """Notes on rows that were left out or joined, and on columns taken as results."""
        lines = zip(self.plan.columns, self.plan.lines(), strict=True)
        return [*self.table.row_notes, *(words for one, words in lines if one.why == "result")]

    @property
    def all_notes(self) -> list[str]:
        """The notes and the questions, for the shell."""
        asked = [f"{one.question} Then add {one.remedy.for_shell()}" for one in self.questions]
        return [*self.notes, *asked]


def read_candidates(source: object, options: TableOptions, first: int = 0) -> PlannedTable:
    """The candidates of a table; the text of a ValueError names the remedy.

    Without an id column in the options, rows are numbered from `first` + 1 on.
    """
    rows, numbered = read_rows(source, options, first)
    ids = options.id_column or DEFAULT_ID_COLUMN
    there = [name for name in options.targets if name in rows.columns]
    for target in options.targets:
        if target not in there:
            refuse_similar_name(target, list(rows.columns))
    absent = {*options.targets} - {*there}  # a quantity without a column may be declared too
    named = replace(
        options, id_column=ids, target=next(iter(there), None), more_targets=tuple(there[1:]),
        types={name: kind for name, kind in options.types.items() if name not in absent},
    )  # fmt: skip
    plan = make_plan(rows.take(first_rows(rows, ids)), named)
    table, repeats = once_each(rows, plan, there)
    if not there and options.features is None:
        refuse_hidden_target(table, plan, options)
    X = encode(plan, table)
    sums = plan_fixed_sums(plan, X)
    notes = (
        *table.notes,
        *table.row_notes,
        *_second_ids(plan),
        *(one.words() for one in sums),
        *twin_notes(plan.columns, table, X, [one.parts for one in sums]),
        *equal_rows_note(X, table.cells(ids)),
        *(note for one in options.targets for note in find_bounds(table, one, named)[1]),
    )
    asked = tuple(similar_levels(plan, table))
    planned = replace(plan, target=options.target)
    failures = find_failures(rows, ids, there)
    return PlannedTable(table, planned, X, repeats, failures, asked, notes, numbered)


def find_failures(
    rows: Table, id_column: str, targets: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    """The ids without a label whose measurement failed, with notes."""
    if not rows.failures:
        return ()
    ids, columns = rows.cells(id_column), [rows.cells(name) for name in targets]
    labelled = {
        name for labels in columns for name, y in zip(ids, labels, strict=True) if y is not None
    }
    found = {str(ids[n]): note for n, note in rows.failures if ids[n] not in labelled}
    return tuple(found.items())


def read_rows(source: object, options: TableOptions, first: int = 0) -> tuple[Table, bool]:
    """The rows of a table with their ids, and whether they were numbered."""
    ids = options.id_column or DEFAULT_ID_COLUMN
    table = read_table(source, options, text=[ids], leave_out=True)
    check_columns(table, [name for name in options.named if name != options.id_column])
    if options.id_column is None and ids not in table.columns:
        numbers: list[Cell] = [str(first + n + 1) for n in range(len(table))]
        return replace(table, columns={ids: numbers, **table.columns}), True
    if ids not in table.columns:
        _refuse_absent_id(table, ids)
    return table, options.id_column is None


def options_of_plan(plan: TablePlan, options: TableOptions | None = None) -> TableOptions:
    """The options with which later tables are read according to the plan."""
    kinds = {"number": None, "flag": None, "dropped": None}
    types = {
        one.name: kind for one in plan.columns
        if (kind := kinds.get(one.kind, "category")) is not None
    }  # fmt: skip
    how = options or TableOptions()
    ids = how.id_column or plan.id_column or None
    return replace(how, id_column=ids, target=plan.target, types=types, units=plan.units)


def _refuse_absent_id(table: Table, ids: str) -> None:
    near = similar_name(ids, list(table.columns))
    remedies = [Remedy("id", near, "names it")] if near else []
    there = ", ".join(map(str, table.columns))
    raise TableError(
        f"the table has no column {ids!r}; it has {there}",
        *remedies,
        otherwise="without a column of ids (--id) the rows are numbered",
    )


def first_rows(table: Table, ids: str) -> Sequence[int]:
    """The position of the first row of each id, and of all rows without one."""
    seen: set[Cell] = set()
    return [
        n
        for n, name in enumerate(table.cells(ids))
        if name is None or not (name in seen or seen.add(name))  # type: ignore[func-returns-value]
    ]


def once_each(
    table: Table, plan: TablePlan, targets: Sequence[str]
) -> tuple[Table, tuple[RepeatedLabel, ...]]:
    """The first row of each id, and the further labels of ids that occur again.

    TableError if an id occurs again with other inputs. A blank input does not count as different.
    """
    kept = first_rows(table, plan.id_column)
    if len(kept) == len(table):
        return table, ()
    names = table.cells(plan.id_column)
    start = {names[n]: n for n in kept}
    inputs = {
        one.name: table.cells(one.name) for one in plan.columns
        if (one.kind != "dropped" or one.why == "constant") and one.name in table.columns
    }  # fmt: skip
    labels = {one: table.cells(one) for one in targets if one in table.columns}
    values: dict[tuple[str, Cell], list[Cell]] = defaultdict(list)
    repeats, twice, firsts = list[RepeatedLabel](), list[str](), set(kept)
    for n, name in enumerate(names):
        is_new = n in firsts
        if not is_new:
            _refuse_other_inputs(str(name), inputs, start[name], n)
        for target, cells in labels.items():
            value, own = cells[n], values[target, name]
            if value is None or (n not in firsts and value in own):
                continue
            repeats += [RepeatedLabel(str(name), value, target)] if own else []
            own.append(value)
            is_new = True
        twice += [] if is_new else [str(name)]
    made = table
    for target in labels:
        known = {
            start[name]: some[0] for (of, name), some in values.items() if of == target and some
        }
        made = _with_labels(made, target, known)
    said = (*table.row_notes, *_repeat_notes(repeats, twice))
    return replace(made.take(kept), row_notes=said), tuple(repeats)


def _with_labels(table: Table, target: str, labels: Mapping[int, Cell]) -> Table:
    """The table with a label in the first row of an id that has one in a later row."""
    cells = table.cells(target)
    if all(cells[n] == value for n, value in labels.items()):
        return table
    cells = [labels.get(n, cell) for n, cell in enumerate(cells)]
    column = table_of({target: cells}).columns[target]
    return replace(table, columns={**table.columns, target: column})


def _refuse_other_inputs(
    name: str, inputs: Mapping[str, Sequence[Cell]], first: int, n: int
) -> None:
    differ = [
        one for one, cells in inputs.items()
        if cells[first] != cells[n] and None not in (cells[first], cells[n])
    ]  # fmt: skip
    if differ:
        shown = [
            f"row {k + 1} has " + ", ".join(f"{one} {short(inputs[one][k])}" for one in differ[:5])
            for k in (first, n)
        ]
        drops = [Remedy("type", f"{one}=drop", "leaves that column out") for one in differ]
        raise TableError(
            f"two rows have the id {name!r} but other inputs: {', '.join(shown)}; give each row "
            "its own id",
            *(drops if len(differ) == 1 else []),
            otherwise="or leave out the id column, and the rows are numbered",
        )


def _repeat_notes(repeats: Sequence[RepeatedLabel], twice: Sequence[str]) -> list[str]:
    notes = []
    if repeats:
        shown = ", ".join(f"{one.id} ({cell_text(one.label)})" for one in repeats[:_SHOWN_REPEATS])
        more = ", ..." if len(repeats) > _SHOWN_REPEATS else ""
        rows = "1 row is a repeat" if len(repeats) == 1 else f"{len(repeats)} rows are repeats"
        notes.append(f"{rows}, with the same id and inputs and another label: {shown}{more}")
    if twice:
        names = ", ".join(dict.fromkeys(twice[:_SHOWN_REPEATS]))
        rows = "1 row adds" if len(twice) == 1 else f"{len(twice)} rows add"
        notes.append(f"{rows} nothing to another row of the same id: {names}")
    return notes


def _second_ids(plan: TablePlan) -> list[str]:
    return [
        f"{one.name} is different in every row, so it was read as a second id; "
        f"{Remedy('type', f'{one.name}=category', '').for_shell()} makes it an input"
        for one in plan.columns
        if one.why == "id-like"
    ]


def refuse_hidden_target(table: Table, plan: TablePlan, options: TableOptions) -> None:
    """Raise TableError if a column that looks like the labels would become an input."""
    declared = {**options.types, **dict.fromkeys(options.also_inputs, "")}
    for name, empty in likely_targets(plan, table, declared):
        raise TableError(
            f"the column {name!r} is empty in {empty:.0%} of the rows: is it the target?",
            Remedy("target", name, "makes it the target"),
            Remedy("also-input", name, "makes it an input"),
        )
    names = [one.name for one in plan.columns if one.kind != "dropped" and one.name not in declared]
    if same := find_same_gaps(table, names):
        shown = ", ".join(map(repr, same))
        raise TableError(
            f"the columns {shown} are filled in the same rows and empty in the others: is one of "
            "them the target?",
            *(Remedy("target", name, "makes it the target") for name in same),
            otherwise=f"if all are inputs, name one of them as a further input: "
            f"{Remedy('also-input', same[0], '').for_shell()}",
        )


def similar_name(name: str, names: Sequence[str]) -> str | None:
    """The column with a similar name."""
    from difflib import get_close_matches  # takes time to import

    plain = {"".join(filter(str.isalnum, one.casefold())): one for one in names}
    own = "".join(filter(str.isalnum, name.casefold()))
    like = get_close_matches(own, plain, 1, MIN_NAME_SIMILARITY)
    return plain[like[0]] if like else None


def refuse_similar_name(target: str, names: Sequence[str]) -> None:
    """Raise TableError if the target is not a column and one column has a similar name."""
    if near := similar_name(target, names):
        raise TableError(
            f"the table has no column {target!r}, but one named {near!r}: did you mean that one?",
            Remedy("target", near, "makes it the target"),
            otherwise="for a column that is not in the table, choose a name that is less similar",
        )
