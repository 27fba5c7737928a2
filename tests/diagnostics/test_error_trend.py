import json
from dataclasses import replace

import numpy as np
import pytest

from campaign.taught import measured, taught, teach
from weal import ActiveLearner, EnsembleGPRegressor
from weal.campaign import session
from weal.campaign.session import TREND_KIND
from weal.core.paper import ensemble
from weal.diagnostics import error_trend as error_trend_module
from weal.diagnostics.error_trend import SEQUENTIAL_WINDOW_LABELS, error_trend, train_on_first
from weal.diagnostics.leave_one_out import leave_one_out, leave_one_out_levels, leave_one_out_means
from weal.model.model import in_units


@pytest.fixture(scope="module")
def one():
    return taught(30)


def trend(campaign, progress=None):
    return session.trend(campaign.read_session(), progress)


def a_model(**changes):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(17, 3)) * [1.0, 30.0, 0.1]
    y = np.exp(np.sin(X[:, 0]) + X[:, 1] / 40.0 + 2.0 * X[:, 2]) + 0.1 * rng.normal(size=17)
    model = EnsembleGPRegressor(random_state=3, **changes)
    return model.fit(X, 50.0 * y, sample_noise=rng.uniform(0.0, 9.0, 17)).model_


def without(trained, scale, i, level):
    """Mean, sd and interval of label i by experts that never saw it, folded anew."""
    rest = np.delete(np.arange(len(trained.y)), i)
    z, noise = trained.warp.labels(trained.y), trained.warp.variances(trained.noise_var, trained.y)
    M, d = len(trained.dictionary), trained.X.shape[1]
    experts = trained.embedding.prior_experts(trained.dictionary, d, M)
    start = replace(trained.prior, experts=experts)
    points = trained.embedding.points(experts, trained.X[rest])
    after = ensemble.update_many(start, points, z[rest], noise[rest])
    at = trained.embedding.points(after.experts, trained.X[i : i + 1])
    mu, var = ensemble.predict(after, at)
    mean, sd = in_units(replace(trained, ensemble=after), scale, mu, var)
    label = var + (after.magnitude / after.scale.unit * noise[i])[:, None]
    ends = [ensemble.quantile(after, mu, label, 0.5 + side * level) for side in (-0.5, 0.5)]
    low, high = scale.means(trained.warp.unwarp(np.concatenate(ends)))
    return mean[0], sd[0], low, high


@pytest.mark.parametrize(
    "changes",
    [{}, {"approximation": "features", "n_frequencies": 30}, {"warp": "asinh"}, {"warp": None}],
)
def test_leave_one_out_is_what_the_experts_would_say_without_the_label(changes):
    model = a_model(**changes)
    found = leave_one_out(model.trained, model.scaling, 0.8)
    slow = [without(model.trained, model.scaling, i, 0.8) for i in range(model.n_labels_)]
    fast = np.stack([found.mean, found.sd, found.low, found.high], axis=1)
    np.testing.assert_allclose(fast, slow, rtol=1e-5)
    np.testing.assert_array_equal(leave_one_out_means(model.trained, model.scaling), found.mean)
    y, levels = model.scaling.means(model.trained.y), leave_one_out_levels(model.trained)
    np.testing.assert_array_equal(levels < 0.1, y < found.low)
    np.testing.assert_array_equal(levels > 0.9, y > found.high)


def test_the_course_is_that_of_a_learner_told_label_by_label(one):
    given, found = one.read_session().pool, trend(one)
    warp = one.read_ledger().settings["warp"]
    learner = ActiveLearner(given.X, {"warp": warp}, ids=given.ids, n_start=5)
    marks = {mark.labels: mark for mark in found.marks}
    surprises = {one.labels: one for one in found.surprises}
    for n, told in enumerate(one.read_ledger().quantity().told()):
        if n >= 5:
            x = learner.rows([told.id])
            low, high = learner.model.predict_interval(x, 0.9)
            assert surprises[n].error == pytest.approx(told.y - learner.model.predict(x)[0])
            assert surprises[n].inside == (low[0] <= told.y <= high[0])
        learner.tell(told.id, told.y)
        if n + 1 in marks:
            _, sd = learner.model.predict(given.X, return_std=True)
            y = np.array([label.y for label in learner.labels])
            alone = leave_one_out_means(learner.model.trained, learner.model.scaling)
            assert marks[n + 1].expected == pytest.approx(np.sqrt((sd**2).mean()))
            assert marks[n + 1].left_out == pytest.approx(np.sqrt(((y - alone) ** 2).mean()))
            assert sum(marks[n + 1].experts.values()) == pytest.approx(1.0)
    assert max(marks) == 30
    assert len(surprises) == 25


def test_the_prequential_error_looks_back_on_the_last_labels(one):
    found = trend(one)
    errors = np.array([surprise.error for surprise in found.surprises])
    assert found.prequential() == pytest.approx(
        np.sqrt((errors[-SEQUENTIAL_WINDOW_LABELS:] ** 2).mean())
    )
    assert found.prequential(7) == pytest.approx(np.sqrt((errors[:2] ** 2).mean()))
    assert found.prequential(5) is None


