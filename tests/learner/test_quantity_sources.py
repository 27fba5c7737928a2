"""A quantity with many labels as an input to one with few."""

import numpy as np
import pytest

from weal import ActiveLearner
from weal.learner.pools.memory import POOL_BYTES
from weal.learner.posterior_cache import PosteriorCache


def made(seed, related=True, n=300):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 1.0, (n, 5)) * [1.0, 1e-4, 1e5, 1.0, 1.0]
    u = X / [1.0, 1e-4, 1e5, 1.0, 1.0]
    screen = np.sin(6.0 * u[:, 0]) * np.cos(4.0 * u[:, 1]) + u[:, 2] ** 2
    other = np.sin(5.0 * u[:, 3]) + u[:, 4]
    final = 1e6 * ((screen + 0.3 * u[:, 3]) if related else other)
    noise = 0.05 * rng.normal(size=(2, n))
    return X, screen + noise[0], final + 1e6 * noise[1]


def taught(X, screen, final, many=140, few=30):
    learner = ActiveLearner(X, target=["screen", "final"])
    learner.tell(range(many), screen[:many], quantity="screen")
    learner.tell(range(few), final[:few], quantity="final")
    return learner


def error(learner, X, y):
    mean = learner.predict(X[140:], quantity="final")
    return np.log10(np.mean((mean - y[140:]) ** 2) / y.var())


@pytest.mark.parametrize("seed", range(3))
def test_a_related_quantity_with_more_labels_helps(seed):
    X, screen, final = made(seed)
    learner, alone = taught(X, screen, final), ActiveLearner(X, target=["final"])
    alone.tell(range(30), final[:30])
    assert learner.source_of("final") == "screen"
    assert learner.source_of("screen") is None
    assert error(learner, X, final) < error(alone, X, final) - 0.2


def test_an_unrelated_quantity_costs_little_and_is_dropped_where_it_does_not_help():
    used, lost = [], []
    for seed in range(4):
        X, screen, final = made(seed, related=False)
        learner, alone = taught(X, screen, final), ActiveLearner(X, target=["final"])
        alone.tell(range(30), final[:30])
        used.append(learner.source_of("final"))
        lost.append(error(learner, X, final) - error(alone, X, final))
    assert None in used
    assert np.mean(lost) < 0.05


def test_the_model_follows_from_the_state_however_it_came_about():
    X, screen, final = made(5)
    learner = ActiveLearner(X, target=["screen", "final"])
    for n in range(60):
        learner.tell(n, {"screen": screen[n]} | ({"final": final[n]} if n % 3 == 0 else {}))
        if n % 7 == 0 and n > 30:
            learner.ask()  # keeps a posterior, which later labels update
    rows, view = range(len(X)), learner.state.view("final")
    fresh = PosteriorCache(POOL_BYTES)
    assert view.selection.source.selection is learner.state.view("screen").selection
    for found, again in zip(
        learner._beliefs.moments(view, rows), fresh.moments(view, rows), strict=True
    ):
        assert np.array_equal(found, again)
    assert learner.predict(X, quantity="final") == pytest.approx(
        learner._beliefs.moments(view, rows)[0], rel=1e-6, abs=1e-3 * final.std()
    )


def test_a_source_is_gone_once_the_other_has_as_many_labels():
    X, screen, final = made(1)
    learner = taught(X, screen, final, many=60, few=20)
    assert learner.source_of("final") == "screen"
    learner.tell(range(20, 50), final[20:50], quantity="final")
    assert learner.source_of("final") is None
    for n in range(60):
        learner.forget(n, "screen")
    assert learner.source_of("final") is None


def test_a_source_survives_saving(tmp_path):
    X, screen, final = made(2)
    learner = taught(X, screen, final)
    learner.save(tmp_path / "two.weal")
    again = ActiveLearner.load(tmp_path / "two.weal")
    assert again.source_of("final") == "screen"
    assert np.array_equal(again.predict(X, quantity="final"), learner.predict(X, quantity="final"))
    assert again.ask(3) == learner.ask(3)


def test_a_pass_fail_quantity_gains_by_a_number_with_more_labels():
    X, screen, _ = made(3)
    passes = screen > np.median(screen)
    both = ActiveLearner(X, target=["screen", "ok"], types={"ok": "pass"})
    alone = ActiveLearner(X, target=["ok"], types={"ok": "pass"})
    both.tell(range(140), screen[:140], quantity="screen")
    for learner in (both, alone):
        learner.tell(range(30), passes[:30].tolist(), quantity="ok")
    right = [
        ((learner.predict(X[140:], quantity="ok") > 0.5) == passes[140:]).mean()
        for learner in (both, alone)
    ]
    assert both.source_of("ok") == "screen"
    assert right[0] > right[1] + 0.05


def test_labels_of_an_earlier_campaign_are_a_source_and_no_labels_of_this_one(tmp_path):
    X, screen, final = made(4)
    learner, alone = (ActiveLearner(X, target=["final"]) for _ in range(2))
    learner.tell_earlier(X[140:], screen[140:], "last year")
    for one in (learner, alone):
        one.tell(range(30), final[:30])
    assert learner.source_of("final") == "last year"
    assert len(learner.labels) == 30
    assert not set(learner.pending) & set(range(140, 300))
    assert int(learner.state.free().sum()) == len(X) - 30
    assert error(learner, X, final) < error(alone, X, final) - 0.2
    learner.save(tmp_path / "earlier.weal")
    again = ActiveLearner.load(tmp_path / "earlier.weal")
    assert np.array_equal(again.predict(X), learner.predict(X))
    with pytest.raises(ValueError, match="two quantities have the name 'last year'"):
        learner.tell_earlier(X[:3], screen[:3], "last year")
    learner.fail(200)
    assert learner.state.has_failed(200)
