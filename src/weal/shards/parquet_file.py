"""A Parquet file of a pool: its identity, how a change is detected, and conversion from CSV.

    identity   path, size and a hash of the footer (schema, sizes and statistics of row groups),
               read when the pool is opened and before every pass
    stamp      inode and times of the file when the pool was opened, until its content is hashed
    sums       a hash of each used column in each row group, taken in the first pass over the pool
               and compared whenever a row group is read (`row_groups`)

A file written again with other numbers may have the same footer (without statistics and
compression), and never has the same sums.

A pool is a pattern, a folder, a path or a list of these; files come in the order of their paths. A
path that is not a file (a broken link, a named pipe, an empty folder with the name of a shard) is
an error.

A CSV file is converted once, into a folder `NAME.csv.parquet` beside it. `weal.tables` reads its
cells, a part of the file at a time, in two passes: the last record may decide the type of a column.
`converted.json` notes size and time of the CSV: while they are the same, and the parts match the
mark of the folder (`weal.files`), the folder is used; otherwise it is rebuilt and replaced. A
folder, file or link of that name that weal did not make is left alone (ForeignFile).
"""

import glob
import json
import os
import re
import stat
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, BinaryIO

from weal.errors import ChangedShard, UnreadableFile
from weal.files import (
    FOLDER_MARK,
    FilePath,
    FolderKind,
    atomic_folder,
    changed_file,
    check_folder,
    is_plain_file,
    kind_of_path,
    read_mark,
)
from weal.tables.cells import read_numbers, replace_missing_markers
from weal.tables.csv_reader import CsvFile, open_csv

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

PARQUET_MAGIC = b"PAR1"
MAX_FOOTER_BYTES = 256 * 2**20  # bytes; a longer one is not a footer


Stamp = tuple[int, int, int]  # inode, time of the last change of content, and of any change (ns)
Sums = Mapping[str, tuple[str, ...]]  # column -> hash of each row group, "" where it has no row
SETTLED_SECONDS = 3.0  # after a change, until file times reliably show the next one


@dataclass(frozen=True, slots=True)
class ParquetFile:
    """A Parquet file as it was when the pool was opened."""

    path: str
    size: int
    footer: str  # hash
    groups: tuple[int, ...]  # rows of each row group
    stamp: Stamp | None = field(default=None, compare=False)  # None: not opened
    sums: Sums | None = field(default=None, compare=False)  # None: not hashed yet

    @property
    def rows(self) -> int:
        """Rows in the file."""
        return sum(self.groups)

    def check(self) -> None:
        """ChangedShard unless size and footer of the file are what they were."""
        try:
            now = _identity(Path(self.path))
        except (OSError, UnreadableFile) as error:
            raise ChangedShard(f"{self.path} was a shard of this pool, and now: {error}") from error
        if now != (self.size, self.footer):
            raise changed_error(self.path, f"{self.size:,} bytes then, {now[0]:,} now")

    def check_stamp(self) -> None:
        """ChangedShard if a file that is not hashed yet was written since it was opened."""
        if self.sums is None and self.stamp is not None and stamp_of(self.path) != self.stamp:
            raise changed_error(self.path, "it was written again, before its rows were read")

    def check_unwritten(self) -> None:
        """ChangedShard if the file was written since it was opened: for columns without sums."""
        if self.stamp is not None and stamp_of(self.path) != self.stamp:
            raise changed_error(self.path, "it was written again")


def changed_error(name: str, how: str) -> ChangedShard:
    """The error for a file that has changed."""
    return ChangedShard(
        f"{name} has changed since the pool was opened ({how}): open the pool again, or restore "
        "the file"
    )


def stamp_of(path: str | os.PathLike[str]) -> Stamp:
    """Inode and times of a file as it is now."""
    found = os.stat(path)
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def is_settled(file: ParquetFile) -> bool:
    """Whether the file is old enough that its timestamps show the next change.

    Two changes within one tick of a file system's clock have the same time.
    """
    return file.stamp is not None and file.stamp[1] < (time.time() - SETTLED_SECONDS) * 1e9


def inspect_file(path: Path) -> tuple[ParquetFile, "pa.Schema"]:
    """The file and its schema; UnreadableFile if it is not Parquet."""
    size, footer = _identity(path)
    stamp, found = stamp_of(path), metadata(path)
    groups = tuple(found.row_group(n).num_rows for n in range(found.num_row_groups))
    return ParquetFile(str(path), size, footer, groups, stamp), found.schema.to_arrow_schema()


