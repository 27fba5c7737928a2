"""Predictive mixtures of labels: those of several labels together are those of each alone."""

from dataclasses import replace

import numpy as np
import pytest

from weal import EnsembleGPRegressor
from weal.diagnostics.leave_one_out import join_mixtures, leave_one_out_mixtures

RNG = np.random.default_rng(8)
X = RNG.random((24, 3))
Y = 50.0 + 9.0 * np.sin(4.0 * X[:, 0]) + X[:, 1] + RNG.normal(0.0, 0.3, 24)


@pytest.fixture(scope="module", params=["integrated", "fixed"])
def model(request):
    fixed = {"magnitude": 1.3, "noise": 0.2} if request.param == "fixed" else {}
    return EnsembleGPRegressor(**fixed).fit(X, Y).model_


@pytest.mark.parametrize("varying", [False, True])
def test_labels_that_are_joined_have_the_moments_and_intervals_of_each(model, varying):
    parts = [
        leave_one_out_mixtures(model.trained, np.arange(*at)) for at in ((0, 2), (2, 15), (15, 24))
    ]
    if varying:
        parts = [replace(one, lam=RNG.random(one.w.shape)) for one in parts]
    joined = join_mixtures(parts)
    for name, arguments in (("moments", ()), ("interval", (0.9,))):
        found = getattr(joined, name)(model.scaling, *arguments)
        alone = [getattr(one, name)(model.scaling, *arguments) for one in parts]
        for part, expected in zip(found, np.concatenate(alone, axis=1), strict=True):
            np.testing.assert_allclose(part, expected, rtol=1e-12)
    low, high = joined.interval(model.scaling, 0.9)
    for end, level in ((low, 0.05), (high, 0.95)):
        z = model.trained.warp.labels(model.scaling.labels(end))
        np.testing.assert_allclose(joined.levels(z), level, rtol=1e-8)
