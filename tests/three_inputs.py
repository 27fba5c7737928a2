"""Labels of a function of three inputs in very different units, and models of every kind."""

import numpy as np
import pytest

from weal import Kernel

rng = np.random.default_rng(11)
X = rng.normal(size=(12, 3)) * [1.0, 30.0, 0.01]
y = 100.0 + 5.0 * np.sin(X[:, 0]) + X[:, 1] / 30.0
THREE = (Kernel("rbf", 0.5), Kernel("matern52", 1.5), Kernel("rq", 3.0, alpha=2.0))
for shared in (X, y):
    shared.flags.writeable = False

FITTED = {"kernels": THREE, "magnitude": None}
MODELS = {
    "features": {**FITTED, "approximation": "features"},
    "exact": {**FITTED, "approximation": "exact"},
    "integrated features": {"kernels": THREE, "approximation": "features"},
    "integrated exact": {"kernels": THREE, "approximation": "exact"},
    "default": {},
}
ALL = pytest.mark.parametrize("kind", MODELS)
