"""Where a prediction is wanted: at candidates, by their ids, or at rows like those of the pool.

"P-1"                    an id: one number comes back
["P-1", "P-2"]           ids, in anything of one dimension
frame, [[20.0, 3.0]]     rows: a frame, or anything of two dimensions
"""

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from weal.core.arrays import Array
from weal.errors import UnknownId
from weal.table.matrix import as_frame, plain_id


def inputs_at(pool: Any, where: Any) -> tuple[Array, bool]:
    """Inputs (N, d) of ids or rows, and whether it was the id of one candidate."""
    if isinstance(where, np.ndarray):
        return _of_array(pool, where)
    if _is_known(pool, where):
        return pool.x(where)[None], True
    if as_frame(where) is not None:
        return pool.like(where), False
    if isinstance(where, str | bytes) or not isinstance(where, Iterable):
        return pool.x(where)[None], True  # raises: it is not known
    every = list(where)
    if every and not any(_is_known(pool, one) for one in every) and all(map(_is_row, every)):
        return pool.like(np.array(every)), False
    return _of_ids(pool, every), False


def _of_array(pool: Any, where: Any) -> tuple[Array, bool]:
    if where.ndim == 0:
        return pool.x(where.item())[None], True
    if where.ndim == 1:
        return _of_ids(pool, where.tolist()), False
    return pool.like(where), False


def _of_ids(pool: Any, ids: list[Any]) -> Array:
    try:
        return np.asarray(pool.X[[pool.position(name) for name in ids]])
    except UnknownId as error:
        raise UnknownId(
            f"{str(error).split('. For a point')[0]}. What has one dimension is taken as ids; rows "
            "are given in two, such as [[1.0, 2.0]], or as a frame"
        ) from None


def _is_known(pool: Any, name: Any) -> bool:
    return isinstance(name, Hashable) and _in(pool, plain_id(name))


def _in(pool: Any, name: Any) -> bool:
    try:
        return name in pool.index
    except TypeError:  # a tuple that holds a list
        return False


def _is_row(one: Any) -> bool:
    return isinstance(one, list | tuple | np.ndarray) and np.ndim(one) == 1
