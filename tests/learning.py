"""A small campaign that the tests of the learner share: units that differ, unequal experts."""

from copy import deepcopy

import numpy as np

from weal import ActiveLearner, EnsembleGPRegressor, Kernel, Scaling
from weal.learner.pools.memory import POOL_BYTES
from weal.learner.pools.protocol import ScorePass
from weal.learner.pools.score_pass import belief_of
from weal.learner.posterior_cache import PosteriorCache

KERNELS = (Kernel("rbf", 0.6), Kernel("matern52", (1.0, 2.0, 5.0)), Kernel("rq", 3.0, alpha=0.7))
MAGNITUDE, NOISE = (1.3, 0.8, 2.0), (0.02**0.5, 0.05**0.5, 0.03**0.5)
SCALING = Scaling(np.array([0.2, 300.0, -1.0]), np.array([1.1, 45.0, 0.02]), 2000.0, 300.0)


def frozen(array):
    """The array, which from now on fails whoever writes into it."""
    array.flags.writeable = False
    return array


def points(n, seed=3):
    """n points of three inputs, each in a unit of its own."""
    rng = np.random.default_rng([seed, n])
    return frozen(rng.normal(size=(n, 3)) * [1.0, 50.0, 0.02] + [0.0, 300.0, -1.0])


def measure(X):
    """The labels (N,) of points (N, 3), or the one of a point (3,)."""
    X = np.asarray(X, dtype=float)
    y = 2000.0 + 300.0 * np.sin(2.0 * X[..., 0]) + 4.0 * (X[..., 1] - 300.0)
    return y + 2e4 * np.maximum(X[..., 2] + 1.0, 0.0)


POOL = points(60)
Y = frozen(measure(POOL))
OUTSIDE = points(9, seed=4)


def model(approximation="features", **changes):
    """Three unequal experts; magnitude and noise given, so that nothing is fitted."""
    given = {"n_frequencies": 25, "magnitude": MAGNITUDE, "noise": NOISE, "random_state": 5}
    given |= {"kernels": KERNELS, "approximation": approximation}
    return EnsembleGPRegressor(**{**given, **changes})


def a_learner(acquisition="gpm-var", approximation="features", first=8, pool=POOL, **options):
    """A learner that knows the first labels, or none."""
    chosen = options.pop("model", None) or model(approximation)
    learner = ActiveLearner(pool, chosen, acquisition, **options)
    if first:
        learner.tell(learner.candidates.ids[:first], measure(learner.candidates.X[:first]))
    return learner


def teach(learner, n):
    """Ask and tell n times; returns what was asked."""
    asked = []
    for _ in range(n):
        asked.append(learner.ask())
        learner.tell(asked[-1], measure(learner.candidates.x(asked[-1])))
    return asked


def told(learner):
    """Labels as a list of (id, label, noise)."""
    return [(label.name, label.y, label.noise) for label in learner.labels]


def beliefs(learner, X=OUTSIDE):
    """Means and sds (2, N) of f, or None before there is a model."""
    return np.stack(learner.model.predict(X, return_std=True)) if learner.fitted else None


def outlook(learner, memory=POOL_BYTES):
    """Ensemble and pool of the learner's state, made from the state alone."""
    return PosteriorCache(memory).posterior(learner.state.view())


def seen_by_functions(now, key=(0, 0)):
    """What the acquisition functions see of an outlook, with all experts that are held."""
    pool, U = now.pool, len(now.pool.X)
    asked = ScorePass(now.ens, {}, now.X, now.y, key, np.ones(U, dtype=bool), range(U))
    which = pool.members
    q = None if pool.q is None else pool.q[which]
    return belief_of(asked, which, pool.mu[which], pool.v[which], q, pool.X)


def everything(learner):
    """All that a user could see of a learner, in a form that == compares."""
    seen = beliefs(learner, learner.candidates.X)
    return {
        "labels": told(learner),
        "pending": dict(learner.pending),
        "skipped": set(learner.skipped),
        "history": repr(deepcopy(list(learner.history))),
        "ids": list(learner.candidates.ids),
        "present": learner.candidates.present.tolist(),
        "omega": learner.acquisition_weights,
        "beliefs": None if seen is None else seen.tolist(),
        "error": learner.predicted_error(),
    }
