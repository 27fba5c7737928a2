"""Several acquisition functions together: the paper's Algorithm 2, beside a slow loop of copies."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from learning import (
    OUTSIDE,
    POOL,
    Y,
    a_learner,
    measure,
    model,
    outlook,
    points,
    seen_by_functions,
    teach,
)
from weal import ActiveLearner, EnsembleGPRegressor, Kernel
from weal.core.extensions.acquisition_registry import ACQUISITIONS
from weal.core.paper import ensemble
from weal.core.paper.acquisition import PAPER

HELD_OUT = points(12, seed=6), measure(points(12, seed=6))
KINDS = pytest.mark.parametrize("approximation", ["features", "exact"])
JUDGES = pytest.mark.parametrize("validation", [HELD_OUT, None], ids=["held out", "left out"])


# Algorithm 2, step by step


def score(name, w, mu, var):
    """One of the paper's five, by its definition (eq:w_var to eq:mix.ent.)."""
    mean = sum(w[m] * mu[m] for m in range(len(w)))
    wvar = sum(w[m] * var[m] for m in range(len(w)))
    qbc = sum(w[m] * (mu[m] - mean) ** 2 for m in range(len(w)))
    if name == "went":
        return sum(w[m] * np.log(2 * np.pi * var[m]) / 2 for m in range(len(w)))
    if name != "gpm-ent":
        return {"wvar": wvar, "qbc": qbc, "gpm-var": wvar + qbc}[name]
    total = 0.0
    for m in range(len(w)):
        inner = 0.0
        for j in range(len(w)):
            both = var[m] + var[j]
            density = np.exp(-((mu[m] - mu[j]) ** 2) / 2 / both) / np.sqrt(2 * np.pi * both)
            inner = inner + w[j] * density
        total = total - w[m] * np.log(inner)
    return total


def loss_held_out(fitted, learner, n):
    """Error on the validation set of a copy that was told its own mean at candidate n."""
    after = EnsembleGPRegressor.of(fitted)
    after.partial_fit(POOL[n], fitted.predict(POOL[[n]])[0])
    X, y = HELD_OUT
    return np.mean((y - after.predict(X)) ** 2) / fitted.scaling_.y_sd**2


def model_as_given(learner):
    """An estimator with the parameters that the learner was given."""
    return EnsembleGPRegressor(**learner.state.settings.parameters.to_dict())


def loss_left_out(fitted, learner, n):
    """Error on the labels, each predicted by a model made from all others and the pseudo label."""
    X, y, noise = learner.labels.arrays()
    pseudo, errors = fitted.predict(POOL[[n]]), []
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        without = model_as_given(learner).set_params(scaling=fitted.scaling_)
        without.fit(
            np.concatenate([X[others], POOL[[n]]]),
            np.append(y[others], pseudo),
            sample_noise=np.append(noise[others], 0.0),
        )
        errors.append((y[i] - without.predict(X[[i]])[0]) / fitted.scaling_.y_sd)
    return np.mean(np.square(errors))


def algorithm_2(learner, omega, eta, scaling, loss):
    """One round: omega after it, and the choice."""
    fitted = learner.model
    w, (mu, var) = fitted.weights_, ensemble.predict(fitted.ensemble_, fitted.points(POOL))
    free = np.array([n for n in range(len(POOL)) if n not in learner.labels.by_name])
    total, scaled, after = np.zeros(len(free)), [], []
    for k, name in enumerate(PAPER):
        scores = score(name, w, mu, var)[free]
        eps = loss(fitted, learner, free[scores.argmax()])
        after.append(omega[k] * np.exp(-eta * eps))
        low = scores.min() if scaling == "range" else 0.0
        scaled.append((scores - low) / (scores.max() - low))
    omega = np.array(after) / sum(after)
    for k in range(len(PAPER)):
        total += omega[k] * scaled[k]
    return omega, free[total.argmax()]


@pytest.mark.covering
@KINDS
@JUDGES
@pytest.mark.parametrize("scaling", ["range", "maximum"])
def test_every_round_is_that_of_the_slow_loop(approximation, validation, scaling):
    # [1, eq:AF_k, eq:AF_weight, eq: EGPmultiacq, alg:2 line 2, alg:2 line 4, alg:2 line 5]
    # [1, alg:2 line 6, alg:2 line 7, alg:2 line 8, alg:2 line 9, alg:2 line 11, alg:2 line 12]
    learner = a_learner(
        "multi", approximation, validation=validation, score_scaling=scaling, eta=6.0
    )
    learner.tell_points(OUTSIDE[:2], measure(OUTSIDE[:2]), noise=[0.0, 60.0])
    omega = np.full(5, 0.2)
    for _ in range(5):
        loss = loss_left_out if validation is None else loss_held_out
        omega, expected = algorithm_2(learner, omega, 6.0, scaling, loss)
        query = learner.ask()
        assert_allclose(list(learner.acquisition_weights.values()), omega, rtol=1e-7)
        assert query == expected
        assert learner.history[-1]["acquisition_weights"] == learner.acquisition_weights
        assert set(learner.history[-1]["scores"]) == set(PAPER)
        learner.tell(query, Y[query])
    assert omega.max() > 0.21


