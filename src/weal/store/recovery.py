"""Backup of a SQLite store, and recovery from a damaged one.

Backup copies a store at one moment, while others write; to restore a backup, open it. SQLite
copies the pages (its backup API, never a file copy), `integrity` checks the copy, and only a sound
copy gets its name. `force` replaces an existing store, and no other file. For PostgreSQL use the
server's own tools.

Recovery saves every event, label and candidate that a damaged SQLite file still has. SQLite never
opens the damaged file itself, but two copies of it:

    as it is         with its journal; the first bytes of its header and its length are repaired,
                     and a lost page becomes an empty one
    new first page   the same with the first page of a new store, which says where each table
                     begins; that is the same in every store

Rows are read in order until a read fails, then one by one; columns may be missing. For each event,
the chain of hashes says whether to trust it:

    yes     the row is as it was written: its hash follows from the row before
    no      the row was changed, or the row before it was
    alone the row before it is lost, so the hash cannot be checked

The report counts the rows that were found and the rows that are known to be lost.
"""

import csv
import hashlib
import json
import os
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from weal.errors import DamagedStore, WealError
from weal.files import atomic_file
from weal.store import sqlite_file
from weal.store.events import SqlRow, hash_event
from weal.store.integrity import Finding, examine_file
from weal.store.sqlite import translate_errors
from weal.store.urls import read_name
from weal.tables.text_records import escape


def backup(
    url: str | PathLike[str] | None, to: str | PathLike[str], force: bool = False
) -> list[Finding]:
    """Copy the store to a new file; returns the findings of the integrity check."""
    name, place = read_name(url), Path(to).expanduser().absolute()
    if name.kind != "sqlite":
        raise WealError(
            f"{name.shown} is not a file: copy it with pg_dump, restore the dump into a database "
            "of its own, and look at it with `weal doctor`"
        )
    source = Path(name.address)
    _check(source, place, name.shown, force)
    try:
        with atomic_file(place, sqlite_file.is_store if force else False) as draft:
            try:
                return _copy_and_check(source, draft, name.shown)
            finally:
                for end in ("-journal", "-wal", "-shm"):  # SQLite's own, beside the draft
                    Path(f"{draft}{end}").unlink(missing_ok=True)
    except FileExistsError:
        raise _there(place) from None
    except OSError as error:
        raise OSError(error.errno or 0, error.strerror or str(error), str(place)) from error


def _copy_and_check(source: Path, draft: Path, shown: str) -> list[Finding]:
    """Copy and check; an error if the copy is damaged."""
    with translate_errors(shown):
        sqlite_file.copy_pages(source, draft)
    found = examine_file(draft, f"the copy of {shown}")
    if wrong := [str(one) for one in found if one.level == "broken"]:
        raise DamagedStore(f"{shown} was not copied, since it is damaged: {wrong[0]}")
    return found


def _check(source: Path, place: Path, shown: str, force: bool) -> None:
    if not source.is_file() or not source.stat().st_size:
        raise WealError(f"there is no store {shown} to copy")
    if not place.parent.is_dir():
        raise ValueError(f"there is no folder {place.parent} to write {place.name} to")
    if place.exists() and place.samefile(source):
        raise ValueError(f"{place} is the store itself: name another file for the copy")
    if os.path.lexists(place) and not force:
        raise _there(place)
    for beside in (Path(f"{place}{end}") for end in ("-journal", "-wal")):
        if os.path.lexists(beside) and beside.lstat().st_size:
            raise ValueError(
                f"{beside} belongs to a store that was at {place} and was not closed; it would "
                "damage the copy: open that store once with weal, or name another file"
            )


def _there(place: Path) -> ValueError:
    return ValueError(
        f"there is a file {place} already; name another, or use force (--force) to replace it"
    )


_MAGIC = b"SQLite format 3\0"
_MAX_LENGTH_RATIO = 100  # times: a length beyond that is a damaged number
_PAGE_SIZES = tuple(1 << n for n in range(9, 17))


