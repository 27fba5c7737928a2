"""Frames of pandas, polars and pyarrow, through narwhals, as plain columns.

Numbers and truth values without a gap come as arrays; everything else as a list of Python's own
values, None where missing. Times with a zone are turned into UTC and then kept without it. A named
index of pandas is a column like the others. Columns of lists, structures, bytes, durations and
times of day are left out, with a note.
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np

from weal.table.delimited import check_names

_STRANGE = ("List", "Struct", "Array", "Binary", "Duration", "Time", "Unknown")
_PANDAS_MISSING = ("NAType", "NaTType")


def frame_columns(source: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Columns of a frame by name, and notes on those left out; TypeError if it is no frame."""
    import narwhals as nw  # here, since who reads no frame need not wait for it

    _refuse_same_names(source)
    frame = nw.from_native(source, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        raise TypeError(
            f"a table is a path or a pandas, polars or pyarrow frame; got {type(source).__name__}"
        )
    frame = _with_named_index(frame)
    names = check_names([str(name) for name in frame.columns], "the frame")
    series = dict(zip(names, frame.iter_columns(), strict=True))
    strange = {name: one.dtype for name, one in series.items() if _is_strange(one)}
    columns = {name: _values(one) for name, one in series.items() if name not in strange}
    notes = tuple(f"left out column {name!r}: of type {kind}" for name, kind in strange.items())
    return columns, notes


def _refuse_same_names(source: Any) -> None:
    """Of pandas, which alone has them; narwhals has no word of ours for it."""
    if type(source).__module__.split(".")[0] == "pandas" and hasattr(source, "columns"):
        names = [str(name) for name in source.columns]
        if len(set(names)) < len(names):
            check_names(names, "the frame")


def plain_cell(value: Any) -> Any:
    """A value as a cell: Python's own type, naive UTC for times, None for missing ones."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value).__name__ in _PANDAS_MISSING:
        return None
    if isinstance(value, date):
        return _naive(value)
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float):
        return None if value != value else value
    return value if isinstance(value, bool | int | str) else str(value)


def _naive(value: date) -> datetime:
    day = (value.year, value.month, value.day)
    if not isinstance(value, datetime):
        return datetime(*day)
    of_day = (value.hour, value.minute, value.second, value.microsecond)
    if value.tzinfo is None:
        return datetime(*day, *of_day)
    return datetime(*day, *of_day, tzinfo=value.tzinfo).astimezone(UTC).replace(tzinfo=None)


def _with_named_index(frame: Any) -> Any:
    """The frame with the index of pandas as a column, where that has a name."""
    import narwhals as nw

    index = nw.maybe_get_index(frame)
    if index is None or not any(name is not None for name in index.names):
        return frame
    native = frame.to_native()
    taken = [name for name in index.names if name in native.columns]
    return frame if taken else nw.from_native(native.reset_index(), eager_only=True)


def _is_strange(series: Any) -> bool:
    """Whether its cells are none of ours; a column of nulls has no type, and is fine."""
    strange = type(series.dtype).__name__ in _STRANGE
    return strange and series.null_count() < max(len(series), 1)


def _values(series: Any) -> Any:
    """An array of numbers or truth values when the series is just that; else a list of cells."""
    kind = series.dtype
    whole = kind.is_integer() or type(kind).__name__ == "Boolean"
    if kind.is_float() or (whole and not series.null_count()):
        array = series.to_numpy()
        if array.dtype.kind in "fiub":
            return array
    return plain_cells(series.to_list())


def plain_cells(values: Sequence[Any]) -> list[Any]:
    """Every value as a cell; text, by far the most frequent, is passed through."""
    return [value if type(value) is str else plain_cell(value) for value in values]