@KINDS
def test_leaving_one_out_is_right_where_the_noise_is_tiny(approximation):
    learner = a_learner(
        "multi", model=model(approximation, noise=1e-2, n_frequencies=60), eta=6.0, first=12
    )
    omega, expected = algorithm_2(learner, np.full(5, 0.2), 6.0, "range", loss_left_out)
    assert learner.ask() == expected
    assert_allclose(list(learner.acquisition_weights.values()), omega, rtol=1e-5)


def test_other_functions_are_judged_the_same_way():
    learner = a_learner(["ivr", "igs", "qbc"], validation=HELD_OUT, eta=6.0)
    for _ in range(3):
        before = np.array(list(learner.acquisition_weights.values()))
        belief = seen_by_functions(outlook(learner))
        losses = []
        for name in ("ivr", "igs", "qbc"):
            scores = ACQUISITIONS[name](belief)
            scores[list(learner.labels.by_name)] = -np.inf
            losses.append(loss_held_out(learner.model, learner, scores.argmax()))
        expected = before * np.exp(-6.0 * np.array(losses))
        teach(learner, 1)
        omega = list(learner.acquisition_weights.values())
        assert_allclose(omega, expected / expected.sum(), rtol=1e-7)


# When omega moves


@KINDS
@JUDGES
def test_a_second_ask_without_a_label_gives_the_same_answer_and_the_same_omega(
    approximation, validation
):
    learner = a_learner("multi", approximation, validation=validation)
    query = learner.ask()
    omega = learner.acquisition_weights
    assert omega != dict.fromkeys(PAPER, 0.2)
    for again in (learner.ask(), learner.ask(1)[0], learner.ask(4)[0]):
        assert again == query
        assert learner.acquisition_weights == omega
    learner.ask(2, more=True)
    learner.skip(query)
    learner.ask()
    learner.unskip(query)
    learner.add(OUTSIDE)
    learner.remove([40])
    learner.ask(3)
    learner.tell(0, Y[0])  # the same label again is no news
    learner.ask()
    assert learner.acquisition_weights == omega


@pytest.mark.parametrize("name", ["tell", "tell_points", "forget", "replace", "two at once"])
def test_omega_moves_once_after_news(name):
    learner, twin = (a_learner("multi", validation=HELD_OUT) for _ in range(2))
    learner.ask()
    twin.ask()
    before = learner.acquisition_weights
    for one in (learner, twin):
        if name == "tell":
            one.tell(40, Y[40])
        elif name == "tell_points":
            one.tell_points(OUTSIDE[0], measure(OUTSIDE[0]))
        elif name == "forget":
            one.forget(3)
        elif name == "replace":
            one.tell(3, Y[3] + 30.0, replace=True)
        else:
            one.tell(40, Y[40])
            one.tell(41, Y[41])
        assert one.acquisition_weights == before  # the next ask moves it
    learner.ask()
    assert learner.acquisition_weights != before
    twin.ask(5)
    assert twin.acquisition_weights == learner.acquisition_weights


def test_without_a_learning_rate_omega_stands_still():
    learner = a_learner("multi", eta=0.0)
    teach(learner, 4)
    assert_allclose(list(learner.acquisition_weights.values()), 0.2, rtol=1e-12)


def test_one_expert_alone_teaches_omega_nothing():
    """Its pseudo label is its own mean, nothing changes, all errors are equal (FACTS.md)."""
    single = EnsembleGPRegressor(
        (Kernel("rbf", 1.0),), approximation="exact", magnitude=1.0, noise=0.1**0.5
    )
    learner = ActiveLearner(POOL, single, "multi", validation=HELD_OUT)
    learner.tell(range(8), Y[:8])
    teach(learner, 4)
    assert_allclose(list(learner.acquisition_weights.values()), 0.2, rtol=1e-9)


def test_a_large_learning_rate_leaves_finite_weights():
    learner = a_learner("multi", validation=HELD_OUT, eta=1e6)
    teach(learner, 6)
    omega = np.array(list(learner.acquisition_weights.values()))
    assert np.isfinite(omega).all()
    assert_allclose(omega.sum(), 1.0)


def test_the_last_candidates_are_asked_too():
    learner = a_learner("multi", pool=POOL[:12], validation=HELD_OUT)
    assert sorted([*teach(learner, 2), *learner.ask(2)]) == [8, 9, 10, 11]


def test_all_labels_forgotten_leaves_omega_and_asks_on():
    learner = a_learner("multi")
    learner.ask()
    omega = learner.acquisition_weights
    for name in range(8):
        learner.forget(name)
    assert learner.ask() in range(60)
    assert learner.acquisition_weights == pytest.approx(omega)
