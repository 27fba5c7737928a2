"""Axes of pictures: round ticks, positions of points in plain Python, and the frame around them.

A value that is not finite has no position and is not drawn.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from weal.web.picture import Line, Rectangles, Shape, Text, truncated

MARGIN = 0.05  # of the range, on either side
WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 720.0, 430.0, 84.0, 52.0, 12.0, 14.0  # pixels
X_TICK_LETTERS, Y_TICK_LETTERS, X_NAME_LETTERS, Y_NAME_LETTERS = 14, 9, 74, 44
Ticks = Sequence[tuple[float | None, str]]


@dataclass(frozen=True, slots=True)
class SvgAxis:
    """A range of values mapped to positions on a picture."""

    low: float
    high: float
    start: float  # position of `low`
    end: float
    ticks: tuple[float, ...]

    def at(self, value: float | None) -> float | None:
        """The position of a value, clipped to the picture; None if it is not finite."""
        if value is None or not math.isfinite(value):
            return None
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + min(max(share, -0.02), 1.02) * (self.end - self.start), 2)

    def place(self, value: float) -> float:
        """The position of a value; the start of the axis if it is not finite."""
        found = self.at(value)
        return self.start if found is None else found

    @property
    def marks(self) -> list[tuple[float | None, str]]:
        """Positions of the ticks and their texts."""
        return [(self.at(tick), f"{tick:.6g}") for tick in self.ticks]


def axis(values: Iterable[float | None], start: float, end: float, n: int = 5) -> SvgAxis:
    """An axis that spans these values, with about n round ticks.

    >>> axis([0.0, 97.0], 0, 100).ticks
    (0.0, 20.0, 40.0, 60.0, 80.0, 100.0)
    """
    known = [one for one in values if one is not None and math.isfinite(one)] or [0.0, 1.0]
    low, high = min(known), max(known)
    spread = (high - low) or abs(high) or 1.0
    if not math.isfinite(spread):  # the range overflows
        low, high, spread = low / 4, high / 4, high / 4 - low / 4
    low, high = low - MARGIN * spread, high + MARGIN * spread
    return SvgAxis(low, high, start, end, _ticks(low, high, n))


def _ticks(low: float, high: float, n: int) -> tuple[float, ...]:
    step = _round_step((high - low) / n)
    first = math.ceil(low / step)
    found = (step * k for k in range(first, first + 2 * n + 2))
    return tuple(0.0 if abs(one) < 1e-9 * step else one for one in found if one <= high)


def _round_step(step: float) -> float:
    """The nearest 1, 2 or 5 times a power of ten, by ratio."""
    power = 10.0 ** math.floor(math.log10(step))
    steps = [m * power for m in (1.0, 2.0, 5.0, 10.0)]
    return min(steps, key=lambda one: abs(math.log(one / step)))


def across(values: Iterable[float | None]) -> SvgAxis:
    """The horizontal axis of a picture."""
    return axis(values, LEFT, WIDTH - RIGHT)


def upward(values: Iterable[float | None]) -> SvgAxis:
    """The vertical axis of a picture."""
    return axis(values, HEIGHT - BOTTOM, TOP)


def frame(x_ticks: Ticks, y_ticks: Ticks, x_name: str, y_name: str) -> list[Shape]:
    """The frame of a picture: a box, ticks and their texts, and the names of the axes."""
    bottom = HEIGHT - BOTTOM
    found: list[Shape] = [
        Rectangles(((LEFT, TOP, WIDTH - LEFT - RIGHT, bottom - TOP),), "plain"),
        Text((WIDTH + LEFT) / 2, HEIGHT - 8.0, truncated(x_name, X_NAME_LETTERS), "name"),
        Text(15.0, (bottom + TOP) / 2, truncated(y_name, Y_NAME_LETTERS), "name", turned=True),
    ]
    for place, words in x_ticks:
        if place is not None:
            found.append(Line(place, bottom, place, bottom + 5.0, "axis"))
            found.append(Text(place, bottom + 20.0, truncated(words, X_TICK_LETTERS)))
    for place, words in y_ticks:
        if place is not None:
            found.append(Line(LEFT - 5.0, place, LEFT, place, "axis"))
            found.append(
                Text(LEFT - 8.0, place + 4.0, truncated(words, Y_TICK_LETTERS), anchor="end")
            )
    return found
