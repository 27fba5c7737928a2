"""Labels of words (pass/fail, classes, grades), each predicted from the others.

left_out_words   the probability of each word for each label, from the other labels
word_scores      log loss, accuracy and calibration of these probabilities
unlikely_words   labels with a probability below MIN_PLAUSIBLE, which should be checked
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from weal.core.arrays import Array
from weal.core.extensions.class_scores import CalibrationBin, Codes, class_scores
from weal.diagnostics.headline import Headline, accuracy_headline
from weal.learner.label_entry import told_labels
from weal.learner.labels import Label
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.quantity_predictions import has_models
from weal.learner.state import State
from weal.model.class_model import (
    grades_are_numbers,
    left_out_class_probabilities,
    left_out_grade_probabilities,
    left_out_pass_probability,
)
from weal.quantities.pass_fail import MIN_PLAUSIBLE
from weal.quantities.protocol import Quantity
from weal.text import probability


@dataclass(frozen=True, slots=True)
class WordScores:
    """Scores of the probabilities of words, each label predicted from the others."""

    n: int
    log_loss: float
    baseline: float  # log loss of the shares of the words among the other labels
    accuracy: float
    calibration_error: float
    calibration: tuple[CalibrationBin, ...]


@dataclass(frozen=True, slots=True)
class UnlikelyWord:
    """A label that the other labels make very unlikely."""

    id: Hashable
    label: str
    probability: float  # of this word, from the other labels
    words: str


def left_out_words(
    state: State, beliefs: PosteriorCache, quantity: Quantity
) -> tuple[Array, Codes] | None:
    """P(word) (t, K) of each label from the others, and its code (t,); None without a model."""
    told = told_labels(state, quantity).told
    if not told or not has_models(state, quantity):
        return None
    codes = np.rint([label.y for label in told]).astype(np.intp)
    models = [beliefs.model(state.view(part.name)) for part in quantity.parts()]
    if quantity.is_binary:
        p = left_out_pass_probability(models[0], beliefs.slope(state.view(quantity.name)))
        return np.stack([1.0 - p, p], axis=1), codes
    if quantity.parts()[0] == quantity:  # grades: the number comes first
        if grades_are_numbers(models[0], models[1:], codes):
            return left_out_grade_probabilities(models[0], len(quantity.words)), codes
        return left_out_class_probabilities(models[1:]), codes
    return left_out_class_probabilities(models), codes


def word_scores(p: Array, codes: Codes) -> WordScores:
    """Scores of left-out probabilities p (t, K) of labels with codes (t,)."""
    found = class_scores(p, codes)
    return WordScores(
        found.n, found.log_loss, found.baseline_log_loss, found.accuracy, found.calibration_error,
        found.calibration,
    )  # fmt: skip


def words_headline(quantity: Quantity, p: Array, codes: Codes) -> Headline:
    """The share of the labels that are predicted right, as the one number of a status."""
    commonest = float(np.bincount(codes).max()) / len(codes)
    return accuracy_headline(quantity.name, len(codes), class_scores(p, codes).accuracy, commonest)


def unlikely_words(
    told: Sequence[Label], quantity: Quantity, p: Array, codes: Codes
) -> tuple[UnlikelyWord, ...]:
    """Labels whose left-out probability is below MIN_PLAUSIBLE, the least likely first."""
    own = p[np.arange(len(codes)), codes]
    found = []
    for n in np.argsort(own, kind="stable").tolist():
        if own[n] >= MIN_PLAUSIBLE or told[n].sure:
            continue
        label, likeliest = quantity.words[codes[n]], quantity.words[int(p[n].argmax())]
        rather = f"the other labels say {likeliest} ({probability(float(p[n].max()))})"
        words = f"{told[n].name}: {quantity.name} {label}; {rather}"
        found.append(UnlikelyWord(told[n].name, label, float(own[n]), words))
    return tuple(found)
