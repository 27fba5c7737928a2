"""Finished curves in one SQLite file, each in a transaction of its own, by a hash of its inputs.

The key of a curve is a hash of everything that decides its numbers:

    points     every number of the split: an edited table or another data file gives another key
    rules      eta of the task, number of queries, seed, realisation
    method     its name, its function and the arguments bound to it; a function outside weal is
               hashed by its source, so that an edited one is another method
    code       weal's version and the source of the modules that a curve depends on; versions of
               numpy, scipy and scikit-learn, and of the packages of `peers`

If one of them changes, old curves are not found and are not mixed with new ones. Files and global
variables that a user's function reads are not part of the key: give it another name.

    curve      key, task, method, realisation; names: of the weights and of the metrics of the
               goals, as JSON;
               numbers: .npy of (5 + names, T + 1), rows labels, nmse, npll, joint, seconds,
               weights, metrics of the goals;
               check: hash of all that; sitting: the call of `run` that computed it
    sitting    a call of `run`: its command, its start, and its seconds up to its last curve

A saved curve is on disk: a killed process loses only unfinished curves. Curves of other settings
stay in the file and are not read. A file of another program, or a damaged one, is an error.
"""

import hashlib
import inspect
import io
import json
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cache, partial
from importlib import metadata, resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import numpy as np

import weal
from weal.benchmark.data_folders import Folder, fingerprint
from weal.benchmark.methods import Method
from weal.benchmark.protocol import Curve
from weal.benchmark.tasks import Split, Task
from weal.errors import UnreadableFile
from weal.files import FOLDER_MARK, write_files

# Rooms that cannot change a curve, except for these modules and those of a method's functions.
_ROOMS_WITHOUT_EFFECT = {"cli", "campaign", "store", "plots", "web", "benchmark"}
_MODULES_WITH_EFFECT = ("goal_metrics.py", "methods.py", "protocol.py")
JsonLike = str | int | Sequence["JsonLike"] | Mapping[str, "JsonLike"]
_PACKAGES = ("numpy", "scipy", "scikit-learn")
_PEER_PACKAGES = ("torch", "gpytorch", "linear_operator", "botorch", "scikit-activeml")


def curve_key(task: Task, split: Split, method: Method, realisation: int, seed: int, T: int) -> str:
    """The key of a curve, 32 hexadecimal digits."""
    rules = {
        "task": [task.name, task.number, task.eta],
        "method": [method.name, to_key_json(method.run)],
        "run": [realisation, seed, T],
        "code": code(),
        "rivals": package_versions(*_PEER_PACKAGES) if method.group == "peers" else {},
    }
    parts = (split.X0, split.y0, split.Xv, split.yv, split.Xu, split.yu, split.Xt, split.yt)
    return fingerprint(rules, *parts)


@cache
def code() -> str:
    """The version of weal, and a hash of all source code that can change a curve."""
    digest = hashlib.sha256(repr(package_versions(*_PACKAGES)).encode())
    home = resources.files(weal)
    texts = [(name, (home / "benchmark" / name).read_bytes()) for name in _MODULES_WITH_EFFECT]
    for name, text in sorted([*texts, *_texts(home, "")]):
        digest.update(f"{name}\n".encode() + text)
    return f"{weal.__version__}+{digest.hexdigest()[:16]}"


def package_versions(*packages: str) -> dict[str, str]:
    """The versions of the installed ones of these packages.

    >>> list(package_versions("numpy", "no-such-package"))
    ['numpy']
    """
    found = {}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _texts(folder: Traversable, prefix: str) -> list[tuple[str, bytes]]:
    found = []
    for item in folder.iterdir():
        if item.name in _ROOMS_WITHOUT_EFFECT:
            continue
        if item.is_dir():
            found += _texts(item, f"{prefix}{item.name}/")
        elif item.name.endswith(".py"):
            found.append((prefix + item.name, item.read_bytes()))
    return found


