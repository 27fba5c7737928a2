"""Frames of pandas, polars and pyarrow, through narwhals: columns of cells, a matrix, and ids.

    frame_columns   columns by name: arrays of numbers or booleans without a gap, otherwise
                    lists of Python values with None for missing ones. Times with a zone become UTC
                    without a zone. A named pandas index is a column. Columns of lists, structs,
                    bytes, durations and times of day are dropped, with a note
    read_numbers    an array or a frame of numbers as a matrix (N, d)
    with_ids        the index of a pandas frame as an id column, unless it only counts the rows, has
                    several levels, or has no name beside a column `id`

narwhals is imported for frames only, since the import takes time.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from weal.tables.cells import Cell, cell_text, some_of
from weal.tables.csv_reader import check_names

if TYPE_CHECKING:
    import narwhals as nw

    Frame = nw.DataFrame[Any]
    Series = nw.Series[Any]

RawCells = NDArray[np.generic] | list[Cell]  # a column before its text is read
_UNSUPPORTED_TYPES = ("List", "Struct", "Array", "Binary", "Duration", "Time", "Unknown")
_PANDAS_MISSING = ("NAType", "NaTType")


def frame_columns(source: object) -> tuple[dict[str, RawCells], tuple[str, ...]]:
    """Columns of a frame by name, and notes on dropped columns; TypeError for other types."""
    import narwhals as nw

    _refuse_same_names(source)
    frame: object = nw.from_native(source, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        raise TypeError(
            "give a table as a path or a pandas, polars or pyarrow frame; got "
            f"{type(source).__name__}"
        )
    frame = _with_named_index(frame)
    names = check_names([str(name) for name in frame.columns], "the frame")
    series = dict(zip(names, frame.iter_columns(), strict=True))
    dropped = {name: one.dtype for name, one in series.items() if _is_unsupported(one)}
    columns = {name: _values(one) for name, one in series.items() if name not in dropped}
    notes = tuple(f"dropped column {name!r} of type {kind}" for name, kind in dropped.items())
    return columns, notes


def _refuse_same_names(source: object) -> None:
    """Refuse a pandas frame with two columns of one name, before narwhals does."""
    if type(source).__module__.split(".")[0] == "pandas" and hasattr(source, "columns"):
        names = [str(name) for name in source.columns]
        if len(set(names)) < len(names):
            check_names(names, "the frame")


def plain_cell(value: object) -> Cell:
    """A value as a cell: a Python value, times in UTC without a zone, None for missing ones."""
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


def _with_named_index(frame: "Frame") -> "Frame":
    """The frame with a named pandas index as a column."""
    import narwhals as nw

    index = nw.maybe_get_index(frame)
    if index is None or not any(name is not None for name in index.names):
        return frame
    native = frame.to_native()
    taken = [name for name in index.names if name in native.columns]
    return frame if taken else nw.from_native(native.reset_index(), eager_only=True)


def _is_unsupported(series: "Series") -> bool:
    """Whether a cell cannot hold its values; a column of nulls has no type and is supported."""
    unsupported = type(series.dtype).__name__ in _UNSUPPORTED_TYPES
    return unsupported and series.null_count() < max(len(series), 1)


def _values(series: "Series") -> RawCells:
    """An array for numbers or booleans without a gap, otherwise a list of cells."""
    kind = series.dtype
    whole = kind.is_integer() or type(kind).__name__ == "Boolean"
    if kind.is_float() or (whole and not series.null_count()):
        array: NDArray[np.generic] = series.to_numpy()
        if array.dtype.kind in "fiub":
            return array
    return plain_cells(series.to_list())


def plain_cells(values: Sequence[object]) -> list[Cell]:
    """Every value as a cell; text, the most frequent type, takes a shortcut."""
    return [value if type(value) is str else plain_cell(value) for value in values]


Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class NumericRows:
    """Rows of numbers, and the frame they came in."""

    frame: "Frame | None"  # None for an array
    columns: tuple[str, ...] | None  # input columns; None for an array
    X: Matrix  # (N, d)
    ids: list[Hashable]  # from the id column or the index, or 0, 1, 2, ...


def as_frame(table: object) -> "Frame | None":
    """The table as a narwhals frame; None for an array or a list."""
    if isinstance(table, np.ndarray | list | tuple):
        return None
    import narwhals as nw

    frame: object = nw.from_native(table, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def read_numbers(table: object, id_column: str | None = None) -> NumericRows:
    """The inputs of a table whose columns, apart from the ids, hold numbers."""
    frame = as_frame(table)
    if frame is not None:
        return _read_frame(frame, id_column)
    if id_column is not None:
        raise ValueError("id_column needs a frame; for an array give ids=[...]")
    X = matrix(table)
    return NumericRows(None, None, X, list(range(len(X))))


def split_labels(ids: object, labels: object) -> tuple[object, object]:
    """Ids and labels of a pandas Series of labels by id; others as they are.

    >>> import pandas as pd
    >>> split_labels(pd.Series([3.5, 4.5], index=["a", "b"]), None)
    (['a', 'b'], [3.5, 4.5])
    """
    kind = type(ids).__module__.split(".")[0]
    if labels is not None or kind not in ("pandas", "polars", "pyarrow"):
        return ids, labels
    index = getattr(ids, "index", None)
    if kind == "pandas" and type(ids).__name__ == "Series" and index is not None:
        return list(index), list(ids)  # type: ignore[call-overload]
    raise TypeError(
        f"tell() got a {kind} {type(ids).__name__} alone; give the ids and the labels: "
        "learner.tell(frame['id'], frame['label'])"
    )


def with_columns(table: object, columns: Sequence[str] | None) -> object:
    """The frame with these columns in this order; an array unchanged."""
    frame = None if columns is None else as_frame(table)
    if frame is None or columns is None:
        return table
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise ValueError(
            f"the points lack the columns {missing} of the pool; add them, under the same names"
        )
    import narwhals as nw

    native: object = frame.select(*map(nw.col, columns)).to_native()
    return native


def matrix(table: object) -> Matrix:
    """A copy of an array of numbers (N, d)."""
    X = np.asarray(table)
    if X.ndim != 2:
        raise ValueError(
            f"a pool is a table with one row for each candidate; got shape {X.shape}. "
            "For one input use X.reshape(-1, 1)"
        )
    text = [value for value in X.flat if isinstance(value, str)] if X.dtype.kind == "O" else []
    if text or X.dtype.kind not in "biufO":
        what = f"text, such as {text[0]!r}" if text else f"values of type {X.dtype}"
        raise ValueError(f"the pool holds {what}; it needs numbers: encode or drop the rest")
    try:
        return np.array(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"the pool holds a value that is not a number ({error}); encode or drop it"
        ) from error


def plain_id(name: Hashable) -> Hashable:
    """An id as a Python value: numpy's 3 becomes 3, also inside a tuple."""
    if type(name) is tuple:
        return tuple(map(plain_id, name))
    if isinstance(name, np.generic) or (isinstance(name, np.ndarray) and not name.ndim):
        plain: Hashable = name.item()
        return plain
    return name


