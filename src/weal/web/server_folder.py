"""The folder of a store's server: tokens, sessions, uploads, and the results of the worker.

It is in XDG_STATE_HOME (else ~/.local/state), one for each store, and only its owner can open it.
Everything in it but the tokens can be deleted; sessions then end. File names are ours: digests of
campaign names and session ids, and random names; a browser never names a path.

Results are caches, as snapshots are:

    KIND.json      {"v": 1, "seq": the last event it includes, "data": ...}
    rows.db        the cells of all candidates by id, for pages that show a few of them

A file is written atomically and replaces only a file of weal (`weal.files`); two servers on one
store write the same. A file that cannot be read counts as missing.
"""

import errno
import hashlib
import json
import os
import re
import secrets
import sqlite3
import time
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weal.files import atomic_file, is_plain_file, write_atomically
from weal.store.urls import StoreUrl

Cells = dict[str, str | int | float | bool | None]  # of a row, by column, as JSON values
MAX_UPLOAD_AGE_SECONDS = 2 * 24 * 3600.0  # older uploads and downloads are deleted
RANDOM_NAME_LETTERS = 32
_DRAFT_NAME = re.compile(r"\.weal-[0-9a-f]{16}\.draft")  # of `weal.files`
_RANDOM_NAME = re.compile(rf"[0-9a-f]{{{RANDOM_NAME_LETTERS}}}(\.[a-z]+)?")
NO_ROOM = "the disk of this server is full, and nothing was saved: free some space and try again"
_DISK_FULL_ERRORS = (errno.ENOSPC, errno.EDQUOT)


def server_folder(name: StoreUrl) -> Path:
    """The folder of this store's server, created if it is missing."""
    where = name.address if name.kind == "sqlite" else name.shown
    digest = hashlib.blake2b(f"{name.kind} {where}".encode(), digest_size=12).hexdigest()
    folder = _state() / "weal" / f"serve-{digest}"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.chmod(0o700)
    return folder


def campaign_folder(folder: Path, name: str) -> Path:
    """The folder of this campaign's results."""
    found = folder / f"c-{hashlib.blake2b(name.encode(), digest_size=16).hexdigest()}"
    found.mkdir(exist_ok=True, mode=0o700)
    return found


def new_file(folder: Path, ending: str) -> Path:
    """The path of a new upload or download."""
    files = folder / "files"
    files.mkdir(exist_ok=True, mode=0o700)
    return files / f"{secrets.token_hex(RANDOM_NAME_LETTERS // 2)}{ending}"


def find_file(folder: Path, key: str) -> Path | None:
    """The upload or download with this random name, or None."""
    if len(key) != RANDOM_NAME_LETTERS or not set(key) <= set("0123456789abcdef"):
        return None
    return next((folder / "files").glob(f"{key}.*"), None)


def is_disk_full(error: BaseException) -> bool:
    """Whether an error means that the disk is full.

    >>> is_disk_full(OSError(errno.ENOSPC, "No space left on device")), is_disk_full(OSError())
    (True, False)
    """
    if isinstance(error, OSError) and error.errno in _DISK_FULL_ERRORS:
        return True
    words = str(error).lower()
    return "no space left" in words or "disk is full" in words  # of pyarrow, and of SQLite


def delete_old_uploads(folder: Path) -> None:
    """Delete old uploads, downloads and drafts of killed jobs, recognised by their names."""
    for path in (*(folder / "files").glob("*"), *folder.glob("*/.weal-*.draft")):
        with suppress(FileNotFoundError):  # another server of this store deletes them too
            named = _RANDOM_NAME.fullmatch(path.name) or _DRAFT_NAME.fullmatch(path.name)
            if (
                named
                and is_plain_file(path)
                and path.stat().st_mtime < time.time() - MAX_UPLOAD_AGE_SECONDS
            ):
                path.unlink()


def _state() -> Path:
    if given := os.environ.get("XDG_STATE_HOME"):
        return Path(given)
    try:
        return Path.home() / ".local" / "state"
    except RuntimeError as error:
        raise ValueError("there is no home folder for the token: set XDG_STATE_HOME") from error


