"""The next step that a page shows: from the ledger, and from the last status of the worker.

    step = current_step(context)
    step.text, step.kind, step.ask_text

A model says that a goal is reached when the expected error is below the stop condition with a
probability of one half, or when its advice is to stop. The number of labels is that at which the
curve of the expected error first was below, or that of the status.
"""

from typing import Any

from weal.campaign.next_step import GoalReached, NextStep, next_step
from weal.campaign.status import goal_in_force
from weal.goals.until import REACHED
from weal.web.job_context import StatusJson
from weal.web.request import CampaignRequest

ADVICE_TO_STOP = "Stop"  # the first word of advice


def current_step(context: CampaignRequest) -> NextStep:
    """The next step of the person of this request."""
    status = context.server.results.read_result(context.name, "status")
    reached = reached_by_model(context, status.data) if status else None
    return next_step(context.ledger, context.now, context.who, reached)


def reached_by_model(context: CampaignRequest, status: StatusJson) -> GoalReached | None:
    """The goal, if the model says that it is reached; None: it does not."""
    _, until = goal_in_force(context.ledger)
    if (status.get("until") or {}).get("text") != (until.text if until else None):
        return None  # the condition has changed since
    needed: dict[str, Any] = status.get("needed") or {}
    if until and until.error is not None:
        if (needed.get("reached") or 0.0) < REACHED:
            return None
        return GoalReached(_labels_below(status, until.error), until.text)
    if not str(status.get("advice", "")).startswith(ADVICE_TO_STOP):
        return None
    spending: dict[str, Any] = status.get("spending") or {}
    if spending and spending["spent"] >= spending["budget"]:
        return None  # the budget is used up, not a goal
    return GoalReached(int(status["labels"]), until.text if until else "")


def _labels_below(status: StatusJson, error: float) -> int:
    """The number of labels at which the expected error was first below this."""
    course = ((status["beliefs"] or {}).get("expected") or {}).get("course") or []
    below = [n for n, value in course if value is not None and value < error]
    return int(below[0] if below else status["labels"])
