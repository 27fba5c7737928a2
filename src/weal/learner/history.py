"""The history of a learner: one plain row for each query or label.

`learner.history.to_frame()` makes a table of it, with a column for each score, share and weight.
A row has:

    step                  number of labels before it
    id                    of the candidate; None for a point outside the pool
    why                   the acquisition functions that chose it, "start", "told" for a label
                          without a query, "elsewhere" for a query of another learner; "repeat" or
                          "doubted" for a measured row that is asked again (`repeats`)
    score, scores         of the choice, and of each acquisition function
    shares                of each acquisition function in the score of the choice
    mean, std             of f there, as predicted at the query
    label                 None until it is told; where there are several quantities, of the first
    labels                of the other quantities, by name; only where there are some
    expert_weights        of the model at the query; None if there was no model
    acquisition_weights   at the choice

Rows are values: a label replaces its row.
"""

from collections.abc import Hashable, Mapping, Sequence
from importlib import import_module
from typing import Any

from weal.learner.events import LabelsTold, Reason, Row
from weal.tables.frame_kinds import FrameKind, installed_kind, make_frame

NOT_ASKED = Reason("told")
_SPREAD = {
    "scores": "score", "shares": "share", "acquisition_weights": "weight", "labels": "label",
}  # fmt: skip


class History(list[Row]):
    """A list of history rows, with `to_frame`."""

    kind: FrameKind | None = None  # of frame that `to_frame` gives; None: the one installed

    def to_frame(self) -> Any:
        """A frame: one row a query or label; "score igs", "share igs", "weight igs", ...

        It is of the kind of the pool; of an array, a pandas frame (polars where pandas is missing).

        >>> from weal import ActiveLearner
        >>> learner = ActiveLearner([[0.0], [1.0], [2.0]])
        >>> learner.tell(learner.ask(), 1.5)
        >>> learner.history.to_frame()[["step", "id", "why", "label"]].to_dict("records")
        [{'step': 0, 'id': 1, 'why': 'start', 'label': 1.5}]
        """
        rows = [_flat(row) for row in self]
        names = list(dict.fromkeys(name for row in [_flat(_EMPTY), *rows] for name in row))
        columns = {name: [row.get(name) for row in rows] for name in names}
        if installed_kind(self.kind) != "pandas":
            return make_frame(columns, self.kind)
        library = import_module("pandas")
        kinds = {"id": object, "expert_weights": object}
        series = {
            name: library.Series(cells, dtype=kinds.get(name, None if rows else object))
            for name, cells in columns.items()
        }
        frame = library.DataFrame(series)
        return frame.astype({"label": "float64"}) if rows else frame


def _flat(row: Row) -> Row:
    """A row with one column for each acquisition function."""
    plain = {name: value for name, value in row.items() if name not in _SPREAD}
    for part, word in _SPREAD.items():
        plain |= {f"{word} {name}": value for name, value in row.get(part, {}).items()}
    return plain


def add_query(rows: tuple[Row, ...], step: int, name: Hashable, reason: Reason) -> tuple[Row, ...]:
    """The history with one more query."""
    return (*rows, _row(step, name, reason))


def add_labels(
    rows: tuple[Row, ...], step: int, first: str, event: LabelsTold, at: Mapping[Hashable, int]
) -> tuple[Row, ...]:
    """The history after labels: in the rows of their queries, or in rows of their own.

    Labels of the `first` quantity are under "label", others by name under "labels".
    """
    after, left = list(rows), dict(at)
    for label in event.labels:
        row = left.pop(label.name, None)
        if row is None and event.quantity != first:
            row = last_row(after, label.name)
        if row is None:
            after.append(_row(step, label.name, NOT_ASKED))
            row = len(after) - 1
        if event.quantity == first:
            after[row] = {**after[row], "label": label.y}
        else:
            others = {**after[row].get("labels", {}), event.quantity: label.y}
            after[row] = {**after[row], "labels": others}
    return tuple(after)


def last_row(rows: Sequence[Row], name: Hashable | None) -> int | None:
    """The place of the last row of an id; labels of other quantities belong there."""
    places = range(len(rows) - 1, -1, -1)
    return next((n for n in places if name is not None and rows[n]["id"] == name), None)


def _row(step: int, name: Hashable, reason: Reason) -> Row:
    return {
        "step": step,
        "id": name,
        "why": reason.why,
        "score": reason.score,
        "scores": dict(reason.scores),
        "shares": dict(reason.shares),
        "mean": reason.mean,
        "std": reason.std,
        "label": None,
        "expert_weights": reason.expert_weights,
        "acquisition_weights": dict(reason.acquisition_weights),
    }


_EMPTY = _row(0, None, NOT_ASKED)
