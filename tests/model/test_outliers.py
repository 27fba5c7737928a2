"""Labels that may be wrong, from tell to predictions, files and replay."""

import numpy as np
import pytest
from benchmarks.real_labels.functions import Task
from benchmarks.real_labels.outliers import shifted
from numpy.testing import assert_allclose, assert_array_equal

from weal import ActiveLearner, EnsembleGPRegressor
from weal.core.extensions.label_warp import IDENTITY_WARP
from weal.diagnostics.leave_one_out import leave_one_out
from weal.diagnostics.suspects import outlier_probabilities, predictions_by_others, suspects
from weal.errors import AlreadyLabelled
from weal.model import expert_selection

RNG = np.random.default_rng(5)
X = RNG.uniform(-1.0, 1.0, (80, 3))
Y = 100.0 + 20.0 * (np.sin(3.0 * X[:, 0]) + X[:, 1] * X[:, 2]) + 0.5 * RNG.normal(size=80)
X.flags.writeable = Y.flags.writeable = False
T = 30


def typo(at=7, factor=100.0, t=T):
    y = Y[:t].copy()
    y[at] *= factor
    return y


def fitted(y, **params):
    return EnsembleGPRegressor(random_state=0, **params).fit(X[: len(y)], y)


def told(y, **params):
    learner = ActiveLearner(X, params or None, acquisition="gpm-var", n_start=8)
    for i, label in enumerate(y):
        learner.tell(i, label)
    return learner


@pytest.mark.parametrize("kind", ["exact", "features"])
@pytest.mark.parametrize("warp", [None, "asinh"])
def test_one_typo_leaves_predictions_as_if_it_had_not_been_told(kind, warp):
    rest = np.delete(np.arange(T), 7)
    params = {"approximation": kind, "warp": warp, "n_frequencies": 30}
    model = fitted(typo(), **params)
    clean = EnsembleGPRegressor(random_state=0, **params).fit(X[rest], Y[rest])
    assert model.outlier_probability_[7] > 0.9
    assert model.outlier_probability_[rest].max() < 0.5
    assert model.n_labels_ == T
    error, best = (np.sqrt(np.mean((m.predict(X) - Y) ** 2)) for m in (model, clean))
    assert error < 1.5 * best + 1e-9


def test_labels_believed_are_all_that_the_model_of_the_others_knows():
    """Scaling of the inputs aside, which sees the rows: predictions are those without the typo."""
    rest = np.delete(np.arange(T), 7)
    one = EnsembleGPRegressor(random_state=0)
    one.fit(X[:T], typo(), X_unlabelled=X[T:])
    scaling = one.scaling_
    other = EnsembleGPRegressor(random_state=0, scaling=scaling).fit(X[rest], Y[rest])
    assert_allclose(one.predict(X), other.predict(X), rtol=1e-9)
    assert scaling.y_sd < 30.0


def test_clean_labels_are_scaled_and_predicted_as_without_doubt():
    one, other = fitted(Y[:T]), fitted(Y[:T], outliers=False)
    assert_array_equal(one.predict(X), other.predict(X))
    assert one.scaling_.y_sd == other.scaling_.y_sd
    assert one.outlier_probability_.max() < 0.1
    assert_array_equal(other.outlier_probability_, np.zeros(T))


def test_a_label_called_sure_is_believed():
    sure = np.arange(T) == 7
    one = EnsembleGPRegressor(random_state=0).fit(X[:T], typo(), sure=sure)
    off = fitted(typo(), outliers=False)
    assert one.outlier_probability_[7] == 0.0
    assert_allclose(one.scaling_.y_sd, off.scaling_.y_sd)
    assert not one.model_.trained.outliers.wrong[7]


def test_order_of_labels_is_irrelevant():
    order = np.random.default_rng(2).permutation(T)
    one = fitted(typo())
    other = EnsembleGPRegressor(random_state=0).fit(X[order], typo()[order])
    assert_array_equal(
        one.model_.trained.outliers.wrong[order], other.model_.trained.outliers.wrong
    )
    assert_allclose(one.predict(X), other.predict(X), rtol=1e-5)


