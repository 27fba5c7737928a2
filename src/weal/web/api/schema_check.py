"""Check JSON values against a JSON Schema: the part of it that requests of the API use.

The schemas in the OpenAPI document also check the requests, so that both say the
same. Keywords: type, enum, const, minimum, maximum, exclusiveMinimum, minLength, maxLength,
pattern, items, minItems, maxItems, properties, required, additionalProperties, maxProperties,
anyOf. Texts must be whole characters: a lone surrogate can be stored nowhere.

>>> check({"n": 0}, {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}})
[('/n', '0 is less than 1')]
"""

import math
import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

Schema = Mapping[str, Any]  # a JSON Schema
Fault = tuple[str, str]  # JSON pointer, and what is wrong there
MAX_FAULTS = 5  # reported for one request
SHOWN_LETTERS = 60  # of a value in a message

_TYPES: dict[str, Callable[[object], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: _is_number(value) and float(value).is_integer(),  # type: ignore[arg-type]
    "number": lambda value: _is_number(value),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def _is_number(value: object) -> bool:
    if isinstance(value, int):
        return not isinstance(value, bool)
    return isinstance(value, float) and math.isfinite(value)


def check(value: object, schema: Schema, pointer: str = "") -> list[Fault]:
    """The faults of a value, at most MAX_FAULTS; none if it is valid."""
    return _faults(value, schema, pointer)[:MAX_FAULTS]


def _faults(value: object, schema: Schema, pointer: str) -> list[Fault]:
    if "anyOf" in schema and (found := _any_of(value, schema["anyOf"], pointer)):
        return found
    if words := _wrong_type(value, schema) or _wrong_value(value, schema):
        return [(pointer, words)]
    if isinstance(value, str):
        return [(pointer, words)] if (words := _wrong_text(value, schema)) else []
    if isinstance(value, list):
        return _list_faults(value, schema, pointer)
    return _object_faults(value, schema, pointer) if isinstance(value, dict) else []


def _any_of(value: object, schemas: list[Schema], pointer: str) -> list[Fault]:
    """No fault if one schema fits; else those of the first that has the right type."""
    each = [_faults(value, one, pointer) for one in schemas]
    if not all(each):
        return []
    typed = [found for found, one in zip(each, schemas, strict=True) if not _wrong_type(value, one)]
    return min(typed or each, key=len)


def _wrong_type(value: object, schema: Schema) -> str:
    wanted = schema.get("type")
    if wanted is None:
        return ""
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    if any(_TYPES[name](value) for name in names):
        return ""
    return f"{_shown(value)} is not of type {' or '.join(names)}"


def _wrong_value(value: object, schema: Schema) -> str:
    if "const" in schema and value != schema["const"]:
        return f"{_shown(value)} is not {_shown(schema['const'])}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{_shown(value)} is not one of {', '.join(map(_shown, schema['enum']))}"
    if not _is_number(value):
        return ""
    number: float = value  # type: ignore[assignment]
    if number < schema.get("minimum", -math.inf):
        return f"{_shown(value)} is less than {schema['minimum']}"
    if number > schema.get("maximum", math.inf):
        return f"{_shown(value)} is more than {schema['maximum']}"
    if number <= schema.get("exclusiveMinimum", -math.inf):
        return f"{_shown(value)} is not more than {schema['exclusiveMinimum']}"
    if number >= schema.get("exclusiveMaximum", math.inf):
        return f"{_shown(value)} is not less than {schema['exclusiveMaximum']}"
    return ""


def _wrong_text(text: str, schema: Schema) -> str:
    if len(text) < schema.get("minLength", 0):
        return "the text is empty" if not text else "the text is too short"
    if len(text) > schema.get("maxLength", math.inf):
        return f"the text has {len(text):,} characters, and at most {schema['maxLength']:,} may be"
    if "pattern" in schema and not re.search(schema["pattern"], text):
        return f"{_shown(text)} does not match {schema['pattern']}"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "the text has a lone surrogate (half a character)"
    return ""


def _list_faults(values: list[object], schema: Schema, pointer: str) -> list[Fault]:
    if len(values) < schema.get("minItems", 0):
        return [(pointer, f"at least {schema['minItems']} needed, {len(values)} given")]
    if len(values) > schema.get("maxItems", math.inf):
        return [(pointer, f"at most {schema['maxItems']:,} may be given, not {len(values):,}")]
    found: list[Fault] = []
    for n, value in enumerate(values):
        found += _faults(value, schema.get("items", {}), f"{pointer}/{n}")
        if len(found) >= MAX_FAULTS:
            break
    return found


def _object_faults(value: dict[str, object], schema: Schema, pointer: str) -> list[Fault]:
    known: Mapping[str, Schema] = schema.get("properties", {})
    found = [
        (pointer, f"{name!r} is missing")
        for name in schema.get("required", ())
        if name not in value
    ]
    if len(value) > schema.get("maxProperties", math.inf):
        return [(pointer, f"at most {schema['maxProperties']:,} fields may be given")]
    if len(value) < schema.get("minProperties", 0):
        return [(pointer, "it is empty")]
    others = schema.get("additionalProperties", True)
    for name, one in value.items():
        place = f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"
        if name in known:
            found += _faults(one, known[name], place)
        elif others is False:
            found.append((place, _unknown(name, known)))
        elif isinstance(others, Mapping):
            found += _faults(one, others, place)
        if len(found) >= MAX_FAULTS:
            break
    return found


def _unknown(name: str, known: Mapping[str, Schema]) -> str:
    near = get_close_matches(name, known, 1)
    if near:
        return f"there is no field {_shown(name)}; did you mean {near[0]!r}?"
    return f"there is no field {_shown(name)}; there are {', '.join(known)}"


def _shown(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= SHOWN_LETTERS else f"{text[: SHOWN_LETTERS - 3]}..."
