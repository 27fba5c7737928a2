"""Partial dependence as pictures: a line with its band, bars of levels, or a map of two inputs.

The data are those of the jobs `effect` and `map`. Positions of a log axis are logs to base 10,
those of levels their numbers, those of dates days since the origin of the axis.
"""

import math
from datetime import datetime, timedelta
from itertools import pairwise

from weal.quantities.protocol import Quantity
from weal.text import number
from weal.web.job_context import AxisJson, EffectJson, MapJson
from weal.web.picture import SHADE_COLOURS, Line, Mark, Path, Picture, Rectangles, Shape
from weal.web.svg_axes import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    SvgAxis,
    Ticks,
    axis,
    frame,
    upward,
)

SHADES = len(SHADE_COLOURS)


def effect_picture(found: EffectJson, target: str) -> Picture:
    """The effect of one input, with its band."""
    mean, low, high = found["mean"], found["low"], found["high"]
    x, ticks = _input_axis(found, LEFT, WIDTH - RIGHT)
    y = upward([*low, *high])
    at = [x.place(one) for one in axis_positions(found)]
    middle, least, most = ([y.place(one) for one in several] for several in (mean, low, high))
    shapes: list[Shape] = frame(ticks, y.marks, found["name"], f"predicted {target}")
    if found["levels"]:
        for a, m, b, h in zip(at, middle, least, most, strict=True):
            shapes += [Line(a, h, a, b, "level"), Mark(a, m, "dot", size=5.0)]
    else:
        there, back = zip(at, least, strict=True), zip(reversed(at), reversed(most), strict=True)
        shapes.append(Path((*there, *back), "band", closed=True))
        shapes.append(Path(tuple(zip(at, middle, strict=True)), "accent"))
    values = [_value(one, found) for one in axis_positions(found)]
    band = "; the band is its 90 % interval" if low != mean else ""
    return Picture(
        "effect", f"Effect of {found['name']} on {target}", WIDTH, HEIGHT, tuple(shapes),
        (found["name"], "predicted", "low", "high"),
        tuple(zip(values, mean, low, high, strict=True)), (),
        f"Partial dependence: the average prediction for {found['over']} candidates if "
        f"{found['name']} had each value{band}.",
    )  # fmt: skip


def effect_map(found: MapJson, target: str, quantity: Quantity | None) -> Picture:
    """The effect of two inputs as shaded cells, with the measured rows."""
    x, x_ticks = _input_axis(found["x"], LEFT, WIDTH - RIGHT)
    y, y_ticks = _input_axis(found["y"], HEIGHT - BOTTOM, TOP)
    flat = [one for row in found["mean"] for one in row]
    low, high = min(flat), max(flat)
    across, down = _spans(x, axis_positions(found["x"])), _spans(y, axis_positions(found["y"]))
    cells: dict[str, list[tuple[float, float, float, float]]] = {}
    for (top, height), row in zip(down, found["mean"], strict=True):
        for (left, width), one in zip(across, row, strict=True):
            shade = int((SHADES - 1) * (one - low) / ((high - low) or 1.0) + 0.5)
            cells.setdefault(f"shade-{shade}", []).append((left, top, width, height))
    shapes: list[Shape] = [Rectangles(tuple(each), style) for style, each in cells.items()]
    shapes += frame(x_ticks, y_ticks, found["x"]["name"], found["y"]["name"])
    for id_, a, b, label in found["points"]:
        told = "" if label is None else quantity.format(label, 6) if quantity else number(label, 6)
        place = (x.place(_position(found["x"], a)), y.place(_position(found["y"], b)))
        shapes.append(Mark(*place, "mark", size=4.0, id=id_, title=f"{id_}: measured {told}"))
    rows = [
        (_value(a, found["x"]), _value(b, found["y"]), one)
        for b, row in zip(axis_positions(found["y"]), found["mean"], strict=True)
        for a, one in zip(axis_positions(found["x"]), row, strict=True)
    ]
    return Picture(
        "effect", f"Prediction over {found['x']['name']} and {found['y']['name']}", WIDTH, HEIGHT,
        tuple(shapes), (found["x"]["name"], found["y"]["name"], "predicted"), tuple(rows), (),
        f"Predicted {target}: light is {number(low, 3)}, dark is {number(high, 3)}. Average over "
        f"{found['over']} candidates; circles are measured rows.",
    )  # fmt: skip


def _spans(axis: SvgAxis, positions: list[float]) -> list[tuple[float, float]]:
    """Begin and width of the cell of each position; cells meet half way."""
    middle = [0.5 * (a + b) for a, b in pairwise(positions)]
    ends = [axis.place(one) for one in [axis.low, *middle, axis.high]]
    return [(round(min(a, b), 2), round(abs(b - a) + 0.3, 2)) for a, b in pairwise(ends)]


def axis_positions(found: AxisJson) -> list[float]:
    """Positions of an input's values on its axis; levels are numbered."""
    if found["levels"]:
        return [float(n) for n in range(len(found["values"]))]
    return [_position(found, float(one)) for one in found["values"]]


def _position(found: AxisJson, value: float) -> float:
    return math.log10(max(value, 5e-324)) if found["log"] else value


def _input_axis(found: AxisJson, start: float, end: float) -> tuple[SvgAxis, Ticks]:
    """The axis of an input and its ticks (position, text)."""
    at = axis_positions(found)
    if found["levels"]:
        edge = SvgAxis(-0.5, len(at) - 0.5, start, end, ())
        return edge, [(edge.at(n), name) for n, name in zip(at, found["levels"], strict=True)]
    low, high = min(at), max(at)
    exact = SvgAxis(low, high if high > low else low + 1.0, start, end, axis(at, start, end).ticks)
    shown = [tick for tick in exact.ticks if exact.low <= tick <= exact.high]
    return exact, [(exact.at(tick), str(_value(tick, found, 6))) for tick in shown]


def _value(position: float, found: AxisJson, digits: int = 12) -> object:
    """The value at a position: a number, the name of a level, or a date."""
    if found["levels"]:
        return found["levels"][round(position)]
    if found["origin"] is not None:
        return f"{datetime.fromisoformat(found['origin']) + timedelta(days=position):%Y-%m-%d}"
    return f"{10.0**position:.3g}" if found["log"] and digits < 12 else _number(position, found)


def _number(position: float, found: AxisJson) -> float | int:
    value = float(f"{10.0**position if found['log'] else position:.12g}")
    return int(value) if value.is_integer() and abs(value) < 1e15 else value
