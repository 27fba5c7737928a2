"""Several results of a run, words among them, and runs that fail: laws and references."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from weal import ActiveLearner
from weal.core.extensions.score_combination import weigh_by_probability
from weal.errors import AlreadyLabelled
from weal.learner.joint_scores import outcome_view, scored_views

TARGETS = ["yield [%]", "purity [%]", "crystallised", "phase", "grade"]
TYPES = {
    "crystallised": "pass:ja,nein",
    "phase": "classes:fcc,bcc,hcp",
    "grade": "ordered:low,medium,high",
}


def pool(n=120, d=3, seed=0):
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (n, d)) * [1e-3, 1.0, 1e4][:d]


def results(X):
    u = X / np.abs(X).max(axis=0)
    return {
        "yield": 50.0 + 40.0 * np.sin(2.0 * u[:, 0]) * u[:, 1],
        "purity": 1e-6 * (3.0 + u[:, 2]),
        "crystallised": np.where(u[:, 0] + u[:, 2] > 0.0, "ja", "nein"),
        "phase": np.array(["fcc", "bcc", "hcp"])[np.digitize(u[:, 1], [-0.3, 0.3])],
        "grade": np.array(["low", "medium", "high"])[np.digitize(u[:, 2], [-0.3, 0.3])],
    }


def row(known, n, *names):
    return {name: known[name][n] for name in names or known}


def learner_of(X, **more):
    return ActiveLearner(X, target=TARGETS, types=TYPES, **more)


def test_the_models_of_two_numbers_are_those_of_two_learners():
    X = pool()
    known = results(X)
    both = ActiveLearner(X, target=["yield [%]", "purity [%]"])
    alone = {name: ActiveLearner(X, target=name) for name in ("yield", "purity")}
    for n in range(0, 40):
        both.tell(n, row(known, n, "yield", "purity"))
        for name, one in alone.items():
            one.tell(n, known[name][n])
    for name, one in alone.items():
        assert np.array_equal(both.predict(X, quantity=name), one.predict(X))


@pytest.mark.parametrize("together", [True, False])
def test_how_labels_of_a_row_arrive_does_not_matter(together):
    X = pool()
    known, first, second = results(X), learner_of(X), learner_of(X)
    for n in range(0, 30, 2):
        first.tell(n, row(known, n))
        if together:
            second.tell({n: row(known, n)})
        else:
            for name in known:
                second.tell(n, known[name][n], quantity=name)
    assert first.ask(3) == second.ask(3)
    for name in ("crystallised", "phase", "grade"):
        assert np.array_equal(first.predict_proba(X, name), second.predict_proba(X, name))


def test_a_row_gets_its_other_labels_later_and_is_not_asked_again():
    X = pool()
    known, learner = results(X), learner_of(X, n_start=3)
    for n in range(6):
        learner.tell(n, row(known, n))
    query = learner.ask()
    learner.tell(query, {"yield": known["yield"][query]})
    assert query in learner.pending
    later = [learner.ask(1)[0] for _ in range(2)]
    assert query not in later
    learner.tell(query, row(known, query, "purity", "crystallised", "phase", "grade"))
    assert query not in learner.pending
    assert [len(learner.labels_of(name)) for name in known] == [7] * 5


def test_words_are_corrected_repeated_and_refused():
    learner = learner_of(pool())
    learner.tell(3, {"phase": "bcc"})
    learner.tell(3, {"phase": "BCC"})  # the same again
    with pytest.raises(AlreadyLabelled):
        learner.tell(3, {"phase": "hcp"})
    learner.tell(3, {"phase": "hcp"}, replace=True)
    assert [label.y for label in learner.labels_of("phase")] == [2.0]
    learner.tell(3, {"phase": "fcc"}, repeat=True)
    assert [label.y for label in learner.labels_of("phase")] == [2.0, 0.0]
    before = learner.state
    for wrong in ({"phase": "liquid"}, {"crystallised": 0.7}, {"yield": "yes"}, {"worked": 1}):
        with pytest.raises(ValueError, match=r"phase|crystallised|yield|worked"):
            learner.tell(4, {"purity": 1.0, **wrong})
    assert learner.state is before  # all or nothing


def test_probabilities_are_those_of_words_and_sum_to_one():
    X = pool(300)
    known, learner = results(X), learner_of(X)
    for n in range(60):
        learner.tell(n, row(known, n))
    for name in ("crystallised", "phase", "grade"):
        p = learner.predict_proba(X[60:], name)
        assert p.sum(axis=1) == pytest.approx(1.0)
        said = np.array(learner.words(name))[p.argmax(axis=1)]
        assert (said == known[name][60:]).mean() > 0.85
    assert learner.predict(X[:2], quantity="crystallised") == pytest.approx(
        learner.predict_proba(X[:2], "crystallised")[:, 1]
    )
    with pytest.raises(ValueError, match="predict_proba"):
        learner.predict(0, quantity="phase")


def test_a_learner_with_several_results_goes_on_from_its_file(tmp_path):
    X = pool()
    known, learner = results(X), learner_of(X)
    for n in range(20):
        learner.tell(n, row(known, n, *list(known)[: 1 + n % 5]))
    learner.fail(70)
    learner.save(tmp_path / "several.weal")
    again = ActiveLearner.load(tmp_path / "several.weal")
    assert again.ask(4) == learner.ask(4)
    assert repr(again.history) == repr(learner.history)
    again.tell(90, row(known, 90))
    learner.tell(90, row(known, 90))
    assert np.array_equal(again.predict(X, quantity="yield"), learner.predict(X, quantity="yield"))
    assert np.array_equal(again.predict_proba(X, "worked"), learner.predict_proba(X, "worked"))


def test_a_label_replaces_a_failure_and_forgetting_drops_it():
    learner = ActiveLearner(pool())
    for n in range(8):
        learner.tell(n, float(n))
    learner.fail(20)
    learner.fail(20)
    assert learner.state.has_failed(20)
    assert len(learner.state.quantities["worked"].labels) == 9
    assert 20 not in learner.ask(110)
    with pytest.raises(ValueError, match="has a label"):
        learner.fail(3)
    learner.tell(20, 4.0)
    assert not learner.state.has_failed(20)
    learner.forget(20)
    learner.fail(21)
    learner.forget(21)
    told = learner.state.quantities["worked"].labels.by_name
    assert set(told) == set(range(8))
    learner.fail(22, accident=True)
    assert 22 in learner.skipped
    assert set(learner.state.quantities["worked"].labels.by_name) == set(range(8))


def test_the_first_failure_makes_passes_of_the_rows_before_in_any_order():
    X = pool()
    first, second = ActiveLearner(X), ActiveLearner(X)
    for n in range(12):
        first.tell(n, float(np.sin(n)))
    first.fail(50)
    second.fail(50)
    for n in range(12):
        second.tell(n, float(np.sin(n)))
    one, other = (each.state.quantities["worked"].labels.by_name for each in (first, second))
    assert {n: [label.y for label in told] for n, told in one.items()} == {
        n: [label.y for label in told] for n, told in other.items()
    }


def test_failing_rows_are_asked_less_once_failures_teach():
    """Over six seeds 29 % of the rows asked fail, and 81 % where failures teach nothing."""
    rng = np.random.default_rng(3)
    X = rng.uniform(0.0, 1.0, (400, 4))
    fails = X[:, 0] > 0.75
    y = np.sin(3.0 * X[:, 0]) + X[:, 1] * X[:, 2]
    failures = {}
    for teaches in (True, False):
        learner = ActiveLearner(X, seed=1)
        failed = 0
        for _ in range(60):
            query = learner.ask()
            if fails[query]:
                failed += 1
                learner.fail(query, accident=not teaches)
            else:
                learner.tell(query, y[query])
        failures[teaches] = failed
    assert failures[True] < 0.5 * failures[False]
    assert failures[False] > 60 * fails.mean()


@pytest.mark.parametrize("is_log", [True, False])
def test_a_likelier_run_never_scores_less(is_log):
    rng = np.random.default_rng(0)
    scores = np.tile(rng.normal(-3.0, 2.0, 50), 2)
    works = np.concatenate([np.full(50, 0.3), np.full(50, 0.9)])
    free = np.ones(100, dtype=bool)
    found = weigh_by_probability(scores[None], works, free, [is_log])[0]
    assert (found[50:] >= found[:50]).all()
    same = weigh_by_probability(scores[None], np.full(100, 0.5), free, [is_log])[0]
    assert np.array_equal(np.argsort(same, kind="stable"), np.argsort(scores, kind="stable"))


@pytest.mark.parametrize("named", ["random", "multi", "mvr", "ivr", "gpm-var"])
def test_functions_that_a_user_names_score_pass_fail_results_too(named):
    X = pool(80)
    passes = (results(X)["crystallised"] == "ja").tolist()
    alone = ActiveLearner(X, None, named, target="ok", types={"ok": "pass"})
    by_default = ActiveLearner(X, target="ok", types={"ok": "pass"})
    several = learner_of(X, acquisition=named)
    for one in (alone, by_default):
        one.tell(range(14), passes[:14])
    for n in range(14):
        several.tell(n, row(results(X), n))
    assert len(set(several.ask(3))) == 3
    if named == "random":
        assert alone.ask(6) != by_default.ask(6)
        drawn = ActiveLearner(X, None, "random", target="y")
        drawn.tell(range(14), X[:14, 0])
        assert alone.ask(6) == drawn.ask(6)


def test_the_best_feasible_row_is_that_of_a_slow_reference():
    X = pool(80)
    known = results(X)
    goal = "maximise yield subject to purity >= 3.2e-6 and crystallised is ja"
    learner = learner_of(X, goal=goal, repeats=False)
    for n in range(25):
        learner.tell(n, row(known, n))
    query = learner.ask()
    ok = [n for n in range(25) if known["purity"][n] >= 3.2e-6 and known["crystallised"][n] == "ja"]
    best = max(known["yield"][n] for n in ok)
    model, pure = learner.model_of("yield"), learner.model_of("purity")
    scores = {}
    for n in range(25, 80):
        draws, weights = [], model.weights_
        for model_, level in ((model, best), (pure, 3.2e-6)):
            mu, var = next(model_.trained.beliefs(model_.scaled_inputs(X[[n]])))[1:]
            z = float(model_.trained.warp.labels(model_.scaling.labels(np.array([level])))[0])
            draws.append((mu[:, 0], np.sqrt(var[:, 0]), z, model_.weights_))
        mu, sd, z, weights = draws[0]
        u = (mu - z) / sd
        gain = weights @ (sd * (norm.pdf(u) + u * norm.cdf(u)))
        mu, sd, z, weights = draws[1]
        p = weights @ norm.sf((z - mu) / sd)
        scores[n] = gain * p * learner.predict_proba(n, "crystallised")[1]
    top = sorted(scores, key=scores.get)[-3:]
    assert query in top  # the magnitudes are integrated over: tails are of Student's t


def test_two_objectives_ask_rows_that_extend_the_front():
    X = pool(200)
    known = results(X)
    learner = ActiveLearner(
        X, target=["yield [%]", "purity [%]"], goal="maximise yield and maximise purity"
    )
    for n in range(12):
        learner.tell(n, row(known, n, "yield", "purity"))
    for _ in range(18):
        query = learner.ask()
        learner.tell(query, row(known, query, "yield", "purity"))
    asked = [n for n in learner.labels_of("yield").by_name if n >= 12]
    rank = lambda y: np.argsort(np.argsort(y)) / len(y)  # noqa: E731
    both = rank(known["yield"]) + rank(known["purity"])
    assert both[asked].mean() > 1.3


def test_a_frame_brings_labels_of_words_and_numbers():
    X = pool(30)
    known = results(X)
    table = pd.DataFrame(X, columns=["u", "v", "w"])
    for name, column in zip(known, TARGETS, strict=True):
        cells = pd.Series(known[name], dtype=object)
        cells[10:] = None
        table[column] = cells
    learner = ActiveLearner(table, target=TARGETS, types=TYPES)
    assert [len(learner.labels_of(name)) for name in known] == [10] * 5
    assert learner.candidates.n_inputs == 3
    labels = learner.to_frame()
    assert labels[labels.quantity == "phase"].label.tolist() == known["phase"][:10].tolist()
    shown = learner.to_frame("predictions")
    assert {"yield mean", "crystallised P(ja)", "phase P(bcc)", "grade mean"} <= set(shown.columns)


def test_plain_labels_of_several_quantities_are_refused_with_the_names():
    learner = learner_of(pool())
    with pytest.raises(ValueError, match=r"'yield', 'purity', .* tell\(id, \{'yield': \.\.\.\}\)"):
        learner.tell(0, 3.0)
    with pytest.raises(ValueError, match="quantity='yield'"):
        learner.predict(0)
    with pytest.raises(ValueError, match="two quantities have the name 'yield'"):
        ActiveLearner(pool(), target=["yield [%]", "yield [g]"])
    with pytest.raises(ValueError, match="worked"):
        ActiveLearner(pool(), target=["yield", "worked"])


def test_quantities_without_labels_leave_the_others_alone():
    X = pool()
    known, learner = results(X), learner_of(X)
    for n in range(15):
        learner.tell(n, {"yield": known["yield"][n]})
    learner.tell(0, {"crystallised": "ja"})
    query = learner.ask()
    assert query not in range(15)
    assert outcome_view(learner.state) is None
    assert [view.quantity.name for view in scored_views(learner.state)] == ["yield"]


def test_the_first_rows_avoid_where_runs_fail():
    X = np.random.default_rng(0).uniform(0.0, 1.0, (200, 2))
    learner = ActiveLearner(X, n_start=8)
    fails = X[:, 0] > 0.5
    for n in np.flatnonzero(fails)[:12].tolist():
        learner.fail(n)
    for n in np.flatnonzero(~fails)[:4].tolist():
        learner.tell(n, float(X[n, 1]))
    assert not learner.fitted
    assert fails[learner.ask(3)].mean() < 0.5
