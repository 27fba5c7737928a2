"""How a learner moves its model: by arrays and steps of the core that were checked before.

    advance    one label, whose step the core has computed already (scaled units)
    refresh    settle the experts anew, if that is due
    absorb     more labels, as `partial_fit` would, without its checks of form
    refold     other labels in place of those seen; scaling stays

Each puts the next fold (`fold`) in place of the model's; a fold itself never changes.
"""

from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from weal.core.arrays import Array
from weal.model import fold, units
from weal.model.checks import check_scaling
from weal.model.regressor import EnsembleGPRegressor
from weal.model.settling import Settled, check, setting_of


def advance(model: EnsembleGPRegressor, told: Any, x: Array, y: float, extra: float) -> None:
    """Take a step of the core that the label y of x (d,) told (`ensemble.step`)."""
    model.fold_ = fold.advance(model.fold_, told, x, y, extra)


def refresh(model: EnsembleGPRegressor) -> bool:
    """Settle the experts anew, if that is due; whether it was."""
    if not model.fold_.due:
        return False
    model.fold_ = fold.refresh(model.fold_)
    return True


def absorb(model: EnsembleGPRegressor, X: Array, y: Array, sample_noise: ArrayLike) -> None:
    """Learn more labels y (N,) of the points X (N, d)."""
    model.fold_ = fold.learn(model.fold_, *units.scaled(model.scaling_, X, y, sample_noise))


def refold(
    model: EnsembleGPRegressor, X: Array, y: Array, sample_noise: ArrayLike,
    picked: Settled | None = None,
) -> None:  # fmt: skip
    """Forget all labels and learn these; scaling stays, and experts that do not follow labels.

    `picked` are those that do, where it is known already what they will be.
    """
    scaled = units.scaled(model.scaling_, X, y, sample_noise)
    model.fold_ = fold.refold(model.fold_, *scaled, picked)


def check_labels(
    model: EnsembleGPRegressor, X: Array | None, y: Array, sample_noise: ArrayLike
) -> None:
    """Refuse labels, and points X where given, that `partial_fit` would refuse."""
    units.labels(model.scaling_, y)
    units.extra(model.scaling_, sample_noise, len(y))
    if X is not None:
        units.inputs(model.scaling_, X)


def check_parameters(model: EnsembleGPRegressor, d: int) -> None:
    """Refuse parameters that `fit` would refuse for d inputs."""
    check(setting_of(model), d)
    check_scaling(model.scaling, d)
    check_random_state(model.random_state)