def test_labels_one_by_one_are_labels_together():
    y = typo(at=20)
    one = EnsembleGPRegressor(random_state=0).fit(X[:15], y[:15])
    many = EnsembleGPRegressor(random_state=0).fit(X[:15], y[:15]).partial_fit(X[15:T], y[15:])
    for i in range(15, T):
        one.partial_fit(X[i], y[i])
    assert_allclose(one.predict(X), many.predict(X), rtol=1e-8)
    assert_allclose(one.outlier_probability_, many.outlier_probability_, atol=1e-8)
    assert one.outlier_probability_[20] > 0.9


def test_a_surprise_between_settlings_is_held_lightly_whatever_the_order():
    begun = EnsembleGPRegressor(random_state=0).fit(X[:20], Y[:20])
    before, sets = begun.predict(X), []
    for order in ([20, 21, 22], [22, 20, 21]):
        model = EnsembleGPRegressor(random_state=0).fit(X[:20], Y[:20])
        for i in order:
            model.partial_fit(X[i], Y[i] * (50.0 if i == 21 else 1.0))
        sets.append(model)
    assert_allclose(sets[0].predict(X), sets[1].predict(X), rtol=1e-7)
    assert np.abs(sets[0].predict(X) - before).max() < 20.0
    assert sets[0].outlier_probability_[21] > 0.9
    sure = EnsembleGPRegressor(random_state=0).fit(X[:20], Y[:20])
    sure.partial_fit(X[21], 50.0 * Y[21], sure=True)
    assert np.abs(sure.predict(X) - before).max() > 500.0


def test_two_labels_that_were_exchanged_are_undecided_and_not_set_aside():
    y, clean = Y[:40].copy(), fitted(Y[:40])
    i, j = int(np.argmin(y)), int(np.argsort(y)[-10])
    y[[i, j]] = y[[j, i]]
    model = fitted(y)
    p = model.outlier_probability_
    assert (p[[i, j]] > 0.2).all()
    assert clean.outlier_probability_.max() < 0.2
    sure = EnsembleGPRegressor(random_state=0).fit(X[:40], y, sure=np.isin(np.arange(40), [i, j]))
    assert (sure.outlier_probability_[[i, j]] == 0.0).all()


def slipped(t=T):
    """Labels around 20, some below 0, and one over 10: it is within their range."""
    y = Y[:t] - 80.0
    at = int(np.argmin(np.abs(y - 30.0)))
    y[at] /= 10.0
    return y, at


def test_a_decimal_point_that_slipped_is_found_within_the_range_of_labels():
    y, at = slipped()
    assert y.min() < y[at] < np.median(y)
    one = fitted(y)
    assert np.flatnonzero(~one.model_.trained.included).tolist() == [at]
    order = np.random.default_rng(3).permutation(T)
    other = EnsembleGPRegressor(random_state=0).fit(X[order], y[order])
    assert_array_equal(one.model_.trained.included[order], other.model_.trained.included)
    milli = fitted(1e-3 * y)  # another unit of all of them
    assert_allclose(milli.outlier_probability_, one.outlier_probability_, atol=1e-6)
    sure = EnsembleGPRegressor(random_state=0).fit(X[:T], y, sure=np.arange(T) == at)
    assert sure.model_.trained.included.all()


def test_a_slip_is_found_among_labels_that_evidence_does_not_look_at(constants):
    y, at = slipped(60)
    constants(expert_selection, EVIDENCE_LABELS=40)
    rows = expert_selection.evidence_rows(
        X[:60], fitted(y).model_.trained.all_labels.y, np.zeros(60)
    )
    for one in (at, *np.setdiff1d(np.flatnonzero(y > 30.0), rows)[:2]):
        told = Y[:60] - 80.0
        told[one] /= 10.0
        assert np.flatnonzero(~fitted(told).model_.trained.included).tolist() == [one]


def test_a_slip_is_found_by_a_learner_and_by_labels_that_come_later():
    y, at = slipped(40)
    later = EnsembleGPRegressor(random_state=0).fit(X[:15], y[:15]).partial_fit(X[15:40], y[15:])
    learner = told(y)
    for trained in (later.model_.trained, learner.model.trained):
        assert trained.n_selection_labels > at
        assert np.flatnonzero(~trained.included).tolist() == [at]
    away = fitted(y + 1e4)  # nobody drops a digit of these and comes out there
    assert away.outlier_probability_[at] < fitted(y).outlier_probability_[at]


