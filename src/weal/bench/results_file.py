"""Finished curves in one SQLite file, each in a transaction of its own.

    curve      key, task, method, realisation: whose; names: of the weights, as JSON;
               numbers: .npy of (5 + names, T + 1), rows labels, nmse, npll, joint, seconds,
               weights;
               check: hash of all that; sitting: in which it was computed
    sitting    a call of run: its command, when it began, and its seconds up to its last curve

A curve that was kept is on disk: a process that is killed loses only what it had not finished.
The key decides (see `keys`); curves of other settings stay in the file and are not looked at.
A file that is not ours is refused, and so is one that was damaged since.
"""

import hashlib
import io
import json
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from weal.bench.places import Folder
from weal.bench.protocol import Curve
from weal.errors import UnreadableFile
from weal.files import MARK, write_files

FILE = "curves.sqlite"
_OURS = 0x7765616C  # "weal", SQLite's application_id
_VERSION = 1
_MEMORY = ":memory:"
Row = tuple[str, str, int, str, bytes]  # task, method, realisation, names, numbers
_PATIENCE = 60.0  # seconds to wait for another process that writes
_SCHEMA = """
CREATE TABLE sitting (
    id INTEGER PRIMARY KEY, command TEXT NOT NULL, began TEXT NOT NULL, seconds REAL NOT NULL
) STRICT;
CREATE TABLE curve (
    key TEXT PRIMARY KEY, task TEXT NOT NULL, method TEXT NOT NULL, realisation INTEGER NOT NULL,
    names TEXT NOT NULL, numbers BLOB NOT NULL, "check" TEXT NOT NULL,
    sitting INTEGER NOT NULL REFERENCES sitting
) STRICT;
"""