def test_the_fold_of_the_first_labels_is_the_model_of_that_time(one):
    early = train_on_first(one.read_model(), 5, 17)
    model = taught(17).read_model()
    np.testing.assert_allclose(early.ensemble.w, model.weights_, rtol=1e-9)
    assert early.dictionary == model.dictionary_


def test_a_course_goes_on_from_where_it_was_kept():
    one = taught(16)
    first = trend(one)
    seen = []
    assert trend(one, lambda *step: seen.append(step)) == first
    assert not seen
    teach(one, 23)
    later = trend(one, lambda *step: seen.append(step))
    assert later == error_trend(one.read_model(), 5, one.read_session().pool.X)
    assert 5 < seen[0][1] <= 16
    assert seen[-1] == ("error estimates", 23, 23)


def test_a_long_course_is_part_of_the_fine_one(one, constants):
    fine = error_trend(one.read_model(), 5, one.read_session().pool.X)
    constants(error_trend_module, MAX_LABELS_WITH_EVERY_MARK=10)
    long = error_trend(one.read_model(), 5, one.read_session().pool.X)
    rough = {mark.labels: mark for mark in long.marks}
    exact = {mark.labels: mark for mark in fine.marks}
    assert len(rough) < len(exact)
    for n, mark in rough.items():
        assert mark.expected == pytest.approx(exact[n].expected, rel=1e-6)
        assert mark.left_out == pytest.approx(exact[n].left_out, rel=1e-6)
    errors = {surprise.labels: surprise.error for surprise in fine.surprises}
    assert len(long.surprises) < len(errors)
    for surprise in long.surprises:
        assert surprise.error == pytest.approx(errors[surprise.labels], rel=1e-6)


def test_beyond_some_labels_the_past_is_settled_less_often_and_the_last_is_the_model(
    one, constants
):
    exact = {
        mark.labels: mark
        for mark in error_trend(one.read_model(), 5, one.read_session().pool.X).marks
    }
    constants(error_trend_module, MAX_LABELS_RESELECTED=15, AS_IT_WAS=10, RESELECTION_LABELS=14)
    rough = {
        mark.labels: mark
        for mark in error_trend(one.read_model(), 5, one.read_session().pool.X).marks
    }
    assert list(rough) == list(exact)
    assert all(rough[n] == exact[n] for n in rough if n <= 15)
    assert all(rough[n] != exact[n] for n in rough if 20 <= n < 30)
    _, sd = one.read_model().predict(one.read_session().pool.X, return_std=True)
    assert rough[30].expected == pytest.approx(np.sqrt((sd**2).mean()), rel=1e-3)
    for labels, begun in ((24, 22), (14, 10)):
        before, kept = error_trend(taught(labels).read_model(), 5, one.read_session().pool.X), []
        again = error_trend(
            one.read_model(),
            5,
            one.read_session().pool.X,
            before,
            lambda *step, to=kept: to.append(step),
        )
        assert again.marks == tuple(rough.values())
        assert kept[0][1] == begun


def test_a_kept_course_is_thrown_away_when_a_label_changes():
    one = taught(16)
    before = trend(one)
    name = one.read_ledger().quantity().told()[2].id
    one.tell(name, measured(name) + 0.3, replace=True)
    after = trend(one)
    assert after != before
    assert after == error_trend(one.read_model(), 5, one.read_session().pool.X)


def test_a_kept_course_is_thrown_away_when_it_is_not_of_this_campaign():
    one = taught(12)
    found = trend(one)
    seq, hash, data = one.store.read_snapshot(one.name, TREND_KIND)
    wrong = json.loads(data)
    wrong["marks"][-1]["expected"] = 99.0
    wrong = json.dumps(wrong).encode()
    one.store.write_snapshot(one.name, TREND_KIND, seq, hash, wrong)
    assert trend(one) != found  # it is believed
    for bad in [
        (seq, "0" * len(hash), wrong),
        (seq + 1, hash, wrong),
        (seq - 1, hash, wrong),
        (seq, hash, wrong[:-9]),
        (seq, hash, b'{"v": 99}'),
        (seq, hash, b"[1]"),
        (seq, hash, wrong.replace(b'"of": "', b'"of": "0')),
    ]:
        one.store.write_snapshot(one.name, TREND_KIND, *bad)
        assert trend(one) == found


def test_there_is_no_trend_without_a_model():
    assert trend(taught(4)) is None
    one = taught(6)
    for told in one.read_ledger().quantity().told():
        one.withdraw(told.id)
    assert trend(one) is None


def test_fewer_labels_than_at_the_start_still_have_a_trend():
    one = taught(6)
    for told in one.read_ledger().quantity().told()[:3]:
        one.withdraw(told.id)
    found = trend(one)
    assert [mark.labels for mark in found.marks] == [3]
    assert not found.surprises
