"""The state of a learner: frozen, whole, and all that decides what it says next."""

from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from happenings import HAPPENINGS, HELD_OUT, MAKERS, a_state, event_of, plain, states_after, told
from learning import OUTSIDE, POOL, Y, a_learner, measure
from test_learner_laws import Interrupt
from weal import ActiveLearner
from weal.learner import events, labels, learner_file, state
from weal.learner.apply import apply
from weal.learner.beliefs import Beliefs
from weal.learner.candidates import Candidates
from weal.learner.choosing import next_query
from weal.learner.memory_pool import MEMORY, MemoryPool
from weal.model import fold

KINDS = pytest.mark.parametrize("kind", ["features", "exact", "default"])
MODEST = settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
VALUES = [
    *(state.State, state.Settings, state.Settlement, labels.Label, labels.Labels, Candidates),
    *(events.Reason, events.Asked, events.Told, events.Skipped, events.Released),
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
    first, beliefs = a_state(kind), Beliefs(MEMORY)
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
    beliefs, now = Beliefs(MEMORY), a_state()
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


def picture(beliefs, now, watched=None):
    """Everything that is believed in a state, to the last bit."""
    if not now.fitted:
        return None
    outlook, ahead = beliefs.now(now), beliefs.ahead(now)
    seen = [beliefs.model(now).predict(OUTSIDE, return_std=True)]
    for one in (outlook, ahead):
        held, mu, v = one.pool.held(range(len(now.candidates)))
        q = None if one.pool.q is None else one.pool.q[held]
        seen.append((held, mu, v, q, one.ens.log_w, one.X, one.y))
    judged = beliefs.judged(now) if len(now.labels) else None
    seen.append(None if judged is None else (judged.mu, judged.v, judged.y, judged.lam))
    seen.append(beliefs.moments(now, range(len(now.candidates))))
    if watched is not None:
        seen.append(beliefs.watched(now, watched)[1:])
    return plain(seen)


def question(now, beliefs):
    """What would be asked next, and why."""
    return plain(next_query(now, beliefs, True)) if now.free().any() else None


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
    used = Beliefs(MEMORY)
    watched = used.watch(OUTSIDE)
    states, _ = states_after(start, happenings, used)
    for now in data.draw(st.lists(st.sampled_from(states), max_size=6)):
        picture(used, now, watched if len(now.labels) % 2 else None)
    fresh = Beliefs(MEMORY)
    assert fresh.watch(OUTSIDE) == watched
    assert question(states[-1], used) == question(states[-1], fresh)
    assert picture(used, states[-1], watched) == picture(fresh, states[-1], watched)


@KINDS
@MODEST
@given(happenings=HAPPENINGS)
def test_a_replay_of_the_events_is_the_same_state_and_asks_the_same(kind, happenings):
    start = a_state(kind)
    states, happened = states_after(start, happenings, Beliefs(MEMORY))
    again = a_state(kind)
    for event in happened:
        again = apply(again, event)
    assert plain(again) == plain(states[-1])
    asked = [question(now, Beliefs(MEMORY)) for now in (again, states[-1])]
    assert asked[0] == asked[1]


@KINDS
@pytest.mark.parametrize("name", ["multi", "ivr"])
def test_asked_after_every_label_or_only_at_the_end_is_the_same(kind, name):
    """But for what follows from the questions themselves: the weights of several functions."""
    beliefs, late = Beliefs(MEMORY), Beliefs(MEMORY)
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
    now, used = apply(now, told(now, range(6))), Beliefs(MEMORY)
    for _ in range(40):
        event = next_query(now, used, False)
        assert event.id == next_query(now, Beliefs(MEMORY), False).id
        now = apply(now, event)


@KINDS
def test_a_state_that_was_saved_and_opened_believes_the_same_to_the_last_bit(kind, tmp_path):
    now, beliefs = a_state(kind, validation=HELD_OUT), Beliefs(MEMORY)
    now = apply(now, told(now, range(6)))
    for n in range(6, 14):
        now = apply(now, told(now, [n], noise=3.0))
    now = apply(now, next_query(now, beliefs, True))
    known = state.with_experts(now, beliefs.settled(now))
    learner_file.save(known, 10**9, tmp_path / "learner.weal")
    opened, memory = learner_file.load(tmp_path / "learner.weal")
    assert memory == 10**9
    assert picture(Beliefs(MEMORY), opened) == picture(beliefs, now)
    assert question(opened, Beliefs(MEMORY)) == question(now, beliefs)
    for part in ("log_omega", "labels", "asked", "skipped", "batch", "reference", "history"):
        assert plain(getattr(opened, part)) == plain(getattr(now, part)), part


# Interruptions


@KINDS
@pytest.mark.parametrize("name", ["multi", "ivr"])
def test_ctrl_c_anywhere_in_a_question_leaves_state_and_beliefs_that_answer_the_same(kind, name):
    now = a_state(kind, name, validation=HELD_OUT)
    now = apply(now, told(now, range(9)))
    now = apply(now, next_query(now, Beliefs(MEMORY), True))
    after = apply(now, told(now, [20, 21]))
    before = plain(now), plain(after)
    expected = question(after, Beliefs(MEMORY)), picture(Beliefs(MEMORY), after)
    count = Interrupt(-1)
    count.during(lambda: question(after, Beliefs(MEMORY)))
    for n in np.unique(np.linspace(1, count.calls, 7 if kind == "default" else 30).astype(int)):
        used = Beliefs(MEMORY)
        if n % 2:
            question(now, used)
        Interrupt(n).during(lambda: question(after, used))  # noqa: B023
        assert question(after, used) == expected[0], n
        assert picture(used, after) == expected[1], n
    assert (plain(now), plain(after)) == before


# Labels


def test_labels_are_taken_without_a_look_at_model_or_pool(monkeypatch):
    """All that a label costs is paid by who asks next."""
    learner = a_learner("multi", "exact")
    learner.ask(2)
    calls = []

    def refuse(name, whole):
        def counted(*args, **kwargs):
            calls.append(name)
            return whole(*args, **kwargs)

        return counted

    for owner, names in {
        MemoryPool: ("__init__", "follow", "hold", "fork", "renewed", "scored", "predict", "held"),
        fold: ("settle", "absorb", "step", "advance", "learn", "begin", "emptied"),
        Beliefs: ("model", "now", "ahead", "moments", "judged", "_of"),
    }.items():
        for name in names:
            monkeypatch.setattr(owner, name, refuse(name, getattr(owner, name)))
    learner.tell(20, Y[20])
    learner.tell(range(30, 40), Y[30:40], noise=5.0)
    learner.tell(20, Y[20] + 1.0, replace=True)
    learner.tell(20, Y[20] + 2.0, repeat=True)
    learner.tell_points(OUTSIDE, measure(OUTSIDE))
    learner.forget(31)
    learner.skip(41)
    learner.unskip(41)
    learner.add(OUTSIDE)
    learner.remove([42])
    assert calls == []
    learner.ask()
    assert {"absorb", "__init__", "scored"} <= set(calls)


@KINDS
@pytest.mark.parametrize("sizes", [(1,) * 30, (30,), (7, 1, 22), (29, 1)])
def test_labels_told_together_or_in_turn_settle_the_experts_by_the_same_labels(kind, sizes):
    first = a_state(kind, pool=POOL)
    first = apply(first, told(first, range(6)))
    one_by_one = now = first
    for n in range(6, 36):
        one_by_one = apply(one_by_one, told(one_by_one, [n]))
    at = 6
    for size in sizes:
        now = apply(now, told(now, range(at, at + size)))
        at += size
    assert plain(now.settlement) == plain(one_by_one.settlement)
    assert plain(now.labels) == plain(one_by_one.labels)
    assert picture(Beliefs(MEMORY), now) == picture(Beliefs(MEMORY), one_by_one)


@KINDS
def test_a_label_that_is_dropped_settles_experts_that_follow_labels_by_those_left(kind):
    now, beliefs = a_state(kind), Beliefs(MEMORY)
    now = apply(now, told(now, range(9)))
    after = apply(now, events.Told(dropped=(3,)))
    assert after.settlement.n == after.settlement.together == len(after.labels) == 8
    assert after.settlement.scaling is now.settlement.scaling
    by = after.labels.arrays() if kind == "default" else now.labels.arrays()
    assert plain(after.settlement.by) == plain(by)
    beliefs.model(now)  # whose experts serve, where they are the same
    assert picture(beliefs, after) == picture(Beliefs(MEMORY), after)


def test_experts_settled_by_the_same_labels_are_not_settled_twice(monkeypatch):
    """After a label was dropped, or many came at once, given kernels keep what was fitted."""
    now, beliefs, calls = a_state("features", pool=POOL), Beliefs(MEMORY), []
    now = apply(now, told(now, range(9)))
    settle = fold.settle
    monkeypatch.setattr(fold, "settle", lambda *args: calls.append(len(args[2])) or settle(*args))
    beliefs.model(now)
    now = apply(now, events.Told(dropped=(3,)))
    beliefs.model(now)
    more = told(now, range(10, 60)).labels
    now = apply(now, events.Told((*more, *more)))
    assert now.settlement.together == 108
    beliefs.model(now)
    assert calls == [9]
