"""Stop conditions: an error, a number of labels, or a label that is good enough.

    error < 6      the expected error over the candidates, in units of the label
    labels = 80    labels told, with repeats
    best > 90      a label above 90; best < 3: a label below 3

An error is reached when the model says so with a probability of at least one half. `grammar`
reads the texts.
"""

import math
from dataclasses import dataclass
from typing import Literal

from weal.goals.protocol import GoalProgress
from weal.text import exact, number, percent

Watched = Literal["error", "labels", "best"]
Relation = Literal["<", "=", ">"]
RELATIONS: dict[Watched, tuple[Relation, ...]] = {
    "error": ("<",),
    "labels": ("=",),
    "best": (">", "<"),
}
LARGEST = 1e300  # beyond, differences of labels overflow a float
REACHED, PROBABLY_REACHED = 0.5, 0.8  # probabilities that the error is reached


@dataclass(frozen=True, slots=True)
class Until:
    """A condition to stop.

    >>> Until("error", "<", 6.0).text, Until("labels", "=", 80).text
    ('error < 6', 'labels = 80')
    """

    watched: Watched
    relation: Relation
    value: float

    def __post_init__(self) -> None:
        if self.relation not in RELATIONS.get(self.watched, ()):
            raise ValueError(
                f"until is {self.watched} {self.relation}; write 'error < 6', 'labels = 80', "
                "'best > 90' or 'best < 3'"
            )
        if not math.isfinite(self.value) or abs(self.value) > LARGEST:
            raise ValueError(f"until {self.watched} is {self.value!r}; it needs a finite number")
        if self.watched == "error" and self.value <= 0.0:
            raise ValueError(
                f"until the error is below {exact(self.value)}: it needs an error above 0, in "
                "units of the label, as in 'error < 6'"
            )
        if self.watched == "labels" and (self.value < 1.0 or self.value % 1.0):
            raise ValueError(
                f"until there are {exact(self.value)} labels: it needs a whole number of at "
                "least 1, as in 'labels = 80'"
            )

    @property
    def text(self) -> str:
        """The canonical text, which `grammar.parse_until` reads."""
        return f"{self.watched} {self.relation} {exact(self.value)}"

    @property
    def error(self) -> float | None:
        """The error at which to stop, if that is the condition."""
        return self.value if self.watched == "error" else None

    def to_dict(self) -> dict[str, object]:
        """The condition as JSON."""
        value = int(self.value) if self.watched == "labels" else float(self.value)
        own = {"watched": self.watched, "relation": self.relation, "value": value}
        return {"text": self.text, **own}

    def is_met(
        self, labels: int, error: float, lowest: float | None, highest: float | None
    ) -> bool:
        """Whether these numbers meet the condition."""
        if self.watched == "labels":
            return labels >= self.value
        if self.watched == "error":
            return error < self.value
        if self.relation == ">":
            return highest is not None and highest > self.value
        return lowest is not None and lowest < self.value

    def advice(self, progress: GoalProgress) -> str | None:
        """The sentence for a condition that is met; None if it is not."""
        if self.watched == "error":
            needed = progress.needed
            if progress.missing or needed is None or needed.reached < REACHED:
                return None
            sure = "probably" if needed.reached >= PROBABLY_REACHED else "perhaps"
            return (
                f"The error of {number(self.value)} is {sure} reached "
                f"({percent(needed.reached)} by the model's own estimate). Labels of rows drawn "
                "at random (--check) would confirm it."
            )
        if not self.is_met(progress.labels, math.inf, progress.lowest, progress.highest):
            return None
        if self.watched == "labels":
            return f"Stop: there are {progress.labels:,} labels, as many as planned ({self.text})."
        value = progress.highest if self.relation == ">" else progress.lowest
        return f"Stop: the label {number(value or 0.0)} meets {self.text}."

    def lines(self, progress: GoalProgress) -> list[str]:
        """The distance to the condition, in lines for `weal status`; none once it is met."""
        needed = progress.needed
        if self.advice(progress) is not None:
            return []
        if self.watched == "error":
            if needed is None:
                return []
            found = [f"until {self.text}: {needed.text}"]
            if needed.low is not None or needed.median is not None:
                found.append("(the trend of the expected error, continued; not a promise)")
            return found
        if self.watched == "labels":
            return [f"until {self.text}: {int(self.value) - progress.labels:,} to come"]
        value = progress.highest if self.relation == ">" else progress.lowest
        which = "highest" if self.relation == ">" else "lowest"
        so_far = "no label yet" if value is None else f"the {which} label is {number(value)}"
        return [f"until {self.text}: {so_far}"]


def until_error(error: float) -> Until:
    """Stop at this expected error, as a number instead of a goal means."""
    return Until("error", "<", float(error))
