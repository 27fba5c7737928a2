"""The bench of an `ActiveLearner`: its pending rows, and labels that are told to it at once.

Predictions are those of the model after all labels so far. Undo restores the state from before the
action where nothing else has happened since; else it forgets the labels of the row, or brings the
row back, and labels told in other cells stay. A learner keeps no notes and no reasons of skips.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from weal.core.constants import INTERVAL_LEVEL
from weal.learner.batch_options import BatchOptionsBody
from weal.learner.joint_scores import lead_view
from weal.learner.label_entry import told_labels
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.quantity_predictions import QuantityPrediction, predict_inputs
from weal.learner.state import State
from weal.quantities.protocol import ExpectedLabel, LabelRange, Quantity
from weal.text import REPEAT_REASONS, START, reasons
from weal.widget.learner_report import LearnerReport
from weal.widget.protocol import (
    MAX_SHOWN_ROWS,
    NONE_LEFT,
    UNDONE_ALREADY,
    Answer,
    BenchRow,
    BenchView,
    LearningReport,
    TypedLabel,
    Undoable,
    next_step,
    plural,
    shown,
)
from weal.widget.typed_labels import (
    bench_fields,
    interval_text,
    labels_text,
    question_text,
    read_typed,
)

if TYPE_CHECKING:
    from weal.active_learner import ActiveLearner

STORAGE = (
    'Labels are in the memory of this kernel: learner.save("labels.weal") writes them to a file, '
    'and weal.ActiveLearner.load("labels.weal") reads it after a restart.'
)


@dataclass(frozen=True, slots=True, eq=False)
class _Action:
    """An action, with the states before and after it."""

    number: int
    text: str
    id: Hashable
    before: State
    after: State
    quantities: tuple[str, ...] = ()  # whose labels were told; none: it was skipped or failed


class LearnerBench:
    """A learner behind the seam `Bench`.

    Parameters
    ----------
    learner : ActiveLearner
        The learner.
    beliefs : PosteriorCache
        Its cache.
    restore : function
        Sets the state of the learner.
    """

    def __init__(
        self,
        learner: "ActiveLearner",
        beliefs: PosteriorCache,
        restore: Callable[[State], None],
    ) -> None:
        self.learner, self.beliefs, self.restore = learner, beliefs, restore
        self._actions: list[_Action] = []
        self._report = LearnerReport(beliefs)
        self._numbers = count(1)

    def version(self) -> object:
        """The state, which is another value after every event."""
        return self.learner.state

    def view(self) -> BenchView:
        """What is shown."""
        state = self.learner.state
        ids, free = list(state.asked), int(state.free().sum())
        lead = lead_view(state)
        missing = 0 if lead.has_model else max(state.settings.n_start - len(lead.labels), 1)
        labels = plural(state.n_labels, "label")
        measured = ", ".join(one.column or one.name for one in state.measured)
        last = self._actions[-1] if self._actions else None
        return BenchView(
            title=f"Learner: {measured}",
            counts=f"{labels}, {plural(int(state.candidates.present.sum()), 'candidate')}",
            next_step=next_step(len(ids), free, missing),
            fields=bench_fields(state.measured),
            rows=self._rows(state, ids[:MAX_SHOWN_ROWS]),
            waiting=len(ids),
            free=free,
            columns=tuple(state.candidates.table_columns),
            storage=STORAGE,
            undo=Undoable(last.number, last.text) if last else None,
        )

    def _rows(self, state: State, ids: list[Hashable]) -> tuple[BenchRow, ...]:
        if not ids:
            return ()
        X = state.candidates.inputs(ids)
        predicted = [_prediction_texts(state, self.beliefs, one, X) for one in state.measured]
        told = [told_labels(state, one).by_name for one in state.measured]
        found = []
        for n, name in enumerate(ids):
            history = state.history[state.asked[name]]
            saved = [
                ", ".join(quantity.format(label.y, 8) for label in labels.get(name, ()))
                for quantity, labels in zip(state.measured, told, strict=True)
            ]
            found.append(
                BenchRow(
                    name,
                    _cells(state, name),
                    tuple(texts[n] for texts in predicted),
                    _reason(state, str(history["why"]), history["shares"]),
                    tuple(saved),
                    history["why"] in REPEAT_REASONS,
                )
            )
        return tuple(found)

    def report(self) -> LearningReport:
        """The error or the value of the goal, advice, and the learning curve."""
        return self._report.read(self.learner.state)

    def ask(self, n: int, options: BatchOptionsBody, key: str) -> Answer:
        """Ask for n more rows."""
        free = int(self.learner.state.free().sum())
        if n > free:
            left = plural(free, "row is", "rows are")
            return Answer(wrong=f"{left} left: ask for {free}." if free else NONE_LEFT, left=free)
        if options:
            self.learner.ask(n, **options)
        else:
            self.learner.ask(n, more=True)
        return Answer(f"{plural(n, 'row')} to measure.")

    def tell(self, typed: TypedLabel, key: str) -> Answer:
        """Tell the labels of a row, all or none; a question where one is implausible."""
        before = self.learner.state
        labels, refused = read_typed(before.measured, typed)
        if refused is not None:
            return refused
        if not typed.sure:
            doubts = [
                (one.name, doubt)
                for one in before.measured
                if one.name in labels
                if (doubt := self._judge(before, one, typed.id, labels[one.name]))
            ]
            if doubts:
                return Answer(question=question_text(doubts, len(before.measured) > 1))
        told = {
            one.name: one.words[int(labels[one.name])] if one.words else labels[one.name]
            for one in before.measured
            if one.name in labels
        }
        self.learner.tell([typed.id], [told], sure=typed.sure)
        text = f"{shown(typed.id)}: {labels_text(before.measured, labels)}"
        self._did(text, typed.id, before, tuple(told))
        return Answer(f"Saved {text}")

    def _judge(self, state: State, quantity: Quantity, id_: Hashable, y: float) -> object:
        """The reason why a label is implausible, or None."""
        if not all(state.view(part.name).has_model for part in quantity.parts()):
            told = told_labels(state, quantity)
            others = [label.y for label in told if label.name != id_]
            ends = LabelRange(len(others), min(others), max(others)) if others else None
            return quantity.judge(y, None, ends)
        X = state.candidates.inputs([id_])
        found = predict_inputs(state, self.beliefs, quantity, X, INTERVAL_LEVEL)
        p = () if found.probabilities is None else tuple(found.probabilities[0].tolist())
        mean, low, high = (
            0.0 if one is None else float(one[0]) for one in (found.mean, found.low, found.high)
        )
        if quantity.is_binary:
            low, high = 0.0, 1.0
        return quantity.judge(y, ExpectedLabel(mean, low, high, p), None)

    def skip(self, id_: Hashable, reason: str, key: str) -> Answer:
        """Skip a row; a learner keeps no reason."""
        before = self.learner.state
        self.learner.skip(id_)
        self._did(f"{shown(id_)}: skipped", id_, before)
        return Answer(f"Skipped {shown(id_)}")

    def fail(self, id_: Hashable, note: str, accident: bool, key: str) -> Answer:
        """Say that the run of a row failed."""
        before = self.learner.state
        self.learner.fail(id_, accident=accident)
        self._did(f"{shown(id_)}: failed", id_, before)
        return Answer(f"{shown(id_)} is saved as failed")

    def _did(self, text: str, id_: Hashable, before: State, told: tuple[str, ...] = ()) -> None:
        if self.learner.state is not before:
            after, number = self.learner.state, next(self._numbers)
            self._actions.append(_Action(number, text, id_, before, after, told))

    def undo(self, number: int) -> Answer:
        """Undo the action of this number, if it is the last one."""
        last = self._actions[-1] if self._actions else None
        if last is None or last.number != number:
            return Answer(wrong=UNDONE_ALREADY)
        if self.learner.state is last.after:
            self.restore(last.before)
        else:
            self._undo_in(self.learner, last)
        self._actions.pop()
        return Answer(f"Undone: {last.text}", row=last.id)

    def _undo_in(self, learner: "ActiveLearner", last: _Action) -> None:
        """Undo an action after which other things happened: these stay."""
        state = learner.state
        for name in last.quantities:
            if last.id in told_labels(state, state.find_measured(name)).by_name:
                learner.forget(last.id, name)
        if not last.quantities and state.has_failed(last.id):
            learner.forget(last.id)
        if last.id in learner.skipped:
            learner.unskip(last.id)
        state = learner.state
        if last.id not in state.asked and state.free()[state.candidates.index[last.id]]:
            learner.ask(rows=[last.id])


def _cells(state: State, name: Hashable) -> tuple[tuple[str, str], ...]:
    """The inputs of a row, by column; its targets are left out."""
    pool = state.candidates
    row = pool.row(name)
    pairs = row.items() if isinstance(row, dict) else zip(pool.input_names, row, strict=True)
    left_out = {*pool.targets, pool.id_column}
    return tuple((str(key), shown(cell)) for key, cell in pairs if key not in left_out)


def _reason(state: State, why: str, shares: dict[str, float]) -> str:
    """Why a row was asked, in a sentence."""
    if why in REPEAT_REASONS:
        said = REPEAT_REASONS[why].format(state.settings.goal.set_text or "")
        return f"{said[:1].upper()}{said[1:]}."
    if why == "start":
        return START
    return f"Chosen because {reasons(shares)}." if shares else ""


def _prediction_texts(
    state: State, beliefs: PosteriorCache, quantity: Quantity, X: np.ndarray
) -> list[str]:
    """The predictions of a quantity for rows X (n, d), in words; empty if there is no model
    yet.
    """
    if not all(state.view(part.name).has_model for part in quantity.parts()):
        return [""] * len(X)
    found = predict_inputs(state, beliefs, quantity, X, INTERVAL_LEVEL)
    return [_prediction_text(quantity, found, n) for n in range(len(X))]


def _prediction_text(quantity: Quantity, found: QuantityPrediction, n: int) -> str:
    if found.mean is None or found.sd is None:  # classes
        assert found.probabilities is not None
        code = int(found.probabilities[n].argmax())
        return quantity.format_prediction(float(code), 1.0 - float(found.probabilities[n, code]))
    if quantity.words or found.low is None or found.high is None:
        return quantity.format_prediction(float(found.mean[n]), float(found.sd[n]))
    ends = (float(found.mean[n]), float(found.low[n]), float(found.high[n]))
    return interval_text(quantity, *ends)
