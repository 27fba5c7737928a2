"""What can be saved from a damaged SQLite file: every event and label that can still be read.

The damaged file is not written, nor opened by SQLite: a copy of it is, with its journal, and with
its first bytes and its length put right where they are not. Rows are read in order as far as that
goes, then one by one. For each row the chain of hashes says how far to trust it:

    yes     the row is what was written: its hash follows from the row before
    no      the row was changed, or the row before it was
    alone   the row before it is lost, so that nothing can be said
"""

import csv
import hashlib
import json
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from weal.errors import WealError
from weal.store.events import seal
from weal.store.sqlite import path_of
from weal.store.store import mask

FIELDS = ("campaign", "seq", "kind", "id", "body", "who", "time", "key", "hash")
_ALL = f"SELECT {', '.join(FIELDS)} FROM weal_event ORDER BY campaign, seq"
_ONE = f"SELECT {', '.join(FIELDS)} FROM weal_event WHERE campaign = ? AND seq = ?"
_MAGIC = b"SQLite format 3\0"
_BEYOND = 100  # numbers to look at after the last one that is known
Place = tuple[str, int]


def rescue(url: str, folder: str | Path) -> list[Path]:
    """Write what can still be read to events.jsonl, labels.csv and chunk-*.parquet in the folder.

    The files that were written come back. Nobody should use the store meanwhile.
    """
    if url.startswith("postgres"):
        raise WealError(f"{mask(url)}: only SQLite files can be rescued; restore the server's dump")
    path, folder = path_of(url), Path(folder)
    if not path.is_file():
        raise WealError(f"{url} is not there: nothing can be saved from it")
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise WealError(f"{folder} has files in it: name an empty or a new folder")
    with _copy(path, folder) as connection:
        rows = _rows(connection)
        written = [_write_events(folder, rows), _write_labels(folder, rows)]
        return [*written, *_write_chunks(folder, connection)]


@contextmanager
def _copy(path: Path, folder: Path) -> Iterator[sqlite3.Connection]:
    with tempfile.TemporaryDirectory(dir=folder, prefix=".copy-") as name:
        copy = Path(name) / "copy.db"
        for end in ("", "-journal", "-wal"):
            beside = path.with_name(path.name + end)
            if beside.is_file():
                shutil.copyfile(beside, copy.with_name(copy.name + end))
        _mend(copy)
        with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
            connection.text_factory = lambda raw: raw.decode("utf-8", "backslashreplace")
            yield connection


def _mend(copy: Path) -> None:
    """Put the first bytes of the header and the length right; a lost page becomes an empty one."""
    with copy.open("r+b") as file:
        header = file.read(100)
        if len(header) < 100:
            return
        size = int.from_bytes(header[16:18], "big")
        pages = int.from_bytes(header[28:32], "big")
        file.seek(0)
        file.write(_MAGIC)
        length = file.seek(0, 2)
        wanted = pages * (65536 if size == 1 else size)
        if length < wanted < 100 * max(length, 1 << 20):
            file.truncate(wanted)


def _rows(connection: sqlite3.Connection) -> dict[Place, Sequence[Any]]:
    """All rows of events that can be read, by campaign and number."""
    found: dict[Place, Sequence[Any]] = {}
    if not _scan(connection, found, _ALL):
        for name, last in _known(connection, found).items():
            for seq in range(1, last + _BEYOND):
                if (name, seq) not in found:
                    _scan(connection, found, _ONE, (name, seq))
    return dict(sorted(found.items()))


def _scan(
    connection: sqlite3.Connection,
    found: dict[Place, Sequence[Any]],
    text: str,
    values: Sequence[Any] = (),
) -> bool:
    """Add the rows that this statement answers until it fails; whether it did not."""
    try:
        for row in connection.execute(text, values):
            if isinstance(row[0], str) and isinstance(row[1], int):
                found.setdefault((row[0], row[1]), row)
    except (sqlite3.Error, MemoryError, OverflowError):
        return False
    return True


def _known(connection: sqlite3.Connection, found: dict[Place, Sequence[Any]]) -> dict[str, int]:
    """Names of campaigns, and the last number that is known of each."""
    last: dict[str, int] = {}
    places = list(found)
    for source in (
        "SELECT name, last FROM weal_campaign",
        "SELECT campaign, seq FROM weal_event INDEXED BY weal_event_id WHERE id IS NOT NULL",
    ):
        heads: dict[Place, Sequence[Any]] = {}
        _scan(connection, heads, source)
        places += heads
    for name, seq in places:
        last[name] = max(last.get(name, 0), seq if seq < 1 << 24 else 0)
    return last


def trust(rows: dict[Place, Sequence[Any]], row: Sequence[Any]) -> str:
    """Whether the chain vouches for this row: yes, no, or alone."""
    before = rows.get((row[0], row[1] - 1))
    if before is None and row[1] != 1:
        return "alone"
    previous = "" if before is None else before[-1]
    try:
        return "yes" if seal(previous, row[:-1]) == row[-1] else "no"
    except (TypeError, ValueError):  # a value of a kind that no event has
        return "no"


def _write_events(folder: Path, rows: dict[Place, Sequence[Any]]) -> Path:
    path = folder / "events.jsonl"
    with path.open("x", encoding="utf-8") as file:
        for row in rows.values():
            about = {**dict(zip(FIELDS, row, strict=True)), "vouched": trust(rows, row)}
            file.write(json.dumps(about, default=repr) + "\n")
    return path


def _write_labels(folder: Path, rows: dict[Place, Sequence[Any]]) -> Path:
    path = folder / "labels.csv"
    with path.open("x", encoding="utf-8", errors="backslashreplace", newline="") as file:
        table = csv.writer(file)
        table.writerow(
            ("campaign", "seq", "kind", "id", "label", "noise", "note", "who", "time", "vouched")
        )
        for row in rows.values():
            if row[2] in ("told", "corrected"):
                body = _body(row[4])
                label = (body.get("y"), body.get("noise"), body.get("note"))
                table.writerow((*row[:4], *label, row[5], row[6], trust(rows, row)))
    return path


def _body(text: Any) -> dict[str, Any]:
    try:
        body = json.loads(text)
    except (TypeError, ValueError):
        return {}
    return body if isinstance(body, dict) else {}


def _write_chunks(folder: Path, connection: sqlite3.Connection) -> list[Path]:
    """The chunks of candidates whose sha256 is right, as Parquet files."""
    written: list[Path] = []
    places: dict[Place, Sequence[Any]] = {}
    _scan(connection, places, "SELECT campaign, number FROM weal_chunk")
    for place in places:
        rows: dict[Place, Sequence[Any]] = {}
        text = "SELECT campaign, number, sha256, data FROM weal_chunk WHERE campaign = ?"
        _scan(connection, rows, f"{text} AND number = ?", place)
        for _, _, expected, data in rows.values():
            if isinstance(data, bytes) and hashlib.sha256(data).hexdigest() == expected:
                written.append(folder / f"chunk-{len(written)}.parquet")
                written[-1].write_bytes(data)
    return written
