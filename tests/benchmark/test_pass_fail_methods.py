"""Choosing rows to test for pass or fail: margins by hand, splits, and every row at most once."""

import numpy as np
import pytest

from weal.benchmark import pass_fail_methods as methods


def a_table(n=60, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, d))
    return X, X[:, 0] + 0.3 * X[:, 1] > 0.75


def test_margin_sampling_asks_for_the_row_nearest_to_one_half():
    p = np.array([0.05, 0.71, 0.44, 0.93, 0.62])
    by_hand = min(range(5), key=lambda n: abs(p[n] - (1.0 - p[n])))  # |P(pass) - P(fail)|
    assert methods.smallest_margin(p, np.random.default_rng(3)) == by_hand == 2
    drawn = {
        methods.smallest_margin(np.array([0.4, 0.9, 0.6]), np.random.default_rng(n))
        for n in range(20)
    }
    assert drawn == {0, 2}  # a tie


def test_first_labels_of_a_split_have_both_results_and_no_row_is_in_two_parts():
    X, passed = a_table()
    rare = np.zeros(len(X), dtype=bool)
    rare[[7, 31]] = True
    for realisation in range(5):
        split = methods.pass_fail_split(X, rare, realisation)
        assert 0 < split.y0.sum() < len(split.y0) == methods.FIRST_LABELS
        rows = np.concatenate([split.X0, split.Xu, split.Xt])
        assert len(np.unique(rows, axis=0)) == len(rows) == len(X)
    again = methods.pass_fail_split(X, passed, 2)
    assert np.array_equal(again.X0, methods.pass_fail_split(X, passed, 2).X0)
    with pytest.raises(ValueError, match="give a table with both"):
        methods.pass_fail_split(X, np.ones(len(X), dtype=bool), 0)


def test_logistic_regression_with_margins_asks_what_the_obvious_loop_asks():
    from sklearn.linear_model import LogisticRegression

    split = methods.pass_fail_split(*a_table(), 1)
    both = np.concatenate([split.X0, split.Xu])
    mean, sd = both.mean(axis=0), both.std(axis=0)
    X, y = list((split.X0 - mean) / sd), list(split.y0)
    left = [((x - mean) / sd, label) for x, label in zip(split.Xu, split.yu, strict=True)]
    for _ in range(5):
        model = LogisticRegression(max_iter=1000).fit(X, y)
        margins = [abs(np.subtract(*model.predict_proba([x])[0])) for x, _ in left]
        x, label = left.pop(int(np.argmin(margins)))
        X, y = [*X, x], [*y, label]
    model = LogisticRegression(max_iter=1000).fit(X, y)
    expected = model.predict_proba((split.Xt - mean) / sd)[:, 1]
    *_, last = methods.PASS_FAIL_METHODS["logistic-margin"].run(split, 4, 5)
    assert last.labels == methods.FIRST_LABELS + 5
    assert last.p == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", methods.PASS_FAIL_METHODS)
def test_a_method_reads_every_fifth_label_and_beats_the_share_of_passes(name, constants):
    constants(methods, TREES=20)
    X, passed = a_table(90)
    split = methods.pass_fail_split(X, passed, 0)
    readings = list(methods.PASS_FAIL_METHODS[name].run(split, 0, 10))
    assert [reading.labels for reading in readings] == [10, 15, 20]
    assert all(((r.p >= 0) & (r.p <= 1)).all() and len(r.p) == len(split.yt) for r in readings)
    last = methods.pass_fail_metrics(readings[-1].p, split.yt)
    share = split.yt.mean()
    assert last["log_loss"] < methods.pass_fail_metrics(np.full(30, share), split.yt)["log_loss"]
