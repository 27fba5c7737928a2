"""Ask and tell: what a user types, and that the query is the best by the score he asked for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from learning import KERNELS, OUTSIDE, POOL, Y, a_learner, everything, measure, model, teach
from weal import ActiveLearner, EnsembleGPRegressor
from weal.core.extensions.acquisition_registry import ACQUISITIONS
from weal.core.extensions.more_acquisitions import misfit_power
from weal.core.paper import acquisition as ours
from weal.core.paper import ensemble

AIMED = ("mvr", "mvr-var", "mvr-var-igs", "mvr-var-misfit")
NAMES = ("random", "wvar", "went", "qbc", "gpm-var", "gpm-ent", "ivr", *AIMED, "bald", "igs")
KINDS = pytest.mark.parametrize("approximation", ["features", "exact"])


def test_the_example_of_the_readme_works_from_end_to_end():
    X_pool, first_ids = POOL, [4, 11, 25, 33, 48, 59]
    learner = ActiveLearner(X_pool, EnsembleGPRegressor(n_frequencies=40), acquisition="gpm-ent")
    learner.tell(first_ids, Y[first_ids])
    query = learner.ask()
    assert query in range(60)
    assert query not in first_ids
    learner.tell(query, measure(X_pool[query]))
    batch = learner.ask(n=8)
    assert len(set(batch) - {query, *first_ids}) == 8
    learner.tell_points(OUTSIDE[:2], measure(OUTSIDE[:2]))
    assert learner.model.predict(OUTSIDE).shape == (9,)
    assert learner.model.n_labels_ == 9
    asked = learner.history[6]
    assert (asked["id"], asked["why"], asked["label"]) == (query, "gpm-ent", Y[query])
    assert asked["acquisition_weights"] == {"gpm-ent": 1.0}
    assert len(asked["expert_weights"]) == len(learner.model.weights_)
    assert [row["id"] for row in learner.history[7:15]] == batch
    assert learner.history[15]["id"] is None


@pytest.mark.covering
@pytest.mark.parametrize("name", [*NAMES, "multi", "auto"])
@KINDS
def test_every_name_asks_for_different_points_and_learns(name, approximation):
    learner = a_learner(name, approximation)
    before = np.sqrt(np.mean((learner.model.predict(POOL) - Y) ** 2))
    asked = teach(learner, 14)
    assert len({*asked, *range(8)}) == 22
    assert np.sqrt(np.mean((learner.model.predict(POOL) - Y) ** 2)) < before


def slow_scores(name, learner):
    """Scores (U,) by their definition, from the model's state alone; loops over experts."""
    fitted = learner.model
    ens, at = fitted.ensemble_, fitted.points(POOL)
    w, (mu, var) = ens.w, ensemble.predict(ens, at)
    mean = sum(w[m] * mu[m] for m in range(3))
    if name == "wvar":
        return sum(w[m] * var[m] for m in range(3))
    if name == "went":
        return sum(w[m] * np.log(2 * np.pi * var[m]) / 2 for m in range(3))
    if name == "qbc":
        return sum(w[m] * (mu[m] - mean) ** 2 for m in range(3))
    if name == "gpm-var":
        return fitted.predict(POOL, return_std=True)[1] ** 2
    if name == "gpm-ent":
        return -sum(
            w[m] * np.log(sum(w[j] * overlap(mu, var, m, j) for j in range(3))) for m in range(3)
        )
    if name == "bald":
        return slow_information(ens, mu, var)
    if name == "ivr":
        C = ens.magnitude[:, None, None] * ens.experts.covariance(at, at)
        gains = (C**2).mean(axis=2) / (var + (ens.magnitude * ens.noise)[:, None])
        return sum(w[m] * gains[m] for m in range(3))
    X, y, _ = learner.labels.arrays()
    scale = fitted.scaling_
    return np.array(
        [
            min(
                np.linalg.norm((x - a) / scale.x_sd) * abs(f - (b - scale.y_mean) / scale.y_sd)
                for a, b in zip(X, y, strict=True)
            )
            for x, f in zip(POOL, mean, strict=True)
        ]
    )


def overlap(mu, var, m, j):
    """N(mu_m; mu_j, var_m + var_j)."""
    both = var[m] + var[j]
    return np.exp(-((mu[m] - mu[j]) ** 2) / (2 * both)) / np.sqrt(2 * np.pi * both)


def slow_information(ens, mu, var):
    """Entropy of y minus the entropies of the noise, by the trapezoid rule."""
    noise = (ens.magnitude * ens.noise)[:, None]
    sd = np.sqrt(var + noise)
    low, high = (mu - 12 * sd).min(axis=0), (mu + 12 * sd).max(axis=0)
    y = low + (high - low) * np.linspace(0, 1, 6001)[:, None]  # (Q, U)
    parts = [
        np.exp(-(((y - mu[m]) / sd[m]) ** 2) / 2) / np.sqrt(2 * np.pi) / sd[m] for m in range(3)
    ]
    p = sum(ens.w[m] * parts[m] for m in range(3))
    entropy = np.trapezoid(np.where(p > 0, -p * np.log(np.where(p > 0, p, 1)), 0), y, axis=0)
    return entropy - sum(ens.w[m] * np.log(2 * np.pi * np.e * noise[m]) / 2 for m in range(3))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("random", *AIMED)])
