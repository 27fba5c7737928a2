"""A task out of a user's own labelled table, to see before spending money whether it would pay.

    columns    those of numbers are the inputs; text, constant and empty ones are left out
    rows       those with an empty or infinite cell are left out
    sizes      of N rows: test N/4 (10 .. 1000), validation N/10 (5 .. 50), first labels N/20
               (5 .. 20), candidates the rest (up to 2000; further rows vary from realisation to
               realisation)

Whatever is left out is said in the notes that come back with the task; what cannot be used at all
(no such column, a target of text or of one value, too few rows) is a ValueError. A cell is empty
when it is blank or one of NA, N/A, NaN, null, None. CSV needs nothing but Python; the separator
is the one of , ; and tab that the header has most of. Parquet needs pyarrow.
"""

import csv
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from weal.bench.cache import fingerprint
from weal.bench.places import Folder
from weal.bench.tasks import Task
from weal.core.arrays import Array

MIN_ROWS = 40
ETA = 20.0  # the middle of the paper's Table 1
_EMPTY = {"", "na", "n/a", "nan", "null", "none"}
_SEPARATORS = ",;\t"
_NAMES_SHOWN = 20

Columns = Mapping[str, Array | str]  # numbers (N,), or in words why it is not of numbers


@dataclass(frozen=True, slots=True, eq=False)
class OwnRows:
    """Rows of the user's table, held in memory, drawn without replacement."""

    X: Array  # (N, d)
    y: Array  # (N,)
    columns: tuple[str, ...]  # d names
    target: str
    path: str

    def sample(
        self, rng: np.random.Generator, n: int, folder: Folder = None
    ) -> tuple[Array, Array]:
        """Rows, n of them, all different and in random order: X (n, d) and y (n,)."""
        rows = rng.choice(len(self.y), n, replace=False)
        return self.X[rows], self.y[rows]

    def where(self, folder: Folder = None) -> str:
        """The file it was read from."""
        return self.path


def task_from_file(path: str | os.PathLike[str], target: str) -> tuple[Task, tuple[str, ...]]:
    """A task out of a CSV or Parquet file, and notes on what was left out of it."""
    path = Path(path).expanduser()
    columns = read_columns(path)
    y = _target(columns, target, path)
    names, notes = _inputs(columns, target)
    if not names:
        raise ValueError(f"{path} has no column of numbers beside {target!r} to learn from")
    X = np.column_stack([columns[name] for name in names]).astype(np.float64)
    X, y, dropped = _whole_rows(X, y)
    notes += [f"left out {dropped} rows with an empty or infinite cell"] if dropped else []
    _check_rows(y, dropped, target, path)
    return _task(OwnRows(X, y, tuple(names), target, str(path))), tuple(notes)