def _read_frame(frame: "Frame", id_column: str | None) -> NumericRows:
    import narwhals as nw

    inputs = frame
    if id_column is not None:
        if id_column not in frame.columns:
            raise ValueError(
                f"no column {id_column!r}; name one that the pool has: {list(frame.columns)}"
            )
        ids = [plain_id(name) for name in frame.get_column(id_column).to_list()]
        inputs = frame.drop(id_column)
    else:
        index = nw.maybe_get_index(frame)
        ids = list(range(len(frame))) if index is None else [plain_id(name) for name in index]
    kinds = inputs.schema.items()
    text = [name for name, kind in kinds if not (kind.is_numeric() or kind == nw.Boolean)]
    if text:
        raise ValueError(
            f"the columns {', '.join(map(repr, text))} do not hold numbers; encode or drop them, "
            "or name the column of the ids with id_column"
        )
    return NumericRows(frame, tuple(inputs.columns), matrix(inputs.to_numpy()), ids)


DEFAULT_ID_COLUMN = "id"  # name of the ids if the index has none


def with_ids(
    source: object, id_column: str | None, *, wanted: str = DEFAULT_ID_COLUMN
) -> tuple[Any, str | None]:
    """A pandas frame with its index as a column, and that column's name; other tables unchanged.

    >>> import pandas as pd
    >>> with_ids(pd.DataFrame({"T": [900, 950]}, index=["P-1", "P-2"]), None)[0].columns.tolist()
    ['id', 'T']
    """
    index = _index(source)
    if index is None or id_column is not None:
        return source, id_column
    frame: Any = source
    name = wanted if index.name is None else index.name
    if name in frame.columns:
        return source, None
    names = [cell_text(one) for one in index.tolist()]
    if gaps := [n for n, gone in enumerate(index.isna(), start=1) if gone]:
        raise ValueError(f"the index of the frame has no id for row {some_of(gaps)}: name each row")
    if len(set(names)) < len(names):
        twice = list(dict.fromkeys(one for one in names if names.count(one) > 1))
        raise ValueError(
            f"the index of the frame has {some_of(twice)} more than once, and ids are unique: name "
            "the column of the ids (id_column), or number the rows (reset_index(drop=True))"
        )
    return frame.reset_index(names=name), str(name)


def _index(source: object) -> Any | None:
    """The pandas index that names the rows; None for one that counts them or has several levels."""
    index: Any = getattr(source, "index", None)
    if not hasattr(source, "reset_index") or getattr(index, "nlevels", 0) != 1:
        return None
    counts = type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)
    return None if counts and index.name is None else index
