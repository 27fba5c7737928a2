"""Methods of the goal `learn` beyond those of `weal bench`: other refits, QBC, simple baselines.

    weal-refit-5      the default, its experts selected again after every fifth label as the rivals'
                      hyperparameters are, not after 15 % more labels
    skactiveml-qbc    scikit-activeml's QueryByCommittee on scikit-learn's GP (`peers`): COMMITTEE
                      GPs with its kernel, each fitted to a bootstrap sample of the labels; the
                      candidate with the largest variance of their means is asked
    forest-random     a random forest of TREES trees on random rows
    ridge-random      ridge regression on random rows, its penalty by leave-one-out

Forest and ridge are fitted after every fifth label: curves are read at those label counts alone, so
a fit after each label would show the same scores.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import RidgeCV

from weal import ActiveLearner, EnsembleGPRegressor
from weal.benchmark import peers
from weal.benchmark.methods import METHODS, Method, Reading
from weal.benchmark.peers import (
    ASK_RNG_KEY,
    LABELS_PER_REFIT,
    PeerData,
    SklearnModel,
    fit_sklearn,
    run_peer,
    with_kernel,
)
from weal.benchmark.tasks import Split
from weal.core.arrays import Array
from weal.core.scaling import from_data

COMMITTEE = 10
TREES, MIN_LEAF = 100, 2
PENALTIES = np.logspace(-3.0, 3.0, 13)


def refit_every(every: int, split: Split, eta: float, seed: int, T: int) -> Iterator[Reading]:
    """The default with a new learner, and so a new selection of experts, every few labels."""
    X, y, left = split.X0, split.y0, np.arange(len(split.yu))
    for t in range(T + 1):
        if t % every == 0:
            learner = ActiveLearner(
                split.Xu[left],
                model=EnsembleGPRegressor(random_state=seed),
                eta=eta,
                n_start=1,
                seed=seed,
            )
            learner.tell_points(X, y)
            test, rows = learner.watch(split.Xt), left
        mean, _ = test.predict()
        yield Reading(len(y), mean, test.log_predictive_density(split.yt), {}, {})
        if t < T:
            row = int(rows[learner.ask()])
            learner.tell(int(np.flatnonzero(rows == row)[0]), split.yu[row])
            X, y = np.vstack([X, split.Xu[row]]), np.append(y, split.yu[row])
            left = left[left != row]


def qbc(model: SklearnModel, known: PeerData) -> Array:  # (U,)
    """Utilities of scikit-activeml's QueryByCommittee."""
    from skactiveml.pool import QueryByCommittee
    from skactiveml.regressor import SklearnRegressor

    rows = known.rng.integers(len(known.y), size=(COMMITTEE, len(known.y)))
    committee = [
        SklearnRegressor(with_kernel(model.gp.kernel_)).fit(known.X[own], known.y[own])
        for own in rows
    ]
    _, utilities = QueryByCommittee().query(
        known.X,
        known.y,
        committee,
        fit_ensemble=False,
        candidates=known.C,
        return_utilities=True,
    )
    return np.asarray(utilities[0], dtype=np.float64)


def plain(kind: str, every: int, split: Split, eta: float, seed: int, T: int) -> Iterator[Reading]:
    """A regression that predicts means alone, on random rows; `every` labels have one fit."""
    scaling = from_data(np.concatenate([split.X0, split.Xu]), split.y0)
    rows = np.random.default_rng([seed, ASK_RNG_KEY]).permutation(len(split.yu))[:T]
    X = scaling.inputs(np.concatenate([split.X0, split.Xu[rows]]))
    y, n = np.append(split.y0, split.yu[rows]), len(split.y0)
    test, unknown = scaling.inputs(split.Xt), np.full(len(split.yt), np.nan)
    for t in range(T + 1):
        if t % every == 0:
            mean = regression(kind, seed).fit(X[: n + t], y[: n + t]).predict(test)
        yield Reading(n + t, mean, unknown, {}, {})


def regression(kind: str, seed: int) -> Any:
    """A random forest, or ridge regression."""
    if kind == "forest":
        return RandomForestRegressor(TREES, min_samples_leaf=MIN_LEAF, random_state=seed)
    return RidgeCV(PENALTIES)


def learn_methods() -> dict[str, Method]:
    """All methods of the goal `learn` whose packages are installed, by name."""
    refit = partial(refit_every, LABELS_PER_REFIT)
    own = [Method("weal-refit-5", "weal, refit every 5", refit)]
    own += [
        Method(f"{kind}-random", kind, partial(plain, kind, LABELS_PER_REFIT))
        for kind in ("forest", "ridge")
    ]
    found = {**METHODS, **peers.methods(), **{method.name: method for method in own}}
    if "skactiveml-igs" in found:
        run = partial(run_peer, fit_sklearn, qbc, LABELS_PER_REFIT)
        found["skactiveml-qbc"] = Method("skactiveml-qbc", "QBC", run)
    return found
