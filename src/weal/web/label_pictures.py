"""Pictures of labels: predicted against measured, the last ones in their intervals, the best.

    predicted   each label against its prediction from all others, with its 90 % interval; of words
                the probability that the others give to the label
    recent      the last labels in the intervals that were predicted when their rows were asked; of
                words the probability that was predicted for the word that was measured
    best        all labels in their order, and the best of them so far
    curve       the learning curve

Everything is drawn from numbers that a status or the events have: no model is needed here.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from weal.campaign.events import LedgerLabel
from weal.campaign.ledger import PredictedLabel, QuantityLedger
from weal.quantities.protocol import Quantity
from weal.web.picture import (
    MARK_SHAPES,
    Legend,
    Line,
    Mark,
    MarkShape,
    Path,
    Picture,
    Rectangles,
    Shape,
    Verticals,
    evenly,
)
from weal.web.svg_axes import HEIGHT, WIDTH, across, axis, frame, upward

MAX_LINKED = 150  # labels that are drawn on a page
RECENT_LABELS = 24
CURVE_STYLES = ("accent", "second", "third")
SURE = 0.5  # probability of a word below which it was not expected
Points = Sequence[Mapping[str, Any]]


def predicted_picture(points: Points, quantity: Quantity, everything: bool = False) -> Picture:
    """Labels against their predictions from all others."""
    if quantity.words:
        return _predicted_words(points, quantity, everything)
    drawn = points if everything else evenly(points, MAX_LINKED)
    good = [one for one in drawn if one["y"] is not None and one["mean"] is not None]
    values = [one[which] for one in good for which in ("y", "mean")]
    x, y = across(values), upward(values)
    ends = [
        (x.place(one["y"]), y.place(one["low"]), y.place(one["high"]))
        for one in good
        if one["low"] is not None and one["high"] is not None
    ]
    marks = [
        Mark(x.place(one["y"]), y.place(one["mean"]), *_dot(_is_inside(one)), 4.5, one["id"],
             f"{one['id']}: measured {quantity.format(one['y'], 6)}, "
             f"predicted {_interval(quantity, one['mean'], one['low'], one['high'])}")
        for one in good
    ]  # fmt: skip
    name = quantity.column or "label"
    shapes: list[Shape] = [
        *frame(x.marks, y.marks, f"measured {name}", "predicted"),
        Line(x.place(x.low), y.place(x.low), x.place(x.high), y.place(x.high), "dashed"),
        Verticals(tuple(ends), "whisker"),
        *marks,
    ]
    rows = [(one["id"], one["y"], one["mean"], one["low"], one["high"]) for one in points]
    return Picture(
        "predicted", f"Predicted against measured {name}", WIDTH, HEIGHT, tuple(shapes),
        ("id", "measured", "predicted", "low", "high"), tuple(rows), _DOTS,
        _drawn_note(len(good), len(points)),
    )  # fmt: skip


_DOTS = (
    Legend("circle", "dot", "inside its 90 % interval"),
    Legend("diamond", "dot off", "outside"),
)


def _dot(inside: bool) -> tuple[str, MarkShape]:
    return ("dot", "circle") if inside else ("dot off", "diamond")


def _is_inside(one: Mapping[str, Any]) -> bool:
    if None in (one["low"], one["high"], one["y"]):
        return True
    return bool(one["low"] <= one["y"] <= one["high"])


def _interval(quantity: Quantity, mean: float, low: float | None, high: float | None) -> str:
    """A prediction with its interval, in the digits that the interval justifies."""
    if low is None or high is None:
        return quantity.format(mean)
    return f"{quantity.format(mean)} ({quantity.format(low)} to {quantity.format(high)})"


def _drawn_note(drawn: int, every: int) -> str:
    return f"{drawn:,} of {every:,} labels are drawn here." if drawn < every else ""


def _predicted_words(points: Points, quantity: Quantity, everything: bool) -> Picture:
    """The probability that the other labels give to each label, a line for each word."""
    drawn = points if everything else evenly(points, MAX_LINKED)
    x = across([0.0, 1.0])
    words = quantity.words
    y = axis([-0.4, len(words) - 0.6], HEIGHT - 60.0, 24.0)
    ticks = [(y.at(float(code)), word) for code, word in enumerate(words)]
    marks = [
        Mark(x.place(one["mean"]), y.place(one["y"] + _spread(n)), *_dot(one["mean"] >= SURE), 4.5,
             one["id"], f"{one['id']}: {words[round(one['y'])]}, P {one['mean']:.2f}")
        for n, one in enumerate(drawn)
        if one["mean"] is not None
    ]  # fmt: skip
    shapes: list[Shape] = [
        *frame(x.marks, ticks, "probability of the label by all other labels", quantity.name),
        Line(x.place(SURE), y.place(y.low), x.place(SURE), y.place(y.high), "dashed"),
        *marks,
    ]
    rows = [(one["id"], words[round(one["y"])], one["mean"]) for one in points]
    legend = (Legend("circle", "dot", "expected"), Legend("diamond", "dot off", "not expected"))
    title = f"{quantity.name}: each label predicted from all others"
    return Picture(
        "predicted", title, WIDTH, HEIGHT, tuple(shapes), ("id", "measured", "probability"),
        tuple(rows), legend, _drawn_note(len(marks), len(points)),
    )  # fmt: skip


def _spread(n: int) -> float:
    """A small shift, so that marks do not hide each other."""
    return 0.28 * ((n * 7) % 11 - 5) / 5.0


def recent_picture(own: QuantityLedger) -> Picture | None:
    """The last labels in their predicted intervals; None before a predicted row is measured."""
    quantity = own.quantity
    past = [one for one in own.foretold if _is_predicted(one, quantity)]
    past = sorted(past, key=lambda one: one.told.seq)[-RECENT_LABELS:]
    if not past:
        return None
    return _recent_words(past, quantity) if quantity.words else _recent_numbers(past, quantity)


def _is_predicted(one: PredictedLabel, quantity: Quantity) -> bool:
    """Whether there was a prediction when the row was asked."""
    if quantity.words:
        return _probability(one, quantity) is not None
    return None not in (one.body["mean"], one.body["low"], one.body["high"])


def _slots(n: int) -> tuple[list[float], float]:
    """Horizontal positions of n labels, and half the width of a bar."""
    x = across([0.0, float(max(n, 6) - 1)])
    return [x.place(float(k)) for k in range(n)], min(9.0, 220.0 / max(n, 6))


def _recent_numbers(past: Sequence[PredictedLabel], quantity: Quantity) -> Picture:
    numbers: list[tuple[float, float, float, float]] = [
        (one.told.y, one.body["mean"], one.body["low"], one.body["high"])  # type: ignore[misc]
        for one in past
    ]
    y = upward([value for one in numbers for value in one])
    at, half = _slots(len(past))
    bars = [
        (x - half, y.place(high), 2.0 * half, max(y.place(low) - y.place(high), 1.0))
        for x, (_, _, low, high) in zip(at, numbers, strict=True)
    ]
    shapes: list[Shape] = [
        *frame(_slot_ticks(past, at), y.marks, "last labels, the newest at the right",
               quantity.column or "label"),
        Rectangles(tuple(bars), "band"),
        *(Line(x - half, y.place(mean), x + half, y.place(mean), "accent")
          for x, (_, mean, _, _) in zip(at, numbers, strict=True)),
        *(
            Mark(x, y.place(label), *_dot(low <= label <= high), 5.5, one.told.id,
                 f"{one.told.id}: measured {quantity.format(label, 6)}, "
                 f"predicted {_interval(quantity, mean, low, high)}", one.told.seq)
            for x, one, (label, mean, low, high) in zip(at, past, numbers, strict=True)
        ),
    ]  # fmt: skip
    rows = [(one.told.id, *four) for one, four in zip(past, numbers, strict=True)]
    inside = sum(low <= label <= high for label, _, low, high in numbers)
    return Picture(
        "recent", f"The last {len(past)} labels in their predicted intervals", WIDTH, HEIGHT,
        tuple(shapes), ("id", "measured", "predicted", "low", "high"), tuple(rows), _DOTS,
        f"{inside} of {len(past)} were inside the 90 % interval predicted when they were asked.",
    )  # fmt: skip


def _slot_ticks(past: Sequence[PredictedLabel], at: Sequence[float]) -> list[tuple[float, str]]:
    """Ids below the first and the last label, where they fit."""
    ends = [0, len(past) - 1] if len(past) > 3 else [len(past) - 1]
    return [(at[k], past[k].told.id) for k in ends]


def _probability(one: PredictedLabel, quantity: Quantity) -> float | None:
    """The probability that was predicted for the word that was measured."""
    if not quantity.words:
        return None
    word, p = quantity.words[round(one.told.y)], one.body.get("probabilities", {})
    if word in p:
        return p[word]
    mean = one.body["mean"]
    if mean is None or not quantity.is_binary:
        return None
    return mean if round(one.told.y) else 1.0 - mean


def _recent_words(past: Sequence[PredictedLabel], quantity: Quantity) -> Picture:
    y, (at, half) = upward([0.0, 1.0]), _slots(len(past))
    p = [_probability(one, quantity) or 0.0 for one in past]
    base = y.place(0.0)
    words = [quantity.words[round(one.told.y)] for one in past]
    shapes: list[Shape] = [
        *frame(_slot_ticks(past, at), y.marks, "last labels, the newest at the right",
               "probability of the measured word"),
        Rectangles(tuple((x - half, y.place(one), 2.0 * half, max(base - y.place(one), 0.5))
                         for x, one in zip(at, p, strict=True)), "band"),
        *(
            Mark(x, y.place(one), *_word_mark(quantity, label.told), 5.5, label.told.id,
                 f"{label.told.id}: {word}, predicted with probability {one:.2f}", label.told.seq)
            for x, one, label, word in zip(at, p, past, words, strict=True)
        ),
    ]  # fmt: skip
    legend = []
    for code, word in enumerate(quantity.words):
        style, shape = word_mark(quantity, code)
        legend.append(Legend(shape, style, word))
    rows = [(one.told.id, word, value) for one, word, value in zip(past, words, p, strict=True)]
    expected = sum(one >= SURE for one in p)
    return Picture(
        "recent", f"The last {len(past)} labels of {quantity.name}", WIDTH, HEIGHT, tuple(shapes),
        ("id", "measured", "probability"), tuple(rows), tuple(legend),
        f"{expected} of {len(past)} were predicted with a probability of at least one half.",
    )  # fmt: skip


def word_mark(quantity: Quantity, code: int) -> tuple[str, MarkShape]:
    """Style and shape of the marks of a word: a triangle for a fail, a circle for a pass."""
    if quantity.is_binary:
        return ("dot", "circle") if code else ("dot off", "triangle")
    return f"label-{(code * 3 + 1) % 9}", MARK_SHAPES[code % (len(MARK_SHAPES) - 1)]


def _word_mark(quantity: Quantity, told: LedgerLabel) -> tuple[str, MarkShape]:
    return word_mark(quantity, round(told.y))


def best_picture(
    own: QuantityLedger, course: Sequence[tuple[int, float]], level: tuple[str, float] | None,
    name: str, everything: bool = False,
) -> Picture | None:  # fmt: skip
    """All labels in their order, and the best so far; None without a label."""
    told = list(enumerate(own.told(), start=1))
    if not told or not course:
        return None
    quantity = own.quantity
    drawn = told if everything else evenly(told, MAX_LINKED)
    levels = [level[1]] if level else []
    x = across([0.0, float(max(told[-1][0], course[-1][0]))])
    y = upward([*(one.y for _, one in told), *(value for _, value in course), *levels])
    steps: list[tuple[float, float]] = []
    for labels, value in course:
        if steps:
            steps.append((x.place(labels), steps[-1][1]))
        steps.append((x.place(labels), y.place(value)))
    steps.append((x.place(x.high), steps[-1][1]))
    shapes: list[Shape] = [
        *frame(x.marks, y.marks, "labels", quantity.column or "label"),
        *(Line(x.start, y.place(one), x.end, y.place(one), "dashed") for one in levels),
        Path(tuple(steps), "accent"),
        *(
            Mark(x.place(n), y.place(one.y), "dot", "circle", 4.5, one.id,
                 f"{one.id}: {quantity.format(one.y, 6)}, label {n}", one.seq)
            for n, one in drawn
        ),
    ]  # fmt: skip
    best = dict(course)
    rows = [(n, one.id, one.y, best.get(n)) for n, one in told]
    return Picture(
        "best", f"Best so far: {name}", WIDTH, HEIGHT, tuple(shapes),
        ("label", "id", "measured", "best so far"), tuple(rows),
        (Legend("circle", "dot", "a label"),),
        _drawn_note(len(drawn), len(told)) or (f"The dashed line is {level[0]}." if level else ""),
    )  # fmt: skip


def curve_picture(
    at: Sequence[int], lines: Sequence[tuple[str, Sequence[float | None]]],
    levels: Sequence[tuple[str, float]], name: str, from_zero: bool,
) -> Picture:  # fmt: skip
    """The learning curve as a picture to take home."""
    values = [one for _, several in lines for one in several] + [one for _, one in levels]
    x, y = across([float(one) for one in at]), upward([*values, *([0.0] if from_zero else [])])
    shapes: list[Shape] = [*frame(x.marks, y.marks, "labels", name)]
    for (_, several), style in zip(lines, CURVE_STYLES, strict=False):
        pairs = zip(at, several, strict=True)
        points = [(x.place(n), y.place(one)) for n, one in pairs if one is not None]
        shapes.append(Path(tuple(points), style))
    shapes += [Line(x.start, y.place(one), x.end, y.place(one), "dashed") for _, one in levels]
    table = [(n, *(several[k] for _, several in lines)) for k, n in enumerate(at)]
    named = [
        Legend("square", "bar" if style == "accent" else f"{style}-fill", line)
        for (line, _), style in zip(lines, CURVE_STYLES, strict=False)
    ]
    dashed = "; ".join(f"{line} {value:.4g}" for line, value in levels)
    return Picture(
        "curve", f"Learning curve: {name}", WIDTH, HEIGHT, tuple(shapes),
        ("labels", *(line for line, _ in lines)), tuple(table), tuple(named),
        f"Dashed: {dashed}." if dashed else "",
    )  # fmt: skip
