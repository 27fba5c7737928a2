"""Batches as they are run: the events of an ask with options (`batch_options`).

    rows that come back     are released, and not asked in this batch
    rows included by hand   are asked first; the others are chosen as if these had their labels
    where                   every row satisfies it, rows by hand too
    same, at_most           the levels are those of the best joint batch (`batch_levels`)

Then rows are chosen as always (`choosing.queries`) among the rows that the batch may hold. So
costs, pending rows, repeats, goals, several quantities and pools in files work as they do without
options; a measured row is repeated only if the batch may hold it.
"""

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np

from weal.errors import AlreadyLabelled, Exhausted
from weal.learner.batch_levels import LevelSet, limits_text, rows_of_best_levels
from weal.learner.batch_limits import BatchLimits
from weal.learner.batch_options import BatchOptions
from weal.learner.batch_value import Mask
from weal.learner.choosing import queries
from weal.learner.events import Asked, Event, Reason, Released
from weal.learner.joint_scores import lead_view
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.state import State
from weal.learner.transitions import apply
from weal.text import some

BY_HAND = "by hand"  # the reason for a row that a user includes


def batch_events(
    state: State, beliefs: PosteriorCache, options: BatchOptions, limits: BatchLimits, n: int
) -> list[Event]:
    """The events of an ask for n rows with options; ValueError or Exhausted: it cannot be done."""
    pool = state.candidates
    back = tuple(pool.name(name) for name in options.instead_of)
    hand = [pool.name(name) for name in options.rows]
    _check_back(state, back, hand)
    _check_hand(state, limits, hand)
    events: list[Event] = [Released(back)] if back else []
    for name in hand:
        opens = len(events) == len(back[:1])
        events.append(Asked(name, _hand_reason(state, beliefs, name), opens=opens))
    for event in events:
        state = apply(state, event)
    left = n - len(hand)
    if left:
        now = replace(state, allowed=_allowed(state, limits, back))
        _check_rows(now, limits, left)
        used = _used_levels(now, limits, hand)
        if limits.factors:
            mask = rows_of_best_levels(now, beliefs, limits.factors, used, left)
            now = replace(now, allowed=_both(now.allowed, mask))
        events += queries(now, beliefs, left, opens=not hand)
    return events


def _allowed(state: State, limits: BatchLimits, back: Sequence[Hashable]) -> Mask | None:
    """The rows that satisfy `where` and do not come back; None: all."""
    if not back:
        return limits.allowed
    allowed = np.ones(len(state.candidates), bool) if limits.allowed is None else limits.allowed
    allowed = allowed.copy()
    allowed[[state.candidates.index[name] for name in back]] = False
    return allowed


def _both(first: Mask | None, second: Mask) -> Mask:
    return second if first is None else first & second


def _check_back(state: State, back: Sequence[Hashable], hand: Sequence[Hashable]) -> None:
    if not_out := [name for name in back if name not in state.asked]:
        raise ValueError(
            f"instead_of: {some(map(repr, not_out))}: not out, so no row is asked in place of it; "
            "leave it out"
        )
    if both := [name for name in hand if name in back]:
        raise ValueError(f"{some(map(repr, both))}: in rows and in instead_of; leave it out of one")


def _check_hand(state: State, limits: BatchLimits, hand: Sequence[Hashable]) -> None:
    """Refuse rows by hand that cannot be asked, or that the batch may not hold."""
    labelled, pool = set(state.labelled), state.candidates
    for name in hand:
        at = pool.index[name]
        if name in labelled:
            raise AlreadyLabelled(f"rows: {name!r} is labelled already; leave it out")
        if name in state.asked or name in state.skipped or not pool.present[at]:
            what = "out" if name in state.asked else "skipped"
            what = what if pool.present[at] else "removed"
            raise ValueError(f"rows: {name!r} is {what} already; leave it out")
        if limits.allowed is not None and not limits.allowed[at]:
            condition = limits.where.text if limits.where else ""
            raise ValueError(
                f"rows: {name!r} does not satisfy where {condition!r}, as every row of the batch "
                "does; leave out the row or the condition"
            )
    _used_levels(state, limits, hand)


def _used_levels(state: State, limits: BatchLimits, hand: Sequence[Hashable]) -> list[LevelSet]:
    """The levels of each factor that rows by hand have; ValueError: too many."""
    at = [state.candidates.index[name] for name in hand]
    found = []
    for factor in limits.factors:
        codes = factor.levels.codes[at].tolist()
        if -1 in codes:
            raise ValueError(
                f"rows: {hand[codes.index(-1)]!r} has no {factor.text}; leave out the row"
            )
        levels = [factor.levels.names[code] for code in sorted(set(codes))]
        if len(levels) > factor.limit:
            column = factor.levels.columns[0]
            raise ValueError(
                f"the rows by hand have {some(levels)}, and the batch holds "
                f"{limits_text([factor])}; leave out rows, or write "
                f"at_most={{{column!r}: {len(levels)}}} (--at-most {column}={len(levels)})"
            )
        found.append(frozenset(codes))
    return found


def _check_rows(state: State, limits: BatchLimits, wanted: int) -> None:
    """Exhausted, with the way out, where too few rows satisfy `where`."""
    left = int(state.free().sum())
    if left >= wanted or limits.where is None:
        if left < wanted:
            replace(state, allowed=None).free(wanted)
            raise Exhausted(
                f"asked for {wanted:,} more, and {left:,} candidates are left besides the rows to "
                "replace; ask for fewer"
            )
        return
    assert limits.allowed is not None
    there = int((limits.allowed & state.candidates.present).sum())
    condition = limits.where.text
    if not there:
        raise Exhausted(f"no row satisfies where {condition!r}; change the condition")
    raise Exhausted(
        f"asked for {wanted:,} more where {condition!r}, and {left:,} of the {there:,} rows that "
        f"satisfy it are free; {f'ask for {left:,} or fewer, or ' if left else ''}change the "
        "condition"
    )


def _hand_reason(state: State, beliefs: PosteriorCache, name: Hashable) -> Reason:
    """The reason of a row that a user includes, with the prediction at that time."""
    view = lead_view(state)
    if not view.has_model:
        return Reason(BY_HAND)
    mean, sd = beliefs.moments(view, [state.candidates.index[name]])
    weights = tuple(beliefs.model(view).weights_.tolist())
    return Reason(BY_HAND, mean=float(mean[0]), std=float(sd[0]), expert_weights=weights)
