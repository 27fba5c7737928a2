"""What is to be run: every method on every realisation of every task.

    tasks      a name, a group (synthetic, real, robot), "all", a Task, or a list of those
    methods    a name, a group (paper, fair, ours, peers), "all", a Method, or a list of those

A name twice counts once; two different things under one name are refused, since the results could
not be told apart. A task whose data is not at hand, or a rival whose package is not, is noted in
the plan with how to get it.
Wrong names and numbers are found here, before anything is drawn or written.
"""

import difflib
import operator
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from weal.bench import peers
from weal.bench.methods import METHODS, Method, Reading
from weal.bench.places import Folder, NotAtHand, data_folders
from weal.bench.tasks import TASKS, Split, Task, availability

ALL = "all"
Tasks = str | Task | Iterable[str | Task]
Methods = str | Method | Iterable[str | Method]
Item = TypeVar("Item", Task, Method)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be run, and what cannot be."""

    tasks: tuple[Task, ...]
    methods: tuple[Method, ...]
    realisations: int
    T: int
    seed: int
    data: Folder
    skipped: dict[str, str]  # task or method -> why it cannot be run here, and what to do


def make_plan(
    tasks: Tasks,
    methods: Methods,
    *,
    realisations: int = 10,  # [1, set:realisations]
    T: int = 100,
    seed: int = 0,
    data: Folder = None,
) -> Plan:
    """A plan that can be carried out here; ValueError for what makes no sense."""
    realisations, T = check_whole("realisations", realisations, 1), check_whole("T", T, 1)
    seed = check_whole("seed", seed, 0)
    data_folders(data)  # complain of a folder that is not there, whether it is needed or not
    wanted, rivals = choose_tasks(tasks), peers.unavailable()
    usable, missing = _parted(wanted, {task.name: availability(task, data) for task in wanted})
    playing, absent = _parted(choose_methods(methods), dict(rivals))
    return Plan(usable, playing, realisations, T, seed, data, {**missing, **absent})


def _parted(
    items: tuple[Item, ...], reasons: Mapping[str, str | None]
) -> tuple[tuple[Item, ...], dict[str, str]]:
    """The items that can be used, and why the others cannot; NotAtHand when none can."""
    why = {item.name: reason for item in items if (reason := reasons.get(item.name))}
    if len(why) == len(items):
        raise NotAtHand("; ".join(f"{name}: {reason}" for name, reason in why.items()))
    return tuple(item for item in items if item.name not in why), why


def check_whole(name: str, value: object, least: int) -> int:
    """The value as an int of at least `least`.

    >>> check_whole("T", 0, 1)
    Traceback (most recent call last):
    ValueError: T must be a whole number of at least 1; got 0
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = least - 1
    if number < least or isinstance(value, bool):
        raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}")
    return number


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
    """Every method by name: the table `METHODS`, then the rivals, those not at hand included."""
    absent = {name: Method(name, name, _absent, "peers") for name in peers.unavailable()}
    return {**METHODS, **peers.methods(), **absent, **METHODS}


def _absent(split: Split, eta: float, seed: int, T: int) -> Iterator[Reading]:
    raise NotAtHand("the package of this method is not installed")


def _choose(what: str, given: Iterable[str | Item], table: Mapping[str, Item]) -> tuple[Item, ...]:
    chosen: dict[str, Item] = {}
    for entry in given:
        for item in _named(what, entry, table) if isinstance(entry, str) else [entry]:
            if chosen.setdefault(item.name, item) is not item:
                raise ValueError(f"two different {what}s are called {item.name!r}; rename one")
    if not chosen:
        raise ValueError(f"name at least one {what}; there are {', '.join(table)}")
    return tuple(chosen.values())


def _named(what: str, name: str, table: Mapping[str, Item]) -> list[Item]:
    if name in table:
        return [table[name]]
    groups: list[str] = list(dict.fromkeys(item.group for item in table.values()))
    if name == ALL or name in groups:
        return [item for item in table.values() if name in (ALL, item.group)]
    near = difflib.get_close_matches(name, [*table, *groups, ALL], 1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    raise ValueError(
        f"unknown {what} {name!r}{hint}; there are {', '.join(table)}, "
        f"and the groups {', '.join([*groups, ALL])}"
    )
