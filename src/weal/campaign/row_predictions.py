"""Predictions of all quantities for single rows: of asked rows, of `weal show`, of pages.

    mean, sd, low, high   of the first quantity; None if it has no model yet
    quantities            by name, where there is a model: further quantities, words with their
                          probabilities, and "worked" (P(works) as the mean) once runs have failed

These are the keys of the event `asked`. A campaign with one number and without failures has the
first four alone.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from weal.campaign.events import PredictionBody, QuantityPredictionBody
from weal.core.arrays import Array
from weal.core.constants import INTERVAL_LEVEL
from weal.learner.joint_scores import outcome_view
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.quantity_predictions import has_models, predict_inputs
from weal.learner.state import State
from weal.quantities.kinds import WORKED
from weal.quantities.protocol import Quantity

if TYPE_CHECKING:
    pass


def predict_rows(state: State, beliefs: PosteriorCache, ids: Sequence[str]) -> list[PredictionBody]:
    """The predictions of labels of each of these rows."""
    X = state.candidates.inputs(ids)
    first, *others = state.measured
    found = predict_quantity(state, beliefs, first, X)
    more = {one.name: predict_quantity(state, beliefs, one, X) for one in others}
    if first.words:
        more = {first.name: found, **more}
    if (outcomes := outcome_view(state)) is not None:
        more[WORKED] = predict_quantity(state, beliefs, outcomes.quantity, X)
    rows = [_of_first_quantity(one) for one in found]
    known = {name: several for name, several in more.items() if several and _is_known(several[0])}
    for n, row in enumerate(rows):
        if known:
            row["quantities"] = {name: several[n] for name, several in known.items()}
    return rows


def _is_known(body: QuantityPredictionBody) -> bool:
    return body["mean"] is not None or "probabilities" in body


def _of_first_quantity(body: QuantityPredictionBody) -> PredictionBody:
    return {"mean": body["mean"], "sd": body["sd"], "low": body["low"], "high": body["high"]}


def predict_quantity(
    state: State, beliefs: PosteriorCache, quantity: Quantity, X: Array, of: int | None = None
) -> list[QuantityPredictionBody]:
    """The prediction of a label of a quantity at each of the inputs X (N, d), some of `of`."""
    if not has_models(state, quantity):
        return [{"mean": None, "sd": None, "low": None, "high": None} for _ in X]
    found = predict_inputs(state, beliefs, quantity, X, INTERVAL_LEVEL, of)
    columns = [
        [None] * len(X) if one is None else one.tolist()
        for one in (found.mean, found.sd, found.low, found.high)
    ]
    rows: list[QuantityPredictionBody] = [
        {"mean": mean, "sd": sd, "low": low, "high": high}
        for mean, sd, low, high in zip(*columns, strict=True)
    ]
    if found.probabilities is not None and not quantity.is_binary:
        for row, p in zip(rows, found.probabilities.tolist(), strict=True):
            row["probabilities"] = dict(zip(quantity.words, p, strict=True))
    return rows


def lead_quantity(state: State) -> Quantity:
    """The measured quantity that the goal looks at first."""
    return state.find_measured(state.settings.goal.scored([one.name for one in state.measured])[0])
