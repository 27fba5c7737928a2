"""A state with two quantities has the labels and the model of each, apart from the other's."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from happenings import MODELS, POOL, measure, plain
from weal import ActiveLearner
from weal.learner.config import settings_of
from weal.learner.events import LabelsTold
from weal.learner.labels import Label
from weal.learner.memory_candidates import read_candidates
from weal.learner.pools.memory import POOL_BYTES
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.state import begin
from weal.learner.transitions import apply
from weal.quantities.number import Number

KINDS = pytest.mark.parametrize("kind", ["features", "exact", "default"])
YIELD, PURITY = Number("yield", "%", "yield [%]", 0.0), Number("purity")
POOL_ROWS = POOL[:25]


def start(kind, *quantities):
    candidates = read_candidates(POOL_ROWS)
    chosen = ("gpm-var", 6.0, "range", 6, 3, None)
    settings = settings_of(candidates, MODELS[kind](), *chosen)
    return begin(settings, candidates, quantities=quantities)


def value(quantity, n):
    y = float(measure(POOL_ROWS[n]))
    return y if quantity is YIELD else -1e-3 * y**2 + n


def told(state, quantity, *rows):
    labels = [Label(n, state.candidates.X[n], value(quantity, n)) for n in rows]
    return apply(state, LabelsTold(quantity.name, tuple(labels)))


@KINDS
def test_each_model_is_the_one_of_a_learner_with_that_quantity_alone(kind):
    """To the last bit, however the labels and the questions of the two alternate."""
    both, beliefs = start(kind, YIELD, PURITY), PosteriorCache(POOL_BYTES)
    alone = {one.name: start(kind, one) for one in (YIELD, PURITY)}
    for quantity, rows in [
        (YIELD, range(6)), (PURITY, range(3, 12)), (YIELD, [7]), (PURITY, [0, 1]), (YIELD, [9, 8]),
    ]:  # fmt: skip
        both = told(both, quantity, *rows)
        alone[quantity.name] = told(alone[quantity.name], quantity, *rows)
        for name, one in alone.items():
            if both.view(name).has_model:
                fresh = PosteriorCache(POOL_BYTES)
                found = beliefs.moments(both.view(name), range(25))
                assert_array_equal(found, fresh.moments(one.view(), range(25)))
                assert plain(both.view(name).selection) == plain(one.view().selection)
    assert both.n_labels == 6 + 9 + 1 + 2 + 2
    assert sorted(both.labelled) == [*range(12)]
    assert both.free().sum() == 25 - 12


def test_one_quantity_can_lack_a_model_that_the_other_has():
    now = told(start("features", YIELD, PURITY), YIELD, *range(6))
    assert now.view("yield").has_model
    assert not now.view("purity").has_model
    with pytest.raises(RuntimeError, match="no model yet"):
        PosteriorCache(POOL_BYTES).model(now.view("purity"))


def test_a_dropped_label_of_one_leaves_the_other():
    now = told(told(start("features", YIELD, PURITY), YIELD, 1, 2), PURITY, 1)
    after = apply(now, LabelsTold("yield", dropped=(1,)))
    assert list(after.view("yield").labels.by_name) == [2]
    assert after.view("purity").labels is now.view("purity").labels


def test_a_quantity_has_to_be_named_where_there_are_two_and_must_exist():
    now = start("features", YIELD, PURITY)
    with pytest.raises(ValueError, match=r"several quantities \('yield', 'purity'\); name one"):
        now.view()
    with pytest.raises(ValueError, match="no quantity 'purty'; there is 'yield', 'purity'"):
        apply(now, LabelsTold("purty"))


def test_a_learner_names_its_quantity_by_its_target_and_keeps_it_in_its_file(tmp_path):
    learner = ActiveLearner(np.arange(8.0)[:, None], target="yield [%]")
    learner.tell(3, 41.5)
    learner.save(tmp_path / "learner.weal")
    for one in (learner, ActiveLearner.load(tmp_path / "learner.weal")):
        quantity = one.state.view("yield").quantity
        assert (quantity.name, quantity.unit, quantity.column) == ("yield", "%", "yield [%]")
        assert [label.y for label in one.labels] == [41.5]


def test_predictions_of_a_learner_stay_inside_the_bounds_until_a_label_beyond_is_confirmed():
    learner = ActiveLearner.of(start("features", YIELD))
    ids = learner.state.candidates.ids
    learner.tell({ids[n]: y for n, y in enumerate([0.5, 0.1, -1.0, 30.0, 2.0, 0.2, 0.3, 9.0, 0.0])})
    frame = learner.to_frame("predictions")
    assert frame[["mean", "low"]].min().min() == 0.0
    learner.tell(ids[2], -1.0, sure=True, replace=True)
    assert learner.to_frame("predictions")["low"].min() < 0.0
