"""Operations on rows: ask, asked, tell, skip, withdraw and release."""

from collections.abc import Iterable
from typing import Any

from starlette.concurrency import run_in_threadpool

from weal.campaign.answers import import_answer
from weal.campaign.label_input import distinct
from weal.campaign.label_lines import SEVERAL, tell_lines
from weal.campaign.row_results import RowDetails, tell_row
from weal.campaign.row_rules import decide_release, decide_withdrawals, skip_rows
from weal.store.protocol import Transaction
from weal.web.api.call import Answer, Call
from weal.web.api.operations import (
    ID,
    IDS,
    MAX_IDS,
    NOTE,
    WRITE_FIELDS,
    Example,
    JsonSchema,
    Parameter,
    flag,
    object_of,
    operation,
)
from weal.web.problems import invalid

MAX_ASK_ROWS = 500
COLUMN: JsonSchema = {"type": "string", "minLength": 1, "maxLength": 1000}
LEASE: JsonSchema = {
    "type": ["string", "number"],
    "maxLength": 40,
    "exclusiveMinimum": 0,
    "description": 'How long rows stay reserved: "12h", "3d", or seconds.',
}
VALUE: JsonSchema = {
    "type": ["number", "string", "boolean"],
    "maxLength": 400,
    "description": 'A number, its text, a word, "failed", or a bound such as "<0.1".',
}
VALUES: JsonSchema = {
    "type": "object",
    "additionalProperties": VALUE,
    "minProperties": 1,
    "maxProperties": 200,
    "description": "Labels by the names of their quantities.",
}
NOISE: JsonSchema = {
    "type": ["number", "string", "object", "null"],
    "maxLength": 400,
    "additionalProperties": {"type": ["number", "string"], "maxLength": 400},
    "description": "Standard deviation of the measurement error, or one for each quantity.",
}
ASK_FIELDS: dict[str, JsonSchema] = {
    "n": {
        "type": "integer",
        "minimum": 1,
        "maximum": MAX_ASK_ROWS,
        "description": "Number of rows; without it as many as `rows` or `instead_of`, else 1.",
    },
    "lease": LEASE,
    "check": flag("Draw the rows at random, for an unbiased test of the predictions."),
    "repeats": {
        "type": "boolean",
        "default": True,
        "description": "Whether a measured row may be asked again.",
    },
    "same": {
        "anyOf": [COLUMN, {"type": "array", "items": COLUMN, "minItems": 1, "maxItems": 20}],
        "description": "A column with one value in the whole batch, or several: a factor that is "
        "hard to change, such as the temperature of a plate.",
    },
    "at_most": {
        "type": "object",
        "additionalProperties": {"type": "integer", "minimum": 1, "maximum": MAX_ASK_ROWS},
        "minProperties": 1,
        "maxProperties": 20,
        "description": "By column, how many different values the batch may have.",
    },
    "where": {
        "type": "string",
        "minLength": 1,
        "maxLength": 2000,
        "description": "A condition that every row satisfies: solvent is THF and temp < 90.",
    },
    "instead_of": {**IDS, "description": "Your rows to release: others are asked in their "
                   "place."},
    "rows": {**IDS, "description": "Rows to include, which count among n."},
    "only_ids": flag("Answer with the ids only, whatever happened to the rows of this key."),
    **WRITE_FIELDS,
}  # fmt: skip
IDS_ANSWER: JsonSchema = {
    "type": "object",
    "description": "With `only_ids`.",
    "properties": {"ids": {"type": "array", "items": {"type": "string"}}},
    "required": ["ids"],
    "additionalProperties": False,
}


@operation(
    "POST", "/campaigns/{name}/ask", "ask", "Suggest the next rows to measure.",
    may="ask", body=object_of(ASK_FIELDS), needs_body=False,
    links={
        "tell": {"id": "$response.body#/0/id", "value": 312.5},
        "skip": {"ids": ["$response.body#/0/id"], "note": "cracked"},
        "release": {"ids": ["$response.body#/0/id"]},
        "withdraw": {"ids": ["$response.body#/0/id"]},
    },
    answer={"anyOf": [{"$ref": "ask.json"}, IDS_ANSWER]},
    examples=[Example("four rows", {"n": 4, "key": "plate-7"}), Example("one row", {"by": "ann"}),
              Example("a plate", {"n": 3, "same": "quench", "where": "temper_temp < 600"})],
)  # fmt: skip
async def ask(call: Call) -> Answer:
    """The rows are reserved for the person who asks until they are labelled or the lease ends."""
    given = {key: one for key, one in call.body.items() if key not in WRITE_FIELDS}
    if "n" in given:
        given["n"] = int(given["n"])
    if "at_most" in given:
        given["at_most"] = {name: int(one) for name, one in given["at_most"].items()}
    return await call.job_text(
        "suggest", who=call.who, expected=_expected(call), call={**given, "key": call.key}
    )


