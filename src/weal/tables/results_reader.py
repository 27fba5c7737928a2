"""Labels that come back in a file, line by line: what each line says, and which say nothing.

    the id column    named as in the pool, or `id`
    the value        the column that is named, else that of the target, or `value`, or `label`
    noise or sd      optional: standard deviation of the measurement
    note             optional (`weal note` where the pool has a column `note` of its own)
    the pool's own   columns of inputs, as worksheets have them: to be compared with the pool

`by`, `time` and `event`, which exported labels have, and what a worksheet expected are passed over.
Other columns are refused, so that no value under a wrong heading is overlooked; where the value's
column is named, they are passed over with a note. Title lines may stand above the header, a row of
units below it. A line without a value is left out; `failed`, `n/a` and `-` say that there will be
none. CSV and TSV are read with the standard library alone; Parquet, Excel and frames are not.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

from weal.limits import read_limits
from weal.tables.cells import number, read_numbers, some_of
from weal.tables.csv_reader import (
    CellGrid,
    are_units,
    check_names,
    header_at,
    names_of,
    text_grid,
    text_of,
)
from weal.tables.text_records import check_size

TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
RESULTS_SUFFIXES = (*TEXT_SUFFIXES, ".xlsx", ".parquet", ".pq")
FAILED = frozenset({"failed", "fail", "n/a", "na", "-", "--", "\N{EN DASH}", "\N{EM DASH}"})
EXPECTED = ("expected", "expected sd", "weal expected", "weal expected sd")
_VALUE_COLUMNS = ("value", "label")
_NOISE_COLUMNS = ("noise", "sd")
_NOTE_COLUMNS = ("weal note", "note")
_IGNORED_COLUMNS = ("by", "time", "event", *EXPECTED)


class Result(NamedTuple):
    """What one line of a file (row of a frame) says."""

    id: str
    value: float | None  # None: nothing, or that there will be none
    noise: float | None
    note: str | None
    line: int
    failed: str | None = None  # the word in place of a value
    bad: str | None = None  # why the line cannot be taken
    inputs: Mapping[str, str] = {}

    @property
    def says(self) -> bool:
        """Whether there is a value, or a word in its place."""
        return self.value is not None or bool(self.failed)


@dataclass(frozen=True, slots=True)
class Results:
    """All lines of a file that are not blank."""

    where: str
    lines: tuple[Result, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def rows(self) -> tuple[Result, ...]:
        """Those with a value."""
        return tuple(line for line in self.lines if line.value is not None)

    @property
    def empty(self) -> int:
        """How many say nothing."""
        return sum(one.value is None and not one.failed and not one.bad for one in self.lines)


@dataclass(frozen=True, slots=True)
class ResultColumns:
    """What the columns of a file of results may be called."""

    id_column: str
    target: str | None
    own: tuple[str, ...] = ()  # further columns of the pool
    value: str | None = None  # the column of the values, where somebody has named it

    def roles(self) -> dict[str, tuple[str, ...]]:
        """Names of columns by what they are for, the more telling first."""
        own = set(self.own) - {self.target}
        values = (self.value,) if self.value else (*filter(None, [self.target]), *_VALUE_COLUMNS)
        others = {"value": values, "noise": _NOISE_COLUMNS, "note": _NOTE_COLUMNS}
        return {
            "id": tuple(dict.fromkeys((self.id_column, "id"))),
            **{
                role: tuple(one for one in some if one not in own or one == self.value)
                for role, some in others.items()
            },
        }

    def wants(self, names: Sequence[str]) -> bool:
        """Whether these could be the names of the columns."""
        roles = self.roles()
        return all(any(name in roles[role] for name in names) for role in ("id", "value"))


def read_results(
    source: Any, form: ResultColumns, *, name: str | None = None, sheet: str | None = None,
    header: int | None = None,
) -> Results:  # fmt: skip
    """The lines of a CSV, TSV, Parquet or Excel file, of its bytes (with its name), or of a frame.

    ValueError where it is none, or has not the columns that are needed.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"sample": ["A-1", "A-2"], "value": ["312.5", ""]})
    >>> found = read_results(frame, ResultColumns("sample", "hardness"))
    >>> found.rows[0][:2], found.empty
    (('A-1', 312.5), 1)
    """
    grid = _grid(source, form, name, sheet)
    at = header_at(grid, form.wants, header)
    line, first = grid.rows[at]
    names, records = _table(grid, first, grid.rows[at + 1 :])
    roles, notes = _roles(names, form, grid.where)
    if at and header is None:
        notes.append(f"{grid.where}: the header was found on line {line}")
    if records and are_units(records[0][1], roles["id"]):
        notes.append(f"{grid.where}: line {records[0][0]} was read as a row of units")
        records = records[1:]
    own = {one: n for n, one in enumerate(names) if one in form.own and n not in roles.values()}
    rows = [
        (line, {role: cells[n] for role, n in roles.items()}, {o: cells[n] for o, n in own.items()})
        for line, cells in records
    ]
    if grid.comma:
        _points_for_commas([row for _, row, _ in rows])
    title = names[roles["value"]]
    lines = tuple(_result(line, row, inputs, title) for line, row, inputs in rows)
    return Results(grid.where, lines, (*grid.notes, *notes))


def _grid(source: Any, form: ResultColumns, name: str | None, sheet: str | None) -> CellGrid:
    if not isinstance(source, str | os.PathLike | bytes):
        return _of_frame(source, "the frame", first=0)
    path = Path(name or "results.csv") if isinstance(source, bytes) else Path(source).expanduser()
    ending = path.suffix.lower()
    where = path.name if isinstance(source, bytes) else str(path)
    if ending not in RESULTS_SUFFIXES:
        raise ValueError(
            f"{where} does not end in one of {', '.join(RESULTS_SUFFIXES)}; save it as CSV"
        )
    if sheet is not None and ending != ".xlsx":
        raise ValueError(f"{where} is no Excel file, so there is no sheet {sheet!r} in it")
    if ending in (".parquet", ".pq"):
        if isinstance(source, bytes):
            raise ValueError(f"{where} is Parquet, which is read from a file: send CSV or Excel")
        return _of_frame(_there(path), where, first=1)
    size = len(source) if isinstance(source, bytes) else _there(path).stat().st_size
    check_size(where, size, read_limits().result_bytes, "result_bytes")
    data = source if isinstance(source, bytes) else path.read_bytes()
    if ending in TEXT_SUFFIXES:
        return text_grid(data, where, ending, form.wants)
    from weal.tables.excel_reader import sheet_grid

    return sheet_grid(data, where, sheet)


def _there(path: Path) -> Path:
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    return path


def _of_frame(source: Any, where: str, first: int) -> CellGrid:
    """A frame as a grid: its header on line `first`."""
    from weal.tables.table import raw_columns

    columns, notes = raw_columns(source)
    rows: list[list[Any]] = [list(columns), *map(list, zip(*columns.values(), strict=True))]
    some = [(n, row) for n, row in enumerate(rows, start=first) if any(map(text_of, row))]
    return CellGrid(where, some, False, notes)


Records = list[tuple[int, list[str]]]


def _table(
    grid: CellGrid, header: Sequence[Any], below: Sequence[tuple[int, list[Any]]]
) -> tuple[tuple[str, ...], Records]:
    """Names of columns and records of text as long; columns without a name and cells are cut."""
    names = names_of(header)
    rows = [(line, list(map(text_of, row))) for line, row in below]
    if grid.ragged:
        names += [""] * (max((len(row) for _, row in rows), default=0) - len(names))
    for line, row in rows:
        short = len(row) < len(names) and not grid.ragged
        if short or any(cell.strip() for cell in row[len(names) :]):
            raise ValueError(
                f"line {line} of {grid.where} has {len(row)} cells, not {len(names)} as its "
                "header; quote cells that hold the separator"
            )
    filled = {n for _, row in rows for n, cell in enumerate(row) if cell.strip()}
    kept = [n for n, name in enumerate(names) if name or n in filled]
    found = check_names([names[n] for n in kept], grid.where)
    return found, [(line, [row[n] if n < len(row) else "" for n in kept]) for line, row in rows]


def _roles(
    names: Sequence[str], form: ResultColumns, where: str
) -> tuple[dict[str, int], list[str]]:
    """Position of the columns that are there, by what they are for; and notes on others."""
    wanted = form.roles()
    found = _columns_by_role(names, wanted, form)
    value = form.value or form.target or "value"
    known = f"{form.id_column!r}, {value!r}, 'noise' and 'note'"
    understood = {*_IGNORED_COLUMNS, *form.own, *(name for some in found.values() for name in some)}
    strange = [name for name in names if name not in understood]
    others = some_of(list(map(repr, strange)))
    missing = [wanted[role][0] for role in ("id", "value") if not found[role]]
    if missing:
        hint = "; name the column of the values with --value" if not found["value"] else ""
        more = f"; not understood: {others}" if strange else ""
        raise ValueError(f"{where} has no column {missing[0]!r}{more}; known are {known}{hint}")
    for role, some in found.items():
        if len(some) > 1 and role != "note":
            hint = f"; name the right one (--value {quote(some[0])})" if role == "value" else ""
            raise ValueError(f"{where} has several columns for the {role}: {', '.join(some)}{hint}")
    if strange and form.value is None:
        raise ValueError(
            f"{where} has columns that are not understood: {others}; known are {known}: rename or "
            "delete the others, or name the column of the values "
            f"(--value {quote(found['value'][0])}), and the others are passed over"
        )
    notes = [f"{where}: passed over {others}"] if strange else []
    return {role: names.index(some[0]) for role, some in found.items() if some}, notes


def _columns_by_role(
    names: Sequence[str], wanted: Mapping[str, tuple[str, ...]], form: ResultColumns
) -> dict[str, list[str]]:
    """Columns of each role: a column has one, ids and the value before others."""
    found: dict[str, list[str]] = {}
    left = list(names)
    for role, some in wanted.items():
        others = [form.value or form.target] if role == "id" else []
        found[role] = [one for one in some if one in left and one not in others]
        left = [name for name in left if name not in found[role]]
    return found


def _points_for_commas(rows: list[dict[str, str]]) -> None:
    """Write a column of decimal commas with points, when all its numbers are written so."""
    for role in ("value", "noise"):
        cells = [row.get(role, "").strip() or None for row in rows]
        cells = [None if cell and cell.lower() in FAILED else cell for cell in cells]
        if read_numbers(cells) is None and read_numbers(cells, decimal_comma=True) is not None:
            for row in rows:
                row[role] = row[role].replace(",", ".")


def _result(line: int, row: Mapping[str, str], inputs: Mapping[str, str], field: str) -> Result:
    name, note = row["id"], row.get("note", "").strip() or None
    said, sd = row["value"].strip(), row.get("noise", "")
    failed = said if said.lower() in FAILED else None
    value, noise, bad = None, None, None
    try:
        if said and not name.strip():
            raise ValueError("the id is empty")
        value = number(said, field) if said and not failed else None
        noise = number(sd, "noise") if sd.strip() and value is not None else None
        if noise is not None and noise < 0:
            raise ValueError(f"noise is {sd!r}; a standard deviation is 0 or more")
    except ValueError as error:
        value, bad = None, str(error)
    return Result(name, value, noise, note, line, failed, bad, inputs)


def bad_lines(where: str, bad: Sequence[str]) -> str:
    """What to say of a file some of whose lines cannot be taken."""
    lines = "1 bad line" if len(bad) == 1 else f"{len(bad)} bad lines"
    more = f"; and {len(bad) - 5} more" if len(bad) > 5 else ""
    return f"{where} has {lines}, so none was taken. {'; '.join(bad[:5])}{more}"
