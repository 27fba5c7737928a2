"""A table as Parquet bytes, and back, cell by cell: what the store keeps of a pool.

Texts, whole numbers, floats, truth values and times are kept as such; missing cells are null. What
was text stays text, also where it looks like a number or stands for a missing one elsewhere: an id
"007" or "NA" comes back as it was. Needs pyarrow.

Columns are read out of Arrow's buffers: its own way to numpy would import pandas, which takes
longer than all the rest.
"""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from weal.errors import UnreadableFile
from weal.tables.table import Cells, Table, read_table, table_of


def table_to_parquet(source: Any) -> bytes:
    """A table, or any frame or file that `read_table` takes, as the bytes of a Parquet file."""
    pa, pq = _pyarrow()
    table = read_table(source)
    arrays = [_arrow(pa, name, column) for name, column in table.columns.items()]
    file = io.BytesIO()
    pq.write_table(pa.table(arrays, names=list(table.columns)), file, compression="zstd")
    return file.getvalue()


def parquet_to_table(data: bytes, only: Sequence[str] | None = None) -> Table:
    """The table that `table_to_parquet` wrote, or some of its columns.

    UnreadableFile where the bytes are not that.
    """
    pa, pq = _pyarrow()
    try:
        file = pq.ParquetFile(pa.BufferReader(data), pre_buffer=False)  # no thread holds the data
        arrow = file.read(only, use_threads=False).combine_chunks()
    except (pa.ArrowException, OSError) as error:
        raise UnreadableFile(f"not Parquet, or damaged since it was written: {error}") from error
    columns = {name: _cells(pa, arrow.column(name)) for name in arrow.column_names}
    texts = [
        name
        for name, kind in zip(arrow.column_names, arrow.schema.types, strict=True)
        if pa.types.is_string(kind)
    ]
    return table_of(columns, text=texts)


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'a pool is kept as Parquet, which needs pyarrow: pip install "weal[campaign]"'
        ) from error
    return pyarrow, pyarrow.parquet


def _cells(pa: Any, column: Any) -> Cells:
    """An array of floats, or of whole numbers without a gap; else a list of cells."""
    kind = column.type
    if kind == pa.float64() or (kind == pa.int64() and not column.null_count):
        parts = [
            _numbers(chunk, np.float64 if kind == pa.float64() else np.int64)
            for chunk in column.chunks
        ]
        return np.concatenate(parts) if parts else np.zeros(0)
    return list(column.to_pylist())


def _numbers(chunk: Any, dtype: Any) -> Any:
    """The numbers in a piece of a column; NaN where they are missing."""
    gaps, values = chunk.buffers()
    numbers = np.frombuffer(values, dtype)[chunk.offset : chunk.offset + len(chunk)]
    if not chunk.null_count:
        return numbers
    bits = np.unpackbits(np.frombuffer(gaps, np.uint8), bitorder="little")
    there = bits[chunk.offset : chunk.offset + len(chunk)].astype(bool)
    return np.where(there, numbers, np.nan)


def _arrow(pa: Any, name: str, column: Cells) -> Any:
    if isinstance(column, np.ndarray):
        return pa.array(column, from_pandas=column.dtype.kind == "f")  # NaN becomes null
    texts = any(isinstance(cell, str) for cell in column)
    try:
        return pa.array(column, type=pa.string() if texts else None)
    except UnicodeEncodeError:
        raise ValueError(
            f"the column {name!r} has half a character in it: it was read with a wrong encoding"
        ) from None
