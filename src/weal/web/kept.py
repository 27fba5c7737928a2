"""What the worker has found, kept as files in the server's folder: advice, as snapshots are.

    KIND.json      {"v": 1, "seq": number of the event it was found after, "data": ...}
    rows.db        the cells of all candidates by id, for pages that show a few of them

A file is written whole, in place of one of ours alone (`weal.files`); two servers on one store
write the same. What cannot be read is not there.
"""

import json
import os
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weal.files import atomic_file, write_atomically
from weal.web.places import campaign_folder

VERSION = 1
ROWS = "rows.db"


@dataclass(frozen=True, slots=True)
class Found:
    """A result, and the number of the event that it was found after."""

    seq: int
    data: Any


class Kept:
    """Results of a server's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, name: str, file: str) -> Path:
        """Where this file of the campaign is kept."""
        return campaign_folder(self.folder, name) / file

    def found(self, name: str, kind: str) -> Found | None:
        """The result of that kind that was kept last."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            plain = json.loads(self.path(name, f"{kind}.json").read_bytes())
            if plain["v"] == VERSION:
                return Found(int(plain["seq"]), plain["data"])
        return None

    def keep(self, name: str, kind: str, seq: int, data: Any) -> None:
        """Keep this result in place of the last one."""
        text = json.dumps({"v": VERSION, "seq": seq, "data": data}, allow_nan=False)
        write_atomically(self.path(name, f"{kind}.json"), text.encode(), is_result)

    def stamps(self, name: str) -> dict[str, int]:
        """When each result was kept: what is different now is news."""
        with os.scandir(campaign_folder(self.folder, name)) as files:
            return {one.name: one.stat().st_mtime_ns for one in files if one.name[0] != "."}

    def keep_rows(self, name: str, seq: int, rows: Iterable[tuple[str, str]]) -> None:
        """Keep the cells of all candidates: pairs of id and JSON, in the order of the table."""
        with (
            atomic_file(self.path(name, ROWS), is_result) as draft,
            closing(sqlite3.connect(draft, isolation_level=None)) as base,
        ):
            base.execute("PRAGMA journal_mode = OFF")
            base.execute("CREATE TABLE row (n INTEGER PRIMARY KEY, id TEXT UNIQUE, cells TEXT)")
            base.execute("BEGIN")
            base.executemany("INSERT INTO row (id, cells) VALUES (?, ?)", rows)
            base.execute(f"PRAGMA user_version = {seq}")
            base.execute("COMMIT")

    def rows(self, name: str, ids: Iterable[str]) -> dict[str, dict[str, Any]] | None:
        """The cells of these candidates, as far as they are known; None: nothing is kept."""
        wanted = json.dumps(list(ids))
        text = "SELECT id, cells FROM row WHERE id IN (SELECT value FROM json_each(?))"
        try:
            with closing(opened(self.path(name, ROWS))) as base:
                return {id_: json.loads(cells) for id_, cells in base.execute(text, (wanted,))}
        except (sqlite3.Error, ValueError):
            return None

    def rows_after(self, name: str) -> int | None:
        """The number of the event that the cells are of; None where none are kept."""
        try:
            with closing(opened(self.path(name, ROWS))) as base:
                return int(base.execute("PRAGMA user_version").fetchone()[0])
        except sqlite3.Error:
            return None

    def row_count(self, name: str) -> int:
        """How many candidates are kept."""
        try:
            with closing(opened(self.path(name, ROWS))) as base:
                return int(base.execute("SELECT max(n) FROM row").fetchone()[0])
        except (sqlite3.Error, TypeError):
            return 0


def is_result(path: Path) -> bool:
    """Whether a file is empty, or begins as the results do that are kept here."""
    with path.open("rb") as file:
        start = file.read(16)
    return not start or start.startswith(b'{"v": ') or start == b"SQLite format 3\0"


def opened(path: Path) -> sqlite3.Connection:
    """A file of results, to read from; sqlite3.Error where there is none."""
    return sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)


def plain_cells(row: Mapping[str, Any]) -> dict[str, Any]:
    """Cells as JSON can say them."""
    return {name: _plain(cell) for name, cell in row.items()}


def _plain(cell: Any) -> Any:
    if isinstance(cell, float) and (cell != cell or cell in (float("inf"), float("-inf"))):
        return str(cell)
    return cell if cell is None or isinstance(cell, str | int | float | bool) else str(cell)
