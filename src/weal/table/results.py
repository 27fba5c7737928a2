"""Labels that come back in a file: checked whole before the first is given out.

    the id column    named as in the pool, or `id`
    the value        a column named as the target, or `value`, or `label`
    noise or sd      optional: standard deviation of the measurement
    note             optional

`by`, `time` and `event`, which exported labels have, are passed over. Other columns are refused, so
that a value under a wrong heading is not. Rows without a
value are left out and counted. CSV and TSV are read with the standard library alone; Parquet,
Excel and frames through `reading`.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from weal.table.cells import cell_text, read_numbers, some_of
from weal.table.delimited import look_at
from weal.table.entry import number

TEXT_ENDINGS = (".csv", ".tsv", ".txt")
_VALUE = ("value", "label")
_NOISE = ("noise", "sd")
_NOTE = ("note",)
_PASSED = ("by", "time", "event")


class Result(NamedTuple):
    """One label, and the line of the file (row of a frame) that it stands on."""

    id: str
    value: float
    noise: float | None
    note: str | None
    line: int


@dataclass(frozen=True, slots=True)
class Results:
    """All labels of a file, and how many of its rows had none."""

    rows: tuple[Result, ...]
    empty: int


def read_results(source: Any, id_column: str, target: str | None) -> Results:
    """The labels in a CSV, TSV, Parquet or Excel file or a frame; ValueError names all that is bad.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"sample": ["A-1", "A-2"], "value": ["312.5", ""]})
    >>> read_results(frame, "sample", "hardness")
    Results(rows=(Result(id='A-1', value=312.5, noise=None, note=None, line=1),), empty=1)
    """
    names, records, where, comma = _records(source)
    roles = _roles(names, id_column, target, where)
    rows = [
        (line, {role: cells[at] for role, at in roles.items()})
        for line, cells in records
        if any(cell.strip() for cell in cells)
    ]
    valued = [(line, row) for line, row in rows if row["value"].strip()]
    if comma:
        _points_for_commas([row for _, row in valued])
    field = target or "value"
    return Results(tuple(_checked(valued, field, where)), len(rows) - len(valued))


def _records(source: Any) -> tuple[Sequence[str], Iterator[tuple[int, list[str]]], str, bool]:
    """Column names, records of text with their lines, a name for messages, commas may be points."""
    if isinstance(source, str | os.PathLike):
        path = Path(source).expanduser()
        if path.suffix.lower() in TEXT_ENDINGS:
            file = look_at(path)
            return file.names, file.records(), str(path), file.separator == ";"
        return *_of_table(path, first=2), str(path), False
    return *_of_table(source, first=1), "the frame", False


def _of_table(source: Any, first: int) -> tuple[Sequence[str], Iterator[tuple[int, list[str]]]]:
    from weal.table.reading import raw_columns

    columns, _ = raw_columns(source)
    rows = zip(*map(_texts, columns.values()), strict=True)
    return tuple(columns), ((n, list(row)) for n, row in enumerate(rows, start=first))


def _texts(cells: Any) -> list[str]:
    return ["" if cell is None or cell != cell else cell_text(cell) for cell in list(cells)]


def _roles(names: Sequence[str], id_column: str, target: str | None, where: str) -> dict[str, int]:
    """Position of the columns that are there, by what they are for."""
    wanted: Mapping[str, tuple[str, ...]] = {
        "id": tuple(dict.fromkeys((id_column, "id"))),
        "value": (*((target,) if target else ()), *_VALUE),
        "noise": _NOISE,
        "note": _NOTE,
    }
    found = _given(names, wanted, target)
    known = f"{id_column!r}, {target or 'value'!r}, 'noise' and 'note'"
    understood = {*_PASSED, *(name for some in found.values() for name in some)}
    strange = [name for name in names if name not in understood]
    if strange:
        raise ValueError(
            f"{where} has columns that are not understood: {some_of(list(map(repr, strange)))}; "
            f"known are {known}: rename or delete the others"
        )
    for role, some in found.items():
        if len(some) > 1:
            raise ValueError(f"{where} has several columns for the {role}: {', '.join(some)}")
        if not some and role in ("id", "value"):
            raise ValueError(f"{where} has no column {wanted[role][0]!r}; known are {known}")
    return {role: names.index(some[0]) for role, some in found.items() if some}


def _given(
    names: Sequence[str], wanted: Mapping[str, tuple[str, ...]], target: str | None
) -> dict[str, list[str]]:
    """Columns of each role: a column has one, ids and the target before others."""
    found: dict[str, list[str]] = {}
    left = list(names)
    for role, some in wanted.items():
        others = [target] if role == "id" and target else []
        found[role] = [name for name in left if name in some and name not in others]
        left = [name for name in left if name not in found[role]]
    return found


def _points_for_commas(rows: list[dict[str, str]]) -> None:
    """Write a column of decimal commas with points, when the whole column is written so."""
    for role in ("value", "noise"):
        cells = [row.get(role, "").strip() or None for row in rows]
        if read_numbers(cells) is None and read_numbers(cells, decimal_comma=True) is not None:
            for row in rows:
                row[role] = row[role].replace(",", ".")


def _checked(rows: list[tuple[int, dict[str, str]]], field: str, where: str) -> list[Result]:
    results, bad = [], []
    for line, row in rows:
        try:
            results.append(_result(row, field, line))
        except ValueError as error:
            bad.append(f"line {line}: {error}")
    if bad:
        lines = "1 bad line" if len(bad) == 1 else f"{len(bad)} bad lines"
        more = f"; and {len(bad) - 5} more" if len(bad) > 5 else ""
        raise ValueError(f"{where} has {lines}, so none was taken. {'; '.join(bad[:5])}{more}")
    return results


def _result(row: dict[str, str], field: str, line: int) -> Result:
    if not row["id"].strip():
        raise ValueError("the id is empty")
    value, said = number(row["value"], field), row.get("noise", "")
    noise = number(said, "noise") if said.strip() else None
    if noise is not None and noise < 0:
        raise ValueError(f"noise is {said!r}; a standard deviation is 0 or more")
    return Result(row["id"], value, noise, row.get("note", "").strip() or None, line)
