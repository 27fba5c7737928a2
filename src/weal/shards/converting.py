"""A CSV file as Parquet, once: a folder beside it, `NAME.csv.parquet`, with a note of its source.

Cells are read as `weal.table` reads any CSV (encoding, separator, numbers, what is missing), a
part of the file at a time. The file is read twice: what a column holds shows in its last record at
the latest. The note (`converted.json`) keeps size and time of the CSV: as long as they are the
same, and the parts are what the mark of the folder says (`weal.files`), the folder is used as it
is. Otherwise it is made anew beside its place and moved there. A folder, file or link of that name
that weal did not make is left as it is (ForeignFile).
"""

import json
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from weal.files import (
    MARK,
    FolderKind,
    atomic_folder,
    changed_file,
    check_folder,
    is_plain_file,
    read_mark,
)
from weal.shards.files import pyarrow
from weal.table.cells import read_numbers, without_markers
from weal.table.delimited import Delimited, look_at

RECORDS = 200_000  # of a part
NOTE = "converted.json"
KINDS = ("whole", "number", "text")
_LEADING_ZERO = re.compile(r"\s*-?0\d")
_PART = re.compile(r"part-\d{5,}\.parquet")


def converted(path: Path) -> list[Path]:
    """The Parquet files of a CSV file, made where they are not there yet."""
    folder = path.absolute().with_name(f"{path.name}.parquet")
    stat = path.stat()
    source = {"size": stat.st_size, "changed": stat.st_mtime_ns}
    if (problem := _problem(folder, source)) is not None:
        check_folder(folder, FOLDER)
        if problem:
            warnings.warn(f"{folder} is made anew from {path}: {problem}", stacklevel=2)
        _convert(path, folder, source)
    return sorted(one for one in folder.iterdir() if _PART.fullmatch(one.name))


def _problem(folder: Path, source: dict[str, int]) -> str | None:
    """Why the folder cannot be used for this CSV: "" where it is not there, or of an older CSV."""
    if not folder.is_dir():
        return ""
    note = _read_note(folder)
    if note is None:
        return f"its {NOTE} is missing or damaged"
    if note != source:
        return ""
    if read_mark(folder, FOLDER.name) is None:
        # Without a mark it was made by weal 0.2, which kept no checksums.
        return f"its {MARK} is damaged" if os.path.lexists(folder / MARK) else None
    name = changed_file(folder, FOLDER)
    return None if name is None else f"{name} is missing or damaged, as its checksum says"


def _read_note(folder: Path) -> dict[str, int] | None:
    """Size and time of the CSV that the folder was made of; None where it does not say."""
    try:
        if not is_plain_file(folder / NOTE):
            return None
        note = json.loads((folder / NOTE).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return note if isinstance(note, dict) and set(note) == {"size", "changed"} else None


FOLDER = FolderKind(
    "converted pool",
    re.compile(rf"{re.escape(NOTE)}|{_PART.pattern}"),
    made_by_0_2=lambda folder: _read_note(folder) is not None,
)


def _convert(path: Path, folder: Path, source: dict[str, int]) -> None:
    with atomic_folder(folder, FOLDER, lambda: _problem(folder, source) is None) as draft:
        file = look_at(path)
        kinds = _kinds(file)
        for n, rows in enumerate(_parts(file)):
            _write(draft / f"part-{n:05d}.parquet", file, rows, kinds)
        (draft / NOTE).write_text(json.dumps(source))


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
