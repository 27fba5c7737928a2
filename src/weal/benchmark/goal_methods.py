"""Methods that search a pool: weal with a goal, and searches with models of other packages.

    weal-best                      the ten largest values
    weal-fifth, weal-twentieth     all rows above the level that this share of the pool exceeds
    sklearn-ei                     scikit-learn's GP (`peers`), expected improvement
    sklearn-fifth, -twentieth      the same GP, straddle
    forest-ei                      scikit-learn's random forest, expected improvement with the
                                   mean and the sd over its trees, as in SMAC [1]
    botorch-logei, -qlognei        BoTorch's SingleTaskGP with its LogExpectedImprovement and its
                                   qLogNoisyExpectedImprovement [2]

`weal-auto` and `weal-random` of `methods` run on the same pools: they learn the whole function, and
choose at random. All start from the same first labels. With incumbent b, z = (mean - b) / sd,

    EI = (mean - b) Phi(z) + sd phi(z),    straddle = 1.96 sd - |mean - h|        sd of f, no noise

b is the largest label so far. Levels h are given to every method in the units of the labels, as a
user would give them. Models of other packages are fitted after every fifth label, as in `peers`,
and conditioned on the labels in between; the forest and `botorch-logei-1` are fitted after each.

[1] Hutter et al.: Sequential model-based optimization for general algorithm configuration, 2011.
[2] Ament et al.: Unexpected improvements to expected improvement for Bayesian optimization, 2023.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from scipy.special import ndtr
from sklearn.ensemble import RandomForestRegressor

from weal.active_learner import ActiveLearner
from weal.benchmark.data_folders import Folder, NotAvailable
from weal.benchmark.goal_metrics import LEVEL_SHARES, TOP_ROWS, level_of
from weal.benchmark.goal_tasks import GOAL_TASKS
from weal.benchmark.methods import METHODS, Method, MethodFunction, Reading
from weal.benchmark.peers import (
    ASK_RNG_KEY,
    LABELS_PER_REFIT,
    BotorchModel,
    Fit,
    M,
    PeerData,
    Score,
    SklearnModel,
    fit_botorch,
    fit_sklearn,
    run_peer,
    to_numpy,
    to_tensor,
    torch_settings,
)
from weal.benchmark.protocol import BenchmarkPlan, choose_items, make_plan
from weal.benchmark.tasks import Split
from weal.core.arrays import Array
from weal.core.scaling import from_data
from weal.goals.best import Best
from weal.goals.protocol import Goal
from weal.goals.threshold import Above
from weal.regressor import EnsembleGPRegressor

STRADDLE_SDS = 1.96  # half width of a 95 % interval (Bryan et al. 2005)
LEAST_SD = 1e-9  # of a forest whose trees agree
TREES = 100
QLOGNEI_ROWS = 100  # candidates scored at a time, for memory


def with_goal(
    goal_of: Callable[[Split], Goal],
    split: Split,
    eta: float,
    seed: int,
    T: int,
    refit_every: int | None = None,
) -> Iterator[Reading]:
    """Run an ActiveLearner with a goal on a split whose test points are the pool.

    Measured rows are not asked again: the other methods cannot, and the pool has one label a row.
    With `refit_every` experts are selected again after every so many labels, by a new learner that
    is told all labels; None is the schedule of the learner.
    """
    first, y = len(split.y0), np.concatenate([split.y0, split.yu])
    rows, goal = list(range(first)), goal_of(split)
    learner = _goal_learner(goal, split, seed, rows, y)
    pool = learner.watch(split.Xt)
    for t in range(T + 1):
        if t:
            rows.append(int(learner.ask()))
            learner.tell(rows[-1], float(y[rows[-1]]))
        if t and refit_every and t % refit_every == 0:
            learner = _goal_learner(goal, split, seed, rows, y)
            pool = learner.watch(split.Xt)
        mean, _ = pool.predict()
        log_p = pool.log_predictive_density(split.yt)
        yield Reading(first + t, mean, log_p, {}, {}, asked=rows[-1] - first)


def _goal_learner(goal: Goal, split: Split, seed: int, rows: list[int], y: Array) -> ActiveLearner:
    """A learner with the labels y (N,) of these rows of the pool."""
    model = EnsembleGPRegressor(random_state=seed)
    learner = ActiveLearner(split.Xt, model=model, goal=goal, repeats=False, n_start=1, seed=seed)
    learner.tell(rows, y[rows])
    return learner


def random_rows(split: Split, eta: float, seed: int, T: int) -> Iterator[Reading]:
    """Random rows without a model; the mean of the first labels stands for predictions."""
    order = np.random.default_rng([seed, ASK_RNG_KEY]).permutation(len(split.yu))
    mean, log_p = np.full(len(split.yt), split.y0.mean()), np.zeros(len(split.yt))
    for t, row in enumerate([-1, *order[:T].tolist()]):
        yield Reading(len(split.y0) + t, mean, log_p, {}, {}, asked=row)


def best_ten(split: Split) -> Goal:
    """The goal of the ten largest values."""
    return Best(TOP_ROWS)


def above(share: float, split: Split) -> Goal:
    """The goal of all rows above the level that this share of the pool exceeds."""
    return Above(level_of(split.yt, share))


def expected_improvement(mean: Array, sd: Array, incumbent: float) -> Array:
    """E max(f - incumbent, 0) for f with these means (N,) and sds (N,).

    >>> expected_improvement(np.zeros(1), np.ones(1), 0.0).round(4)  # 1 / sqrt(2 pi)
    array([0.3989])
    """
    sd = np.maximum(sd, LEAST_SD)
    z = (mean - incumbent) / sd
    return np.asarray(sd * (z * ndtr(z) + np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)))


def sklearn_ei(model: SklearnModel, known: PeerData) -> Array:  # (U,)
    """Expected improvement on the largest label so far."""
    return expected_improvement(*_without_noise(model, known.C), float(known.y.max()))


def sklearn_straddle(level: float, model: SklearnModel, known: PeerData) -> Array:  # (U,)
    """1.96 sd - |mean - level|, in scaled units."""
    mean, sd = _without_noise(model, known.C)
    return np.asarray(STRADDLE_SDS * sd - np.abs(mean - level))


def _without_noise(model: SklearnModel, C: Array) -> tuple[Array, Array]:
    """Mean (U,) and sd (U,) of f."""
    mean, v = model.predict(C)
    return mean, np.sqrt(np.maximum(v - model.gp.kernel_.k2.noise_level, 0.0))


def run_above(
    fit: Fit[M],
    score: Callable[[float, M, PeerData], Array],
    share: float,
    split: Split,
    eta: float,
    seed: int,
    T: int,
) -> Iterator[Reading]:
    """Readings of a peer whose score takes the level of this share, in scaled units."""
    scaling = from_data(np.concatenate([split.X0, split.Xu]), split.y0)
    level = float(scaling.labels(np.array([level_of(split.yt, share)]))[0])
    return run_peer(fit, partial(score, level), LABELS_PER_REFIT, split, eta, seed, T)


@dataclass(frozen=True, slots=True, eq=False)
class ForestModel:
    """A fitted RandomForestRegressor."""

    forest: Any

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Mean and variance over the trees."""
        X32 = np.ascontiguousarray(X, dtype=np.float32)  # the precision of the trees
        trees = self.forest.estimators_
        each = np.array([tree.predict(X32, check_input=False) for tree in trees])  # (trees, N)
        return each.mean(axis=0), np.maximum(each.var(axis=0), LEAST_SD)

    def condition(self, X: Array, y: Array) -> Self:
        """A newly fitted forest: forests cannot be conditioned."""
        return type(self)(RandomForestRegressor(TREES, random_state=0).fit(X, y))


