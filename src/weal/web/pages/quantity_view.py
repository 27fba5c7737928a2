"""The quantity that Watch and its pictures are about: its status, its points, its curve.

A status is that of the job `status`: the JSON of `weal status`. Results of older versions in the
server's folder lack some of its parts.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import TypedDict

from weal.campaign.ledger import QuantityLedger
from weal.campaign.status import goal_in_force
from weal.goals.grammar import parse_goal
from weal.goals.learn import Learn
from weal.goals.until import Until
from weal.web.job_context import StatusJson
from weal.web.request import CampaignRequest
from weal.web.server_folder import JobResult

ERROR_SERIES = {
    "left_out": "leave-one-out", "prequential": "prequential", "expected": "expected"
}  # fmt: skip
CURVE_NAMES = {"best": "best so far", "f1": "expected F1", "hypervolume": "hypervolume"}


@dataclass(frozen=True, slots=True)
class QuantityView:
    """A quantity, and the last results that pages show of it."""

    name: str
    own: QuantityLedger
    status: StatusJson | None  # None: not computed yet
    points: list[StatusJson] | None  # labels and their predictions from all others
    curve: "CurveData | None"
    baseline: float | None  # the error of guessing the mean
    seq: int | None  # the last event that the status includes
    headline: StatusJson | None  # its one number; None: no model


def quantity_view(context: CampaignRequest) -> QuantityView:
    """The quantity in the address, or the first quantity of the goal."""
    status, measured = context.cached_result("status"), context.cached_result("measured")
    name = _quantity_name(context, status.data if status else None)
    data = _status_of(status.data, name) if status else None
    points = _points_of(measured.data, name)["points"] if measured else None
    return QuantityView(
        name,
        context.ledger.quantity(name),
        data,
        points,
        _curve(context, data, measured) if data else None,
        _baseline(data, measured) if data else None,
        status.seq if status else None,
        _headline(context, status.data, name) if status else None,
    )


def _headline(context: CampaignRequest, status: StatusJson, name: str) -> StatusJson | None:
    """The headline of the goal, or that of another quantity than the one it looks at first."""
    goal = goal_in_force(context.ledger)[0]
    names = list(context.ledger.quantities)
    own = next((one for one in status.get("quantities", []) if one["name"] == name), None)
    lead = next(iter(goal.scored(names)), names[0])
    found: StatusJson | None = (
        status.get("headline") if name == lead or own is None else own.get("headline")
    )
    return found


def _quantity_name(context: CampaignRequest, status: StatusJson | None) -> str:
    """The quantity in the address, or the first quantity of the goal."""
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


class CurveData(TypedDict):
    """The learning curve as charts.js draws it."""

    labels: list[int]
    lines: list[tuple[str, list[float | None]]]  # name, and a value for each number of labels
    levels: list[tuple[str, float]]  # name and value of horizontal lines
    axis: str
    zero: bool  # whether the axis begins at 0


def _curve(
    context: CampaignRequest, status: StatusJson, measured: JobResult | None
) -> CurveData | None:
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
    status: StatusJson, measured: JobResult | None, until: Until | None
) -> list[tuple[str, float]]:
    """The error of guessing the mean, and that at which to stop."""
    found = [("mean only", _baseline(status, measured))]
    if until and until.error is not None:
        found.append((f"until {until.text}", until.error))
    return [(name, value) for name, value in found if value is not None]


def _baseline(status: StatusJson, measured: JobResult | None) -> float | None:
    """The error of guessing the mean; results of 0.2 in the server's folder have it elsewhere."""
    older = measured.data.get("baseline") if measured else None
    found: float | None = (status["beliefs"] or {}).get("baseline", older)
    return found


def _values_at(at: list[int], line: dict[int, float | None]) -> list[float | None]:
    return [line.get(labels) for labels in at]


def inputs_of(context: CampaignRequest) -> list[str]:
    """Columns that are inputs of the model."""
    columns = context.ledger.plan.get("columns", [])
    return [one["name"] for one in columns if one["kind"] != "dropped"]


def job_key(context: CampaignRequest, kind: str, *what: str) -> str:
    """The key of a picture's job: one for each state of the campaign."""
    words = json.dumps([kind, context.name, context.ledger.seq, *what])
    return hashlib.blake2b(words.encode(), digest_size=16).hexdigest()
