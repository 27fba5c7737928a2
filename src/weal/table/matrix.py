"""A table of numbers as a matrix: an array, or a pandas, polars or pyarrow frame.

Frames go through narwhals, so that weal depends on none of them, and narwhals is loaded only where
something else than an array comes. Columns of a frame that was met before are found by name.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """Rows of numbers, and the frame that they came in."""

    frame: Any | None  # of narwhals; None for an array
    columns: tuple[str, ...] | None  # that hold the inputs; None for an array
    X: Matrix  # (N, d)
    ids: list[Hashable]  # the table's own: of the id column, the index, or 0, 1, 2, ...


def as_frame(table: Any) -> Any | None:
    """The table as a frame of narwhals; None where it is an array or a list."""
    if isinstance(table, np.ndarray | list | tuple):
        return None
    import narwhals as nw

    frame = nw.from_native(table, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def read_numbers(table: Any, id_column: str | None = None) -> Numbers:
    """The inputs of a table, all of whose columns but that of the ids hold numbers."""
    frame = as_frame(table)
    if frame is not None:
        return _read_frame(frame, id_column)
    if id_column is not None:
        raise ValueError("id_column needs a frame; for an array give ids=[...]")
    X = matrix(table)
    return Numbers(None, None, X, list(range(len(X))))


def with_columns(table: Any, columns: Sequence[str] | None) -> Any:
    """The table with these columns of a frame, in this order; an array as it is."""
    frame = None if columns is None else as_frame(table)
    if frame is None or columns is None:
        return table
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise ValueError(f"the points have no columns {missing}, which the pool has")
    import narwhals as nw

    return frame.select(*map(nw.col, columns)).to_native()


def matrix(table: ArrayLike) -> Matrix:
    """An array of numbers (N, d), a copy."""
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
        raise ValueError(f"the pool holds something that is not a number ({error})") from error


def plain_id(name: Any) -> Any:
    """An id as Python's own type: numpy's 3 is 3, in a tuple too."""
    if type(name) is tuple:
        return tuple(map(plain_id, name))
    single = isinstance(name, np.generic) or (isinstance(name, np.ndarray) and not name.ndim)
    return name.item() if single else name


def _read_frame(frame: Any, id_column: str | None) -> Numbers:
    import narwhals as nw

    inputs = frame
    if id_column is not None:
        if id_column not in frame.columns:
            raise ValueError(f"no column {id_column!r}; the pool has {list(frame.columns)}")
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
            "or name the one that holds the ids with id_column"
        )
    return Numbers(frame, tuple(inputs.columns), matrix(inputs.to_numpy()), ids)
