"""Rows to be asked next, with what is to be kept of why: chosen by the learner, or at random."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from weal.active_learner import ActiveLearner
from weal.campaign.rules import Offer
from weal.diagnostics.coverage import LEVEL
from weal.learner.beliefs import Beliefs
from weal.learner.state import State

CHECK_KEY = 7  # part of the random key of rows that are offered for a test
NAMES = ("mean", "sd", "low", "high")


def chosen(state: State, beliefs: Beliefs, wanted: int, spare: int) -> tuple[list[Offer], State]:
    """The rows to ask next, best first, and the state once they are asked.

    As many as wanted, and spare ones where there are, should others be faster.
    """
    left = int(state.free().sum())
    learner = ActiveLearner.of(state, beliefs)
    ids = learner.ask(max(wanted, min(wanted + spare, left)), more=True)
    rows = [learner.history[learner.pending[name]] for name in ids]
    offers = [
        Offer(name, {"check": False, **belief, "why": _why(row)})
        for name, row, belief in zip(ids, rows, expected(state, beliefs, ids), strict=True)
    ]
    return offers, learner.state


def drawn(state: State, beliefs: Beliefs, n: int, before: int) -> list[Offer]:
    """Rows drawn at random, of those that are free; `before` were drawn already."""
    free = np.flatnonzero(state.free(n))
    rng = np.random.default_rng([state.settings.seed, CHECK_KEY, before])
    ids = [str(state.candidates.ids[k]) for k in rng.choice(free, n, replace=False).tolist()]
    return [
        Offer(name, {"check": True, **belief, "why": {"how": "check"}})
        for name, belief in zip(ids, expected(state, beliefs, ids), strict=True)
    ]


def named(state: State, beliefs: Beliefs, ids: Sequence[str]) -> list[Offer]:
    """Rows that somebody wants by name."""
    return [
        Offer(name, {"check": False, **belief, "why": {"how": "by hand"}})
        for name, belief in zip(ids, expected(state, beliefs, ids), strict=True)
    ]


def expected(state: State, beliefs: Beliefs, ids: Sequence[str]) -> list[dict[str, float | None]]:
    """What is expected of a label of these rows; None where there is no model."""
    if not state.fitted:
        return [dict.fromkeys(NAMES) for _ in ids]
    model, X = beliefs.model(state), state.candidates.inputs(ids)
    mean, sd = model.predict(X, return_std=True)
    table = np.stack([mean, sd, *model.predict_interval(X, LEVEL)], axis=1).tolist()
    return [dict(zip(NAMES, row, strict=True)) for row in table]


def _why(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "how": "start" if row["why"] == "start" else "chosen",
        "scores": row["scores"],
        "shares": row["shares"],
        "weights": row["acquisition_weights"],
    }
