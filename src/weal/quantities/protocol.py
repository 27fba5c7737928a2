"""The quantity protocol: read, check, format and draw the labels of a measured quantity.

    name      by which events, states and commands refer to the quantity: yield
    unit      of its labels: %; empty if there is none
    kind      tag of the JSON form: number
    column    the column that labels come from and are written to: yield [%]; None if it has no name
    low, high least and greatest label that is plausible; None if no bound
    words     the words of the labels by their code; empty: labels are numbers

A label is a float for every kind: a kind of words reads each word as a code and formats the code as
the word. `read` and `check` take words, never codes: with the scores 1 to 5 a person who writes 1
means the lowest. The model sees `to_model(label)`. A quantity is a frozen value, reads no store,
model or pool, and needs the standard library only: `weal tell` starts no numerics.

Each of its `parts` has a model. A number or pass/fail quantity has one part, itself; classes have a
pass/fail part for each level (one against the rest).
"""

from dataclasses import dataclass
from typing import NamedTuple, NotRequired, Protocol, TypedDict


class QuantityBody(TypedDict):
    """A quantity as JSON: in the event `created`, and in the file of a learner."""

    name: str
    kind: str
    unit: str
    column: str | None
    low: NotRequired[float]
    high: NotRequired[float]
    passes: NotRequired[list[str]]  # pass_fail, where words are declared
    fails: NotRequired[list[str]]
    levels: NotRequired[list[str]]  # classes, grades


class ExpectedLabel(NamedTuple):
    """The prediction for a row when it was asked: mean and 90 % interval of its label."""

    mean: float
    low: float
    high: float
    probabilities: tuple[float, ...] = ()  # of the words by their code, where they are known


class LabelRange(NamedTuple):
    """The number of labels and their range."""

    n: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Implausible:
    """A label beyond its bounds, or far from its prediction or the others; `str`: the reason."""

    reason: str
    y: float
    low: float  # of the predicted interval, or of the other labels
    high: float
    mean: float | None = None  # the prediction, or None

    def __str__(self) -> str:
        return self.reason


class Quantity(Protocol):
    """A measured quantity."""

    @property
    def name(self) -> str:
        """The name by which events, states and commands refer to the quantity."""

    @property
    def unit(self) -> str:
        """The unit of its labels; empty if there is none."""

    @property
    def kind(self) -> str:
        """The tag of the JSON form."""

    @property
    def column(self) -> str | None:
        """The column of its labels in tables and worksheets; None: users did not name it."""

    @property
    def low(self) -> float | None:
        """The least plausible label; predictions stay above."""

    @property
    def high(self) -> float | None:
        """The greatest plausible label; predictions stay below."""

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the labels by their code; empty: labels are numbers."""

    def read(self, given: object, row: str | None = None, *, decimal_comma: bool = False) -> float:
        """The label that a person typed for a row, or into the field of the quantity (None).

        ValueError names the row or the field, and ends in what to write.
        """

    def read_noise(self, given: object, row: str) -> float:
        """The standard deviation of noise that a person typed for the label of a row."""

    def check(self, value: object, row: object) -> float:
        """A label from Python as a float; ValueError names the row, and ends in the way out."""

    def format(self, label: float, digits: int = 4) -> str:
        """A label as text, with this many significant digits where it is a number."""

    def format_prediction(self, mean: float, sd: float) -> str:
        """The prediction of a label as text.

        Mean and sd are those of the number or the grade. Of pass/fail the mean is the probability
        of a pass; of classes it is the code of the most probable, and the sd the probability of
        others.
        """

    def axis_label(self, part: str = "") -> str:
        """The text of an axis of labels; `part` is "measured" or "expected", or empty."""

    def error_axis_label(self) -> str:
        """The text of an axis of prediction errors."""

    def judge(
        self,
        label: float,
        expected: ExpectedLabel | None,
        others: LabelRange | None,
        noise: float | None = None,
    ) -> Implausible | None:
        """The reason why a label is implausible; None for a plausible one."""

    def to_model(self, label: float) -> float:
        """The label as a model sees it."""

    def from_model(self, value: float) -> float:
        """The label that a model sees as this value: the inverse of `to_model`."""

    @property
    def is_binary(self) -> bool:
        """Whether labels are pass or fail: the model sees +1 and -1, and gives P(pass)."""

    @property
    def label_noise(self) -> float:
        """Standard deviation of the noise of every label as the model sees it; 0: not known."""

    def parts(self) -> "tuple[Quantity, ...]":
        """The quantities that have a model of their own; itself alone for most kinds."""

    def part_labels(self, label: float) -> tuple[float, ...]:
        """The label of each part, for a label of this quantity."""

    def to_json(self) -> QuantityBody:
        """The quantity as JSON; `kinds.quantity_from_json` reads it."""
