"""Bounds of the labels in a target column: bounds given by the user, or those of a percentage.

    --range 'yield=0..100'    as given; `..` sets no bounds
    yield [%]   59.4 %        0 to 100 by default, if all labels so far are inside
    change [%]  strain [%]    no bounds: such percentages are often negative or above 100

A label beyond its bounds is accepted with a warning, and predicted intervals stay inside. Bounds of
a single label (<0.1, >95) are read by `result_lines`.
"""

import re
from collections.abc import Sequence

from weal.tables.cells import cell_text
from weal.tables.table import Table
from weal.tables.table_error import Remedy
from weal.tables.table_options import Range, TableOptions
from weal.tables.units import header_unit

PERCENTAGE: Range = (0.0, 100.0)
MAX_LABELS_NAMED = 10
_PERCENT_NAME = re.compile(r"(?i).*(%|\b(percent|percentage|prozent|pct))[\s\])]*")
_OPEN_SCALES = re.compile(
    r"(?i)\b(change|difference|diff|delta|deviation|error|excess|ee|gain|growth|increase|strain|"
    r"elongation|swelling|recovery|relative|rel|vs|drift|rsd)\b|Δ|aenderung|änderung|dehnung"
)


def find_bounds(table: Table, column: str | None, options: TableOptions) -> tuple[Range, list[str]]:
    """The bounds of the labels in a column, and notes for the user.

    >>> from weal.tables.table import table_of
    >>> find_bounds(table_of({"yield [%]": [12.5, None]}), "yield [%]", TableOptions())
    ((0.0, 100.0), ["yield [%]: a percentage, so labels from 0 to 100 are expected and predicted
    intervals stay inside; --range 'yield [%]=..' sets no bounds"])
    """
    if column is None:
        return (None, None), []
    given = options.ranges.get(column)
    low, high = bounds = PERCENTAGE if given is None else given
    if (low is None and high is None) or (given is None and not _is_percentage(table, column)):
        return (None, None), []
    outside = _outside(table, column, options.id_column, bounds)
    if given is not None:
        return bounds, [_beyond_note(column, bounds, outside)] if outside else []
    if outside:
        remedy = Remedy("range", f"{column}=0..100", "").for_shell()
        words = _count(outside, "outside 0 to 100")
        return (None, None), [f"{column}: {words}, so no bounds are set; {remedy} sets them"]
    remedy = Remedy("range", f"{column}=..", "").for_shell()
    return bounds, [
        f"{column}: a percentage, so labels from 0 to 100 are expected and predicted intervals "
        f"stay inside; {remedy} sets no bounds"
    ]


def _is_percentage(table: Table, column: str) -> bool:
    unit = table.units.get(column) or header_unit(column)
    is_percent = unit == "%" or bool(_PERCENT_NAME.fullmatch(column))
    return is_percent and not _OPEN_SCALES.search(column)


def _outside(table: Table, column: str, ids: str | None, bounds: Range) -> list[str]:
    """The labels beyond the bounds, with the ids of their rows."""
    if column not in table.columns:
        return []
    names = table.cells(ids) if ids in table.columns and ids else range(1, len(table) + 1)
    low, high = bounds
    return [
        f"{name} ({cell_text(y)})"
        for name, y in zip(names, table.cells(column), strict=True)
        if isinstance(y, int | float)
        if (low is not None and y < low) or (high is not None and y > high)
    ]


def _count(outside: Sequence[str], where: str) -> str:
    lies = "1 label lies" if len(outside) == 1 else f"{len(outside)} labels lie"
    more = ", ..." if len(outside) > MAX_LABELS_NAMED else ""
    return f"{lies} {where}: {', '.join(outside[:MAX_LABELS_NAMED])}{more}"


def _beyond_note(column: str, bounds: Range, outside: Sequence[str]) -> str:
    low, high = ("" if end is None else f"{end:.15g}" for end in bounds)
    words = _count(outside, f"outside {low}..{high}")
    return (
        f"{column}: {words}. A typo, or another unit? `weal tell --replace NAME ID VALUE` corrects "
        "a label"
    )
