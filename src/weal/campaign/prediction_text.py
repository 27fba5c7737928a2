"""Predictions of labels in words: of numbers, of words, and of the outcome of a run.

The bodies are those of the event `asked` (`events.PredictionBody`). Nothing here needs numerics:
pages and `weal ask` show predictions of events without a model.
"""

from collections.abc import Mapping

from weal.campaign.events import AskedBody, PredictionBody, QuantityPredictionBody
from weal.quantities.kinds import WORKED
from weal.quantities.protocol import Quantity
from weal.text import with_probability

NOT_KNOWN = "not known yet"


def moments_of(
    quantity: Quantity, body: AskedBody | PredictionBody | QuantityPredictionBody
) -> tuple[float | None, float | None]:
    """The mean and sd that `Quantity.format_prediction` takes; None if there was no model.

    Of classes they are the code of the most probable one, and the probability of the others.
    """
    p: Mapping[str, float] = body.get("probabilities", {})  # type: ignore[assignment]
    if body["mean"] is not None or not p:
        return body["mean"], body["sd"]
    likeliest = max(p, key=p.__getitem__)
    return float(quantity.words.index(likeliest)), 1.0 - p[likeliest]


def prediction_text(
    quantity: Quantity, body: AskedBody | PredictionBody | QuantityPredictionBody
) -> str:
    """The prediction of a label in words.

    >>> from weal.quantities.classes import Classes
    >>> phase = Classes("phase", levels=("fcc", "bcc"))
    >>> no_moments = {"mean": None, "sd": None, "low": None, "high": None}
    >>> prediction_text(phase, {**no_moments, "probabilities": {"fcc": 0.3, "bcc": 0.7}})
    'bcc (P 0.70)'
    >>> prediction_text(phase, no_moments)
    'not known yet'
    """
    mean, sd = moments_of(quantity, body)
    return NOT_KNOWN if mean is None or sd is None else quantity.format_prediction(mean, sd)


def outcome_sentence(body: AskedBody | PredictionBody) -> list[str]:
    """A sentence on the probability that the run works, if runs have failed."""
    p = body.get("quantities", {}).get(WORKED, {}).get("mean")
    return [] if p is None else [f"The run works {with_probability(p)}."]


def prediction_of_quantity(
    row: PredictionBody, quantity: str, first: str
) -> QuantityPredictionBody:
    """The prediction of one quantity of a row; without a model, all of it is None."""
    own = row.get("quantities", {}).get(quantity)
    if own is not None:
        return own
    if quantity == first:
        return {"mean": row["mean"], "sd": row["sd"], "low": row["low"], "high": row["high"]}
    return {"mean": None, "sd": None, "low": None, "high": None}
