"""Predictions by quantity: moments and intervals of numbers, probabilities of words.

number       mean and sd of f, ends of the 90 % interval of a label
pass/fail    mean = P(pass), sd = sqrt(P (1 - P)) of the label; probabilities of fail and pass
classes      the P(pass) of each class against the rest, divided by their sum
grades       as a number, and the probability of each grade (`model.class_model`)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weal.core.arrays import Array
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.state import State
from weal.model.class_model import grade_probabilities, grades_are_numbers, normalised
from weal.quantities.protocol import Quantity


@dataclass(frozen=True, slots=True, eq=False)
class QuantityPrediction:
    """Predictions of a quantity for N rows; fields that a kind does not have are None."""

    quantity: Quantity
    mean: Array | None  # (N,)  of f, or P(pass)
    sd: Array | None  # (N,)
    low: Array | None = None  # (N,)  of a label
    high: Array | None = None  # (N,)
    probabilities: Array | None = None  # (N, K)  of the words of the quantity

    def moments(self) -> tuple[Array, Array]:
        """Mean and sd (N,); ValueError of classes, which have none."""
        if self.mean is None or self.sd is None:
            raise ValueError(
                f"{self.quantity.name} has classes: predict_proba() gives their probabilities"
            )
        return self.mean, self.sd

    def likeliest(self) -> list[str]:
        """The most probable word for each row."""
        assert self.probabilities is not None
        return [self.quantity.words[k] for k in self.probabilities.argmax(axis=1).tolist()]


def has_models(state: State, quantity: Quantity) -> bool:
    """Whether each part of a quantity has a model."""
    return all(state.view(part.name).has_model for part in quantity.parts())


def prediction_columns(
    state: State, beliefs: PosteriorCache, quantities: Sequence[Quantity], X: Array,
    level: float, of: int | None = None,
) -> dict[str, Array]:  # fmt: skip
    """Predictions of quantities at X (N, d) as columns of a table, each (N,).

    They are mean, sd, low and high as far as the kind has them, and P(word) of words; those of
    several quantities begin with the name of the quantity. A quantity without a model has none.
    """
    columns: dict[str, Array] = {}
    for one in quantities:
        if not has_models(state, one):
            continue
        start = f"{one.name} " if len(quantities) > 1 else ""
        found = predict_inputs(state, beliefs, one, X, level, of)
        for name in ("mean", "sd", "low", "high"):
            cells: Array | None = getattr(found, name)
            if cells is not None:
                columns[f"{start}{name}"] = cells
        for k, word in enumerate(one.words):
            assert found.probabilities is not None
            columns[f"{start}P({word})"] = found.probabilities[:, k]
    return columns


def joined_columns(blocks: Sequence[dict[str, Array]]) -> dict[str, Array]:
    """The columns of blocks of rows, one below the other."""
    return {name: np.concatenate([one[name] for one in blocks]) for name in blocks[0]}


def predict_inputs(
    state: State,
    beliefs: PosteriorCache,
    quantity: Quantity,
    X: Array,
    level: float | None = None,
    of: int | None = None,
) -> QuantityPrediction:
    """Predictions of a quantity at inputs X (N, d); intervals where a `level` is given.

    X are some of `of` rows, or all (`Model.summary`).
    """
    parts = quantity.parts()
    if parts[0] != quantity:
        return QuantityPrediction(
            quantity, None, None, probabilities=_class_probabilities(state, beliefs, parts, X)
        )
    view = state.view(quantity.name)
    if quantity.is_binary:
        p = beliefs.pass_probability(view, X)
        spread = np.sqrt(p * (1.0 - p))
        return QuantityPrediction(quantity, p, spread, probabilities=np.stack([1.0 - p, p], axis=1))
    model = beliefs.model(view)
    low = high = None
    if not len(X):
        mean, sd = np.zeros(0), np.zeros(0)
    elif level is None:
        mean, sd = model.predict(X, return_std=True)
    else:
        mean, sd, low, high = model.summary(X, level, of)
    words = _grade_probabilities(state, beliefs, quantity, X) if quantity.words else None
    return QuantityPrediction(quantity, mean, sd, low, high, words)


def _class_probabilities(
    state: State, beliefs: PosteriorCache, parts: Sequence[Quantity], X: Array
) -> Array:  # (N, K)
    """Probabilities of the classes whose parts these are."""
    each = [beliefs.pass_probability(state.view(part.name), X) for part in parts]
    return normalised(np.stack(each, axis=1))


def _grade_probabilities(
    state: State, beliefs: PosteriorCache, quantity: Quantity, X: Array
) -> Array:  # (N, K)
    """Probabilities of grades: as numbers or as classes, by leave-one-out log loss."""
    number, *classes = quantity.parts()
    if not len(X):
        return np.zeros((0, len(quantity.words)))
    model = beliefs.model(state.view(number.name))
    models = [beliefs.model(state.view(part.name)) for part in classes]
    codes = np.rint([label.y for label in state.view(number.name).labels]).astype(np.intp)
    if not models or grades_are_numbers(model, models, codes):
        return grade_probabilities(model, X, len(quantity.words))
    return _class_probabilities(state, beliefs, classes, X)
