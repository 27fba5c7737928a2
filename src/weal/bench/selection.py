"""What is to be run, in words: names of tasks and methods, and of groups of them.

    tasks      a name, a group (synthetic, real, robot), "all", a Task, or a list of those
    methods    a name, a group (paper, fair, ours, peers), "all", a Method, or a list of those

A name twice counts once; two different things under one name are refused, since the results could
not be told apart.
"""

import difflib
from collections.abc import Iterable, Mapping
from typing import TypeVar

from weal.bench.methods import METHODS, Method
from weal.bench.tasks import TASKS, Task

ALL = "all"
Tasks = str | Task | Iterable[str | Task]
Methods = str | Method | Iterable[str | Method]
Item = TypeVar("Item", Task, Method)


def choose_tasks(given: Tasks) -> tuple[Task, ...]:
    """The tasks of these names and groups, in the order given.

    >>> [task.name for task in choose_tasks(["higdon", "robot"])]
    ['higdon', 'robot3d', 'robot4d']
    """
    return _choose("task", [given] if isinstance(given, str | Task) else given, TASKS)


def choose_methods(given: Methods) -> tuple[Method, ...]:
    """The methods of these names and groups, in the order given.

    >>> [method.name for method in choose_methods("random")]
    ['random']
    """
    return _choose("method", [given] if isinstance(given, str | Method) else given, all_methods())


def all_methods() -> dict[str, Method]:
    """Every method by name: the table `METHODS`, then those of other packages."""
    from weal.bench import peers

    return {**peers.methods(), **METHODS}


def _choose(what: str, given: Iterable[str | Item], table: Mapping[str, Item]) -> tuple[Item, ...]:
    chosen: dict[str, Item] = {}
    for entry in given:
        for item in _named(what, entry, table) if isinstance(entry, str) else [entry]:
            if chosen.setdefault(item.name, item) != item:
                raise ValueError(f"two different {what}s are called {item.name!r}; rename one")
    if not chosen:
        raise ValueError(f"name at least one {what}; there are {', '.join(table)}")
    return tuple(chosen.values())


def _named(what: str, name: str, table: Mapping[str, Item]) -> list[Item]:
    if name in table:
        return [table[name]]
    groups = dict.fromkeys(item.group for item in table.values())
    if name == ALL or name in groups:
        return [item for item in table.values() if name in (ALL, item.group)]
    near = difflib.get_close_matches(name, [*table, *groups, ALL], 1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    raise ValueError(
        f"unknown {what} {name!r}{hint}; there are {', '.join(table)}, "
        f"and the groups {', '.join([*groups, ALL])}"
    )
