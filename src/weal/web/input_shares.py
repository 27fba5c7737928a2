"""The inputs that matter: their shares of the model's predictions, and two that identify a row.

A page on a phone has room for the id and two inputs of a row beside the field for its result:

    with a model      the two inputs with the largest shares, by the last status of the worker
    without one       the first two inputs that differ among the rows of this person

The share of a column is the sum over the inputs that encode it, such as the levels of a category.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from weal.web.request import CampaignRequest
from weal.web.server_folder import Cells

N_KEY_INPUTS = 2


def input_columns(context: CampaignRequest) -> list[dict[str, Any]]:
    """The columns that are inputs of the model, as the plan has them."""
    return [one for one in context.ledger.plan["columns"] if one["kind"] != "dropped"]


def column_shares(
    columns: Sequence[Mapping[str, Any]], inputs: Mapping[str, float | None]
) -> list[tuple[str, float]]:
    """The share of each column, the largest first.

    >>> column_shares(
    ...     [{"name": "temp"}, {"name": "kind", "levels": ["a", "b"]}],
    ...     {"temp": 0.25, "kind=a": 0.5, "kind=b": 0.25},
    ... )
    [('kind', 0.75), ('temp', 0.25)]
    """
    each = {one["name"]: sum(inputs.get(name) or 0.0 for name in _encoded(one)) for one in columns}
    return sorted(each.items(), key=lambda pair: -pair[1])


def _encoded(column: Mapping[str, Any]) -> list[str]:
    """Names of a column's importances: the column, or in older results its encoded inputs."""
    name, levels = column["name"], column.get("levels") or []
    return [name, *(f"{name}={one}" for one in levels), f"{name} missing"]


def key_inputs(context: CampaignRequest, rows: Mapping[str, Cells]) -> list[str]:
    """The inputs that stay visible while a result is typed; `rows` are those of this person."""
    columns = input_columns(context)
    status = context.server.results.read_result(context.name, "status")
    beliefs = status.data.get("beliefs") if status else None
    shares = column_shares(columns, (beliefs or {}).get("inputs") or {})
    ranked = [name for name, share in shares if share > 0.0]
    return choose_key_inputs([str(one["name"]) for one in columns], ranked, rows)


def choose_key_inputs(
    columns: Sequence[str], ranked: Sequence[str], rows: Mapping[str, Cells]
) -> list[str]:
    """Two columns: ranked ones first, then columns that vary among the rows, then the others.

    >>> rows = {"A": {"lab": "x", "temp": 3, "time": 5}, "B": {"lab": "x", "temp": 4, "time": 5}}
    >>> choose_key_inputs(["lab", "temp", "time"], [], rows)
    ['temp', 'lab']
    >>> choose_key_inputs(["lab", "temp", "time"], ["time"], rows)
    ['time', 'temp']
    """

    def varies(name: str) -> bool:
        return len({str(one.get(name)) for one in rows.values()}) > 1

    order = dict.fromkeys((*ranked, *filter(varies, columns), *columns))
    return list(order)[:N_KEY_INPUTS]
