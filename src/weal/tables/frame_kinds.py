"""Frames of the kind that was given: pandas, polars or pyarrow.

A table that was made from a frame is returned as a frame of the same kind. For a file or an array
it is the first kind that is installed: pandas, polars, pyarrow. A missing number is NaN in pandas,
and null in the others. A column whose cells have no common type (ids that are tuples) holds objects
in pandas and polars, and text in pyarrow, which has no such columns.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np

FrameKind = Literal["pandas", "polars", "pyarrow"]
FRAME_KINDS: tuple[FrameKind, ...] = ("pandas", "polars", "pyarrow")


def frame_kind(source: object) -> FrameKind | None:
    """The kind of a frame, native or of narwhals; None for anything else."""
    if source is None or isinstance(source, np.ndarray | list | tuple | str):
        return None
    import narwhals as nw
    from narwhals import dependencies

    native: Any = nw.to_native(source, pass_through=True)
    tests = (  # not `from_native`, which refuses a frame with two columns of one name
        dependencies.is_pandas_dataframe,
        dependencies.is_polars_dataframe,
        dependencies.is_pyarrow_table,
    )
    return next((kind for kind, test in zip(FRAME_KINDS, tests, strict=True) if test(native)), None)


def check_kind(kind: str | None) -> FrameKind | None:
    """Raise ValueError for an unknown kind of frame."""
    if kind is not None and kind not in FRAME_KINDS:
        raise ValueError(f"kind is {kind!r}; write one of {', '.join(FRAME_KINDS)}")
    return kind


def installed_kind(kind: FrameKind | None = None) -> FrameKind:
    """The kind given, or the first that is installed; ValueError if there is none."""
    wanted = FRAME_KINDS if kind is None else (kind,)
    found = next((one for one in wanted if _is_installed(one)), None)
    if found is None:
        raise ValueError(
            f'tables need {" or ".join(wanted)}, which is not installed: pip install "weal[frames]"'
        )
    return found


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):  # it was made unavailable in this process
        return False


def make_frame(columns: Mapping[str, Any], kind: FrameKind | None = None) -> Any:
    """A native frame of these columns, arrays or lists, of this kind or of an installed one."""
    found = installed_kind(kind)
    library = import_module(found)
    if found == "pandas":
        return library.DataFrame(dict(columns))
    cells = {name: _plain_cells(column) for name, column in columns.items()}
    if found == "polars":
        return library.DataFrame([_polars_series(library, *one) for one in cells.items()])
    return library.table({name: _arrow_array(library, column) for name, column in cells.items()})


def _plain_cells(column: Any) -> list[Any]:
    """The cells as Python values, None where a number is missing."""
    cells = column.tolist() if isinstance(column, np.ndarray) else list(column)
    return [None if isinstance(one, float) and one != one else one for one in cells]


def _polars_series(polars: Any, name: str, cells: Sequence[Any]) -> Any:
    if not any(isinstance(one, tuple | list | dict) for one in cells):
        try:
            return polars.Series(name, cells)
        except (TypeError, OverflowError):  # no common type
            pass
    return polars.Series(name, cells, dtype=polars.Object)


def _arrow_array(arrow: Any, cells: Sequence[Any]) -> Any:
    if not any(isinstance(one, tuple | list | dict) for one in cells):
        try:
            return arrow.array(cells)
        except (arrow.ArrowInvalid, arrow.ArrowTypeError, OverflowError):  # no common type
            pass
    return arrow.array([None if one is None else str(one) for one in cells])
