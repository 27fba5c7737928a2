"""A CSV file as Parquet, once: a folder beside it, `NAME.csv.parquet`, with a note of its source.

Cells are read as `weal.table` reads any CSV (encoding, separator, numbers, what is missing), a
part of the file at a time. The file is read twice: what a column holds shows in its last record at
the latest. The note keeps size and time of the CSV: as long as they are the same, the folder is
used as it is.
"""

import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from weal.shards.files import pyarrow
from weal.table.cells import read_numbers, without_markers
from weal.table.delimited import Delimited, look_at

RECORDS = 200_000  # of a part
NOTE = "converted.json"
KINDS = ("whole", "number", "text")
_LEADING_ZERO = re.compile(r"\s*-?0\d")


def converted(path: Path) -> list[Path]:
    """The Parquet files of a CSV file, made where they are not there yet."""
    folder = path.absolute().with_name(f"{path.name}.parquet")
    stat = path.stat()
    source = {"size": stat.st_size, "changed": stat.st_mtime_ns}
    note = folder / NOTE
    if not (note.is_file() and json.loads(note.read_text()) == source):
        _convert(path, folder, source)
    return sorted(folder.glob("part-*.parquet"))


def _convert(path: Path, folder: Path, source: dict[str, int]) -> None:
    making = folder.with_name(f"{folder.name}.{os.getpid()}")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir()
    try:
        file = look_at(path)
        kinds = _kinds(file)
        for n, rows in enumerate(_parts(file)):
            _write(making / f"part-{n:05d}.parquet", file, rows, kinds)
        (making / NOTE).write_text(json.dumps(source))
        if folder.exists():
            shutil.rmtree(folder)
        making.rename(folder)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _parts(file: Delimited) -> Iterator[list[list[str]]]:
    records = (row for _, row in file.records())
    while rows := list(islice(records, RECORDS)):
        yield rows


def _kinds(file: Delimited) -> list[str]:
    """What each column holds in every record: one reading of the file before it is written."""
    found = ["whole"] * len(file.names)
    for rows in _parts(file):
        for k, cells in enumerate(zip(*rows, strict=True)):
            if found[k] != "text":
                found[k] = max(found[k], _kind(cells, file), key=KINDS.index)
    return found


def _kind(cells: Sequence[str], file: Delimited) -> str:
    if any(_LEADING_ZERO.match(cell) for cell in cells):  # 007 is a name, not a number
        return "text"
    numbers = _numbers(cells, file)
    if numbers is None:
        return "text"
    whole = all(one is None or (isinstance(one, int) and abs(one) < 2**63) for one in numbers)
    return "whole" if whole else "number"


def _numbers(cells: Sequence[str], file: Delimited) -> list[Any] | None:
    return read_numbers(without_markers(cells), decimal_comma=file.separator != ",")


def _write(path: Path, file: Delimited, rows: list[list[str]], kinds: list[str]) -> None:
    arrow, parquet = pyarrow()
    types = {"whole": arrow.int64(), "number": arrow.float64(), "text": arrow.string()}
    columns: dict[str, Any] = {}
    for name, cells, kind in zip(file.names, zip(*rows, strict=True), kinds, strict=True):
        values = [one or None for one in cells] if kind == "text" else _numbers(cells, file)
        columns[name] = arrow.array(values, type=types[kind])
    parquet.write_table(arrow.table(columns), path, compression="zstd")
