"""The form "Ask for rows": what the batch may hold, and the form again after an error.

    same                columns with one value in the whole batch
    few, few_column     at most so many different values of a column
    where               a condition that every row satisfies
    rows                ids of rows to include, one on each line

A field that is left empty is not given. Names and conditions are checked by the campaign, whose
message the page shows (`learner.batch_options`). After an error the form is as it was sent; an ask
for more rows than are left is answered with a button that asks for those.
"""

from typing import Annotated

from fastapi import Form

from weal.campaign.next_step import ask_text, free_rows
from weal.conditions.parser import MAX_TEXT
from weal.learner.batch_options import MAX_COLUMNS, BatchOptionsBody
from weal.store.events import MAX_ID
from weal.web.actors import error_text
from weal.web.request import CampaignRequest

MAX_ROWS_TEXT = 100_000  # characters of the ids to include


def batch_form(
    same: Annotated[list[str], Form(max_length=MAX_COLUMNS)] = [],  # noqa: B006
    few: Annotated[str, Form(pattern="^[0-9]{0,6}$")] = "",
    few_column: Annotated[str, Form(max_length=MAX_ID)] = "",
    where: Annotated[str, Form(max_length=MAX_TEXT)] = "",
    rows: Annotated[str, Form(max_length=MAX_ROWS_TEXT)] = "",
) -> BatchOptionsBody:
    """The options of the batch as arguments of `Campaign.ask`; empty without any."""
    found: BatchOptionsBody = {}
    if columns := [name for name in same if name]:
        found["same"] = columns
    if few_column:
        found["at_most"] = {few_column: int(few or 1)}
    if where.strip():
        found["where"] = where.strip()
    if ids := [line.strip() for line in rows.splitlines() if line.strip()]:
        found["rows"] = ids
    return found


def rows_left(context: CampaignRequest, n: int, check: bool) -> dict[str, object] | None:
    """The form and the offer for an ask of more rows than are left; None: there are enough.

    Without any row, the campaign refuses the ask with the way out.
    """
    left = free_rows(context.ledger, context.now)
    if n <= left or not left:
        return None
    words = f"{left} {'row is' if left == 1 else 'rows are'} left, and {n} were asked for."
    return {"n": n, "check": check, "left": left, "error": words, "ask_text": ask_text(left, left)}


def failed_ask(context: CampaignRequest, work: str, error: Exception) -> dict[str, object]:
    """The form of an ask that failed, as it was sent, and the error."""
    job = context.server.worker.job(work)
    sent = dict(job.arguments) if job else {}
    return {**sent, "error": error_text(context.request, error)}