def fit_forest(X: Array, y: Array, rng: np.random.Generator) -> ForestModel:
    """A random forest of scikit-learn's defaults."""
    seed = int(rng.integers(2**31 - 1))
    return ForestModel(RandomForestRegressor(TREES, random_state=seed).fit(X, y))


def forest_ei(model: ForestModel, known: PeerData) -> Array:  # (U,)
    """Expected improvement on the largest label so far."""
    mean, v = model.predict(known.C)
    return expected_improvement(mean, np.sqrt(v), float(known.y.max()))


def log_ei(model: BotorchModel, known: PeerData) -> Array:  # (U,)
    """BoTorch's LogExpectedImprovement on the largest label so far."""
    with torch_settings():
        from botorch.acquisition import LogExpectedImprovement

        score = LogExpectedImprovement(model.gp, best_f=float(known.y.max()))
        return to_numpy(score(to_tensor(known.C[:, None, :])))


def q_log_nei(model: BotorchModel, known: PeerData) -> Array:  # (U,)
    """BoTorch's qLogNoisyExpectedImprovement of one candidate at a time."""
    with torch_settings(int(known.rng.integers(2**31 - 1))):
        from botorch.acquisition import qLogNoisyExpectedImprovement

        score = qLogNoisyExpectedImprovement(model.gp, to_tensor(known.X), prune_baseline=True)
        starts = range(0, len(known.C), QLOGNEI_ROWS)
        blocks = [to_tensor(known.C[n : n + QLOGNEI_ROWS, None, :]) for n in starts]
        return np.concatenate([to_numpy(score(block)) for block in blocks])


