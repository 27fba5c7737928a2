"""Labels that may be wrong: a typo, another unit, another sample."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Doubt:
    """What was found of the labels that experts were settled by, in the order told."""

    probability: Array  # (n,)  of being wrong
    wrong: Mask  # (n,)  those that are taken to be

    def __len__(self) -> int:
        return len(self.wrong)


NO_DOUBT = Doubt(np.zeros(0), np.zeros(0, dtype=np.bool_))
