"""A learner that was reopened asks what the unbroken one would have asked."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from learning import (
    OUTSIDE,
    Y,
    a_learner,
    beliefs,
    everything,
    measure,
    model,
    outlook,
    points,
    teach,
    told,
)
from weal import ActiveLearner, EnsembleGPRegressor
from weal.learner.pools import memory

KINDS = pytest.mark.parametrize("approximation", ["features", "exact", "inducing"])


def reopened(learner, folder):
    learner.save(folder / "learner.weal")
    return ActiveLearner.load(folder / "learner.weal")


def numbers(row):
    return [row["score"], row["mean"], row["std"], *row["acquisition_weights"].values()]


def keeps_up(unbroken, folder, steps, every=1):
    """Reopen again and again, and ask and tell beside the learner that stays open."""
    other = unbroken
    for step in range(steps):
        if step % every == 0:
            other = reopened(other if step else unbroken, folder)
        batch = unbroken.ask(2) if step % 3 == 0 else [unbroken.ask()]
        assert other.ask(len(batch)) == batch, step
        for learner in (unbroken, other):  # one label of a batch comes late
            learner.tell(batch[-1], measure(learner.candidates.x(batch[-1])))
    assert told(other) == told(unbroken)
    assert_allclose(beliefs(other), beliefs(unbroken), rtol=1e-9)
    for row, expected in zip(other.history, unbroken.history, strict=True):
        assert all(row[name] == expected[name] for name in ("step", "id", "why", "label"))
        assert_allclose(numbers(row), numbers(expected), rtol=1e-6)


@pytest.mark.covering
@pytest.mark.parametrize(
    "name", ["gpm-var", "gpm-ent", "multi", "ivr", "random", "igs", "bald", "auto"]
)
@KINDS
def test_a_learner_reopened_at_every_step_asks_what_the_unbroken_one_asks(
    name, approximation, tmp_path
):
    keeps_up(a_learner(name, approximation), tmp_path, 20)


@pytest.mark.covering
@pytest.mark.parametrize("noise", [1e-1**0.5, 1e-2])
@KINDS
def test_it_does_with_little_noise_and_many_labels_too(approximation, noise, tmp_path):
    given = model(approximation, noise=noise)
    keeps_up(a_learner("multi", model=given, pool=points(200)), tmp_path, 45, every=7)


def test_it_does_with_single_precision_features(tmp_path, constants):
    constants(memory, MIN_FLOAT32_CANDIDATES=50)
    learner = a_learner("multi")
    assert outlook(learner).pool.dtype == np.float32
    keeps_up(learner, tmp_path, 20)


def test_it_does_with_features_that_are_not_cached_and_experts_apart(tmp_path, constants):
    constants(memory, MIN_CANDIDATES_FOR_OWN_GROUP=50)
    keeps_up(a_learner("ivr", memory=0), tmp_path, 12)
    keeps_up(a_learner("gpm-var", model=model(prior_weights=[1.0, 1e-14, 1.0])), tmp_path, 12)


@pytest.mark.parametrize("first", [0, 4, 8])
def test_it_does_from_the_start_and_with_the_default_model(first, tmp_path):
    generator = np.random.RandomState(3)
    for given in (EnsembleGPRegressor(), EnsembleGPRegressor(random_state=generator)):
        learner = ActiveLearner(points(100), given, "gpm-var", seed=5)
        teach(learner, first)
        keeps_up(learner, tmp_path, 9, every=4)


@KINDS
def test_a_batch_that_waits_is_kept_and_grows_the_same(approximation, tmp_path):
    learner = a_learner("multi", approximation, validation=(OUTSIDE, measure(OUTSIDE)))
    early = learner.ask(3)
    learner.tell(early[0], Y[early[0]])
    waiting = learner.ask(4)
    learner.skip(50)
    learner.skip(early[1])
    assert learner.ask(2) != waiting[:2]
    other = reopened(learner, tmp_path)
    assert everything(other) == everything(learner)
    assert other.ask(2) == learner.ask(2)
    assert other.ask(6) == learner.ask(6)
    assert other.ask(more=True) == learner.ask(more=True)
    other.unskip(50)


def test_omega_is_not_updated_a_second_time_by_reopening(tmp_path):
    learner = a_learner("multi")
    learner.ask()
    other = reopened(learner, tmp_path)
    other.skip(learner.ask())
    other.ask()
    assert other.acquisition_weights == learner.acquisition_weights


def test_everything_that_was_said_is_kept(tmp_path):
    learner = a_learner(
        ["ivr", "igs"],
        eta=3.5,
        score_scaling="maximum",
        reference=OUTSIDE[:4],
        validation=(OUTSIDE[4:], measure(OUTSIDE[4:])),
        n_start=5,
        seed=12,
        memory=10**6,
    )
    learner.tell_points(OUTSIDE[:2], measure(OUTSIDE[:2]), noise=[2.0, 0.0])
    learner.tell(3, Y[3] + 1.0, repeat=True, noise=7.0)
    learner.remove([20, 21])
    learner.add(OUTSIDE[2:4], ids=["a", ("b", 2.5, True)], to_reference=True)
    teach(learner, 3)
    other = reopened(learner, tmp_path)
    assert everything(other) == everything(learner)
    for name in ("n_start", "seed"):
        assert getattr(other, name) == getattr(learner, name)
    assert other._beliefs.memory == learner._beliefs.memory == 10**6
    settings = other.state.settings
    assert (settings.eta, settings.score_scaling) == (3.5, "maximum")
    assert_array_equal(other.reference, learner.reference)
    for part, kept in zip(settings.validation, learner.state.settings.validation, strict=True):
        assert_array_equal(part, kept)
    assert teach(other, 4) == teach(learner, 4)
    other.forget(3)
    learner.forget(3)
    assert_allclose(beliefs(other), beliefs(learner), rtol=1e-9)
