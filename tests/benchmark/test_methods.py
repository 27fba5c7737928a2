"""The methods are what they are called: the paper's letter under the paper's names."""

import numpy as np
import pytest

from weal import ActiveLearner, EnsembleGPRegressor
from weal.benchmark.methods import METHODS, QUERIES_PER_JOINT_DENSITY
from weal.benchmark.protocol import make_plan
from weal.benchmark.tasks import TASKS, draw

SPLIT = draw(TASKS["gramacy"], 0, 3)


def asked(monkeypatch, name, T=6):
    """The learners that a method makes, and what they ask for."""
    made = []
    init = ActiveLearner.__init__

    def watched(self, *args, **options):
        init(self, *args, **options)
        made.append(self)

    monkeypatch.setattr(ActiveLearner, "__init__", watched)
    readings = list(METHODS[name].run(SPLIT, TASKS["gramacy"].eta, 5, T))
    (learner,) = made
    return learner, readings


@pytest.mark.parametrize(
    ("name", "scaling"), [("egp-multiafs", "maximum"), ("egp-multiafs-range", "range")]
)
def test_under_the_papers_name_scores_are_divided_by_their_maximum(monkeypatch, name, scaling):
    # [1, alg:2 line 1, set:maximum]
    learner, readings = asked(monkeypatch, name)
    assert learner.state.settings.score_scaling == scaling
    assert learner.state.settings.eta == 100.0
    assert list(learner.state.settings.functions) == ["wvar", "went", "qbc", "gpm-var", "gpm-ent"]
    np.testing.assert_array_equal(learner.state.settings.validation[1], SPLIT.yv)
    assert readings[0].labels == 10 + 50


@pytest.mark.parametrize("name", ["wvar", "went", "qbc", "gpm-var", "gpm-ent"])
def test_the_papers_methods_ask_by_the_function_in_their_name(monkeypatch, name):
    # [1, set:methods]
    learner, _ = asked(monkeypatch, f"egp-{name}")
    assert list(learner.state.settings.functions) == [name]
    assert len(learner.model.dictionary_) == 11


def test_the_baseline_asks_where_the_variance_of_its_one_expert_is_largest(monkeypatch):
    # [1, eq: singleGPvaracq, set:baseline]
    learner, _ = asked(monkeypatch, "gp-var", 3)
    assert len(learner.model.dictionary_) == 1
    told = [row["id"] for row in learner.history if row["id"] is not None]
    free = np.delete(np.arange(len(SPLIT.Xu)), told)
    _, sd = learner.model.predict(SPLIT.Xu[free], return_std=True)
    assert learner.ask() == free[sd.argmax()]


def test_there_are_ten_realisations_where_nothing_else_is_said():
    # [1, set:realisations]
    assert make_plan("gramacy", "random").realisations == 10


def test_the_picks_are_those_of_a_learner_told_so_by_hand(monkeypatch):
    # [1, alg:1 line 1, alg:1 line 2, alg:1 line 5, alg:1 line 6]
    # [1, alg:2 line 3, alg:2 line 13, alg:2 line 14, alg:2 line 15]
    def picks(scaling):
        learner = ActiveLearner(
            model=EnsembleGPRegressor.paper(random_state=5),
            pool=SPLIT.Xu,
            acquisition="multi",
            validation=(SPLIT.Xv, SPLIT.yv),
            eta=100.0,
            score_scaling=scaling,
            n_start=1,
            seed=5,
        )
        learner.tell_points(SPLIT.X0, SPLIT.y0)
        for _ in range(20):
            query = learner.ask()
            learner.tell(query, SPLIT.yu[query])
        return [row["id"] for row in learner.history if row["id"] is not None][-20:]

    learner, _ = asked(monkeypatch, "egp-multiafs", 20)
    mine = [row["id"] for row in learner.history if row["id"] is not None][-20:]
    assert mine == picks("maximum")
    assert mine != picks("range")


def test_both_readings_of_the_scaling_belong_to_the_papers_run():
    assert {METHODS[f"egp-multiafs{tail}"].group for tail in ("", "-range")} == {"paper"}
    fair = [m.name for m in METHODS.values() if m.group == "fair"]
    assert not any("multiafs" in name for name in fair)  # they have the validation labels already


def test_even_weights_stay_even(monkeypatch):
    learner, readings = asked(monkeypatch, "weal-even")
    assert learner.state.settings.eta == 0.0
    weights = np.array([list(reading.acquisitions.values()) for reading in readings])
    np.testing.assert_allclose(weights, 1.0 / 6.0)
    six, _ = asked(monkeypatch, "weal-six")
    assert list(six.state.settings.functions) == list(learner.state.settings.functions)


def test_the_joint_density_is_read_now_and_then_and_at_the_end():
    T = QUERIES_PER_JOINT_DENSITY + 3
    readings = list(METHODS["gp-var"].run(SPLIT, 1.0, 5, T))
    read = [t for t, reading in enumerate(readings) if not np.isnan(reading.joint)]
    assert read == [0, QUERIES_PER_JOINT_DENSITY, T]
