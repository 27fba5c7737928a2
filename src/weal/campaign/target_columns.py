"""The quantities of a new campaign: those in the target columns of its table.

    --type 'crystallised=pass:ja,nein'    the kind of a quantity as it is declared
    no declaration                        the kind by the labels in the column; a number without any
    --range 'yield=0..100'                bounds of a number, or those of a percentage

A quantity has the name of its column, without the unit; if two columns would have the same name,
each keeps its unit: `yield [%]` and `yield [g]`. Events name their quantity, so the names of a
campaign never change.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from weal.campaign.quantity_names import check_names
from weal.quantities.declarations import declared_quantity, guess_quantity
from weal.quantities.kinds import quantity_from_json, with_bounds, with_unit
from weal.quantities.protocol import Quantity
from weal.tables.label_bounds import find_bounds
from weal.tables.result_lines import RUN_FAILED, read_failure
from weal.tables.table import Table
from weal.tables.table_options import TableOptions

_PASSED = frozenset({"ok", "pass", "passed"})  # words for success, the opposite of `failed`


def quantities_of_options(options: TableOptions, table: Table) -> list[Quantity]:
    """The quantities in the target columns, with the bounds of their labels in the table."""
    if wrong := [name for name in options.ranges if name not in options.targets]:
        named = " or ".join(map(repr, options.targets)) or None
        raise ValueError(
            f"--range names {wrong[0]!r}, which is not the target {named}: name the target, or "
            "leave it out"
        )
    found = [_quantity(options, column, table) for column in options.targets or (None,)]
    check_names([one.column for one in found], [one.name for one in found])
    return with_own_names(found)


def _quantity(options: TableOptions, column: str | None, table: Table) -> Quantity:
    """The quantity in a column, as it is declared or by its labels."""
    cells = table.cells(column) if column is not None and column in table.columns else []
    values = _without_failed_runs(cells)
    declared = options.types.get(column or "")
    if declared is not None:
        quantity = declared_quantity(column, declared, values)
    else:
        quantity = guess_quantity(column, values)
    quantity = with_bounds(quantity, *find_bounds(table, column, options)[0])
    return quantity if quantity.words else with_unit(quantity, table.units.get(column or ""))


def _without_failed_runs(cells: Sequence[object]) -> list[object]:
    """The cells without the word of a run that failed; beside ok, it is a label."""
    if _PASSED & {cell.strip().lower() for cell in cells if isinstance(cell, str)}:
        return list(cells)
    words = [read_failure(cell.strip(), None)[0] if isinstance(cell, str) else "" for cell in cells]
    pairs = zip(cells, words, strict=True)
    return [cell for cell, word in pairs if (word or "").lower() not in RUN_FAILED]


def with_own_names(quantities: Sequence[Quantity]) -> list[Quantity]:
    """The quantities; if several have the same name, they get the names of their columns."""
    count = Counter(one.name for one in quantities)
    return [
        quantity_from_json({**one.to_json(), "name": one.column.strip()})
        if count[one.name] > 1 and one.column
        else one
        for one in quantities
    ]


def with_targets(options: TableOptions, quantities: Sequence[Quantity]) -> TableOptions:
    """The options that read a further table with the columns of these quantities."""
    columns = [one.column for one in quantities if one.column is not None]
    words = {one.column: "category" for one in quantities if one.words and one.column is not None}
    types = {**options.types, **words}
    units = {one.column: one.unit for one in quantities if one.unit and one.column is not None}
    target, more = next(iter(columns), None), tuple(columns[1:])
    return replace(
        options, target=target, more_targets=more, types=types, units={**options.units, **units}
    )
