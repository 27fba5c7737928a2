"""Laws of experts that follow the labels: when they are settled anew, replay, temper, noise."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from soak import count
from weal import ActiveLearner, EnsembleGPRegressor, Kernel, Scaling
from weal.core.extensions.embeddings import RawInputs
from weal.core.extensions.inducing_gp import InducingFeatures
from weal.core.extensions.label_noise import expected_units, prior_variance_of_difference
from weal.model import expert_kind, expert_selection
from weal.model import training as folds
from weal.model.training import refresh_after

rng = np.random.default_rng(12)
X = rng.standard_normal((64, 3))
y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(64)
x_new, y_new = rng.standard_normal((9, 3)), np.linspace(-2.0, 2.0, 9)
for shared in (X, y, x_new, y_new):
    shared.flags.writeable = False

GIVEN = (Kernel("rbf", 0.8, offset=10.0), Kernel("matern52", (1.0, 2.0, 4.0), offset=10.0))


def picture(model):
    return (
        *model.predict(x_new, return_std=True),
        model.log_predictive_density(x_new, y_new),
        model.weights_,
    )


def assert_same(one, other, **tolerance):
    for a, b in zip(picture(one), picture(other), strict=True):
        assert_allclose(a, b, **(tolerance or {"rtol": 1e-7, "atol": 1e-8}))


def told(model, start, end, size=1):
    """The model after labels start .. end, so many at a time."""
    for at in range(start, end, size):
        rows = slice(at, min(at + size, end))
        model.partial_fit(X[rows], y[rows])
    return model


def due_at(model):
    """The number of labels at which experts are settled next."""
    return refresh_after(model.model_.trained.n_selection_labels)


# When experts are settled anew


def test_experts_are_settled_anew_after_a_share_of_the_labels_has_come_on_top():
    model = EnsembleGPRegressor().fit(X[:10], y[:10])
    due, playing = [due_at(model)], [model.dictionary_]
    for t in range(10, 64):
        told(model, t, t + 1)
        if model.dictionary_ is not playing[-1]:
            assert t + 1 == due[-1]
            due.append(due_at(model))
            playing.append(model.dictionary_)
        assert t + 1 < due_at(model)
    assert due == [15, 20, 25, 30, 35, 40, 46, 52, 59, 67]


def test_a_model_just_settled_anew_is_one_fitted_to_all_labels():
    """With the same scaling of inputs and labels."""
    model = told(EnsembleGPRegressor().fit(X[:10], y[:10]), 10, 30)
    fresh = EnsembleGPRegressor(scaling=model.scaling_).fit(X[:30], y[:30])
    for one, other in zip(picture(model), picture(fresh), strict=True):
        assert_array_equal(one, other)


def test_given_kernels_are_never_settled_anew():
    model = EnsembleGPRegressor(GIVEN).fit(X[:10], y[:10])
    playing = model.dictionary_
    assert told(model, 10, 64, size=9).dictionary_ is playing
    assert model.model_.trained.n_selection_labels == 10


def advanced(model, start, end, refresh):
    """The model after labels start .. end, a step of the core at a time, as the learner does it."""
    A, b = model.scaling_.inputs(X), model.scaling_.labels(y)
    for n in range(start, end):
        trained = model.model_.trained
        step = folds.step(trained, A[n], b[n], 0.0)
        trained = folds.advance(trained, step, A[n], b[n], 0.0)
        due = len(trained.y) >= refresh_after(trained.n_selection_labels)
        if refresh:
            assert due == (n + 1 in (15, 20, 25, 30))
        if refresh and due:
            trained = folds.begin(
                trained.setting, trained.X, trained.y, trained.noise_var, trained.seed
            )
        model.model_ = replace(model.model_, trained=trained)
    return model


def test_steps_of_the_core_end_where_labels_end():
    model, by_steps = (EnsembleGPRegressor().fit(X[:10], y[:10]) for _ in range(2))
    assert_same(advanced(by_steps, 10, 33, refresh=True), told(model, 10, 33))


def test_a_refresh_that_was_put_off_comes_with_the_next_labels():
    late = EnsembleGPRegressor().fit(X[:10], y[:10])
    advanced(late, 10, 17, refresh=False)
    assert late.model_.trained.n_selection_labels == 10
    assert due_at(late) == 15 < 17
    told(late, 17, 18)
    assert due_at(late) > 18
    settled = EnsembleGPRegressor(scaling=late.scaling_).fit(X[:17], y[:17])
    assert_same(late, told(settled, 17, 18))


# Replay


@pytest.mark.parametrize("size", [2, 3, 7, 54])
def test_labels_in_the_same_order_give_the_same_belief_however_many_at_a_time(size):
    one_by_one = told(EnsembleGPRegressor().fit(X[:10], y[:10]), 10, 64)
    chunks = told(EnsembleGPRegressor().fit(X[:10], y[:10]), 10, 64, size)
    assert chunks.dictionary_ == one_by_one.dictionary_
    assert due_at(chunks) == due_at(one_by_one)
    assert_same(chunks, one_by_one)


@pytest.mark.parametrize("approximation", ["auto", "features"])
def test_replay_in_the_same_order_is_exact_to_the_bit(approximation):
    def replay():
        model = EnsembleGPRegressor(
            approximation=approximation, n_frequencies=20, random_state=4
        ).fit(X[:7], y[:7], X_unlabelled=x_new)
        return told(model, 7, 40, size=3)

    for one, other in zip(picture(replay()), picture(replay()), strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize("t", [30, 33])  # just settled anew, and three labels later
def test_order_before_and_since_the_last_refresh_is_irrelevant(t):
    given = Scaling(X.mean(axis=0), X.std(axis=0), 0.1, 0.9)
    forth = told(EnsembleGPRegressor(scaling=given).fit(X[:10], y[:10]), 10, t)
    order = np.concatenate([np.random.default_rng(0).permutation(30), np.arange(30, t)[::-1]])
    mixed = EnsembleGPRegressor(scaling=given).fit(X[order[:10]], y[order[:10]])
    for at in order[10:]:
        mixed.partial_fit(X[at], y[at])
    assert_same(mixed, forth, rtol=1e-4, atol=1e-4)


def test_other_labels_in_place_of_those_seen_are_a_fit_with_the_same_scaling():
    learner = ActiveLearner(X, n_start=10)
    for n in range(33):
        learner.tell(n, y[n])
    for n in (*range(5), *range(25, 33)):
        learner.forget(n)
    scaling = learner.model.scaling_
    assert_same(learner.model, EnsembleGPRegressor(scaling=scaling).fit(X[5:25], y[5:25]))
    assert learner.model.n_labels_ == 20


def test_with_all_labels_taken_back_learning_starts_again():
    learner = ActiveLearner(X, n_start=10)
    learner.tell(range(10), y[:10])
    for n in range(10, 33):
        learner.tell(n, y[n])
    for n in range(33):
        learner.forget(n)
    assert learner.model.n_labels_ == 0
    assert np.isfinite(learner.model.predict(x_new)).all()
    for n in range(33, 63):
        learner.tell(n, y[n])
    scaling = learner.model.scaling_
    assert_same(learner.model, EnsembleGPRegressor(scaling=scaling).fit(X[33:63], y[33:63]))


def test_beyond_so_many_labels_a_refresh_takes_inducing_points(constants):
    constants(expert_kind, MAX_LABELS_ALWAYS_EXACT=20, MAX_FACTOR_BYTES=8 * 12 * 20**2)
    model = EnsembleGPRegressor(random_state=0).fit(X[:10], y[:10])
    assert isinstance(told(model, 10, 24).model_.embedding_, RawInputs)
    assert isinstance(told(model, 24, 25).model_.embedding_, InducingFeatures)
    told(model, 25, 64)
    assert np.mean((model.predict(X) - y) ** 2) < 0.1 * y.var()


# Temper


def entropy(w):
    return -np.sum(w[w > 0] * np.log(w[w > 0]))


def by_kind(model):
    """Weights of the kinds of kernels: those that stand for one peak are meant to be even."""
    kinds = [
        (kernel.family, kernel.length_scale if isinstance(kernel.length_scale, float) else "each")
        for kernel in model.dictionary_
    ]
    each = {kind: 0.0 for kind in kinds}
    for kind, w in zip(kinds, model.weights_, strict=True):
        each[kind] += w
    return np.array(list(each.values()))


@pytest.mark.parametrize("kernels", [GIVEN, None], ids=["given", "ours"])
def test_temper_keeps_weights_from_dying_and_order_from_mattering(kernels):
    plain, tempered = (
        EnsembleGPRegressor(kernels, temper=temper).fit(X, y) for temper in (1.0, 0.1)
    )
    weights = by_kind if kernels is None else (lambda model: model.weights_)
    apart = entropy(weights(plain)), entropy(weights(tempered))
    assert apart[0] < 0.8
    assert apart[1] > apart[0] + 0.5
    order = np.random.default_rng(1).permutation(64)
    mixed = EnsembleGPRegressor(kernels, temper=0.1).fit(X[order], y[order])
    assert_same(mixed, tempered, rtol=1e-4, atol=1e-4)


def test_with_temper_those_play_that_matter_then():
    f = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1]  # without noise: one peak has it all
    plain, tempered = (EnsembleGPRegressor(temper=temper).fit(X, f) for temper in (1.0, 0.01))
    assert by_kind(plain).max() > 0.99
    assert len(tempered.weights_) > 8
    assert tempered.weights_.max() < 0.5


def test_tempered_weights_of_given_kernels_are_evidence_to_that_power():
    plain, tempered = (
        EnsembleGPRegressor(GIVEN, noise_ratios=(0.01, 0.1), temper=temper).fit(X, y)
        for temper in (1.0, 0.3)
    )
    w = plain.weights_**0.3
    assert_allclose(tempered.weights_, w / w.sum(), rtol=1e-9)


# Noise that is known, where magnitudes are integrated out


def one_expert(ratio):
    given = Scaling(X.mean(axis=0), X.std(axis=0), 0.0, 2.0)
    return EnsembleGPRegressor(GIVEN[:1], noise_ratios=(ratio,), scaling=given)


def test_known_noise_adds_to_the_ratio_of_every_expert():
    """A variance of 0.2 in units of y is one of 0.05 in scaled units, where a label has sd 2; and a
    ratio of 0.05 to a magnitude of 1.
    """
    unit = expected_units([prior_variance_of_difference(GIVEN[0], 3)], [0.1])[0, 0]
    told_of = one_expert(0.1).fit(X, y, sample_noise=np.sqrt(0.2))
    built_in = one_expert(0.1 + 0.05 / unit).fit(X, y)
    assert_allclose(told_of.predict(x_new), built_in.predict(x_new), rtol=1e-9)
    stds = [model.predict(x_new, return_std=True)[1] for model in (told_of, built_in)]
    assert_allclose(*stds, rtol=1e-9)


def test_a_label_of_huge_noise_moves_no_mean():
    without = one_expert(0.1).fit(X, y)
    model = one_expert(0.1).fit(X, y).partial_fit(X[0], 30.0, sample_noise=1e7)
    assert_allclose(model.predict(x_new), without.predict(x_new), rtol=1e-9)


def test_knowing_which_labels_are_noisy_helps():
    draw = np.random.default_rng(2)
    sd = np.where(np.arange(64) % 2, 1.5, 0.01)
    f = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1]
    labels = f + sd * draw.standard_normal(64)
    new = draw.standard_normal((200, 3))
    truth = np.sin(2.0 * new[:, 0]) + 0.5 * new[:, 1]
    knowing = EnsembleGPRegressor().fit(X, labels, sample_noise=sd)
    ignorant = EnsembleGPRegressor().fit(X, labels)
    errors = [np.mean((model.predict(new) - truth) ** 2) for model in (knowing, ignorant)]
    assert errors[0] < 0.3 * errors[1]


def test_beyond_300_labels_experts_are_settled_by_a_set_of_rows_not_by_their_order():
    draw = np.random.default_rng(4)
    A, b, noise_var = draw.normal(size=(700, 3)), draw.normal(size=700), draw.random(700)
    order = draw.permutation(700)
    rows = expert_selection.evidence_rows(A, b, noise_var)
    again = order[expert_selection.evidence_rows(A[order], b[order], noise_var[order])]
    assert len(set(rows.tolist())) == expert_selection.EVIDENCE_LABELS
    np.testing.assert_array_equal(rows, again)
    few = expert_selection.EVIDENCE_LABELS
    assert expert_selection.evidence_rows(A[:few], b[:few], noise_var[:few]) == slice(None)


@pytest.mark.parametrize("seed", count([0], long=[0, 1, 2]))
def test_few_inputs_of_many_are_found_and_not_lost_again(seed):
    """What was learnt stays learnt: no refresh takes all for noise again."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 18))
    f = X[:, 0] + np.sin(2.0 * X[:, 5]) + 0.3 * X[:, 7] ** 2
    y = f + 0.05 * rng.normal(size=400)
    learner, errors = ActiveLearner(X, None, seed=seed), []
    for _ in range(12):
        ids = learner.ask(10)
        learner.tell(ids, y[ids])
        errors.append(np.mean((learner.model.predict(X) - f) ** 2) / f.var())
    assert max(errors[6:]) < 0.02
