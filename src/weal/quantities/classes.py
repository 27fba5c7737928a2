"""The quantity kind of classes without an order, such as the phase of an alloy: fcc, bcc, hcp.

    label    the position of the class among the levels: 0.0, 1.0, ...
    mean     of a prediction: the code of the most probable class; its sd: the probability that the
             label is another one

A class that is not among the levels is refused: models of all classes exist from the start, and a
typing error would otherwise become a class. A label is implausible if its probability was below
MIN_PLAUSIBLE when its row was asked, where the ask kept the probabilities of all classes.
"""

from dataclasses import dataclass

from weal.quantities.pass_fail import MIN_PLAUSIBLE, PassFail
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
from weal.text import shorten


@dataclass(frozen=True, slots=True)
class Classes:
    """A quantity whose labels are classes without an order.

    >>> phase = Classes("phase", levels=("fcc", "bcc", "hcp"))
    >>> phase.read("bcc", "A-7"), phase.format(2.0), phase.format_prediction(1.0, 0.29)
    (1.0, 'hcp', 'bcc (P 0.71)')
    >>> phase.read("bct", "A-7")
    Traceback (most recent call last):
    ValueError: the label of A-7 is 'bct', which is not a class of phase; write fcc, bcc or hcp, or
    declare the class: --type 'phase=classes:fcc,bcc,hcp,bct'; in a campaign that has begun: `weal
    settings NAME --add-word phase=bct`
    """

    name: str
    column: str | None = None
    levels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        option = option_text(self.column, self.name, "classes:a,b,c")
        check_words(self.name, self.levels, option)

    @property
    def kind(self) -> str:
        """The tag of the JSON form."""
        return "classes"

    @property
    def unit(self) -> str:
        """Classes have no unit."""
        return ""

    @property
    def low(self) -> None:
        """Classes have no bounds."""

    @property
    def high(self) -> None:
        """Classes have no bounds."""

    @property
    def words(self) -> tuple[str, ...]:
        """The classes by their code."""
        return self.levels

    def read(self, given: object, row: str | None = None, *, decimal_comma: bool = False) -> float:
        """The code of a class."""
        return read_level(given, row, self, "class", "classes")

    def read_noise(self, given: object, row: str) -> float:
        """ValueError: a class has no noise."""
        return refuse_noise(self.name, row)

    def check(self, value: object, row: object) -> float:
        """As `read`."""
        return self.read(value, repr(row))

    def format(self, label: float, digits: int = 4) -> str:
        """The class of the label."""
        return self.levels[_code(label, len(self.levels))]

    def format_prediction(self, mean: float, sd: float) -> str:
        """The most probable class and its probability."""
        return f"{shorten(self.format(mean), 25)} (P {min(max(1.0 - sd, 0.0), 1.0):.2f})"

    def axis_label(self, part: str = "") -> str:
        """The text of an axis of classes."""
        return axis_of_words(self.column, part, "most probable class")

    def error_axis_label(self) -> str:
        """The text of an axis of prediction errors."""
        return f"error of {shorten(self.name, AXIS_LETTERS)}, as a probability"

    def judge(
        self,
        label: float,
        expected: ExpectedLabel | None,
        others: LabelRange | None,
        noise: float | None = None,
    ) -> Implausible | None:
        """The reason why a label is implausible: its class was predicted to be very unlikely.

        >>> expected = ExpectedLabel(0.0, 0.0, 0.0, (0.991, 0.005, 0.004))
        >>> print(Classes("phase", levels=("fcc", "bcc", "hcp")).judge(2.0, expected, None))
        hcp is unlikely: its prediction was fcc (P 0.99)
        """
        p = expected.probabilities if expected else ()
        if expected is None or len(p) != len(self.levels):
            return None
        if p[_code(label, len(p))] >= MIN_PLAUSIBLE:
            return None
        likeliest = float(p.index(max(p)))
        foretold = self.format_prediction(likeliest, 1.0 - max(p))
        return Implausible(
            f"{self.format(label)} is unlikely: its prediction was {foretold}",
            label,
            expected.low,
            expected.high,
            likeliest,
        )

    def to_model(self, label: float) -> float:
        """The code: models of one class against the rest are made from it."""
        return label

    def from_model(self, value: float) -> float:
        """The code."""
        return value

    @property
    def is_binary(self) -> bool:
        """False: its parts are."""
        return False

    @property
    def label_noise(self) -> float:
        """0: the labels of its parts have noise."""
        return 0.0

    def parts(self) -> tuple[Quantity, ...]:
        """For each level, whether a row is of that class.

        >>> Classes("phase", levels=("fcc", "bcc")).parts()[1].name
        'phase is bcc'
        """
        return tuple(PassFail(f"{self.name} is {level}") for level in self.levels)

    def part_labels(self, label: float) -> tuple[float, ...]:
        """1.0 for the class of the label, 0.0 for the others."""
        return tuple(float(code == label) for code in range(len(self.levels)))

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
    def from_json(body: QuantityBody) -> "Classes":
        """The quantity that `to_json` wrote."""
        return Classes(body["name"], body["column"], tuple(body.get("levels", ())))


def _code(label: float, levels: int) -> int:
    return min(max(round(label), 0), levels - 1)
