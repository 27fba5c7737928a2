"""Pools, ids and settings that a learner refuses at once; and odd data that it takes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from learning import OUTSIDE, POOL, Y, beliefs, measure, model
from weal import ActiveLearner, EnsembleGPRegressor, Exhausted, Kernel, Scaling

# The pool and the settings

PLACES = np.arange(180).reshape(60, 3)


@pytest.mark.parametrize(
    ("pool", "message"),
    [
        (None, "needs a pool"),
        ([], "a pool is a table"),
        (np.zeros((0, 3)), "the pool is empty"),
        (np.zeros((4, 0)), "no inputs"),
        (POOL[:, 0], r"got shape \(60,\). For one input use X.reshape\(-1, 1\)"),
        (np.zeros((2, 2, 2)), "a pool is a table"),
        (
            np.where(np.arange(180).reshape(60, 3) % 11 == 0, np.nan, POOL),
            r"17 .*\[0, 3, 7, 11, 14\]",
        ),
        (np.where(np.arange(180).reshape(60, 3) == 100, np.inf, POOL), r"1 cand.*\[33\]"),
        (POOL.astype(str), "needs numbers"),
        (np.array([["a", 1.0], ["b", 2.0]], dtype=object), "text, such as 'a'"),
        (np.array([[1.0, None], [2.0, 3.0]], dtype=object), r"1 candidates have NaN"),
        (np.array([[1.0, {}]], dtype=object), "not a number"),
        (POOL + 1j, "complex128; it needs numbers"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), "it needs numbers"),
    ],
)
def test_a_pool_that_is_none_is_refused(pool, message):
    with pytest.raises(ValueError, match=message):
        ActiveLearner(pool=pool)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (range(59), "59 ids for 60 candidates"),
        ([*range(50), *range(10)], r"10 ids are duplicates, such as \[0, 1, 2, 3, 4\]"),
        ([*range(59), 0.0], r"such as \[0\.0\]"),
        ([*range(59), None], "None cannot be an id"),
        ([*range(59), float("nan")], "nan cannot be an id"),
        ([*range(59), []], r"\[\] cannot be an id"),
        ([*range(59), ([],)], "cannot be an id"),
    ],
)
def test_ids_that_are_none_are_refused(ids, message):
    with pytest.raises(ValueError, match=message):
        ActiveLearner(pool=POOL, ids=ids)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"n_start": 0}, "whole number"),
        ({"n_start": 2.5}, "whole number"),
        ({"eta": -1.0}, "eta is -1.0"),
        ({"eta": np.nan}, "eta is nan"),
        ({"score_scaling": "sum"}, "score_scaling is 'sum'; it is one of range, maximum"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": None}, "seed is None"),
        ({"seed": 2**40}, "seed is"),
        ({"seed": 1.5}, "seed is 1.5"),
        ({"id_column": "id"}, "id_column needs a frame"),
        ({"validation": OUTSIDE}, r"a pair \(X, y\)"),
        ({"validation": (OUTSIDE, Y, Y)}, r"a pair \(X, y\)"),
        ({"validation": (OUTSIDE[:, :2], measure(OUTSIDE))}, "3 inputs; got 2"),
        ({"validation": (OUTSIDE, measure(OUTSIDE)[:4])}, r"9 rows of X; got y of shape \(4,\)"),
        ({"validation": (OUTSIDE, measure(OUTSIDE)[:, None])}, r"shape \(9, 1\)"),
        ({"validation": (OUTSIDE[:0], [])}, "empty"),
        ({"validation": (OUTSIDE, np.full(9, np.nan))}, "finite label"),
        ({"validation": (np.full((9, 3), np.inf), measure(OUTSIDE))}, "infinite inputs"),
        ({"reference": OUTSIDE[:, :2]}, "3 inputs; got 2"),
        ({"reference": OUTSIDE[:0]}, "empty"),
        ({"reference": np.full((9, 3), np.nan)}, "NaN"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_at_once(option, message):
    with pytest.raises(ValueError, match=message):
        ActiveLearner(POOL, model(), **option)


@pytest.mark.parametrize(
    "wrong",
    [
        {"kernels": (Kernel("rbf", (1.0, 2.0)),)},
        {"magnitude": -1.0},
        {"noise": (0.1, 0.2)},
        {"approximation": "magic"},
        {"n_frequencies": 0},
        {"prior_weights": (1.0, -1.0, 1.0)},
        {"scaling": Scaling(np.zeros(2), np.ones(2))},
        {"random_state": "x"},
    ],
)
def test_a_model_that_could_never_be_fitted_is_refused_before_the_first_label(wrong):
    with pytest.raises((ValueError, TypeError)):
        ActiveLearner(POOL, model().set_params(**wrong))


@pytest.mark.parametrize("wrong", ["gp", EnsembleGPRegressor, object(), 3])
def test_a_model_of_another_kind_is_refused(wrong):
    with pytest.raises(TypeError, match="it needs an EnsembleGPRegressor, or None"):
        ActiveLearner(POOL, wrong)


@pytest.mark.parametrize("acquisition", [None, 5, {"wvar": 1}])
def test_an_acquisition_of_another_kind_is_refused(acquisition):
    with pytest.raises(TypeError, match="a name, a function, or a list"):
        ActiveLearner(POOL, model(), acquisition)


# Odd data that is taken


def smooth(X):
    return np.sin(2.0 * X[..., 0]) + 0.3 * X[..., 1]


PLAIN = np.random.default_rng(1).normal(size=(60, 3))


@pytest.mark.covering
@pytest.mark.parametrize("kind", ["features", "exact", "default"])
@pytest.mark.parametrize("y_unit", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("x_unit", [1e-12, 1e12])
def test_units_do_not_change_what_is_asked(kind, x_unit, y_unit):
    learners = []
    for x, y in ((1.0, 1.0), (x_unit, y_unit)):
        given = EnsembleGPRegressor() if kind == "default" else model(kind)
        learner = ActiveLearner(x * PLAIN, given, "gpm-var", n_start=8)
        learner.tell(range(8), y * smooth(PLAIN[:8]))
        learners.append(learner)
    plain, scaled = learners
    for _ in range(6):
        query = plain.ask()
        assert scaled.ask() == query
        plain.tell(query, smooth(PLAIN[query]))
        scaled.tell(query, y_unit * smooth(PLAIN[query]))
    got, expected = beliefs(scaled, x_unit * PLAIN) / y_unit, beliefs(plain, PLAIN)
    assert_allclose(got, expected, rtol=1e-6, atol=3e-8)  # variances of 1e-15 are rounding


@pytest.mark.parametrize("kind", ["features", "exact", "default"])
@pytest.mark.parametrize("column", [0.0, 7.0, 1e12])
def test_a_column_that_does_not_vary_changes_nothing(kind, column):
    asked = []
    for X in (PLAIN[:, :2], np.insert(PLAIN[:, :2], 1, column, axis=1)):
        kernels = None if kind == "default" else (Kernel("rbf", 0.7), Kernel("matern52", 2.0))
        given = EnsembleGPRegressor(
            kernels,
            approximation="auto" if kind == "default" else kind,
            magnitude="integrated" if kind == "default" else 1.0,
            noise=None if kind == "default" else 0.1,
            n_frequencies=30,
        )
        learner = ActiveLearner(X, given, "gpm-var", n_start=8)
        learner.tell(range(8), smooth(PLAIN[:8]))
        names = []
        for _ in range(4):
            names.append(learner.ask())
            learner.tell(names[-1], smooth(PLAIN[names[-1]]))
        assert np.isfinite(beliefs(learner, X)).all()
        asked.append(names)
    if kind == "exact":  # draws of frequencies, and experts for each input, depend on the columns
        assert asked[0] == asked[1]


@pytest.mark.covering
@pytest.mark.parametrize("kind", ["features", "exact", "default"])
@pytest.mark.parametrize("value", [0.0, -3.0, 1e12, 1e-12])
@pytest.mark.parametrize("name", ["gpm-var", "multi", "igs", "bald", "ivr", "auto"])
def test_labels_that_do_not_vary_are_learnt(kind, value, name):
    given = EnsembleGPRegressor() if kind == "default" else model(kind)
    learner = ActiveLearner(PLAIN, given, name, n_start=6)
    for _ in range(9):
        learner.tell(learner.ask(), value)
    assert len(set(learner.ask(3))) == 3
    mean, std = beliefs(learner, PLAIN)
    assert_allclose(mean, value, rtol=1e-6, atol=1e-15)
    assert np.isfinite(std).all()


@pytest.mark.parametrize("kind", ["features", "exact", "default"])
@pytest.mark.parametrize("name", ["gpm-ent", "multi", "ivr", "random"])
def test_one_candidate_is_a_pool(kind, name):
    given = EnsembleGPRegressor() if kind == "default" else model(kind)
    learner = ActiveLearner(POOL[:1], given, name, n_start=1)
    assert learner.ask() == 0
    learner.tell(0, 12.5)
    with pytest.raises(Exhausted):
        learner.ask()
    learner.tell_points(OUTSIDE[:4], [1.0, 2.0, 3.0, 4.0])
    learner.add(OUTSIDE[4:5])
    assert learner.ask() == 1
    assert np.isfinite(beliefs(learner)).all()


@pytest.mark.parametrize("kind", ["features", "exact", "default"])
@pytest.mark.parametrize("name", ["gpm-var", "multi", "bald"])
def test_equal_candidates_are_asked_all_and_each_once(kind, name):
    given = EnsembleGPRegressor() if kind == "default" else model(kind)
    learner = ActiveLearner(np.repeat(POOL[:2], 6, axis=0), given, name, n_start=3)
    asked = [learner.ask()]
    for n in range(11):
        learner.tell(asked[-1], measure(learner.candidates.x(asked[-1])) + n % 2)
        asked.append(learner.ask())
    assert sorted(asked) == list(range(12))


@pytest.mark.parametrize("kind", ["features", "exact", "default"])
def test_labels_and_points_at_the_ends_of_the_range_of_floats_are_taken(kind):
    given = EnsembleGPRegressor() if kind == "default" else model(kind)
    learner = ActiveLearner(POOL, given, "multi")
    learner.tell_points([[1e300, 0.0, -1e300]], [1.0])
    for y in (1e308, -1e308, 1e200, 3.0, 1e-300, -2.0, 0.0):
        learner.tell(learner.ask(), y)
    assert len(set(learner.ask(5))) == 5
    assert np.isfinite(beliefs(learner, POOL)).all()