class Store:
    """The curves of a folder; `open_store` makes one."""

    def __init__(self, db: sqlite3.Connection, where: str) -> None:
        self._db, self._where = db, where

    def sit_down(self, command: str) -> int:
        """The number of a new sitting."""
        with self._writing():
            began = "INSERT INTO sitting (command, began, seconds) VALUES (?, datetime('now'), 0)"
            number = self._db.execute(began, (command,)).lastrowid
        assert number is not None  # sqlite3 gives the row of every INSERT
        return number

    def keep(self, key: str, curve: Curve, sitting: int, seconds: float) -> None:
        """Put a curve on disk; one that is there already stays."""
        row = _to_row(curve)
        with self._writing():
            self._db.execute(
                "INSERT OR IGNORE INTO curve VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (key, *row, _check(key, row), sitting),
            )
            self._db.execute("UPDATE sitting SET seconds = ? WHERE id = ?", (seconds, sitting))

    def has(self, keys: Iterable[str]) -> set[str]:
        """Those of the keys that have a curve here."""
        there = {key for (key,) in self._read("SELECT key FROM curve")}
        return there.intersection(keys)

    def get(self, key: str) -> Curve:
        """The curve of a key that is here."""
        columns = 'task, method, realisation, names, numbers, "check"'
        [found] = self._read(f"SELECT {columns} FROM curve WHERE key = ?", (key,))
        row: Row = found[:5]
        if found[5] != _check(key, row):
            raise UnreadableFile(_damaged(self._where, "a curve in it was changed"))
        return _from_row(row)

    def wall_seconds(self, keys: Iterable[str]) -> float:
        """Seconds on the clock of all sittings that computed these curves."""
        wanted = set(keys)
        rows = self._read("SELECT key, sitting FROM curve")
        sittings = {sitting for key, sitting in rows if key in wanted}
        spent = self._read("SELECT id, seconds FROM sitting")
        return float(sum(seconds for number, seconds in spent if number in sittings))

    def _read(self, statement: str, values: tuple[str, ...] = ()) -> list[Any]:
        try:
            return self._db.execute(statement, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise UnreadableFile(_damaged(self._where, error)) from error

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction that has the write lock from its first statement."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            with self._db:
                yield
        except sqlite3.OperationalError as error:  # disk full, locked, read-only
            raise OSError(f"cannot write {self._where}: {error}") from error


@contextmanager
def open_store(folder: Folder) -> Iterator[Store]:
    """The store of a folder, which is made if need be; without a folder, one in memory.

    >>> with open_store(None) as store:
    ...     store.has(["a key"])
    set()
    """
    where = _MEMORY if folder is None else str(_in_folder(Path(folder).expanduser()))
    with closing(_connect(where)) as db:
        _make_or_check(db, where)
        yield Store(db, where)


def check_room(folder: Folder) -> None:
    """Complain now if a folder could not be written, or holds a file we cannot use."""
    if folder is None:
        return
    path = Path(folder).expanduser()
    there = next(place for place in [path, *path.absolute().parents] if place.exists())
    if not there.is_dir():
        raise ValueError(f"cannot write into {path}: {there} is a file; choose another folder")
    try:
        tempfile.TemporaryDirectory(prefix=".weal-", dir=there).cleanup()
    except OSError as error:
        raise ValueError(f"cannot write into {path}: {error.strerror or error}") from error
    if (path / FILE).exists():
        with open_store(path):
            pass


def made_by_0_2(folder: Path) -> bool:
    """Whether weal 0.2 kept curves in this folder: it wrote no mark (`weal.files`)."""
    return (folder / FILE).is_file() and not (folder / MARK).exists()


def _in_folder(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"cannot write into {folder}: {error.strerror or error}") from error
    return folder / FILE


def _connect(where: str) -> sqlite3.Connection:
    try:
        return sqlite3.connect(where, timeout=_PATIENCE, isolation_level=None)
    except sqlite3.OperationalError as error:
        raise ValueError(f"cannot open {where}: {error}") from error


def _make_or_check(db: sqlite3.Connection, where: str) -> None:
    try:
        db.execute("PRAGMA synchronous = FULL")
        db.execute("BEGIN IMMEDIATE")
        with db:
            if not _is_new(db):
                _refuse_others(db, where)
                return
            if where != _MEMORY:
                write_files(Path(where).parent, {})  # the mark: from now on files here are listed
            for statement in _SCHEMA.split(";"):
                db.execute(statement)
            db.execute(f"PRAGMA application_id = {_OURS}")
            db.execute(f"PRAGMA user_version = {_VERSION}")
    except sqlite3.OperationalError as error:
        raise ValueError(f"cannot write {where}: {error}") from error
    except sqlite3.DatabaseError as error:
        raise UnreadableFile(_damaged(where, error)) from error


def _is_new(db: sqlite3.Connection) -> bool:
    [(tables,)] = db.execute("SELECT count(*) FROM sqlite_master")
    return _pragma(db, "application_id") == 0 and tables == 0


def _refuse_others(db: sqlite3.Connection, where: str) -> None:
    if _pragma(db, "application_id") != _OURS:
        raise UnreadableFile(
            f"{where} is a database of another program; move it away, or choose another folder"
        )
    if _pragma(db, "user_version") > _VERSION:
        raise UnreadableFile(f"{where} was written by a newer weal; upgrade, or choose another")
    [(verdict,)] = db.execute("PRAGMA quick_check(1)")
    if verdict != "ok":
        raise UnreadableFile(_damaged(where, verdict))


def _pragma(db: sqlite3.Connection, name: str) -> int:
    [(value,)] = db.execute(f"PRAGMA {name}")
    return int(value)


def _damaged(where: str, why: object) -> str:
    return f"{where} is damaged or no results of weal ({why}); move it away and run again"


def _to_row(curve: Curve) -> Row:
    weights = [*curve.experts.values(), *curve.acquisitions.values()]
    rows = [curve.labels, curve.nmse, curve.npll, curve.joint, curve.seconds, *weights]
    numbers = io.BytesIO()
    np.save(numbers, np.array(rows, dtype="<f8"), allow_pickle=False)
    names = json.dumps([list(curve.experts), list(curve.acquisitions)])
    return curve.task, curve.method, curve.realisation, names, numbers.getvalue()


def _from_row(row: Row) -> Curve:
    task, method, realisation, names, blob = row
    numbers = np.load(io.BytesIO(blob), allow_pickle=False)
    experts, acquisitions = json.loads(names)
    labels, nmse, npll, joint, seconds, *weights = numbers
    series = [row.tolist() for row in weights]
    return Curve(
        *(task, method, realisation, labels, nmse, npll, joint, seconds),
        experts=dict(zip(experts, series[: len(experts)], strict=True)),
        acquisitions=dict(zip(acquisitions, series[len(experts) :], strict=True)),
    )


def _check(key: str, row: Row) -> str:
    digest = hashlib.sha256(key.encode())
    for item in row:
        content = item if isinstance(item, bytes) else str(item).encode()
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()
