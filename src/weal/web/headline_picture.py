"""The headline of a status as a picture: the number now beside what it is compared with.

One bar for each, on one axis: after the first labels, now with its 90 % interval, as many rows
chosen at random (estimated by the model), guessing. The best label and its comparisons are marks,
since their axis does not begin at 0.
"""

from collections.abc import Mapping
from typing import Any

from weal.text import decimals, number, percent
from weal.web.picture import (
    Legend,
    Line,
    Mark,
    Picture,
    Rectangles,
    Shape,
    Text,
    truncated,
)
from weal.web.svg_axes import SvgAxis, axis

WIDTH, LEFT, RIGHT, TOP, ROW, BAR = 720.0, 12.0, 200.0, 8.0, 62.0, 18.0  # pixels
MAX_NAME_LETTERS = 48
ESTIMATED = " (estimated)"
TITLES = {
    "error": "Error of predictions",
    "accuracy": "Labels predicted right",
    "best": "Best found",
    "members": "Rows found",
    "front": "Pareto rows found",
}
Body = Mapping[str, Any]  # of a headline, as JSON


def headline_picture(found: Body, labels: int, column: str | None) -> Picture:
    """The bars of a headline; `labels` is the number of labels now."""
    now = {"name": f"now, {labels:,} labels", "value": found["value"], "low": found["low"],
           "high": found["high"], "estimated": False}  # fmt: skip
    every = [*found["comparisons"]]
    is_first = bool(every) and every[0]["name"].startswith("first ")
    every.insert(1 if is_first else 0, now)
    ends = [one[key] for one in every for key in ("value", "low", "high")]
    from_zero = found["kind"] != "best"
    x = axis([*ends, *([0.0] if from_zero else [])], LEFT, WIDTH - RIGHT)
    shapes: list[Shape] = []
    for n, one in enumerate(every):
        shapes += _bar(one, x, TOP + n * ROW, one is now, from_zero, _shown(found, one))
    height = TOP + ROW * len(every)
    of = f", {column}" if column and found["kind"] in ("error", "best") else ""
    return Picture(
        "progress",
        f"{TITLES[found['kind']]}{of}",
        WIDTH,
        height,
        tuple(shapes),
        ("name", "value", "low", "high", "estimated"),
        tuple(
            (
                one["name"],
                one["value"],
                one["low"],
                one["high"],
                "yes" if one["estimated"] else "no",
            )
            for one in every
        ),
        (
            Legend("square", "bar", "measured"),
            Legend("square", "bar-soft", "estimated, or guessing"),
        ),
        found["note"],
    )


def _bar(
    one: Body, x: SvgAxis, top: float, is_now: bool, from_zero: bool, words: str
) -> list[Shape]:
    """A bar or mark with its name above, its value at its end, and its interval."""
    name = f"{one['name']}{ESTIMATED if one['estimated'] else ''}"
    is_soft = one["estimated"] or one["name"].startswith("guessing")
    value, middle = x.place(one["value"]), top + 26.0 + 0.5 * BAR
    found: list[Shape] = [
        Text(LEFT, top + 19.0, truncated(name, MAX_NAME_LETTERS), "value", "start")
    ]
    if from_zero:
        width = max(value - x.place(0.0), 1.5)
        style = "bar-soft" if is_soft else "bar"
        found.append(Rectangles(((x.place(0.0), top + 26.0, width, BAR),), style))
    else:
        found.append(Line(x.start, middle, x.end, middle, "axis"))
        found.append(Mark(value, middle, "candidate" if is_soft else "dot", "circle", 8.0))
    end = value
    if one["low"] is not None and one["high"] is not None and one["high"] > one["low"]:
        low, high = x.place(one["low"]), x.place(one["high"])
        found.append(Line(low, middle, high, middle, "ink"))
        found += [Line(at, middle - 6.0, at, middle + 6.0, "ink") for at in (low, high)]
        end = max(value, high)
    found.append(Text(end + 12.0, middle + 5.0, words, "name" if is_now else "value", "start"))
    return found


def _shown(found: Body, one: Body) -> str:
    """A value in the digits of the headline."""
    if found["kind"] == "accuracy":
        return percent(one["value"])
    if found["kind"] in ("members", "front"):
        return f"{one['value']:,.0f}"
    left = found["remaining"] or {"low": found["low"], "high": found["high"]}
    low, high = left["low"], left["high"]
    places = decimals(low, high) if low is not None and high is not None else None
    if places is None and "e" not in found["shown"]:
        places = len(found["shown"].partition(".")[2])
    return number(one["value"]) if places is None else f"{one['value']:.{places}f}"
