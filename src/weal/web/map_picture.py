"""The map of candidates and labels as a picture, from the answer of the job `candidate_map`.

Candidates are dots, or squares whose area is the share of candidates in a cell of a grid. Their
shade is the prediction. Labels of numbers are circles in the shade of the label; labels of words
have a shape for each word. Rows that are out are diamonds, failed runs are crosses.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from weal.quantities.protocol import Quantity
from weal.web.job_context import CandidateMapJson, MapAxisJson
from weal.web.label_pictures import word_mark
from weal.web.picture import (
    SHADE_COLOURS,
    Legend,
    Mark,
    MarkShape,
    Picture,
    Rectangles,
    Shape,
    evenly,
)
from weal.web.svg_axes import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, SvgAxis, Ticks, axis, frame

MAX_LINKED = 150  # labels that are drawn on a page
SHADES = len(SHADE_COLOURS)
COLUMNS = ("kind", "id", "candidates", "predicted", "measured")


def map_picture(found: CandidateMapJson, quantity: Quantity, everything: bool = False) -> Picture:
    """The picture; `everything`: with all labels, for a file."""
    x, x_ticks = map_axis(found["x"], LEFT + 8.0, WIDTH - RIGHT - 8.0)
    y, y_ticks = map_axis(found["y"], HEIGHT - BOTTOM - 8.0, TOP + 8.0)
    shade = _shades(found, quantity)
    labels = found["labels"] if everything else evenly(found["labels"], MAX_LINKED)
    shapes: list[Shape] = [
        *_cells(found, x, y, shade),
        *frame(x_ticks, y_ticks, found["x"]["name"], found["y"]["name"]),
        *(
            Mark(
                x.place(a), y.place(b), "candidate" if mean is None else f"shade-{shade(mean)}",
                size=3.5, id=id_, title=f"{id_}: {_predicted(quantity, mean)}",
            )
            for id_, a, b, mean in found["points"]
        ),
        *(
            Mark(x.place(a), y.place(b), *_label_look(quantity, label, shade), 5.0, id_,
                 f"{id_}: measured {quantity.format(label, 6)}", event)
            for id_, a, b, label, event in labels
        ),
        *(
            Mark(x.place(a), y.place(b), "failed", "cross", 4.5, id_, f"{id_}: the run failed")
            for id_, a, b in found["failed"]
        ),
        *(
            Mark(x.place(a), y.place(b), "next", "diamond", 6.0, id_, f"{id_}: to be measured next")
            for id_, a, b in found["next"]
        ),
    ]  # fmt: skip
    return Picture(
        "candidates",
        f"{quantity.column or 'Labels'} of the candidates: "
        f"{len(found['labels'])} measured, {len(found['next'])} next",
        WIDTH,
        HEIGHT,
        tuple(shapes),
        (*COLUMNS, found["x"]["name"], found["y"]["name"]),
        tuple(_table(found, quantity)),
        tuple(_legend(found, quantity)),
        _note(found, quantity, len(labels)),
    )


def map_axis(found: MapAxisJson, start: float, end: float) -> tuple[SvgAxis, Ticks]:
    """The axis of a map, and its ticks."""
    low, high = found["low"], found["high"]
    if not high > low:
        low, high = low - 0.5, high + 0.5
    if found["levels"]:
        exact = SvgAxis(low, high, start, end, ())
        return exact, [(exact.at(float(n)), one) for n, one in enumerate(found["levels"])]
    exact = SvgAxis(low, high, start, end, axis([low, high], start, end).ticks)
    shown = [tick for tick in exact.ticks if low <= tick <= high]
    return exact, [(exact.at(tick), value_text(tick, found)) for tick in shown]


def value_text(position: float, found: MapAxisJson) -> str:
    """The value at a position of an axis, as text."""
    if found["levels"]:
        return found["levels"][min(max(round(position), 0), len(found["levels"]) - 1)]
    if found["origin"] is not None:
        return _date(datetime.fromisoformat(found["origin"]) + timedelta(days=position))
    return f"{10.0**position:.3g}" if found["log"] else f"{position:.6g}"


def _date(time: datetime) -> str:
    whole = time + timedelta(microseconds=500)
    return f"{whole:%Y-%m-%d}" if whole.hour == whole.minute == 0 else f"{whole:%Y-%m-%d %H:%M}"


def _value(position: float, found: MapAxisJson) -> object:
    """The value at a position for the table: a number where it is one."""
    if found["levels"] or found["origin"] is not None:
        return value_text(position, found)
    return float(f"{10.0**position if found['log'] else position:.12g}")


class _Shades:
    """The shade of a prediction or label: SHADES of them over the range of all."""

    def __init__(self, values: list[float]) -> None:
        self.low = min(values, default=0.0)
        self.high = max(values, default=1.0)

    def __call__(self, value: float) -> int:
        share = (value - self.low) / ((self.high - self.low) or 1.0)
        return min(max(int((SHADES - 1) * share + 0.5), 0), SHADES - 1)


def _shades(found: CandidateMapJson, quantity: Quantity) -> _Shades:
    if quantity.is_binary:
        return _Shades([0.0, 1.0])
    values = [one[-1] for one in (*found["points"], *found["cells"]) if one[-1] is not None]
    return _Shades([*values, *(one[3] for one in found["labels"])])


def _label_look(quantity: Quantity, label: float, shade: _Shades) -> tuple[str, MarkShape]:
    """Style and shape of a label."""
    if not quantity.words:
        return f"label-{shade(label)}", "circle"
    return word_mark(quantity, round(label))


def _predicted(quantity: Quantity, mean: float | None) -> str:
    if mean is None:
        return "not measured"
    if quantity.is_binary:
        return f"P({quantity.words[1]}) {mean:.2f}"
    return f"predicted {quantity.format(mean)}"


def _cells(found: CandidateMapJson, x: SvgAxis, y: SvgAxis, shade: _Shades) -> Iterator[Rectangles]:
    """Squares in the cells of the grid, one shape for each shade."""
    across, down = found["grid"]
    width, height = (x.end - x.start) / across, (y.start - y.end) / down
    most = max((one[2] for one in found["cells"]), default=1)
    styles: dict[str, list[tuple[float, float, float, float]]] = {}
    for k, row, count, mean in found["cells"]:
        side = max((count / most) ** 0.5, 0.2)
        w, h = side * width, side * height
        left = x.start + (k + 0.5) * width - 0.5 * w
        top = y.start - (row + 0.5) * height - 0.5 * h
        style = "candidate" if mean is None else f"shade-{shade(mean)}"
        styles.setdefault(style, []).append((left, top, w, h))
    for style, each in styles.items():
        yield Rectangles(tuple(each), style)


def _table(found: CandidateMapJson, quantity: Quantity) -> Iterator[tuple[object, ...]]:
    """Rows of the table: labels, failed runs, next rows, candidates or cells (at their middle)."""
    x, y = found["x"], found["y"]
    for id_, a, b, label, _ in found["labels"]:
        told = quantity.format(label) if quantity.words else label
        yield "measured", id_, 1, None, told, _value(a, x), _value(b, y)
    for kind, points in (("failed", found["failed"]), ("next", found["next"])):
        for id_, a, b in points:
            yield kind, id_, 1, None, None, _value(a, x), _value(b, y)
    for id_, a, b, mean in found["points"]:
        yield "candidate", id_, 1, mean, None, _value(a, x), _value(b, y)
    for k, row, count, mean in found["cells"]:
        a = x["low"] + (k + 0.5) * (x["high"] - x["low"]) / found["grid"][0]
        b = y["low"] + (row + 0.5) * (y["high"] - y["low"]) / found["grid"][1]
        yield "cell", None, count, mean, None, _value(a, x), _value(b, y)


def _legend(found: CandidateMapJson, quantity: Quantity) -> Iterator[Legend]:
    if quantity.words:
        for code, word in enumerate(quantity.words):
            style, shape = _label_look(quantity, float(code), _Shades([]))
            yield Legend(shape, style, f"measured {word}")
    elif found["labels"]:
        yield Legend("circle", "label-6", "measured")
    if found["next"]:
        yield Legend("diamond", "next", "to be measured next")
    if found["failed"]:
        yield Legend("cross", "failed", "the run failed")
    style = "shade-4" if any(one[-1] is not None for one in found["points"]) else "candidate"
    if found["points"]:
        yield Legend("circle", style, "not measured")
    if found["cells"]:
        yield Legend("square", "shade-4", "number of candidates")


def _note(found: CandidateMapJson, quantity: Quantity, drawn: int) -> str:
    """What the shades mean, and what is left out."""
    sentences, shade = [], _shades(found, quantity)
    known = any(one[-1] is not None for one in (*found["points"], *found["cells"]))
    if known and quantity.is_binary:
        sentences.append(f"Darker means a higher probability of {quantity.words[1]}.")
    elif known:
        low, high = quantity.format(shade.low, 3), quantity.format(shade.high, 3)
        sentences.append(f"Light is {low}, dark is {high}, predicted or measured.")
    for number, one in enumerate((found["x"], found["y"]), start=1):
        if one["words"]:
            sentences.append(f"Axis {number}: {one['words']}.")
    if found["over"] < found["rows"]:
        sentences.append(f"{found['over']:,} of {found['rows']:,} candidates are counted.")
    if drawn < len(found["labels"]):
        sentences.append(f"{drawn:,} of {len(found['labels']):,} labels are drawn here.")
    return " ".join(sentences)
