"""A campaign begins, and grows: a table of candidates becomes a plan, chunks and events.

    created    settings, and the plan that turns columns into inputs
    added      one for each chunk of candidates, with its sha256
    told       labels that the target column had already

All of it in one transaction: there is a whole campaign, or none. Candidates that come later are
read by the same plan.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from weal.campaign.candidate_table import column_costs
from weal.campaign.entries import entry
from weal.campaign.ledger import VERSION, Ledger
from weal.campaign.rules import Entry, told_body
from weal.campaign.settings import DEFAULTS, check_settings, check_together
from weal.campaign.shard_pool import ShardPool, begin, is_in_files, more, whole_table
from weal.core.arrays import Array
from weal.core.scaling import location_scale
from weal.shards.crew import Crew, Progress, Threads
from weal.store.events import Draft, check_id
from weal.store.store import Book, Chunk, Store
from weal.table.parquet import table_to_parquet
from weal.table.plan import Plan, encode, make_plan
from weal.table.reading import Table, read_table, table_of
from weal.table.rows import check_columns

FARTHEST_INPUT = 1e50  # standard deviations
NEARLY_EMPTY = 0.8  # share of missing cells in a column that is rather a target than an input
CHUNK = 50_000  # candidates
ID = "id"  # name of the ids where the table has no column of them


def create(
    store: Store, name: str, source: Any, id_column: str | None, target: str | None,
    features: Any, types: Mapping[str, str], settings: Mapping[str, Any], who: str,
    copy: bool = False, crew: Crew | None = None, progress: Progress | None = None,
) -> bool:  # fmt: skip
    """Make the campaign; False when somebody else has made it already.

    Candidates in many files stay there, unless `copy` says that the store is to keep them.
    """
    chosen = {**DEFAULTS, **check_settings(settings)}
    check_together(chosen)
    if is_in_files(source) and not copy:
        if chosen["cost"] is not None:
            raise ValueError("costs are for candidates that the store keeps: say copy (--copy)")
        given = (source, id_column, target, features, types, chosen["seed"], who)
        begun = begin(store, *given, crew or Threads(), progress)
        if target is None and features == "auto":
            _refuse_hidden_target(begun.sample, begun.plan, types)
        created = _created(chosen, begun.plan, target, id_column or ID, id_column is None, who)
        return store.create(name, [created, *begun.drafts])
    numbered = id_column is None
    id_column = id_column or ID
    if is_in_files(source):
        source = whole_table(source, id_column)
    table = _table(source, id_column, 0 if numbered else None)
    types = _cost_aside(table, chosen["cost"], features, types)
    plan = make_plan(table, id_column=id_column, target=target, features=features, types=types)
    if target is None and features == "auto":
        _refuse_hidden_target(table, plan, types)
    encode(plan, table)  # refuses what cannot be used before anything is written
    column_costs(table, id_column, chosen["cost"])
    chunks = _chunks(table, id_column)
    drafts = [
        _created(chosen, plan, target, id_column, numbered, who),
        *_added(chunks, 0, who),
        *_told(table, id_column, target, who),
    ]
    return store.create(name, drafts, chunks)


def _created(
    settings: Mapping[str, Any], plan: Plan, target: str | None, id_column: str, numbered: bool,
    who: str,
) -> Draft:  # fmt: skip
    body = {
        "v": VERSION,
        "settings": settings,
        "plan": plan.to_json(),
        "target": target,
        "id": id_column,
        "numbered": numbered,
    }
    return Draft("created", body, who=who)


def add_files(
    store: Store, ledger: Ledger, created: Mapping[str, Any], source: Any, pool: ShardPool, who: str
) -> int:
    """Add files to a campaign whose candidates are in files; how many rows they have."""
    drafts = more(created, source, who, pool)
    store.transact(ledger.name, lambda book: drafts)
    return int(drafts[0].body["rows"])


def add(
    store: Store, ledger: Ledger, created: Mapping[str, Any], source: Any, like: Array, who: str
) -> int:
    """Add candidates to a campaign whose inputs so far are `like` (U, d); how many there were."""
    id_column, target = created["id"], created["target"]
    table = _table(source, id_column, ledger.rows if created["numbered"] else None)
    _refuse_far(encode(Plan.from_json(ledger.plan), table), like, table.cells(id_column))
    column_costs(table, id_column, ledger.settings.get("cost"))
    chunks = _chunks(table, id_column)

    def decide(book: Book) -> Sequence[Draft]:
        first = book.next_chunk()
        return [*_added(chunks, first, who), *_told(table, id_column, target, who)]

    store.transact(ledger.name, decide, chunks)
    return len(table)


def _cost_aside(
    table: Table, cost: str | None, features: Any, types: Mapping[str, str]
) -> Mapping[str, str]:
    """What columns are, once that of the costs is none of the inputs, unless somebody says so."""
    if cost is None or features != "auto" or cost in types:
        return types
    check_columns(table, [cost])
    return {**types, cost: "drop"}


def _refuse_hidden_target(table: Table, plan: Plan, types: Mapping[str, str]) -> None:
    """Refuse to learn from what looks like the labels: a column of numbers, nearly empty."""
    for column in plan.columns:
        if column.kind != "number" or not column.gaps or column.name in types:
            continue
        empty = sum(cell is None for cell in table.cells(column.name)) / len(table)
        if empty >= NEARLY_EMPTY:
            raise ValueError(
                f"the column {column.name!r} is empty in {empty:.0%} of the rows: is it what is to "
                f"be predicted? Then name it as the target (--target {column.name}); if it is an "
                f"input, say so (--type {column.name}=number)"
            )


def _refuse_far(X: Array, like: Array, ids: Sequence[Any]) -> None:
    """Refuse candidates X (N, d) so far from the others that no model could take them."""
    mean, sd = location_scale(like)
    far = np.abs(X - mean) > FARTHEST_INPUT * np.where(sd == 0.0, 1.0, sd)
    if rows := np.flatnonzero(far.any(axis=1)).tolist():
        some = ", ".join(repr(ids[n]) for n in rows[:5])
        raise ValueError(
            f"{len(rows)} rows have a value more than {FARTHEST_INPUT:g} standard deviations from "
            f"those of the campaign, such as {some}; is it in another unit?"
        )


def _table(source: Any, id_column: str, before: int | None) -> Table:
    """The table; with `before` candidates before, rows without ids are given their numbers."""
    table = read_table(source, text=[id_column])
    if before is None or id_column in table.columns:
        return table
    ids = [str(before + n + 1) for n in range(len(table))]
    columns = {id_column: ids, **{name: table.cells(name) for name in table.columns}}
    return table_of(columns, text=[id_column], notes=table.notes)


def _chunks(table: Table, id_column: str) -> list[Chunk]:
    starts = range(0, len(table), CHUNK)
    parts = [table.take(slice(start, start + CHUNK)) for start in starts]
    return [
        Chunk.of(table_to_parquet(part), [check_id(name) for name in part.cells(id_column)])
        for part in parts
    ]


def _added(chunks: Sequence[Chunk], first: int, who: str) -> list[Draft]:
    bodies = [
        {"v": VERSION, "rows": len(chunk.ids), "chunk": n, "sha256": chunk.sha256}
        for n, chunk in enumerate(chunks, start=first)
    ]
    return [Draft("added", body, who=who) for body in bodies]


def _told(table: Table, id_column: str, target: str | None, who: str) -> list[Draft]:
    """Labels that the table has in its target column."""
    return [
        Draft("told", told_body(label, False), label.id, who)
        for label in _labels(table, id_column, target)
    ]


def _labels(table: Table, id_column: str, target: str | None) -> list[Entry]:
    if target is None or target not in table.columns:
        return []
    pairs = zip(table.cells(id_column), table.cells(target), strict=True)
    return [entry(name, value, None, None) for name, value in pairs if value is not None]
