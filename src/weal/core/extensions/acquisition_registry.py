"""Registry of acquisition functions by name, built in or registered by the user.

    "gpm-var"     a function
    "ucb(2)"      a function with parameters, made by a factory from numbers
    "straddle(90)"

A package registers its functions under the entry point group `weal.acquisitions`, so that campaigns
find them in every process; a program calls `register_acquisition`. A registered object is a
function of a `Belief`, or a factory with the attribute `makes_acquisition`, which takes numbers.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import cast

from weal.core.extensions.goal_acquisitions import best, ei, ei_min, lcb, lowest, straddle, ucb
from weal.core.extensions.more_acquisitions import (
    bald,
    igs,
    ivr,
    mvr,
    mvr_var,
    mvr_var_igs,
    mvr_var_misfit,
)
from weal.core.extensions.pass_fail import bald_pass
from weal.core.paper.acquisition import (
    Acquisition,
    gpm_ent,
    gpm_var,
    qbc,
    random,
    went,
    wvar,
)

ENTRY_POINT_GROUP = "weal.acquisitions"
Factory = Callable[..., Acquisition]
AcquisitionArgument = str | Acquisition | Sequence[str | Acquisition]  # as a user gives it
ACQUISITIONS: dict[str, Acquisition] = {
    "random": random,
    "wvar": wvar,
    "went": went,
    "qbc": qbc,
    "gpm-var": gpm_var,
    "gpm-ent": gpm_ent,
    "ivr": ivr,
    "mvr": mvr,
    "mvr-var": mvr_var,
    "mvr-var-misfit": mvr_var_misfit,
    "mvr-var-igs": mvr_var_igs,
    "bald": bald,
    "igs": igs,
    "ei": ei,
    "ei-min": ei_min,
}
FACTORIES: dict[str, Factory] = {
    "best": best,
    "lowest": lowest,
    "ucb": ucb,
    "lcb": lcb,
    "straddle": straddle,
    "bald-pass": bald_pass,
}
_NAME = re.compile(r"[A-Za-z][\w.-]*")
_CALL = re.compile(rf"({_NAME.pattern})\s*\(([^()]*)\)")


def register_acquisition(name: str, score: Acquisition | Factory) -> None:
    """Give an acquisition function, or a factory of them, a name; ValueError if it is taken.

    A factory has the attribute `makes_acquisition`, and is called with the numbers that stand in
    brackets behind the name, as in "ucb(2)".

        register_acquisition("largest-mean", lambda belief: belief.mean)
        learner = weal.ActiveLearner(X, acquisition="largest-mean")
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a valid name; use a letter, then letters, digits, - _ .")
    taken = ACQUISITIONS.get(name) or FACTORIES.get(name)
    if taken is not None and taken is not score:
        raise ValueError(f"the acquisition {name!r} is there already")
    if getattr(score, "makes_acquisition", False):
        FACTORIES[name] = cast(Factory, score)
    else:
        ACQUISITIONS[name] = cast(Acquisition, score)


def find_acquisition(text: str) -> tuple[str, Acquisition]:
    """The canonical name and the function for "gpm-var" or "ucb(2)"; ValueError otherwise."""
    call = _CALL.fullmatch(text.strip())
    name = call[1] if call else text.strip()
    if name not in ACQUISITIONS and name not in FACTORIES:
        _register_entry_point(name)
    if not call and name in ACQUISITIONS:
        return name, ACQUISITIONS[name]
    if name in FACTORIES:
        numbers = _numbers(text, call[2] if call else "")
        return f"{name}({', '.join(map(_exact, numbers))})", _call_factory(name, numbers)
    if name in ACQUISITIONS:
        raise ValueError(f"the acquisition {name} has no parameters: write {name}")
    known = ", ".join([*ACQUISITIONS, *(f"{one}(...)" for one in FACTORIES)])
    raise ValueError(
        f"unknown acquisition {text!r}; known are {known}. A function of your own is given in "
        "Python, ActiveLearner(acquisition=function), or registered by the entry point group "
        "weal.acquisitions"
    )


def is_registered(name: str, acquisition: Acquisition) -> bool:
    """Whether this function is the one registered under its name."""
    try:
        return find_acquisition(name)[1] is acquisition
    except ValueError:
        return False


def _exact(number: float) -> str:
    """The shortest text that reads back as the same number, since files store the name only."""
    short = f"{number:g}"
    return short if float(short) == number else repr(number)


@cache
def _call_factory(name: str, numbers: tuple[float, ...]) -> Acquisition:
    try:
        return FACTORIES[name](*numbers)
    except TypeError as error:
        raise ValueError(f"the acquisition {name} does not take {len(numbers)} numbers") from error


def _numbers(text: str, written: str) -> tuple[float, ...]:
    parts = [part.strip() for part in written.split(",")] if written.strip() else []
    try:
        numbers = tuple(float(part) for part in parts)
    except ValueError:
        raise ValueError(f"{text!r}: the parameters of an acquisition are numbers") from None
    if any(number != number or abs(number) == float("inf") for number in numbers):
        raise ValueError(f"{text!r}: the parameters of an acquisition are finite numbers")
    return numbers


def _register_entry_point(name: str) -> None:
    for point in entry_points(group=ENTRY_POINT_GROUP, name=name):
        register_acquisition(name, point.load())


def needs_reduction(acquisition: Acquisition) -> bool:
    """Whether the score reads `Belief.reduction`."""
    return bool(getattr(acquisition, "needs_reduction", False))


def needs_targets(acquisition: Acquisition) -> bool:
    """Whether the score reads `Belief.target_belief`."""
    return bool(getattr(acquisition, "needs_targets", False))


def is_pointwise(acquisition: Acquisition) -> bool:
    """Whether the score of a candidate depends on no other, so that blocks may be scored."""
    return bool(getattr(acquisition, "pointwise", False))


def takes_cost(acquisition: Acquisition) -> bool:
    """Whether the cost of a label may enter the score: an amount, or the log of one."""
    return is_amount(acquisition) or is_log_amount(acquisition)


def is_amount(acquisition: Acquisition) -> bool:
    """Whether the score is an amount, which the cost of a label may divide."""
    return bool(getattr(acquisition, "amount", False))


def is_log_amount(acquisition: Acquisition) -> bool:
    """Whether the score is the log of an amount: the log of the cost is subtracted."""
    return bool(getattr(acquisition, "log_amount", False))
