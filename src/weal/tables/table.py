"""A table from a file or a frame: columns by name, in the user's order.

    .csv .tsv .txt     `csv_reader`
    .parquet .pq       needs pyarrow: pip install "weal[campaign]"
    .xlsx              `excel_reader`
    frames             pandas, polars and pyarrow

A column holds one type. Text becomes numbers if all its cells that are not missing are numbers
(`cells` defines both); columns named in `text`, such as ids, stay text, and only their blank cells
are missing. A column of several types is text. Numbers and truth values without a gap, and all
floats (NaN: missing), are read-only arrays; other columns are lists with None for missing cells.
"""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from shlex import quote

import numpy as np
from numpy.typing import NDArray

from weal.limits import read_limits
from weal.tables.cells import (
    MAX_EXACT_INTEGER,
    AlmostNumeric,
    Cell,
    cell_text,
    inexact_integers,
    read_almost_numbers,
    read_numbers,
    replace_missing_markers,
    short,
    some_of,
)
from weal.tables.csv_reader import (
    CsvFile,
    check_names,
    header_note,
    is_unit_row,
    open_csv,
)
from weal.tables.excel_reader import read_sheet_columns
from weal.tables.frames import RawCells, frame_columns, plain_cells
from weal.tables.text_records import check_cells, check_size

Cells = RawCells
Missing = Mapping[str, Collection[str]]  # texts that mean missing, by column

TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".pq", ".xlsx")
_BLOCK_RECORDS = 1 << 16  # records turned into columns at a time
_MAX_INT64 = 2**63


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns of n cells each, and notes on how they were read."""

    columns: Mapping[str, Cells]
    n: int
    notes: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return self.n

    def cells(self, name: str) -> list[Cell]:
        """The cells of a column as Python values, None where missing."""
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
        columns = {name: _take_cells(column, at) for name, column in self.columns.items()}
        return Table(columns, len(at), self.notes)


def read_table(
    source: object, *, text: Collection[str] = (), missing: Missing | None = None,
    strict: Collection[str] = (), sheet: str | None = None, header: int | None = None,
) -> Table:  # fmt: skip
    """The table in a file or a frame; ValueError where it cannot be read.

    Columns in `text` stay text; columns in `strict` are numeric only if all their cells are.
    `missing` has further missing-value markers for each column. `sheet` names the sheet of an Excel
    file (default: the first), `header` the line of the header in an Excel or text file.

    >>> import pandas as pd
    >>> table = read_table(pd.DataFrame({"id": [7, 8], "steel": ["B", "NA"]}), text=["id"])
    >>> table.columns
    {'id': ['7', '8'], 'steel': ['B', None]}
    """
    if isinstance(source, Table):
        return source
    file = _open_text(source, header)
    if file is not None and sheet is not None:
        raise ValueError(f"{file.where} is not an Excel file, so it has no sheet {sheet!r}")
    if file is not None:
        return _read_records(file, text, missing or {}, strict)
    columns, notes = raw_columns(source, sheet, header)
    return table_of(columns, text=text, notes=notes, missing=missing, strict=strict)


def raw_columns(
    source: object, sheet: str | None = None, header: int | None = None
) -> tuple[dict[str, RawCells], tuple[str, ...]]:
    """Columns of a frame, a Parquet or an Excel file before text is read as numbers; and notes."""
    if not isinstance(source, str | os.PathLike):
        return frame_columns(source)
    path = _file(source)
    if path.suffix.lower() == ".xlsx":
        columns, notes = read_sheet_columns(path, sheet, header)
        return {**columns}, notes
    return _parquet_columns(path)


def table_of(
    columns: Mapping[str, RawCells], *, text: Collection[str] = (), notes: tuple[str, ...] = (),
    missing: Missing | None = None, strict: Collection[str] = (),
) -> Table:  # fmt: skip
    """A table of these columns: lists of cells, or arrays of numbers.

    >>> table_of({"a": ["1", "?"], "b": [1, "x"]}).columns
    {'a': [1, None], 'b': ['1', 'x']}
    """
    check_names(list(columns), "the table")
    typed: dict[str, Cells] = {}
    all_notes = list(notes)
    for name, cells in columns.items():
        if name in text:
            typed[name] = _as_text(cells)
        else:
            typed[name], almost = _read_cells(cells, (missing or {}).get(name, ()), name in strict)
            all_notes += _note(name, almost) + _rounded_note(name, cells, typed[name])
    lengths = {name: len(cells) for name, cells in typed.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"the columns have different lengths: {lengths}")
    return Table(typed, next(iter(lengths.values()), 0), tuple(all_notes))


def _file(source: str | os.PathLike[str]) -> Path:
    path = Path(source).expanduser()
    if path.suffix.lower() not in TABLE_SUFFIXES:
        raise ValueError(
            f"{path} does not end in one of {', '.join(TABLE_SUFFIXES)}; save it as CSV"
        )
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    return path


def _open_text(source: object, header: int | None) -> CsvFile | None:
    if not isinstance(source, str | os.PathLike):
        return None
    path = _file(source)
    if path.suffix.lower() not in TABLE_SUFFIXES[:3]:
        return None
    limits = read_limits()
    check_size(str(path), path.stat().st_size, limits.bytes)
    file = open_csv(path, header=header, max_lines=limits.rows)
    check_cells(str(path), file.lines, len(file.names), limits.cells)
    return file


def _read_records(
    file: CsvFile, text: Collection[str], missing: Missing, strict: Collection[str]
) -> Table:
    """The columns of the records, collected as compact strings: 10^6 rows need little memory."""
    compact = np.dtypes.StringDType()
    parts: list[list[NDArray[np.generic]]] = [[] for _ in file.names]
    records: Iterator[list[str]] = (row for _, row in file.records())
    notes = [*file.notes, *([header_note(file.where, file.header)] if file.has_titles else [])]
    if (first := next(records, None)) is not None:
        ids = [n for n, name in enumerate(file.names) if name in text]
        if len(ids) == 1 and is_unit_row(first, ids[0]):
            notes.append(f"{Path(file.where).name}: the line below the header was read as units")
        else:
            records = chain([first], records)
    while rows := list(islice(records, _BLOCK_RECORDS)):
        for part, texts in zip(parts, zip(*rows, strict=True), strict=True):
            part.append(np.array(texts, dtype=compact))
    columns: dict[str, Cells] = {}
    for name in file.names:
        blocks = parts.pop(0)
        cells = list[str]()
        for block in blocks:
            cells += block.tolist()
        if name in text:
            columns[name] = _as_text(cells)
        else:
            columns[name], almost = _read_text(
                cells, file.decimal_comma, missing.get(name, ()), name in strict
            )
            notes += _note(name, almost) + _rounded_note(name, cells, columns[name])
    return Table(columns, len(columns[file.names[0]]), tuple(notes))


def _parquet_columns(path: Path) -> tuple[dict[str, RawCells], tuple[str, ...]]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError as error:
        raise ValueError(
            f'{path} is Parquet, which needs pyarrow: pip install "weal[campaign]"'
        ) from error
    try:
        about = pq.read_metadata(path)
        check_cells(str(path), about.num_rows, about.num_columns, read_limits().cells)
        return frame_columns(pq.read_table(path))
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path} cannot be read as Parquet: {error}") from error


def _as_text(cells: NDArray[np.generic] | Sequence[Cell]) -> list[Cell]:
    """Cells as text, unchanged; None where blank."""
    plain = plain_cells(cells.tolist() if isinstance(cells, np.ndarray) else cells)
    texts = [c if c is None or type(c) is str else cell_text(c) for c in plain]
    return [text if text and not text.isspace() else None for text in texts]


def _read_cells(
    cells: RawCells, also_missing: Collection[str] = (), strict: bool = False
) -> tuple[Cells, AlmostNumeric | None]:
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "fiub":
        return _pack_array(cells), None
    plain = plain_cells(cells.tolist() if isinstance(cells, np.ndarray) else cells)
    kinds = {type(cell) for cell in plain if cell is not None}
    if kinds <= {int, float} or (len(kinds) == 1 and str not in kinds):
        return _pack_cells(plain), None
    texts = [None if cell is None else cell_text(cell) for cell in plain]
    return _read_text(["" if text is None else text for text in texts], False, also_missing, strict)


def _read_text(
    cells: Sequence[str],
    comma: bool = False,
    also_missing: Collection[str] = (),
    strict: bool = False,
) -> tuple[Cells, AlmostNumeric | None]:
    """Cells of text as numbers where they are; and the column if it is almost numeric."""
    known = replace_missing_markers(cells)
    if also_missing:
        known = [None if cell and cell.strip() in also_missing else cell for cell in known]
    numbers = read_numbers(known, comma)
    if numbers is not None:
        return _pack_cells(numbers), None
    almost = None if strict else read_almost_numbers(known, comma)
    return _pack_cells(known if almost is None else almost.numbers), almost


def _note(name: str, almost: AlmostNumeric | None) -> list[str]:
    """Notes on a column that is almost numeric."""
    if almost is None:
        return []
    notes = [f"{name}: read as numbers, in {almost.unit}"] if almost.unit else []
    if almost.comma_cells:
        few = some_of([short(cell) for cell in dict.fromkeys(almost.comma_cells)])
        notes.append(f"{name}: decimal commas beside decimal points, read as numbers ({few})")
    if almost.odd_cells:
        few = some_of([short(cell) for cell in dict.fromkeys(almost.odd_cells)])
        cells = "1 cell is" if len(almost.odd_cells) == 1 else f"{len(almost.odd_cells)} cells are"
        kind = quote(f"{name}=category")
        notes.append(
            f"{name}: {cells} not a number and counted as missing ({few}); --type {kind} reads "
            "the column as text"
        )
    return notes


def _rounded_note(name: str, cells: RawCells | list[str], column: Cells) -> list[str]:
    """A note on whole numbers that a float rounds."""
    if isinstance(column, list):
        column = np.array([cell for cell in column if type(cell) is int], dtype=np.float64)
    if (
        column.dtype.kind not in "if"
        or not (np.abs(column.astype(np.float64)) >= MAX_EXACT_INTEGER).any()
    ):
        return []
    found = inexact_integers(cells.tolist() if isinstance(cells, np.ndarray) else cells)
    if not found:
        return []
    count = "1 whole number" if len(found) == 1 else f"{len(found):,} whole numbers"
    kind = quote(f"{name}=drop")
    return [
        f"{name}: {count} above 2^53 rounded, such as {found[0]} to {int(float(found[0]))}; if "
        f"these are names, --type {kind} drops the column"
    ]


def _pack_cells(cells: Sequence[Cell]) -> Cells:
    """Cells of one type, or of whole numbers and floats, as a column of a `Table`."""
    kinds = set(map(type, cells)) - {type(None)}
    if float in kinds or (int in kinds and any(map(_is_beyond_int64, cells))):
        numbers = [_float(cell) if isinstance(cell, int | float) else np.nan for cell in cells]
        return _pack_array(np.array(numbers))
    whole = kinds in ({int}, {bool}) and None not in cells
    return _pack_array(np.array(cells)) if whole else list(cells)


def _is_beyond_int64(cell: Cell) -> bool:
    return isinstance(cell, int) and abs(cell) >= _MAX_INT64


def _float(value: int | float) -> float:
    """The number as a float; infinite where it is too large."""
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def _pack_array(array: NDArray[np.generic]) -> NDArray[np.generic]:
    kind = {"f": np.float64, "i": np.int64, "u": np.int64, "b": np.bool_}[array.dtype.kind]
    if array.dtype == np.uint64 and int(array.astype(np.uint64).max(initial=0)) >= _MAX_INT64:
        kind = np.float64
    packed: NDArray[np.generic] = array.astype(kind)
    packed.flags.writeable = False
    return packed


def _take_cells(column: Cells, at: Sequence[int]) -> Cells:
    if isinstance(column, list):
        some = [column[n] for n in at]
        return _pack_cells(some)
    return _pack_array(column[np.asarray(at, dtype=np.intp)])
