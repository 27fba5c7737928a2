"""The settings of a learner, checked once, when they are given."""

from typing import Any

import numpy as np

from weal.core.paper.acquisition import Acquisition
from weal.core.paper.adaptive_acquisition import SCALINGS
from weal.learner.functions import check_amounts, resolve
from weal.learner.sharded.candidates import Pooled
from weal.learner.state import Settings
from weal.model.checks import check_count, check_seed, check_validation
from weal.model.parameters import Parameters, parameters_of


def settings_of(
    candidates: Pooled, model: Any, acquisition: Any, eta: float, score_scaling: str,
    n_start: int | None, seed: int, validation: Any,
) -> Settings:  # fmt: skip
    """Settings for these candidates; see `weal.ActiveLearner` for what each means."""
    if score_scaling not in SCALINGS:
        names = ", ".join(SCALINGS)
        raise ValueError(f"score_scaling is {score_scaling!r}; it is one of {names}")
    if not (np.isfinite(eta) and eta >= 0.0):
        raise ValueError(f"eta is {eta!r}; it must be a number of at least 0")
    d, seed = candidates.X.shape[1], check_seed(seed)
    return Settings(
        parameters=_parameters(model, d, seed),
        functions=_functions(acquisition, candidates.cost is not None),
        eta=float(eta),
        score_scaling=score_scaling,
        n_start=min(10, max(5, d + 3)) if n_start is None else check_count(n_start),
        seed=seed,
        validation=check_validation(validation, candidates.like),
    )


def _functions(acquisition: Any, costs: bool) -> dict[str, Acquisition]:
    """The functions; where labels have costs, those that may be divided by them."""
    functions = resolve(acquisition)
    return check_amounts(functions) if costs else functions


def _parameters(model: Any, d: int, seed: int) -> Parameters:
    """The parameters of an estimator, of a dict by its names, or the default ones; for d inputs."""
    if model is None:
        return parameters_of({"random_state": seed}, d)
    if isinstance(model, dict):
        return parameters_of({"random_state": seed, **model}, d)
    if isinstance(model, type) or not hasattr(model, "parameters"):
        raise TypeError(f"model is {model!r}; it needs an EnsembleGPRegressor, or None")
    found: Parameters = model.parameters(d, seed)
    return found
