"""Methods of the benchmark: learners that read a split one label at a time.

A method is a name and a function of (split, eta, seed, T) that yields a `Reading` after the first
labels and after each of T queries: predictions at the test points, and weights. To add one:
`METHODS["mine"] = Method("mine", "My method", my_function)`.

The paper's methods share everything but the acquisition function: same frequencies, same
hyperparameters, fitted on the same first labels. GP-Var is run on features (as the others) and
exact. EGP-multiAFs gets V more labels than the others, for validation; for a fair comparison every
method is also run with L0 and V as its first labels ("+V" in its name).

EGP-multiAFs divides each score by its maximum, as the paper prints it. Where an entropy is negative
that reverses its order; "EGP-multiAFs (range)" shifts and scales each score to [0, 1] instead,
which is the purpose that the paper states, and our default elsewhere.

"weal, six" is the paper's five acquisition functions and igs, weighted by Algorithm 2, an earlier
default; "weal, even" is the same with even weights (eta = 0). "weal, random" is the baseline for
the gain from active learning.

The joint density of all test labels, the paper's NPLL, is -log p(y | labels so far). Given an
expert, the N test labels are jointly normal around their means, with r = y - mu and covariance
sig2 C, C = B + lam I, B the posterior covariance of f over the test points; the ensemble mixes
these densities by its weights,

    p(y) = sum_m w_m N(r_m; 0, sig2_m C_m)       (a multivariate t if sig2 is integrated out)

This is not the product of the densities of single labels: errors at test points are correlated. It
needs log det C and r'C^-1 r only. On features B = A A', A = Phi S (N, F), and with b the minimiser
of |r - A b|^2 / lam + |b|^2, whose minimum is r'C^-1 r, both cost N F^2 instead of N^3.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from weal.active_learner import ActiveLearner
from weal.benchmark.tasks import Split
from weal.core.arrays import Array
from weal.core.paper.exact_gp import LEAST_RATIO
from weal.core.paper.kernels import Kernel
from weal.core.protocols import Experts, Points
from weal.learner.config import EARLIER_AUTO
from weal.model.model import Model
from weal.regressor import EnsembleGPRegressor

Form = tuple[float, float]  # log det C, r'C^-1 r


def joint_log_density(model: Model, X: Array, y: Array) -> float:
    """Log of the joint predictive density of labels y (N,) at X (N, d), in units of y."""
    ens, scale, warp = model.ensemble_, model.scaling_, model.trained.warp
    points, scaled = model.points(X), scale.labels(y)
    mu, _ = ens.experts.predict(points)  # (M, N)
    forms = _forms(ens.experts, points, warp.labels(scaled) - mu, ens.noise)
    log_det, square = np.array(forms).T[:, :, None]  # (M, 1) each
    # The evidence depends on log det and the square only, so N equal innovations have the same.
    N = len(y)
    s = np.broadcast_to(np.exp(log_det / N), mu.shape)
    log_p, _ = ens.scale.after(np.sqrt(square * s / N), s)
    parts = ens.log_w + log_p
    top = parts.max()
    slopes = float(np.sum(warp.log_slope(scaled))) - N * float(np.log(scale.y_sd))
    return float(top + np.log(np.exp(parts - top).sum())) + slopes  # [1, metric:npll]


def _forms(experts: Experts, points: Points, r: Array, lam: Array) -> list[Form]:
    """The form of every expert, for residuals r (M, N) and noise ratios lam (M,)."""
    A = experts.covariance_root(points)  # (M, N, F)
    if A is not None:
        noise = lam[:, None] + experts.remainders(points)  # (M, N)
        return [_on_features(*parts) for parts in zip(A, r, noise, strict=True)]
    B = experts.covariance(points, points)  # (M, N, N)
    ratios = np.maximum(lam, LEAST_RATIO).tolist()
    return [_in_full(*parts) for parts in zip(B, r, ratios, strict=True)]


def _on_features(A: Array, r: Array, lam: Array) -> Form:
    F, least = A.shape[1], float(lam.min())
    share = least / lam  # (N,)
    factor = cho_factor((A.T * share) @ A + least * np.eye(F), lower=True, check_finite=False)
    b = cho_solve(factor, A.T @ (share * r), check_finite=False)
    log_det = np.log(lam).sum() - F * np.log(least) + 2.0 * np.log(np.diag(factor[0])).sum()
    return float(log_det), float(np.sum((r - A @ b) ** 2 / lam) + b @ b)


def _in_full(B: Array, r: Array, lam: float) -> Form:
    L = np.linalg.cholesky(B + lam * np.eye(len(r)))
    z = solve_triangular(L, r, lower=True, check_finite=False)
    return float(2.0 * np.log(np.diag(L)).sum()), float(z @ z)


# The joint density costs as much as several queries.
QUERIES_PER_JOINT_DENSITY = 20


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """Predictions and weights of a method after some labels."""

    labels: int  # used so far, validation labels included
    mean: Array  # (test,)  of f at the test points
    log_density: Array  # (test,)  of the test labels, noise included, in raw units
    experts: dict[str, float]  # weights of the experts, if any
    acquisitions: dict[str, float]  # weights of the acquisition functions
    joint: float = float("nan")  # log density of all test labels at once; NaN if not computed
    asked: int = -1  # the candidate whose label came last; -1 before the first query


MethodFunction = Callable[[Split, float, int, int], Iterator[Reading]]  # split, eta, seed, T


@dataclass(frozen=True, slots=True)
class Method:
    """A method by name."""

    name: str
    title: str
    run: MethodFunction
    group: str = "own"  # "paper", "fair", "ours", "peers" or "own"


def with_learner(
    make: Callable[[int], EnsembleGPRegressor],
    acquisition: str | list[str],
    split: Split,
    eta: float,
    seed: int,
    T: int,
    *,
    validate: bool = False,
    even: bool = False,
    score_scaling: str = "range",
    joint: bool = False,
) -> Iterator[Reading]:
    """Run an ActiveLearner on a split; `validate` gives it V for validation.

    `even` fixes equal weights of several acquisition functions, whatever the eta of the task;
    `joint` computes the joint density too, every QUERIES_PER_JOINT_DENSITY queries and at the end.
    """
    learner = ActiveLearner(
        model=make(seed),
        pool=split.Xu,
        acquisition=acquisition,
        validation=(split.Xv, split.yv) if validate else None,  # [1, alg:2 line 1]
        eta=0.0 if even else eta,
        score_scaling=score_scaling,
        n_start=1,
        seed=seed,
    )
    learner.tell_points(split.X0, split.y0)  # [1, alg:1 line 1]
    test = learner.watch(split.Xt)
    spent = len(split.y0) + (len(split.yv) if validate else 0)
    query = -1
    for t in range(T + 1):  # [1, alg:1 line 2, alg:2 line 3]
        if t:
            query = learner.ask()
            learner.tell(query, split.yu[query])  # [1, alg:1 line 5, alg:2 line 13]
        mean, _ = test.predict()
        log_p = test.log_predictive_density(split.yt)
        together = joint and (t % QUERIES_PER_JOINT_DENSITY == 0 or t == T)
        yield Reading(
            spent + t,
            mean,
            log_p,
            _by_kernel(learner.model),
            learner.acquisition_weights,
            joint_log_density(learner.model, split.Xt, split.yt) if together else float("nan"),
            query,
        )


def _by_kernel(model: Model) -> dict[str, float]:
    """Weights of the experts by kernel, summed over experts that differ in their noise only.

    Experts with one lengthscale for each input are summed by family: every selection has others.
    """
    weights: dict[str, float] = {}
    for kernel, w in zip(model.dictionary_, model.weights_.tolist(), strict=True):
        each = isinstance(kernel.length_scale, tuple)
        name = f"{kernel.family}, each input" if each else repr(kernel)
        weights[name] = weights.get(name, 0.0) + w
    return weights


def with_validation_labels(
    run: MethodFunction, split: Split, eta: float, seed: int, T: int
) -> Iterator[Reading]:
    """A method with L0 and V as its first labels."""
    X0, y0 = np.concatenate([split.X0, split.Xv]), np.concatenate([split.y0, split.yv])
    return run(replace(split, X0=X0, y0=y0, Xv=split.Xv[:0], yv=split.yv[:0]), eta, seed, T)


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
    paper_learner = partial(with_learner, joint=True)
    single, exact = (partial(_single, kind) for kind in ("features", "exact"))
    runs: list[tuple[str, str, MethodFunction]] = [
        # [1, eq: singleGPvaracq, set:baseline]
        ("gp-var", "GP-Var", partial(paper_learner, single, "wvar")),
        ("gp-var-exact", "GP-Var (exact)", partial(paper_learner, exact, "wvar")),
        ("random", "EGP, random", partial(paper_learner, _paper, "random")),
        # [1, set:methods]
        *((name, title, partial(paper_learner, _paper, acq)) for name, (title, acq) in egp.items()),
    ]
    methods = [Method(name, title, run, "paper") for name, title, run in runs]
    fair = [
        Method(f"{m.name}+v", f"{m.title} +V", partial(with_validation_labels, m.run), "fair")
        for m in methods
    ]
    multi = partial(paper_learner, _paper, "multi", validate=True)
    printed = partial(multi, score_scaling="maximum")
    methods += [
        Method("egp-multiafs", "EGP-multiAFs", printed, "paper"),
        Method("egp-multiafs-range", "EGP-multiAFs (range)", multi, "paper"),
        *fair,
    ]
    ours = ("auto", "wvar", "gpm-var", "qbc", "ivr", "mvr", "bald", "igs", "multi", "random")
    methods += [
        Method(f"weal-{acq}", f"weal, {acq}", partial(with_learner, _ours, acq), "ours")
        for acq in ours
    ]
    six = partial(with_learner, _ours, list(EARLIER_AUTO))
    methods.append(Method("weal-six", "weal, six", six, "ours"))
    methods.append(Method("weal-even", "weal, even", partial(six, even=True), "ours"))
    return {method.name: method for method in methods}


METHODS: dict[str, Method] = _table()
