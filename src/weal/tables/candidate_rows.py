"""Rows of a sheet that are not candidates: units, repeated headers, totals, footnotes, signatures.

    unit row     below the header: words without an id, above numbers
    header       a line that repeats the column names
    total        an id such as Mean or Total in the last rows
    no inputs    an id-like cell and no input: a footnote, a signature, the title of a block

A missing-value marker (NA, -) counts as an input; a blank cell does not. A note names each row that
is left out. This module needs the standard library only.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from weal.tables.cells import Cell, short
from weal.tables.csv_reader import is_filled, is_name, text_or_blank
from weal.tables.units import canonical_unit

LAST_ROWS = 15  # rows at the end of a table that may hold totals
MAX_ROWS_NAMED = 20
_MIN_ROWS_BELOW_UNITS = 2
_UNITLESS = re.compile(r"(?i)[\[(]?\s*(-|units?|einheit(en)?|unité|1)?\s*[\])]?")
_TOTALS = frozenset(
    {"total", "totals", "sum", "mean", "average", "avg", "median", "sd", "std", "stdev", "min"}
    | {"max", "count", "grand total", "subtotal", "standard deviation", "std dev", "summe"}
    | {"gesamt", "mittelwert", "mittel", "durchschnitt", "anzahl", "moyenne", "somme", "rsd"}
    | {"minimum", "maximum", "standardabweichung", "ø"}
)


class RawColumn(Protocol):
    """A column of cells: a list or an array."""

    def __getitem__(self, n: int, /) -> Cell: ...
    def __iter__(self) -> Iterator[Cell]: ...
    def __len__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class LeftOutRows:
    """Positions of the rows that are not candidates, by reason, and the units of a unit row."""

    units: Mapping[str, str] = field(default_factory=dict)
    unit_rows: tuple[int, ...] = ()
    headers: tuple[int, ...] = ()
    totals: tuple[int, ...] = ()
    no_inputs: tuple[int, ...] = ()
    only_labels: tuple[int, ...] = ()  # an id and a label, and no input

    @property
    def rows(self) -> set[int]:
        """All of them."""
        own = (self.unit_rows, self.headers, self.totals, self.no_inputs, self.only_labels)
        return {n for some in own for n in some}


def find_left_out(
    columns: Mapping[str, RawColumn], id_column: str | None, targets: Sequence[str] = ()
) -> LeftOutRows:
    """The rows of raw columns that are not candidates.

    >>> find_left_out({"id": ["A", "B", "* by hand"], "T": ["1", "2", ""]}, "id").no_inputs
    (2,)
    """
    id_column = id_column if id_column in columns else None
    units = read_unit_row(columns, id_column)
    headers = _headers(columns)
    inputs = [name for name in columns if name not in (id_column, *targets)]
    empty = _without(columns, inputs, id_column)
    labels = [columns[name] for name in targets if name in columns]
    has_label = {n for n in empty if any(is_filled(cells[n]) for cells in labels)}
    again = _again(columns[id_column], has_label, set(empty)) if id_column else set()
    first = columns[id_column or next(iter(columns))]
    totals = _totals(first, {*empty, *headers})
    if id_column is None and not _occur_once(first, totals):  # levels, such as min and max
        totals = ()
    taken = {*headers, *totals, *([0] if units else [])}
    return LeftOutRows(
        units,
        (0,) if units else (),
        headers,
        totals,
        tuple(n for n in empty if n not in has_label and n not in taken),
        tuple(n for n in empty if n in has_label and n not in taken | again),
    )


def _again(ids: RawColumn, rows: set[int], empty: set[int]) -> set[int]:
    """Rows without inputs that have the id of a row with inputs: repeated measurements."""
    if not rows:
        return set()
    known = {text_or_blank(cell).strip() for n, cell in enumerate(ids) if n not in empty}
    return {n for n in rows if text_or_blank(ids[n]).strip() in known}


def left_out_notes(found: LeftOutRows, columns: Mapping[str, RawColumn], first: str) -> list[str]:
    """A note for each reason; rows are named by their cell in the column `first`."""
    units = ["the row below the column names was read as units"] if found.unit_rows else []
    reasons = (
        (found.headers, "because it repeats the column names"),
        (found.totals, "because its id is the name of a total"),
        (found.no_inputs, "because it has no inputs"),
        (found.only_labels, "although it has a label, because it has no inputs"),
    )
    return units + [
        f"{_count(len(rows))} left out {why}: {_find_named(columns, rows, first)}"
        for rows, why in reasons
        if rows
    ]


def _count(n: int) -> str:
    return "1 row was" if n == 1 else f"{n} rows were each"


def read_unit_row(columns: Mapping[str, RawColumn], id_column: str | None) -> dict[str, str]:
    """The units in the first row by column; empty if it holds none.

    >>> read_unit_row({"id": ["", "A", "B"], "T": ["°C", "20", "30"]}, "id")
    {'T': '°C'}
    """
    first = {name: cells[0] for name, cells in columns.items() if len(cells)}
    filled = {name: text_or_blank(cell) for name, cell in first.items() if is_filled(cell)}
    names = [name for name in filled if name != id_column]
    if not names or not all(is_name(filled[name]) for name in filled):
        return {}
    if id_column is not None:
        if not _UNITLESS.fullmatch(text_or_blank(first[id_column]).strip()):
            return {}
    elif not any(_is_above_numbers(columns[name]) for name in names):
        return {}
    return {name: canonical_unit(filled[name].strip(" []()")) for name in names}


def is_unit_row(row: Sequence[str], id_at: int) -> bool:
    """Whether a row below the header holds units: no number, and no id.

    >>> is_unit_row(["", "°C", "[HV]"], 0), is_unit_row(["A-1", "", "failed"], 0)
    (True, False)
    """
    filled = [cell for cell in row if cell.strip()]
    no_id = _UNITLESS.fullmatch(row[id_at].strip()) is not None
    return no_id and bool(filled) and all(map(is_name, filled))


def _is_above_numbers(cells: RawColumn) -> bool:
    below = [cells[n] for n in range(1, len(cells)) if is_filled(cells[n])]
    return len(below) >= _MIN_ROWS_BELOW_UNITS and not any(map(is_name, below))


def _headers(columns: Mapping[str, RawColumn]) -> tuple[int, ...]:
    names = list(columns)
    first = names[0]
    rows = [n for n, cell in enumerate(columns[first]) if cell == first]
    return tuple(
        n for n in rows if all(text_or_blank(columns[name][n]).strip() == name for name in names)
    )


def _without(
    columns: Mapping[str, RawColumn], inputs: Sequence[str], id_column: str | None
) -> list[int]:
    """Rows in which no input is filled; without an id column, all but one cell is blank."""
    if not inputs:
        return []
    if id_column is None:
        return _single_words(columns, inputs)
    rows: Iterable[int] = range(len(columns[inputs[0]]))
    for name in inputs:
        cells = columns[name]
        rows = [n for n in rows if not is_filled(cells[n])]
        if not rows:
            break
    ids = columns[id_column]
    return [n for n in rows if is_filled(ids[n])]


def _single_words(columns: Mapping[str, RawColumn], inputs: Sequence[str]) -> list[int]:
    """Rows in which a word in the first column is the only cell beside the label."""
    first, others = next(iter(columns.values())), [columns[name] for name in inputs[1:]]
    if len(others) < 2 or columns[inputs[0]] is not first:
        return []
    rows: Iterable[int] = range(len(first))
    for cells in others:
        rows = [n for n in rows if not is_filled(cells[n])]
    return [n for n in rows if is_name(first[n]) and is_filled(first[n])]


def is_total(name: str) -> bool:
    """Whether an id is the name of a total, such as Mean or Summe."""
    return name.strip(" :.=").casefold() in _TOTALS


def _totals(ids: RawColumn, others: set[int]) -> tuple[int, ...]:
    """Totals at the end of the table, among footnotes."""
    found = list[int]()
    for n in range(len(ids) - 1, max(len(ids) - LAST_ROWS, 0) - 1, -1):
        if is_total(text_or_blank(ids[n])):
            found.insert(0, n)
        elif n not in others and is_filled(ids[n]):
            break
    return tuple(found)


def _occur_once(cells: RawColumn, rows: Sequence[int]) -> bool:
    """Whether the cells of these rows are in no other row."""
    if not rows:
        return True
    names = [text_or_blank(cell).strip().casefold() for cell in cells]
    return all(names.count(names[n]) == 1 for n in rows)


def _find_named(columns: Mapping[str, RawColumn], rows: Sequence[int], first: str) -> str:
    shown = ", ".join(short(text_or_blank(columns[first][n])) for n in rows[:MAX_ROWS_NAMED])
    return shown + (", ..." if len(rows) > MAX_ROWS_NAMED else "")
