"""What an input does to what is expected: partial dependence, with how sure the model is.

For each value v of the input, all of some candidates are predicted with v in its place:

    mean(v)   the mean over them of what is expected
    sd(v)     the mean over them of the sd of f, which says where the model knows little

An input is one column of the inputs, or several that stand for one: a category has a column for
each of its levels. So a value is a row of what these columns hold.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weal.core.arrays import Array
from weal.model.model import Model
from weal.table.planning import Column

AT_A_TIME = 20_000  # rows that are predicted at a time


@dataclass(frozen=True, slots=True, eq=False)
class Effect:
    """What is expected for each of n values (or pairs of values), on average over candidates."""

    mean: Array  # (n,)
    sd: Array  # (n,)  of f


def effect(model: Model, X: Array, at: Sequence[int], values: Array) -> Effect:
    """The effect of the columns `at`, which take the rows of values (n, k), over rows X (N, d)."""
    n, N = len(values), len(X)
    step = max(1, AT_A_TIME // N)
    parts = [_averages(model, X, at, values[m : m + step]) for m in range(0, n, step)]
    mean, sd = np.concatenate(parts, axis=1)
    return Effect(mean, sd)


def _averages(model: Model, X: Array, at: Sequence[int], values: Array) -> Array:  # (2, n)
    many = np.repeat(X[None], len(values), axis=0)  # (n, N, d)
    many[:, :, list(at)] = values[:, None, :]
    found = model.predict(many.reshape(-1, X.shape[1]), return_std=True)
    return np.stack([part.reshape(len(values), len(X)).mean(axis=1) for part in found])


def places(columns: Sequence[Column], name: str) -> tuple[Column, list[int]]:
    """The column with this name, and which of the inputs it became."""
    start = 0
    for column in columns:
        end = start + len(column.inputs)
        if column.name == name and column.inputs:
            return column, list(range(start, end))
        start = end
    known = ", ".join(column.name for column in columns if column.inputs)
    raise ValueError(f"there is no input {name!r}; there are {known}")


def values_of(column: Column, X: Array, most: int) -> Array:  # (n, k)
    """Values to look at, as the columns X (U, k) of that input hold them.

    Of a category every level; of numbers `most` of them, evenly between the least and the largest.
    """
    k = X.shape[1]
    if column.levels:
        return np.eye(len(column.levels), k)
    known = X[X[:, 1] == 0.0] if k > 1 else X  # the second says that a cell is missing
    known = known if len(known) else X
    values = np.zeros((most, k))
    values[:, 0] = np.linspace(known[:, 0].min(), known[:, 0].max(), most)
    if column.kind == "flag":
        return values[[0, -1]]
    return values
