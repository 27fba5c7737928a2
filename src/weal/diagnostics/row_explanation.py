"""The explanation of one candidate of a learner: its prediction, why it was asked, labels nearby.

`weal show` has the same prediction and sentences for a row of a campaign (`explanation`). The
reason is that of the last query of the row, with the prediction at that time; it is omitted for a
row that was never asked.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from weal import text
from weal.core.constants import INTERVAL_LEVEL
from weal.diagnostics.explanation import Neighbour, quantity_neighbours, sentences, usual_sd
from weal.learner.label_entry import told_labels
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.quantity_predictions import QuantityPrediction, has_models, predict_inputs
from weal.learner.state import State
from weal.quantities.protocol import Quantity
from weal.text import REPEAT_REASONS, facts_lines, probability

NOT_ASKED = "It was not asked."
MAX_CELLS_SHOWN = 20  # inputs of a row


@dataclass(frozen=True, slots=True)
class RowExplanation:
    """One candidate: inputs, labels, prediction, and why it was asked."""

    id: Hashable
    quantity: str
    row: Mapping[str, Any]  # its cells by column
    labels: tuple[object, ...]  # as they were told: numbers, or words
    asked: bool  # and has no label yet
    skipped: bool
    mean: float | None  # as predicted now, by all labels; None: no model, or classes
    sd: float | None  # of f; of pass/fail, of the label
    low: float | None  # 90 % interval of a label; None: no model, or words
    high: float | None
    probabilities: Mapping[str, float]  # of words; empty for a number
    predicted: str  # the prediction in words; empty: no model
    why: str  # the reason for the query, in sentences
    near: tuple[Neighbour, ...]  # labelled rows nearby, the nearest first

    def lines(self) -> list[str]:
        """The explanation as lines of text."""
        cells = list(self.row.items())
        found = [str(self.id), *(f"  {_short(a)} {_cell(b)}" for a, b in cells[:MAX_CELLS_SHOWN])]
        more = len(cells) - MAX_CELLS_SHOWN
        found += [f"  and {more} more inputs"] if more > 0 else []
        found += [f"  {'label':<16} {_cell(one)}" for one in self.labels]
        found += [f"  {'asked':<16} no label yet"] if self.asked else []
        found += [f"  {'skipped':<16} yes"] if self.skipped else []
        found += [f"  {'predicted':<16} {self.predicted}"] if self.predicted else []
        return [*found, f"  {'why':<16} {self.why}"]

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return facts_lines(self.lines())


def explain_row(
    state: State, beliefs: PosteriorCache, quantity: Quantity, name: Hashable
) -> RowExplanation:
    """The explanation of the candidate with this id, for one quantity."""
    [near] = quantity_neighbours(state, beliefs, quantity, [name])
    now = None
    if has_models(state, quantity):
        X = state.candidates.inputs([name])
        now = predict_inputs(state, beliefs, quantity, X, INTERVAL_LEVEL)
    told = told_labels(state, quantity).by_name.get(name, ())
    return RowExplanation(
        name,
        quantity.name,
        row=_row(state, name),
        labels=tuple(quantity.format(one.y) if quantity.words else one.y for one in told),
        asked=name in state.asked,
        skipped=name in state.skipped,
        mean=_first(now, "mean"),
        sd=_first(now, "sd"),
        low=_first(now, "low"),
        high=_first(now, "high"),
        probabilities=_probabilities(now),
        predicted=_predicted(quantity, now),
        why=_why(state, beliefs, quantity, name, near),
        near=near,
    )


def _row(state: State, name: Hashable) -> dict[str, Any]:
    row = state.candidates.row(name)
    if isinstance(row, Mapping):
        results = [one.column for one in state.measured]
        return {str(key): cell for key, cell in row.items() if key not in results}
    return dict(zip(state.candidates.input_names, np.asarray(row).tolist(), strict=True))


def _first(now: QuantityPrediction | None, part: str) -> float | None:
    found = None if now is None else getattr(now, part)
    return None if found is None else float(found[0])


def _probabilities(now: QuantityPrediction | None) -> dict[str, float]:
    if now is None or now.probabilities is None:
        return {}
    return dict(zip(now.quantity.words, now.probabilities[0].tolist(), strict=True))


def _predicted(quantity: Quantity, now: QuantityPrediction | None) -> str:
    """The prediction in words, with the interval of a label or the probabilities of words."""
    if now is None:
        return ""
    if p := _probabilities(now):
        return ", ".join(f"{word} {probability(one)}" for word, one in p.items())
    mean, sd = now.moments()
    said = quantity.format_prediction(float(mean[0]), float(sd[0]))
    low, high = _first(now, "low") or 0.0, _first(now, "high") or 0.0
    ends = (text.rounded(one, low, high) for one in (low, high))
    return f"{said} (90 % of labels: {' to '.join(ends)})"


def _why(
    state: State, beliefs: PosteriorCache, quantity: Quantity, name: Hashable,
    near: tuple[Neighbour, ...],
) -> str:  # fmt: skip
    rows = (row for row in reversed(state.history) if row["id"] == name and row["why"] != "told")
    asked = next(rows, None)
    if asked is None:
        return " ".join([NOT_ASKED, *sentences(quantity, "start", None, None, {}, near, None)[1:]])
    how = asked["why"] if asked["why"] in ("start", *REPEAT_REASONS) else "chosen"
    because = None
    if how in REPEAT_REASONS:
        because = REPEAT_REASONS[how].format(state.settings.goal.set_text)
    view = state.view(quantity.parts()[0].name)
    known = view.has_model and not quantity.words and np.isfinite(asked["mean"])
    mean, sd = (asked["mean"], asked["std"]) if known else (None, None)
    usual = usual_sd(view, beliefs) if known else None
    return " ".join(sentences(quantity, how, mean, sd, asked["shares"], near, usual, because))


def _short(name: str) -> str:
    return f"{text.shorten(name, 16):<16}"


def _cell(value: object) -> str:
    if value is None or value != value:  # a gap
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
