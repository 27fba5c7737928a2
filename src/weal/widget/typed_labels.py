"""Typed labels: read with a decimal comma, and predictions and reports in words.

A learner and a campaign share this, so that the same text gives the same label, the same error and
the same question in both, and on the page Bench.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from weal.goals.protocol import Goal
from weal.quantities.protocol import Quantity
from weal.text import number
from weal.widget.protocol import Answer, BenchField, TypedLabel

MAX_VALUE_LETTERS = 400
NOTHING_TYPED = "Fill in at least one result, or choose that the run failed."


def bench_fields(quantities: Iterable[Quantity]) -> tuple[BenchField, ...]:
    """The fields of the form of a row."""
    return tuple(BenchField(one.name, one.column or one.name, one.words) for one in quantities)


def read_typed(
    quantities: Sequence[Quantity], typed: TypedLabel
) -> tuple[dict[str, float], Answer | None]:
    """The labels by quantity, or the answer that says what cannot be read.

    Parameters
    ----------
    quantities : list of Quantity
        What is measured.
    typed : TypedLabel
        Fields that are empty are skipped: they are told later.

    Returns
    -------
    pair of dict and Answer
        Labels as numbers, or codes of words; the answer is None if all could be read.

    Examples
    --------
    >>> from weal.quantities.number import Number
    >>> read_typed([Number("yield")], TypedLabel("a", {"yield": "12,5"}))
    ({'yield': 12.5}, None)
    >>> read_typed([Number("yield")], TypedLabel("a", {"yield": "12a"}))[1].wrong_fields
    {'yield': "the value is '12a'; write the number alone, without a unit"}
    """
    labels, wrong = dict[str, float](), dict[str, str]()
    for quantity in quantities:
        text = typed.values.get(quantity.name, "").strip()
        if not text:
            continue
        try:
            labels[quantity.name] = quantity.read(text, decimal_comma=True)
        except ValueError as error:
            wrong[quantity.name] = str(error)
    if wrong:
        return {}, Answer(wrong_fields=wrong)
    return labels, None if labels else Answer(wrong=NOTHING_TYPED)


def question_text(doubts: Sequence[tuple[str, object]], several: bool) -> str:
    """The question on implausible labels, by quantity; empty if there are none."""
    said = [f"{name}: {doubt}." if several else f"{doubt}." for name, doubt in doubts]
    return " ".join([*said, "A typo, or another unit?"]) if said else ""


def labels_text(quantities: Sequence[Quantity], labels: dict[str, float]) -> str:
    """Labels of a row as text, with their names where several are measured."""
    known = {one.name: one for one in quantities}
    several = len(known) > 1
    texts = [(name, known[name].format(y, 8)) for name, y in labels.items()]
    return ", ".join(f"{name} {text}" if several else text for name, text in texts)


def interval_text(quantity: Quantity, mean: float, low: float, high: float) -> str:
    """The prediction of a number with its 90 % interval, with the digits that this justifies.

    >>> from weal.quantities.number import Number
    >>> interval_text(Number("hardness", "HV"), 312.4567, 298.21, 327.05)
    '312 HV (90 %: 298 to 327)'
    """
    half = 0.5 * (high - low)
    if not 1e-4 <= half < 1e6:
        texts = [number(one) for one in (mean, low, high)]
    else:
        places = max(1 - math.floor(math.log10(half)), 0)
        texts = [f"{one:.{places}f}" for one in (mean, low, high)]
    unit = f" {quantity.unit}" if quantity.unit else ""
    return f"{texts[0]}{unit} (90 %: {texts[1]} to {texts[2]})"


def headline_text(
    goal: Goal, quantity: Quantity, value: float, labels: int, guessing: float | None = None
) -> str:
    """The one number of a report: an error, or the value of the goal."""
    unit = f" {quantity.unit}" if quantity.unit else ""
    if goal.curve == "errors":
        guess = f"; guessing the mean gives {number(guessing, 3)}" if guessing else ""
        return f"Typical error {number(value, 3)}{unit} after {labels:,} labels{guess}"
    name = goal.curve_label(quantity.name)
    shown_unit = unit if goal.curve == "best" else ""
    return f"{name[:1].upper()}{name[1:]}: {number(value)}{shown_unit}"


def finite_curve(points: Iterable[tuple[int, float | None]]) -> tuple[tuple[int, float], ...]:
    """The points of a curve that can be drawn."""
    return tuple((n, float(y)) for n, y in points if y is not None and math.isfinite(y))


def counts_text(counts: Mapping[str, int]) -> str:
    """How often each word was told, in words; empty if none was.

    >>> counts_text({"no": 3, "yes": 5})
    'Labels so far: 3 no, 5 yes'
    """
    said = [f"{n:,} {word}" for word, n in counts.items() if n]
    return f"Labels so far: {', '.join(said)}" if said else ""
