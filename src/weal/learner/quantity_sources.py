"""One quantity as an input to another: its predictions are an input of a model with fewer labels.

A part with at least LABELS_OF_SOURCE times as many labels as another is its source, the one with
the most labels if there are several. The posterior mean of the source at x, as its experts see
labels, is one more input of the other model:

    x -> (x, sum_m w_m mu_m(x))         of the source, after the labels that selected its experts

Whether that helps is judged by leave-one-out: the model with the further input and the one without
it are both selected and conditioned on the same labels, and the one with the larger mean log
density of left-out labels is kept. A cheap measurement, a simulation and an earlier campaign are
simply quantities with more labels.

The source follows from the state: `SelectionPoint.source` is the selection point of the source, and
where that changes, the experts of the other part are selected again (`with_sources`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from weal.core.arrays import Array
from weal.core.extensions.leave_one_out import left_out_mixture
from weal.core.scaling import Scaling
from weal.learner.state import QuantityState, SelectionPoint, SourcePoint, State
from weal.model.model import Model
from weal.model.training import TrainedEnsemble
from weal.quantities.kinds import WORKED

LABELS_OF_SOURCE = 2  # times as many as the other part has
LABELS_TO_STAY = 1.5  # times as many, from which a source stays: else each label might change it
MIN_LABELS = 8  # of the other part: of fewer, leave-one-out says little


@dataclass(frozen=True, slots=True, eq=False)
class PredictedInput:
    """The mean that a model predicts, as a further input of another model."""

    model: Model

    def __call__(self, X: Array) -> Array:  # (N, d) -> (N, 1)
        """The mean of the mixture at inputs in the user's units, as the experts see labels."""
        w, trained = self.model.weights_, self.model.trained
        parts = [w @ mu for _, mu, _ in trained.beliefs(self.model.scaling.inputs(X))]
        return np.concatenate([np.zeros(0), *parts])[:, None]


def with_source(scaling: Scaling, source: Model | None) -> Scaling:
    """The scaling with the predictions of a model as a further input."""
    return scaling if source is None else replace(scaling, source=PredictedInput(source))


def with_sources(state: State) -> State:
    """The state with the sources that its labels imply; their parts are selected again."""
    if len(state.quantities) < 2:
        return state
    for name, one in state.parts.items():
        if one.selection is None:
            continue
        wanted, now = _find_source(state, one), one.selection.source
        if _is_same(wanted, now):
            continue
        selection = replace(one.selection, experts=None, source=wanted)
        parts = {**state.quantities, name: replace(one, selection=selection)}
        state = replace(state, quantities=parts)
    return state


def with_selected_sources(state: State) -> State:
    """The state whose sources are the present selection points, after experts were given to it."""
    for name, one in state.parts.items():
        now = None if one.selection is None else one.selection.source
        selection = None if now is None else state.quantities[now.part].selection
        if one.selection is None or now is None or selection is None:
            continue
        point = replace(one.selection, source=SourcePoint(now.part, selection))
        parts = {**state.quantities, name: replace(one, selection=point)}
        state = replace(state, quantities=parts)
    return state


def _find_source(state: State, part: QuantityState) -> SourcePoint | None:
    """The part with the most labels that can be the source of another."""
    t = len(part.labels)
    if t < MIN_LABELS or part.selection is None:
        return None
    now = None if part.selection.source is None else part.selection.source.part
    able = [
        SourcePoint(name, one.selection)
        for name, one in state.quantities.items()
        if name != WORKED and one.selection is not None
        and len(one.labels) >= t * (LABELS_TO_STAY if name == now else LABELS_OF_SOURCE)
    ]  # fmt: skip
    return max(able, key=lambda one: len(state.quantities[one.part].labels), default=None)


def _is_same(wanted: SourcePoint | None, now: SourcePoint | None) -> bool:
    if wanted is None or now is None:
        return wanted is now
    return wanted.part == now.part and wanted.selection is now.selection


Train = Callable[[Scaling, SelectionPoint], TrainedEnsemble]  # experts, conditioned on labels


def choose_inputs(
    selection: SelectionPoint, source: Model | None, train: Train
) -> tuple[TrainedEnsemble, Scaling]:
    """The trained ensemble of a part, and its scaling: with its source, where that helps."""
    plain = selection.scaling
    if source is None:
        return train(plain, selection), plain
    more = with_source(plain, source)
    if selection.experts is not None:  # selected before: the number of their inputs shows which
        has_source = selection.experts.X.shape[1] > len(plain.x_mean)
        scaling = more if has_source else plain
        return train(scaling, selection), scaling
    found = [(train(scaling, selection), scaling) for scaling in (more, plain)]
    return max(found, key=lambda one: left_out_log_density(one[0]))


def left_out_log_density(trained: TrainedEnsemble) -> float:
    """The mean log density of labels from all others, in scaled units."""
    z = trained.warp.labels(trained.y)
    noise = trained.warp.variances(trained.noise_var, trained.y)
    found = left_out_mixture(trained.ensemble, trained.embedding, trained.X, z, noise)
    return float((found.log_density(z) + trained.warp.log_slope(trained.y)).mean())
