"""A table from a file or a frame: columns by name, in the user's order.

    .csv .tsv .txt     `csv_reader`
    .parquet .pq       Parquet, by pyarrow
    .xlsx              `excel_reader`
    frames             pandas, polars and pyarrow

Every reader returns raw columns. In a table of candidates, other rows are left out
(`candidate_rows`); then each column gets one type (`typed_columns`). An ambiguous column keeps its
error, which is raised when the column is used.
"""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from weal.limits import read_limits
from weal.tables.candidate_rows import LeftOutRows, find_left_out, left_out_notes
from weal.tables.cells import Cell
from weal.tables.csv_reader import CsvFile, check_names, header_note, open_csv
from weal.tables.excel_reader import read_sheet_columns
from weal.tables.frames import RawCells, frame_columns
from weal.tables.table_error import TableError
from weal.tables.table_options import Missing, TableOptions
from weal.tables.text_records import check_cells, check_size
from weal.tables.typed_columns import (
    Cells,
    ColumnForm,
    TypedColumn,
    as_text,
    in_unit,
    take_cells,
    type_column,
)
from weal.tables.units import canonical_unit

TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".pq", ".xlsx")
MAX_FILES_NAMED = 10  # in the message on a missing file
_BLOCK_RECORDS = 1 << 16  # records turned into columns at a time


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns of n cells each, and notes on how they were read."""

    columns: Mapping[str, Cells]
    n: int
    notes: tuple[str, ...] = field(default=())
    row_notes: tuple[str, ...] = ()  # on rows that were left out or joined
    units: Mapping[str, str] = field(default_factory=dict)  # of columns of numbers
    failures: tuple[tuple[int, str], ...] = ()  # rows as read whose label failed, and the note
    refusals: Mapping[str, TableError] = field(default_factory=dict)  # of columns in doubt

    def __len__(self) -> int:
        return self.n

    def cells(self, name: str) -> list[Cell]:
        """The cells of a column as Python values, None if missing."""
        column = self.columns[name]
        if isinstance(column, list):
            return list(column)
        if column.dtype.kind != "f":
            return list(column.tolist())
        return [None if value != value else value for value in column.tolist()]

    def row(self, n: int) -> dict[str, Cell]:
        """One row, by column."""
        one = self.take([n])
        return {name: one.cells(name)[0] for name in one.columns}

    def take(self, rows: Sequence[int] | slice) -> "Table":
        """The rows at these positions, in this order."""
        at = range(self.n)[rows] if isinstance(rows, slice) else rows
        columns = {name: take_cells(column, at) for name, column in self.columns.items()}
        notes = dict(self.failures)
        failures = tuple((n, notes[row]) for n, row in enumerate(at) if row in notes)
        return replace(self, columns=columns, n=len(at), failures=failures)


def read_table(
    source: object, options: TableOptions | None = None, *, text: Collection[str] = (),
    missing: Missing | None = None, sheet: str | None = None, header: int | None = None,
    leave_out: bool = False,
) -> Table:  # fmt: skip
    """The table in a file or a frame; ValueError if it cannot be read.

    The options say how columns are read; `missing`, `sheet` and `header` are options too. Columns
    in `text`, and that of the ids, stay text. With `leave_out`, rows that are not candidates are
    left out, with notes.

    >>> import pandas as pd
    >>> table = read_table(pd.DataFrame({"id": [7, 8], "steel": ["B", "NA"]}), text=["id"])
    >>> table.columns
    {'id': ['7', '8'], 'steel': ['B', None]}
    """
    if isinstance(source, Table):
        return source
    how = options or TableOptions()
    how = replace(
        how, missing=missing or how.missing, sheet=sheet or how.sheet, header=header or how.header
    )
    columns, notes, decimal = _raw_columns(source, how, leave_out)
    return table_of(columns, how, text=text, notes=notes, leave_out=leave_out, decimal=decimal)


def raw_columns(source: object) -> tuple[dict[str, RawCells], tuple[str, ...]]:
    """Columns of a frame or a Parquet file before text is read as numbers; and notes."""
    columns, notes, _ = _raw_columns(source, TableOptions(), False)
    return columns, notes


def table_of(
    columns: Mapping[str, RawCells], options: TableOptions | None = None, *,
    text: Collection[str] = (), notes: tuple[str, ...] = (), leave_out: bool = False,
    decimal: bool = False,
) -> Table:  # fmt: skip
    """A table of these columns: lists of cells, or arrays of numbers.

    With `decimal`, one program wrote all columns, so a decimal comma in one column decides how
    1,234 is read in another.

    >>> table_of({"a": ["1", "?"], "b": [1, "x"]}).columns
    {'a': [1, None], 'b': ['1', 'x']}
    """
    check_names(list(columns), "the table")
    how = options or TableOptions()
    texts = {*text, *filter(None, [how.id_column])} & set(columns)
    lengths = {name: len(cells) for name, cells in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"the columns have different lengths: {lengths}; give all the same")
    left_out, row_notes = LeftOutRows(), list[str]()
    if leave_out and columns and next(iter(lengths.values())):
        id_column = next(iter(texts), None) if len(texts) == 1 else None
        left_out = find_left_out(columns, id_column, how.targets)
        first = id_column or next(iter(columns))
        row_notes = left_out_notes(left_out, columns, first)
        columns = _without_rows(columns, left_out.rows)
    ids = as_text(columns[next(iter(texts))]) if len(texts) == 1 else None
    typed = {
        name: TypedColumn(as_text(cells)) if name in texts
        else type_column(name, cells, _form(name, how, left_out.units), ids)
        for name, cells in columns.items()
    }  # fmt: skip
    if decimal:
        typed = _decided_by_others(typed, columns, how, left_out.units, ids)
    typed = {
        name: in_unit(name, one, canonical_unit(how.units[name])) if name in how.units else one
        for name, one in typed.items()
    }
    n = len(next(iter(typed.values())).cells) if typed else 0
    return Table(
        {name: one.cells for name, one in typed.items()},
        n,
        (*notes, *(note for one in typed.values() for note in one.notes)),
        tuple(row_notes),
        {name: one.unit for name, one in typed.items() if one.unit},
        tuple(failure for one in typed.values() for failure in one.failures),
        {name: one.refusal for name, one in typed.items() if one.refusal},
    )


def _form(name: str, how: TableOptions, unit_row: Mapping[str, str]) -> ColumnForm:
    missing = frozenset(how.missing.get(name, ()))
    return ColumnForm(how.number_form(name, unit_row), missing, name in how.targets)


def _decided_by_others(
    typed: dict[str, TypedColumn], columns: Mapping[str, RawCells], how: TableOptions,
    unit_row: Mapping[str, str], ids: Sequence[Cell] | None,
) -> dict[str, TypedColumn]:  # fmt: skip
    """The columns, if other columns show that the comma is the decimal mark."""
    marks = {one.decimal for one in typed.values() if one.decimal}
    points = any(isinstance(one.cells, np.ndarray) and one.cells.dtype.kind == "f" and
                 not one.decimal for one in typed.values())  # fmt: skip
    if marks != {","} or points or how.decimal:
        return typed
    known = replace(how, decimal={"": ","})
    return {
        name: type_column(name, columns[name], _form(name, known, unit_row), ids)
        if one.refusal else one
        for name, one in typed.items()
    }  # fmt: skip


def _without_rows(columns: Mapping[str, RawCells], rows: set[int]) -> Mapping[str, RawCells]:
    if not rows:
        return columns
    at = sorted(rows)
    return {
        name: np.delete(cells, at) if isinstance(cells, np.ndarray)
        else [cell for n, cell in enumerate(cells) if n not in rows]
        for name, cells in columns.items()
    }  # fmt: skip


def _raw_columns(
    source: object, how: TableOptions, leave_out: bool
) -> tuple[dict[str, RawCells], tuple[str, ...], bool]:
    """Raw columns, notes, and whether one program wrote all columns."""
    if not isinstance(source, str | os.PathLike):
        return *frame_columns(source), False
    path = _file(source)
    suffix = path.suffix.lower()
    if how.sheet is not None and suffix != ".xlsx":
        raise ValueError(
            f"{path} is not an Excel file, so it has no sheet {how.sheet!r}: leave out the sheet"
        )
    if suffix == ".xlsx":
        columns, notes = read_sheet_columns(path, how.sheet, how.header, how.named, how.target)
        return {**columns}, notes, False
    if suffix in TABLE_SUFFIXES[:3]:
        file = _open_text(path, how)
        return *_read_records(file, leave_out), file.separator != ","
    return *_parquet_columns(path), False


def _file(source: str | os.PathLike[str]) -> Path:
    path = Path(source).expanduser()
    if path.suffix.lower() not in TABLE_SUFFIXES:
        raise ValueError(
            f"{path} does not end in one of {', '.join(TABLE_SUFFIXES)}; save it as CSV"
        )
    if not path.is_file():
        raise ValueError(f"there is no file {path}; {_nearby(path)}")
    return path


def _nearby(path: Path) -> str:
    """The tables in the folder of a missing file, the most similar first."""
    from difflib import SequenceMatcher  # takes time to import

    if not path.parent.is_dir():
        return f"there is no folder {path.parent} either: check the path"
    with suppress(OSError):
        there = [one.name for one in path.parent.iterdir() if one.suffix in TABLE_SUFFIXES]
        there.sort(key=lambda name: -SequenceMatcher(None, path.name, name).ratio())
        if there:
            more = ", ..." if len(there) > MAX_FILES_NAMED else ""
            return f"name one of those in its folder: {', '.join(there[:MAX_FILES_NAMED])}{more}"
    return "check its name and its folder"


def _open_text(path: Path, how: TableOptions) -> CsvFile:
    limits = read_limits()
    check_size(str(path), path.stat().st_size, limits.bytes)
    file = open_csv(path, header=how.header, max_lines=limits.rows, named=how.named)
    check_cells(str(path), file.lines, len(file.names), limits.cells)
    return file


def _read_records(file: CsvFile, footnotes: bool) -> tuple[dict[str, RawCells], tuple[str, ...]]:
    """The columns of the records, collected as compact strings: 10^6 rows need little memory."""
    compact = np.dtypes.StringDType()
    parts: list[list[NDArray[np.generic]]] = [[] for _ in file.names]
    records: Iterator[list[str]] = (row for _, row in file.records(footnotes))
    while rows := list(islice(records, _BLOCK_RECORDS)):
        for part, texts in zip(parts, zip(*rows, strict=True), strict=True):
            part.append(np.array(texts, dtype=compact))
    empty = np.array([], dtype=compact)
    columns: dict[str, RawCells] = {
        name: np.concatenate(part) if part else empty
        for name, part in zip(file.names, parts, strict=True)
    }
    notes = [*file.notes, *([header_note(file.where, file.header)] if file.has_titles else [])]
    return columns, tuple(notes)


def _parquet_columns(path: Path) -> tuple[dict[str, RawCells], tuple[str, ...]]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError as error:
        raise ValueError(f"{path} is Parquet, which needs pyarrow: pip install pyarrow") from error
    try:
        about = pq.read_metadata(path)
        check_cells(str(path), about.num_rows, about.num_columns, read_limits().cells)
        return frame_columns(pq.read_table(path))
    except (pa.ArrowException, OSError) as error:
        raise ValueError(
            f"{path} cannot be read as Parquet: {error}; write it again, or save it as CSV"
        ) from error