def _expected(call: Call) -> list[str] | None:
    return None if call.expected is None else list(call.expected)


@operation(
    "GET", "/campaigns/{name}/asked", "asked", "List the reserved rows.",
    may="read", answer={"$ref": "ask.json"},
    query=[Parameter("by", {"type": "string", "maxLength": 200}, "Only rows of this person.")],
    examples=[Example("all")],
)  # fmt: skip
async def asked(call: Call) -> Answer:
    """Rows that are reserved now, with predictions and reasons."""
    return await call.job_text("asked", call=dict(call.query))


LABEL_FIELDS: dict[str, JsonSchema] = {
    "id": ID,
    "value": VALUE,
    "values": VALUES,
    "noise": NOISE,
    "note": NOTE,
}
TELL_FIELDS: dict[str, JsonSchema] = {
    **LABEL_FIELDS,
    "sure": flag("The label was checked: never treat it as an outlier."),
    "accident": flag("With failed: by accident, so the model does not use it."),
    "replace": flag("Replace the existing label of the row."),
    "repeat": flag("Add a repeated measurement of the row."),
    "plausible": flag(
        "Save nothing if a label is far from its prediction (problem implausible_label)."
    ),
    "labels": {
        "type": "array",
        "items": object_of(LABEL_FIELDS, "id"),
        "minItems": 1,
        "maxItems": MAX_IDS,
        "description": "Of many rows, saved all or none.",
    },
    "dry_run": flag("For many rows or a file: report what would happen to each, and save nothing."),
    "column": {"type": "string", "maxLength": 1000, "description": "Of the values in a file."},
    "sheet": {"type": "string", "maxLength": 200, "description": "Of an Excel file."},
    "header": {"type": "integer", "minimum": 1, "maximum": 10_000_000,
               "description": "Line of the column names of a file."},
    **WRITE_FIELDS,
}  # fmt: skip
FILE_FIELDS = ("column", "sheet", "header")


@operation(
    "POST", "/campaigns/{name}/tell", "tell", "Save labels.",
    may="tell", body=object_of(TELL_FIELDS), answer="tell", upload="table",
    examples=[
        Example("one", {"id": "A-0001", "value": 312.5, "note": "batch 7", "key": "lims-4711"}),
        Example("failed", {"id": "A-0007", "value": "failed", "note": "cracked"}),
        Example("many", {"labels": [{"id": "A-0018", "value": 301.5, "noise": 2},
                                    {"id": "A-0019", "value": "n/a"}], "key": "lims-4712"}),
        Example("file", "sample,hardness,note\nA-0021,290.5,batch 8\n", media="text/csv"),
    ],
)  # fmt: skip
async def tell(call: Call) -> Answer:
    """Labels of one row (`id`, `value`), of many (`labels`), or a file with the columns of a
    worksheet. When the answer comes, they are on disk.
    """
    if call.upload is not None:
        return await _tell_file(call)
    return await run_in_threadpool(_tell_rows, call)


def _tell_rows(call: Call) -> Answer:
    """Save the labels of one row, or of many."""
    body, is_one = call.body, "id" in call.body
    if is_one == ("labels" in body):
        raise invalid("", "give `id` and its value, or `labels` of many rows")
    wrong = FILE_FIELDS + (("dry_run",) if is_one else (*LABEL_FIELDS, "accident"))
    _refuse(
        body,
        wrong,
        "it cannot be combined with `id`" if is_one else "it cannot be combined with `labels`",
    )
    campaign = call.campaign()
    if is_one:
        found = tell_row(campaign, body["id"], _given(body), _details(call))
    else:
        dry_run = bool(body.get("dry_run", False))
        done = tell_lines(campaign, body["labels"], _details(call), dry_run)
        found = import_answer(done)
    return call.answer(found, call.tag)


