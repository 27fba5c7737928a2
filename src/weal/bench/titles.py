"""How tasks, methods and numbers are called in print.

Titles come from the tables of tasks and methods; a name that is in neither is its own title. The
Malaria task is always the stand-in. Numbers have three digits: the fourth is noise over ten runs.
"""

from collections.abc import Iterable

import numpy as np

from weal.bench import peers
from weal.bench.methods import METHODS, Method
from weal.bench.tasks import TASKS

METRICS = {"nmse": "NMSE", "npll": "NPLL"}
ALL_METRICS = {**METRICS, "joint": "joint NPLL"}


def known_method(name: str) -> Method | None:
    """The method of that name among ours and the rivals."""
    return METHODS.get(name) or peers.methods().get(name)


def task_title(name: str) -> str:
    """How a task is called."""
    return TASKS[name].title if name in TASKS else name


def method_title(name: str) -> str:
    """How a method is called."""
    known = known_method(name)
    return known.title if known else name


def in_order_of_tasks(names: Iterable[str]) -> list[str]:
    """The tasks of these names once each: the table's in its order, then others as they come."""
    return _in_order(names, TASKS)


def in_order_of_methods(names: Iterable[str]) -> list[str]:
    """The methods of these names once each: the table's in its order, then others as they come."""
    return _in_order(names, (*METHODS, *peers.methods()))


def number(value: float) -> str:
    """A number in three digits.

    >>> [number(x) for x in (0.02371, 36330.1, -1.9702, 0.0, 1.5e-6, 4.4e7)]
    ['0.0237', '36300', '-1.97', '0', '1.5e-6', '4.4e7']
    """
    if np.isfinite(value) and 1e3 <= abs(value) < 1e6:
        return f"{float(f'{value:.3g}'):.0f}"
    return f"{value:.3g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")


def spread(values: Iterable[float]) -> str:
    """The range of numbers in words.

    >>> spread([0.2, 0.1]), spread([0.1, 0.1])
    ('0.1 to 0.2', '0.1')
    """
    known = list(values)
    low, high = number(min(known)), number(max(known))
    return low if low == high else f"{low} to {high}"


def shared_rows(task: str) -> str | None:
    """A note on the rows that realisations of a task share; None where they share none.

    >>> shared_rows("diabetes")
    'Diabetes: every realisation uses all 442 rows, so its intervals are too narrow.'
    """
    known = TASKS.get(task)
    if known is None or known.rows is None:
        return None
    share = known.size / known.rows
    what = (
        f"every realisation uses all {known.rows} rows"
        if share == 1
        else f"two realisations share about {share:.0%} of their rows"
    )
    return f"{known.title}: {what}, so its intervals are too narrow."


def _in_order(names: Iterable[str], known: Iterable[str]) -> list[str]:
    there = list(dict.fromkeys(names))
    first = [name for name in known if name in there]
    return first + [name for name in there if name not in first]
