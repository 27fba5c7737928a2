"""Columns of a plan as JSON, and back; every field is checked.

The fields `unit` and `same` are written only if present, so a plan without them has the format of
0.2.
"""

import sys
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeGuard

from weal.tables.cells import DATE_FORMS
from weal.tables.plan_columns import COLUMN_KINDS_OF_PLAN, PlanColumn

_NUMERIC = ("gaps", "median")
_COLUMN_FIELDS = {  # JSON fields of each kind beside name and kind
    "number": (*_NUMERIC, "scale"),
    "flag": _NUMERIC,
    "date": (*_NUMERIC, "origin", "form"),
    "category": ("gaps", "levels"),
    "ordered": (*_NUMERIC, "levels"),
    "dropped": ("why", "detail"),
}
_OPTIONAL_FIELDS = {"number": ("unit",), "category": ("same",)}


def column_to_json(column: PlanColumn) -> dict[str, object]:
    """The column as a JSON object."""
    fields = _COLUMN_FIELDS[column.kind]
    said = [name for name in _OPTIONAL_FIELDS.get(column.kind, ()) if getattr(column, name)]
    own = {name: _plain(getattr(column, name)) for name in (*fields, *said)}
    return {"name": column.name, "kind": column.kind, **own}


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [list(one) if isinstance(one, tuple) else one for one in value]
    return value


def column_from_json(source: object) -> PlanColumn:
    """The column that `column_to_json` wrote; ValueError names the problem."""
    if not isinstance(source, dict):
        raise _not_a_plan(f"its column {source!r} is not an object")
    kind = str(source.get("kind"))
    expect(
        kind in COLUMN_KINDS_OF_PLAN,
        f"a column is of kind {source.get('kind')!r}, not one of {', '.join(COLUMN_KINDS_OF_PLAN)}",
    )
    optional = {name for name in _OPTIONAL_FIELDS.get(kind, ()) if name in source}
    keys = {"name", "kind", *_COLUMN_FIELDS[kind], *optional}
    given = check_keys(source, keys, f"a column of kind {kind}")
    for name, value in given.items():
        expect(_VALID[name](value), f"{name} of column {given['name']!r} is {value!r}")
    same = tuple((one, level) for one, level in given.get("same", ()))
    return PlanColumn(**given | {"levels": tuple(given.get("levels", ())), "same": same})


def check_keys(given: object, keys: set[str], what: str) -> dict[str, Any]:
    """The JSON object, which must have exactly these keys."""
    if not isinstance(given, dict):
        raise _not_a_plan(f"{what} is not an object")
    found = set(given)
    expect(found == keys, f"{what} has {sorted(map(str, found))}, not {sorted(keys)}")
    return given


def expect(is_valid: bool, problem: str) -> None:
    """Raise ValueError with the problem of a plan that is not valid."""
    if not is_valid:
        raise _not_a_plan(problem)


def _not_a_plan(problem: str) -> ValueError:
    return ValueError(f"this is not a plan of weal: {problem}")


def is_text(value: object) -> TypeGuard[str]:
    """Whether a JSON value is text."""
    return isinstance(value, str)


def _is_number(value: object) -> TypeGuard[float]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max  # False for NaN and for ints beyond floats


def _is_levels(value: object) -> bool:
    if not isinstance(value, list) or not all(map(is_text, value)):
        return False
    return 0 < len(value) == len(set(value))


def _is_same(value: object) -> bool:
    if not isinstance(value, list):
        return False
    return all(isinstance(one, list) and len(one) == 2 and all(map(is_text, one)) for one in value)


def _is_time(value: object) -> bool:
    try:
        return is_text(value) and datetime.fromisoformat(value).tzinfo is None
    except ValueError:
        return False


_VALID: dict[str, Callable[[object], bool]] = {
    "name": lambda value: is_text(value) and bool(value),
    "kind": is_text,
    "gaps": lambda value: isinstance(value, bool),
    "median": _is_number,
    "scale": lambda value: _is_number(value) and value > 0,
    "origin": _is_time,
    "form": lambda value: value is None or value in DATE_FORMS,
    "levels": _is_levels,
    "unit": lambda value: is_text(value) and bool(value),
    "same": _is_same,
    "why": is_text,
    "detail": is_text,
}
