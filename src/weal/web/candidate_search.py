"""All candidates with cells and predictions, in a file that pages search, filter and sort.

The worker writes it (`jobs.explore`): an SQLite file with a row for each candidate,

    n  id  y  mean  sd  low  high  c0 .. ck        y: mean of its labels; c: the cells as they came

and an index for each column, so that a page of it takes as long for 10^5 rows as for 100. Pages
follow one another by the last row of the one before (keyset paging): nothing is counted off. Where
the column that sorts is empty, rows come last, in the order of the table.
"""

import json
import math
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from weal.files import atomic_file
from weal.web.server_folder import is_result, open_results

CANDIDATES_FILE = "explore.db"
PAGE_ROWS = 50  # rows
PREDICTION_COLUMNS = ("id", "y", "mean", "sd", "low", "high")
MAX_INDEXED_COLUMNS = 40  # columns as they came that are sorted by an index


@dataclass(frozen=True, slots=True)
class CandidateQuery:
    """What is to be seen: where it is sorted by, which rows, and after which."""

    sort: str = "n"  # n, one of FIXED, or c0 .. ck
    down: bool = False
    text: str = ""  # in the id or a text cell
    only: str = ""  # "measured" or "open"
    bounds: tuple[tuple[str, float | None, float | None], ...] = ()  # column, least, most
    equal: tuple[tuple[str, str], ...] = ()  # column, its text
    after: tuple[Any, int] | None = None  # value and number of the last row before


@dataclass(frozen=True, slots=True)
class CandidatePage:
    """Rows that were wished for."""

    seq: int  # of the event that predictions are after
    columns: list[str]  # names of c0 .. ck
    rows: list[dict[str, Any]]
    count: int  # rows that fit, on all pages
    last: tuple[Any, int] | None  # to go on after; None: this is the end


