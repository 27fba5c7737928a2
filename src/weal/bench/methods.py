"""Methods as data: what learns from a split, one label at a time.

A method is a name and a function of (split, eta, seed, T) that yields a `Reading` after the first
labels and after each of T queries: what it believes of the test points, and how its weights stand.
Anybody can add one: `METHODS["mine"] = Method("mine", "My method", my_function)`.

The paper's methods share everything but the acquisition function: same frequencies, same
hyperparameters, fitted on the same first labels. Two readings of GP-Var are shown, on features (as
the others) and exact. EGP-multiAFs is given V more labels than the others, for validation; for
fairness every method is also run with L0 and V as its first labels ("+V" in its name).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from weal.active_learner import ActiveLearner
from weal.bench.tasks import Split
from weal.core.arrays import Array
from weal.core.kernels import Kernel
from weal.model.model import Model
from weal.model.regressor import EnsembleGPRegressor


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What a method believes after some labels."""

    labels: int  # spent so far, those kept for validation included
    mean: Array  # (test,)  of f at the test points
    log_density: Array  # (test,)  of the test labels, noise included, in raw units
    experts: dict[str, float]  # weights of the experts; empty where there are none
    acquisitions: dict[str, float]  # weights of the acquisition functions


Play = Callable[[Split, float, int, int], Iterator[Reading]]  # split, eta, seed, T


@dataclass(frozen=True, slots=True)
class Method:
    """A method by name."""

    name: str
    title: str
    play: Play
    group: str = "own"  # "paper", "fair", "ours", "peers" or "own"


def with_learner(
    make: Callable[[int], EnsembleGPRegressor],
    acquisition: Any,
    split: Split,
    eta: float,
    seed: int,
    T: int,
    *,
    validate: bool = False,
) -> Iterator[Reading]:
    """Play a split with an ActiveLearner; `validate` gives it V for validation."""
    learner = ActiveLearner(
        split.Xu,
        make(seed),
        acquisition,
        validation=(split.Xv, split.yv) if validate else None,
        eta=eta,
        n_start=1,
        seed=seed,
    )
    learner.tell_points(split.X0, split.y0)
    test = learner.watch(split.Xt)
    spent = len(split.y0) + (len(split.yv) if validate else 0)
    for t in range(T + 1):
        if t:
            query = learner.ask()
            learner.tell(query, split.yu[query])
        mean, _ = test.predict()
        weights = _by_kernel(learner.model)
        log_p, omega = test.log_predictive_density(split.yt), learner.acquisition_weights
        yield Reading(spent + t, mean, log_p, weights, omega)


def _by_kernel(model: Model) -> dict[str, float]:
    """Weights of the experts by kernel; those that differ in their noise alone are added up."""
    weights: dict[str, float] = {}
    for kernel, w in zip(model.dictionary_, model.weights_.tolist(), strict=True):
        weights[repr(kernel)] = weights.get(repr(kernel), 0.0) + w
    return weights


def with_validation_labels(play: Play, split: Split, eta: float, seed: int, T: int) -> Any:
    """The same method with L0 and V as its first labels."""
    X0, y0 = np.concatenate([split.X0, split.Xv]), np.concatenate([split.y0, split.yv])
    return play(replace(split, X0=X0, y0=y0, Xv=split.Xv[:0], yv=split.yv[:0]), eta, seed, T)


def _paper(seed: int) -> EnsembleGPRegressor:
    return EnsembleGPRegressor.paper(random_state=seed)


def _ours(seed: int) -> EnsembleGPRegressor:
    return EnsembleGPRegressor(random_state=seed)


def _single(approximation: str, seed: int) -> EnsembleGPRegressor:
    return EnsembleGPRegressor.paper(
        kernels=[Kernel("rbf")],
        fit_length_scale=True,
        approximation=approximation,
        random_state=seed,
    )


def _table() -> dict[str, Method]:
    egp = {
        "egp-wvar": ("EGP-wVar", "wvar"),
        "egp-went": ("EGP-wEnt", "went"),
        "egp-qbc": ("EGP-QBC", "qbc"),
        "egp-gpm-var": ("EGP-GPM-Var", "gpm-var"),
        "egp-gpm-ent": ("EGP-GPM-Ent", "gpm-ent"),
    }
    exact = partial(_single, "exact")
    plays: list[tuple[str, str, Play]] = [
        ("gp-var", "GP-Var", partial(with_learner, partial(_single, "features"), "wvar")),
        ("gp-var-exact", "GP-Var (exact)", partial(with_learner, exact, "wvar")),
        ("random", "EGP, random", partial(with_learner, _paper, "random")),
        *((name, title, partial(with_learner, _paper, acq)) for name, (title, acq) in egp.items()),
    ]
    methods = [Method(name, title, play, "paper") for name, title, play in plays]
    multi = partial(with_learner, _paper, "multi", validate=True)
    methods.append(Method("egp-multiafs", "EGP-multiAFs", multi, "paper"))
    methods += [
        Method(f"{m.name}+v", f"{m.title} +V", partial(with_validation_labels, m.play), "fair")
        for m in methods[:-1]
    ]
    ours = ("auto", "wvar", "gpm-var", "qbc", "ivr", "bald", "igs", "multi", "random")
    methods += [
        Method(f"weal-{acq}", f"weal, {acq}", partial(with_learner, _ours, acq), "ours")
        for acq in ours
    ]
    return {method.name: method for method in methods}


METHODS: dict[str, Method] = _table()