def readable_copies(path: Path, folder: Path) -> Iterator[sqlite3.Connection]:
    """Connections to temporary copies: as it is, then with a new first page."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".copy-") as name:
        for repair in (_repair_header, _replace_first_page):
            copy = Path(name) / f"{repair.__name__}.db"
            for end in ("", "-journal", "-wal"):
                beside = path.with_name(path.name + end)
                if beside.is_file() and (repair is _repair_header or not end):
                    shutil.copyfile(beside, copy.with_name(copy.name + end))
            repair(copy)
            with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
                connection.text_factory = lambda raw: raw.decode("utf-8", "backslashreplace")
                with suppress(sqlite3.Error, UnicodeDecodeError):
                    connection.execute("PRAGMA trusted_schema=OFF")
                    connection.execute("PRAGMA writable_schema=ON")  # reads past a damaged table
                yield connection


def _repair_header(copy: Path) -> None:
    with copy.open("r+b") as file:
        header = file.read(100)
        if len(header) < 100:
            return
        size, pages = _page_size(header), int.from_bytes(header[28:32], "big")
        file.seek(0)
        file.write(_MAGIC)
        length = file.seek(0, 2)
        if length < pages * size < _MAX_LENGTH_RATIO * max(length, 1 << 20):
            file.truncate(pages * size)


def _replace_first_page(copy: Path) -> None:
    with copy.open("r+b") as file:
        size = _page_size(file.read(100))
        pages = -(-file.seek(0, 2) // size)
        first = bytearray(_first_page(copy.with_name("first.db"), size))
        first[28:32] = pages.to_bytes(4, "big")
        first[92:96] = first[24:28]  # so that SQLite uses the number of pages
        file.seek(0)
        file.write(first)
        file.truncate(max(pages, 1) * size)


def _first_page(path: Path, size: int) -> bytes:
    """The first page of a new store."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA page_size={size}")
        sqlite_file.build(connection)
    return path.read_bytes()[:size]


def _page_size(header: bytes) -> int:
    """The page size in the header; 4096 if that is invalid."""
    said = int.from_bytes(header[16:18], "big")
    size = 65536 if said == 1 else said
    return size if size in _PAGE_SIZES else 4096


RECOVERED_FIELDS = ("campaign", "seq", "kind", "id", "body", "who", "time", "key", "hash")
_EXTRA_ROWIDS = 100  # numbers to try after the last known one
_SMALLEST = 64  # bytes of an event: a number too large for the file is damaged
_READ_ERRORS = (sqlite3.Error, MemoryError, OverflowError, ValueError)
Place = tuple[str, int]
Rows = dict[Place, SqlRow]


@dataclass(frozen=True, slots=True)
class RecoveryReport:
    """The recovered files and their counts."""

    paths: list[Path]
    events: int
    vouched: int  # of the events: with a valid chain of hashes
    missing: int  # events that are known to have been there
    labels: int
    candidates: int  # ids
    chunks: int
    changed: int  # chunks that differ from what was added

    def __str__(self) -> str:
        lost = f", {self.missing} more are lost" if self.missing else ""
        odd = f", {self.changed} of them changed" if self.changed else ""
        return (
            f"{self.events} events ({self.vouched} with valid hashes{lost}), {self.labels} labels, "
            f"{self.candidates} ids of candidates, {self.chunks} chunks{odd}"
        )


@dataclass(slots=True)
class _RecoveredRows:
    """The rows that were read so far."""

    room: int
    rows: Rows = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)  # the highest number known, by campaign
    ids: Rows = field(default_factory=dict)
    chunks: Rows = field(default_factory=dict)


