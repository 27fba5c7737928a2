"""What was asked, why, and what came back: a list of plain rows, one for each query or label.

`pandas.DataFrame(learner.history)` makes a table of it. Columns:

    step                  labels told before
    id                    of the candidate; None for a point outside the pool
    why                   the acquisition functions that chose it, "start", "told" when not asked,
                          or "elsewhere" when another learner did
    score, scores         of the choice, and of each acquisition function
    shares                of each acquisition function in the score of the choice
    mean, std             what the model expected of f there, before the label
    label                 None until it is told
    expert_weights        after the label
    acquisition_weights   at the choice
"""

from collections.abc import Hashable, Sequence
from typing import Any

from weal.core.arrays import Array
from weal.learner.choosing import Chosen
from weal.learner.labels import Label

NAN = float("nan")


class History(list[dict[str, Any]]):
    """Rows in the order of events; `open_` finds the row of an id that waits for its label."""

    def asked(
        self, step: int, name: Hashable, why: str, chosen: Chosen | None = None,
        expected: tuple[float, float] = (NAN, NAN),
    ) -> int:  # fmt: skip
        """Note a query; returns its row."""
        self.append(
            {
                "step": step,
                "id": name,
                "why": why,
                "score": chosen.score if chosen else NAN,
                "scores": chosen.scores if chosen else {},
                "shares": chosen.shares if chosen else {},
                "mean": expected[0],
                "std": expected[1],
                "label": None,
                "expert_weights": None,
                "acquisition_weights": chosen.omega if chosen else {},
            }
        )
        return len(self) - 1

    def told(self, step: int, label: Label, row: int | None, expected: tuple[float, float]) -> int:
        """Note a label in the row of its query, or in one of its own; returns the row."""
        if row is None:
            row = self.asked(step, label.name, "told", expected=expected)
        self[row]["label"] = label.y
        return row

    def weigh(self, rows: Sequence[int], weights: Array | None) -> None:
        """Note the weights of the experts after the labels of these rows."""
        plain = None if weights is None else weights.tolist()
        for row in rows:
            self[row]["expert_weights"] = plain
