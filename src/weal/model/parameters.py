"""All that a model follows from besides its labels: the estimator's parameters, as a value."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from weal.core.arrays import Array
from weal.core.constants import SCALED_WITHOUT
from weal.core.extensions.outliers import prior
from weal.core.scaling import Scaling
from weal.model import settling, units
from weal.model.checks import check_scaling
from weal.model.setting import Setting

_NAMES = tuple(field.name for field in fields(Setting))
_OTHERS = ("condition", "scaling", "random_state")


@dataclass(frozen=True, slots=True, eq=False)
class Parameters:
    """The setting of the experts, how data are scaled, and the seed of what is random."""

    setting: Setting
    condition: bool = True  # bend input columns with heavy tails
    scaling: Scaling | None = None  # given; None: from the data of the first fit
    random_state: int = 0

    @property
    def seed(self) -> int:
        """Seed of the random features: what scikit-learn would draw from that random_state."""
        return int(np.random.RandomState(self.random_state).randint(2**31 - 1))

    def scaling_of(self, X: Array, y: Array, sure: Array | None = None) -> Scaling:
        """The scaling given, or that of inputs X (N, d), all that are known, and labels y (t,).

        Where labels may be wrong, those far from all others have no say unless they are `sure`.
        """
        if self.setting.doubting:
            known = np.zeros(len(y)) if sure is None else sure
            y = y[~prior.gross(y, known, SCALED_WITHOUT)]
        encoded = self.setting.approximation == "encoded"
        return units.find(X, y, self.scaling, self.condition, encoded)

    def to_dict(self) -> dict[str, Any]:
        """The parameters by the names that the estimator gives them."""
        setting = {name: getattr(self.setting, name) for name in _NAMES}
        others = {"condition": self.condition, "scaling": self.scaling}
        return {**setting, **others, "random_state": self.random_state}


def setting_of(given: Mapping[str, Any]) -> Setting:
    """The setting in parameters by their names in the estimator; what is not given is default."""
    if unknown := sorted(given.keys() - {*_NAMES, *_OTHERS}):
        raise TypeError(f"there is no parameter {unknown[0]!r}")
    return Setting(**{name: given[name] for name in _NAMES if name in given})


def parameters_of(given: Mapping[str, Any], d: int) -> Parameters:
    """Parameters by their names in the estimator, refused where `fit` on d inputs would refuse."""
    setting = setting_of(given)
    settling.check(setting, d)
    scaling = check_scaling(given.get("scaling"), d)
    random_state = given.get("random_state") or 0
    return Parameters(setting, bool(given.get("condition", True)), scaling, int(random_state))