def write(path: Path, seq: int, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write the file: a row is (id, y, mean, sd, low, high, cells ...)."""
    names = [*PREDICTION_COLUMNS, *(f"c{k}" for k in range(len(columns)))]
    spelt = ", ".join(names)
    with (
        atomic_file(path, is_result) as draft,
        closing(sqlite3.connect(draft, isolation_level=None)) as base,
    ):
        base.execute("PRAGMA journal_mode = OFF")
        base.execute(f"CREATE TABLE row (n INTEGER PRIMARY KEY, {spelt})")
        base.execute("CREATE TABLE about (name TEXT)")
        base.execute("BEGIN")
        marks = ", ".join("?" * len(names))
        plain = ([_plain(cell) for cell in row] for row in rows)
        base.executemany(f"INSERT INTO row ({spelt}) VALUES ({marks})", plain)
        base.executemany("INSERT INTO about VALUES (?)", [(name,) for name in columns])
        for name in names[: len(PREDICTION_COLUMNS) + MAX_INDEXED_COLUMNS]:
            base.execute(f"CREATE INDEX by_{name} ON row ({name})")
        base.execute(f"PRAGMA user_version = {seq}")
        base.execute("COMMIT")


def read(path: Path, wish: CandidateQuery) -> CandidatePage | None:
    """The page that is wished for; None where nothing is kept."""
    try:
        with closing(open_results(path)) as base:
            base.row_factory = sqlite3.Row
            columns = columns_of(base)
            seq = int(base.execute("PRAGMA user_version").fetchone()[0])
            where, given = _where(wish, columns)
            rows = _rows(base, wish, where, given)
            count = _count(str(path), path.stat().st_mtime_ns, where, tuple(given))
    except (sqlite3.Error, OSError):
        return None
    last = rows[PAGE_ROWS - 1] if len(rows) > PAGE_ROWS else None
    key = (last[wish.sort], last["n"]) if last is not None else None
    return CandidatePage(seq, columns, [dict(row) for row in rows[:PAGE_ROWS]], count, key)


def read_row(path: Path, id_: str) -> dict[str, Any] | None:
    """The row with this id, with its cells by name as `cells`; None where it is not kept."""
    try:
        with closing(open_results(path)) as base:
            base.row_factory = sqlite3.Row
            row = base.execute("SELECT * FROM row WHERE id = ?", (id_,)).fetchone()
            names = columns_of(base)
    except sqlite3.Error:
        return None
    return {**row, "cells": {name: row[f"c{k}"] for k, name in enumerate(names)}} if row else None


def written_after(path: Path) -> int | None:
    """The number of the event that the file is of; None where there is none."""
    try:
        with closing(open_results(path)) as base:
            return int(base.execute("PRAGMA user_version").fetchone()[0])
    except sqlite3.Error:
        return None


def columns_of(base: sqlite3.Connection) -> list[str]:
    """Names of the columns as they came."""
    return [str(row[0]) for row in base.execute("SELECT name FROM about ORDER BY rowid")]


def _where(wish: CandidateQuery, columns: Sequence[str]) -> tuple[str, list[Any]]:
    """The condition of a wish, and its values; columns are ours, never spelt by a browser."""
    known = {"n", *PREDICTION_COLUMNS, *(f"c{k}" for k in range(len(columns)))}
    parts, given = ["1"], list[Any]()
    if wish.text:
        like = "%" + wish.text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        fields = ["id", *(f"c{k}" for k in range(len(columns)))]
        parts.append("(" + " OR ".join(f"{one} LIKE ? ESCAPE '\\'" for one in fields) + ")")
        given += [like] * len(fields)
    if wish.only:
        parts.append("y IS NOT NULL" if wish.only == "measured" else "y IS NULL")
    for name, least, most in wish.bounds:
        for sign, bound in ((">=", least), ("<=", most)):
            if bound is not None and name in known:
                parts.append(f"typeof({name}) IN ('real', 'integer') AND {name} {sign} ?")
                given.append(bound)
    for name, text in wish.equal:
        if name in known:
            parts.append(f"CAST({name} AS TEXT) = ?")
            given.append(text)
    return " AND ".join(parts), given


def _rows(
    base: sqlite3.Connection, wish: CandidateQuery, where: str, given: list[Any]
) -> list[sqlite3.Row]:
    """One more than a page: those with a value first, then those without."""
    sort, sign, order = wish.sort, "<" if wish.down else ">", "DESC" if wish.down else "ASC"
    found: list[sqlite3.Row] = []
    if wish.after is None or wish.after[0] is not None:
        past, more = f" AND ({sort}, n) {sign} (?, ?)", [*(wish.after or ())]
        text = (
            f"SELECT * FROM row WHERE {where} AND {sort} IS NOT NULL{past if more else ''} "
            f"ORDER BY {sort} {order}, n {order} LIMIT ?"
        )
        found = base.execute(text, [*given, *more, PAGE_ROWS + 1]).fetchall()
    if len(found) <= PAGE_ROWS:
        start = wish.after[1] if wish.after is not None and wish.after[0] is None else 0
        text = f"SELECT * FROM row WHERE {where} AND {sort} IS NULL AND n > ? ORDER BY n LIMIT ?"
        found += base.execute(text, [*given, start, PAGE_ROWS + 1 - len(found)]).fetchall()
    return found


@lru_cache(maxsize=256)
def _count(path: str, written: int, where: str, given: tuple[Any, ...]) -> int:
    """Rows that fit; counted once for a file and a wish."""
    with closing(open_results(Path(path))) as base:
        return int(base.execute(f"SELECT count(*) FROM row WHERE {where}", given).fetchone()[0])


def _plain(cell: Any) -> Any:
    """A cell as SQLite keeps it; what is not finite is not there."""
    if isinstance(cell, float):
        return cell if math.isfinite(cell) else None
    if isinstance(cell, int) and not isinstance(cell, bool) and abs(cell) >= 2**63:
        return str(cell)
    if cell is None or isinstance(cell, int | bool):
        return cell
    return str(cell).encode("utf-8", "replace").decode()  # an old store may hold half a character


def spell_after(after: tuple[Any, int] | None) -> str:
    """Where to go on, as part of an address."""
    return json.dumps(after) if after is not None else ""


def read_after(text: str) -> tuple[Any, int] | None:
    """The same read back; None where it is none."""
    try:
        value, n = json.loads(text)
    except (ValueError, TypeError):
        return None
    good = isinstance(n, int) and not isinstance(n, bool) and 0 <= n < 2**62
    plain = (
        value is None
        or isinstance(value, str | float)
        or (isinstance(value, int) and abs(value) < 2**62)
    )
    return (value, n) if good and plain else None