@pytest.mark.parametrize("off", [-10.0, 10.0])
@pytest.mark.parametrize("t", [10, 12])
def test_a_label_beyond_the_few_others_is_set_aside_though_it_is_undecided(t, off):
    y = Y[:t].copy()
    y[3] += off * Y.std()
    model = fitted(y)
    assert model.outlier_probability_[3] > 0.2
    assert np.flatnonzero(~model.model_.trained.included).tolist() == [3]
    assert abs(model.predict(X[:1])[0] - Y[0]) < 2.0 * Y.std()
    learner = ActiveLearner(X, acquisition="gpm-var", n_start=t)
    learner.tell(dict(enumerate(y)))
    (named,) = suspects(learner.state.view(), learner.model)
    assert (named.id, named.aside, named.counted) == (3, True, False)


@pytest.mark.parametrize("off", [-10.0, 10.0])
def test_eight_labels_leave_it_open_and_the_probability_says_so(off):
    y = Y[:8].copy()
    y[3] += off * Y.std()
    p = fitted(y).outlier_probability_
    assert p[3] > 0.2
    assert np.delete(p, 3).max() < 0.1


def test_labels_at_the_foot_of_a_sharp_peak_are_not_taken_for_wrong():
    """Most are next to nothing, and the robust sd of all is 1e-4 to 1e-9 of their range."""
    for seed in range(6):
        X = np.random.default_rng([seed, 10]).random((10, 1))
        y = np.exp(-200.0 * (X[:, 0] - 0.4) ** 2)
        model = EnsembleGPRegressor(random_state=0).fit(X, y)
        assert not (model.outlier_probability_ > 0.5)[y < 1e-3].any()


@pytest.mark.parametrize("kind", ["exact", "features"])
def test_a_file_keeps_what_was_found(kind, tmp_path):
    model = fitted(typo(), approximation=kind, n_frequencies=20)
    model.partial_fit(X[T : T + 2], [Y[T], 60.0 * Y[T + 1]])
    model.save(tmp_path / "model")
    again = EnsembleGPRegressor.load(tmp_path / "model")
    assert_array_equal(again.outlier_probability_, model.outlier_probability_)
    assert_array_equal(again.predict(X), model.predict(X))
    for one in (model, again):
        one.partial_fit(X[T + 2 : T + 12], Y[T + 2 : T + 12])
    assert_array_equal(again.predict(X), model.predict(X))


def test_a_learner_that_was_saved_goes_on_as_the_unbroken_one(tmp_path):
    learner = told(typo(at=3, t=14))
    learner.tell(14, 70.0 * Y[14])
    learner.save(tmp_path / "learner")
    again = ActiveLearner.load(tmp_path / "learner")
    for one in (learner, again):
        for _ in range(4):
            query = one.ask()
            one.tell(query, Y[query])
    assert_array_equal(again.model.predict(X), learner.model.predict(X))
    assert again.ask() == learner.ask()
    assert again.model.outlier_probability_[3] > 0.9


def test_a_typo_among_the_first_labels_does_not_stay_in_the_scaling():
    learner = told(typo(at=2, factor=1000.0, t=10))
    assert learner.model.scaling_.y_sd < 50.0
    assert learner.model.outlier_probability_[2] > 0.9
    assert np.abs(learner.model.predict(X) - Y).max() < 100.0


def test_the_same_label_told_again_as_sure_is_confirmed():
    learner = told(typo(at=3, t=14))
    assert learner.model.outlier_probability_[3] > 0.9
    learner.tell(3, 100.0 * Y[3], sure=True)
    assert learner.labels.told[3].sure
    assert len(learner.labels) == 14
    assert learner.model.outlier_probability_[3] == 0.0
    state = learner.state
    learner.tell(3, 100.0 * Y[3])  # said less: nothing changes
    learner.tell(3, 100.0 * Y[3], sure=True)
    assert learner.state is state
    with pytest.raises(AlreadyLabelled):
        learner.tell(3, Y[3], sure=True)
    learner.tell(3, 100.0 * Y[3], replace=True)
    assert not learner.labels.by_name[3][0].sure


