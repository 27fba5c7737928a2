"""The page Watch: learning curve, advice, intervals, inputs, labels to check, last events."""

import re
from typing import Any, TypedDict

from fastapi import APIRouter, Response

from weal.campaign.events import LABELLING
from weal.campaign.status import goal_in_force
from weal.campaign.status_text import leave_out_text, varying_noise_text
from weal.goals.grammar import parse_goal
from weal.goals.learn import Learn
from weal.goals.until import Until
from weal.store.events import Event
from weal.web.input_shares import column_shares, input_columns
from weal.web.job_context import StatusJson
from weal.web.request import CampaignRead, CampaignRequest
from weal.web.svg_axes import SvgAxis, axis

router = APIRouter()
MAX_EVENTS_SHOWN = 12
SCATTER_WIDTH, SCATTER_HEIGHT, SCATTER_LEFT, SCATTER_BOTTOM = 460, 380, 56, 44
MAX_INPUT_BARS = 12
ERROR_SERIES = {
    "left_out": "leave-one-out", "prequential": "prequential", "expected": "expected"
}  # fmt: skip
CURVE_NAMES = {"best": "best so far", "f1": "expected F1", "hypervolume": "hypervolume"}
MAX_CONTRADICTED_ROWS_SHOWN = 10  # of a group of contradicted labels


@router.get("/c/{name}/watch")
def watch(context: CampaignRead) -> Response:
    """The page, from the last status that the worker computed."""
    status, measured = context.cached_result("status"), context.cached_result("measured")
    template = "watch/part.html" if context.is_part else "watch/page.html"
    chosen = _quantity_name(context, status.data if status else None)
    data = _status_of(status.data, chosen) if status else None
    points = _points_of(measured.data, chosen) if measured else None
    return context.page(
        template,
        status=data,
        behind=status is not None and status.seq != context.ledger.seq,
        failure=context.job_failure("status"),
        measured=_scatter_geometry(points) if points and points["points"] else None,
        stopping=data.get("stopping", []) if data else [],
        goal_lines=_goal_lines(data),
        baseline=_baseline(data, measured) if data else None,
        curve=_curve(context, data, measured) if data else None,
        lately=[(one, event_text(one, context)) for one in context.events(MAX_EVENTS_SHOWN)],
        suspects=_suspects(data),
        contradictions=_contradictions(data),
        chosen=chosen,
        **_shares(context, data),
    )


def _quantity_name(context: CampaignRequest, status: StatusJson | None) -> str:
    """The quantity in the address, or the one that the goal looks at first."""
    names = list(context.ledger.quantities)
    named = context.request.query_params.get("quantity", "")
    if named in names:
        return named
    goal = goal_in_force(context.ledger)[0] if status else Learn()
    return next(iter(goal.scored(names)), names[0])


def _status_of(status: StatusJson, quantity: str) -> StatusJson:
    """The status with the parts of this quantity in the place of those of the first one."""
    own = next((one for one in status.get("quantities", []) if one["name"] == quantity), None)
    if own is None:
        return {**status, "own": None}
    same = own["beliefs"] is not None and own["beliefs"] == status["beliefs"]
    parts = ("beliefs", "check", "coverage", "suspects", "other_units", "contradictions", "missing")
    curve = status.get("curve") if same else None
    return {**status, **{name: own[name] for name in parts}, "curve": curve, "own": own}


def _points_of(measured: StatusJson, quantity: str) -> StatusJson:
    """The points of a quantity; results of 0.2 have only one."""
    each: StatusJson = measured.get("quantities") or {}
    if not each:
        return measured
    found: StatusJson = each.get(quantity, {"points": [], "n": 0})
    return found


def _goal_lines(status: dict[str, Any] | None) -> list[tuple[str, str]]:
    """The goal's section of the status: its heading, then names and texts of its lines."""
    found = status.get("goal_lines", []) if status else []
    parts = [re.split(r" {2,}", line, maxsplit=1) for line in found]
    return [(one[0], one[1] if len(one) > 1 else "") for one in parts]


def _suspects(status: StatusJson | None) -> list[StatusJson]:
    """Labels to check, each with the reason."""
    found = status.get("suspects", []) if status else []
    own = (status.get("own") if status else None) or {}
    return [
        {"id": one["id"], "text": str(one["words"]).removeprefix(f"{one['id']}: ")}
        for one in (*found, *own.get("unlikely", []))
        if "words" in one
    ]


def _contradictions(status: StatusJson | None) -> list[StatusJson]:
    """Groups of labels that other labels contradict: some of the rows, and the reason."""
    found = status.get("contradictions", []) if status else []
    return [
        {"ids": one["ids"][:MAX_CONTRADICTED_ROWS_SHOWN], "text": str(one["words"])}
        for one in found
    ]


def _shares(context: CampaignRequest, status: StatusJson | None) -> StatusJson:
    """The importance of each column, summed over the inputs that encode it."""
    beliefs = status["beliefs"] if status else None
    if not beliefs or not beliefs["inputs"]:  # no model, or too few labels
        varying = _varying_noise(beliefs)
        return {"shares": [], "more_inputs": 0, "leave_out": "", "varying_noise": varying}
    found = column_shares(input_columns(context), beliefs["inputs"])
    unneeded = beliefs.get("leave_out") or ()  # results of older versions have none
    return {
        "shares": found[:MAX_INPUT_BARS],
        "more_inputs": max(len(found) - MAX_INPUT_BARS, 0),
        "leave_out": leave_out_text(unneeded) if unneeded else "",
        "varying_noise": _varying_noise(beliefs),
    }


