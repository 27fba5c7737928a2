"""The fields of the form "Ask for rows" that say what the batch may hold.

    same                columns with one value in the whole batch
    few, few_column     at most so many different values of a column
    where               a condition that every row satisfies
    rows                ids of rows to include, one on each line

A field that is left empty is not given. Names and conditions are checked by the campaign, whose
message the page shows (`learner.batch_options`).
"""

from typing import Annotated

from fastapi import Form

from weal.conditions.parser import MAX_TEXT
from weal.learner.batch_options import MAX_COLUMNS, BatchOptionsBody
from weal.store.events import MAX_ID

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
