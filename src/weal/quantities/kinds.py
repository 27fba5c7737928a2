"""Quantities by their column, their JSON form and their name.

A new kind is a class with the protocol `Quantity`, an entry in `KINDS`, and a row in the
conformance suite.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from weal.errors import UnreadableFile
from weal.quantities.classes import Classes
from weal.quantities.grades import Grades
from weal.quantities.number import Number
from weal.quantities.pass_fail import PassFail
from weal.quantities.protocol import Quantity, QuantityBody

KINDS: Mapping[str, Callable[[QuantityBody], Quantity]] = {  # by the tag of the JSON form
    "number": Number.from_json,
    "pass_fail": PassFail.from_json,
    "classes": Classes.from_json,
    "grades": Grades.from_json,
}
WORKED = "worked"  # name of the pass/fail quantity of runs that may fail
UNNAMED = "value"  # name of a quantity that users did not name, and its column in worksheets
_NAME_WITH_UNIT = re.compile(r"(.+?)\s*[\[(]([^\[\]()]+)[\])]\s*", re.DOTALL)

T = TypeVar("T")


def quantity_of_column(column: str | None) -> Quantity:
    """The number in a column, with the unit that the name of the column ends in.

    Stored events name their quantity, so that the name of a column's quantity never changes.

    >>> quantity_of_column("hardness [HV]")
    Number(name='hardness', unit='HV', column='hardness [HV]', low=None, high=None)
    >>> quantity_of_column(None).name
    'value'
    """
    return Number(*name_and_unit(column), column)


def name_and_unit(column: str | None) -> tuple[str, str]:
    """The name of the quantity in a column, and the unit that the name of the column ends in.

    >>> name_and_unit("hardness [HV]"), name_and_unit(None)
    (('hardness', 'HV'), ('value', ''))
    """
    if column is None or not column.strip():
        return UNNAMED, ""
    found = _NAME_WITH_UNIT.fullmatch(column)
    name, unit = (found[1].strip(), found[2].strip()) if found else (column.strip(), "")
    return name or column.strip(), unit


def with_bounds(quantity: Quantity, low: float | None, high: float | None) -> Quantity:
    """The quantity with these bounds of its labels.

    >>> with_bounds(quantity_of_column("yield [%]"), 0.0, 100.0).high
    100.0
    """
    if quantity.words and (low is not None or high is not None):
        raise ValueError(
            f"{quantity.name} has words for labels, and bounds are for numbers; leave the bounds "
            f"out, or declare it a number: --type '{quantity.column or quantity.name}=number'"
        )
    body = quantity.to_json()
    if low is not None:
        body["low"] = low
    if high is not None:
        body["high"] = high
    return quantity_from_json(body)


def with_unit(quantity: Quantity, unit: str | None) -> Quantity:
    """The quantity with the unit of its labels in a table, where its column names none."""
    if quantity.unit or not unit or quantity.words:
        return quantity
    return quantity_from_json({**quantity.to_json(), "unit": unit})


def quantity_from_json(body: QuantityBody) -> Quantity:
    """The quantity that `to_json` wrote; UnreadableFile for a kind of a later version of weal."""
    if body["kind"] not in KINDS:
        raise UnreadableFile(
            f"{body['name']!r} is a quantity of the kind {body['kind']!r}, which this version of "
            f"weal does not support (it supports {', '.join(KINDS)}); install a newer version of "
            "weal"
        )
    return KINDS[body["kind"]](body)


def find_quantity(quantities: Mapping[str, T], name: str | None = None) -> T:
    """The entry of the quantity of this name; None: of the only one.

    ValueError if there is no quantity of that name, or several to choose from.
    """
    if name is None and len(quantities) == 1:
        return next(iter(quantities.values()))
    if name is not None and name in quantities:
        return quantities[name]
    known = ", ".join(map(repr, quantities)) or "none"
    if name is None:
        raise ValueError(f"there are several quantities ({known}); name one of them")
    raise ValueError(f"there is no quantity {name!r}; there is {known}")


def worked_quantity() -> Quantity:
    """The quantity of runs that may fail: pass where a run worked."""
    return PassFail(WORKED)


def check_distinct(quantities: Sequence[Quantity]) -> list[Quantity]:
    """The quantities; ValueError if two have one name, or one has the name of failures."""
    names = [part.name for one in quantities for part in one.parts()]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two quantities have the name {twice[0]!r}; rename one of the columns")
    if WORKED in names:
        raise ValueError(
            f"{WORKED!r} is the name that weal gives to whether a run worked; rename the column"
        )
    return list(quantities)
