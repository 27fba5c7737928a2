"""Operations of the API as a page, made from the operations of the server."""

import json
from collections.abc import Iterator
from typing import Any

from json_pages import Row, fields, kind, table

from weal.web.api.openapi import all_operations
from weal.web.api.operations import WRITE_FIELDS, Example, Operation

HIDDEN = tuple(WRITE_FIELDS)  # of every write: told once, above


def overview(operations: list[Operation]) -> list[str]:
    """A table of all operations."""
    rows = [
        f"| [`{one.method} {one.path}`](#api-{one.id}) | {one.summary} | {one.may} |"
        for one in operations
    ]
    return ["| request | | permission |", "|---|---|---|", *rows, ""]


def parameters(one: Operation) -> Iterator[Row]:
    """Query parameters, and the fields of the body."""
    for each in one.query:
        words = each.description or each.schema.get("description", "")
        default = each.schema.get("default")
        more = "" if default in (None, False) else f" Default: `{json.dumps(default)}`."
        yield f"?{each.name}", kind(each.schema), words + more
    body: dict[str, Any] = one.body or {}
    known = {name: own for name, own in body.get("properties", {}).items() if name not in HIDDEN}
    yield from fields({"properties": known})


def answer(one: Operation) -> str:
    """What comes back, with a link to the command of the same answer."""
    if isinstance(one.answer, str):
        return f"Answers as [`weal {one.answer} --json`](#json-{one.answer})."
    reference = json.dumps(one.answer)
    for name in ("ask", "log"):
        if f'"{name}.json"' in reference:
            return f"Answers as [`weal {name} --json`](#json-{name})."
    return f"Answers {', '.join(f'`{media}`' for media in one.media)}."


def request(one: Operation, example: Example) -> str:
    """An example as a line of curl."""
    query = "&".join(f"{name}={value}" for name, value in example.query.items())
    address = f"$WEAL/api/v1{one.path.format(**example.path)}{f'?{query}' if query else ''}"
    method = f" -X {one.method}" if one.method == "PATCH" else ""
    data = ""
    if example.body is not None and example.media == "application/json":
        data = f" --json '{json.dumps(example.body)}'"
    elif example.body is not None:
        data = f" -H 'Content-Type: {example.media}' --data-binary @batch.csv"
    return f'$ curl -H "Authorization: Bearer $TOKEN"{method}{data} "{address}"'


def section(one: Operation) -> list[str]:
    """One operation."""
    first = min(one.examples, key=lambda each: len(json.dumps(each.body)))
    upload = " A table can be uploaded instead of JSON." if one.upload else ""
    return [
        f"(api-{one.id})=",
        f"### {one.method} {one.path}",
        "",
        f"{one.summary} {one.description}{upload} {answer(one)}",
        "",
        *table(parameters(one)),
        "```console",
        request(one, first),
        "```",
        "",
    ]


def pages() -> dict[str, str]:
    """The files, by their places."""
    operations = all_operations()
    lines = [*overview(operations), *(line for one in operations for line in section(one))]
    return {"_json/operations.md": "\n".join(lines)}