@KINDS
def test_the_query_is_the_best_by_a_score_computed_anew_from_the_model(name, approximation):
    # [1, eq:AF_1, alg:1 line 4]
    learner = a_learner(name, approximation)
    for _ in range(6):
        scores = slow_scores(name, learner)
        scores[list(learner.labels.by_name)] = -np.inf
        query = learner.ask()
        assert query == scores.argmax()
        scale = learner.model.scaling_.y_sd**2 if name == "gpm-var" else 1.0
        atol = 1e-3 if name == "bald" else 0.0  # nats: its quadrature has 24 nodes
        assert_allclose(learner.history[-1]["score"] * scale, scores.max(), rtol=1e-7, atol=atol)
        learner.tell(query, Y[query])


def slow_fall(learner):
    """MV (U,) over the whole pool, by a dense integral over the label of each candidate."""
    ens, at = learner.model.ensemble_, learner.model.points(POOL)
    w, (mu, var) = ens.w, ensemble.predict(ens, at)
    C = ens.magnitude[:, None, None] * ens.experts.covariance(at, at)
    sd = np.sqrt(var + (ens.magnitude * ens.noise)[:, None])
    falls = []
    for n in range(len(POOL)):
        y = np.linspace((mu - 8 * sd)[:, n].min(), (mu + 8 * sd)[:, n].max(), 3000)
        z = (y - mu[:, n, None]) / sd[:, n, None]
        parts = w[:, None] * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) / sd[:, n, None]
        p = parts.sum(axis=0)
        W = parts / np.where(p > 0, p, 1)
        after = W.T @ mu + (W * z / sd[:, n, None]).T @ C[:, n]  # (Q, U)
        falls.append(np.trapezoid(p * ((after - w @ mu) ** 2).mean(axis=1), y))
    return np.array(falls)


def slow_share(learner):
    """The unexplained share over the whole pool, target by target."""
    ens, at = learner.model.ensemble_, learner.model.points(POOL)
    w, (mu, var) = ens.w, ensemble.predict(ens, at)
    mean = [sum(w[m] * mu[m, n] for m in range(3)) for n in range(len(POOL))]
    left = [
        sum(w[m] * (var[m, n] + (mu[m, n] - mean[n]) ** 2) for m in range(3))
        for n in range(len(POOL))
    ]
    return np.mean(left) / (np.mean(left) + np.var(mean))


@pytest.mark.covering
@pytest.mark.parametrize("name", AIMED)
@KINDS
def test_the_query_of_mvr_is_among_the_best_by_a_dense_integral(name, approximation):
    learner = a_learner(name, approximation)
    for _ in range(4):
        scores = slow_fall(learner)
        if name != "mvr":
            scores = np.sqrt(
                scores * slow_scores("wvar", learner) + scores * slow_scores("qbc", learner)
            )
        if name.startswith("mvr-var-"):
            power = (
                0.5
                if name == "mvr-var-igs"
                else misfit_power(slow_share(learner), len(learner.labels))
            )
            scores = scores * slow_scores("igs", learner) ** power
        scores[list(learner.labels.by_name)] = -np.inf
        query = learner.ask()
        assert scores[query] >= 0.95 * scores.max()
        assert_allclose(learner.history[-1]["score"], scores[query], rtol=0.05)
        learner.tell(query, Y[query])


def test_random_asks_by_the_seed_and_nothing_else():
    asked = [teach(a_learner("random", seed=seed), 6) for seed in (0, 0, 1)]
    assert asked[0] == asked[1]
    assert asked[0] != asked[2]


@pytest.mark.parametrize("name", NAMES)
def test_a_function_given_asks_what_the_name_asks(name):
    function = ACQUISITIONS[name]
    assert teach(a_learner(function), 5) == teach(a_learner(name), 5)


def test_a_function_of_the_users_own_is_as_good_as_ours():
    def doubtful(belief):
        return belief.w @ belief.var

    def far_reaching(belief):
        return belief.w @ belief.reduction

    far_reaching.needs_reduction = True
    for own, name in ((doubtful, "wvar"), (far_reaching, "ivr")):
        learner = a_learner(own)
        assert [*teach(learner, 4), *learner.ask(5)] == [
            *teach(other := a_learner(name), 4),
            *other.ask(5),
        ]
        assert learner.history[-1]["why"] == own.__name__
    both = a_learner([doubtful, "qbc"])
    teach(both, 3)
    assert set(both.acquisition_weights) == {"doubtful", "qbc"}


def test_a_list_may_hold_names_functions_and_multi():
    assert list(a_learner(["multi", "ivr"]).state.settings.functions) == [*ours.PAPER, "ivr"]
    assert list(a_learner("auto").state.settings.functions) == ["mvr-var-igs"]
    assert list(a_learner(["auto", "bald"]).state.settings.functions) == ["mvr-var-igs", "bald"]
    assert list(a_learner(["wvar", ours.gpm_ent]).state.settings.functions) == ["wvar", "gpm-ent"]


