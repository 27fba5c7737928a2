"""The beliefs in several quantities and the labels of their rows, for goals over both.

    joint_belief        predictions of the models of a goal's quantities for some candidates
    joint_labels        labels by quantity, a row for each labelled candidate, in order
    hypervolume_series  the hypervolume of two objectives after each of these rows

Labels are in the user's units, words by their code; repeated numbers count by their mean, repeated
words by the last one. A label that is treated as wrong is ignored.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.extensions.hypervolume import (
    hypervolume,
    pareto_rows,
    reference_point,
    signed_labels,
)
from weal.core.paper.acquisition import Belief
from weal.goals.protocol import Goal, JointBelief
from weal.learner.label_entry import told_labels
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.quantity_predictions import predict_inputs
from weal.learner.repeats import DOUBTED, belief_at
from weal.learner.state import QuantityView, State
from weal.model.class_model import normalised
from weal.quantities.protocol import Quantity

Positions = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class JointLabels:
    """The labels of n rows by quantity."""

    ids: list[Hashable]
    labels: dict[str, Array]  # (n,) each; NaN: none

    def columns(self, quantities: Sequence[str]) -> Array:  # (n, Q)
        """The labels of some quantities."""
        return np.column_stack([self.labels[name] for name in quantities])


def joint_labels(state: State, beliefs: PosteriorCache | None = None) -> JointLabels:
    """The labels of candidates; those treated as wrong are left out where `beliefs` are given."""
    ids = state.labelled
    found = {one.name: _labels(state, one, beliefs) for one in state.measured}
    return JointLabels(
        ids,
        {name: np.array([known.get(id, np.nan) for id in ids]) for name, known in found.items()},
    )


def _labels(
    state: State, quantity: Quantity, beliefs: PosteriorCache | None
) -> dict[Hashable, float]:
    """The label of each candidate that has one."""
    wrong = _wrong(state.view(quantity.parts()[0].name), beliefs)
    several: dict[Hashable, list[float]] = {}
    for n, label in enumerate(told_labels(state, quantity).told):
        if label.name is not None and n not in wrong:
            several.setdefault(label.name, []).append(label.y)
    if quantity.words:
        return {id: labels[-1] for id, labels in several.items()}
    return {id: float(np.mean(labels)) for id, labels in several.items()}


def _wrong(view: QuantityView, beliefs: PosteriorCache | None) -> set[int]:
    """The places of the labels that are treated as wrong."""
    if beliefs is None or not view.has_model or view.quantity.words:
        return set()
    return set(np.flatnonzero(beliefs.model(view).outlier_probability_ > DOUBTED).tolist())


def joint_belief(
    state: State, beliefs: PosteriorCache, goal: Goal, at: Positions, pending: bool = False
) -> JointBelief:
    """Predictions of the models of the goal's quantities for candidates `at`, and the labels so
    far.

    `pending`: as if pending candidates had been labelled with their predicted mean.
    """
    numbers, probabilities = {}, {}
    for name in goal.scored([one.name for one in state.measured]):
        quantity = state.find_measured(name)
        views = [state.view(part.name) for part in quantity.parts()]
        if not all(view.has_model for view in views):
            continue
        if not views[0].quantity.is_binary:
            numbers[name] = _belief(views[0], beliefs, at, pending)
        if quantity.words:
            probabilities[name] = _probabilities(state, quantity, beliefs, at, pending)
    return JointBelief(len(at), numbers, probabilities, joint_labels(state, beliefs).labels)


def _belief(view: QuantityView, beliefs: PosteriorCache, at: Positions, pending: bool) -> Belief:
    """The belief in a number."""
    posterior = beliefs.pending_posterior(view) if pending else beliefs.posterior(view)
    present = view.candidates.present[at]
    found = belief_at(posterior, at)
    return found if present.all() else replace(found, present=present)


def _probabilities(
    state: State, quantity: Quantity, beliefs: PosteriorCache, at: Positions, pending: bool
) -> Array:  # (n, K)
    """Probabilities of the words of a quantity, by code."""
    parts = quantity.parts()
    if not parts[0].is_binary:  # grades
        X = state.candidates.inputs_at(at)
        found = predict_inputs(state, beliefs, quantity, X).probabilities
        assert found is not None
        return found
    each = [beliefs.pass_probability_at(state.view(part.name), at, pending) for part in parts]
    if len(each) == 1:
        return np.column_stack([1.0 - each[0], each[0]])
    return normalised(np.stack(each, axis=1))


def pareto_rows_of(
    state: State, beliefs: PosteriorCache | None, goal: Goal
) -> list[tuple[Hashable, float, float]]:
    """Measured Pareto rows of two objectives: id and both labels, by the first one ascending.

    Under constraints they are those of the rows that meet them.
    """
    told = joint_labels(state, beliefs)
    names = [str(name) for name, _ in goal.directions]
    Y = np.where(goal.meets(told.labels)[:, None], told.columns(names), np.nan)
    front = pareto_rows(signed_labels(Y, [low for _, low in goal.directions]))
    if goal.directions[0][1]:
        front = front[::-1]
    return [(told.ids[n], float(Y[n, 0]), float(Y[n, 1])) for n in front.tolist()]


def feasible_labels(state: State, goal: Goal, quantity: str) -> list[float]:
    """The labels of a quantity of the rows that meet the constraints of a goal."""
    told = joint_labels(state)
    y = told.labels[quantity][goal.meets(told.labels)]
    return [label for label in y.tolist() if label == label]


def goal_series(state: State, goal: Goal) -> list[tuple[int, float]]:
    """The learning curve of a goal over several quantities, by number of labelled rows.

    The best feasible label, from the first one on; or the hypervolume of two objectives.
    """
    told = joint_labels(state)
    names = [str(name or state.measured[0].name) for name, _ in goal.directions]
    Y = np.where(goal.meets(told.labels)[:, None], told.columns(names), np.nan) if names else None
    if Y is None or not len(Y):
        return []
    if len(names) == 2:
        values = hypervolume_series(signed_labels(Y, [low for _, low in goal.directions]))
    else:
        values = (np.fmin if goal.lowest else np.fmax).accumulate(Y[:, 0])
    return [(n, y) for n, y in enumerate(values.tolist(), start=1) if y == y]


def hypervolume_series(Y: Array) -> Array:  # (n, 2) -> (n,)
    """The hypervolume after each of the rows Y, both to be high, as a share of the last one."""
    if not len(Y) or np.isnan(Y).all(axis=0).any():
        return np.zeros(len(Y))
    reference = reference_point(Y)
    values = np.array([hypervolume(Y[: n + 1], reference) for n in range(len(Y))])
    return values / values[-1] if values[-1] > 0.0 else values
