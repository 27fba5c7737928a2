"""Methods that choose which rows of a pool to test for pass or fail.

    weal-pass           weal, a pass/fail quantity with its default settings
    weal-pass-refit-5   the same, its experts selected again after every fifth label
    weal-pass-random    the same model, rows chosen at random
    gpc-margin          scikit-learn's GaussianProcessClassifier, RBF kernel with one
                        lengthscale, three restarts
    forest-margin       scikit-learn's RandomForestClassifier, TREES trees
    logistic-margin     scikit-learn's LogisticRegression

The last three choose by margin sampling [1]: the next row is the one whose probability of a pass is
nearest to 1/2; ties are broken at random. Their inputs are scaled by the mean and sd of the first
rows and of the pool. The classifiers are fitted after every label; the kernel of the GP is
optimised after every fifth one, as the rivals of `peers` are, and fixed in between.

A split has results 0 (fail) and 1 (pass), and both are among its first labels (`pass_fail_split`).
After the first labels and after every LABELS_PER_READING more a method yields the probabilities of
a pass of the test rows, of which `pass_fail_metrics` makes

    accuracy    share of the test rows on the right side of 1/2
    log_loss    mean of -log of the probability of the result, probabilities held to
                LEAST_PROBABILITY or more: a forest of 100 trees often says 0

[1] Scheffer, Decomain and Wrobel: Active hidden Markov models for information extraction, 2001.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegression

from weal.active_learner import ActiveLearner
from weal.benchmark.peers import ASK_RNG_KEY, FIT_RNG_KEY, LABELS_PER_REFIT, RESTARTS
from weal.benchmark.tasks import Split
from weal.core.arrays import Array
from weal.core.scaling import from_data

FIRST_LABELS = 10
LABELS_PER_READING = 5
MAX_POOL_ROWS, MAX_TEST_ROWS = 400, 1000
POOL_SHARE = 2.0 / 3.0  # of the rows of a small table
TREES = 100
LEAST_PROBABILITY = 0.01
_SPLIT_RNG_KEY = 254  # part of the random key of a split
QUANTITY = "passed"

Classifier = Any  # of scikit-learn: fit, predict_proba, classes_
Fit = Callable[[Classifier | None, Array, Array, int, int], Classifier]  # before, X, y, t, seed


@dataclass(frozen=True, slots=True, eq=False)
class PassFailReading:
    """Probabilities of a pass at the test rows after some labels."""

    labels: int
    p: Array  # (test,)


PassFailFunction = Callable[[Split, int, int], Iterator[PassFailReading]]  # split, seed, T


@dataclass(frozen=True, slots=True)
class PassFailMethod:
    """A method by name."""

    name: str
    title: str
    run: PassFailFunction


def pass_fail_split(X: Array, passed: NDArray[np.bool_], realisation: int) -> Split:
    """The first labels, the pool and the test rows of a realisation.

    Rows are drawn again until the first labels have a pass and a fail: no classifier can be fitted
    to one of them alone.
    """
    rng = np.random.default_rng([realisation, _SPLIT_RNG_KEY])
    if passed.all() or not passed.any():
        raise ValueError(f"all {len(passed)} results are the same: give a table with both")
    while True:
        rows = rng.permutation(len(X))
        if 0 < passed[rows[:FIRST_LABELS]].sum() < FIRST_LABELS:
            break
    pool, test = np.split(rows, [min(MAX_POOL_ROWS, int(POOL_SHARE * len(rows)))])
    first, rest, y = pool[:FIRST_LABELS], pool[FIRST_LABELS:], passed.astype(np.float64)
    test = test[:MAX_TEST_ROWS]
    return Split(
        X0=X[first], y0=y[first], Xv=X[:0], yv=y[:0],
        Xu=X[rest], yu=y[rest], Xt=X[test], yt=y[test],
    )  # fmt: skip


def pass_fail_metrics(p: Array, y: Array) -> dict[str, float]:
    """Accuracy and log loss of probabilities of a pass p (N,), for results y (N,) of 0 and 1.

    >>> found = pass_fail_metrics(np.array([0.9, 0.2, 0.0]), np.array([1.0, 1.0, 1.0]))
    >>> {name: round(value, 3) for name, value in found.items()}  # log(0.9 * 0.2 * 0.01) / 3
    {'accuracy': 0.333, 'log_loss': 2.107}
    """
    held = np.clip(p, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
    told = np.where(y > 0.5, held, 1.0 - held)
    return {
        "accuracy": float(np.mean((p > 0.5) == (y > 0.5))),
        "log_loss": float(-np.mean(np.log(told))),
    }


def run_weal(
    split: Split, seed: int, T: int, at_random: bool = False, refit_every: int | None = None
) -> Iterator[PassFailReading]:
    """Readings of an ActiveLearner with a pass/fail quantity.

    With `refit_every` experts are selected again after every so many labels, by a new learner.
    """
    first, y = len(split.y0), np.concatenate([split.y0, split.yu])
    order = np.random.default_rng([seed, ASK_RNG_KEY]).permutation(len(split.yu)) + first
    rows = list(range(first))
    learner = _pass_fail_learner(split, seed, rows, y)
    for t in range(T + 1):
        if t:
            rows.append(int(order[t - 1]) if at_random else int(learner.ask()))
            learner.tell(rows[-1], float(y[rows[-1]]))
        if t and refit_every and t % refit_every == 0:
            learner = _pass_fail_learner(split, seed, rows, y)
        if t % LABELS_PER_READING == 0:
            yield PassFailReading(first + t, learner.predict_proba(split.Xt)[:, 1])


def _pass_fail_learner(split: Split, seed: int, rows: list[int], y: Array) -> ActiveLearner:
    """A learner with the results y (N,) of these rows of the pool."""
    X, types = np.concatenate([split.X0, split.Xu]), {QUANTITY: "pass"}
    learner = ActiveLearner(X, target=QUANTITY, types=types, n_start=1, repeats=False, seed=seed)
    learner.tell(rows, y[rows])
    return learner


def run_margin(fit: Fit, split: Split, seed: int, T: int) -> Iterator[PassFailReading]:
    """Readings of a classifier that asks for the row with the smallest margin."""
    scaling = from_data(np.concatenate([split.X0, split.Xu]), split.y0)
    X, y, Xu = scaling.inputs(split.X0), split.y0, scaling.inputs(split.Xu)
    left, first, Xt = np.arange(len(Xu)), len(y), scaling.inputs(split.Xt)
    model = fit(None, X, y, 0, seed)
    for t in range(T + 1):
        if t:
            rng = np.random.default_rng([seed, t, ASK_RNG_KEY])
            best = smallest_margin(pass_probability(model, Xu[left]), rng)
            row = left[best]
            X, y, left = np.vstack([X, Xu[row]]), np.append(y, split.yu[row]), np.delete(left, best)
            model = fit(model, X, y, t, seed)
        if t % LABELS_PER_READING == 0:
            yield PassFailReading(first + t, pass_probability(model, Xt))


def smallest_margin(p: Array, rng: np.random.Generator) -> int:
    """The row whose probability of a pass is nearest to 1/2; one at random where several are.

    >>> smallest_margin(np.array([0.1, 0.58, 0.45, 0.9]), np.random.default_rng(0))
    2
    """
    apart = np.abs(p - 0.5)
    return int(rng.choice(np.flatnonzero(apart <= apart.min() + 1e-12)))


def pass_probability(model: Classifier, X: Array) -> Array:  # (N,)
    """Probability of class 1 under a fitted classifier."""
    return np.asarray(model.predict_proba(X)[:, list(model.classes_).index(1.0)])


def fit_gpc(before: Classifier | None, X: Array, y: Array, t: int, seed: int) -> Classifier:
    """A GP classifier; its kernel is optimised after every fifth label."""
    if before is None or t % LABELS_PER_REFIT == 0:
        kernel = ConstantKernel(1.0) * RBF(np.sqrt(X.shape[1]))
        restarts = {"n_restarts_optimizer": RESTARTS, "random_state": _fit_seed(seed, t)}
        model = GaussianProcessClassifier(kernel, **restarts)
    else:
        model = GaussianProcessClassifier(clone(before.kernel_), optimizer=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a search that ends on a bound
        return model.fit(X, y)


def fit_forest_classifier(
    before: Classifier | None, X: Array, y: Array, t: int, seed: int
) -> Classifier:
    """A random forest of scikit-learn's defaults."""
    return RandomForestClassifier(TREES, random_state=_fit_seed(seed, t)).fit(X, y)


def fit_logistic(before: Classifier | None, X: Array, y: Array, t: int, seed: int) -> Classifier:
    """Logistic regression with scikit-learn's default penalty."""
    return LogisticRegression(max_iter=1000).fit(X, y)


def _fit_seed(seed: int, t: int) -> int:
    return int(np.random.default_rng([seed, t, FIT_RNG_KEY]).integers(2**31 - 1))


PASS_FAIL_METHODS: dict[str, PassFailMethod] = {
    method.name: method
    for method in (
        PassFailMethod("weal-pass", "weal, pass/fail", run_weal),
        PassFailMethod(
            "weal-pass-refit-5",
            "weal, refit every 5",
            partial(run_weal, refit_every=LABELS_PER_REFIT),
        ),
        PassFailMethod("weal-pass-random", "random rows", partial(run_weal, at_random=True)),
        PassFailMethod("gpc-margin", "GP classifier, margin", partial(run_margin, fit_gpc)),
        PassFailMethod(
            "forest-margin", "random forest, margin", partial(run_margin, fit_forest_classifier)
        ),
        PassFailMethod(
            "logistic-margin", "logistic regression, margin", partial(run_margin, fit_logistic)
        ),
    )
}
