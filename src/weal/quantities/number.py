"""The quantity kind of real numbers, such as `hardness [HV]`.

Labels are typed as numbers, formatted with few digits, and given to the model as they are.

A label is implausible if it lies beyond the bounds of the quantity, or if it is far

    from its prediction    the ask of its row predicted it: more than FAR_HALF_WIDTHS half widths of
                           the 90 % interval from the mean (6.6 sds of a normal distribution)
    from the other labels  there is no prediction: more than FAR_RANGES times the range of the other
                           rows' labels beyond it, or the same in logs where all are above 0

Error rates. First rule: 4 of 1,260 correct labels were called implausible (36 simulated campaigns
of 45 labels, a third of them skewed; models of few labels are sometimes wrong by 5 sds), and a
label that is wrong by a factor of 10 usually is (`benchmarks.real_labels.suspects`). Second rule:
one of four random labels is called implausible in 3 % (normal) to 8 % (log-normal, sd 1) of cases,
one of eight in less than 0.1 % and in 1.3 %; at least 96 % of slips by a factor of 10 among labels
that vary by a seventh are found. Logs are needed because a tenth often lies within three ranges.
"""

import math
from dataclasses import dataclass

from weal.quantities.protocol import (
    ExpectedLabel,
    Implausible,
    LabelRange,
    Quantity,
    QuantityBody,
)
from weal.quantities.words import AXIS_LETTERS, as_float
from weal.tables.cells import read_typed_number
from weal.text import number, plus_minus, shorten

LARGEST_LABEL = 1e300  # beyond, sums, differences and intervals overflow a float
FAR_HALF_WIDTHS = 4.0  # half widths of the predicted interval
FAR_RANGES = 3.0  # ranges of the other labels
MIN_OTHER_LABELS = 3  # other labels that give a range
_NORMAL = 1.6449  # half width of a 90 % interval, in sds of a normal distribution