def sizes(n: int) -> tuple[int, int, int, int]:
    """L0, V, U0 and test for a table of n rows.

    >>> sizes(40), sizes(1000), sizes(100_000)
    ((5, 5, 20, 10), (20, 50, 680, 250), (20, 50, 2000, 1000))
    """
    test, V, L0 = min(max(n // 4, 10), 1000), min(max(n // 10, 5), 50), min(max(n // 20, 5), 20)
    return L0, V, min(n - test - V - L0, 2000), test


def read_columns(path: Path) -> Columns:
    """Every column of a CSV or Parquet file, by name; ValueError when it cannot be read."""
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    parquet = path.suffix.lower() in (".parquet", ".pq")
    try:
        return _read_parquet(path) if parquet else _read_csv(path)
    except (OSError, csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def _read_csv(path: Path) -> Columns:
    with path.open(encoding="utf-8-sig", newline="") as file:
        header = file.readline()
        file.seek(0)
        rows = [
            row for row in csv.reader(file, delimiter=max(_SEPARATORS, key=header.count)) if row
        ]
    if not rows:
        raise ValueError(f"{path} is empty; its first line must name the columns")
    names = [name.strip() for name in rows[0]]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"{path} has two columns of the same name: {', '.join(map(repr, twice))}")
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(names):
            raise ValueError(f"row {number} of {path} has {len(row)} cells, not {len(names)}")
    cells = zip(*rows[1:], strict=True) if len(rows) > 1 else [()] * len(names)
    return {name: _numbers(column) for name, column in zip(names, cells, strict=True)}


def _numbers(cells: tuple[str, ...]) -> Array | str:
    """The cells as numbers (N,), NaN where empty; or, in words, the first that is none."""
    out = np.full(len(cells), np.nan)
    for i, cell in enumerate(cells):
        if cell.strip().lower() in _EMPTY:
            continue
        try:
            out[i] = float(cell)
        except ValueError:
            return f"text, such as {cell[:40]!r}"
    return out


def _read_parquet(path: Path) -> Columns:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError as error:
        raise ValueError(
            f'{path} is Parquet, which needs pyarrow: pip install "weal[frames]"'
        ) from error
    try:
        table = pq.read_table(path)
    except pa.ArrowException as error:
        raise ValueError(f"{path} cannot be read as Parquet: {error}") from error
    return {name: _arrow_numbers(pa, table[name]) for name in table.column_names}


def _arrow_numbers(pa: Any, column: Any) -> Array | str:
    """The column as numbers (N,), NaN where null; or, in words, its type when not of numbers."""
    kind = column.type
    is_a = pa.types
    if not (is_a.is_integer(kind) or is_a.is_floating(kind) or is_a.is_boolean(kind)):
        return f"of type {kind}"
    if is_a.is_boolean(kind):
        column = column.cast("int8")
    numbers = column.cast("float64", safe=False).to_numpy()  # null becomes NaN
    return np.array(numbers, dtype=np.float64)


def _target(columns: Columns, target: str, path: Path) -> Array:
    if target not in columns:
        names = list(columns)
        shown = ", ".join(names[:_NAMES_SHOWN]) + (", ..." if len(names) > _NAMES_SHOWN else "")
        raise ValueError(f"{path} has no column {target!r}; it has {shown}")
    y = columns[target]
    if isinstance(y, str):
        raise ValueError(f"the target {target!r} of {path} must be numbers, but it is {y}")
    return y


def _inputs(columns: Columns, target: str) -> tuple[list[str], list[str]]:
    """Names of the usable input columns, and notes on the others."""
    names, notes = [], []
    for name, column in columns.items():
        if name == target:
            continue
        why = column if isinstance(column, str) else _useless(column)
        if why:
            notes.append(f"left out column {name!r}: {why}")
        else:
            names.append(name)
    return names, notes


def _useless(column: Array) -> str | None:
    known = column[np.isfinite(column)]
    if not known.size:
        return "empty"
    return "the same value in every row" if np.ptp(known) == 0 else None


def _whole_rows(X: Array, y: Array) -> tuple[Array, Array, int]:
    """The rows without an empty or infinite cell, read-only, and how many were left out."""
    whole = np.isfinite(y) & np.isfinite(X).all(axis=1)
    X, y = X[whole], y[whole]
    for array in (X, y):
        array.flags.writeable = False
    return X, y, int((~whole).sum())


def _check_rows(y: Array, dropped: int, target: str, path: Path) -> None:
    if len(y) < MIN_ROWS:
        aside = f" (beside {dropped} with an empty or infinite cell)" if dropped else ""
        raise ValueError(
            f"{path} has {len(y)} usable rows{aside}; a simulation needs {MIN_ROWS} at the least"
        )
    if np.ptp(y) == 0:
        raise ValueError(f"the target {target!r} of {path} is {y[0]:g} in every row")


def _task(points: OwnRows) -> Task:
    """The key of the splits comes from the content: another table, another split."""
    n, d = points.X.shape
    names = {"columns": points.columns, "target": points.target}
    number = int(fingerprint(names, points.X, points.y)[:8], 16)
    L0, V, U0, test = sizes(n)
    return Task(
        name=Path(points.path).stem,
        number=number,
        title=f"{Path(points.path).name}: {points.target}",
        group="own",
        source="your own table",
        get="nothing to get: it is your file",
        points=points,
        d=d,
        L0=L0,
        V=V,
        U0=U0,
        test=test,
        eta=ETA,
        rows=n,
    )
