"""Mixtures in a table: columns of numbers that have the same sum in every row.

A formulation is often written as shares that sum to 1 or to 100. One of its columns then follows
from the others. No column needs to be left out: such inputs are used unchanged. A note reports the
sum, since an unintended fixed sum is a mistake in the table.

Columns S have a fixed sum where the standardised inputs Z (N, d) have a direction without variance,

    Z w = 0        w_i = sd_i for i in S, 0 elsewhere

so candidates are read from the eigenvectors of Z'Z with small eigenvalues, in reduced row echelon
form where there are several, and then checked by their sums. Cells may be rounded (33.3 + 33.3 +
33.3): a sum may differ by half a unit in the last decimal of each of its parts, and by
MAX_RELATIVE_SD of the variation of the parts.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weal.tables.plan import TablePlan
from weal.text import exact

Matrix = NDArray[np.float64]

MAX_RELATIVE_SD = 0.03  # sd of a sum over the root of the summed variances of its parts
MIN_ROWS_BEYOND_COLUMNS = 3  # rows more than columns: fewer have sums by chance
MAX_COLUMNS, MAX_ROWS = 200, 5000  # columns and rows that are looked at
MAX_DIRECTIONS = 4  # without variance: more are a table of curves, not of shares
MAX_COEFFICIENT_ERROR = 0.3  # of a coefficient that should be 1
MIN_CONTRIBUTION = 0.1  # sd of a part, in shares of all, from which rounding leaves its coefficient
MAX_DECIMALS = 9
MAX_PARTS_NAMED = 6


@dataclass(frozen=True, slots=True)
class FixedSum:
    """Columns that sum to the same number in every row."""

    parts: tuple[str, ...]
    total: float

    def words(self) -> str:
        """The fixed sum in a sentence."""
        return (
            f"{_listed(self.parts)} sum to {exact(self.total)} in every row: a mixture. The model "
            "uses them unchanged."
        )


def fixed_sums(X: Matrix, names: Sequence[str]) -> list[FixedSum]:
    """The smallest sets of columns of X (N, d) with a fixed sum; rows with a gap are left out.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> parts = np.round(100 * rng.dirichlet([1, 1, 1], 20), 1)
    >>> X = np.column_stack([rng.uniform(20, 80, 20), parts])
    >>> fixed_sums(X, ["temp", "ethanol", "acetone", "water"])
    [FixedSum(parts=('ethanol', 'acetone', 'water'), total=100.0)]
    """
    X = np.asarray(X, dtype=np.float64)[:MAX_ROWS]
    X = X[np.isfinite(X).all(axis=1)]
    with np.errstate(over="ignore", invalid="ignore"):
        sd = X.std(axis=0) if len(X) else np.zeros(X.shape[1])
    used = np.flatnonzero(np.isfinite(sd) & (sd > 0.0))
    if not 2 <= len(used) <= MAX_COLUMNS or len(X) < len(used) + MIN_ROWS_BEYOND_COLUMNS:
        return []
    X, sd = X[:, used], sd[used]
    found: dict[tuple[int, ...], float] = {}
    sets = {some for some in _candidates(X, sd) if len(some) > 1}
    for columns in sorted(sets, key=lambda some: (len(some), some)):
        smaller = any(set(some) < set(columns) for some in found)
        total = None if smaller else _fixed_total(X[:, columns], sd[list(columns)])
        if total is not None:
            found[columns] = total
    return [
        FixedSum(tuple(str(names[used[i]]) for i in columns), total)
        for columns, total in sorted(found.items())
    ]


def plan_fixed_sums(plan: TablePlan, X: Matrix) -> list[FixedSum]:
    """The fixed sums of the columns of numbers of a plan, for its inputs X (N, d)."""
    starts = itertools.accumulate((len(one.inputs) for one in plan.columns), initial=0)
    placed = zip(plan.columns, starts, strict=False)
    numbers = [(one, start) for one, start in placed if one.kind == "number"]
    values = [one.scale * np.asarray(X[:MAX_ROWS, start]) for one, start in numbers]
    gaps = [X[:MAX_ROWS, start + 1] != 0.0 for one, start in numbers if one.gaps]
    if len(values) < 2:
        return []
    table = np.column_stack(values)
    whole = ~np.any(gaps, axis=0) if gaps else np.ones(len(table), dtype=np.bool_)
    return fixed_sums(table[whole], [one.name for one, _ in numbers])


def _candidates(X: Matrix, sd: Matrix) -> Iterator[tuple[int, ...]]:
    """Sets of columns of X (N, d) whose sum may be fixed."""
    Z = (X - X.mean(axis=0)) / sd
    curvature, Q = np.linalg.eigh(Z.T @ Z / len(Z))
    r = int((curvature <= MAX_RELATIVE_SD**2).sum())
    if not 0 < r <= MAX_DIRECTIONS:
        return
    rows = _echelon(Q[:, :r].T)  # (r, d)
    largest = np.abs(rows).argmax(axis=1)
    rows *= (sd[largest] / rows[np.arange(r), largest])[:, None]  # its coefficient is 1
    for signs in itertools.product((0, 1, -1), repeat=r):
        w = np.array(signs) @ rows
        v = w / sd  # coefficients in the units of the columns
        clear = np.abs(w) > MIN_CONTRIBUTION * np.linalg.norm(w)  # of others v is rounding
        parts = np.abs(v - 1.0) <= MAX_COEFFICIENT_ERROR
        if (parts | ~clear).all():
            yield from (tuple(np.flatnonzero(some).tolist()) for some in (parts, parts & clear))


def _echelon(rows: Matrix) -> Matrix:
    """Reduced row echelon form of rows (r, d); pivots are the largest entries."""
    rows = rows.copy()
    for i in range(len(rows)):
        pivot = int(np.argmax(np.abs(rows[i])))
        rows[i] /= rows[i, pivot]
        others = np.arange(len(rows)) != i
        rows[others] -= rows[others, pivot, None] * rows[i]
    return rows


def _fixed_total(parts: Matrix, sd: Matrix) -> float | None:
    """The sum of the columns of parts (N, p), if it is fixed; None if it is not."""
    if np.isin(parts, (0.0, 1.0)).all():
        return None  # levels of a category, one column each
    sums = parts.sum(axis=1)
    total = float(np.median(sums))
    rounding = sum(0.5 * 10.0 ** -_decimals(column) for column in parts.T)
    least = 1e-9 * float(np.abs(parts).sum(axis=1).max())
    varies = float(np.abs(sums - total).max()) > rounding + least
    if varies or float(sums.std()) > MAX_RELATIVE_SD * float(np.linalg.norm(sd)) + least:
        return None
    rounded = (round(total, n) for n in range(MAX_DECIMALS + 1))
    return next((one for one in rounded if abs(one - total) <= float(sums.std()) + least), total)


def _decimals(x: Matrix) -> int:
    """The decimals that the numbers are written with; below 0 for tens and more."""
    largest = float(np.abs(x).max())
    exact_to, digits = 1e-9 * largest, int(np.floor(np.log10(largest)))
    for n in range(-digits, MAX_DECIMALS):
        if np.abs(np.round(x, n) - x).max() <= exact_to:
            return n
    return MAX_DECIMALS


def _listed(names: Sequence[str]) -> str:
    """Names in a sentence: a, b and c."""
    if len(names) > MAX_PARTS_NAMED:
        first = names[: MAX_PARTS_NAMED - 1]
        return f"{', '.join(first)} and {len(names) - len(first)} more columns"
    return f"{', '.join(names[:-1])} and {names[-1]}"
