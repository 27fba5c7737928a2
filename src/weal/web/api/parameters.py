"""Parameters of a request: the query, the idempotency key, and the tags of preconditions."""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

from weal.web.api.operations import KEY, Parameter
from weal.web.api.schema_check import MAX_FAULTS, Fault, check
from weal.web.problems import RequestProblem, invalid, invalid_request

MAX_QUERY_LETTERS = 50_000
_TAG = re.compile(r'(W/)?"([^"]*)"')
_INTEGER = re.compile(r"-?[0-9]{1,18}")


def read_tags(given: str | None, weak: bool = False) -> list[str] | None:
    """The tags of If-Match; None without one, or for any state (*).

    >>> read_tags('"12-ab", W/"13-cd"'), read_tags("*"), read_tags('W/"1-ab"', weak=True)
    (['12-ab'], None, ['1-ab'])
    """
    if given is None or given.strip() == "*":
        return None
    return [tag for is_weak, tag in _TAG.findall(given) if weak or not is_weak]


def read_key(headers: Mapping[str, str], body: Mapping[str, Any]) -> str | None:
    """The idempotency key of the header or of the body; 422 if they differ."""
    given = headers.get("idempotency-key")
    if given is None:
        return body.get("key")
    key = given.strip()
    key = key[1:-1] if len(key) > 1 and key[0] == key[-1] == '"' else key
    try:
        key = key.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        raise invalid("Idempotency-Key", "the key is not UTF-8") from None
    if faults := check(key, KEY):
        raise invalid("Idempotency-Key", faults[0][1])
    if body.get("key") not in (None, key):
        raise invalid("/key", "another key than that of the header Idempotency-Key; give one")
    return key


def read_query(text: bytes, parameters: Sequence[Parameter]) -> dict[str, Any]:
    """The checked query parameters, with their defaults; 422 for one that is not known."""
    known = {one.name: one for one in parameters}
    given = _split(text)
    missing = [(one.name, "it is missing") for one in parameters
               if one.is_required and one.name not in given]  # fmt: skip
    if faults := missing + _unexpected(given, known):
        raise invalid_request(faults[:MAX_FAULTS])
    found = {name: _read_value(known[name], values) for name, values in given.items()}
    faults = [
        fault for name, value in found.items() for fault in check(value, known[name].schema, name)
    ]
    if faults:
        raise invalid_request(faults[:MAX_FAULTS])
    defaults = {one.name: one.schema["default"] for one in parameters if "default" in one.schema}
    return {**defaults, **found}


def _split(text: bytes) -> dict[str, list[str]]:
    """The values of each parameter."""
    if len(text) > MAX_QUERY_LETTERS:
        raise RequestProblem(414, "address_too_long", "the query is too long: shorten it")
    given: dict[str, list[str]] = {}
    try:
        pairs = parse_qsl(text.decode("ascii"), keep_blank_values=True, errors="strict")
    except ValueError:
        raise invalid("", "the query is not UTF-8") from None
    for name, value in pairs:
        given.setdefault(name, []).append(value)
    return given


def _unexpected(given: Mapping[str, list[str]], known: Mapping[str, Parameter]) -> list[Fault]:
    """Parameters that are unknown or given twice."""
    there = ", ".join(known) or "none"
    unknown = [
        (name[:60], f"there is no parameter of this name; there are {there}")
        for name in given
        if name not in known
    ]
    twice = [
        (name, "it is given twice; give it once")
        for name, values in given.items()
        if name in known and len(values) > 1 and not known[name].is_several
    ]
    return unknown + twice


def _read_value(parameter: Parameter, values: Sequence[str]) -> object:
    """The value of a parameter by its type; text that cannot be read stays text."""
    if parameter.is_several:
        return list(values)
    kind, text = parameter.schema.get("type"), values[0]
    if kind == "integer" and _INTEGER.fullmatch(text):
        return int(text)
    if kind == "boolean" and text in ("true", "false"):
        return text == "true"
    if kind == "number":
        try:
            return float(text)
        except ValueError:
            return text
    return text
