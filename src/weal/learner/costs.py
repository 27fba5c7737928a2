"""What a label of each candidate costs: by a column, a function of the row, or numbers given.

A cost divides the scores that are amounts of variance (`core.paper.acquisition.is_amount`): what is
gained for each unit spent. Only ratios of costs matter.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np

from weal.core.arrays import Array

Cost = str | Callable[[Any], float] | None  # how costs are found; None: none, or given as numbers


def read_costs(
    cost: Any, frame: Any | None, rows: Iterable[Any], ids: Sequence[Hashable]
) -> Array | None:  # (N,)
    """The costs of candidates; `rows` are what a function of them gets."""
    if cost is None:
        return None
    if isinstance(cost, str):
        values = _column(cost, frame)
    elif callable(cost):
        values = [_called(cost, row, name) for row, name in zip(rows, ids, strict=True)]
    else:
        values = list(cost)
    if len(values) != len(ids):
        raise ValueError(
            f"got {len(values)} costs for {len(ids)} candidates; it needs one for each"
        )
    return np.array([_positive(value, name) for value, name in zip(values, ids, strict=True)])


def _column(name: str, frame: Any | None) -> list[Any]:
    if frame is None:
        raise ValueError(
            f"cost is {name!r}, which names a column of a frame; for an array give a function of "
            "the row, or one number for each candidate"
        )
    if name not in frame.columns:
        raise ValueError(f"cost is {name!r}; the pool has the columns {list(frame.columns)}")
    return list(frame.get_column(name).to_list())


def _called(cost: Callable[[Any], float], row: Any, name: Hashable) -> Any:
    try:
        return cost(row)
    except Exception as error:
        raise ValueError(f"cost raised {error!r} for {name!r}") from error


def _positive(value: Any, name: Hashable) -> float:
    plain = value.item() if isinstance(value, np.generic | np.ndarray) and not value.ndim else value
    real = isinstance(plain, Real) and not isinstance(plain, bool)
    if not (real and 0.0 < plain < np.inf):
        raise ValueError(f"the cost of {name!r} is {plain!r}; a cost is a number above 0")
    return float(plain)
