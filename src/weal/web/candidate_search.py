"""Search, filter and sort all candidates with their predictions, in an SQLite file.

The job `explore` writes a row for each candidate,

    n  id  y  mean  sd  low  high  c0 .. ck        y: mean of its labels; c: cells of the table

and an index for the columns that are mostly sorted by; sorting 10^5 rows by another one takes a
tenth of a second, and an index for each column would take longer to write than the predictions. A
page begins after the last row of the page before it (keyset paging). Rows without a value in the
sort column come last, in the order of the table.
"""

import json
import math
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from weal.files import atomic_file
from weal.web.server_folder import is_result, open_results

CANDIDATES_FILE = "explore.db"
PAGE_ROWS = 50
PREDICTION_COLUMNS = ("id", "y", "mean", "sd", "low", "high")
CACHE_KIB = 65_536  # of memory while the file is written
INDEXED_COLUMNS = ("id", "y", "mean", "sd")  # others are sorted as they are read
SqlValue = str | int | float | None
PageKey = tuple[SqlValue, int]  # sort value and number of the last row of a page


def candidates_file(quantity: int) -> str:
    """The name of the file of the predictions of a quantity, by its position."""
    return f"explore-{quantity}.db" if quantity else CANDIDATES_FILE


@dataclass(frozen=True, slots=True)
class CandidateQuery:
    """The sort order, the filters and the first row of a page."""

    sort: str = "n"  # n, one of PREDICTION_COLUMNS, or c0 .. ck
    down: bool = False
    text: str = ""  # part of the id or of a cell
    only: str = ""  # "measured" or "open"
    bounds: tuple[tuple[str, float | None, float | None], ...] = ()  # column, minimum, maximum
    equal: tuple[tuple[str, str], ...] = ()  # column, text
    after: PageKey | None = None  # None: the first page


@dataclass(frozen=True, slots=True)
class CandidatePage:
    """One page of the rows that match a query."""

    seq: int  # number of the last event that the predictions include
    columns: list[str]  # names of c0 .. ck
    rows: list[dict[str, SqlValue]]
    count: int  # matching rows on all pages
    last: PageKey | None  # where the next page begins; None: this is the last page


def write(path: Path, seq: int, columns: Sequence[str], cells: Sequence[list[Any]]) -> None:
    """Write the file; the cells of each column are id, y, mean, sd, low, high, cells ..."""
    names = [*PREDICTION_COLUMNS, *(f"c{k}" for k in range(len(columns)))]
    listed = ", ".join(names)
    with (
        atomic_file(path, is_result) as draft,
        closing(sqlite3.connect(draft, isolation_level=None)) as base,
    ):
        base.execute("PRAGMA journal_mode = OFF")
        base.execute("PRAGMA synchronous = OFF")  # the file is a cache, and moved when it is whole
        base.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        base.execute("PRAGMA temp_store = MEMORY")
        base.execute(f"CREATE TABLE row (n INTEGER PRIMARY KEY, {listed})")
        base.execute("CREATE TABLE about (name TEXT)")
        base.execute("BEGIN")
        marks = ", ".join("?" * len(names))
        rows = zip(*map(_plain_column, cells), strict=True)
        base.executemany(f"INSERT INTO row ({listed}) VALUES ({marks})", rows)
        base.executemany("INSERT INTO about VALUES (?)", [(name,) for name in columns])
        for name in INDEXED_COLUMNS:
            base.execute(f"CREATE INDEX by_{name} ON row ({name})")
        base.execute(f"PRAGMA user_version = {seq}")
        base.execute("COMMIT")


def read(path: Path, query: CandidateQuery) -> CandidatePage | None:
    """The page of a query; None where there is no file."""
    try:
        with closing(open_results(path)) as base:
            base.row_factory = sqlite3.Row
            columns = columns_of(base)
            seq = int(base.execute("PRAGMA user_version").fetchone()[0])
            where, given = _where(query, columns)
            rows = _rows(base, query, where, given)
            count = _count(str(path), path.stat().st_mtime_ns, where, tuple(given))
    except (sqlite3.Error, OSError):
        return None
    last = rows[PAGE_ROWS - 1] if len(rows) > PAGE_ROWS else None
    key = (last[query.sort], last["n"]) if last is not None else None
    return CandidatePage(seq, columns, [dict(row) for row in rows[:PAGE_ROWS]], count, key)