def test_an_unknown_name_is_answered_with_all_names():
    with pytest.raises(ValueError, match="unknown acquisition 'variance'") as caught:
        ActiveLearner(POOL, model(), "variance")
    for name in (*NAMES, "multi", "auto"):
        assert name in str(caught.value)


@pytest.mark.parametrize("acquisition", [[], ["wvar", "wvar"], ["multi", "qbc"], [["wvar", "x"]]])
def test_a_list_of_none_or_of_equal_ones_is_refused(acquisition):
    with pytest.raises(ValueError, match="acquisition"):
        ActiveLearner(POOL, model(), acquisition)


def wrong_shape(belief):
    return belief.var


def too_few(belief):
    return belief.w @ belief.var[:, 1:]


def not_a_number(belief):
    return np.where(np.arange(belief.mu.shape[1]) == 41, np.nan, 1.0)


def endless(belief):
    return np.where(np.arange(belief.mu.shape[1]) == 41, np.inf, 1.0)


def never(belief):
    return np.full(belief.mu.shape[1], -np.inf)


def fails(belief):
    raise ZeroDivisionError("my own mistake")


@pytest.mark.parametrize("own", [wrong_shape, too_few, not_a_number, endless, never, fails])
@pytest.mark.parametrize("together", [False, True])
def test_bad_scores_of_a_users_function_are_refused_and_change_nothing(own, together):
    learner = a_learner(["wvar", own] if together else own)
    before = everything(learner)
    error, text = (ZeroDivisionError, "mistake") if own is fails else (ValueError, own.__name__)
    for n in (None, 3):
        with pytest.raises(error, match=text):
            learner.ask(n)
        assert everything(learner) == before


def test_a_function_that_fails_in_the_middle_of_a_batch_leaves_nothing_asked():
    calls = []

    def tires(belief):
        calls.append(len(belief.y_labelled))
        if len(calls) == 4:
            raise RuntimeError("tired")
        return belief.w @ belief.var

    learner = a_learner([tires, "qbc"])
    before = everything(learner)
    with pytest.raises(RuntimeError, match="tired"):
        learner.ask(6)
    assert everything(learner) == before
    assert learner.ask(6) == a_learner(["wvar", "qbc"]).ask(6)


def test_minus_infinity_of_a_function_alone_means_never():
    def only_late_ones(belief):
        return np.where(np.arange(belief.mu.shape[1]) < 50, -np.inf, belief.w @ belief.var)

    assert min(teach(a_learner(only_late_ones), 10)) == 50


@KINDS
def test_the_model_is_that_of_fit_and_partial_fit(approximation):
    # [1, alg:1 line 3, alg:2 line 4]
    learner = a_learner("wvar", approximation, first=7, n_start=7)
    rest = np.delete(POOL, range(7), axis=0)
    plain = model(approximation).fit(POOL[:7], Y[:7], X_unlabelled=rest)
    for query in teach(learner, 5):
        plain.partial_fit(POOL[query], Y[query])
    learner.tell_points(OUTSIDE[:2], measure(OUTSIDE[:2]), noise=[3.0, 0.0])
    plain.partial_fit(OUTSIDE[:2], measure(OUTSIDE[:2]), sample_noise=[3.0, 0.0])
    got, expected = (m.predict(OUTSIDE, return_std=True) for m in (learner.model, plain))
    assert_allclose(got, expected, rtol=1e-9)
    assert_allclose(learner.model.weights_, plain.weights_, rtol=1e-8)


def test_there_is_no_model_before_there_are_labels_enough():
    learner = a_learner(first=5)
    assert learner.n_start == 6
    assert not learner.fitted
    with pytest.raises(RuntimeError, match="no model yet"):
        _ = learner.model
    assert learner.predicted_error() == np.inf
    learner.tell(5, Y[5])
    assert learner.model.n_labels_ == 6
    assert 0.0 < learner.predicted_error() < 1000.0


def test_the_predicted_error_is_the_root_mean_square_sd_over_the_pool():
    learner = a_learner()
    std = learner.model.predict(POOL, return_std=True)[1]
    assert_allclose(learner.predicted_error(), np.sqrt(np.mean(std**2)), rtol=1e-9)
    learner.remove(range(30))
    assert_allclose(learner.predicted_error(), np.sqrt(np.mean(std[30:] ** 2)), rtol=1e-9)


def test_the_model_given_is_neither_changed_nor_its_labels_taken():
    given = model().fit(OUTSIDE, measure(OUTSIDE))
    before = given.predict(POOL)
    learner = ActiveLearner(POOL, given)
    assert not learner.fitted
    teach(learner, 8)
    assert learner.model is not given.model_
    assert learner.model.n_labels_ == 8
    assert_array_equal(given.predict(POOL), before)
    for unseeded in (None, EnsembleGPRegressor(KERNELS)):
        state = ActiveLearner(POOL, unseeded, seed=11).state
        assert state.settings.parameters.random_state == 11
