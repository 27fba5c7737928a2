"""A benchmark task from a user's own labelled table, for `weal simulate`.

    columns    as a campaign uses them (`weal.tables.plan`): numbers, flags, dates and categories
               become inputs, missing cells are imputed; other columns are left out
    rows       rows without a label are left out
    sizes      of N rows: test N/4 (10 .. 1000), validation N/10 (5 .. 50), first labels N/20
               (5 .. 20), candidates the rest (up to 2000; larger tables are sampled for each
               realisation)

Notes that come with the task list everything that is left out. A table that cannot be used (no such
column, a target of text or of one value, too few rows, infinite cells) is a ValueError.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from weal.benchmark.data_folders import Folder, fingerprint
from weal.benchmark.tasks import Task
from weal.core.arrays import Array
from weal.tables.columns import row_ids, row_labels
from weal.tables.input_columns import find_results
from weal.tables.plan import TablePlan, encode, make_plan
from weal.tables.table import read_table
from weal.tables.table_error import TableError
from weal.tables.table_options import TableOptions

MIN_TABLE_ROWS = 40
ETA = 20.0  # the middle of the paper's Table 1


@dataclass(frozen=True, slots=True, eq=False)
class OwnRows:
    """Rows of the user's table in memory, drawn without replacement."""

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


def task_from_table(
    source: object, target: str, options: TableOptions | None = None
) -> tuple[Task, tuple[str, ...]]:
    """A task from a file (CSV, Parquet, Excel) or a frame, and notes on what is left out of it."""
    points, notes = points_from_table(source, target, options)
    return task_of(points), notes


def points_from_table(
    source: object, target: str, options: TableOptions | None = None
) -> tuple[OwnRows, tuple[str, ...]]:
    """The labelled rows of a file or a frame, and the notes."""
    path = Path("table")
    if isinstance(source, str | os.PathLike):
        source = path = Path(source).expanduser()
    how = replace(options or TableOptions(), target=target)
    table = read_table(source, how, leave_out=True)
    with _errors_with(path):
        y = row_labels(table, target, row_ids(table, None))
    labelled = np.flatnonzero(~np.isnan(y))
    dropped = table.n - len(labelled)
    _check_rows(y[labelled], dropped, target, path)
    ids = [how.id_column] if how.id_column else []
    own = [name for name in table.columns if name not in (target, *how.types, *how.also_inputs)]
    aside = dict.fromkeys([*find_results(table, target, own), *ids], "drop")
    how = replace(how, id_column=None, types={**how.types, **aside})
    table = table.take(labelled.tolist())
    with _errors_with(path):
        plan = make_plan(table, how)
        X = encode(plan, table)
    points = OwnRows(X, y[labelled], tuple(plan.names), target, str(path))
    for array in (points.X, points.y):
        array.flags.writeable = False
    rows = [f"left out {dropped} rows without a label"] if dropped else []
    return points, (*table.notes, *table.row_notes, *_left_out(plan), *rows)


def sizes(n: int) -> tuple[int, int, int, int]:
    """L0, V, U0 and test for a table of n rows.

    >>> sizes(40), sizes(1000), sizes(100_000)
    ((5, 5, 20, 10), (20, 50, 680, 250), (20, 50, 2000, 1000))
    """
    test, V, L0 = min(max(n // 4, 10), 1000), min(max(n // 10, 5), 50), min(max(n // 20, 5), 20)
    return L0, V, min(n - test - V - L0, 2000), test


@contextmanager
def _errors_with(path: Path) -> Iterator[None]:
    """Put the path before the text of a ValueError."""
    try:
        yield
    except TableError as error:
        problem = f"{path}: {error.problem}"
        raise TableError(problem, *error.remedies, otherwise=error.otherwise) from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _left_out(plan: TablePlan) -> list[str]:
    dropped = [column for column in plan.columns if column.kind == "dropped"]
    return [f"left out column {one.name!r}: {one.why} ({one.detail})" for one in dropped]


def _check_rows(y: Array, dropped: int, target: str, path: Path) -> None:
    if len(y) < MIN_TABLE_ROWS:
        aside = f" (beside {dropped} without a label)" if dropped else ""
        raise ValueError(
            f"{path} has {len(y)} usable rows{aside}; a simulation needs {MIN_TABLE_ROWS} or more"
        )
    if np.ptp(y) == 0:
        raise ValueError(f"the target {target!r} of {path} is {y[0]:g} in every row")


def task_of(points: OwnRows) -> Task:
    """The task of these points; its random key is a hash of the table."""
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
