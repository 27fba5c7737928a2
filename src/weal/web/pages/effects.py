"""What an input does to what is expected, and a map over two, as pictures."""

import math
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Response

from weal.web.pages.explore import inputs_of, job_key
from weal.web.request import Here
from weal.web.svg_axes import SvgAxis, axis, band, line

router = APIRouter()
EFFECT_WIDTH, EFFECT_HEIGHT, EFFECT_LEFT, EFFECT_BOTTOM = 640, 360, 64, 48
SHADES = 9  # of a map
Name = Annotated[str, Query(max_length=10_000)]


@router.get("/c/{name}/effects")
def effects(here: Here, x: Name = "", y: Name = "") -> Response:
    """Which input, and which second one."""
    inputs = inputs_of(here)
    x = x if x in inputs else next(iter(inputs), "")
    y = y if y in inputs and y != x else ""
    return here.page("explore/effects.html", inputs=inputs, x=x, y=y, picture=_address(here, x, y))


def _address(here: Any, x: str, y: str) -> str:
    return f"{here.url('effects/picture')}?{urlencode({'x': x, 'y': y})}"


@router.get("/c/{name}/effects/picture")
def picture(here: Here, x: Name, y: Name = "") -> Response:
    """The picture, once the worker has found what is on it."""
    kind = "map" if y else "effect"
    given = {"x": x, "y": y} if y else {"input": x}
    job = here.submit(kind, job_key(here, kind, x, y), name=here.name, **given)
    if not job.finished.wait(0.25):
        return here.page("explore/wait.html", again=_address(here, x, y))
    found = here.done(job.id, "map", "effect")
    if found is None:
        return here.page("explore/no_model.html")
    shown = {
        "found": found,
        "width": EFFECT_WIDTH,
        "height": EFFECT_HEIGHT,
        "target": here.ledger.target,
    }
    if y:
        return here.page("explore/map.html", **shown, **drawn_map(found))
    return here.page("explore/effect.html", **shown, **drawn_effect(found))


def drawn_effect(found: dict[str, Any]) -> dict[str, Any]:
    """A line with its band; of a category a bar for each level."""
    mean, sd = found["mean"], found["sd"]
    low = [m - 1.645 * s for m, s in zip(mean, sd, strict=True)]
    high = [m + 1.645 * s for m, s in zip(mean, sd, strict=True)]
    y = axis([*low, *high], EFFECT_HEIGHT - EFFECT_BOTTOM, 12)
    x, ticks = _horizontal(found, EFFECT_LEFT, EFFECT_WIDTH - 12)
    xs = places(found)
    bars = [
        {"cx": x.at(a), "cy": y.at(m), "top": y.at(h), "end": y.at(b)}
        for a, m, b, h in zip(xs, mean, low, high, strict=True)
    ]
    return {"y_ticks": y.marks, "ticks": ticks, "bars": bars, "line": line(x, y, xs, mean),
            "band": band(x, y, xs, low, high)}  # fmt: skip


def drawn_map(found: dict[str, Any]) -> dict[str, Any]:
    """Cells in shades, and the measured rows on them."""
    x, x_ticks = _horizontal(found["x"], EFFECT_LEFT, EFFECT_WIDTH - 12)
    y, y_ticks = _horizontal(found["y"], EFFECT_HEIGHT - EFFECT_BOTTOM, 12)
    flat = [one for row in found["mean"] for one in row]
    low, high = min(flat), max(flat)
    across, down = _spans(x, places(found["x"])), _spans(y, places(found["y"]))
    cells = [
        {"x": left, "y": top, "width": width, "height": height, "mean": one,
         "shade": int((SHADES - 1) * (one - low) / ((high - low) or 1.0) + 0.5)}
        for (top, height), row in zip(down, found["mean"], strict=True)
        for (left, width), one in zip(across, row, strict=True)
    ]  # fmt: skip
    points = [
        (id_, label, x.at(_place(found["x"], a)), y.at(_place(found["y"], b)))
        for id_, a, b, label in found["points"]
    ]
    return {"ticks": x_ticks, "y_ticks": y_ticks, "cells": cells,
            "points": points, "low": low, "high": high, "shades": range(SHADES)}  # fmt: skip


def _spans(axis: SvgAxis, at: list[float]) -> list[tuple[float, float]]:
    """Where the cell of each place begins on the picture, and how far it goes: half way to both."""
    middle = [0.5 * (a + b) for a, b in pairwise(at)]
    ends = [axis.at(one) or 0.0 for one in [axis.low, *middle, axis.high]]
    return [(round(min(a, b), 2), round(abs(b - a) + 0.3, 2)) for a, b in pairwise(ends)]


def places(found: dict[str, Any]) -> list[float]:
    """Where the values of an input lie: numbers where they are, levels side by side."""
    if found["levels"]:
        return [float(n) for n in range(len(found["values"]))]
    return [_place(found, float(one)) for one in found["values"]]


def _place(found: dict[str, Any], value: float) -> float:
    return math.log10(max(value, 5e-324)) if found["log"] else value


def _horizontal(found: dict[str, Any], start: float, end: float) -> tuple[SvgAxis, list[Any]]:
    """The axis of an input and its ticks, pairs of place and words."""
    at = places(found)
    if found["levels"]:
        edge = SvgAxis(-0.5, len(at) - 0.5, start, end, ())
        return edge, [(edge.at(n), name) for n, name in zip(at, found["levels"], strict=True)]
    low, high = min(at), max(at)
    exact = SvgAxis(low, high if high > low else low + 1.0, start, end, axis(at, start, end).ticks)
    shown = [tick for tick in exact.ticks if exact.low <= tick <= exact.high]
    return exact, [(exact.at(tick), _tick_text(tick, found)) for tick in shown]


def _tick_text(tick: float, found: dict[str, Any]) -> str:
    if found["origin"] is None:
        return f"{10.0**tick:.3g}" if found["log"] else f"{tick:.6g}"
    return f"{datetime.fromisoformat(found['origin']) + timedelta(days=tick):%Y-%m-%d}"
