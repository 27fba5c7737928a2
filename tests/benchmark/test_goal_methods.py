"""Methods that search: scores against integrals, every row once, the same first labels."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from benchmark.small_pool import NEEDLE, a_small
from weal.benchmark import goal_methods
from weal.benchmark.curve_cache import open_store
from weal.benchmark.data_folders import NotAvailable
from weal.benchmark.protocol import goals_table, run_method
from weal.benchmark.tasks import draw


@pytest.mark.parametrize(("mean", "sd", "best"), [(0.3, 0.7, 1.1), (-2.0, 0.1, 0.0), (5.0, 2.0, 1)])
def test_expected_improvement_is_the_integral(mean, sd, best):
    def density(f):
        return (f - best) * norm.pdf(f, mean, sd)

    integral = quad(density, best, mean + 12 * sd if mean + 12 * sd > best else best + sd)[0]
    found = goal_methods.expected_improvement(np.array([mean]), np.array([sd]), best)[0]
    assert found == pytest.approx(max(integral, 0.0), abs=1e-9)


@pytest.mark.parametrize("name", ["weal-best", "weal-fifth", "weal-auto", "sklearn-ei", "forest-ei",
                                  "sklearn-twentieth"])  # fmt: skip
def test_a_method_asks_for_every_row_at_most_once_and_says_which(name, constants):
    constants(goal_methods, TREES=20)
    curve = run_method(a_small(NEEDLE), goal_methods.GOAL_METHODS[name], 0, 1, 12)
    assert list(curve.labels) == list(range(10, 23))
    share = curve.goals["top_10"]
    assert share == sorted(share)  # labels are never lost
    assert curve.goals["regret"] == sorted(curve.goals["regret"], reverse=True)


def test_all_methods_begin_alike():
    task = a_small(NEEDLE)
    first = [
        {name: series[0] for name, series in run_method(task, m, 1, 4, 1).goals.items()
         if not name.startswith("f1")}
        for name, m in goal_methods.GOAL_METHODS.items() if name.startswith(("weal", "sklearn"))
    ]  # fmt: skip
    assert all(one == first[0] for one in first)


def test_botorch_scores_order_rows_as_expected_improvement_does():
    pytest.importorskip("botorch", reason="BoTorch is not installed")
    split = draw(a_small(NEEDLE), 0, 0)
    rng = np.random.default_rng(0)
    model = goal_methods.fit_botorch(split.X0, split.y0, rng)
    known = goal_methods.PeerData(split.X0, split.y0, split.Xu, rng)
    scores = goal_methods.log_ei(model, known)
    with goal_methods.torch_settings():
        posterior = model.gp.posterior(goal_methods.to_tensor(split.Xu))
        mean, v = (goal_methods.to_numpy(a[:, 0]) for a in (posterior.mean, posterior.variance))
    ei = goal_methods.expected_improvement(mean, np.sqrt(v), split.y0.max())
    large = ei > 1e-6  # a small difference of large numbers below
    assert large.any()
    assert scores[large] == pytest.approx(np.log(ei[large]), abs=1e-4)
    noisy = goal_methods.q_log_nei(model, known)
    assert noisy.shape == ei.shape
    assert np.argmax(noisy) in np.argsort(ei)[-5:]  # by simulation


def test_goals_of_a_curve_are_kept_with_it():
    curve = run_method(a_small(NEEDLE), goal_methods.GOAL_METHODS["weal-random"], 0, 1, 3)
    with open_store(None) as store:
        store.save("key", curve, store.begin_session("test"), 1.0)
        assert store.get("key").goals == curve.goals
        table = goals_table([store.get("key")])
    assert list(table["labels"]) == [10, 11, 12, 13]


def test_a_plan_without_botorch_leaves_it_out_with_the_way_to_get_it(monkeypatch):
    monkeypatch.setattr(goal_methods, "find_spec", lambda name: None)
    sizes = {"realisations": 1, "T": 1}
    plan = goal_methods.make_goal_plan(["needle"], ["weal-best", "botorch-logei"], **sizes)
    assert [method.name for method in plan.methods] == ["weal-best"]
    assert "pip install" in plan.skipped["botorch-logei"]
    with pytest.raises(NotAvailable, match="pip install"):
        goal_methods.make_goal_plan(["needle"], ["botorch-logei"], **sizes)
    with pytest.raises(ValueError, match="did you mean 'needle'"):
        goal_methods.make_goal_plan(["needel"], ["weal-best"], **sizes)


class TwoKernels:
    """A model whose mean, sd and noise are given."""

    def __init__(self, mean, v, noise):
        self.mean, self.v = np.array(mean), np.array(v)
        white = type("White", (), {"noise_level": noise})
        self.gp = type("GP", (), {"kernel_": type("Sum", (), {"k2": white})})

    def predict(self, X):
        return self.mean, self.v


def test_straddle_is_the_formula_by_hand_and_leaves_noise_out():
    model = TwoKernels([0.2, 1.5, 1.1], [0.26, 0.50, 0.05], noise=0.01)
    known = goal_methods.PeerData(np.zeros((1, 1)), np.zeros(1), np.zeros((3, 1)), None)
    # sd of f: sqrt(0.25) = 0.5, sqrt(0.49) = 0.7, sqrt(0.04) = 0.2; level 1
    by_hand = [1.96 * 0.5 - 0.8, 1.96 * 0.7 - 0.5, 1.96 * 0.2 - 0.1]
    found = goal_methods.sklearn_straddle(1.0, model, known)
    assert found == pytest.approx(by_hand)
    assert np.argmax(found) == 1


def test_expected_improvement_of_a_forest_is_that_of_its_trees_and_finds_a_known_best_row():
    rng = np.random.default_rng(5)
    X, C = rng.uniform(size=(80, 2)), rng.uniform(size=(40, 2))
    y = -np.sum((X - 0.5) ** 2, axis=1)
    C[17] = [0.5, 0.5]  # the maximum
    model = goal_methods.fit_forest(X, y, np.random.default_rng(0))
    known = goal_methods.PeerData(X, y - 0.1, C, rng)
    each = np.array([tree.predict(C) for tree in model.forest.estimators_])
    by_hand = goal_methods.expected_improvement(each.mean(0), each.std(0), float(y.max()) - 0.1)
    found = goal_methods.forest_ei(model, known)
    assert found == pytest.approx(by_hand, abs=1e-6)
    best = np.argsort(found)[-8:]
    assert 17 in best


def test_random_rows_need_no_model_and_come_once():
    curve = run_method(
        a_small(NEEDLE), goal_methods.Method("r", "r", goal_methods.random_rows, "goals"), 0, 1, 12
    )
    assert list(curve.labels) == list(range(10, 23))
    assert curve.goals["top_10"] == sorted(curve.goals["top_10"])


def test_experts_that_are_selected_after_every_label_ask_as_one_learner_does_at_first():
    task, run = a_small(NEEDLE), goal_methods.with_goal
    split = draw(task, 0, 1)
    own = [r.asked for r in run(goal_methods.best_ten, split, 1.0, 3, 4)]
    often = [r.asked for r in run(goal_methods.best_ten, split, 1.0, 3, 4, refit_every=2)]
    assert own[:3] == often[:3]
    assert len(set(often)) == len(often)
