"""The OpenAPI 3.1 document of the API, made from its operations and from the schemas of the shell.

A schema of the shell (`weal/cli/schemas/ask.json`) is the component `ask`; parts that several have
(`common.json#/$defs/row`) are components of their own.
"""

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from weal import __version__
from weal.web.api import campaigns, event_stream, reports, rows
from weal.web.api.call import Answer, Call
from weal.web.api.operations import (
    OPERATIONS,
    TABLE_TYPES,
    Example,
    JsonSchema,
    Operation,
    Parameter,
    operation,
)
from weal.web.problems import PROBLEM_TYPE, VERSION

SERVER = f"/api/{VERSION}"
COMPONENTS = "#/components/schemas/"
PROBLEM_SCHEMA: JsonSchema = {
    "type": "object",
    "description": "Why a request was refused (RFC 9457).",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
        "detail": {"type": "string", "description": "For people; it may change."},
        "code": {"type": "string", "description": "For programs; it does not change."},
        "request_id": {"type": "string", "description": "The same is in the log."},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"pointer": {"type": "string"}, "detail": {"type": "string"}},
                "required": ["pointer", "detail"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["type", "title", "status", "detail", "code", "request_id"],
    "additionalProperties": False,
}
TABLE: JsonSchema = {"type": "string", "contentMediaType": "application/octet-stream"}
_HEADERS = {
    "Idempotency-Key": ("A key of your choice: the same request with the same key again writes "
                        "nothing. `key` in the body is the same."),
    "If-Match": "The ETag of an answer: write only if nothing has changed since (else 412).",
}  # fmt: skip


def openapi(operations: Sequence[Operation]) -> dict[str, Any]:
    """The document."""
    paths: dict[str, dict[str, object]] = {}
    for one in operations:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "weal",
            "version": __version__,
            "description": "Campaigns of active learning: ask for rows, tell labels, predict.",
        },
        "servers": [{"url": SERVER}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {**shell_schemas(), "problem": PROBLEM_SCHEMA},
            "responses": {
                "problem": {
                    "description": "A problem.",
                    "content": {PROBLEM_TYPE: {"schema": {"$ref": f"{COMPONENTS}problem"}}},
                }
            },
        },
    }


def shell_schemas() -> dict[str, JsonSchema]:
    """The schemas of the shell as components."""
    found: dict[str, JsonSchema] = {}
    for path in (files("weal.cli") / "schemas").iterdir():
        name = path.name.removesuffix(".json")
        schema = json.loads(path.read_text("utf-8"))
        parts = schema.pop("$defs", {})
        prefix = "" if name == "common" else f"{name}_"
        if name != "common":
            found[name] = _with_references(schema, name, prefix)
        for part, own in parts.items():
            found[f"{prefix}{part}"] = _with_references(own, name, prefix)
    return found


def _with_references(schema: Any, name: str, prefix: str) -> Any:
    """A schema whose references are to components; without its own name and dialect."""
    if isinstance(schema, list):
        return [_with_references(one, name, prefix) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: one for key, one in schema.items() if key not in ("$schema", "$id")}
    found = {key: _with_references(one, name, prefix) for key, one in kept.items()}
    if isinstance(found.get("$ref"), str):
        found["$ref"] = _component(found["$ref"], name, prefix)
    return found


def _component(reference: str, name: str, prefix: str) -> str:
    """The component that a reference of a schema of the shell means."""
    file, _, place = reference.partition("#")
    own = file.removesuffix(".json") or name
    if place.startswith("/$defs/"):
        start = "" if own == "common" else prefix if own == name else f"{own}_"
        return f"{COMPONENTS}{start}{place.removeprefix('/$defs/')}"
    return f"{COMPONENTS}{own}{place}"


