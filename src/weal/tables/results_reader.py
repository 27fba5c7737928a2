"""The results reader: labels in a CSV, TSV, Excel or Parquet file or in a frame, line by line.

    id               the column named as in the campaign, or `id`
    value            the column that the user names, else the target, `value` or `label`. With
                     several targets, each of them that the file has (`several_results`)
    noise or sd      optional: standard deviation of the measurement
    note             optional (`weal note` where the candidates have a column `note`)
    inputs           columns of the candidates, as in a worksheet: compared with the campaign

`by`, `time`, `event` and the prediction columns of a worksheet are ignored. Other columns are
refused, so no value under a wrong heading is lost; if the user names the value column, they are
ignored with a note. Title lines above the header and a row of units below it are skipped.
A line without a value is skipped; `failed`, `failed - stirrer stopped`, `n/a` and `-` mean that no
value will come, and a bound (`<0.1`, `>95`) is kept as a note. CSV and TSV need the standard
library only.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Protocol

from weal.limits import read_limits
from weal.tables.candidate_rows import is_unit_row
from weal.tables.cells import Cell, PercentCell, some_of
from weal.tables.csv_reader import (
    HEADER_ROWS,
    CellGrid,
    check_names,
    column_names,
    find_header,
    header_note,
    read_csv_grid,
    text_or_blank,
    wrong_length,
)
from weal.tables.number_columns import NumberForm, read_label_cells
from weal.tables.result_lines import RESULT_NUMBERS, Result, read_line
from weal.tables.text_records import check_size
from weal.tables.units import are_convertible, canonical_unit, convert, header_unit

TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
RESULTS_SUFFIXES = (*TEXT_SUFFIXES, ".xlsx", ".parquet", ".pq")
MAX_BAD_LINES_NAMED = 20
EXPECTED = ("expected", "expected sd", "weal expected", "weal expected sd")
_VALUE_COLUMNS = ("value", "label")
_NOISE_COLUMNS = ("noise", "sd")
_NOTE_COLUMNS = ("weal note", "note")
_IGNORED_COLUMNS = ("by", "time", "event", *EXPECTED)


@dataclass(frozen=True, slots=True)
class Results:
    """The lines of a results file that are not blank."""

    where: str
    lines: tuple[Result, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def rows(self) -> tuple[Result, ...]:
        """The lines with a value."""
        return tuple(line for line in self.lines if line.value is not None)

    @property
    def empty_count(self) -> int:
        """The number of lines without a result."""
        return sum(not line.has_result and not line.error for line in self.lines)


@dataclass(frozen=True, slots=True)
class ResultColumns:
    """The names that columns of a results file can have."""

    id_column: str
    target: str | None
    own: tuple[str, ...] = ()  # further columns of the candidates
    value: str | None = None  # the value column, if the user named it
    unit: str = ""  # of the labels
    words: tuple[str, ...] = ()  # of the labels, where they are not numbers
    noises: tuple[str, ...] = _NOISE_COLUMNS
    ignored: tuple[str, ...] = ()  # columns beside these, such as those of other targets
    only: tuple[str, frozenset[str]] | None = None  # column and cells of the lines that are read

    def roles(self) -> dict[str, tuple[str, ...]]:
        """Column names by role, the preferred name first."""
        own = set(self.own) - {self.target}
        known = dict.fromkeys((*filter(None, [self.target]), *_VALUE_COLUMNS))
        values = (self.value,) if self.value else tuple(known)
        others = {"value": values, "noise": self.noises, "note": _NOTE_COLUMNS}
        return {
            "id": tuple(dict.fromkeys((self.id_column, "id"))),
            **{
                role: tuple(one for one in some if one not in own or one == self.value)
                for role, some in others.items()
            },
        }

    def is_in(self, rows: Sequence[tuple[int, Sequence[Cell]]]) -> bool:
        """Whether one of the first rows can be the header."""
        return any(self.is_header(column_names(row)) for _, row in rows[:HEADER_ROWS])

    def is_header(self, names: Sequence[str]) -> bool:
        """Whether a row with these names can be the header."""
        roles = self.roles()
        return all(any(name in roles[role] for name in names) for role in ("id", "value"))


def read_results(
    source: object, form: ResultColumns, *, name: str | None = None, sheet: str | None = None,
    header: int | None = None,
) -> Results:  # fmt: skip
    """The lines of a results file, of its bytes (`name` has the suffix), or of a frame.

    ValueError if the file cannot be read or lacks a column.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"sample": ["A-1", "A-2"], "value": ["312.5", ""]})
    >>> found = read_results(frame, ResultColumns("sample", "hardness"))
    >>> found.rows[0][:2], found.empty_count
    (('A-1', 312.5), 1)
    """
    return results_of_grid(read_grid(source, form, name, sheet, header), form, header)


def results_of_grid(grid: CellGrid, form: ResultColumns, header: int | None = None) -> Results:
    """The lines of a grid of cells; ValueError if it lacks a column."""
    at = find_header(grid.rows, grid.where, header, form.is_header)
    line, first = grid.rows[at]
    names, records = _table(grid, first, grid.rows[at + 1 :])
    roles, notes = _roles(names, form, grid.where)
    row_unit = ""
    if at and header is None:
        notes.append(header_note(grid.where, line))
    if records and is_unit_row(records[0][1], roles["id"]):
        notes.append(f"{Path(grid.where).name}: line {records[0][0]} was read as a row of units")
        row_unit = canonical_unit(records[0][1][roles["value"]].strip(" []()"))
        records = records[1:]
    own = {one: n for n, one in enumerate(names) if one in form.own and n not in roles.values()}
    rows = [
        (line, {role: cells[n] for role, n in roles.items()}, {o: cells[n] for o, n in own.items()})
        for line, cells in records
        if cells[roles["id"]].strip() != names[roles["id"]]  # a header again
        if form.only is None or cells[names.index(form.only[0])].strip() in form.only[1]
    ]
    title = names[roles["value"]]
    wanted = canonical_unit(form.unit) or header_unit(title)
    unit = row_unit or wanted
    if wanted and unit != wanted:
        notes.append(_conversion_note(title, unit, wanted))
    read = {
        role: read_label_cells(title, [row[role].strip() for _, row, _ in rows], NumberForm(unit))
        for role in RESULT_NUMBERS if role in roles and not form.words
    }  # fmt: skip
    lines = tuple(
        read_line(line, row, inputs, title, read, form.words) for line, row, inputs in rows
    )
    if wanted and unit != wanted:
        lines = tuple(_in_unit(line, unit, wanted) for line in lines)
    return Results(grid.where, lines, (*grid.notes, *notes))


def _conversion_note(title: str, unit: str, wanted: str) -> str:
    """The note on labels in another unit; ValueError if they cannot be converted."""
    if not are_convertible(unit, wanted):
        raise ValueError(
            f"{title}: the row of units says {unit!r}, and labels are in {wanted!r}; correct the "
            "row of units, or delete it if they are in that unit"
        )
    return f"{title}: numbers in {unit} were converted to {wanted}, as the row of units says"


def _in_unit(line: Result, unit: str, wanted: str) -> Result:
    """The line with its label and noise in the wanted unit."""
    if not isinstance(line.value, float):
        return line
    noise = line.noise and convert(line.noise, unit, wanted) - convert(0.0, unit, wanted)
    return line._replace(value=convert(line.value, unit, wanted), noise=noise)


class HeaderForm(Protocol):
    """Finds the header of a results file."""

    def is_in(self, rows: Sequence[tuple[int, Sequence[Cell]]]) -> bool:
        """Whether one of the first rows can be the header."""

    def is_header(self, names: Sequence[str]) -> bool:
        """Whether a row with these names can be the header."""


def read_grid(
    source: object, form: HeaderForm, name: str | None, sheet: str | None, header: int | None
) -> CellGrid:
    """The cells of a results file, of its bytes, or of a frame."""
    if not isinstance(source, str | os.PathLike | bytes):
        return _frame_grid(source, "the frame", first=0)
    file = source if isinstance(source, bytes) else Path(source).expanduser()
    suffix = (Path(name or "results.csv") if isinstance(file, bytes) else file).suffix.lower()
    where = name or ("results.csv" if isinstance(file, bytes) else str(file))
    if suffix not in RESULTS_SUFFIXES:
        raise ValueError(
            f"{where} does not end in one of {', '.join(RESULTS_SUFFIXES)}; save it as CSV"
        )
    if sheet is not None and suffix != ".xlsx":
        raise ValueError(
            f"{where} is not an Excel file, so it has no sheet {sheet!r}: leave out the sheet"
        )
    if isinstance(file, Path) and not file.is_file():
        raise ValueError(f"there is no file {where}; check its name and its folder")
    if suffix in (".parquet", ".pq"):
        if isinstance(file, bytes):
            raise ValueError(f"{where} is Parquet, which is read from a file: send CSV or Excel")
        return _frame_grid(file, where, first=1)
    size = len(file) if isinstance(file, bytes) else file.stat().st_size
    check_size(where, size, read_limits().result_bytes, "result_bytes")
    if suffix in TEXT_SUFFIXES:
        return read_csv_grid(file, where, form.is_header, header)
    from weal.tables.excel_reader import read_sheet_grid

    data = file if isinstance(file, bytes) else file.read_bytes()
    return read_sheet_grid(data, where, sheet, form.is_in)


def _frame_grid(source: object, where: str, first: int) -> CellGrid:
    """A frame as a grid with its header on line `first`."""
    from weal.tables.table import raw_columns

    columns, notes = raw_columns(source)
    rows: list[list[Cell]] = [list(columns), *map(list, zip(*columns.values(), strict=True))]
    filled = [(n, row) for n, row in enumerate(rows, start=first) if any(map(text_or_blank, row))]
    return CellGrid(where, filled, False, notes)


Records = list[tuple[int, list[str]]]


def _table(
    grid: CellGrid, header: Sequence[Cell], below: Sequence[tuple[int, list[Cell]]]
) -> tuple[tuple[str, ...], Records]:
    """Column names and records of the same length, without columns that are blank throughout."""
    names = column_names(header)
    shown = [
        header_unit(name) == "%" or any("%" in str(row[n]) for _, row in below if n < len(row))
        for n, name in enumerate(names)
    ]
    rows = [(line, _texts(row, shown)) for line, row in below]
    if grid.ragged:
        names += [""] * (max((len(row) for _, row in rows), default=0) - len(names))
    for line, row in rows:
        has_others = any(cell.strip() for cell in row[1:])  # else it is a footnote
        short = len(row) < len(names) and not grid.ragged and has_others
        if short or any(cell.strip() for cell in row[len(names) :]):
            raise wrong_length(grid.where, line, len(row), len(names))
    filled = {n for _, row in rows for n, cell in enumerate(row) if cell.strip()}
    kept = [n for n, name in enumerate(names) if name or n in filled]
    found = check_names([names[n] for n in kept], grid.where)
    return found, [(line, [row[n] if n < len(row) else "" for n in kept]) for line, row in rows]


def _texts(row: Sequence[Cell], shown: Sequence[bool]) -> list[str]:
    """Cells as text; percentages of a spreadsheet as shown where the column has percent signs."""
    return [
        cell.as_shown() if isinstance(cell, PercentCell) and n < len(shown) and shown[n]
        else text_or_blank(cell)
        for n, cell in enumerate(row)
    ]  # fmt: skip


def _roles(
    names: Sequence[str], form: ResultColumns, where: str
) -> tuple[dict[str, int], list[str]]:
    """The position of each role's column, and notes on ignored columns."""
    wanted = form.roles()
    found = _columns_by_role(names, wanted, form)
    value = form.value or form.target or "value"
    known = f"{form.id_column!r}, {value!r}, 'noise' and 'note'"
    roles = (name for some in found.values() for name in some)
    understood = {*_IGNORED_COLUMNS, *form.own, *form.ignored, *roles}
    strange = [name for name in names if name not in understood]
    others = some_of(list(map(repr, strange)))
    missing = [wanted[role][0] for role in ("id", "value") if not found[role]]
    if missing:
        hint = (
            "; name the value column (--value, in JSON `column`)"
            if not found["value"]
            else "; rename it"
        )
        more = f"; not understood: {others}" if strange else ""
        raise ValueError(f"{where} has no column {missing[0]!r}{more}; known are {known}{hint}")
    for role, some in found.items():
        if len(some) > 1 and role != "note":
            is_value, option = role == "value", f"--value {quote(some[0])}"
            hint = f"; name the right one ({option})" if is_value else "; delete all but one"
            raise ValueError(f"{where} has several columns for the {role}: {', '.join(some)}{hint}")
    if strange and form.value is None:
        raise ValueError(
            f"{where} has columns that are not understood: {others}; known are {known}: rename or "
            f"delete the others, or name the value column (--value {quote(found['value'][0])}) to "
            "ignore them"
        )
    notes = [f"{where}: ignored {others}"] if strange else []
    return {role: names.index(some[0]) for role, some in found.items() if some}, notes


def _columns_by_role(
    names: Sequence[str], wanted: Mapping[str, tuple[str, ...]], form: ResultColumns
) -> dict[str, list[str]]:
    """The columns of each role; a column has one role, and ids and values choose first."""
    found: dict[str, list[str]] = {}
    left = list(names)
    for role, some in wanted.items():
        others = [form.value or form.target] if role == "id" else []
        found[role] = [one for one in some if one in left and one not in others]
        left = [name for name in left if name not in found[role]]
    return found


def refused_message(where: str, errors: Sequence[str]) -> str:
    """The error message for a file with lines that cannot be saved."""
    lines = "1 bad line" if len(errors) == 1 else f"{len(errors)} bad lines"
    rest = len(errors) - MAX_BAD_LINES_NAMED
    more = f"; and {rest} more: `weal tell NAME --file FILE --dry-run` lists all" * (rest > 0)
    shown = "; ".join(errors[:MAX_BAD_LINES_NAMED])
    return f"{where} has {lines}, so nothing was saved. {shown}{more}"
