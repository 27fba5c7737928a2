"""Operations on campaigns: list, create and describe them; candidates and settings."""

import hashlib
from pathlib import Path
from urllib.parse import quote

from weal.campaign.answers import campaign_answer, description_answer, settings_answer
from weal.campaign.config import MAX_TITLE
from weal.campaign.preconditions import state_tag
from weal.store.events import check_name
from weal.web.actors import hidden_campaign
from weal.web.api.call import Answer, Call
from weal.web.api.operations import (
    WRITE_FIELDS,
    Example,
    JsonSchema,
    Parameter,
    flag,
    object_of,
    operation,
)
from weal.web.api.reports import COLUMN, HEADER, ROWS, SHEET, TEXT, TEXTS, with_table
from weal.web.api.rows import LEASE
from weal.web.problems import API, VERSION, invalid

MAX_CAMPAIGNS = 200  # on one page of the list
MAX_BOX_ROWS = 100_000
NAME: JsonSchema = {"type": "string", "minLength": 1, "maxLength": 100,
                    "description": "Of the campaign."}  # fmt: skip


def by_column(schema: JsonSchema, description: str) -> JsonSchema:
    """An object with a value for each column."""
    return {"type": "object", "additionalProperties": schema, "maxProperties": 5000,
            "description": description}  # fmt: skip