def test_the_papers_setting_and_given_kernels_doubt_nothing():
    model = EnsembleGPRegressor.paper(random_state=0).fit(X[:T], typo())
    assert_array_equal(model.outlier_probability_, np.zeros(T))
    assert model.scaling_.y_sd > 500.0


def test_what_was_expected_of_each_label_is_said_in_its_own_units():
    model = fitted(typo()).model_
    found = outlier_probabilities(model)
    assert_array_equal(found.probability, model.outlier_probability_)
    error = (found.expected - Y[:T]) / found.sd
    assert np.abs(error).max() < 6.0
    assert np.sqrt(np.mean(error**2)) < 2.0
    assert found.log_odds[7] > 2.0


@pytest.mark.parametrize("wrong", ["yes", 2, None])
def test_sure_is_true_or_false(wrong):
    learner = ActiveLearner(X)
    with pytest.raises(ValueError, match="sure"):
        learner.tell(0, 1.0, sure=wrong)
    with pytest.raises(ValueError, match="sure"):
        EnsembleGPRegressor().fit(X[:9], Y[:9], sure=["a"] * 9)
    with pytest.raises(ValueError, match="outliers"):
        EnsembleGPRegressor(outliers="no").fit(X[:9], Y[:9])


def test_every_label_told_stands_beside_what_the_others_expect():
    X = np.linspace(0, 6, 30)[:, None]
    y = np.sin(X[:, 0])
    y[4] = 40.0
    learner = ActiveLearner(X)
    learner.tell(range(30), y)
    model = learner.model
    found = predictions_by_others(model, 0.9)
    assert not model.trained.included[4]
    assert_allclose(found.mean[4], model.predict(X[4:5])[0])
    assert_allclose([found.low[4], found.high[4]], np.ravel(model.predict_interval(X[4:5], 0.9)))
    assert_allclose(
        found.mean[model.trained.included], leave_one_out(model.trained, model.scaling, 0.9).mean
    )
    assert np.abs(found.mean - np.sin(X[:, 0])).max() < 0.1


def test_where_most_labels_are_equal_none_is_doubted_however_many_there_are(constants):
    """Below a limit of detection, say: their robust sd is 0, and tells nothing of the others."""
    constants(expert_selection, EVIDENCE_LABELS=20)
    y = np.where(X[:, 0] > 0.4, Y, 0.0)
    assert np.median(y) == 0.0
    model = EnsembleGPRegressor(random_state=0).fit(X[:60], y[:60])
    assert_array_equal(model.outlier_probability_, np.zeros(60))
    model.partial_fit(X[60:], y[60:])
    assert_array_equal(model.outlier_probability_, np.zeros(80))


@pytest.mark.parametrize(("name", "seed"), [("friedman", 14), ("hartmann", 11)])
def test_wrong_labels_up_and_down_do_not_pass_for_a_long_tail(name, seed):
    """Each is within six robust sds of the median, and bent they would look like labels."""
    task = Task(name, 60, 0.05, seed)
    y, at = shifted(5)(task)
    model = EnsembleGPRegressor(random_state=0).fit(task.X, y)
    assert np.flatnonzero(model.outlier_probability_ > 0.5).tolist() == sorted(at)
    assert model.model_.trained.warp == IDENTITY_WARP


def test_a_wrong_label_is_found_among_skewed_ones():
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(60, 2))
    y = np.exp(3.0 * np.sin(4.0 * X[:, 0]) + 2.0 * X[:, 1] + 0.05 * rng.standard_normal(60))
    right = EnsembleGPRegressor(random_state=0).fit(X, y)
    assert right.model_.trained.warp != IDENTITY_WARP
    assert right.outlier_probability_.max() < 0.5
    y[7] *= 1000.0
    wrong = EnsembleGPRegressor(random_state=0).fit(X, y)
    assert wrong.model_.trained.warp != IDENTITY_WARP
    assert np.flatnonzero(wrong.outlier_probability_ > 0.5).tolist() == [7]
    slab = wrong.model_.trained.outliers.prior  # in units of bent labels, for those that come
    believed = wrong.model_.trained.warp.labels(
        (np.delete(y, 7) - wrong.scaling_.y_mean) / wrong.scaling_.y_sd
    )
    assert (slab.low, slab.high) == pytest.approx((believed.min(), believed.max()))
