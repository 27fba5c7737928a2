"""Acquisition functions by name: parameters, entry points, and levels in the user's units."""

from importlib.metadata import EntryPoint

import numpy as np
import pytest

from weal import ActiveLearner
from weal.core.extensions import acquisition_registry as registry
from weal.core.extensions.acquisition_registry import (
    find_acquisition,
    is_amount,
    is_pointwise,
    is_registered,
    register_acquisition,
)


@pytest.fixture(autouse=True)
def tables(constants):
    """Registrations of a test end with it."""
    constants(
        registry, ACQUISITIONS=dict(registry.ACQUISITIONS), FACTORIES=dict(registry.FACTORIES)
    )
    registry._call_factory.cache_clear()


def a_learner(acquisition, scale=1.0, labels=12, skewed=False):
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(60, 3))
    y = np.sin(4 * X[:, 0]) + X[:, 1]
    y = scale * (np.exp(3 * y) if skewed else y)
    learner = ActiveLearner(X, acquisition=acquisition, seed=1)
    learner.tell(range(labels), y[:labels])
    return learner, X, y


def test_a_name_with_numbers_is_one_function_however_it_is_written():
    name, score = find_acquisition(" ucb( 2.0 ) ")
    assert name == "ucb(2)"
    assert find_acquisition("ucb(2)")[1] is score
    assert find_acquisition("ucb(3)")[1] is not score
    assert find_acquisition("ucb")[0] == "ucb()"
    assert is_registered("ucb(2)", score)
    assert not is_registered("ucb(3)", score)
    assert is_pointwise(score)
    assert not is_amount(score)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ucb(two)", "are numbers"),
        ("ucb(nan)", "finite numbers"),
        ("ucb(1, 2)", "does not take 2 numbers"),
        ("straddle()", "does not take 0 numbers"),
        ("gpm-var(2)", "has no parameters: write gpm-var"),
        ("ubc(2)", "unknown acquisition 'ubc(2)'; known are random"),
        ("ucb(2", "unknown acquisition"),
        ("__import__('os')", "unknown acquisition"),
    ],
)
def test_what_is_no_acquisition_is_refused_with_words(text, words):
    with pytest.raises(ValueError, match="acquisition") as refusal:
        ActiveLearner(np.arange(8.0)[:, None], acquisition=text)
    assert words in str(refusal.value)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e7])
def test_ucb_is_mean_and_sd_of_the_posterior_whatever_the_scale(scale):
    learner, X, _ = a_learner("ucb(2)", scale)
    mean, sd = learner.predict(X, return_std=True)
    free = np.arange(12, 60)
    assert learner.ask() == free[np.argmax((mean + 2 * sd)[free])]


def test_a_name_keeps_every_digit_of_its_numbers_and_a_file_the_function(tmp_path):
    for text in ("straddle(1234567)", "ucb(0.12345678)", "ucb(2)", "straddle(-1e-300)"):
        name, function = find_acquisition(text)
        assert find_acquisition(name) == (name, function)
    assert find_acquisition("ucb(2.0000001)")[0] != find_acquisition("ucb(2)")[0] == "ucb(2)"
    learner = ActiveLearner(np.arange(9.0)[:, None], acquisition="straddle(1234567)")
    learner.save(tmp_path / "one.weal")
    again = ActiveLearner.load(tmp_path / "one.weal")
    assert again.state.settings.functions == learner.state.settings.functions


def test_a_threshold_is_written_in_the_users_units():
    """On labels that are not warped straddle is 1.96 sd - |mean - h| of the user's own numbers."""
    learner, X, _ = a_learner("straddle(130.0)", scale=100.0)
    mean, sd = learner.predict(X, return_std=True)
    free = np.arange(12, 60)
    assert learner.ask() == free[np.argmax((1.96 * sd - np.abs(mean - 130.0))[free])]


def test_a_level_goes_through_scaling_and_warp_as_labels_do():
    seen = []

    def own(belief):
        seen.append((belief.scaled(level), belief.y_labelled.copy()))
        return belief.mean

    for skewed in (False, True):
        level = 0.0
        learner, _, y = a_learner(own, scale=7.0, skewed=skewed, labels=30)
        for n in (3, 17, 29):
            level = float(y[n])
            learner.release([learner.ask()])
            scaled, labels = seen[-1]
            assert scaled == pytest.approx(labels[n], abs=1e-9)


def test_a_registered_function_is_found_by_name_and_a_taken_name_is_refused():
    register_acquisition("largest-mean", lambda belief: belief.mean)
    learner, X, _ = a_learner("largest-mean")
    free = np.arange(12, 60)
    assert learner.ask() == free[np.argmax(learner.predict(X)[free])]
    for name in ("gpm-var", "ucb"):
        with pytest.raises(ValueError, match="is there already"):
            register_acquisition(name, lambda belief: belief.mean)
    with pytest.raises(ValueError, match="is not a valid name"):
        register_acquisition("largest mean(", lambda belief: belief.mean)


def margin(distance):
    """An acquisition with a parameter, as a package would register it."""
    return lambda belief: -np.abs(belief.mean - distance)


margin.makes_acquisition = True


def test_a_package_brings_its_own_by_an_entry_point(monkeypatch):
    points = [EntryPoint("margin", f"{__name__}:margin", registry.ENTRY_POINT_GROUP)]
    asked = []

    def entry_points(group, name):
        asked.append((group, name))
        return [point for point in points if point.name == name]

    monkeypatch.setattr(registry, "entry_points", entry_points)
    name, _ = find_acquisition("margin(0.5)")
    assert name == "margin(0.5)"
    assert asked == [("weal.acquisitions", "margin")]
    learner, _, _ = a_learner("margin(0.5)")
    assert learner.ask() in range(12, 60)