def _operation(one: Operation) -> dict[str, object]:
    parameters = [_path_parameter()] if "{name}" in one.path else []
    parameters += [_query_parameter(each) for each in one.query]
    if one.writes:
        parameters += [_header(name, words) for name, words in _HEADERS.items()]
    found: dict[str, object] = {
        "operationId": one.id,
        "summary": one.summary,
        "description": one.description,
        "x-permission": one.may,
        "parameters": parameters,
        "responses": _responses(one),
    }
    if one.method != "GET" and (one.body is not None or one.upload):
        found["requestBody"] = _body(one)
    return found


def _path_parameter() -> dict[str, object]:
    schema = {"type": "string", "minLength": 1, "maxLength": 100}
    return {"name": "name", "in": "path", "required": True, "schema": schema,
            "description": "A campaign."}  # fmt: skip


def _query_parameter(one: Parameter) -> dict[str, object]:
    return {"name": one.name, "in": "query", "required": one.is_required, "schema": one.schema,
            "description": one.description or one.schema.get("description", "")}  # fmt: skip


def _header(name: str, words: str) -> dict[str, object]:
    schema = {"type": "string", "minLength": 1, "maxLength": 180}
    return {"name": name, "in": "header", "required": False, "schema": schema,
            "description": words}  # fmt: skip


def _responses(one: Operation) -> dict[str, object]:
    schema = _answer_schema(one.answer)
    content = {kind: {"schema": schema} if kind == "application/json" else {} for kind in one.media}
    headers = {"ETag": {"schema": {"type": "string"}, "description": "The state of the campaign."}}
    done: dict[str, object] = {"description": one.summary, "content": content}
    if "{name}" in one.path:
        done["headers"] = headers
    if one.links:
        done["links"] = {id_: _link(id_, body) for id_, body in one.links.items()}
    found: dict[str, object] = {str(one.status): done}
    if one.is_conditional:
        found["304"] = {"description": "Nothing has changed (If-None-Match)."}
    found["default"] = {"$ref": "#/components/responses/problem"}
    return found


def _link(id_: str, body: JsonSchema) -> dict[str, object]:
    """What a client may do with the answer."""
    return {"operationId": id_, "parameters": {"name": "$request.path.name"}, "requestBody": body}


def _answer_schema(answer: str | JsonSchema) -> JsonSchema:
    """A schema of the shell by name, or another whose references are to such schemas."""
    if isinstance(answer, str):
        return {"$ref": f"{COMPONENTS}{answer}"}
    found: JsonSchema = _with_references(answer, "", "")
    return found


def _body(one: Operation) -> dict[str, object]:
    content: dict[str, object] = {}
    if one.body is not None:
        examples = {each.name: {"value": each.body} for each in one.examples if _is_json(each)}
        content["application/json"] = {"schema": one.body, "examples": examples}
    if one.upload:
        fields = {
            "table": TABLE,
            "options": {"type": "string", "contentMediaType": "application/json"},
        }
        form = {"type": "object", "properties": fields, "required": ["table"]}
        content["multipart/form-data"] = {"schema": form}
    if one.upload == "table":
        content |= {kind: {"schema": TABLE} for kind in TABLE_TYPES}
    return {"required": one.needs_body, "content": content}


def _is_json(example: Example) -> bool:
    return example.media == "application/json" and example.body is not None


def all_operations() -> list[Operation]:
    """Every operation, those on campaigns first."""
    groups = (campaigns, rows, reports, event_stream)
    order = {one.__name__: n for n, one in enumerate(groups)}
    return sorted(OPERATIONS, key=lambda one: order.get(one.function.__module__, len(groups)))


@cache
def document() -> bytes:
    """The OpenAPI document of all operations as JSON."""
    return json.dumps(openapi(all_operations())).encode()


@operation(
    "GET", "/openapi.json", "get_openapi", "The OpenAPI document.",
    may="read", answer={"type": "object"}, examples=[Example("the document", path={})],
)  # fmt: skip
def get_openapi(call: Call) -> Answer:
    """The description of all operations, in OpenAPI 3.1."""
    return Answer(document())