def to_key_json(thing: object) -> JsonLike:
    """A value as JSON: functions by their source and bound arguments, those of weal by module.

    >>> to_key_json(partial(max, 1.5, key=None))
    [['builtins.max', ...], ['1.5'], {'key': 'None'}]
    """
    if isinstance(thing, partial):
        return [to_key_json(part) for part in (thing.func, thing.args, thing.keywords)]
    if isinstance(thing, Mapping):
        return {str(name): to_key_json(value) for name, value in thing.items()}
    if isinstance(thing, tuple | list):
        return [to_key_json(item) for item in thing]
    if isinstance(thing, np.ndarray):
        return [str(thing.dtype), list(thing.shape), _hash(thing.tobytes())]
    return _function(thing) if callable(thing) and inspect.isroutine(thing) else _plain(thing)


def _function(function: Callable[..., object]) -> JsonLike:
    name = f"{function.__module__}.{function.__qualname__}"
    if name.startswith("weal."):
        return [name, _text(inspect.getmodule(function))]
    cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    bound = [_text(cell) if inspect.isroutine(cell) else to_key_json(cell) for cell in cells]
    return [name, _text(function), to_key_json(getattr(function, "__defaults__", None)), bound]


def _text(thing: object) -> str:
    """A hash of the source of a function or module."""
    try:
        return _hash(inspect.getsource(thing).encode())  # type: ignore[arg-type]
    except (OSError, TypeError):  # typed at a prompt, or not written in Python
        return _hash(getattr(getattr(thing, "__code__", None), "co_code", b""))


def _plain(thing: object) -> str:
    """The repr of an object; its class name if the repr has an address, which changes."""
    text = repr(thing)
    return f"{type(thing).__module__}.{type(thing).__qualname__}" if " at 0x" in text else text


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


CURVES_FILE = "curves.sqlite"
_APPLICATION_ID = 0x7765616C  # "weal", SQLite's application_id
_CACHE_VERSION = 1
_MEMORY = ":memory:"
Row = tuple[str, str, int, str, bytes]  # task, method, realisation, names, numbers
_CURVES_TIMEOUT_SECONDS = 60.0  # to wait for the write lock of another process
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