def recover(url: str | PathLike[str] | None, folder: str | PathLike[str]) -> RecoveryReport:
    """Write the readable rows to events.jsonl, labels.csv, ids.csv and chunk-*.parquet.

    Nobody should use the store meanwhile.
    """
    name, folder = read_name(url), Path(folder)
    if name.kind != "sqlite":
        raise WealError(f"{name.shown}: only SQLite files can be recovered; restore a dump")
    path = Path(name.address)
    if not path.is_file():
        raise WealError(f"there is no file {name.shown}, so nothing can be recovered")
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise WealError(f"{folder} has files in it: name an empty or a new folder")
    found = _RecoveredRows(path.stat().st_size // _SMALLEST)
    for connection in readable_copies(path, folder):
        whole = _read(connection, found)
        if whole and found.rows:
            break
    return _write_recovered(folder, found)


def _read(connection: sqlite3.Connection, found: _RecoveredRows) -> bool:
    """Add all readable rows; True if no statement failed."""
    whole = _scan(connection, found.rows, "SELECT * FROM weal_event", RECOVERED_FIELDS)
    heads: Rows = {}
    whole &= _scan(connection, heads, "SELECT name AS campaign, last AS seq FROM weal_campaign", ())
    _scan(connection, heads, "SELECT campaign, seq FROM weal_event INDEXED BY weal_event_id"
          " WHERE id IS NOT NULL", ())  # fmt: skip
    for campaign, seq in (*heads, *found.rows):
        if 0 < seq <= found.room:
            found.last[campaign] = max(found.last.get(campaign, 0), seq)
    if not whole:
        _one_by_one(connection, found)
    whole &= _scan(connection, found.ids, "SELECT campaign, 0 AS seq, id FROM weal_candidate",
                   ("campaign", "id"), by_id=True)  # fmt: skip
    return whole & _read_chunks(connection, found.chunks)


def _one_by_one(connection: sqlite3.Connection, found: _RecoveredRows) -> None:
    """Read rows one by one, and unreadable rows column by column."""
    places: Rows = {}
    _scan(connection, places, "SELECT campaign, seq FROM weal_event", ())
    likely = [
        (name, seq) for name, last in found.last.items() for seq in range(1, last + _EXTRA_ROWIDS)
    ]
    one = "SELECT {} FROM weal_event WHERE campaign = ? AND seq = ?"
    for place in dict.fromkeys((*places, *likely)):
        if place not in found.rows:
            _scan(connection, found.rows, one.format("*"), RECOVERED_FIELDS, place)
        if place in found.rows:
            continue
        parts = [_cell(connection, one.format(column), place) for column in RECOVERED_FIELDS]
        if place in places or any(parts):
            found.rows[place] = (*place, *parts[2:])


def _cell(connection: sqlite3.Connection, text: str, place: Place) -> object:
    try:
        row = connection.execute(text, place).fetchone()
    except _READ_ERRORS:
        return None
    return row[0] if row else None


def _read_chunks(connection: sqlite3.Connection, chunks: Rows) -> bool:
    places: Rows = {}
    whole = _scan(connection, places, "SELECT campaign, number AS seq FROM weal_chunk", ())
    text = "SELECT campaign, number AS seq, sha256, data FROM weal_chunk WHERE campaign = ?"
    for place in places:
        whole &= _scan(connection, chunks, f"{text} AND number = ?", ("sha256", "data"), place)
    return whole


def _scan(
    connection: sqlite3.Connection,
    found: dict[Any, SqlRow],
    text: str,
    wanted: Sequence[str],
    values: Sequence[object] = (),
    by_id: bool = False,
) -> bool:
    """Add the wanted columns of the rows of a query until it fails; True if it did not."""
    try:
        cursor = connection.execute(text, values)
        names = [column[0] for column in cursor.description or ()]
        for row in cursor:
            about = dict(zip(names, row, strict=True))
            place = (about.get("campaign"), about.get("id" if by_id else "seq"))
            if isinstance(place[0], str) and isinstance(place[1], str if by_id else int):
                found.setdefault(place, tuple(about.get(name) for name in wanted))
    except _READ_ERRORS:
        return False
    return set(wanted) <= set(names)


def trust_of_events(rows: Rows, row: SqlRow) -> str:
    """Whether the chain of hashes confirms this row: yes, no, or alone."""
    before = rows.get((row[0], row[1] - 1))
    if before is None and row[1] != 1:
        return "alone"
    previous = "" if before is None else before[-1]
    try:
        return "yes" if hash_event(previous, row[:-1]) == row[-1] else "no"
    except (TypeError, ValueError):  # a value of a type that no event has
        return "no"


def _write_recovered(folder: Path, found: _RecoveredRows) -> RecoveryReport:
    rows = dict(sorted(found.rows.items()))
    trusts = {place: trust_of_events(rows, row) for place, row in rows.items()}
    labels = [row for row in rows.values() if row[2] in ("told", "corrected")]
    paths = [folder / name for name in ("events.jsonl", "labels.csv", "ids.csv")]
    with paths[0].open("x", encoding="utf-8") as file:
        for place, row in rows.items():
            about = {**dict(zip(RECOVERED_FIELDS, row, strict=True)), "vouched": trusts[place]}
            file.write(json.dumps(about, default=repr) + "\n")
    header = ("campaign", "seq", "kind", "id", "quantity", "label",
              "noise", "note", "who", "time", "vouched")  # fmt: skip
    _table(paths[1], header, (_label(row, trusts[row[0], row[1]]) for row in labels))
    _table(paths[2], ("campaign", "id"), sorted(map(tuple, found.ids.values())))
    chunks = list(_write_chunks(folder, found.chunks))
    there = Counter(campaign for campaign, _ in rows)
    missing = sum(max(0, last - there[campaign]) for campaign, last in found.last.items())
    vouched = sum(word == "yes" for word in trusts.values())
    changed = sum("changed" in path.name for path in chunks)
    counts = (len(rows), vouched, missing, len(labels), len(found.ids), len(chunks), changed)
    return RecoveryReport([*paths, *chunks], *counts)


def _table(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("x", encoding="utf-8", errors="backslashreplace", newline="") as file:
        table = csv.writer(file)
        table.writerow(header)
        for row in rows:
            table.writerow([escape(cell) if isinstance(cell, str) else cell for cell in row])


def _label(row: SqlRow, vouched: str) -> SqlRow:
    try:
        body = json.loads(row[4])
    except (TypeError, ValueError, RecursionError):
        body = {}
    body = body if isinstance(body, dict) else {}
    own = (body.get("quantity"), body.get("y"), body.get("noise"), body.get("note"))
    return (*row[:4], *own, *row[5:7], vouched)


def _write_chunks(folder: Path, chunks: Rows) -> Iterator[Path]:
    """Write the chunks as Parquet files; `-changed` marks a wrong checksum."""
    for number, (_, (expected, data)) in enumerate(sorted(chunks.items())):
        if not isinstance(data, bytes):
            continue
        right = hashlib.sha256(data).hexdigest() == expected
        path = folder / f"chunk-{number}{'' if right else '-changed'}.parquet"
        with path.open("xb") as file:
            file.write(data)
        yield path
