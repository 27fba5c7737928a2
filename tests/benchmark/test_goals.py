"""Searching pools: metrics against brute force, scores against integrals, the command."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.metrics import f1_score

from shell import alone_in, typed
from weal.benchmark import goal_methods, goal_metrics, goal_tasks
from weal.benchmark.curve_cache import open_store
from weal.benchmark.data_folders import NotAvailable
from weal.benchmark.goal_summary import QUESTIONS, by_run, compare
from weal.benchmark.methods import Reading
from weal.benchmark.protocol import goals_table, run_method
from weal.benchmark.tasks import draw

NEEDLE = goal_tasks.GOAL_TASKS["needle"]


def a_small(task, rows=40):
    return replace(task, U0=rows - goal_tasks.FIRST_LABELS, test=rows)


@pytest.mark.parametrize("name", [name for name in goal_tasks.GOAL_TASKS if "calif" not in name])
def test_the_test_points_of_a_pool_are_its_rows_in_the_order_of_the_split(name):
    split = draw(goal_tasks.GOAL_TASKS[name], 1, 3)
    assert np.array_equal(split.Xt, np.concatenate([split.X0, split.Xu]))
    labels = np.concatenate([split.y0, split.yu])
    noise = np.std(labels - split.yt) / np.std(split.yt)
    expected = goal_tasks.NOISE_SHARE if name.endswith("noise") else 0.0
    assert noise == pytest.approx(expected, abs=0.02)  # 4 sds of the sd of 600 numbers


def test_formulas_have_the_tops_that_they_are_known_for():
    rng = np.random.default_rng(0)
    for name, top in (("branin-pool", -0.397887), ("hartmann6", 3.32237), ("ackley5", 0.0)):
        values = goal_tasks.GOAL_TASKS[name].points.points.sample(rng, 20_000)[1]
        assert values.max() < top
    share = np.mean(goal_tasks.plateau(rng.uniform(size=(100_000, 4))) > 0)
    assert share == pytest.approx(1 - goal_tasks.PLATEAU_SHARE, abs=0.01)


@pytest.mark.parametrize("ties", [False, True])
def test_metrics_are_those_of_brute_force(ties):
    rng = np.random.default_rng(int(ties))
    split = draw(a_small(NEEDLE), 0, 0)
    f = np.round(split.yt, 1) if ties else split.yt
    split = replace(split, yt=f, yu=f[10:], y0=f[:10])
    asked = rng.permutation(30)[:20]
    means = rng.normal(f.mean(), f.std(), (21, 40))
    readings = [
        Reading(10 + t, means[t], means[t], {}, {}, asked=int(asked[t - 1]) if t else -1)
        for t in range(21)
    ]
    found = goal_metrics.goal_metrics(split, readings)
    tenth = sorted(f, reverse=True)[9]
    for t in range(21):
        known = [*range(10), *(10 + asked[:t])]
        assert found["top_10"][t] == min(sum(f[i] >= tenth for i in known), 10) / 10
        assert found["top_percent"][t] == any(f[i] == f.max() for i in known)
        assert found["regret"][t] == pytest.approx((max(f) - max(f[known])) / (max(f) - min(f)))
        level = goal_metrics.level_of(f, 0.2)
        assert found["f1_fifth"][t] == pytest.approx(f1_score(f > level, means[t] > level))


def test_a_level_lies_between_two_values_and_has_the_share_above_it():
    values = np.random.default_rng(2).normal(size=501) * 1e6
    for share in (0.05, 0.2, 0.5):
        level = goal_metrics.level_of(values, share)
        assert level not in values
        assert abs(np.sum(values > level) - share * 501) <= 0.5
    with pytest.raises(ValueError, match="there is no level"):
        goal_metrics.level_of(np.ones(5), 0.2)


@pytest.mark.parametrize(("mean", "sd", "best"), [(0.3, 0.7, 1.1), (-2.0, 0.1, 0.0), (5.0, 2.0, 1)])
def test_expected_improvement_is_the_integral(mean, sd, best):
    def density(f):
        return (f - best) * norm.pdf(f, mean, sd)

    integral = quad(density, best, mean + 12 * sd if mean + 12 * sd > best else best + sd)[0]
    found = goal_methods.expected_improvement(np.array([mean]), np.array([sd]), best)[0]
    assert found == pytest.approx(max(integral, 0.0), abs=1e-9)


@pytest.mark.parametrize("name", ["weal-best", "weal-fifth", "weal-auto", "sklearn-ei", "forest-ei",
                                  "sklearn-twentieth"])  # fmt: skip
def test_a_method_asks_for_every_row_at_most_once_and_says_which(name):
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


def test_differences_are_paired_by_realisation_and_the_mean_over_pools():
    shares = {("a", 0): 0.1, ("a", 1): 0.3, ("b", 0): 0.5, ("b", 1): 0.5}
    goals = pd.DataFrame(
        {"task": task, "method": method, "realisation": r, "t": 0, "labels": 20,
         "top_10": share + gain, "top_percent": 0.0, "regret": 0.1, "f1_fifth": 0.5,
         "f1_twentieth": 0.5}
        for (task, r), share in shares.items()
        for method, gain in (("weal-best", 0.2), ("weal-auto", 0.0))
    )  # fmt: skip
    found = {(one.method, one.column): one for one in compare(by_run(goals))}
    auto = found["weal-auto", "top_10 at 20"]
    assert auto.mean == pytest.approx(0.35)
    assert auto.difference.mean == pytest.approx(0.2)
    assert auto.difference.n == 2
    assert np.isnan(found["weal-auto", "top_10 at 40"].mean)  # the runs have 20 labels
    assert found["weal-auto", "labels to 1 %"].mean == 21  # never found


def test_every_method_of_a_question_is_known():
    for question in QUESTIONS:
        assert set(question.methods) <= goal_methods.GOAL_METHODS.keys()


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


def test_the_command_resumes_and_writes_what_it_says(tmp_path, monkeypatch):
    alone_in(tmp_path, monkeypatch)
    words = ["bench", "goals", "--tasks", "needle,plateau", "--methods", "weal-best,weal-random",
             "--realisations", "1", "--queries", "2", "--jobs", "1", "--out", "found"]  # fmt: skip
    done = typed(*words)
    assert done.code == 0, done.err
    assert "The ten best rows" in done.out
    again = typed(*words)
    assert "4 of 4 curves were finished before" in again.err
    assert again.out == done.out
    written = {path.name for path in (tmp_path / "found").rglob("*") if path.is_file()}
    assert {"report.html", "goals.csv", "runs.csv", "comparisons.csv", "goals.png"} <= written
    setting = json.loads((tmp_path / "found" / "setting.json").read_text())
    assert {"date", "code", "load", "seed", "command"} <= setting.keys()
