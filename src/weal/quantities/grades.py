"""The quantity kind of ordered grades, such as low, medium, high, or scores from 1 to 5.

    label    the position of the grade among the levels, 0.0 the lowest; the model sees the same
    mean     of a prediction: the expected position, between grades too; its sd in positions

A grade that is not among the levels is refused. A label is implausible if it is more than
FAR_HALF_WIDTHS half widths of its 90 % interval, and more than one grade, from its prediction.
"""

from dataclasses import dataclass

from weal.quantities.number import FAR_HALF_WIDTHS
from weal.quantities.pass_fail import PassFail
from weal.quantities.protocol import (
    ExpectedLabel,
    Implausible,
    LabelRange,
    Quantity,
    QuantityBody,
)
from weal.quantities.words import (
    AXIS_LETTERS,
    axis_of_words,
    check_words,
    option_text,
    read_level,
    refuse_noise,
)
from weal.text import number, shorten

MAX_LEVELS_AS_CLASSES = 7  # more are numbers only: each class has a model of its own
GRADE_NOISE_SD = 0.3  # grades; rounding to whole ones has an sd of 0.29
_NORMAL = 1.6449  # half width of a 90 % interval, in sds of a normal distribution


@dataclass(frozen=True, slots=True)
class Grades:
    """A quantity whose labels are ordered words.

    >>> grade = Grades("grade", levels=("low", "medium", "high"))
    >>> grade.read("Medium", "A-7"), grade.format(2.0), grade.format_prediction(1.2, 0.4)
    (1.0, 'high', 'medium +- 0.4 grades')
    """

    name: str
    column: str | None = None
    levels: tuple[str, ...] = ()  # the lowest first

    def __post_init__(self) -> None:
        option = option_text(self.column, self.name, "ordered:low,medium,high")
        check_words(self.name, self.levels, option)

    @property
    def kind(self) -> str:
        """The tag of the JSON form."""
        return "grades"

    @property
    def unit(self) -> str:
        """Grades have no unit."""
        return ""

    @property
    def low(self) -> None:
        """Grades have no bounds."""

    @property
    def high(self) -> None:
        """Grades have no bounds."""

    @property
    def words(self) -> tuple[str, ...]:
        """The grades by their code."""
        return self.levels

    def read(self, given: object, row: str | None = None, *, decimal_comma: bool = False) -> float:
        """The code of a grade."""
        return read_level(given, row, self, "grade", "ordered")

    def read_noise(self, given: object, row: str) -> float:
        """ValueError: a grade has no noise."""
        return refuse_noise(self.name, row)

    def check(self, value: object, row: object) -> float:
        """As `read`."""
        return self.read(value, repr(row))

    def format(self, label: float, digits: int = 4) -> str:
        """The grade next to the label."""
        return self.levels[min(max(round(label), 0), len(self.levels) - 1)]

    def format_prediction(self, mean: float, sd: float) -> str:
        """The grade next to the mean, and the sd in grades."""
        return f"{shorten(self.format(mean), 20)} +- {number(sd, 2)} grades"

    def axis_label(self, part: str = "") -> str:
        """The text of an axis of grades."""
        return axis_of_words(self.column, part, f"0 = {self.levels[0]}")

    def error_axis_label(self) -> str:
        """The text of an axis of prediction errors."""
        return f"error of {shorten(self.name, AXIS_LETTERS)}, in grades"

    def judge(
        self,
        label: float,
        expected: ExpectedLabel | None,
        others: LabelRange | None,
        noise: float | None = None,
    ) -> Implausible | None:
        """The reason why a label is implausible: it is far from its prediction.

        >>> grade = Grades("grade", levels=("1", "2", "3", "4", "5"))
        >>> print(grade.judge(4.0, ExpectedLabel(0.2, -0.3, 0.7), None))
        5 is far from its prediction (1 +- 0.3 grades)
        """
        if expected is None:
            return None
        half, distance = 0.5 * (expected.high - expected.low), abs(label - expected.mean)
        if half <= 0.0 or distance <= max(1.0, FAR_HALF_WIDTHS * half):
            return None
        foretold = self.format_prediction(expected.mean, half / _NORMAL)
        return Implausible(
            f"{self.format(label)} is far from its prediction ({foretold})",
            label,
            expected.low,
            expected.high,
            expected.mean,
        )

    def to_model(self, label: float) -> float:
        """The code: 0 for the lowest grade."""
        return label

    def from_model(self, value: float) -> float:
        """The code."""
        return value

    @property
    def is_binary(self) -> bool:
        """False: labels are ordered numbers to the model."""
        return False

    @property
    def label_noise(self) -> float:
        """The noise of grades as numbers."""
        return GRADE_NOISE_SD

    def parts(self) -> tuple[Quantity, ...]:
        """Itself as a number; and of few grades, whether a row has each: the better counts."""
        few = self.levels if len(self.levels) <= MAX_LEVELS_AS_CLASSES else ()
        return (self, *(PassFail(f"{self.name} is {level}") for level in few))

    def part_labels(self, label: float) -> tuple[float, ...]:
        """The code of the grade, then 1.0 for the grade and 0.0 for the others."""
        return (label, *(float(code == label) for code in range(len(self.parts()) - 1)))

    def to_json(self) -> QuantityBody:
        """The quantity as JSON."""
        return {
            "name": self.name,
            "kind": self.kind,
            "unit": self.unit,
            "column": self.column,
            "levels": list(self.levels),
        }

    @staticmethod
    def from_json(body: QuantityBody) -> "Grades":
        """The quantity that `to_json` wrote."""
        return Grades(body["name"], body["column"], tuple(body.get("levels", ())))
