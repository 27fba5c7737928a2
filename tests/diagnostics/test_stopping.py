from dataclasses import replace

import numpy as np
import pytest

from campaign.taught import taught
from weal import EnsembleGPRegressor
from weal.core.paper import ensemble
from weal.diagnostics.error_trend import SequentialError, Trend, TrendPoint
from weal.diagnostics.random_baseline import MAX_LABELS, compare_with_random, draw
from weal.diagnostics.stopping import change_by_last_labels, labels_to_goal
from weal.goals.learn import Learn
from weal.goals.protocol import GoalProgress
from weal.goals.until import until_error


def a_trend(error, labels=100, first=10, surprise=1.0):
    at = sorted({int(first * 1.05**k) for k in range(100) if first * 1.05**k < labels} | {labels})
    rng = np.random.default_rng(4)
    marks = tuple(TrendPoint(n, 1.1 * error(n), error(n), {}) for n in at)
    z = surprise * rng.normal(size=labels - first)
    surprises = tuple(
        SequentialError(first + n, float(e), 1.0, abs(e) < 1.64) for n, e in enumerate(z)
    )
    return Trend(marks, surprises, 500)


def test_a_square_root_law_is_drawn_on():
    found = labels_to_goal(a_trend(lambda n: 2.0 * n**-0.5), 0.1, 5000, 0)  # 400 labels in all
    assert found.low < 300 < found.high
    assert 150 < found.median < 500
    assert found.reached == 0.0
    assert found.error == pytest.approx(0.2, rel=0.2)
    assert f"about {found.median} more" in found.text


def test_a_nearer_goal_needs_fewer_labels_and_is_surer():
    trend = a_trend(lambda n: 2.0 * n**-0.5)
    goals = [labels_to_goal(trend, goal, 5000, 0) for goal in (0.05, 0.1, 0.15, 0.19)]
    assert [one.low for one in goals] == sorted((one.low for one in goals), reverse=True)
    assert [one.reached for one in goals] == sorted(one.reached for one in goals)


def test_an_error_that_does_not_fall_meets_no_far_goal():
    found = labels_to_goal(a_trend(lambda n: 2.0), 0.2, 300, 0)
    assert (found.median, found.high, found.limit) == (None, None, 300)
    assert "not within 300 more labels" in found.text


def test_a_goal_that_is_reached_is_said_so():
    found = labels_to_goal(a_trend(lambda n: 2.0 * n**-0.5), 0.4, 5000, 0)
    assert found.reached > 0.95
    assert "reached" in found.text
    assert "probably reached" in until_error(0.4).advice(GoalProgress(0, needed=found))


def test_few_labels_tell_nothing_of_how_many_are_needed():
    found = labels_to_goal(a_trend(lambda n: 2.0 * n**-0.5, labels=12), 0.1, 5000, 0)
    assert found.median is None
    assert "unknown: too few labels" in found.text


def test_labels_that_surprise_make_the_error_larger():
    calm, wild = (
        labels_to_goal(a_trend(lambda n: 2.0 * n**-0.5, surprise=size), 0.1, 9000, 0)
        for size in (1.0, 1.6)
    )
    assert wild.error > 1.3 * calm.error
    assert wild.median > calm.median


def test_labels_needed_are_the_same_every_time_and_in_any_unit():
    law = a_trend(lambda n: 2.0 * n**-0.5)
    large = a_trend(lambda n: 2e6 * n**-0.5)
    assert labels_to_goal(law, 0.1, 5000, 3) == labels_to_goal(law, 0.1, 5000, 3)
    assert labels_to_goal(large, 1e5, 5000, 3).median == pytest.approx(
        labels_to_goal(law, 0.1, 5000, 3).median, abs=1
    )


def test_what_the_last_labels_changed_is_the_difference_of_two_models():
    one, early = taught(30), taught(24)
    X = one.read_session().pool.X
    found = change_by_last_labels(one.read_model(), 5, X, 6)
    before, sd_before = early.read_model().predict(X, return_std=True)
    after, sd_after = one.read_model().predict(X, return_std=True)
    moved = np.sqrt(((after - before) ** 2).mean() / (sd_before**2).mean())
    assert found.moved == pytest.approx(moved, rel=1e-6)
    assert found.before == pytest.approx(np.sqrt((sd_before**2).mean()), rel=1e-6)
    assert found.now == pytest.approx(np.sqrt((sd_after**2).mean()), rel=1e-6)
    assert change_by_last_labels(one.read_model(), 5, X, 26) is None


@pytest.mark.parametrize("approximation", ["exact", "features"])
def test_drawn_functions_have_the_moments_that_are_predicted(approximation):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(14, 2))
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.05 * rng.normal(size=14)
    model = EnsembleGPRegressor(random_state=0, approximation=approximation, n_frequencies=40)
    model = model.fit(X, y).model_
    trained = model.trained
    at = model.scaling.inputs(rng.normal(size=(6, 2)))
    ens = trained.ensemble
    mean, var = ensemble.mixture(
        ens.w, *ensemble.predict(ens, trained.embedding.points(ens.experts, at))
    )
    draws, believed = 4000, {}
    f = np.array([draw(trained, at, rng, believed)[1] for _ in range(draws)])
    sd = np.sqrt(var)
    np.testing.assert_allclose((f.mean(axis=0) - mean) / sd, 0.0, atol=4.0 / np.sqrt(draws))
    np.testing.assert_allclose(f.std(axis=0) / sd, 1.0, atol=0.1)


def one_input(at):
    X = np.asarray(at)[:, None]
    pool = np.linspace(0.0, 10.0, 300)[:, None]
    y = np.sin(1.5 * X[:, 0]) + 0.02 * np.random.default_rng(2).normal(size=len(X))
    return EnsembleGPRegressor(random_state=0).fit(X, y, X_unlabelled=pool).model_, pool


def compared(at, seed=0):
    model, pool = one_input(at)
    return compare_with_random(
        model.trained, model.scaling, model.scaling.inputs(pool), seed, Learn().loss
    )


def test_rows_that_are_spread_beat_random_ones_and_rows_in_a_corner_do_not():
    spread, corner = compared(np.linspace(0.0, 10.0, 16)), compared(np.linspace(0.0, 2.0, 16))
    assert spread.ratio > 1.2
    assert corner.ratio < 0.8
    assert spread.low <= spread.ratio <= spread.high


def test_the_comparison_with_random_choice_is_the_same_every_time():
    assert compared(np.linspace(0.0, 10.0, 12)) == compared(np.linspace(0.0, 10.0, 12))
    assert compared(np.linspace(0.0, 10.0, 12)) != compared(np.linspace(0.0, 10.0, 12), seed=1)


def test_too_many_labels_are_not_compared():
    model, pool = one_input(np.linspace(0.0, 10.0, 12))
    trained = replace(model.trained, y=np.zeros(MAX_LABELS + 1))
    assert compare_with_random(trained, model.scaling, pool, 0, Learn().loss) is None
