"""The state of a learner: frozen, whole, and all that decides what it says next."""

from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from happenings import (
    HAPPENINGS,
    HELD_OUT,
    MAKERS,
    a_state,
    event_of,
    picture,
    plain,
    question,
    states_after,
    told,
)
from interrupting import Interrupt
from learning import OUTSIDE, POOL, Y, a_learner, measure
from weal import ActiveLearner
from weal.formats import learner_file
from weal.learner import events, labels, state
from weal.learner.choosing import next_query
from weal.learner.memory_candidates import MemoryCandidates
from weal.learner.pools.memory import POOL_BYTES
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.transitions import apply

KINDS = pytest.mark.parametrize("kind", ["features", "exact", "default"])
MODEST = settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
VALUES = [
    *(
        state.State,
        state.LearnerConfig,
        state.SelectionPoint,
        state.QuantityState,
        state.QuantityView,
        labels.Label,
        labels.Labels,
        MemoryCandidates,
    ),
    *(events.Reason, events.Asked, events.LabelsTold, events.Skipped, events.Released),
    *(events.Added, events.Removed, events.FunctionsChanged),
]


# A frozen value, and a pure function


@pytest.mark.parametrize("kind", VALUES, ids=[kind.__name__ for kind in VALUES])
def test_no_part_of_a_state_or_an_event_can_be_set(kind):
    one = object.__new__(kind)
    for part in fields(kind):
        with pytest.raises(FrozenInstanceError):
            setattr(one, part.name, None)


@KINDS
@MODEST
@given(happenings=HAPPENINGS, fork=st.tuples(st.sampled_from([*MAKERS]), st.integers(0, 99)))
def test_no_event_changes_the_state_that_it_is_applied_to(kind, happenings, fork):
    """Nor any before it; and states that part ways know nothing of each other."""
    first, beliefs = a_state(kind), PosteriorCache(POOL_BYTES)
    first = apply(first, told(first, range(5)))
    seen, states = [plain(first)], [first]
    for what, n in happenings:
        event = event_of(states[-1], what, n, beliefs)
        other = event_of(states[-1], *fork, beliefs)
        for one in (event, other, event):
            if one is not None:
                after = apply(states[-1], one)
        if event is not None:
            states.append(after)
            seen.append(plain(after))
    for one, was in zip(states, seen, strict=True):
        assert plain(one) == was


@pytest.mark.parametrize("what", MAKERS)
def test_every_kind_of_event_makes_another_state_and_leaves_its_own_alone(what):
    beliefs, now = PosteriorCache(POOL_BYTES), a_state()
    now = apply(now, told(now, range(8)))
    for happened in ("asked", "asked elsewhere", "skipped", "asked"):
        now = apply(now, event_of(now, happened, 0, beliefs))
    before, event = plain(now), event_of(now, what, 4, beliefs)
    kept = plain(event)
    after = apply(now, event)
    assert plain(now) == before != plain(after)
    assert plain(event) == kept
    assert plain(apply(now, event)) == plain(after)


def test_what_a_user_gets_of_a_learner_does_not_reach_its_state():
    learner = a_learner("multi")
    learner.ask(2)
    before = plain(learner.state)
    learner.history.clear()
    learner.history[0]["label"] = 5.0
    learner.pending.clear()
    learner.acquisition_weights.clear()
    learner.rows([1, 2])[:] = 0.0
    assert plain(learner.state) == before


def test_what_a_user_gave_a_learner_does_not_reach_its_state():
    X, V, y, R = POOL.copy(), OUTSIDE.copy(), measure(OUTSIDE), OUTSIDE.copy()
    learner = ActiveLearner(X, None, ["ivr", "qbc"], validation=(V, y), reference=R)
    learner.tell_points(V[:3], y[:3])
    learner.tell(range(6), Y[:6])
    before = plain(learner.state)
    for array in (X, V, y, R):
        array[:] = 7.0
    assert plain(learner.state) == before


def test_an_event_that_is_refused_leaves_the_state_that_was():
    learner = a_learner()
    before = learner.state
    far = POOL[:1] * 1e200
    for work in (
        lambda: learner.tell(20, 1e300),
        lambda: learner.tell_points(far, [1.0]),
        lambda: learner.add(far),
        lambda: learner.tell([20, 21], [2000.0, 1e300]),
    ):
        with pytest.raises(ValueError, match="away"):
            work()
        assert learner.state is before


# Replay: the state decides, and no cache does


