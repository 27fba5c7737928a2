"""The rows that a batch may hold: options of an ask, for the columns of the candidates.

    allowed   rows that satisfy `where`
    factors   columns whose number of levels in the batch is limited: `same`, with one level of a
              column or one combination of several, and each column of `at_most`

A level is a different value of a column (`tables.condition_columns`). A row with a missing cell in
such a column has no level, and is not asked. Columns are read by name, and only as needed: from the
frame that the candidates came in, or from their files.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from weal.conditions import Condition
from weal.learner.batch_options import BatchOptions
from weal.learner.candidates import Candidates
from weal.tables.condition_columns import (
    Column,
    Levels,
    Lookup,
    column_of,
    did_you_mean,
    levels_of,
    rows_where,
)
from weal.tables.plan import TablePlan
from weal.tables.plan_columns import PlanColumn
from weal.tables.table import Table

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class CandidateColumns:
    """The columns of the candidates, by name."""

    names: tuple[str, ...]  # that options may name
    read: Lookup
    results: tuple[str, ...] = ()  # names of what is measured, for the message on one of them

    def check(self, name: str, option: str) -> None:
        """ValueError, with the near ones, for a name that is not a column."""
        if name in self.names:
            return
        if name in self.results:
            raise ValueError(
                f"{option}: {name!r} is a result, which rows have after they are measured; name "
                f"{did_you_mean('', self.names).removeprefix('write ')}"
            )
        raise ValueError(
            f"{option}: no column is called {name!r}; {did_you_mean(name, self.names)}"
        )


def table_columns(
    parts: Callable[[Sequence[str]], Sequence[Table]], names: Sequence[str],
    plan: TablePlan | None, results: Sequence[str] = (),
) -> CandidateColumns:  # fmt: skip
    """The columns of tables that follow each other; `parts` reads these columns of them."""
    planned: dict[str, PlanColumn] = {} if plan is None else {one.name: one for one in plan.columns}

    @cache
    def read(name: str) -> Column:
        return column_of(parts([name]), name, planned.get(name))

    return CandidateColumns(tuple(map(str, names)), read, tuple(results))


def columns_of(candidates: Candidates) -> CandidateColumns:
    """The columns of the candidates of a learner; arrays have their inputs by number."""
    names = [name for name in candidates.table_columns if name not in candidates.targets]
    return table_columns(candidates.tables, names, candidates.plan, candidates.targets)


@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    """A limit on the number of levels of a column in a batch."""

    levels: Levels
    limit: int

    @property
    def text(self) -> str:
        """The column, or columns, in words."""
        return " and ".join(self.levels.columns)

    def subset(self, at: NDArray[np.intp]) -> "Factor":
        """The limit for the rows at these positions."""
        return replace(self, levels=replace(self.levels, codes=self.levels.codes[at]))


@dataclass(frozen=True, slots=True, eq=False)
class BatchLimits:
    """The rows that a batch may hold."""

    allowed: Mask | None = None  # (U,)  None: all
    factors: tuple[Factor, ...] = ()
    where: Condition | None = None  # for messages


def limits_of(options: BatchOptions, columns: CandidateColumns) -> BatchLimits:
    """The limits of a batch; ValueError, with the way out, for a column or level that is none."""
    for name in options.same:
        columns.check(name, "same")
    for name, _ in options.at_most:
        columns.check(name, "at_most")
    allowed = None
    if options.where is not None:
        for name in options.where.names:
            if name in columns.results:
                columns.check(name, "where")
        options.where.check_names(columns.names, "where")
        allowed = rows_where(options.where, columns.read)
    same = [Factor(levels_of(options.same, columns.read), 1)] if options.same else []
    others = [
        Factor(levels_of([name], columns.read), limit)
        for name, limit in options.at_most
        if name not in options.same
    ]
    return BatchLimits(allowed, (*same, *others), options.where)
