"""The key of a curve: a hash of everything that decides its numbers.

    points     every number of the split: sizes, source, goal, noise, seed and data file speak
               through what they gave, and so does a table of the user's own that was edited
    rules      eta of the task, number of queries, seed, realisation
    method     its name, and the function with what is bound to it; a function that is not ours
               is known by its text, so that an edited one is another method
    code       weal's version and the text of the modules that take part in a curve; versions of
               numpy, scipy and scikit-learn, and for rivals those of their packages

One of them changed, and the old curves are not found: nothing old is mixed with the new. What a
function of the user's reads elsewhere (a file, a global) is not seen: give it another name.
"""

import hashlib
import inspect
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib import metadata, resources
from importlib.resources.abc import Traversable
from typing import Any

import numpy as np

import weal
from weal.bench.cache import fingerprint
from weal.bench.methods import Method
from weal.bench.tasks import Split, Task

# Rooms that cannot change a curve, but for these modules, and those of the functions of a method.
_ONLOOKERS = {"cli", "campaign", "store", "plots", "web", "bench"}
_IN_BENCH = ("joint.py", "methods.py", "protocol.py")
_PACKAGES = ("numpy", "scipy", "scikit-learn")
_OF_RIVALS = ("torch", "gpytorch", "linear_operator", "botorch", "scikit-activeml")


def curve_key(task: Task, split: Split, method: Method, realisation: int, seed: int, T: int) -> str:
    """The key of a curve, 32 letters."""
    rules = {
        "task": [task.name, task.number, task.eta],
        "method": [method.name, described(method.play)],
        "run": [realisation, seed, T],
        "code": code(),
        "rivals": installed(*_OF_RIVALS) if method.group == "peers" else {},
    }
    parts = (split.X0, split.y0, split.Xv, split.yv, split.Xu, split.yu, split.Xt, split.yt)
    return fingerprint(rules, *parts)


@cache
def code() -> str:
    """The version of weal, and a hash of all code that takes part in a curve of ours."""
    digest = hashlib.sha256(repr(installed(*_PACKAGES)).encode())
    home = resources.files(weal)
    texts = [(name, (home / "bench" / name).read_bytes()) for name in _IN_BENCH]
    for name, text in sorted([*texts, *_texts(home, "")]):
        digest.update(f"{name}\n".encode() + text)
    return f"{weal.__version__}+{digest.hexdigest()[:16]}"


def installed(*packages: str) -> dict[str, str]:
    """The versions of those of the packages that are installed.

    >>> list(installed("numpy", "no-such-package"))
    ['numpy']
    """
    found = {}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


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
    """A value as JSON: functions by their text and what is bound to them, ours by their module's.

    >>> described(partial(max, 1.5, key=None))
    [['builtins.max', ...], ['1.5'], {'key': 'None'}]
    """
    if isinstance(thing, partial):
        return [described(part) for part in (thing.func, thing.args, thing.keywords)]
    if isinstance(thing, Mapping):
        return {str(name): described(value) for name, value in thing.items()}
    if isinstance(thing, tuple | list):
        return [described(item) for item in thing]
    if isinstance(thing, np.ndarray):
        return [str(thing.dtype), thing.shape, _hash(thing.tobytes())]
    return _function(thing) if inspect.isroutine(thing) else _plain(thing)


def _function(function: Callable[..., Any]) -> Any:
    name = f"{function.__module__}.{function.__qualname__}"
    if name.startswith("weal."):
        return [name, _text(inspect.getmodule(function))]
    cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    bound = [_text(cell) if inspect.isroutine(cell) else described(cell) for cell in cells]
    return [name, _text(function), described(getattr(function, "__defaults__", None)), bound]


def _text(thing: Any) -> str:
    """A hash of the source of a function or module."""
    try:
        return _hash(inspect.getsource(thing).encode())
    except (OSError, TypeError):  # typed into a prompt, or not written in Python
        return _hash(getattr(getattr(thing, "__code__", None), "co_code", b""))


def _plain(thing: Any) -> str:
    """An object as it shows itself; by its class alone where it shows an address, which changes."""
    text = repr(thing)
    return f"{type(thing).__module__}.{type(thing).__qualname__}" if " at 0x" in text else text


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
