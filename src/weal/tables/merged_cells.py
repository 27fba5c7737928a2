"""Merged cells of a sheet: the value of a range counts for all of its cells.

A range within one row that has no other value is a title or a footnote, and stays one cell.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from weal.tables.cells import Cell
from weal.tables.csv_reader import is_filled

Rows = list[tuple[int, list[Cell]]]  # rows that are not blank, with their line numbers
MAX_MERGED_RANGES = 10_000
MAX_MERGED_CELLS = 2_000_000
_RANGE = re.compile(r"([A-Z]{1,3})([0-9]{1,7}):([A-Z]{1,3})([0-9]{1,7})")


def fill_merged(rows: Rows, ranges: Sequence[str]) -> Rows:
    """The rows with the value of each merged range in all its cells.

    >>> fill_merged([(1, ["A", 5]), (2, [None, 6])], ["A1:A2"])
    [(1, ['A', 5]), (2, ['A', 6])]
    """
    if not ranges:
        return rows
    filled = [(line, list(row)) for line, row in rows]
    lines = [line for line, _ in filled]
    width, room = max((len(row) for _, row in filled), default=0), MAX_MERGED_CELLS
    for one in ranges[:MAX_MERGED_RANGES]:
        found = _RANGE.fullmatch(one)
        if found is None:
            continue
        left, right = column_number(found[1]) - 1, min(column_number(found[3]), width)
        start = bisect_left(lines, int(found[2]))
        end = bisect_right(lines, int(found[4]))
        room -= max(end - start, 0) * max(right - left, 0)
        if start < end and lines[start] == int(found[2]) and room >= 0:
            _fill(filled[start:end], left, right)
    return filled


def _fill(rows: Rows, left: int, right: int) -> None:
    first = rows[0][1]
    value = first[left] if left < len(first) else None
    is_title = len(rows) == 1 and sum(map(is_filled, first)) == 1
    if not is_filled(value) or is_title:
        return
    for _, row in rows:
        row += [None] * (right - len(row))
        for n in range(left, right):
            if not is_filled(row[n]):
                row[n] = value


def column_number(letters: str) -> int:
    """The number of a spreadsheet column, counted from 1.

    >>> column_number("A"), column_number("AB")
    (1, 28)
    """
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number
