"""The page Watch: learning curve, advice, intervals, inputs, labels to check, last events."""

import re
from typing import Any

from fastapi import APIRouter, Response

from weal.campaign.events import LABELLING
from weal.diagnostics.model_text import leave_out_text, varying_noise_text
from weal.store.events import Event
from weal.web.input_shares import column_shares, input_columns
from weal.web.job_context import StatusJson
from weal.web.pages.pictures import map_address, shown_pictures
from weal.web.pages.quantity_view import quantity_view
from weal.web.request import CampaignRead, CampaignRequest

router = APIRouter()
MAX_EVENTS_SHOWN = 12
MAX_INPUT_BARS = 12
MAX_CONTRADICTED_ROWS_SHOWN = 10  # of a group of contradicted labels
_COMMANDS = (  # of the shell, in texts of the status, and what the page says instead
    (r"`weal settings [^`]*--budget NUMBER` raises it", "Settings has a field that raises it"),
    (r" with `weal settings [^`]*`", " in Settings"),
    (r" \(`weal add [^`]*`\)", " in Settings"),
    (r" \(--(?:check|repeat)\)|, with --repeat", ""),
)


@router.get("/c/{name}/watch")
def watch(context: CampaignRead) -> Response:
    """The page, from the last status that the worker computed."""
    view = quantity_view(context)
    template = "watch/part.html" if context.is_part else "watch/page.html"
    data = view.status
    return context.page(
        template,
        status=data,
        behind=view.seq is not None and view.seq != context.ledger.seq,
        failure=context.job_failure("status"),
        pictures=shown_pictures(context, view),
        map_address=map_address(context, view.name),
        advice=without_commands(data["advice"]) if data else "",
        stopping=[without_commands(one) for one in data.get("stopping", [])] if data else [],
        goal_lines=_goal_lines(data),
        baseline=view.baseline,
        headline=view.headline,
        interval=_interval(data),
        curve=view.curve,
        lately=[(one, event_text(one, context)) for one in context.events(MAX_EVENTS_SHOWN)],
        suspects=_suspects(data),
        contradictions=_contradictions(data),
        chosen=view.name,
        **_shares(context, data),
    )


def without_commands(words: str) -> str:
    """A text of the status with the names of pages in place of commands.

    >>> without_commands("Check the level; change it with `weal settings NAME --goal`.")
    'Check the level; change it in Settings.'
    """
    for pattern, instead in _COMMANDS:
        words = re.sub(pattern, instead, words)
    return words


def _interval(status: StatusJson | None) -> tuple[float, float] | None:
    """The interval of the left-out error, which decides on the digits of all error estimates."""
    beliefs = (status or {}).get("beliefs") or {}
    found = beliefs.get("left_out_interval")
    return (found[0], found[1]) if found else None


def _goal_lines(status: dict[str, Any] | None) -> list[tuple[str, str]]:
    """The goal's section of the status: its heading, then names and texts of its lines."""
    found = status.get("goal_lines", []) if status else []
    parts = [re.split(r" {2,}", without_commands(line), maxsplit=1) for line in found]
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


def event_text(event: Event, context: CampaignRequest) -> str:
    """A short text for an event."""
    body = event.body
    label = _label_text(event, context) if event.kind in LABELLING else ""
    again = " again" if body.get("repeat") else ""
    told = f"confirmed {label}" if body.get("confirms") else f"measured {label}{again}"
    if "origin" in body:
        told = f"{label} is back"
    words = {
        "created": "campaign created",
        "added": f"{body.get('rows', 0):,} candidates added",
        "asked": "asked as a random check" if body.get("check") else "asked",
        "told": label if label == "failed" else told,
        "corrected": told if "origin" in body else f"corrected to {label}",
        "withdrawn": "withdrawn",
        "skipped": "could not be measured" if body.get("on") else "brought back",
        "settings": f"changed {', '.join(body.get('changes', {}))}",
    }
    return words.get(event.kind, event.kind) + (" (undo)" if "undoes" in body else "")


def _label_text(event: Event, context: CampaignRequest) -> str:
    """The label of an event: a number as it was told, a word, or "failed"."""
    body, known = event.body, context.ledger.quantities
    name = body.get("quantity", context.ledger.first_quantity)
    if name not in known:
        return "failed"
    quantity = known[name].quantity
    shown = quantity.format(float(body["y"])) if quantity.words else str(body.get("y"))
    return f"{name} {shown}" if context.quantity_names else shown