def _peer(fit: Fit[M], score: Score[M], every: int = LABELS_PER_REFIT) -> MethodFunction:
    return partial(run_peer, fit, score, every)


def _methods() -> dict[str, Method]:
    above_level = partial(run_above, fit_sklearn, sklearn_straddle)
    runs: list[tuple[str, str, MethodFunction]] = [
        ("weal-best", "weal, best 10", partial(with_goal, best_ten)),
        *(
            (f"weal-{name}", f"weal, above ({name})", partial(with_goal, partial(above, share)))
            for name, share in LEVEL_SHARES.items()
        ),
        ("sklearn-ei", "scikit-learn GP, EI", _peer(fit_sklearn, sklearn_ei)),
        *(
            (f"sklearn-{name}", f"scikit-learn GP, straddle ({name})", partial(above_level, share))
            for name, share in LEVEL_SHARES.items()
        ),
        ("forest-ei", "random forest, EI", _peer(fit_forest, forest_ei)),
        ("botorch-logei", "BoTorch, LogEI", _peer(fit_botorch, log_ei)),
        ("botorch-logei-1", "BoTorch, LogEI, fitted to each", _peer(fit_botorch, log_ei, 1)),
        ("botorch-qlognei", "BoTorch, qLogNoisyEI", _peer(fit_botorch, q_log_nei)),
    ]
    ours = (METHODS["weal-auto"], METHODS["weal-random"])
    methods = [Method(name, title, run, "goals") for name, title, run in runs]
    return {method.name: method for method in (*methods[:3], *ours, *methods[3:])}


GOAL_METHODS: dict[str, Method] = _methods()


_SLOW = ("forest-ei", "botorch-logei-1")
QUICK_GOAL_METHODS = tuple(name for name in GOAL_METHODS if name not in _SLOW)


def make_goal_plan(
    tasks: Iterable[str],
    methods: Iterable[str],
    *,
    realisations: int,
    T: int,
    seed: int = 0,
    data: Folder = None,
) -> BenchmarkPlan:
    """The plan of these pools and methods, by name or "all"; ValueError for wrong names."""
    pools = choose_items("task", tasks, GOAL_TASKS)
    absent = goal_methods()[1]
    chosen = choose_items("method", methods, GOAL_METHODS)
    usable = [method for method in chosen if method.name not in absent]
    if not usable:
        raise NotAvailable("; ".join(f"{one.name}: {absent[one.name]}" for one in chosen))
    plan = make_plan(pools, usable, realisations=realisations, T=T, seed=seed, data=data)
    left_out = {one.name: absent[one.name] for one in chosen if one.name in absent}
    return replace(plan, skipped={**plan.skipped, **left_out})


def goal_methods() -> tuple[dict[str, Method], dict[str, str]]:
    """The methods that can be run here, and why the others cannot.

    >>> list(goal_methods()[0])[:4]
    ['weal-best', 'weal-fifth', 'weal-twentieth', 'weal-auto']
    """
    if find_spec("botorch") is not None:
        return GOAL_METHODS, {}
    absent = [name for name in GOAL_METHODS if name.startswith("botorch")]
    why = dict.fromkeys(absent, 'needs BoTorch: pip install "weal[peers]"')
    return {name: m for name, m in GOAL_METHODS.items() if name not in why}, why
