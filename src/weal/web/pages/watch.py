"""Page 3: how far it is, as labels come."""

from typing import Any

from fastapi import APIRouter, Response

from weal.store.events import Event
from weal.web.request import CampaignRequest, Here
from weal.web.svg_axes import SvgAxis, axis

router = APIRouter()
MAX_EVENTS_SHOWN = 12  # events that are shown
# of the picture of predicted against measured
SCATTER_WIDTH, SCATTER_HEIGHT, SCATTER_LEFT, SCATTER_BOTTOM = 460, 380, 56, 44
MAX_INPUT_BARS = 12  # inputs that are shown
SHOWN_ROWS = 10  # of a set of labels that the others contradict


@router.get("/c/{name}/watch")
def watch(here: Here) -> Response:
    """Learning curve and advice, as the worker found them last."""
    status, measured = here.found("status"), here.found("measured")
    template = "watch/part.html" if here.is_part else "watch/page.html"
    return here.page(
        template,
        status=status.data if status else None,
        behind=status is not None and status.seq != here.ledger.seq,
        trouble=here.trouble("status"),
        measured=_beside(measured.data) if measured and measured.data["points"] else None,
        curve=_curve(here, status.data, measured) if status else None,
        lately=[(one, event_text(one)) for one in here.events(MAX_EVENTS_SHOWN)],
        suspects=_suspects(status.data if status else None),
        contradictions=_contradictions(status.data if status else None),
        **_shares(here, status.data if status else None),
    )


def _suspects(status: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Labels to look at again, each with what is the matter."""
    found = status.get("suspects", []) if status else []
    return [
        {"id": one["id"], "text": str(one["words"]).removeprefix(f"{one['id']}: ")}
        for one in found
        if "words" in one
    ]


def _contradictions(status: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Labels that the others contradict: some of the rows, and what is the matter."""
    found = status.get("contradictions", []) if status else []
    return [{"ids": one["ids"][:SHOWN_ROWS], "text": str(one["words"])} for one in found]


def _shares(here: CampaignRequest, status: dict[str, Any] | None) -> dict[str, Any]:
    """How much each column matters, the inputs that it became taken together."""
    beliefs = status["beliefs"] if status else None
    if not beliefs or not beliefs["inputs"]:  # no model, or labels that do not tell yet
        return {"shares": [], "more_inputs": 0}
    columns = [one for one in here.ledger.plan["columns"] if one["kind"] != "dropped"]
    each = {
        one["name"]: sum(beliefs["inputs"].get(name) or 0.0 for name in _inputs(one))
        for one in columns
    }
    found = sorted(each.items(), key=lambda pair: -pair[1])
    return {"shares": found[:MAX_INPUT_BARS], "more_inputs": max(len(found) - MAX_INPUT_BARS, 0)}


def _inputs(column: dict[str, Any]) -> list[str]:
    """Names that the shares of a column may have: its own, or in older findings its inputs'."""
    name, levels = column["name"], column.get("levels") or []
    return [name, *(f"{name}={one}" for one in levels), f"{name} missing"]


def _curve(here: CampaignRequest, status: dict[str, Any], measured: Any) -> dict[str, Any] | None:
    """What the learning curve is drawn from; None before there is a model."""
    if not status["beliefs"]:
        return None
    course = {kind: status["beliefs"][kind] for kind in ("left_out", "prequential", "expected")}
    lines = {kind: one["course"] if one else [] for kind, one in course.items()}
    at = sorted({labels for line in lines.values() for labels, _ in line})
    series = [_along(at, dict(map(tuple, lines[kind]))) for kind in lines]
    older = measured.data["baseline"] if measured else None  # findings of before had it there only
    baseline = status["beliefs"].get("baseline", older)
    return {
        "labels": at,
        "series": series,
        "baseline": baseline,
        "goal": status["goal"],
        "unit": here.ledger.target or "the label",
    }


def _along(at: list[int], line: dict[int, float | None]) -> list[float | None]:
    return [line.get(labels) for labels in at]


def _beside(found: dict[str, Any]) -> dict[str, Any]:
    """Labels against what was expected of them, placed on a picture."""
    points = found["points"]
    values = [one[which] for one in points for which in ("y", "mean")]
    x: SvgAxis = axis(values, SCATTER_LEFT, SCATTER_WIDTH - 10)
    y: SvgAxis = axis(values, SCATTER_HEIGHT - SCATTER_BOTTOM, 10)
    places = [
        {"id": one["id"], "y": one["y"], "mean": one["mean"], "cx": x.at(one["y"]),
         "cy": y.at(one["mean"]), "top": y.at(one["high"]), "end": y.at(one["low"]),
         "inside": _inside(one)}
        for one in points
    ]  # fmt: skip
    good = [one for one in places if one["cx"] is not None and one["cy"] is not None]
    return {**found, "x": x, "axis_y": y, "x_ticks": x.marks, "y_ticks": y.marks,
            "places": good, "width": SCATTER_WIDTH, "height": SCATTER_HEIGHT}  # fmt: skip


def _inside(one: dict[str, Any]) -> bool:
    if None in (one["low"], one["high"], one["y"]):
        return True
    return bool(one["low"] <= one["y"] <= one["high"])


def event_text(event: Event) -> str:
    """What happened, in a few words."""
    body = event.body
    words = {
        "created": "campaign made",
        "added": f"{body.get('rows', 0):,} candidates added",
        "asked": "asked for a test" if body.get("check") else "asked",
        "told": f"measured {body.get('y')}" + (" again" if body.get("repeat") else ""),
        "corrected": f"corrected to {body.get('y')}",
        "withdrawn": "taken back",
        "skipped": "could not be measured" if body.get("on") else "brought back",
        "settings": f"changed {', '.join(body.get('changes', {}))}",
    }
    return words.get(event.kind, event.kind)