class CurveStore:
    """The curves of a folder; `open_store` makes one."""

    def __init__(self, db: sqlite3.Connection, where: str) -> None:
        self._db, self._where = db, where

    def begin_session(self, command: str) -> int:
        """The number of a new row of `sitting`."""
        with self._transaction():
            began = "INSERT INTO sitting (command, began, seconds) VALUES (?, datetime('now'), 0)"
            number = self._db.execute(began, (command,)).lastrowid
        assert number is not None  # sqlite3 gives the row of every INSERT
        return number

    def save(self, key: str, curve: Curve, sitting: int, seconds: float) -> None:
        """Write a curve to disk; an existing curve of that key stays."""
        row = _to_row(curve)
        with self._transaction():
            self._db.execute(
                "INSERT OR IGNORE INTO curve VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (key, *row, _check(key, row), sitting),
            )
            self._db.execute("UPDATE sitting SET seconds = ? WHERE id = ?", (seconds, sitting))

    def has(self, keys: Iterable[str]) -> set[str]:
        """The keys that have a curve in the store."""
        there = {key for (key,) in self._read("SELECT key FROM curve")}
        return there.intersection(keys)

    def get(self, key: str) -> Curve:
        """The curve of a key in the store."""
        columns = 'task, method, realisation, names, numbers, "check"'
        [found] = self._read(f"SELECT {columns} FROM curve WHERE key = ?", (key,))
        row: Row = found[:5]
        if found[5] != _check(key, row):
            raise UnreadableFile(_damage_message(self._where, "a curve in it was changed"))
        return _from_row(row)

    def wall_seconds(self, keys: Iterable[str]) -> float:
        """Wall time in seconds of all calls that computed these curves."""
        wanted = set(keys)
        rows = self._read("SELECT key, sitting FROM curve")
        sittings = {sitting for key, sitting in rows if key in wanted}
        spent = self._read("SELECT id, seconds FROM sitting")
        return float(sum(seconds for number, seconds in spent if number in sittings))

    def _read(self, statement: str, values: tuple[str, ...] = ()) -> list[Any]:
        try:
            return self._db.execute(statement, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise UnreadableFile(_damage_message(self._where, error)) from error

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """A transaction with the write lock from its first statement."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            with self._db:
                yield
        except sqlite3.OperationalError as error:  # disk full, locked, read-only
            raise OSError(f"cannot write {self._where}: {error}") from error


@contextmanager
def open_store(folder: Folder) -> Iterator[CurveStore]:
    """The store of a folder, which is created if missing; without a folder, one in memory.

    >>> with open_store(None) as store:
    ...     store.has(["a key"])
    set()
    """
    where = _MEMORY if folder is None else str(_curves_path(Path(folder).expanduser()))
    with closing(_connect(where)) as db:
        _make_or_check(db, where)
        yield CurveStore(db, where)


def check_folder(folder: Folder) -> None:
    """Raise ValueError if a folder cannot be written, or UnreadableFile for its curves file."""
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
    if (path / CURVES_FILE).exists():
        with open_store(path):
            pass


def made_by_0_2(folder: Path) -> bool:
    """Whether weal 0.2 wrote the curves of this folder: it wrote no mark (`weal.files`)."""
    return (folder / CURVES_FILE).is_file() and not (folder / FOLDER_MARK).exists()


def _curves_path(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"cannot write into {folder}: {error.strerror or error}") from error
    return folder / CURVES_FILE


def _connect(where: str) -> sqlite3.Connection:
    try:
        return sqlite3.connect(where, timeout=_CURVES_TIMEOUT_SECONDS, isolation_level=None)
    except sqlite3.OperationalError as error:
        raise ValueError(f"cannot open {where}: {error}") from error


def _make_or_check(db: sqlite3.Connection, where: str) -> None:
    try:
        db.execute("PRAGMA synchronous = FULL")
        db.execute("BEGIN IMMEDIATE")
        with db:
            if not _is_new(db):
                _check_database(db, where)
                return
            if where != _MEMORY:
                write_files(Path(where).parent, {})  # the mark, which lists files of weal
            for statement in _SCHEMA.split(";"):
                db.execute(statement)
            db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {_CACHE_VERSION}")
    except sqlite3.OperationalError as error:
        raise ValueError(f"cannot write {where}: {error}") from error
    except sqlite3.DatabaseError as error:
        raise UnreadableFile(_damage_message(where, error)) from error


def _is_new(db: sqlite3.Connection) -> bool:
    [(tables,)] = db.execute("SELECT count(*) FROM sqlite_master")
    return _pragma(db, "application_id") == 0 and tables == 0


def _check_database(db: sqlite3.Connection, where: str) -> None:
    if _pragma(db, "application_id") != _APPLICATION_ID:
        raise UnreadableFile(
            f"{where} is a database of another program; move it away, or choose another folder"
        )
    if _pragma(db, "user_version") > _CACHE_VERSION:
        raise UnreadableFile(f"{where} was written by a newer weal; upgrade, or choose another")
    [(verdict,)] = db.execute("PRAGMA quick_check(1)")
    if verdict != "ok":
        raise UnreadableFile(_damage_message(where, verdict))


def _pragma(db: sqlite3.Connection, name: str) -> int:
    [(value,)] = db.execute(f"PRAGMA {name}")
    return int(value)


def _damage_message(where: str, why: object) -> str:
    return f"{where} is damaged or no results of weal ({why}); move it away and run again"


def _to_row(curve: Curve) -> Row:
    named = (curve.experts, curve.acquisitions, curve.goals)
    series = [one for kind in named for one in kind.values()]
    rows = [curve.labels, curve.nmse, curve.npll, curve.joint, curve.seconds, *series]
    numbers = io.BytesIO()
    np.save(numbers, np.array(rows, dtype="<f8"), allow_pickle=False)
    names = json.dumps([list(kind) for kind in named])
    return curve.task, curve.method, curve.realisation, names, numbers.getvalue()


def _from_row(row: Row) -> Curve:
    task, method, realisation, names, blob = row
    numbers = np.load(io.BytesIO(blob), allow_pickle=False)
    labels, nmse, npll, joint, seconds, *rest = numbers
    series = iter(row.tolist() for row in rest)
    named = [{name: next(series) for name in kind} for kind in json.loads(names)]
    return Curve(task, method, realisation, labels, nmse, npll, joint, seconds, *named)


def _check(key: str, row: Row) -> str:
    digest = hashlib.sha256(key.encode())
    for item in row:
        content = item if isinstance(item, bytes) else str(item).encode()
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()