@pytest.mark.covering
@KINDS
@pytest.mark.parametrize("validation", [HELD_OUT, None], ids=["held out", "left out"])
@MODEST
@given(happenings=HAPPENINGS, data=st.data())
def test_what_is_believed_follows_from_the_state_to_the_last_bit(
    kind, validation, happenings, data
):
    """To the last bit, whatever was asked before, and about which states."""
    start = a_state(kind, validation=validation)
    start = apply(start, told(start, range(6)))
    used = PosteriorCache(POOL_BYTES)
    watched = used.watch(OUTSIDE)
    states, _ = states_after(start, happenings, used)
    for now in data.draw(st.lists(st.sampled_from(states), max_size=6)):
        picture(used, now, watched if now.n_labels % 2 else None)
    fresh = PosteriorCache(POOL_BYTES)
    assert fresh.watch(OUTSIDE) == watched
    assert question(states[-1], used) == question(states[-1], fresh)
    assert picture(used, states[-1], watched) == picture(fresh, states[-1], watched)


@KINDS
@MODEST
@given(happenings=HAPPENINGS)
def test_a_replay_of_the_events_is_the_same_state_and_asks_the_same(kind, happenings):
    start = a_state(kind)
    states, happened = states_after(start, happenings, PosteriorCache(POOL_BYTES))
    again = a_state(kind)
    for event in happened:
        again = apply(again, event)
    assert plain(again) == plain(states[-1])
    asked = [question(now, PosteriorCache(POOL_BYTES)) for now in (again, states[-1])]
    assert asked[0] == asked[1]


@pytest.mark.covering
@KINDS
@pytest.mark.parametrize("name", ["multi", "ivr", "auto"])
def test_asked_after_every_label_or_only_at_the_end_is_the_same(kind, name):
    """But for what follows from the questions themselves: the weights of several functions."""
    beliefs, late = PosteriorCache(POOL_BYTES), PosteriorCache(POOL_BYTES)
    now = a_state(kind, name)
    now = apply(now, told(now, range(6)))
    for n in range(6, 22):
        picture(beliefs, now)
        question(now, beliefs)
        now = apply(now, told(now, [n]))
    assert question(now, beliefs) == question(now, late)
    assert picture(beliefs, now) == picture(late, now)


def test_with_many_candidates_out_the_same_is_asked_whatever_was_asked_before():
    """They are believed together or one by one, which is the same to rounding."""
    now = a_state("features", "gpm-var", pool=POOL)
    now, used = apply(now, told(now, range(6))), PosteriorCache(POOL_BYTES)
    for _ in range(40):
        event = next_query(now, used, False)
        assert event.id == next_query(now, PosteriorCache(POOL_BYTES), False).id
        now = apply(now, event)


@KINDS
def test_a_state_that_was_saved_and_opened_believes_the_same_to_the_last_bit(kind, tmp_path):
    now, beliefs = a_state(kind, validation=HELD_OUT), PosteriorCache(POOL_BYTES)
    now = apply(now, told(now, range(6)))
    for n in range(6, 14):
        now = apply(now, told(now, [n], noise=3.0))
    now = apply(now, next_query(now, beliefs, True))
    known = now.view().with_experts(beliefs.selected_experts(now.view()))
    learner_file.save(known, 10**9, tmp_path / "learner.weal")
    opened, memory = learner_file.load(tmp_path / "learner.weal")
    assert memory == 10**9
    assert picture(PosteriorCache(POOL_BYTES), opened) == picture(beliefs, now)
    assert question(opened, PosteriorCache(POOL_BYTES)) == question(now, beliefs)
    assert plain(opened.view().labels) == plain(now.view().labels)
    for part in ("log_omega", "asked", "skipped", "batch", "reference", "history"):
        assert plain(getattr(opened, part)) == plain(getattr(now, part)), part


# Interruptions


@pytest.mark.covering
@KINDS
@pytest.mark.parametrize("name", ["multi", "ivr", "auto"])
def test_ctrl_c_anywhere_in_a_question_leaves_state_and_beliefs_that_answer_the_same(kind, name):
    now = a_state(kind, name, validation=HELD_OUT)
    now = apply(now, told(now, range(9)))
    now = apply(now, next_query(now, PosteriorCache(POOL_BYTES), True))
    after = apply(now, told(now, [20, 21]))
    before = plain(now), plain(after)
    expected = (
        question(after, PosteriorCache(POOL_BYTES)),
        picture(PosteriorCache(POOL_BYTES), after),
    )
    count = Interrupt(-1)
    count.during(lambda: question(after, PosteriorCache(POOL_BYTES)))
    for n in np.unique(np.linspace(1, count.calls, 7 if kind == "default" else 30).astype(int)):
        used = PosteriorCache(POOL_BYTES)
        if n % 2:
            question(now, used)
        Interrupt(n).during(lambda: question(after, used))  # noqa: B023
        assert question(after, used) == expected[0], n
        assert picture(used, after) == expected[1], n
    assert (plain(now), plain(after)) == before
