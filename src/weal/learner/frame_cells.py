"""A column of a frame that is not plain numbers, as JSON: text, categories, dates, and gaps.

    {"kind": "Categorical", "cells": ["oil", null], "levels": ["oil", "water"]}

Cells are text, numbers, truth values, null, {"day": ...} or {"time": ...} as ISO writes them. What
a frame is apart from that (lists, bytes, durations) is no input, and a file does not keep it.
"""

from datetime import date, datetime
from typing import Any

from weal.table.matrix import plain_id

_PLAIN = ("String", "Object", "Categorical", "Enum", "Boolean", "Date", "Datetime", "Unknown")


def pack(series: Any) -> dict[str, Any]:
    """The column as JSON; ValueError where a file cannot keep it."""
    kind = type(series.dtype).__name__
    if not (series.dtype.is_numeric() or kind in _PLAIN):
        raise _refused(series)
    cells = [_packed(cell, series) for cell in series.to_list()]
    kept: dict[str, Any] = {"kind": kind, "cells": cells}
    if kind in ("Categorical", "Enum") and (levels := _levels(series)):
        kept["levels"] = [_packed(one, series) for one in levels]
    if kind == "Datetime":
        kept |= {"unit": series.dtype.time_unit, "zone": series.dtype.time_zone}
    return kept


def unpack(kept: dict[str, Any]) -> list[Any]:
    """The cells as Python's own values."""
    return [_unpacked(cell) for cell in kept["cells"]]


def kind(kept: dict[str, Any]) -> Any:
    """The type of the column, as narwhals has it."""
    import narwhals as nw

    if kept["kind"] == "Datetime":
        return nw.Datetime(kept["unit"], kept["zone"])
    if kept["kind"] == "Enum":
        return nw.Enum(kept["levels"])
    return getattr(nw, kept["kind"])


def _levels(series: Any) -> list[Any]:
    """All levels of a category, in their order, where it has one."""
    if series.implementation.is_pandas():
        return list(series.to_native().cat.categories.tolist())
    return list(getattr(series.dtype, "categories", ()))


def _packed(cell: Any, series: Any) -> Any:
    cell = plain_id(cell)
    if cell is None or type(cell).__name__ in ("NAType", "NaTType") or cell != cell:
        return None
    if isinstance(cell, date):  # a datetime is one too
        return {"time" if isinstance(cell, datetime) else "day": cell.isoformat()}
    if isinstance(cell, str | bool | int | float):
        return cell
    raise _refused(series)


def _unpacked(cell: Any) -> Any:
    if not isinstance(cell, dict):
        return cell
    return (
        date.fromisoformat(cell["day"]) if "day" in cell else datetime.fromisoformat(cell["time"])
    )


def _refused(series: Any) -> ValueError:
    return ValueError(
        f"the column {series.name!r} is {series.dtype}; a file keeps columns of text, categories, "
        "dates, numbers and truth values: cast or drop it first"
    )
