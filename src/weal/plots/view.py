"""What pictures are drawn from: a model, its candidates, and what there is to say beside them."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from weal.core.arrays import Array
from weal.diagnostics.progress import Progress
from weal.diagnostics.trend import Trend, course, expected_over
from weal.errors import WealError
from weal.learner.beliefs import Beliefs
from weal.learner.state import State
from weal.model.model import Model
from weal.table.plan import Plan

NOTHING = np.zeros((0, 2))


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A learner, or a campaign, as pictures see it."""

    state: State
    model: Model
    course: Callable[[Progress | None], Trend]
    names: Sequence[str]  # of the inputs
    plan: Plan | None
    target: str | None
    title: str = ""
    goal: float | None = None
    check: tuple[float, float | None] | None = None  # error of the honest test, and its error
    asked: Array = field(default_factory=lambda: NOTHING)  # (n, 2)  label, and what was expected
    checked: Array = field(default_factory=lambda: NOTHING)  # (n, 2)  the same, drawn at random

    @property
    def label_ids(self) -> list[Hashable]:
        """The ids of the labels, in their order; points outside the pool have none."""
        return ["outside" if label.name is None else label.name for label in self.state.labels]


def view_of(state: State, beliefs: Beliefs) -> View:
    """A learner as pictures see it; WealError before there is a model."""
    model = checked_model(state, beliefs)
    pool = state.candidates

    @cache  # two pictures show it
    def taken(progress: Progress | None) -> Trend:
        n_start = state.settings.n_start
        return course(model, n_start, expected_over(state), progress=progress)

    return View(
        state,
        model,
        taken,
        pool.input_names,
        pool.plan,
        pool.target,
        asked=_when_asked(state),
    )


def checked_model(state: State, beliefs: Beliefs) -> Model:
    """The model; WealError while there is none, or no label."""
    if not state.fitted or not len(state.labels):
        raise WealError(
            "there is nothing to draw before there is a model: "
            f"{len(state.labels)} of {state.settings.n_start} labels"
        )
    return beliefs.model(state)


def _when_asked(state: State) -> Array:
    rows: list[dict[str, Any]] = [row for row in state.history if row["label"] is not None]
    pairs = [(row["label"], row["mean"]) for row in rows if row["mean"] == row["mean"]]
    return np.array(pairs).reshape(len(pairs), 2)
