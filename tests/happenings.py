"""Anything that can happen to a learner, drawn from numbers; and states as plain values."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass

import numpy as np
from hypothesis import strategies as st

from learning import OUTSIDE, POOL, measure, model, points
from weal import EnsembleGPRegressor
from weal.core.arrays import GrowingRows
from weal.core.packed_factors import PackedFactors
from weal.learner.choosing import next_query
from weal.learner.config import resolve_acquisition, settings_of
from weal.learner.events import (
    Added,
    Asked,
    FunctionsChanged,
    LabelsTold,
    Reason,
    Released,
    Removed,
    Skipped,
)
from weal.learner.labels import Label
from weal.learner.memory_candidates import read_candidates
from weal.learner.state import begin
from weal.learner.transitions import apply
from weal.quantities.kinds import UNNAMED

HELD_OUT = OUTSIDE[:5], measure(OUTSIDE[:5])
EXTRA = points(200, seed=8)
MODELS = {
    "features": lambda: model("features", n_frequencies=10),
    "exact": lambda: model("exact"),
    "default": EnsembleGPRegressor,
}


def a_state(kind="features", acquisition="multi", n_start=6, validation=None, pool=POOL[:25]):
    """The state of a learner before anything has happened."""
    candidates = read_candidates(pool)
    chosen = (acquisition, 6.0, "range", n_start, 3, validation)
    return begin(settings_of(candidates, MODELS[kind](), *chosen), candidates)


def label(state, n, shift=0.0, noise=0.0):
    """A label of the n-th candidate."""
    x = state.candidates.X[n]
    return Label(state.candidates.ids[n], x, float(measure(x)) + shift, noise)


def told(state, at, **known):
    """The event of labels of the candidates `at`, told together."""
    return LabelsTold(UNNAMED, tuple(label(state, n, **known) for n in at))


def _asked(state, n, beliefs):
    if not state.free().any():
        return None
    return next_query(state, beliefs, opens=bool(n % 2 or not state.batch))


def _elsewhere(state, n, beliefs):
    free = np.flatnonzero(state.free())
    if not len(free):
        return None
    return Asked(state.candidates.ids[free[n % len(free)]], Reason("elsewhere"))


def _told(state, n, beliefs):
    free = np.flatnonzero(state.free())
    names = [state.candidates.index[name] for name in state.asked][: n % 3]
    new = [*names, *free[n % 5 :: 7][: 1 + n % 3].tolist()]
    return told(state, new, noise=30.0 * (n % 4 == 0)) if new else None


def _outside(state, n, beliefs):
    x = OUTSIDE[n % len(OUTSIDE)]
    return LabelsTold(UNNAMED, (Label(None, x, float(measure(x)), 20.0 * (n % 2)),))


def _replaced(state, n, beliefs):
    names = state.labelled
    if not names:
        return None
    name = names[n % len(names)]
    new = label(state, state.candidates.index[name], shift=float(n))
    return LabelsTold(UNNAMED, (new,) if n % 3 else (), (name,))


def _repeated(state, n, beliefs):
    names = state.labelled
    if not names:
        return None
    return told(state, [state.candidates.index[names[n % len(names)]]], shift=5.0)


def _skipped(state, n, beliefs):
    some = sorted(state.skipped) if n % 2 else state.candidates.ids
    return Skipped(some[n % len(some)], on=not n % 2) if some else None


def _released(state, n, beliefs):
    return Released(tuple(state.asked)[: 1 + n % 2]) if state.asked else None


def _added(state, n, beliefs):
    before = len(state.candidates)
    rows = EXTRA[before - 25 : before - 24 + n % 3]
    return Added(state.candidates.with_more(rows), bool(n % 2)) if len(rows) else None


def _removed(state, n, beliefs):
    return Removed((state.candidates.ids[n % len(state.candidates)],))


def _functions(state, n, beliefs):
    return FunctionsChanged(resolve_acquisition(("multi", ["ivr", "qbc"], "gpm-var")[n % 3]))


MAKERS = {
    "asked": _asked,
    "asked elsewhere": _elsewhere,
    "told": _told,
    "told outside the pool": _outside,
    "replaced": _replaced,
    "repeated": _repeated,
    "skipped": _skipped,
    "released": _released,
    "added": _added,
    "removed": _removed,
    "functions changed": _functions,
}
HAPPENINGS = st.lists(
    st.tuples(st.sampled_from([*MAKERS, "asked", "told", "told"]), st.integers(0, 99)),
    min_size=5,
    max_size=25,
)


def event_of(state, what, n, beliefs):
    """The event of that kind, made of the number; None where it cannot happen."""
    return MAKERS[what](state, n, beliefs)


def states_after(state, happenings, beliefs):
    """The states after each thing that happened, and the events."""
    states, events = [state], []
    for what, n in happenings:
        event = event_of(states[-1], what, n, beliefs)
        if event is not None:
            states.append(apply(states[-1], event))
            events.append(event)
    return states, events


def plain(value):
    """Anything of a state, to the last bit, in a form that == compares and nothing changes."""
    if isinstance(value, np.ndarray):
        return (value.shape, value.dtype.str, value.tobytes())
    if isinstance(value, GrowingRows):
        return plain(value.array)
    if isinstance(value, PackedFactors):
        return plain(value.packed)
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: plain(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, Mapping):
        return [(name, plain(part)) for name, part in value.items()]
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    if isinstance(value, frozenset):
        return sorted(map(repr, value))
    return repr(value)


def picture(beliefs, state, watched=None):
    """Everything that is believed in a state, to the last bit."""
    now = state.view()
    if not now.has_model:
        return None
    outlook, ahead = beliefs.posterior(now), beliefs.pending_posterior(now)
    seen = [beliefs.model(now).predict(OUTSIDE, return_std=True)]
    for one in (outlook, ahead):
        held, mu, v = one.pool.predict_kept(range(len(now.candidates)))
        q = None if one.pool.q is None else one.pool.q[held]
        seen.append((held, mu, v, q, one.ens.log_w, one.X, one.y))
    judged = beliefs.validation(now) if len(now.labels) else None
    seen.append(None if judged is None else (judged.mu, judged.v, judged.y, judged.lam))
    seen.append(beliefs.moments(now, range(len(now.candidates))))
    if watched is not None:
        seen.append(beliefs.predict_tracked(now, watched)[1:])
    return plain(seen)


def question(now, beliefs):
    """What would be asked next, and why."""
    return plain(next_query(now, beliefs, True)) if now.free().any() else None
