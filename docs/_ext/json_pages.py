"""Fields of --json of each command, as tables made from the schemas."""

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

Schema = dict[str, Any]
Row = tuple[str, str, str]
SOURCES = {path.name: path.read_text("utf-8") for path in (files("weal.cli") / "schemas").iterdir()}
SCHEMAS: dict[str, Schema] = {name: json.loads(text) for name, text in SOURCES.items()}
COMMON = "common.json"


def kind(schema: Schema) -> str:
    """What a value is, in words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if schema["$ref"].startswith("#/properties/"):
            return f"as `{name}` of the whole"
        return f"[{name}](#part-{name})"
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(one)}`" for one in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(kind(one) for one in reversed(schema["anyOf"]))
    found = schema.get("type", "anything")
    names = found if isinstance(found, list) else [found]
    return " or ".join(_named(name, schema) for name in names)


def _named(name: str, schema: Schema) -> str:
    if name == "array" and "prefixItems" in schema:
        return "pair"
    if name == "array":
        return f"list of {kind(schema['items'])}" if schema.get("items") else "list"
    if name == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {kind(schema['additionalProperties'])}"
    return name


def fields(schema: Schema, place: str = "") -> Iterator[Row]:
    """Place, kind and meaning of all fields within; those of parts that are named apart not."""
    for name, one in schema.get("properties", {}).items():
        here = f"{place}.{name}" if place else name
        yield here, kind(one), one.get("description") or _named_part(one).get("description", "")
        yield from within(one, here)
    if schema.get("type") == "array":
        yield from within(schema, place)


def _named_part(schema: Schema) -> Schema:
    """What a schema refers to, of the parts that several have."""
    named: dict[str, Schema] = SCHEMAS[COMMON]["$defs"]
    return named.get(schema.get("$ref", "").rpartition("/")[2], {})


def within(schema: Schema, place: str) -> Iterator[Row]:
    """The fields of an object, of the objects in a list, or of one that may be null."""
    if schema.get("type") == "array" and isinstance(schema.get("items"), dict):
        yield from fields(schema["items"], f"{place}[]")
    elif "properties" in schema:
        yield from fields(schema, place)
    for one in schema.get("anyOf", ()):
        if "properties" in one:
            yield from fields(one, place)


def table(rows: Iterator[Row]) -> list[str]:
    """A Markdown table."""
    found = [
        f"| `{place}` | {what} | {means} |".replace("||", "| |") for place, what, means in rows
    ]
    return ["| field | type | |", "|---|---|---|", *found, ""] if found else []


def described(schema: Schema) -> list[str]:
    """One schema: what it is, and its fields; one table for each form."""
    if "$ref" in schema:
        return ["As of [`weal bench run`](#json-bench-run).", ""]
    forms = [one for one in schema.get("anyOf", ()) if "properties" in one]
    if forms:
        return [line for one in forms for line in described(one)]
    what = f" ({kind(schema)})" if schema.get("type") == "array" else ""
    return [f"{schema.get('description', '')}{what}", "", *table(fields(schema))]


def section(place: str, title: str, schema: Schema, level: int = 2) -> list[str]:
    """A section of its own, with a place to link to."""
    return [f"({place})=", f"{'#' * level} {title}", "", *described(schema)]


def commands() -> list[str]:
    """A section for each command."""
    lines = []
    for file in sorted(SCHEMAS):
        if file != COMMON:
            name = file.removesuffix(".json")
            schema = SCHEMAS[file]
            lines += section(f"json-{name}", f"weal {name.replace('bench-', 'bench ')}", schema)
            lines += [f"Schema: {{download}}`{file} <api/_json/{file}>`.", ""]
    return lines


def parts() -> list[str]:
    """A section for each part that several commands give."""
    named = SCHEMAS[COMMON]["$defs"]
    lines = ["## Parts", "", "What several commands give.", ""]
    for name in sorted(named):
        lines += section(f"part-{name}", name, named[name], 3)
    return lines


def events() -> list[str]:
    """The bodies of events, by kind."""
    bodies = SCHEMAS["log.json"]["$defs"]
    lines = []
    for name, schema in bodies.items():
        about = f"**`{name}`**: {schema.get('description', '')}"
        lines += [
            about,
            "",
            *(described(schema)[2:] if "anyOf" not in schema else described(schema)),
        ]
    return lines


def pages() -> dict[str, str]:
    """The files, by their places."""
    everything = "\n".join([*commands(), *parts()])
    found = {"_json/commands.md": everything, "_json/events.md": "\n".join(events())}
    return found | {f"_json/{name}": text for name, text in SOURCES.items()}
