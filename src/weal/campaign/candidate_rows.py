"""Candidates of a campaign as they came, read without the plan that makes inputs of them."""

from collections.abc import Collection

from weal.store.store import Store
from weal.table.parquet import parquet_to_table


def read_ids(store: Store, name: str, id_column: str) -> list[str]:
    """The ids of all candidates, in order."""
    parts = (parquet_to_table(data, [id_column]) for data in store.chunks(name))
    return [str(one) for part in parts for one in part.cells(id_column)]


def read_columns(store: Store, name: str) -> tuple[str, ...]:
    """The names of the columns that candidates came with."""
    parts = (parquet_to_table(data) for data in store.chunks(name))
    return tuple(dict.fromkeys(column for part in parts for column in part.columns))


def read_rows(
    store: Store, name: str, id_column: str, ids: Collection[str], columns: Collection[str]
) -> dict[str, dict[str, object]]:
    """The original cells of these candidates in these columns, by id."""
    found: dict[str, dict[str, object]] = {}
    wanted = [id_column, *(column for column in columns if column != id_column)]
    for part in (parquet_to_table(data, wanted) for data in store.chunks(name)):
        at = [n for n, one in enumerate(part.cells(id_column)) if one in ids]
        some = part.take(at)
        cells = [some.cells(column) for column in some.columns]
        for one, row in zip(some.cells(id_column), zip(*cells, strict=True), strict=True):
            found[str(one)] = dict(zip(some.columns, row, strict=True))
    return found