def _varying_noise(beliefs: StatusJson | None) -> str:
    """Where labels scatter more, in words; results of older versions do not tell."""
    found = (beliefs or {}).get("varying_noise")
    return varying_noise_text(found["where"], found["there"], found["elsewhere"]) if found else ""


class CurveData(TypedDict):
    """The learning curve as charts.js draws it."""

    labels: list[int]
    lines: list[tuple[str, list[float | None]]]  # name, and a value for each number of labels
    levels: list[tuple[str, float]]  # name and value of horizontal lines
    axis: str
    zero: bool  # whether the axis begins at 0


def _curve(context: CampaignRequest, status: StatusJson, measured: Any) -> CurveData | None:
    """The data of the learning curve; None before there is a model."""
    if not status["beliefs"]:
        return None
    _, until = goal_in_force(context.ledger)
    if own := status.get("curve"):
        goal, stop = parse_goal(status["goal"]["text"]), until.value if until else None
        at = [labels for labels, _ in own["course"]]
        values = [value for _, value in own["course"]]
        level = [(until.text, stop)] if until and stop and until.watched == "best" else []
        axis_label = goal.curve_label(_column(context, status))
        return {"labels": at, "lines": [(CURVE_NAMES[goal.curve], values)], "levels": level,
                "axis": axis_label, "zero": goal.curve != "best"}  # fmt: skip
    course = {kind: status["beliefs"][kind] for kind in ERROR_SERIES}
    lines = {kind: one["course"] if one else [] for kind, one in course.items()}
    at = sorted({labels for line in lines.values() for labels, _ in line})
    series = [(ERROR_SERIES[kind], _values_at(at, dict(lines[kind]))) for kind in lines]
    return {
        "labels": at,
        "lines": series,
        "levels": _error_levels(status, measured, until),
        "axis": Learn().curve_label(_column(context, status)),
        "zero": True,
    }


def _column(context: CampaignRequest, status: StatusJson) -> str | None:
    """The column of the quantity that is shown."""
    own = status.get("own")
    return context.ledger.quantity(own["name"]).quantity.column if own else context.target


def _error_levels(
    status: StatusJson, measured: Any, until: Until | None
) -> list[tuple[str, float]]:
    """The error of guessing the mean, and that at which to stop."""
    found = [("mean only", _baseline(status, measured))]
    if until and until.error is not None:
        found.append((f"until {until.text}", until.error))
    return [(name, value) for name, value in found if value is not None]


def _baseline(status: StatusJson, measured: Any) -> float | None:
    """The error of guessing the mean; results of 0.2 in the server's folder have it elsewhere."""
    older = measured.data.get("baseline") if measured else None
    found: float | None = (status["beliefs"] or {}).get("baseline", older)
    return found


def _values_at(at: list[int], line: dict[int, float | None]) -> list[float | None]:
    return [line.get(labels) for labels in at]


def _scatter_geometry(found: StatusJson) -> StatusJson:
    """Positions of the labels and their predictions on the scatter plot."""
    points = found["points"]
    values = [one[which] for one in points for which in ("y", "mean")]
    x: SvgAxis = axis(values, SCATTER_LEFT, SCATTER_WIDTH - 10)
    y: SvgAxis = axis(values, SCATTER_HEIGHT - SCATTER_BOTTOM, 10)
    places = [
        {"id": one["id"], "y": one["y"], "mean": one["mean"], "cx": x.at(one["y"]),
         "cy": y.at(one["mean"]), "top": y.at(one["high"]), "end": y.at(one["low"]),
         "inside": _is_inside(one)}
        for one in points
    ]  # fmt: skip
    good = [one for one in places if one["cx"] is not None and one["cy"] is not None]
    return {**found, "x": x, "axis_y": y, "x_ticks": x.marks, "y_ticks": y.marks,
            "places": good, "width": SCATTER_WIDTH, "height": SCATTER_HEIGHT}  # fmt: skip


def _is_inside(one: StatusJson) -> bool:
    if None in (one["low"], one["high"], one["y"]):
        return True
    return bool(one["low"] <= one["y"] <= one["high"])


def event_text(event: Event, context: CampaignRequest) -> str:
    """A short text for an event."""
    body = event.body
    label = _label_text(event, context) if event.kind in LABELLING else ""
    again = " again" if body.get("repeat") else ""
    words = {
        "created": "campaign created",
        "added": f"{body.get('rows', 0):,} candidates added",
        "asked": "asked as a random check" if body.get("check") else "asked",
        "told": label if label == "failed" else f"measured {label}{again}",
        "corrected": f"corrected to {label}",
        "withdrawn": "withdrawn",
        "skipped": "could not be measured" if body.get("on") else "restored",
        "settings": f"changed {', '.join(body.get('changes', {}))}",
    }
    return words.get(event.kind, event.kind)


def _label_text(event: Event, context: CampaignRequest) -> str:
    """The label of an event: a number as it was told, a word, or "failed"."""
    body, known = event.body, context.ledger.quantities
    name = body.get("quantity", context.ledger.first_quantity)
    if name not in known:
        return "failed"
    quantity = known[name].quantity
    shown = quantity.format(float(body["y"])) if quantity.words else str(body.get("y"))
    return f"{name} {shown}" if context.quantity_names else shown
