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
    label                 None until it is told
    expert_weights        of the model at the query; None: there was no model
    acquisition_weights   at the choice

Rows are values: a label replaces its row.
"""

from collections.abc import Hashable, Mapping
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from weal.learner.events import LabelsTold, Reason, Row
from weal.quantities.protocol import Quantity

if TYPE_CHECKING:
    import pandas as pd

NOT_ASKED = Reason("told")
_SPREAD = {"scores": "score", "shares": "share", "acquisition_weights": "weight"}


class History(list[Row]):
    """A list of history rows, with `to_frame`."""

    def to_frame(self) -> "pd.DataFrame":
        """A pandas frame: one row a query or label; "score igs", "share igs", "weight igs", ...

        >>> from weal import ActiveLearner
        >>> learner = ActiveLearner([[0.0], [1.0], [2.0]])
        >>> learner.tell(learner.ask(), 1.5)
        >>> learner.history.to_frame()[["step", "id", "why", "label"]].to_dict("records")
        [{'step': 0, 'id': 1, 'why': 'start', 'label': 1.5}]
        """
        rows = [_flat(row) for row in self]
        names = list(dict.fromkeys(name for row in [_flat(_EMPTY), *rows] for name in row))
        columns = {name: [row.get(name) for row in rows] for name in names}
        library = pandas()
        kinds = {"id": object, "expert_weights": object}
        series = {
            name: library.Series(cells, dtype=kinds.get(name, None if rows else object))
            for name, cells in columns.items()
        }
        frame = library.DataFrame(series)
        return frame.astype({"label": "float64"}) if rows else frame


def pandas() -> ModuleType:
    """The pandas module; ValueError where it is not installed."""
    try:
        found: ModuleType = import_module("pandas")
    except ModuleNotFoundError as error:
        raise ValueError('tables need pandas: pip install "weal[frames]"') from error
    return found


def _flat(row: Row) -> Row:
    """A row with one column for each acquisition function."""
    plain = {name: value for name, value in row.items() if name not in _SPREAD}
    for part, word in _SPREAD.items():
        plain |= {f"{word} {name}": value for name, value in row[part].items()}
    return plain


def add_query(rows: tuple[Row, ...], step: int, name: Hashable, reason: Reason) -> tuple[Row, ...]:
    """The history with one more query."""
    return (*rows, _row(step, name, reason))


def add_labels(
    rows: tuple[Row, ...],
    step: int,
    quantity: Quantity,
    event: LabelsTold,
    at: Mapping[Hashable, int],
) -> tuple[Row, ...]:
    """The history after labels: in the rows of their queries, or in rows of their own."""
    after, left = list(rows), dict(at)
    for label in event.labels:
        row, shown = left.pop(label.name, None), quantity.from_model(label.y)
        if row is None:
            after.append(_row(step, label.name, NOT_ASKED, shown))
        else:
            after[row] = {**after[row], "label": shown}
    return tuple(after)


def _row(step: int, name: Hashable, reason: Reason, label: float | None = None) -> Row:
    return {
        "step": step,
        "id": name,
        "why": reason.why,
        "score": reason.score,
        "scores": dict(reason.scores),
        "shares": dict(reason.shares),
        "mean": reason.mean,
        "std": reason.std,
        "label": label,
        "expert_weights": reason.expert_weights,
        "acquisition_weights": dict(reason.acquisition_weights),
    }


_EMPTY = _row(0, None, NOT_ASKED)
