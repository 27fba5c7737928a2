"""A damaged SQLite file, opened as far as it can be: a copy, mended where that loses nothing.

    as it is      the copy with its journal, the first bytes of its header and its length put right;
                  a lost page becomes an empty one
    a new front   the same with the first page of a new store of ours: that page says where each
                  table begins, which is the same in every store, since all are made alike

The file itself is not written, nor opened by SQLite.
"""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from weal.store import sqlite_file

_MAGIC = b"SQLite format 3\0"
_LARGEST = 100  # times: a length beyond that is a damaged number
_PAGES = tuple(1 << n for n in range(9, 17))


def copies(path: Path, folder: Path) -> Iterator[sqlite3.Connection]:
    """Connections to copies that are gone at the end: as it is, then with a new front."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".copy-") as name:
        for mend in (_mend, _new_front):
            copy = Path(name) / f"{mend.__name__}.db"
            for end in ("", "-journal", "-wal"):
                beside = path.with_name(path.name + end)
                if beside.is_file() and (mend is _mend or not end):
                    shutil.copyfile(beside, copy.with_name(copy.name + end))
            mend(copy)
            with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
                connection.text_factory = lambda raw: raw.decode("utf-8", "backslashreplace")
                with suppress(sqlite3.Error, UnicodeDecodeError):
                    connection.execute("PRAGMA trusted_schema=OFF")
                    connection.execute("PRAGMA writable_schema=ON")  # reads past a damaged table
                yield connection


def _mend(copy: Path) -> None:
    with copy.open("r+b") as file:
        header = file.read(100)
        if len(header) < 100:
            return
        size, pages = _page_size(header), int.from_bytes(header[28:32], "big")
        file.seek(0)
        file.write(_MAGIC)
        length = file.seek(0, 2)
        if length < pages * size < _LARGEST * max(length, 1 << 20):
            file.truncate(pages * size)


def _new_front(copy: Path) -> None:
    with copy.open("r+b") as file:
        size = _page_size(file.read(100))
        pages = -(-file.seek(0, 2) // size)
        front = bytearray(_front(copy.with_name("front.db"), size))
        front[28:32] = pages.to_bytes(4, "big")
        front[92:96] = front[24:28]  # so that the number of pages is believed
        file.seek(0)
        file.write(front)
        file.truncate(max(pages, 1) * size)


def _front(path: Path, size: int) -> bytes:
    """The first page of a new store."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA page_size={size}")
        sqlite_file.build(connection)
    return path.read_bytes()[:size]


def _page_size(header: bytes) -> int:
    """The size of a page that the header says; the usual one where that cannot be."""
    said = int.from_bytes(header[16:18], "big")
    size = 65536 if said == 1 else said
    return size if size in _PAGES else 4096
