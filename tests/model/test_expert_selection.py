"""The robust engine as a user meets it: errors that fall, first labels and inputs that mislead."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from weal import EnsembleGPRegressor, Kernel


def branin(u):
    a, b = 15.0 * u[:, 0] - 5.0, 15.0 * u[:, 1]
    bowl = (b - 5.1 * (a / (2.0 * np.pi)) ** 2 + 5.0 / np.pi * a - 6.0) ** 2
    return bowl + 10.0 * (1.0 - 1.0 / (8.0 * np.pi)) * np.cos(a) + 10.0


def currin(u):
    a, b = u.T
    top, bottom = [2300.0, 1900.0, 2092.0, 60.0], [100.0, 500.0, 4.0, 20.0]
    return (1.0 - np.exp(-0.5 / b)) * np.polyval(top, a) / np.polyval(bottom, a)


@pytest.mark.parametrize(("function", "at_middle"), [(branin, 24.129964), (currin, 7.405124)])
def test_known_functions_are_learned_from_sixty_labels(function, at_middle):
    assert_allclose(function(np.array([[0.5, 0.5]])), at_middle, rtol=1e-6)
    models = {
        EnsembleGPRegressor(): 0.03,
        EnsembleGPRegressor(approximation="exact", magnitude=None): 0.03,
        EnsembleGPRegressor(approximation="features", random_state=0): 0.15,
        EnsembleGPRegressor(approximation="features", magnitude=None, random_state=0): 0.15,
        EnsembleGPRegressor.paper(random_state=0): 0.3,
    }
    for model, allowed in models.items():
        errors = []
        for seed in range(3):
            u, v = np.split(np.random.default_rng(seed).random((360, 2)), [60])
            errors.append(np.mean((model.fit(u, function(u)).predict(v) - function(v)) ** 2))
        assert np.mean(errors) < allowed * function(v).var()


def nmse(model, X, y):
    return np.mean((model.predict(X) - y) ** 2) / np.var(y)


def test_errors_fall_with_labels_where_the_paper_s_setting_fails():
    """Currin has no noise; the paper's weights may settle on an expert that predicts the mean."""
    ends = (10, 20, 40, 80)
    errors = np.empty((4, len(ends)))
    papers = np.empty(4)
    for seed in range(4):
        u, v = np.split(np.random.default_rng(seed).random((380, 2)), [80])
        model = EnsembleGPRegressor().fit(u[:10], currin(u[:10]), X_unlabelled=u)
        for n, end in enumerate(ends):
            if n:
                model.partial_fit(u[ends[n - 1] : end], currin(u[ends[n - 1] : end]))
            errors[seed, n] = nmse(model, v, currin(v))
        paper = EnsembleGPRegressor.paper(random_state=seed)
        paper.fit(u[:10], currin(u[:10]), X_unlabelled=u).partial_fit(u[10:], currin(u[10:]))
        papers[seed] = nmse(paper, v, currin(v))
    assert errors.max() < 1.05
    assert (np.diff(np.log10(errors).mean(axis=0)) < -0.2).all()
    assert errors[:, -1].max() < 0.05
    assert papers.max() > 1.0
    assert (errors[:, -1] < 0.5 * papers).all()


# First labels that are not like the others


def plateau(u):
    return np.sin(4.0 * u[:, 0]) + u[:, 1] ** 2


FIRST = {
    "one label": (1, lambda y: np.arange(len(y))),
    "alike to a thousandth": (5, lambda y: np.argsort(np.abs(y - np.median(y)))),
    "the largest": (5, lambda y: np.argsort(-y)),
}


