"""The acquisition functions that a user means: a name, a function, or several of both.

"auto", the default, is one function, DEFAULT. It was six, weighed by Algorithm 2, in weal 0.1 and
in early files of 0.2: what was kept with their weights goes on with the one (`EARLIER_AUTO`).
"""

from typing import Any

from weal.core.extensions.more_acquisitions import ACQUISITIONS, is_amount
from weal.core.paper.acquisition import PAPER, Acquisition

DEFAULT = "mvr-var-igs"
TOGETHER = {"multi": PAPER, "auto": (DEFAULT,)}  # names that stand for other functions
EARLIER_AUTO = (*PAPER, "igs")
NOW_AUTO = (
    "its rows were chosen by six functions whose weights were kept; the default is "
    f"{DEFAULT} now, and chooses from here on"
)


def resolve(acquisition: Any) -> dict[str, Acquisition]:
    """Functions by name, for a name, "multi", a function, or a list of names and functions."""
    if isinstance(acquisition, str) and acquisition in TOGETHER:
        return {name: ACQUISITIONS[name] for name in TOGETHER[acquisition]}
    if isinstance(acquisition, str) or callable(acquisition):
        name, function = _one(acquisition)
        return {name: function}
    if not isinstance(acquisition, list | tuple):
        raise TypeError(f"acquisition is {acquisition!r}; it needs a name, a function, or a list")
    several = [pair for part in acquisition for pair in resolve(part).items()]
    if not several or len(dict(several)) != len(several):
        raise ValueError(
            f"acquisition is {acquisition!r}; it needs one or more, each with a name of its own"
        )
    return dict(several)


def check_amounts(functions: dict[str, Acquisition]) -> dict[str, Acquisition]:
    """The functions, if all are amounts of variance, which a cost may divide."""
    others = [name for name, function in functions.items() if not is_amount(function)]
    if others:
        ours = [name for name, function in ACQUISITIONS.items() if is_amount(function)]
        raise ValueError(
            f"cost divides amounts of variance, and {', '.join(others)} gives none: choose "
            f"the acquisition {ours[-1]} (or {', '.join(ours[:-1])}), or leave the cost out"
        )
    return functions


def _one(acquisition: str | Acquisition) -> tuple[str, Acquisition]:
    if callable(acquisition):
        ours = [name for name, function in ACQUISITIONS.items() if function is acquisition]
        name = ours[0] if ours else getattr(acquisition, "__name__", repr(acquisition))
        return str(name), acquisition
    if acquisition not in ACQUISITIONS:
        raise ValueError(
            f"unknown acquisition {acquisition!r}; there are "
            f"{', '.join([*ACQUISITIONS, *TOGETHER])}, or give a function of your own"
        )
    return acquisition, ACQUISITIONS[acquisition]
