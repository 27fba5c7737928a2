"""Partial dependence of the prediction on one input, and a map of two inputs, as SVG pictures."""

import math
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Response

from weal.quantities.kinds import WORKED
from weal.web.job_context import Arguments, AxisJson, EffectJson, MapJson
from weal.web.pages.quantity_view import inputs_of, job_key
from weal.web.request import CampaignRead, CampaignRequest
from weal.web.svg_axes import SvgAxis, axis, band, line

router = APIRouter()
EFFECT_WIDTH, EFFECT_HEIGHT, EFFECT_LEFT, EFFECT_BOTTOM = 640, 360, 64, 48
SHADES = 9  # of a map
Name = Annotated[str, Query(max_length=10_000)]


@router.get("/c/{name}/effects")
def effects(context: CampaignRead, x: Name = "", y: Name = "") -> Response:
    """The page: its form chooses one input, or two."""
    inputs = inputs_of(context)
    x = x if x in inputs else next(iter(inputs), "")
    y = y if y in inputs and y != x else ""
    return context.page(
        "explore/effects.html", inputs=inputs, x=x, y=y, picture=_address(context, x, y),
        parts=_parts(context), part=_part(context),
    )  # fmt: skip


def _parts(context: CampaignRequest) -> list[str]:
    """What a picture can be about: quantities, the levels of classes, and whether runs work."""
    ledger, found = context.ledger, list[str]()
    for one in ledger.quantities.values():
        parts = one.quantity.parts()
        found += [part.name for part in (parts[:1] if parts[0] == one.quantity else parts)]
    return [*found, WORKED] if ledger.failures.labels and WORKED not in found else found


def _part(context: CampaignRequest) -> str:
    """The part in the address, or the first one."""
    named, parts = context.request.query_params.get("quantity", ""), _parts(context)
    return named if named in parts else parts[0]


def _address(context: CampaignRequest, x: str, y: str) -> str:
    query = {"x": x, "y": y}
    if len(_parts(context)) > 1:
        query["quantity"] = _part(context)
    return f"{context.url('effects/picture')}?{urlencode(query)}"


@router.get("/c/{name}/effects/picture")
def picture(context: CampaignRead, x: Name, y: Name = "") -> Response:
    """The picture once the worker has computed it."""
    kind = "map" if y else "effect"
    part = _part(context)
    given: Arguments = {"name": context.name, "quantity": part}
    given |= {"x": x, "y": y} if y else {"input": x}
    job = context.submit(kind, job_key(context, kind, x, y, part), **given)
    if not context.has_finished(job):
        return context.page("explore/wait.html", again=_address(context, x, y))
    found = context.job_result(job.id, "map", "effect")
    if found is None:
        return context.page("explore/no_model.html")
    shown = {
        "found": found,
        "width": EFFECT_WIDTH,
        "height": EFFECT_HEIGHT,
        "target": _title(context, part),
    }
    if y:
        return context.page("explore/map.html", **shown, **map_geometry(found))
    return context.page("explore/effect.html", **shown, **effect_geometry(found))


def _title(context: CampaignRequest, part: str) -> str | None:
    """The title of the axis of a picture: the column of a number, P(...) of words."""
    own = context.ledger.quantities.get(part)
    if own is not None and not own.quantity.is_binary:
        return own.quantity.column
    if part == WORKED:
        return "P(works)"
    return f"P({part if own is None else f'{part} is {own.quantity.words[1]}'})"


def effect_geometry(found: EffectJson) -> dict[str, object]:
    """A line with its band, or a bar for each level of a category."""
    mean, low, high = found["mean"], found["low"], found["high"]
    y = axis([*low, *high], EFFECT_HEIGHT - EFFECT_BOTTOM, 12)
    x, ticks = _horizontal(found, EFFECT_LEFT, EFFECT_WIDTH - 12)
    xs = axis_positions(found)
    bars = [
        {"cx": x.at(a), "cy": y.at(m), "top": y.at(h), "end": y.at(b)}
        for a, m, b, h in zip(xs, mean, low, high, strict=True)
    ]
    return {"y_ticks": y.marks, "ticks": ticks, "bars": bars, "line": line(x, y, xs, mean),
            "band": band(x, y, xs, low, high)}  # fmt: skip


def map_geometry(found: MapJson) -> dict[str, object]:
    """Shaded cells, and the measured rows as points."""
    x, x_ticks = _horizontal(found["x"], EFFECT_LEFT, EFFECT_WIDTH - 12)
    y, y_ticks = _horizontal(found["y"], EFFECT_HEIGHT - EFFECT_BOTTOM, 12)
    flat = [one for row in found["mean"] for one in row]
    low, high = min(flat), max(flat)
    across, down = _spans(x, axis_positions(found["x"])), _spans(y, axis_positions(found["y"]))
    cells = [
        {"x": left, "y": top, "width": width, "height": height, "mean": one,
         "shade": int((SHADES - 1) * (one - low) / ((high - low) or 1.0) + 0.5)}
        for (top, height), row in zip(down, found["mean"], strict=True)
        for (left, width), one in zip(across, row, strict=True)
    ]  # fmt: skip
    points = [
        (id_, label, x.at(_axis_position(found["x"], a)), y.at(_axis_position(found["y"], b)))
        for id_, a, b, label in found["points"]
    ]
    return {"ticks": x_ticks, "y_ticks": y_ticks, "cells": cells,
            "points": points, "low": low, "high": high, "shades": range(SHADES)}  # fmt: skip


def _spans(axis: SvgAxis, positions: list[float]) -> list[tuple[float, float]]:
    """Begin and width of the cell of each position; cells meet half way."""
    middle = [0.5 * (a + b) for a, b in pairwise(positions)]
    ends = [axis.at(one) or 0.0 for one in [axis.low, *middle, axis.high]]
    return [(round(min(a, b), 2), round(abs(b - a) + 0.3, 2)) for a, b in pairwise(ends)]


def axis_positions(found: AxisJson) -> list[float]:
    """Positions of an input's values on its axis; levels are numbered."""
    if found["levels"]:
        return [float(n) for n in range(len(found["values"]))]
    return [_axis_position(found, float(one)) for one in found["values"]]


def _axis_position(found: AxisJson, value: float) -> float:
    return math.log10(max(value, 5e-324)) if found["log"] else value


def _horizontal(
    found: AxisJson, start: float, end: float
) -> tuple[SvgAxis, list[tuple[float | None, str]]]:
    """The axis of an input and its ticks (position, text)."""
    at = axis_positions(found)
    if found["levels"]:
        edge = SvgAxis(-0.5, len(at) - 0.5, start, end, ())
        return edge, [(edge.at(n), name) for n, name in zip(at, found["levels"], strict=True)]
    low, high = min(at), max(at)
    exact = SvgAxis(low, high if high > low else low + 1.0, start, end, axis(at, start, end).ticks)
    shown = [tick for tick in exact.ticks if exact.low <= tick <= exact.high]
    return exact, [(exact.at(tick), _tick_text(tick, found)) for tick in shown]


def _tick_text(tick: float, found: AxisJson) -> str:
    if found["origin"] is None:
        return f"{10.0**tick:.3g}" if found["log"] else f"{tick:.6g}"
    return f"{datetime.fromisoformat(found['origin']) + timedelta(days=tick):%Y-%m-%d}"