def _refuse(body: dict[str, Any], names: Iterable[str], words: str) -> None:
    for name in names:
        if name in body:
            raise invalid(f"/{name}", f"{words}: leave it out")


async def _tell_file(call: Call) -> Answer:
    """Save the labels of a file."""
    body = call.body
    _refuse(body, (*LABEL_FIELDS, "labels", "accident", "plausible"), "the file has the labels")
    assert call.upload is not None
    names = ("sheet", "sure", "replace", "repeat", "dry_run")
    given: dict[str, Any] = {key: body[key] for key in names if key in body}
    if "header" in body:
        given["header"] = int(body["header"])
    given |= {"value": body.get("column"), "key": call.key}
    return await call.job_text(
        "import_labels", who=call.who, expected=_expected(call), call=given,
        path=str(call.upload.path), called=call.upload.called,
    )  # fmt: skip


def _given(body: dict[str, Any]) -> object:
    """The value of a row, or the values by quantity."""
    if ("value" in body) == ("values" in body):
        raise ValueError(SEVERAL)
    return body["value"] if "value" in body else body["values"]


def _details(call: Call) -> RowDetails:
    fields = [name for name in RowDetails._fields if name in call.body and name != "key"]
    return RowDetails(**{name: call.body[name] for name in fields}, key=call.key)


@operation(
    "POST", "/campaigns/{name}/skip", "skip", "Leave rows out.",
    may="skip", answer="skip",
    body=object_of(
        {"ids": IDS, "undo": flag("Allow them to be suggested again."), "note": NOTE,
         **WRITE_FIELDS},
        "ids",
    ),
    examples=[Example("cracked", {"ids": ["A-0013"], "note": "cracked", "key": "skip-1"})],
)  # fmt: skip
def skip(call: Call) -> Answer:
    """Skipped rows are not suggested until they are brought back, or get a label."""
    campaign, ids = call.campaign(), distinct(call.body["ids"])
    undo = bool(call.body.get("undo", False))
    since = skip_rows(campaign, ids, not undo, call.who, call.body.get("note"), call.key)
    rows = [one for one in ids if one not in since]
    return call.answer({"back" if undo else "skipped": rows}, call.tag)


@operation(
    "POST", "/campaigns/{name}/withdraw", "withdraw", "Withdraw labels.",
    may="tell", answer="withdraw",
    body=object_of(
        {
            "ids": IDS,
            "event": {"type": "integer", "minimum": 1, "maximum": 2**53,
                      "description": "Only the label of this event; others of the row stay."},
            "quantity": {"type": "string", "maxLength": 1000,
                         "description": 'Only labels of this quantity, or "failed".'},
            "note": NOTE,
            **WRITE_FIELDS,
        },
        "ids",
    ),
    examples=[Example("wrong sample", {"ids": ["A-0001"], "note": "wrong sample"})],
)  # fmt: skip
def withdraw(call: Call) -> Answer:
    """Withdraws labels and failures of rows, or the lease of rows without a label."""
    campaign, ids, body = call.campaign(), distinct(call.body["ids"]), call.body
    event, who = None if body.get("event") is None else int(body["event"]), call.who

    def decide(tx: Transaction) -> Any:
        return decide_withdrawals(
            tx, ids, who, body.get("note"), event, body.get("quantity"), call.key
        )

    campaign.transact(decide)
    return call.answer({"withdrawn": ids}, call.tag)


@operation(
    "POST", "/campaigns/{name}/release", "release", "Give rows back.",
    may="ask",
    answer=object_of({"released": {"type": "array", "items": {"type": "string"}}}, "released"),
    body=object_of({"ids": IDS, "note": NOTE, **WRITE_FIELDS}, "ids"),
    examples=[Example("not today", {"ids": ["A-0016"]})],
)  # fmt: skip
def release(call: Call) -> Answer:
    """Ends the leases that this token, or this person, has of these rows; labels stay."""
    campaign, ids = call.campaign(), distinct(call.body["ids"])
    note = call.body.get("note") or "released"
    campaign.transact(lambda tx: decide_release(tx, ids, call.who, note, call.key))
    left = {one.id for one in campaign.read_ledger().open_leases(campaign.store.now())}
    return call.answer({"released": [one for one in ids if one not in left]}, call.tag)
