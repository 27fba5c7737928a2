"""Constraints: functions of a row that say whether it may be tried."""

from collections.abc import Callable
from typing import Any

import numpy as np

LEAST_SHARE = 0.001  # of the rows that satisfy a constraint; with fewer, looking on is hopeless


def satisfies(constraint: Callable[[Any], bool], row: Any) -> bool:
    """What the constraint says of a row; ValueError where it raises or says neither yes nor no.

    >>> satisfies(lambda row: row["temp"] < 100, {"temp": 20.0})
    True
    """
    try:
        found = constraint(row)
    except Exception as error:
        raise ValueError(f"the constraint raised {error!r} for the row {row}") from error
    if not isinstance(found, bool | np.bool_):
        raise ValueError(
            f"the constraint returned {found!r} for the row {row}; it says True or False"
        )
    return bool(found)
