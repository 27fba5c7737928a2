"""Results files of several quantities: a column for each, or a line for each label.

    a column for each       id, yield [%], purity [%], crystallised: as many as the file has
    a line for each label   id, quantity, label: as `weal export` writes them

The columns are named as the targets, with their unit or without. The noise of `yield [%]` is in
`yield [%] noise` or `yield sd`; with one target in the file, `noise` and `sd` are accepted. Columns
of the predictions in a worksheet are ignored.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from weal.tables.cells import Cell
from weal.tables.csv_reader import HEADER_ROWS, CellGrid, column_names, find_header
from weal.tables.result_lines import Result, join_results
from weal.tables.results_reader import ResultColumns, Results, read_grid, results_of_grid

QUANTITY_COLUMN = "quantity"  # in a file with a line for each label
_LABEL_COLUMNS = ("label", "value")


@dataclass(frozen=True, slots=True)
class Target:
    """A quantity as a results file has it."""

    name: str
    column: str
    unit: str = ""
    words: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names that its column can have."""
        return tuple(dict.fromkeys((self.column, self.name)))

    @property
    def noises(self) -> tuple[str, ...]:
        """The names that the column of its noise can have."""
        return tuple(f"{one} {word}" for one in self.names for word in ("noise", "sd"))

    @property
    def expected(self) -> tuple[str, ...]:
        """The columns of its prediction in a worksheet."""
        return (f"expected {self.column}", f"expected sd {self.column}")


@dataclass(frozen=True, slots=True)
class SeveralColumns:
    """The columns of a results file of several quantities."""

    form: ResultColumns  # of the ids, notes and inputs
    targets: tuple[Target, ...]
    failures: str  # name of the quantity of runs that failed
    has_columns: bool = True  # False: only the form with a line for each label is read

    def is_in(self, rows: Sequence[tuple[int, Sequence[Cell]]]) -> bool:
        """Whether one of the first rows can be the header."""
        return any(self.is_header(column_names(row)) for _, row in rows[:HEADER_ROWS])

    def is_header(self, names: Sequence[str]) -> bool:
        """Whether a row with these names can be the header."""
        there = any(one in names for one in self.form.roles()["id"])
        long = QUANTITY_COLUMN in names and any(one in names for one in _LABEL_COLUMNS)
        return there and (long or bool(self.present(names)))

    def present(self, names: Sequence[str]) -> list[tuple[Target, str]]:
        """The targets that a file has, each with the name of its column."""
        targets = self.targets if self.has_columns else ()
        pairs = ((own, next((n for n in own.names if n in names), None)) for own in targets)
        return [(own, name) for own, name in pairs if name is not None]


def read_several(
    source: object, columns: SeveralColumns, *, name: str | None = None, sheet: str | None = None,
    header: int | None = None,
) -> Results:  # fmt: skip
    """The lines of a results file, with a result for each label; see `read_results`."""
    grid = read_grid(source, columns, name, sheet, header)
    at = find_header(grid.rows, grid.where, header, columns.is_header)
    names = column_names(grid.rows[at][1])
    if not columns.is_header(names):
        shown = ", ".join(repr(one.column) for one in columns.targets)
        raise ValueError(
            f"{grid.where} has no column of ids ({columns.form.id_column!r}) beside one of results "
            f"({shown}); rename its columns"
        )
    if present := columns.present(names):
        found = [
            (own.name, results_of_grid(grid, _form(columns, own, column, len(present)), header))
            for own, column in present
        ]
        return _by_line(found)
    return _by_label(grid, columns, names, header)


def _form(columns: SeveralColumns, own: Target, column: str, among: int) -> ResultColumns:
    """The columns for one of the targets in the file."""
    others = [one for one in columns.targets if one is not own]
    theirs = [name for one in others for name in (*one.names, *one.noises, *one.expected)]
    noises = (*own.noises, *(columns.form.noises if among == 1 else ()))
    ours = (*theirs, *own.expected)
    return replace(
        columns.form, target=column, unit=own.unit, words=own.words, noises=noises, ignored=ours
    )


def _by_line(found: Sequence[tuple[str, Results]]) -> Results:
    """The results of all columns, joined line by line."""
    first = found[0][1]
    every = [line._replace(quantity=name) for name, one in found for line in one.lines]
    every.sort(key=lambda line: line.line)  # stable: the columns keep their order
    lines = (join_results([*some]) for _, some in groupby(every, lambda line: line.line))
    labels = tuple(one for line in lines for one in line)
    notes = dict.fromkeys(note for _, one in found for note in one.notes)
    return replace(first, lines=labels, notes=tuple(notes))


def _by_label(
    grid: CellGrid, columns: SeveralColumns, names: Sequence[str], header: int | None
) -> Results:
    """The results of a file with a line for each label."""
    value = next(one for one in _LABEL_COLUMNS if one in names)
    at = names.index(QUANTITY_COLUMN)
    said = {str(row[at]).strip() for _, row in grid.rows[1:] if at < len(row) and row[at]}
    failures = Target(columns.failures, columns.failures)
    found = []
    for own in (*columns.targets, failures):
        form = replace(
            columns.form, target=value, unit=own.unit, words=own.words,
            ignored=(QUANTITY_COLUMN,), only=(QUANTITY_COLUMN, frozenset(own.names)),
        )  # fmt: skip
        said -= set(own.names)
        found.append((own.name, results_of_grid(grid, form, header)))
    if said - {QUANTITY_COLUMN}:
        known = ", ".join(one.name for one in columns.targets)
        raise ValueError(
            f"{grid.where} has labels of {min(said)!r}, and the quantities are {known}; correct "
            f"the column {QUANTITY_COLUMN!r}, or delete these lines"
        )
    lines: list[Result] = [
        line._replace(quantity=name) for name, one in found for line in one.lines
    ]
    lines.sort(key=lambda line: line.line)
    notes = dict.fromkeys(note for _, one in found for note in one.notes)
    return replace(found[0][1], lines=tuple(lines), notes=tuple(notes))