NUMBER: JsonSchema = {"type": ["number", "null"]}
SETTINGS: dict[str, JsonSchema] = {
    "acquisition": {"anyOf": [{"type": "string", "maxLength": 200}, {**TEXTS, "minItems": 1}],
                    "description": "How rows are chosen: a name, or several."},
    "goal": {"anyOf": [{"type": "string", "maxLength": 2000}, {**TEXTS, "minItems": 1}],
             "description": "What the labels are for: learn, maximise, above 7.5, ..."},
    "subject_to": {**TEXTS, "description": "What rows must meet; [] removes all."},
    "weights": by_column({"type": "number"}, "Weight of each quantity of the goal learn."),
    "until": {"type": ["string", "null"], "maxLength": 200, "description": "When to stop."},
    "lease": LEASE,
    "warp": {"enum": [None, "auto", "asinh"], "description": "Transform of skewed labels."},
    "outliers": {"type": "boolean", "description": "Whether labels may be wrong."},
    "repeats": {"type": "boolean", "description": "Whether a measured row may be asked again."},
    "budget": {"type": ["number", "null"], "description": "Maximum total cost of labels."},
    "title": {"type": ["string", "null"], "maxLength": MAX_TITLE,
              "description": "Shown instead of the name, which does not change; null: the name."},
}  # fmt: skip
NEW_SETTINGS: dict[str, JsonSchema] = {
    **SETTINGS,
    "seed": {"type": "integer", "minimum": 0, "maximum": 2**32 - 1},
    "n_start": {"type": "integer", "minimum": 1, "maximum": 10**6,
                "description": "Labels before the first model."},
    "cost": {**COLUMN, "description": "Column with the cost of a label."},
}  # fmt: skip
BOX: JsonSchema = {
    "type": "object",
    "description": "Columns with their bounds or levels in place of rows, as in the file of "
    '`weal new --box`: {"inputs": {"temp": [20, 200], "solvent": ["THF", "toluene"]}}.',
    "properties": {
        "inputs": {"type": "object", "minProperties": 1, "maxProperties": 1000},
        "mixture": {"type": "object"},
        "mixtures": {"type": "array", "items": {"type": "object"}, "maxItems": 100},
        "constraints": {**TEXTS, "maxItems": 100},
    },
    "required": ["inputs"],
    "additionalProperties": False,
}
NEW_FIELDS: dict[str, JsonSchema] = {
    "name": NAME,
    "rows": ROWS,
    "box": BOX,
    "n": {"type": "integer", "minimum": 2, "maximum": MAX_BOX_ROWS, "default": 2000,
          "description": "Candidates drawn in the box."},
    "id_column": {**COLUMN, "description": "Column of the ids; without it rows are numbered."},
    "target": {"anyOf": [COLUMN, {"type": "array", "items": COLUMN, "minItems": 1,
                                  "maxItems": 100}],
               "description": "Column to measure, or several; labels in it are saved."},
    "features": {"type": "array", "items": COLUMN, "minItems": 1, "maxItems": 5000,
                 "description": "Input columns; by default all suitable columns."},
    "types": by_column({"type": "string", "maxLength": 2000},
                       "What columns are: number, flag, category, date, ordered:low,high, drop."),
    "missing": by_column({**TEXTS, "maxItems": 100}, "Texts for a missing value."),
    "also_inputs": {"type": "array", "items": COLUMN, "maxItems": 5000,
                    "description": "Inputs although they are filled only where the target is."},
    "same": by_column(by_column(TEXT, "Level of each spelling."), "Other spellings of levels."),
    "units": by_column({"type": "string", "maxLength": 100}, "Units of columns."),
    "decimal": {"enum": ["comma", "point"], "description": "Where 1,234 could be either."},
    "sheet": SHEET,
    "header": HEADER,
    "ranges": by_column({"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 2},
                        "Bounds of the labels of targets."),
    "settings": object_of(NEW_SETTINGS),
    **WRITE_FIELDS,
}  # fmt: skip


@operation(
    "GET", "/campaigns", "list_campaigns", "List the campaigns.",
    may="read", answer="list",
    query=[
        Parameter("limit", {"type": "integer", "minimum": 1, "maximum": MAX_CAMPAIGNS,
                            "default": MAX_CAMPAIGNS}, "Campaigns on a page."),
        Parameter("after", {"type": "string", "maxLength": 100}, "Begin after this name."),
        Parameter("all", flag("Also archived campaigns.")),
    ],
    examples=[Example("first page", path={})],
)  # fmt: skip
def list_campaigns(call: Call) -> Answer:
    """Sorted by name. The header Link has the address of the next page (rel="next")."""
    every, limit, server = call.query["all"], int(call.query["limit"]), call.server
    names = [one for one in call.actor.visible(server.store.campaigns())
             if one > call.query.get("after", "")]  # fmt: skip
    rows: list[dict[str, object]] = []
    for name in names:
        ledger = server.ledgers.ledger(name)
        if every or not ledger.is_hidden:
            more = {"archived": ledger.is_hidden} if every else {}
            rows.append({**campaign_answer(ledger, server.store.now()), **more})
        if len(rows) > limit:
            break
    page = rows[:limit]
    if len(rows) <= limit:
        return call.answer(page)
    after = quote(str(page[-1]["name"]), safe="")
    address = f"?limit={limit}&after={after}{'&all=true' if every else ''}"
    return call.answer(page, link=f'<{address}>; rel="next"')


@operation(
    "POST", "/campaigns", "create_campaign", "Create a campaign.",
    may="manage", answer="new", upload="form", status=201, body=object_of(NEW_FIELDS, "name"),
    examples=[
        Example("rows", path={}, status=201, body={
            "name": "salts", "id_column": "id", "target": "yield", "key": "salts-1",
            "rows": [{"id": f"S-{n}", "temp": 20 + 10 * n, "acid": "HCl" if n % 2 else "HBr"}
                     for n in range(8)],
            "settings": {"goal": "maximise"},
        }),
        Example("box", path={}, status=201, body={
            "name": "reactor", "target": "conversion", "n": 50,
            "box": {"inputs": {"temp": [20, 200], "solvent": ["THF", "toluene"]},
                    "constraints": ["temp < 180"]},
        }),
    ],
)  # fmt: skip
async def create_campaign(call: Call) -> Answer:
    """From a table, uploaded or as `rows`, or from a `box` of columns with bounds and levels."""
    body = call.body
    if "name" not in body:
        raise invalid("/name", "'name' is missing: give the name of the campaign in `options`")
    name = check_name(body["name"])
    if not call.actor.sees(name):
        raise hidden_campaign(name)
    if "box" in body and (call.upload is not None or "rows" in body):
        raise invalid("/box", "give rows, a table or a box: one of them")
    given = {key: one for key, one in body.items() if key not in (*WRITE_FIELDS, "name")}
    arguments = with_table(call, given)
    arguments["name"] = name
    arguments["call"] = {**given, "key": call.key, "content": _content(call, given)}
    text, tag = await call.job("create_campaign", arguments)
    root = call.server.policy.root_path
    address = f"{root}{API}/{VERSION}/campaigns/{quote(name, safe='')}"
    return call.text_answer(text, tag, location=address)


def _content(call: Call, given: dict[str, object]) -> list[object]:
    """The content of a call with a table, of which the key is."""
    return [given, _digest(call.upload.path) if call.upload is not None else None]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@operation(
    "GET", "/campaigns/{name}", "get_campaign", "Describe a campaign.",
    may="read", answer="new", is_conditional=True, examples=[Example("alloys")],
)  # fmt: skip
def get_campaign(call: Call) -> Answer:
    """Numbers of candidates and labels, columns, quantities and settings, as after `weal new`."""
    ledger = call.server.ledgers.ledger(call.name)
    return call.answer(description_answer(ledger), state_tag(ledger.seq, ledger.hash))


@operation(
    "PATCH", "/campaigns/{name}", "archive_campaign", "Archive a campaign, or open it again.",
    may="manage", answer="archive",
    body=object_of({"archived": {"type": "boolean"}, **WRITE_FIELDS}, "archived"),
    examples=[Example("archive", {"archived": True}, path={"name": "salts"})],
)  # fmt: skip
def archive_campaign(call: Call) -> Answer:
    """Nothing is deleted. It asks for no rows and is left out of lists; labels can be saved."""
    archived = bool(call.body["archived"])
    call.campaign().archive(archived)
    return call.answer({"name": call.name, "archived": archived}, call.tag)


@operation(
    "POST", "/campaigns/{name}/copies", "copy_campaign", "Copy a campaign.",
    may="manage", answer="copy", status=201,
    body=object_of(
        {"new": NAME, "labels": {"type": "boolean", "default": True,
                                 "description": "Whether labels and skipped rows are copied."},
         **WRITE_FIELDS}, "new",
    ),
    examples=[Example("fresh", {"new": "alloys-2", "labels": False, "key": "copy-1"}, status=201)],
)  # fmt: skip
async def copy_campaign(call: Call) -> Answer:
    """To a campaign `new` with the same candidates and settings; rows that are out stay here."""
    new = check_name(call.body["new"])
    if not call.actor.sees(new):
        raise hidden_campaign(new)
    given = {"new": new, "labels": bool(call.body.get("labels", True)), "key": call.key}
    text, tag = await call.job("copy_campaign", {"name": call.name, "who": call.who, "call": given})
    root = call.server.policy.root_path
    address = f"{root}{API}/{VERSION}/campaigns/{quote(new, safe='')}"
    return call.text_answer(text, tag, location=address)


@operation(
    "POST", "/campaigns/{name}/candidates", "add_candidates", "Add candidates.",
    may="manage", answer="add", upload="table",
    body=object_of({"rows": ROWS, "sheet": SHEET, "header": HEADER, **WRITE_FIELDS}),
    examples=[Example("one more", path={"name": "salts"}, body={
        "rows": [{"id": "S-8", "temp": 65, "acid": "HCl"}], "key": "more-1"})],
)  # fmt: skip
async def add_candidates(call: Call) -> Answer:
    """Rows with the columns of the first table; all are added, or none."""
    given = {key: one for key, one in call.body.items() if key not in WRITE_FIELDS}
    arguments = with_table(call, given)
    arguments["call"] = {**given, "key": call.key, "content": _content(call, given)}
    text, tag = await call.job("add_rows", arguments)
    return call.text_answer(text, tag)


@operation(
    "GET", "/campaigns/{name}/settings", "get_settings", "Show its settings.",
    may="read", answer="settings", is_conditional=True, examples=[Example("now")],
)  # fmt: skip
def get_settings(call: Call) -> Answer:
    """The settings, as `weal settings` shows them."""
    ledger = call.server.ledgers.ledger(call.name)
    return call.answer(settings_answer(ledger), state_tag(ledger.seq, ledger.hash))


@operation(
    "PATCH", "/campaigns/{name}/settings", "change_settings", "Change its settings.",
    may="manage", answer="settings", body=object_of({**SETTINGS, **WRITE_FIELDS}),
    examples=[Example("lease", {"lease": "3d", "until": "labels = 80", "key": "settings-1"})],
)  # fmt: skip
async def change_settings(call: Call) -> Answer:
    """The settings to change; the answer has all."""
    changes = {key: one for key, one in call.body.items() if key not in WRITE_FIELDS}
    if not changes:
        raise invalid("", "there is no setting to change: give one, such as lease")
    expected = None if call.expected is None else list(call.expected)
    return await call.job_text(
        "change_settings", who=call.who, changes=changes, call={"key": call.key},
        expected=expected,
    )  # fmt: skip
