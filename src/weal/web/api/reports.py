"""Operations that report on a campaign: status, best rows, one row, predictions, tables."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

from weal.store.events import MAX_ID
from weal.web.api.call import Answer, Call
from weal.web.api.operations import (
    NDJSON_TYPE,
    PARQUET_TYPE,
    XLSX_TYPE,
    Example,
    JsonSchema,
    Parameter,
    object_of,
    operation,
)
from weal.web.job_context import Arguments
from weal.web.problems import invalid
from weal.web.server_folder import new_file

MAX_BEST_ROWS = 1000
MAX_ROWS = 100_000  # as JSON in one request
STREAM_BYTES = 2**16  # of a file that are sent at a time
FORMATS = {
    "csv": "text/csv; charset=utf-8",
    "tsv": "text/tab-separated-values; charset=utf-8",
    "xlsx": XLSX_TYPE,
    "parquet": PARQUET_TYPE,
    "json": "application/json",
    "ndjson": NDJSON_TYPE,
}
_SUFFIXES = {"ndjson": ".jsonl"}
EXPORT_TABLES = ("labels", "predictions", "candidates", "events")
TEXT: JsonSchema = {"type": "string", "maxLength": 2000}
TEXTS: JsonSchema = {"type": "array", "items": TEXT, "maxItems": 20}
GOAL = Parameter("goal", TEXTS, "What the labels are for, in place of the settings: maximise.")
SUBJECT_TO = Parameter("subject_to", TEXTS, "What rows must meet: purity >= 95; none removes all.")
QUANTITY = Parameter(
    "quantity", {"type": "string", "maxLength": 1000},
    "The quantity of predictions for candidates in Parquet files.",
)  # fmt: skip
CELL: JsonSchema = {"type": ["string", "number", "boolean", "null"], "maxLength": 10_000}
ROWS: JsonSchema = {
    "type": "array",
    "items": {"type": "object", "additionalProperties": CELL, "minProperties": 1,
              "maxProperties": 5000},
    "minItems": 1,
    "maxItems": MAX_ROWS,
    "description": "The rows of a table, each with its cells by column.",
}  # fmt: skip
SHEET: JsonSchema = {"type": "string", "maxLength": 200, "description": "Of an Excel file."}
HEADER: JsonSchema = {"type": "integer", "minimum": 1, "maximum": 10_000_000,
                      "description": "Line of the column names."}  # fmt: skip
COLUMN: JsonSchema = {"type": "string", "minLength": 1, "maxLength": 1000}


@operation(
    "GET", "/campaigns/{name}/status", "status", "Show the progress, and whether to continue.",
    may="read", answer="status",
    query=[GOAL, SUBJECT_TO, Parameter("until", TEXT, "When to stop, such as labels = 80.")],
    examples=[Example("now"), Example("another goal", query={"goal": "maximise"})],
)  # fmt: skip
async def status(call: Call) -> Answer:
    """Labels, progress towards the goal, calibration, and advice on stopping."""
    return await call.job_text("report", call=dict(call.query))


@operation(
    "GET", "/campaigns/{name}/best", "best", "List the best rows, measured or not.",
    may="read", answer="best",
    query=[
        Parameter("n", {"type": "integer", "minimum": 1, "maximum": MAX_BEST_ROWS, "default": 10},
                  "Number of rows."),
        GOAL, SUBJECT_TO,
    ],
    examples=[Example("five", query={"n": 5, "goal": "maximise"})],
)  # fmt: skip
async def best(call: Call) -> Answer:
    """The rows that most probably belong to the set of the goal, the most probable first."""
    return await call.job_text("best", call=dict(call.query))


@operation(
    "GET", "/campaigns/{name}/row", "get_row", "Show one row.",
    may="read", answer="show",
    query=[Parameter("id", {"type": "string", "minLength": 1, "maxLength": MAX_ID}, "Of the row.",
                     is_required=True)],
    examples=[Example("one", query={"id": "A-0001"})],
)  # fmt: skip
async def get_row(call: Call) -> Answer:
    """Inputs, labels, lease, notes, prediction, and why it was asked."""
    return await call.job_text("card", id=call.query["id"])


@operation(
    "GET", "/campaigns/{name}/predictions", "predictions", "Predict all candidates.",
    may="read", answer={}, media=(NDJSON_TYPE, PARQUET_TYPE),
    query=[Parameter("format", {"enum": ["ndjson", "parquet"]},
                     "In place of the header Accept [default: ndjson]."), QUANTITY],
    is_conditional=True, examples=[Example("lines")],
)  # fmt: skip
async def predictions(call: Call) -> Answer:
    """A line or row for each candidate, with the columns of `weal export --what predictions`."""
    accepted = call.headers.get("accept", "")
    given = call.query.get("format")
    chosen = given or ("parquet" if PARQUET_TYPE in accepted else "ndjson")
    return await _table_answer(call, "predictions", chosen)


@operation(
    "POST", "/campaigns/{name}/predictions", "predict", "Predict rows that are not candidates.",
    may="read", answer="predict", upload="table", media=("application/json", NDJSON_TYPE),
    body=object_of(
        {
            "rows": ROWS,
            "id_column": COLUMN,
            "level": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1,
                      "default": 0.9,
                      "description": "Probability that a label lies between low and high."},
            "quantity": {"type": "string", "maxLength": 1000},
            "sheet": SHEET,
            "header": HEADER,
        }
    ),
    examples=[
        Example("one row", {"rows": [
            {"carbon": 0.4, "manganese": 0.9, "chromium": 1.1, "molybdenum": 0.2, "nickel": 0.3,
             "temper_temp": 420, "temper_hours": 2, "quench": "oil", "cast_on": "2024-02-01"},
        ]}),
    ],
)  # fmt: skip
async def predict(call: Call) -> Answer:
    """Mean, standard deviation and interval for each row; nothing is saved."""
    given = {key: one for key, one in call.body.items() if key != "quantity" or one}
    lines = NDJSON_TYPE in call.headers.get("accept", "")
    text, tag = await call.job("predict_rows", with_table(call, {**given, "lines": lines}))
    found = call.text_answer(text, tag)
    return Answer(found.content, media=NDJSON_TYPE, headers=found.headers) if lines else found


def with_table(call: Call, given: dict[str, object]) -> Arguments:
    """The arguments of a job on a table: an upload, or rows as JSON."""
    if call.upload is not None and "rows" in given:
        raise invalid("/rows", "a table was uploaded: leave out `rows`")
    if call.upload is None and not {"rows", "box"} & given.keys():
        raise invalid("", "'rows' is missing: give rows, or upload a table")
    found: Arguments = {"name": call.name, "who": call.who, "call": given}
    found["expected"] = None if call.expected is None else list(call.expected)
    if call.upload is not None:
        found["path"], found["called"] = str(call.upload.path), call.upload.called
    return found


@operation(
    "GET", "/campaigns/{name}/export", "export", "Download a table of the campaign.",
    may="read", answer={}, media=tuple(one.partition(";")[0] for one in FORMATS.values()),
    query=[
        Parameter("what", {"enum": list(EXPORT_TABLES), "default": "labels"}, "The table."),
        Parameter("format", {"enum": list(FORMATS), "default": "csv"}, "Of the file."),
        QUANTITY,
    ],
    is_conditional=True,
    examples=[Example("labels"), Example("events", query={"what": "events", "format": "ndjson"})],
)  # fmt: skip
async def export(call: Call) -> Answer:
    """The tables of `weal export`: labels, predictions, candidates or events."""
    return await _table_answer(call, call.query["what"], call.query["format"])


async def _table_answer(call: Call, what: str, kind: str) -> Answer:
    """A table that a job writes to a file, which is streamed and deleted."""
    path = new_file(call.server.results.folder, _SUFFIXES.get(kind, f".{kind}"))
    given: Arguments = {"name": call.name, "what": what, "path": str(path)}
    given["call"] = {"quantity": call.query.get("quantity")}
    try:
        tag = await call.job("write_table", given)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    headers = {"etag": f'"{tag}"', "content-disposition": f'attachment; filename="{what}.{kind}"'}
    return Answer(_stream(path), media=FORMATS[kind], headers=headers)


async def _stream(path: Path) -> AsyncGenerator[bytes, None]:
    """The bytes of a file, which is deleted at the end."""
    try:
        with path.open("rb") as file:
            while part := await asyncio.to_thread(file.read, STREAM_BYTES):
                yield part
    finally:
        path.unlink(missing_ok=True)
