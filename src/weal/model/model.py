"""`Model`: a trained ensemble with its scaling, a value that predicts in the user's units.

The scikit-learn estimator (`weal.regressor`) and the learner hold a model, and replace it when a
label comes. The functions above it take scaled inputs X (N, d), in blocks that fit the memory.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from weal.core.arrays import Array, Index
from weal.core.extensions import mixture_quantiles
from weal.core.extensions.label_warp import moments
from weal.core.extensions.relevant_inputs import relevance_probability
from weal.core.paper import ensemble
from weal.core.paper.ensemble import Ensemble
from weal.core.paper.kernels import Kernel
from weal.core.protocols import Embedding, Points
from weal.core.scaling import Scaling
from weal.model import scaled_data
from weal.model.checks import check_level, check_levels
from weal.model.joint_posterior import check_joint_rows, draw_functions, mean_covariance
from weal.model.training import TrainedEnsemble, probabilities
from weal.tables.inputs import inputs_of
from weal.tables.plan import TablePlan
from weal.text import facts_html

Bounds = tuple[float | None, float | None]  # None if no bound
EXACT_ROWS = 5000  # rows of a table whose intervals are solved to the last bit, in seconds


def mean_sd(trained: TrainedEnsemble, scale: Scaling, X: Array) -> tuple[Array, Array]:
    """Mean and sd (N,) of f."""
    parts = [
        in_units(trained, scale, mu, var, lam=trained.noise_at(X[rows]))
        for rows, mu, var in trained.beliefs(X)
    ]
    mean, sd = np.concatenate(parts, axis=1)
    return mean, sd


def in_units(
    trained: TrainedEnsemble,
    scale: Scaling,
    mu: Array,
    var: Array,
    kept: Index = slice(None),
    lam: Array | None = None,
) -> tuple[Array, Array]:
    """Mean and sd (N,) of f in the user's units, from its moments (H, N) under some experts.

    `lam` are noise ratios (M, N) of labels there, where noise varies: they move warped means.
    """
    mean, var = moments(trained.ensemble, trained.warp, mu, var, kept, lam)
    with np.errstate(over="ignore"):
        return scale.means(mean), scale.y_sd * np.sqrt(var)


def log_density(trained: TrainedEnsemble, scale: Scaling, X: Array, y: Array) -> Array:
    """Log density (N,) of labels y (N,), noise included."""
    parts = [
        log_density_in_units(trained, scale, mu, var, y[rows], trained.noise_at(X[rows]))
        for rows, mu, var in trained.beliefs(X)
    ]
    return np.concatenate(parts)


def log_density_in_units(
    trained: TrainedEnsemble,
    scale: Scaling,
    mu: Array,
    var: Array,
    y: Array,
    lam: Array | None = None,
) -> Array:
    """Log density (N,) of labels y (N,), from moments (M, N) of f under each expert.

    `lam` are noise ratios (M, N) of these labels, where noise varies.
    """
    scaled = scale.labels(y)
    log_p = ensemble.log_density(trained.ensemble, mu, var, trained.warp.labels(scaled), lam)
    return log_p + trained.warp.log_slope(scaled) - float(np.log(scale.y_sd))


def noise_sd(trained: TrainedEnsemble, scale: Scaling, X: Array) -> Array:
    """Sd (N,) of the noise of a label at X, in the user's units."""
    ens, parts = trained.ensemble, []
    for rows, mu, _ in trained.beliefs(X):
        var = ens.w @ (ens.magnitude[:, None] * np.broadcast_to(ens.noise_at(X[rows]), mu.shape))
        mean, sd = ens.w @ mu, np.sqrt(var)
        ends = [scale.means(trained.warp.unwarp(mean + side * sd)) for side in (-1.0, 1.0)]
        parts.append(0.5 * (ends[1] - ends[0]))
    return np.concatenate(parts)


def quantiles(trained: TrainedEnsemble, scale: Scaling, X: Array, levels: Array) -> Array:
    """Quantiles (levels, N) of a label, noise included."""
    parts = []
    for rows, mu, var in trained.beliefs(X):
        known = (trained.ensemble, mu, var)
        lam = trained.noise_at(X[rows])
        parts.append([ensemble.quantile(*known, level, lam) for level in levels.tolist()])
    return scale.means(trained.warp.unwarp(np.concatenate(parts, axis=1)))