def read_row(path: Path, id_: str) -> dict[str, object] | None:
    """The row with this id, its cells by name under `cells`; None where it is not in the file."""
    try:
        with closing(open_results(path)) as base:
            base.row_factory = sqlite3.Row
            row = base.execute("SELECT * FROM row WHERE id = ?", (id_,)).fetchone()
            names = columns_of(base)
    except sqlite3.Error:
        return None
    return {**row, "cells": {name: row[f"c{k}"] for k, name in enumerate(names)}} if row else None


def last_event(path: Path) -> int | None:
    """The number of the last event that the file includes; None where there is no file."""
    try:
        with closing(open_results(path)) as base:
            return int(base.execute("PRAGMA user_version").fetchone()[0])
    except sqlite3.Error:
        return None


def columns_of(base: sqlite3.Connection) -> list[str]:
    """Names of the columns of the table."""
    return [str(row[0]) for row in base.execute("SELECT name FROM about ORDER BY rowid")]


def _where(query: CandidateQuery, columns: Sequence[str]) -> tuple[str, list[SqlValue]]:
    """The SQL condition of a query and its values; only known column names enter the SQL."""
    known = {"n", *PREDICTION_COLUMNS, *(f"c{k}" for k in range(len(columns)))}
    parts, given = ["1"], list[SqlValue]()
    if query.text:
        like = "%" + query.text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        fields = ["id", *(f"c{k}" for k in range(len(columns)))]
        parts.append("(" + " OR ".join(f"{one} LIKE ? ESCAPE '\\'" for one in fields) + ")")
        given += [like] * len(fields)
    if query.only:
        parts.append("y IS NOT NULL" if query.only == "measured" else "y IS NULL")
    for name, least, most in query.bounds:
        for sign, bound in ((">=", least), ("<=", most)):
            if bound is not None and name in known:
                parts.append(f"typeof({name}) IN ('real', 'integer') AND {name} {sign} ?")
                given.append(bound)
    for name, text in query.equal:
        if name in known:
            parts.append(f"CAST({name} AS TEXT) = ?")
            given.append(text)
    return " AND ".join(parts), given


def _rows(
    base: sqlite3.Connection, query: CandidateQuery, where: str, given: list[SqlValue]
) -> list[sqlite3.Row]:
    """The rows of a page and one more: rows with a sort value first, then the others."""
    sort, sign, order = query.sort, "<" if query.down else ">", "DESC" if query.down else "ASC"
    found: list[sqlite3.Row] = []
    if query.after is None or query.after[0] is not None:
        past, more = f" AND ({sort}, n) {sign} (?, ?)", [*(query.after or ())]
        text = (
            f"SELECT * FROM row WHERE {where} AND {sort} IS NOT NULL{past if more else ''} "
            f"ORDER BY {sort} {order}, n {order} LIMIT ?"
        )
        found = base.execute(text, [*given, *more, PAGE_ROWS + 1]).fetchall()
    if len(found) <= PAGE_ROWS:
        start = query.after[1] if query.after is not None and query.after[0] is None else 0
        text = f"SELECT * FROM row WHERE {where} AND {sort} IS NULL AND n > ? ORDER BY n LIMIT ?"
        found += base.execute(text, [*given, start, PAGE_ROWS + 1 - len(found)]).fetchall()
    return found


@lru_cache(maxsize=256)
def _count(path: str, written: int, where: str, given: tuple[SqlValue, ...]) -> int:
    """The number of matching rows, counted once for a file and a query."""
    with closing(open_results(Path(path))) as base:
        return int(base.execute(f"SELECT count(*) FROM row WHERE {where}", given).fetchone()[0])


def _plain_column(cells: list[Any]) -> list[SqlValue]:
    """The cells of a column as SQLite stores them; those of finite numbers as they are."""
    kinds = set(map(type, cells)) - {type(None)}
    if kinds <= {float} and all(map(math.isfinite, filter(None, cells))):
        return cells
    if kinds <= {str} and _is_unicode("".join(filter(None, cells))):
        return cells
    return list(map(_plain, cells))


def _is_unicode(text: str) -> bool:
    """Whether a text has no lone surrogate, which an old store may hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _plain(cell: object) -> SqlValue:
    """A cell as SQLite stores it; None where it is not finite."""
    if isinstance(cell, float):
        return cell if math.isfinite(cell) else None
    if isinstance(cell, int) and not isinstance(cell, bool) and abs(cell) >= 2**63:
        return str(cell)
    if cell is None or isinstance(cell, int | bool):
        return cell
    return str(cell).encode("utf-8", "replace").decode()  # an old store may hold a lone surrogate


def write_after(after: PageKey | None) -> str:
    """The key of a page as text for a URL."""
    return json.dumps(after) if after is not None else ""


def read_after(text: str) -> PageKey | None:
    """The key of a page from a URL; None where it is not valid."""
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
