"""A table as Parquet bytes, and back, cell by cell: the format of candidates in a store.

Text, whole numbers, floats, booleans and times keep their type; missing cells are null. Text
stays text, also where it looks like a number or a missing-value marker: the ids "007" and "NA" come
back unchanged. Needs pyarrow.

Columns are read from Arrow's buffers, because Arrow's own conversion to numpy imports pandas.
"""

import io
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from weal.errors import UnreadableFile
from weal.tables.table import Table, read_table, table_of
from weal.tables.typed_columns import Cells

if TYPE_CHECKING:
    import pyarrow


def table_to_parquet(source: object) -> bytes:
    """A table, frame or file (`read_table`) as the bytes of a Parquet file."""
    pa, pq = _pyarrow()
    table = read_table(source)
    arrays = [_arrow(pa, name, column) for name, column in table.columns.items()]
    file = io.BytesIO()
    pq.write_table(pa.table(arrays, names=list(table.columns)), file, compression="zstd")
    return file.getvalue()


def parquet_to_table(data: bytes, only: Sequence[str] | None = None) -> Table:
    """The table that `table_to_parquet` wrote, or some of its columns; UnreadableFile otherwise."""
    pa, pq = _pyarrow()
    try:
        file = pq.ParquetFile(pa.BufferReader(data), pre_buffer=False)  # no threads
        arrow = file.read(only, use_threads=False).combine_chunks()
    except (pa.ArrowException, OSError) as error:
        raise UnreadableFile(
            f"not Parquet, or damaged: {error}; `weal doctor` checks the store"
        ) from error
    columns = {name: _cells(pa, arrow.column(name)) for name in arrow.column_names}
    texts = [
        name
        for name, kind in zip(arrow.column_names, arrow.schema.types, strict=True)
        if pa.types.is_string(kind)
    ]
    return table_of(columns, text=texts)


def _pyarrow() -> tuple[ModuleType, ModuleType]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "candidates are stored as Parquet, which needs pyarrow: pip install pyarrow"
        ) from error
    return pyarrow, pyarrow.parquet


def _cells(pa: ModuleType, column: "pyarrow.ChunkedArray") -> Cells:
    """An array for floats and for whole numbers without a gap, otherwise a list of cells."""
    kind = column.type
    if kind == pa.float64() or (kind == pa.int64() and not column.null_count):
        parts = [
            _numbers(chunk, np.float64 if kind == pa.float64() else np.int64)
            for chunk in column.chunks
        ]
        return np.concatenate(parts) if parts else np.zeros(0)
    return list(column.to_pylist())


def _numbers(
    chunk: "pyarrow.Array", dtype: type[np.float64] | type[np.int64]
) -> NDArray[np.generic]:
    """The numbers in a chunk of a column, NaN if missing."""
    gaps, values = chunk.buffers()
    numbers = np.frombuffer(values, dtype)[chunk.offset : chunk.offset + len(chunk)]
    if not chunk.null_count:
        return numbers
    bits = np.unpackbits(np.frombuffer(gaps, np.uint8), bitorder="little")
    there = bits[chunk.offset : chunk.offset + len(chunk)].astype(bool)
    return np.where(there, numbers, np.nan)


def _arrow(pa: ModuleType, name: str, column: Cells) -> "pyarrow.Array":
    if isinstance(column, np.ndarray):
        return pa.array(column, from_pandas=column.dtype.kind == "f")  # NaN becomes null
    texts = any(isinstance(cell, str) for cell in column)
    try:
        return pa.array(column, type=pa.string() if texts else None)
    except UnicodeEncodeError:
        raise ValueError(
            f"the column {name!r} has a lone surrogate (half a character): it was read with a "
            "wrong encoding; save the file as UTF-8"
        ) from None