@pytest.mark.covering
@pytest.mark.parametrize(("unit", "shift", "noise"), [(1.0, 0.0, 0.1), (1e-3, 1e3, 0.0)])
@pytest.mark.parametrize("case", FIRST)
def test_first_labels_that_mislead_are_forgotten(case, unit, shift, noise):
    """The scaling of the first fit stays, and is wrong; the end is that of a fit to all labels."""
    rng = np.random.default_rng(3)
    k, first = FIRST[case]
    pool, v = rng.random((2000, 2)), rng.random((300, 2))
    labels = shift + unit * (plateau(pool) + noise * rng.standard_normal(2000))
    order = first(labels)[:k]
    others = np.setdiff1d(np.arange(60), order)
    truth = shift + unit * plateau(v)
    model = EnsembleGPRegressor().fit(pool[order], labels[order], X_unlabelled=pool)
    if case == "alike to a thousandth":
        assert model.scaling_.y_sd < 2e-3 * labels.std()
    for at in others:
        model.partial_fit(pool[at], labels[at])
    seen = np.append(order, others)
    fresh = EnsembleGPRegressor().fit(pool[seen], labels[seen], X_unlabelled=pool)
    errors = [nmse(each, v, truth) for each in (model, fresh)]
    assert errors[0] < max(2.0 * errors[1], 1e-6)
    stds = [each.predict(v, return_std=True)[1] for each in (model, fresh)]
    assert_allclose(np.median(stds[0]), np.median(stds[1]), rtol=0.5, atol=1e-5 * unit)


# Inputs with heavy tails


def households(seed, N=160):
    """Labels that depend on people in a household, of which one has 1243 (California's do)."""
    rng = np.random.default_rng(seed)
    people = 3.0 + 0.7 * rng.standard_normal(N)
    people[N // 2] = 1243.0
    X = np.column_stack([rng.uniform(1, 50, N), people, rng.lognormal(1.3, 0.45, N)])
    y = 2.0 * np.sin(2.0 * np.minimum(people, 6.0)) + 0.05 * X[:, 0]
    return X, y + 0.1 * rng.standard_normal(N)


def test_an_outlier_in_a_column_does_not_blind_the_model():
    errors = {True: [], False: []}
    for seed in range(3):
        X, y = households(seed)
        rest = np.arange(160) > 80
        for condition, found in errors.items():
            model = EnsembleGPRegressor(condition=condition)
            model.fit(X[~rest], y[~rest], X_unlabelled=X[rest])
            found.append(nmse(model, X[rest], y[rest]))
    assert np.mean(errors[True]) < 0.1
    assert np.mean(errors[False]) > 3.0 * np.mean(errors[True])


def test_the_outlier_itself_may_be_asked_about_and_learned():
    X, y = households(0)
    model = EnsembleGPRegressor().fit(np.delete(X, 80, axis=0), np.delete(y, 80))
    mean, std = model.predict(X[80:81], return_std=True)
    assert np.isfinite(mean).all()
    assert std[0] > 2.0 * model.predict(X[:80], return_std=True)[1].max()
    before = model.predict(X[:80])
    model.partial_fit(X[80], 50.0)
    assert np.abs(model.predict(X[:80]) - before).max() < 0.3


# Both kinds of expert


def test_features_come_to_what_exact_experts_say_as_frequencies_grow():
    """With an offset and magnitudes integrated out; the error of features falls as 1 / sqrt(D)."""
    rng = np.random.default_rng(1)
    X, v = rng.standard_normal((25, 3)), rng.standard_normal((60, 3))
    y = 7.0 + np.sin(X.sum(axis=1)) + 0.3 * rng.standard_normal(25)
    given = (Kernel("rbf", 2.0, offset=10.0), Kernel("matern52", (1.5, 2.0, 4.0), offset=10.0))
    exact = EnsembleGPRegressor(given, noise_ratios=(0.1, 0.5), approximation="exact").fit(X, y)
    mean, std = exact.predict(v, return_std=True)

    def apart(D):
        parts = []
        for seed in range(4):
            model = EnsembleGPRegressor(
                given,
                noise_ratios=(0.1, 0.5),
                approximation="features",
                n_frequencies=D,
                random_state=seed,
            ).fit(X, y)
            theirs, their_std = model.predict(v, return_std=True)
            weights = np.abs(model.weights_ - exact.weights_).max()
            parts.append((rms(theirs - mean), rms(their_std - std), weights))
        return np.mean(parts, axis=0)

    few, many = apart(30), apart(480)
    assert (many < 4.0 / np.sqrt(480)).all()
    assert (many < 0.5 * few).all()  # a quarter, but for chance


def rms(error):
    return np.sqrt(np.mean(error**2))