def summary(
    trained: TrainedEnsemble, scale: Scaling, X: Array, level: float, of: int | None = None
) -> Array:  # (4, N)
    """Mean and sd of f, and the ends of the interval of a label, from one pass over the experts.

    X are some of `of` rows, or all. Of more than EXACT_ROWS the ends are those of `quantiles` to
    1e-8 of the sd of a label (`core.extensions.mixture_quantiles`); of fewer, to the last bit.
    """
    levels, parts = 0.5 + 0.5 * level * np.array([-1.0, 1.0]), []
    for rows, mu, var in trained.beliefs(X):
        lam = trained.noise_at(X[rows])
        ends = _ends(trained, mu, var, levels, len(X) if of is None else of, lam)
        means = in_units(trained, scale, mu, var, lam=lam)
        parts.append([*means, *scale.means(trained.warp.unwarp(ends))])
    return np.concatenate(parts, axis=1)


def _ends(
    trained: TrainedEnsemble, mu: Array, var: Array, levels: Array, of: int, lam: Array | None
) -> Array:  # (2, N)
    """Quantiles of warped labels."""
    known = (trained.ensemble, mu, var)
    if of > EXACT_ROWS:
        return mixture_quantiles.quantiles(*known, levels, lam)
    return np.stack([ensemble.quantile(*known, one, lam) for one in levels.tolist()])


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """An ensemble of Gaussian processes trained on some labels.

    Points are arrays (N, d), or frames, whose columns are then found by name where the labels came
    with names too, and read by the plan of the pool where that had text, dates or gaps.

    Examples
    --------
    >>> import numpy as np
    >>> from weal import ActiveLearner
    >>> X = np.linspace(0, 6, 13)[:, None]
    >>> learner = ActiveLearner(X)
    >>> learner.tell(range(13), np.sin(X[:, 0]))
    >>> mean, std = learner.model.predict([[2.2]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(2.2)) < 0.05)
    True
    """

    trained: TrainedEnsemble
    scaling: Scaling
    columns: tuple[str, ...] | None = None  # of the frame that the labels came with
    plan: TablePlan | None = None  # that makes inputs of such frames; None: their numbers
    bounds: Bounds = (None, None)  # of the labels: means and intervals stay inside
    label_noise: float = 0.0  # sd that every label to come states, in units of y

    # What was learnt ends in an underscore, as in the estimator, so that both answer to one name.

    @overload
    def predict(self, X: Any, return_std: Literal[False] = False) -> Array: ...
    @overload
    def predict(self, X: Any, return_std: Literal[True]) -> tuple[Array, Array]: ...
    @overload
    def predict(self, X: Any, return_std: bool) -> Array | tuple[Array, Array]: ...
    def predict(self, X: Any, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Mean (N,) of f at X, and with `return_std` the sd (N,) of f (not of a noisy label)."""
        mean, sd = mean_sd(self.trained, self.scaling, self.scaled_inputs(X))
        mean = self.clip(mean)
        return (mean, sd) if return_std else mean

    def predict_covariance(self, X: Any) -> tuple[Array, Array]:
        """Mean (N,) of f at X, and the covariance (N, N) of f between the rows of X."""
        check_joint_rows(len(X))
        mean, cov = mean_covariance(self.trained, self.scaling, self.scaled_inputs(X))
        return self.clip(mean), cov

    def draw(self, X: Any, n: int, rng: np.random.RandomState) -> Array:
        """Values (N, n) of n functions drawn from the posterior at X."""
        check_joint_rows(len(X))
        return self.clip(draw_functions(self.trained, self.scaling, self.scaled_inputs(X), n, rng))

    def clip(self, values: Array) -> Array:
        """Values of a label (...), those beyond the bounds of the labels moved to the bounds."""
        return values if self.bounds == (None, None) else np.clip(values, *self.bounds)

    def predict_interval(self, X: Any, level: float = 0.9) -> tuple[Array, Array]:
        """Ends (N,), (N,) of intervals that contain a label at X with this probability."""
        check_level(level)
        low, high = self.predict_quantiles(X, [0.5 - 0.5 * level, 0.5 + 0.5 * level])
        return low, high

    def summary(self, X: Any, level: float = 0.9, of: int | None = None) -> Array:  # (4, N)
        """Mean and sd of f, and the ends of intervals of a label, from one pass over the experts.

        As `predict` and `predict_interval`; of tables of more than 5,000 rows the
        ends are theirs to 1e-8 of the sd of a label. `of` is how many rows the table has of which X
        is a part.
        """
        check_level(level)
        found = summary(self._for_labels, self.scaling, self.scaled_inputs(X), level, of)
        found[[0, 2, 3]] = self.clip(found[[0, 2, 3]])
        return found

    def predict_quantiles(self, X: Any, levels: ArrayLike) -> Array:
        """Quantiles (levels, N) of a label at X (N, d), noise included, in units of y."""
        X = self.scaled_inputs(X)
        return self.clip(quantiles(self._for_labels, self.scaling, X, check_levels(levels)))

    def predict_noise(self, X: Any) -> Array:
        """Sd (N,) of the noise of a label at X (N, d), in units of y.

        The same everywhere, unless labels scatter more in some places than in others. Of warped
        labels it is half the width of the interval of one sd of noise around the mean.
        """
        return noise_sd(self._for_labels, self.scaling, self.scaled_inputs(X))

    def log_predictive_density(self, X: Any, y: ArrayLike) -> Array:
        """Log density (N,) of the labels y (N,) at X (N, d), noise included, in units of y."""
        X, labels = self.scaled_inputs(X), np.asarray(y, dtype=np.float64)
        if labels.shape != (len(X),) or not np.isfinite(labels).all():
            raise ValueError(
                f"y must be a finite label for each of the {len(X)} rows of X; "
                f"got shape {labels.shape}"
            )
        scaled_data.labels(self.scaling, labels)
        return log_density(self._for_labels, self.scaling, X, labels)

    @property
    def _for_labels(self) -> TrainedEnsemble:
        """The ensemble with the noise that labels to come have besides what experts estimate."""
        if self.label_noise == 0.0:
            return self.trained
        ratios = self.ensemble_.ratios(np.array([self.label_noise / self.scaling.y_sd]) ** 2)
        return replace(self.trained, ensemble=replace(self.ensemble_, noise=ratios[:, 0]))

    def __repr__(self) -> str:
        counts = (f"{n} {name.removesuffix('s') if n == 1 else name}" for name, n in self._facts())
        return f"<Model: {', '.join(counts)}>"

    def _repr_html_(self) -> str:
        known = self.dictionary_ or ["encoded"] * len(self.weights_)
        experts = [f"{w:.0%} {known[m]}" for m, w in self._heaviest()]
        return facts_html("Model", {**dict(self._facts()), "heaviest": "; ".join(experts)})

    def _facts(self) -> list[tuple[str, int]]:
        d, t, M = self.n_features_in_, self.n_labels_, len(self.weights_)
        return [("labels", t), ("inputs", d), ("experts", M)]

    def _heaviest(self) -> list[tuple[int, float]]:
        """The experts with the largest weights, and their weights."""
        best = np.argsort(-self.weights_, kind="stable")[:3].tolist()
        return [(m, float(self.weights_[m])) for m in best]

    @property
    def dictionary_(self) -> tuple[Kernel, ...]:
        """The kernels of the M experts."""
        return self.trained.dictionary

    @property
    def input_importance_(self) -> Array:  # (d,)
        """Posterior probability that each input matters."""
        d, all_inputs = self.n_features_in_, self.trained.X.shape[1]  # with those of a source
        if not self.dictionary_:
            return np.ones(d)
        t = len(self.trained.y)
        return relevance_probability(self.dictionary_, self.weights_, all_inputs, t)[:d]

    @property
    def weights_(self) -> Array:  # (M,)
        """Probability of each expert given the labels."""
        return self.ensemble_.w

    @property
    def magnitude_(self) -> Array:  # (M,)
        """Magnitude of each expert, in units of the scaled labels; its mean where integrated."""
        return self.ensemble_.magnitude

    @property
    def noise_(self) -> Array:  # (M,)
        """Noise sd of each expert, in units of the scaled labels."""
        return np.sqrt(self.ensemble_.magnitude * self.ensemble_.noise)

    @property
    def outlier_probability_(self) -> Array:  # (n_labels_,)
        """Outlier probability of each label, in the order they were told."""
        return probabilities(self.trained)

    @property
    def scaling_(self) -> Scaling:
        """The scaling in use."""
        return self.scaling

    @property
    def n_labels_(self) -> int:
        """Number of labels told."""
        return len(self.trained.all_labels)

    @property
    def n_features_in_(self) -> int:
        """Number of inputs d."""
        return len(self.scaling.x_mean)

    @property
    def ensemble_(self) -> Ensemble:
        """The trained ensemble of the core."""
        return self.trained.ensemble

    @property
    def embedding_(self) -> Embedding:
        """The embedding of scaled inputs."""
        return self.trained.embedding

    def points(self, X: Array) -> Points:
        """Rows of X (N, d), in the user's units, as points of the experts."""
        return self.embedding_.points(self.ensemble_.experts, scaled_data.inputs(self.scaling, X))

    def scaled_inputs(self, X: Any) -> Array:
        """Scaled inputs (N, d), checked."""
        table = inputs_of(X, self.columns, self.plan)
        if table.shape[1] != self.n_features_in_:
            raise ValueError(
                f"the model has {self.n_features_in_} inputs; got {table.shape[1]} columns"
            )
        if not np.isfinite(table).all():
            raise ValueError("X holds NaN or infinite numbers; every input must be finite")
        return scaled_data.inputs(self.scaling, table)
