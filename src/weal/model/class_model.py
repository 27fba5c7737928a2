"""Probabilities of pass/fail results, of classes and of grades, from models of numbers.

    pass/fail   one model of labels +1 and -1 with the noise LABEL_NOISE_SD stated for each
                (`core.extensions.pass_fail`), fitted with `pass_fail_parameters`: labels are not
                scaled, not warped, and no outlier is searched
    classes     a model of each class against the rest, P(class) normalised over the classes
    grades      a model of the numbers 0, 1, ..., K - 1 with the noise GRADE_NOISE_SD
                (`grade_parameters`), P(k) = P(k - 1/2 < label < k + 1/2); or as classes: whichever
                has the lower leave-one-out log loss (`grades_are_numbers`)

A fit takes three lines, here for pass/fail results y of +1 and -1 (`fit`):

    model = fit(pass_fail_parameters(parameters), X, y, LABEL_NOISE_SD)
    p = pass_probability(model, X_new)
    p_left_out = left_out_pass_probability(model)

The slope of the probabilities follows from the trained ensemble; who needs it often keeps it.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from weal.core.arrays import Array
from weal.core.extensions import pass_fail
from weal.core.extensions.class_scores import Codes, log_losses
from weal.core.extensions.leave_one_out import LeftOutMixture, Which, left_out_mixture
from weal.core.hashing import least_hashes
from weal.model import scaled_data
from weal.model.model import Model
from weal.model.parameters import Parameters, with_widths
from weal.model.training import TrainedEnsemble, begin

LABEL_NOISE_SD = pass_fail.LABEL_NOISE_VARIANCE**0.5  # of labels +1 and -1
GRADE_NOISE_SD = 0.3  # grades; rounding to whole ones has an sd of 0.29
MAX_SLOPE_LABELS = 500  # labels that the slope is fitted to


def pass_fail_parameters(parameters: Parameters) -> Parameters:
    """The parameters for labels +1 and -1: without a warp, outliers, and a scaling of labels."""
    return replace(grade_parameters(parameters), scales_labels=False)


def grade_parameters(parameters: Parameters) -> Parameters:
    """The parameters for labels 0, 1, ..., K - 1: without a warp and outliers."""
    return replace(parameters, setting=replace(parameters.setting, warp=None, outliers=False))


def fit(
    parameters: Parameters, X: Array, y: Array, noise_sd: float, X_known: Array | None = None
) -> Model:
    """A model of labels y (t,) at X (t, d), in the user's units, with this noise sd stated.

    `X_known` (N, d) are the inputs that are scaled by; None: X.
    """
    scaling = parameters.scaling_of(X if X_known is None else X_known, y)
    scaled = scaled_data.scale_data(scaling, X, y, np.full(len(y), noise_sd))
    trained = begin(with_widths(parameters.setting, scaling), *scaled, parameters.seed)
    return Model(trained, scaling, label_noise=noise_sd)


def slope_of(trained: TrainedEnsemble) -> float:
    """The slope of the probabilities of a pass, by leave-one-out log loss."""
    which = slope_labels(trained)
    found = _left_out(trained, which)
    y = trained.y if which is None else trained.y[which]
    return pass_fail.fit_slope(found.w, found.mu, found.var, y)


def slope_labels(trained: TrainedEnsemble) -> Which:
    """Positions of the labels that the slope is fitted to; None: all. Their order is irrelevant."""
    if len(trained.y) <= MAX_SLOPE_LABELS:
        return None
    return least_hashes(np.column_stack([trained.X, trained.y]), MAX_SLOPE_LABELS)


def pass_probability(model: Model, X: object, slope: float | None = None) -> Array:  # (N,)
    """P(pass) at X (N, d), in the user's units; the slope is computed where none is given."""
    k = slope_of(model.trained) if slope is None else slope
    w, blocks = model.weights_, model.trained.beliefs(model.scaled_inputs(X))
    return np.concatenate([pass_fail.pass_probability(w, mu, var, k) for _, mu, var in blocks])


def class_probabilities(
    models: Sequence[Model], X: object, slopes: Sequence[float] | None = None
) -> Array:  # (N, K)
    """P(class) at X (N, d), from K models of one class against the rest."""
    ks = [None] * len(models) if slopes is None else slopes
    each = [pass_probability(model, X, k) for model, k in zip(models, ks, strict=True)]
    return normalised(np.stack(each, axis=1))


def normalised(p: Array) -> Array:  # (N, K) -> (N, K)
    """Probabilities of each class against the rest, divided by their sum."""
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def grade_probabilities(model: Model, X: object, levels: int) -> Array:  # (N, K)
    """P(grade) at X (N, d), from a model of the numbers 0, 1, ..., K - 1."""
    ens, parts = model.ensemble_, []
    noise_var = (GRADE_NOISE_SD / model.scaling.y_sd) ** 2
    for _, mu, var in model.trained.beliefs(model.scaled_inputs(X)):
        v = var / ens.magnitude[:, None]
        s = v + ens.ratios(np.full(mu.shape[1], noise_var))
        w = np.broadcast_to(ens.w[:, None], mu.shape)
        parts.append(_level_shares(LeftOutMixture(w, mu, v, s, ens.scale), model, levels))
    return np.concatenate(parts)


def _level_shares(found: LeftOutMixture, model: Model, levels: int) -> Array:  # (N, K)
    """Probabilities of labels next to each whole number."""
    ends = model.scaling.labels(np.arange(0.5, levels - 1.0, dtype=np.float64))
    below = [(found.w * found.scale.cdf(z - found.mu, found.s)).sum(axis=0) for z in ends]
    N = found.mu.shape[1]
    return np.diff(np.stack([np.zeros(N), *below, np.ones(N)]), axis=0).T


def left_out_pass_probability(model: Model, slope: float | None = None) -> Array:  # (t,)
    """P(pass) of each label, in the order they were told, from all others."""
    k = slope_of(model.trained) if slope is None else slope
    found = _left_out(model.trained, None)
    return pass_fail.pass_probability(found.w, found.mu, found.var, k)


def left_out_class_probabilities(models: Sequence[Model]) -> Array:  # (t, K)
    """P(class) of each label, in the order they were told, from all others."""
    return normalised(np.stack([left_out_pass_probability(model) for model in models], axis=1))


def left_out_grade_probabilities(model: Model, levels: int) -> Array:  # (t, K)
    """P(grade) of each label, in the order they were told, from all others."""
    return _level_shares(_left_out(model.trained, None), model, levels)


def grades_are_numbers(number: Model, classes: Sequence[Model], codes: Codes) -> bool:
    """Whether grades are better predicted as numbers than as classes, by leave-one-out log loss.

    The models have the same labels, of grades `codes` (t,), in the same order.
    """
    as_number = left_out_grade_probabilities(number, len(classes))
    losses = [
        log_losses(p, codes).sum() for p in (as_number, left_out_class_probabilities(classes))
    ]
    return bool(losses[0] <= losses[1])


def _left_out(trained: TrainedEnsemble, which: Which) -> LeftOutMixture:
    known = trained.X, trained.y, trained.noise_var  # labels of words are not warped
    return left_out_mixture(trained.ensemble, trained.embedding, *known, which)