def metadata(path: Path) -> "pq.FileMetaData":
    """The metadata in the footer, as pyarrow reads it."""
    arrow, parquet = pyarrow()
    try:
        return parquet.read_metadata(path)
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise UnreadableFile(f"{path} is damaged: {_first_line(error)}") from error


def pyarrow() -> tuple[ModuleType, ModuleType]:
    """Pyarrow and its module for Parquet."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("pools in files need pyarrow: pip install pyarrow") from error
    return pyarrow, pyarrow.parquet


def _identity(path: Path) -> tuple[int, str]:
    """Size and hash of the footer."""
    check_is_file(path)
    with path.open("rb") as file:
        size, tail = read_tail(file, path)
    return size, footer_hash(tail)


def check_is_file(path: Path) -> None:
    """UnreadableFile unless a file, or a link to one, is there; opening a pipe would never end."""
    if not os.path.lexists(path):
        raise UnreadableFile(f"there is no file {path}")
    try:
        plain = stat.S_ISREG(path.stat().st_mode)
    except OSError:
        plain = False
    if not plain:
        raise UnreadableFile(f"{path} is {kind_of_path(path).rstrip(',')}, and not a file")


def read_tail(file: BinaryIO, path: FilePath) -> tuple[int, bytes]:
    """Size of an open Parquet file, and its end: the footer, its length and the magic bytes."""
    size = os.fstat(file.fileno()).st_size
    if size < 12:
        raise UnreadableFile(f"{path} is not Parquet: it has {size} bytes")
    file.seek(size - 8)
    tail = file.read(8)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != PARQUET_MAGIC or not 0 < length <= min(size - 12, MAX_FOOTER_BYTES):
        raise UnreadableFile(f"{path} is not Parquet, or was not written to its end")
    file.seek(size - 8 - length)
    return size, file.read(length) + tail


def footer_hash(tail: bytes) -> str:
    """The hash of a footer, with which the end of a file begins."""
    return blake2b(tail[:-8], digest_size=16).hexdigest()


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


PART_RECORDS = 200_000  # of a part
NOTE_FILE = "converted.json"
COLUMN_KINDS = ("whole", "number", "text")
_LEADING_ZERO = re.compile(r"\s*-?0\d")
_PART_NAME = re.compile(r"part-\d{5,}\.parquet")


def convert(path: Path) -> list[Path]:
    """The Parquet files of a CSV file, converted unless they exist already."""
    folder = path.absolute().with_name(f"{path.name}.parquet")
    stat = path.stat()
    source = {"size": stat.st_size, "changed": stat.st_mtime_ns}
    if (problem := _problem(folder, source)) is not None:
        check_folder(folder, CONVERTED_FOLDER)
        if problem:
            warnings.warn(f"{folder} is rebuilt from {path}: {problem}", stacklevel=2)
        _convert(path, folder, source)
    return sorted(one for one in folder.iterdir() if _PART_NAME.fullmatch(one.name))


def _problem(folder: Path, source: dict[str, int]) -> str | None:
    """The defect of the folder; "" if it is missing or of an older CSV, None if it is usable."""
    if not folder.is_dir():
        return ""
    note = _read_note(folder)
    if note is None:
        return f"its {NOTE_FILE} is missing or damaged"
    if note != source:
        return ""
    if read_mark(folder, CONVERTED_FOLDER.name) is None:
        # Without a mark it was made by weal 0.2, which kept no checksums.
        return f"its {FOLDER_MARK} is damaged" if os.path.lexists(folder / FOLDER_MARK) else None
    name = changed_file(folder, CONVERTED_FOLDER)
    return None if name is None else f"{name} is missing or does not match its checksum"


def _read_note(folder: Path) -> dict[str, int] | None:
    """Size and time of the CSV that the folder was converted from; None without a note."""
    try:
        if not is_plain_file(folder / NOTE_FILE):
            return None
        note = json.loads((folder / NOTE_FILE).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return note if isinstance(note, dict) and set(note) == {"size", "changed"} else None


CONVERTED_FOLDER = FolderKind(
    "converted pool",
    re.compile(rf"{re.escape(NOTE_FILE)}|{_PART_NAME.pattern}"),
    made_by_0_2=lambda folder: _read_note(folder) is not None,
)


def _convert(path: Path, folder: Path, source: dict[str, int]) -> None:
    with atomic_folder(folder, CONVERTED_FOLDER, lambda: _problem(folder, source) is None) as draft:
        file = open_csv(path)
        kinds = _kinds(file)
        for n, rows in enumerate(_parts(file)):
            _write(draft / f"part-{n:05d}.parquet", file, rows, kinds)
        (draft / NOTE_FILE).write_text(json.dumps(source))


def _parts(file: CsvFile) -> Iterator[list[list[str]]]:
    records = (row for _, row in file.records())
    while rows := list(islice(records, PART_RECORDS)):
        yield rows


def _kinds(file: CsvFile) -> list[str]:
    """The type of each column, from one pass over all records."""
    found = ["whole"] * len(file.names)
    for rows in _parts(file):
        for k, cells in enumerate(zip(*rows, strict=True)):
            if found[k] != "text":
                found[k] = max(found[k], _kind(cells, file), key=COLUMN_KINDS.index)
    return found


def _kind(cells: Sequence[str], file: CsvFile) -> str:
    if any(_LEADING_ZERO.match(cell) for cell in cells):  # 007 is a name, not a number
        return "text"
    numbers = _numbers(cells, file)
    if numbers is None:
        return "text"
    whole = all(one is None or (isinstance(one, int) and abs(one) < 2**63) for one in numbers)
    return "whole" if whole else "number"


def _numbers(cells: Sequence[str], file: CsvFile) -> list[float | None] | None:
    return read_numbers(replace_missing_markers(cells), decimal_comma=file.decimal_comma)


def _write(path: Path, file: CsvFile, rows: list[list[str]], kinds: list[str]) -> None:
    arrow, parquet = pyarrow()
    types = {"whole": arrow.int64(), "number": arrow.float64(), "text": arrow.string()}
    columns: dict[str, pa.Array] = {}
    for name, cells, kind in zip(file.names, zip(*rows, strict=True), kinds, strict=True):
        values = [one or None for one in cells] if kind == "text" else _numbers(cells, file)
        columns[name] = arrow.array(values, type=types[kind])
    parquet.write_table(arrow.table(columns), path, compression="zstd")


PARQUET = (".parquet", ".pq")
CONVERTED = (".csv", ".tsv", ".txt")


def find_files(source: FilePath | list[FilePath] | tuple[FilePath, ...]) -> list[Path]:
    """The files that a pattern, a folder, a path or a list of these means, in order."""
    if isinstance(source, list | tuple):
        found = [path for one in source for path in find_files(one)]
        if twice := [path for path in dict.fromkeys(found) if found.count(path) > 1]:
            raise ValueError(f"{twice[0]} is named twice")
        return found
    text = os.fspath(source)
    place = Path(text)
    if place.is_dir():
        found = _in_folder(place)
    elif os.path.lexists(place):
        found = [place]
    else:
        found = sorted(map(Path, glob.glob(text, recursive=True)))
        if not found:
            raise ValueError(f"no file matches {text!r} (from the folder {Path.cwd()})")
    return [part for path in found for part in _as_parquet(path)]


def _in_folder(place: Path) -> list[Path]:
    """The Parquet files of a folder and of the folders in it; links to folders are refused."""
    found = sorted(path for path in place.rglob("*") if _is_shard(path, place))
    for folder in (path for path in found if path.is_dir()):
        if folder.is_symlink():
            raise ValueError(
                f"{folder} is a link to a folder; name that folder itself: "
                f"open_pool([{str(place)!r}, {os.readlink(folder)!r}])"
            )
        if not any(folder in path.parents for path in found):
            raise _no_file(folder)
    files = [path for path in found if not path.is_dir()]
    if not files:
        raise _no_file(place)
    return files


def _is_shard(path: Path, place: Path) -> bool:
    if any(part.startswith(".weal-") for part in path.relative_to(place).parts):
        return False  # a temporary file of weal
    return path.suffix.lower() in PARQUET and not path.name.startswith(("_", "."))


def _no_file(folder: Path) -> ValueError:
    return ValueError(f"the folder {folder} has no Parquet file in it")


def _as_parquet(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from find_files(path)
        return
    check_is_file(path)
    if path.suffix.lower() in CONVERTED:
        yield from convert(path)
    else:
        yield Path(os.path.abspath(path))