RESULTS_VERSION = 1
ROWS_FILE = "rows.db"


@dataclass(frozen=True, slots=True)
class JobResult:
    """A result, and the number of the last event that it includes."""

    seq: int
    data: Any


class JobResults:
    """The results in a server's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, name: str, file: str) -> Path:
        """The path of this file of the campaign."""
        return campaign_folder(self.folder, name) / file

    def read_result(self, name: str, kind: str) -> JobResult | None:
        """The last result of this kind."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            plain = json.loads(self.path(name, f"{kind}.json").read_bytes())
            if plain["v"] == RESULTS_VERSION:
                return JobResult(int(plain["seq"]), plain["data"])
        return None

    def write_result(self, name: str, kind: str, seq: int, data: object) -> None:
        """Write a result; `seq` is from before it was computed: later events make it old."""
        text = json.dumps({"v": RESULTS_VERSION, "seq": seq, "data": data}, allow_nan=False)
        write_atomically(self.path(name, f"{kind}.json"), text.encode(), is_result)

    def stamps(self, name: str) -> dict[str, int]:
        """The time when each result was written, by file."""
        with os.scandir(campaign_folder(self.folder, name)) as files:
            return {one.name: one.stat().st_mtime_ns for one in files if one.name[0] != "."}

    def write_rows(self, name: str, seq: int, rows: Iterable[tuple[str, str]]) -> None:
        """Write the cells of the candidates: pairs of id and JSON, in the order of the table."""
        with (
            atomic_file(self.path(name, ROWS_FILE), is_result) as draft,
            closing(sqlite3.connect(draft, isolation_level=None)) as base,
        ):
            base.execute("PRAGMA journal_mode = OFF")
            base.execute("CREATE TABLE row (n INTEGER PRIMARY KEY, id TEXT UNIQUE, cells TEXT)")
            base.execute("BEGIN")
            base.executemany("INSERT INTO row (id, cells) VALUES (?, ?)", rows)
            base.execute(f"PRAGMA user_version = {seq}")
            base.execute("COMMIT")

    def rows(self, name: str, ids: Iterable[str]) -> dict[str, Cells] | None:
        """The cells of those of these candidates that were written; None if none ever were."""
        wanted = json.dumps(list(ids))
        text = "SELECT id, cells FROM row WHERE id IN (SELECT value FROM json_each(?))"
        try:
            with closing(open_results(self.path(name, ROWS_FILE))) as base:
                return {id_: json.loads(cells) for id_, cells in base.execute(text, (wanted,))}
        except (sqlite3.Error, ValueError):
            return None

    def rows_after(self, name: str) -> int | None:
        """The last event that the cells include; None if there are none."""
        try:
            with closing(open_results(self.path(name, ROWS_FILE))) as base:
                return int(base.execute("PRAGMA user_version").fetchone()[0])
        except sqlite3.Error:
            return None

    def row_count(self, name: str) -> int:
        """The number of candidates with cells."""
        try:
            with closing(open_results(self.path(name, ROWS_FILE))) as base:
                return int(base.execute("SELECT max(n) FROM row").fetchone()[0])
        except (sqlite3.Error, TypeError):
            return 0


def is_result(path: Path) -> bool:
    """Whether a file is empty or begins as a result does."""
    with path.open("rb") as file:
        start = file.read(16)
    return not start or start.startswith(b'{"v": ') or start == b"SQLite format 3\0"


def open_results(path: Path) -> sqlite3.Connection:
    """A read-only connection to a file of results; sqlite3.Error if there is none."""
    return sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)


def plain_cells(row: Mapping[str, object]) -> Cells:
    """Cells as JSON values."""
    return {name: _plain(cell) for name, cell in row.items()}


def _plain(cell: object) -> str | int | float | bool | None:
    if isinstance(cell, float) and (cell != cell or cell in (float("inf"), float("-inf"))):
        return str(cell)
    return cell if cell is None or isinstance(cell, str | int | float | bool) else str(cell)
