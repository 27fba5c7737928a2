"""Thousands of labels: work that is bounded, met here with tens; and what is said of its error."""

import numpy as np
import pytest

from weal import ActiveLearner, EnsembleGPRegressor
from weal.core.extensions import leave_one_out as core_leave_one_out
from weal.core.extensions.embeddings import RawInputs
from weal.core.extensions.inducing_gp import InducingFeatures
from weal.diagnostics import error_trend as trend_module
from weal.diagnostics import leave_one_out
from weal.diagnostics.error_trend import error_trend, train_on_first
from weal.diagnostics.leave_one_out import (
    averaged_labels,
    leave_one_out_means,
    leave_one_out_mixtures,
    rms,
)
from weal.learner import candidate_sample
from weal.learner.candidate_sample import best_share, comparison_size, with_compared_candidates
from weal.model import expert_kind
from weal.model import model as model_module
from weal.model.model import mean_sd
from weal.quantities.kinds import UNNAMED


def labels(n, seed=0, d=4, noise=0.1):
    """A smooth function of some inputs, with noise."""
    rng = np.random.default_rng([seed, n])
    X = rng.uniform(-1.0, 1.0, (n, d))
    f = np.sin(3.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * X[:, 3] ** 2
    return X, f + noise * rng.standard_normal(n)


@pytest.fixture
def soon(constants):
    """The limits of thousands of labels and candidates, met with tens of them."""
    constants(expert_kind, MAX_LABELS_ALWAYS_EXACT=40, MOST_EXACT=60)
    constants(core_leave_one_out, ROOT_LABELS=40)
    constants(leave_one_out, MAX_AVERAGED_LABELS=60, SAMPLED_LABELS=30)
    constants(trend_module, MAX_LABELS_RESELECTED=15, AS_IT_WAS=12, MANY_LABELS=60, REPLAYED=20)
    constants(candidate_sample, SAMPLED_FROM=40, LEAST_COMPARED=50, ASK_WORK=1)


@pytest.fixture(scope="module")
def model():
    """A model of 90 labels, whose experts know f through inducing points."""
    X, y = labels(90)
    given = EnsembleGPRegressor(approximation="inducing", random_state=1, outliers=False)
    return given.fit(X, y).model_


@pytest.mark.usefixtures("soon")
def test_beyond_some_labels_no_expert_is_exact_and_the_work_of_labels_is_bounded(constants):
    constants(expert_kind, LABEL_WORK=300 * 25**2)
    X, y = labels(300, noise=1e-5)
    fitted = EnsembleGPRegressor(random_state=1, outliers=False).fit(X, y).model_
    assert isinstance(fitted.embedding_, InducingFeatures)
    points = [len(Z) for Z in fitted.embedding_.Z]
    assert 300 * len(points) * max(points) ** 2 <= expert_kind.LABEL_WORK
    few = EnsembleGPRegressor(random_state=1, outliers=False).fit(X[:50], y[:50]).model_
    assert isinstance(few.embedding_, RawInputs)


def test_ten_thousand_labels_are_within_the_memory_that_is_promised():
    m = expert_kind.most_points(1, 10_000)
    assert expert_kind.most_exact(1) < 10_000
    assert 2 * 8 * m**2 + 8 * 10_000 * m < 200e6  # bytes of a factor, a root and features
    assert expert_kind.most_points(1, 4000) == expert_kind.MAX_INDUCING_POINTS  # as before


def test_labels_left_out_by_the_posterior_are_those_left_out_by_the_factor(model, constants):
    by_root = leave_one_out_mixtures(model.trained)
    constants(core_leave_one_out, ROOT_LABELS=40)
    by_weights = leave_one_out_mixtures(model.trained)
    assert isinstance(model.embedding_, InducingFeatures)
    np.testing.assert_allclose(by_weights.mu, by_root.mu, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(by_weights.s, by_root.s, rtol=1e-6)


@pytest.mark.covering
@pytest.mark.parametrize("approximation", ["inducing", "exact", "features"])
@pytest.mark.parametrize("most", [40, 2000])
def test_some_labels_are_left_out_of_all_others(approximation, most, constants):
    constants(core_leave_one_out, ROOT_LABELS=most)
    X, y = labels(90)
    given = {"approximation": approximation, "random_state": 1, "outliers": False}
    model = EnsembleGPRegressor(**given).fit(X, y).model_
    which = np.array([3, 17, 80])
    every = leave_one_out_means(model.trained, model.scaling)
    some = leave_one_out_means(model.trained, model.scaling, which)
    np.testing.assert_allclose(some, every[which], rtol=1e-8)


def test_the_error_of_a_sample_is_stated_and_right():
    rng = np.random.default_rng(5)
    every = rng.standard_normal(3000)
    truth = rms(every, 3000)
    assert truth[1] is None
    off = []
    for _ in range(200):
        found, error = rms(rng.choice(every, 300, replace=False), 3000)
        off.append((found - truth[0]) / error)
    assert 0.8 < np.std(off) < 1.2
    assert averaged_labels(2000) is None
    assert len(averaged_labels(10_000)) == 1000
    assert averaged_labels(10_000)[[0, -1]].tolist() == [0, 9999]


@pytest.mark.usefixtures("soon")
def test_the_past_of_many_labels_is_that_of_the_experts_of_now(model):
    X, _ = labels(40, 9)
    found = error_trend(model, 10, X)
    now = found.now
    assert now.labels == 90
    assert now.left_out_error > 0.0
    assert now.expected == pytest.approx(np.sqrt((model.predict(X, True)[1] ** 2).mean()), rel=1e-3)
    past = {mark.labels: mark for mark in found.marks}
    later = [n for n in past if 20 < n < 90]
    for n in later:
        early = train_on_first(model, 10, n)
        sd = mean_sd(early, model.scaling, model.scaling.inputs(X))[1]
        assert past[n].expected == pytest.approx(np.sqrt((sd**2).mean()), rel=1e-3)
    assert later
    assert now.expected < past[later[0]].expected
    assert error_trend(model, 10, X, found) == found


@pytest.mark.usefixtures("soon")
def test_a_large_pool_is_sampled_by_the_state_alone():
    X, y = labels(300, 4)
    order = np.random.default_rng(2).permutation(300)
    answers = []
    for rows in (np.arange(300), order):
        learner = ActiveLearner(X[rows], ids=[f"r{n}" for n in rows.tolist()])
        learner.tell([f"r{n}" for n in range(70)], y[:70])
        assert comparison_size(learner.state.view(), learner.model) == 50
        few = with_compared_candidates(learner.state, learner._beliefs, 1)
        assert int(few.free().sum()) <= 50
        assert (
            with_compared_candidates(learner.state, learner._beliefs, 1).candidates
            is few.candidates
        )
        _, sd = learner.model.predict(X, return_std=True)
        assert learner.predicted_error() == pytest.approx(np.sqrt((sd**2).mean()), rel=1e-6)
        # nobody has looked at all candidates
        assert learner._beliefs._entries[UNNAMED].pool is None
        one = [learner.ask(more=True) for _ in range(3)]
        answers.append((one, sorted(map(str, few.candidates.ids))))
        assert set(one) <= set(few.candidates.ids)
    assert answers[0] == answers[1]


@pytest.mark.usefixtures("soon")
def test_a_batch_is_the_same_at_once_and_in_turn_and_goes_on_beyond_the_sample():
    X, y = labels(200, 6)
    at_once, in_turn, all_of_them = (ActiveLearner(X) for _ in range(3))
    for learner in (at_once, in_turn, all_of_them):
        learner.tell(range(70), y[:70])
    assert at_once.ask(4) == [in_turn.ask(more=True) for _ in range(4)]
    assert len(set(all_of_them.ask(130))) == 130  # more than the sample has


@pytest.mark.usefixtures("soon")
def test_few_labels_or_few_candidates_are_never_sampled():
    X, y = labels(300, 4)
    learner = ActiveLearner(X)
    learner.tell(range(40), y[:40])
    assert comparison_size(learner.state.view(), learner.model) is None
    assert with_compared_candidates(learner.state, learner._beliefs, 1) is learner.state


def test_the_best_of_a_sample_is_among_the_best_as_often_as_is_said():
    rng = np.random.default_rng(7)
    share = best_share(100)
    ranks = np.array([rng.choice(20_000, 100, replace=False).min() for _ in range(2000)])
    assert abs((ranks < share * 20_000).mean() - candidate_sample.SURE) < 0.01


def test_a_summary_of_many_rows_is_what_predictions_and_intervals_say(constants):
    X, y = labels(30, 8)
    model = EnsembleGPRegressor(random_state=1).fit(X, 50.0 * y).model_
    new, _ = labels(200, 3)
    mean, sd = model.predict(new, return_std=True)
    low, high = model.predict_interval(new, 0.8)
    np.testing.assert_array_equal(model.summary(new, 0.8), [mean, sd, low, high])
    constants(model_module, EXACT_ROWS=199)
    found = model.summary(new, 0.8)
    np.testing.assert_array_equal(found[:2], [mean, sd])
    assert np.abs(found[2:] - [low, high]).max() < 1e-8 * (high - low).max()
    parts = [model.summary(new[n : n + 7], 0.8, of=200) for n in range(0, 200, 7)]
    np.testing.assert_allclose(np.concatenate(parts, axis=1), found, rtol=1e-9)
    with pytest.raises(ValueError, match="between 0 and 1"):
        model.summary(new, 1.0)
