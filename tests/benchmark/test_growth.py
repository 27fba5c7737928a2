"""The benchmark of what a label costs: it measures what it says, and fits what it draws."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

HOME = Path(__file__).parents[2] / "benchmarks" / "growth.py"


@pytest.fixture(scope="module")
def growth():
    spec = importlib.util.spec_from_file_location("growth", HOME)
    module = importlib.util.module_from_spec(spec)
    sys.modules["growth"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def table(growth):
    return growth.measured((10, 40, 160), lambda t, kind: 3, say=lambda line: None)


def test_every_kind_is_measured_after_every_number_of_labels(table):
    assert len(table) == 9
    assert (table[["seconds", "kept", "most"]] > 0).all(axis=None)


def test_features_keep_the_same_however_many_labels_and_the_others_more_and_more(growth, table):
    # [1, claim:cost]
    kept = table.pivot(index="labels", columns="kind", values="kept")
    assert kept["features"].nunique() == 1
    t, pool = 160 + 4, growth.U * (growth.d + 2) * 8  # inputs, means and variances
    F = 2 * growth.D
    assert kept.loc[160, "features"] == 8 * (F + F * F + growth.U * F) + pool
    assert kept.loc[160, "exact"] == 8 * (t * t + t + t * growth.d + growth.U * t) + pool
    assert kept.loc[160, "refitted"] == 8 * (t * t + 2 * t + t * growth.d) + pool


def test_all_three_learn_the_same_labels(growth):
    """An exact expert and the refitted GP agree; features are an approximation of both."""
    pool = np.random.default_rng(1).uniform(-1.0, 1.0, (growth.U, growth.d))
    X = np.random.default_rng(2).uniform(-1.0, 1.0, (30, growth.d))
    y = growth.a_function(X)
    every = growth.learners(pool)
    for learner in every.values():
        learner.skip_to(X[:20], y[:20])
        for x, label in zip(X[20:], y[20:], strict=True):
            learner.label(x, label)
    np.testing.assert_allclose(every["exact"].mu[0], every["refitted"].mu, atol=1e-8)
    np.testing.assert_allclose(np.sqrt(every["exact"].v[0]), every["refitted"].sd, atol=1e-6)
    assert np.corrcoef(every["features"].mu[0], every["refitted"].mu)[0, 1] > 0.8


@pytest.mark.parametrize("power", [0.0, 1.5, 3.0])
def test_exponents_are_those_of_the_powers_they_are_fitted_to(growth, power):
    rows = [(t, "a", 2.0 * t**power) for t in (10, 1000, 3000)]
    frame = pd.DataFrame(rows, columns=["labels", "kind", "seconds"])
    frame.loc[0, "seconds"] = 1e9  # below the least: not looked at
    assert growth.exponents(frame, "seconds", 1000)["a"] == pytest.approx(power)


def test_the_table_and_the_figure_are_made(growth, table):
    text = growth.in_markdown(table, 10)
    assert len(text.splitlines()) == 2 + 3 + 1
    assert {line.count("|") for line in text.splitlines()} == {13}
    assert growth.drawn(table, 10).startswith(b"\x89PNG")
