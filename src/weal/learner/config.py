"""The settings of a learner, checked when they are given, and acquisition functions by name.

"auto", the default, is the function of the goal: DEFAULT_ACQUISITION for `learn`. Weal 0.1 and
early files of 0.2 combined six functions by Algorithm 2 (`EARLIER_AUTO`); a learner from such a
file continues with the default.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from weal.core.extensions.acquisition_registry import (
    ACQUISITIONS,
    AcquisitionArgument,
    find_acquisition,
    takes_cost,
)
from weal.core.paper.acquisition import PAPER, Acquisition
from weal.core.paper.adaptive_acquisition import SCALINGS
from weal.goals.grammar import combine_goals
from weal.goals.learn import DEFAULT_ACQUISITION, Learn
from weal.goals.protocol import Goal
from weal.learner.candidates import Candidates
from weal.learner.state import LearnerConfig
from weal.model.checks import check_count, check_seed, check_validation
from weal.model.parameters import Parameters, parameters_of
from weal.quantities.protocol import Quantity

ACQUISITION_GROUPS = {
    "multi": PAPER,
    "auto": (DEFAULT_ACQUISITION,),
}  # names that stand for other functions
EARLIER_AUTO = (*PAPER, "igs")
NOW_AUTO = (
    "its rows were chosen by six acquisition functions; from now on they are chosen by the "
    f"default, {DEFAULT_ACQUISITION}"
)


def resolve_acquisition(
    acquisition: AcquisitionArgument, goal: Goal | None = None, in_shards: bool = False
) -> dict[str, Acquisition]:
    """Acquisition functions by name, for a name, a function, or a list of both.

    "auto" is the function of the goal, or of `learn` without a goal.
    """
    if isinstance(acquisition, str) and acquisition == "auto":
        name = DEFAULT_ACQUISITION if goal is None else goal.acquisition(in_shards)
        return dict([find_acquisition(name)])
    if isinstance(acquisition, str) and acquisition in ACQUISITION_GROUPS:
        return {name: ACQUISITIONS[name] for name in ACQUISITION_GROUPS[acquisition]}
    if isinstance(acquisition, str) or callable(acquisition):
        name, function = _one(acquisition)
        return {name: function}
    if not isinstance(acquisition, list | tuple):
        raise TypeError(f"acquisition is {acquisition!r}; it needs a name, a function, or a list")
    each = [resolve_acquisition(part) for part in acquisition]
    several = [pair for part in each for pair in part.items()]
    if not several or len(dict(several)) != len(several):
        raise ValueError(
            f"acquisition is {acquisition!r}; it needs one or more, each with a different name"
        )
    return dict(several)


def check_amounts(functions: dict[str, Acquisition]) -> dict[str, Acquisition]:
    """The functions; ValueError if a cost cannot divide one of them."""
    others = [name for name, function in functions.items() if not takes_cost(function)]
    if others:
        ours = [name for name, function in ACQUISITIONS.items() if takes_cost(function)]
        ours.remove(DEFAULT_ACQUISITION)
        raise ValueError(
            f"a cost divides amounts of variance, and {', '.join(others)} gives none: "
            f"choose the acquisition {DEFAULT_ACQUISITION} (or {', '.join(ours)}), "
            "or leave the cost out"
        )
    return functions


def _one(acquisition: str | Acquisition) -> tuple[str, Acquisition]:
    if callable(acquisition):
        ours = [name for name, function in ACQUISITIONS.items() if function is acquisition]
        name = ours[0] if ours else getattr(acquisition, "__name__", repr(acquisition))
        return str(name), acquisition
    try:
        return find_acquisition(acquisition)
    except ValueError as error:
        groups = " or ".join(ACQUISITION_GROUPS)
        raise ValueError(f"{error}; or write {groups}, for several together") from None


def settings_of(
    candidates: Candidates, model: object, acquisition: AcquisitionArgument, eta: float,
    score_scaling: str, n_start: int | None, seed: int, validation: tuple[object, ArrayLike] | None,
    goal: object = None, repeats: bool = True,
) -> LearnerConfig:  # fmt: skip
    """Settings for these candidates; `weal.ActiveLearner` documents each."""
    if score_scaling not in SCALINGS:
        names = ", ".join(SCALINGS)
        raise ValueError(f"score_scaling is {score_scaling!r}; it is one of {names}")
    if not (np.isfinite(eta) and eta >= 0.0):
        raise ValueError(f"eta is {eta!r}; it must be a number of at least 0")
    d, seed = candidates.n_inputs, check_seed(seed)
    wanted, parameters = goal_for(candidates, goal), _parameters(model, d, seed)
    return LearnerConfig(
        parameters=parameters,
        functions=functions_for(candidates, acquisition, wanted, parameters),
        eta=float(eta),
        score_scaling=score_scaling,
        n_start=min(10, max(5, d + 3)) if n_start is None else check_count(n_start),
        seed=seed,
        validation=check_validation(validation, candidates.like),
        goal=wanted,
        by_goal=is_auto(acquisition),
        repeats=bool(repeats),
    )


def goal_for(
    candidates: Candidates, goal: object, measured: Sequence[Quantity] | None = None
) -> Goal:
    """The goal given as a text or a goal, checked for these candidates; None is `learn`.

    With the measured quantities, it is bound to them.
    """
    wanted = combine_goals(goal) or Learn()
    if measured is not None:
        wanted = wanted.bind({one.name: one for one in measured}, candidates.input_names)
    wanted.check_rows(int(candidates.present.sum()))
    return wanted


def functions_for(
    candidates: Candidates, acquisition: AcquisitionArgument, goal: Goal, parameters: Parameters
) -> dict[str, Acquisition]:
    """The functions of an acquisition and a goal, checked where labels have costs."""
    functions = resolve_acquisition(acquisition, goal, candidates.in_shards)
    return functions if candidates.cost is None else check_amounts(functions)


def check_goal_chooses(acquisition: object, goal: Goal | None) -> None:
    """ValueError if an acquisition function is named beside a goal over several quantities."""
    if goal is not None and goal.is_joint and not is_auto(acquisition):
        raise ValueError(
            f"the goal {goal.text!r} scores rows by several quantities at once, and no acquisition "
            f"function does: leave out the acquisition {acquisition!r}, or choose another goal"
        )


def is_auto(acquisition: object) -> bool:
    """Whether the goal chooses the acquisition function."""
    return isinstance(acquisition, str) and acquisition == "auto"


def _parameters(model: object, d: int, seed: int) -> Parameters:
    """Model parameters for d inputs: of an estimator, of a dict, or the defaults."""
    if model is None:
        return parameters_of({"random_state": seed}, d)
    if isinstance(model, dict):
        return parameters_of({"random_state": seed, **model}, d)
    if isinstance(model, type) or not hasattr(model, "parameters"):
        raise TypeError(f"model is {model!r}; it needs an EnsembleGPRegressor, or None")
    found: Parameters = model.parameters(d, seed)
    return found
