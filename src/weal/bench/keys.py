"""The key of a curve: a hash of everything that decides its numbers.

    points     every number of the split: sizes, source, goal, noise, seed and data file speak
               through what they gave, and so does a table of the user's own that was edited
    rules      eta of the task, number of queries, seed, realisation
    method     its name, and the function with what is bound to it; a function that is not ours
               is known by its text, so that an edited one is another method
    code       weal's version and the text of the modules that take part in a curve

One of them changed, and the old curves are not found: nothing old is mixed with the new. What a
function of the user's reads elsewhere (a file, a global) is not seen: give it another name.
"""

import hashlib
import inspect
from collections.abc import Callable
from functools import cache, partial
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

import weal
from weal.bench.cache import fingerprint
from weal.bench.methods import Method
from weal.bench.tasks import Split, Task

# Rooms and modules whose text cannot change a number of a curve.
_ONLOOKERS = {
    *("cli.py", "campaign", "web", "store.py", "keys.py", "runs.py", "workers.py", "frames.py"),
    *("selection.py", "commands.py", "screen.py", "summary.py", "claims.py", "figures.py"),
    *("report.py", "get.py", "__init__.py"),
}


def curve_key(task: Task, split: Split, method: Method, realisation: int, seed: int, T: int) -> str:
    """The key of a curve, 32 letters."""
    rules = {
        "task": [task.name, task.number, task.eta],
        "method": [method.name, described(method.play)],
        "run": [realisation, seed, T],
        "code": code(),
    }
    parts = (split.X0, split.y0, split.Xv, split.yv, split.Xu, split.yu, split.Xt, split.yt)
    return fingerprint(rules, *parts)


@cache
def code() -> str:
    """The version of weal and a hash of the text of every module that takes part in a curve."""
    digest = hashlib.sha256()
    for name, text in sorted(_texts(resources.files(weal), "")):
        digest.update(f"{name}\n".encode() + text)
    return f"{weal.__version__}+{digest.hexdigest()[:16]}"


def _texts(folder: Traversable, prefix: str) -> list[tuple[str, bytes]]:
    found = []
    for item in folder.iterdir():
        if item.name in _ONLOOKERS:
            continue
        if item.is_dir():
            found += _texts(item, f"{prefix}{item.name}/")
        elif item.name.endswith(".py"):
            found.append((prefix + item.name, item.read_bytes()))
    return found


def described(thing: Any) -> Any:
    """A value as JSON: functions of ours by name, others by their text and what is bound to them.

    >>> described(partial(described, 1.5))
    ['weal.bench.keys.described', [1.5], {}]
    """
    if isinstance(thing, partial):
        bound = {name: described(value) for name, value in sorted(thing.keywords.items())}
        return [described(thing.func), [described(value) for value in thing.args], bound]
    if isinstance(thing, tuple | list):
        return [described(item) for item in thing]
    if isinstance(thing, str | int | bool | None):
        return thing
    if isinstance(thing, float):
        return thing if abs(thing) < float("inf") else repr(thing)
    return _function(thing) if inspect.isroutine(thing) else _kind(thing)


def _function(function: Callable[..., Any]) -> Any:
    name = f"{function.__module__}.{function.__qualname__}"
    if name.startswith("weal."):
        return name
    cells = [described(cell.cell_contents) for cell in getattr(function, "__closure__", None) or ()]
    return [name, _text(function), described(getattr(function, "__defaults__", None)), cells]


def _text(function: Callable[..., Any]) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):  # typed into a prompt, or not written in Python
        instructions = getattr(getattr(function, "__code__", None), "co_code", b"")
        return hashlib.sha256(instructions).hexdigest()


def _kind(thing: Any) -> str:
    """An object by its class alone: its repr may hold an address, which changes from run to run."""
    return f"{type(thing).__module__}.{type(thing).__qualname__}"