@dataclass(frozen=True, slots=True)
class Number:
    """A quantity whose labels are numbers, in its unit.

    >>> hardness = Number("hardness", "HV", "hardness [HV]", low=0.0)
    >>> hardness.read(" 3.1e2 ", "A-7"), hardness.format_prediction(312.4567, 18.23)
    (310.0, '312 +- 18')
    >>> print(hardness.judge(-3.0, None, None))
    -3 is below 0, the lower bound of hardness [HV]
    """

    name: str
    unit: str = ""
    column: str | None = None
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        ends = [end for end in (self.low, self.high) if end is not None]
        if not self.name.strip():
            raise ValueError("a quantity has no name; give it the name of a column")
        if not all(map(math.isfinite, ends)) or ends != sorted(set(ends)):
            raise ValueError(
                f"{self.name} has the bounds {self.low} and {self.high}; write finite ones, the "
                "lower one first (None: no bound)"
            )

    @property
    def kind(self) -> str:
        """The tag of the JSON form."""
        return "number"

    @property
    def words(self) -> tuple[str, ...]:
        """None: labels are numbers."""
        return ()

    def read(self, given: object, row: str | None = None, *, decimal_comma: bool = False) -> float:
        """The number that a person typed for a row, or into the field of the quantity (None)."""
        field = self.column or "the value" if row is None else f"the label of {row}"
        return _read_bounded(given, field, decimal_comma)

    def read_noise(self, given: object, row: str) -> float:
        """The standard deviation of noise that a person typed for the label of a row."""
        sd = _read_bounded(given, f"the noise of {row}", decimal_comma=False)
        if sd < 0.0:
            raise ValueError(f"the noise of {row} is {sd}; write a standard deviation, at least 0")
        return sd

    def check(self, value: object, row: object) -> float:
        """A number from Python as a float; texts, booleans, NaN and infinity are refused."""
        return finite_number(value, f"the label of {row!r}")

    def format(self, label: float, digits: int = 4) -> str:
        """The number with this many significant digits."""
        return number(label, digits)

    def format_prediction(self, mean: float, sd: float) -> str:
        """Mean +- sd, with the digits that the sd justifies."""
        return plus_minus(mean, sd)

    def axis_label(self, part: str = "") -> str:
        """The text of an axis of labels; `part` is "measured" or "expected", or empty.

        >>> Number("hardness", "HV", "hardness [HV]").axis_label("measured")
        'measured hardness [HV]'
        """
        if not self.column:
            return part or "expected label"
        return f"{part} {shorten(self.column, AXIS_LETTERS)}".strip()

    def error_axis_label(self) -> str:
        """The text of an axis of prediction errors.

        >>> Number("hardness", "HV", "hardness [HV]").error_axis_label()
        'error of hardness, HV'
        """
        if not self.column:
            return "error, in units of the label"
        unit = f", {shorten(self.unit, AXIS_LETTERS)}" if self.unit else ""
        return f"error of {shorten(self.name, AXIS_LETTERS)}{unit}"

    def judge(
        self,
        label: float,
        expected: ExpectedLabel | None,
        others: LabelRange | None,
        noise: float | None = None,
    ) -> Implausible | None:
        """The reason why a label is implausible; None for a plausible one.

        >>> print(Number("hardness").judge(31.2, ExpectedLabel(312.0, 300.0, 324.0), None))
        31.2 is far from its prediction (312.0 +- 7.3)
        >>> print(Number("hardness").judge(31.2, None, LabelRange(3, 300.0, 320.0)))
        31.2 is far from the labels so far: 300 to 320
        """
        if beyond := self._beyond_bounds(label):
            return beyond
        if expected is not None:
            mean, low, high = expected[:3]
            half = self._half_width(expected)
            reach = FAR_HALF_WIDTHS * (half + 0.5 * _NORMAL * (noise or 0.0))
            if half <= 0.0 or abs(label - mean) <= reach:
                return None
            words = f"is far from its prediction ({self.format_prediction(mean, half / _NORMAL)})"
            return Implausible(f"{self.format(label, 8)} {words}", label, low, high, mean)
        if others is None or not _is_far(label, others):
            return None
        words = f"is far from the labels so far: {self.format(others.low)} to "
        return Implausible(
            f"{self.format(label, 8)} {words}{self.format(others.high)}", label, *others[1:]
        )

    def _beyond_bounds(self, label: float) -> Implausible | None:
        is_below = self.low is not None and label < self.low
        is_above = self.high is not None and label > self.high
        if not is_below and not is_above:
            return None
        bound = self.low if is_below else self.high
        side, which = ("below", "lower") if is_below else ("above", "upper")
        name = shorten(self.column or self.name, 60)
        ends = (label if self.low is None else self.low, label if self.high is None else self.high)
        return Implausible(
            f"{self.format(label, 15)} is {side} {bound:.15g}, the {which} bound of {name}",
            label, *ends,
        )  # fmt: skip

    def _half_width(self, expected: ExpectedLabel) -> float:
        """Half the width of a predicted interval; the longer side where a bound cut it off."""
        mean, low, high = expected[:3]
        if low == self.low or high == self.high:
            return max(mean - low, high - mean)
        return 0.5 * (high - low)

    def to_model(self, label: float) -> float:
        """The number itself."""
        return label

    def from_model(self, value: float) -> float:
        """The number itself."""
        return value

    @property
    def is_binary(self) -> bool:
        """False: labels are numbers."""
        return False

    @property
    def label_noise(self) -> float:
        """0: the model estimates the noise."""
        return 0.0

    def parts(self) -> tuple[Quantity, ...]:
        """Itself."""
        return (self,)

    def part_labels(self, label: float) -> tuple[float, ...]:
        """The label itself."""
        return (label,)

    def to_json(self) -> QuantityBody:
        """The quantity as JSON; bounds are in it only where there are some."""
        body: QuantityBody = {
            "name": self.name,
            "kind": self.kind,
            "unit": self.unit,
            "column": self.column,
        }
        if self.low is not None:
            body["low"] = self.low
        if self.high is not None:
            body["high"] = self.high
        return body

    @staticmethod
    def from_json(body: QuantityBody) -> "Number":
        """The quantity that `to_json` wrote."""
        ends = body.get("low"), body.get("high")
        return Number(body["name"], body["unit"], body["column"], *ends)


def _is_far(label: float, others: LabelRange) -> bool:
    n, low, high = others
    if n < MIN_OTHER_LABELS or low == high:
        return False
    if _is_outside(label, low, high):
        return True
    return min(label, low) > 0.0 and _is_outside(math.log(label), math.log(low), math.log(high))


def _is_outside(label: float, low: float, high: float) -> bool:
    reach = FAR_RANGES * (high - low)
    return not low - reach <= label <= high + reach


def _read_bounded(given: object, field: str, decimal_comma: bool) -> float:
    value = read_typed_number(_plain(given), field, decimal_comma)
    if abs(value) > LARGEST_LABEL:
        raise ValueError(f"{field} is {value}, which is too large; check its unit")
    return value


def _plain(value: object) -> object:
    """A numpy number as a Python number."""
    return value.item() if hasattr(value, "item") and not getattr(value, "ndim", 0) else value


def finite_number(value: object, field: str) -> float:
    """A finite number from Python as a float; ValueError names the field, and what to write.

    >>> finite_number("1,5", "the label of 'a'")
    Traceback (most recent call last):
    ValueError: the label of 'a' is '1,5', which is not a finite number; write 1.5 with a point, as
    a number
    """
    found = as_float(value)
    if math.isfinite(found):
        return found
    if isinstance(value, str) and value.count(",") == 1 and _is_number(value.replace(",", ".")):
        hint = f"write {value.replace(',', '.')} with a point, as a number"
    elif isinstance(value, str) and _is_number(value):
        hint = "it is text: give the number itself"
    else:
        hint = "to leave a point without a label, call skip(id)"
    raise ValueError(f"{field} is {value!r}, which is not a finite number; {hint}")


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
