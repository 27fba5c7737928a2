"""New campaigns and further candidates: a table becomes a plan, chunks and events.

    created    settings, and the plan that turns columns into inputs
    added      one for each chunk of candidates, with its sha256
    told       labels that the target column had already

One transaction writes them all, or none. Further candidates are read by the same plan.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from shlex import quote
from typing import Any

import numpy as np

from weal.campaign.candidate_files import FileCandidates, begin, is_in_files, more, whole_table
from weal.campaign.candidates import column_costs
from weal.campaign.config import DEFAULTS, check_settings, check_together
from weal.campaign.events import EVENT_BODY_VERSION
from weal.campaign.label_input import entry
from weal.campaign.ledger import Ledger
from weal.campaign.rules import LabelInput, told_body
from weal.core.arrays import Array
from weal.core.scaling import location_scale
from weal.errors import Conflict
from weal.progress import Progress
from weal.shards.executors import Executor, ThreadExecutor
from weal.store.events import Draft, check_id
from weal.store.protocol import Chunk, Store, Transaction
from weal.tables.cells import Cell
from weal.tables.columns import check_columns
from weal.tables.parquet_io import table_to_parquet
from weal.tables.plan import TablePlan, encode, likely_targets, make_plan
from weal.tables.table import Missing, Table, read_table, table_of

FARTHEST_INPUT = 1e50  # standard deviations
FAR_INPUT_RANGES = 1.0  # times the range that was there: beyond, an input is far outside
MIN_NAME_SIMILARITY = 0.8  # likeness of two names, as difflib has it, one of which may be meant
CHUNK_ROWS = 50_000  # candidates
DEFAULT_ID_COLUMN = "id"  # name of the ids where the table has no column of them


def create(
    store: Store, name: str, source: object, id_column: str | None, target: str | None,
    features: Any, types: Mapping[str, str], settings: Mapping[str, Any], who: str,
    missing: Missing | None = None, copy: bool = False, executor: Executor | None = None,
    progress: Progress | None = None,
) -> bool:  # fmt: skip
    """Create the campaign; False if it exists already.

    Candidates in many files stay there, unless `copy` says that the store is to keep them.
    """
    chosen = {**DEFAULTS, **check_settings(settings)}
    check_together(chosen)
    if is_in_files(source) and not copy:
        if missing:
            raise ValueError(
                "further texts that mean missing are for candidates that the store keeps: say copy "
                "(--copy)"
            )
        given = (
            id_column,
            target,
            features,
            types,
            chosen,
            who,
            executor or ThreadExecutor(),
            progress,
        )
        return _create_in_files(store, name, source, *given)
    numbered = id_column is None
    id_column = id_column or DEFAULT_ID_COLUMN
    if is_in_files(source):
        source = whole_table(source)
    strict = strict_columns(target, types)
    named = [*(missing or {}), *filter(None, [chosen["cost"]])]
    table = _table(source, id_column, 0 if numbered else None, strict, missing, named)
    there = target in table.columns
    if target is not None and not there:
        _refuse_nearly(target, list(table.columns))
    types = _cost_aside(table, chosen["cost"], features, types)
    how = {"target": target if there else None, "features": features, "types": types}
    plan = replace(make_plan(table, id_column=id_column, **how), target=target)
    if not there and features == "auto":
        _refuse_hidden_target(table, plan, types)
    encode(plan, table)  # refuses what cannot be used before anything is written
    column_costs(table, id_column, chosen["cost"])
    chunks = _chunks(table, id_column)
    drafts = [
        _created_event(chosen, plan, target, id_column, numbered, who),
        *_added_events(chunks, 0, who),
        *_label_events(table, id_column, target, who),
    ]
    return store.create(name, drafts, chunks)


def _create_in_files(
    store: Store, name: str, source: object, id_column: str | None, target: str | None,
    features: Any, types: Mapping[str, str], chosen: Mapping[str, Any], who: str,
    executor: Executor, progress: Progress | None,
) -> bool:  # fmt: skip
    """Create a campaign whose candidates stay in their files."""
    if chosen["cost"] is not None:
        raise ValueError("costs are for candidates that the store keeps: say copy (--copy)")
    given = (source, id_column, target, features, types, chosen["seed"], who)
    begun = begin(store, *given, executor, progress)
    if target is not None and not begun.has_target:
        _refuse_nearly(target, list(begun.sample.columns))
    if not begun.has_target and features == "auto":
        _refuse_hidden_target(begun.sample, begun.plan, types)
    created = _created_event(
        chosen, begun.plan, target, id_column or DEFAULT_ID_COLUMN, id_column is None, who
    )
    return store.create(name, [created, *begun.drafts])


def _created_event(
    settings: Mapping[str, Any], plan: TablePlan, target: str | None, id_column: str,
    numbered: bool, who: str,
) -> Draft:  # fmt: skip
    body = {
        "v": EVENT_BODY_VERSION,
        "settings": settings,
        "plan": plan.to_json(),
        "target": target,
        "id": id_column,
        "numbered": numbered,
    }
    return Draft("created", body, who=who)


def add_files(store: Store, ledger: Ledger, source: object, pool: FileCandidates, who: str) -> int:
    """Add files to a campaign in files; returns the number of new rows."""
    drafts = more(ledger, source, who, pool)

    def decide(tx: Transaction) -> Sequence[Draft]:
        new = tx.events_between(ledger.seq + 1, tx.last)
        if any(event.kind == "added" for event in new):  # their ids were not compared
            raise Conflict(
                f"somebody else has added candidates to {ledger.name!r} meanwhile; add again"
            )
        return drafts

    store.transact(ledger.name, decide)
    rows = drafts[0].body["rows"]
    assert isinstance(rows, int)
    return rows


def add(store: Store, ledger: Ledger, source: object, like: Array, who: str) -> int:
    """Add candidates to a campaign with the inputs `like` (U, d); returns their number."""
    id_column, target = ledger.id_column, ledger.target
    strict = strict_columns(target, {one["name"]: one["kind"] for one in ledger.plan["columns"]})
    table = _table(source, id_column, ledger.rows if ledger.numbered else None, strict)
    refuse_far(encode(TablePlan.from_json(ledger.plan), table), like, table.cells(id_column))
    column_costs(table, id_column, ledger.settings.get("cost"))
    chunks = _chunks(table, id_column)

    def decide(tx: Transaction) -> Sequence[Draft]:
        first = tx.count_chunks()
        return [*_added_events(chunks, first, who), *_label_events(table, id_column, target, who)]

    store.transact(ledger.name, decide, chunks)
    return len(table)


def _cost_aside(
    table: Table, cost: str | None, features: Any, types: Mapping[str, str]
) -> Mapping[str, str]:
    """Column types with the cost column dropped from the inputs, unless its type is given."""
    if cost is None or features != "auto" or cost in types:
        return types
    check_columns(table, [cost])
    return {**types, cost: "drop"}


class InputRanges:
    """Finds inputs of new rows far outside the range of existing inputs (U, d), in blocks."""

    def __init__(self, plan: TablePlan, like: Array) -> None:
        self.plan, self.low, self.high = plan, like.min(axis=0), like.max(axis=0)
        self.rows = 0
        self.count = np.zeros(len(self.low), dtype=np.int64)  # (d,)  rows far outside
        self.example = np.zeros(len(self.low))  # (d,)  the first of them

    def look_at(self, X: Array) -> None:
        """Count the far rows of a block (N, d)."""
        beyond = FAR_INPUT_RANGES * (self.high - self.low)
        out = (self.low - beyond > X) | (self.high + beyond < X)
        for n in np.flatnonzero(out.any(axis=0) & (self.count == 0)):
            self.example[n] = X[out[:, n], n][0]
        self.count += out.sum(axis=0)
        self.rows += len(X)

    def lines(self) -> list[str]:
        """A message for each numeric input with far rows."""
        kinds = {name: column.kind for column in self.plan.columns for name in column.inputs}
        return [
            f"{name}: {self.count[n]} of {self.rows} lie far outside what was there "
            f"({self.low[n]:.6g} to {self.high[n]:.6g}), such as {self.example[n]:.6g}; another "
            "unit?"
            for n, name in enumerate(self.plan.names)
            if kinds[name] == "number" and self.count[n]
        ]


def far_inputs(plan: TablePlan, table: Table, like: Array) -> list[str]:
    """Messages on inputs of a table far outside the range of existing inputs (U, d)."""
    far = InputRanges(plan, like)
    far.look_at(encode(plan, table))
    return far.lines()


def _refuse_hidden_target(table: Table, plan: TablePlan, types: Mapping[str, str]) -> None:
    """Raise ValueError if a column that looks like the labels would become an input."""
    for name, empty in likely_targets(plan, table, types):
        raise ValueError(
            f"the column {name!r} is empty in {empty:.0%} of the rows: is it the "
            f"target? Then add --target {quote(name)}; if it is an input, "
            f"add --type {quote(name + '=number')}"
        )


def _refuse_nearly(target: str, names: Sequence[str]) -> None:
    """Raise ValueError if the target is no column and one column has a similar name."""
    from difflib import get_close_matches  # takes time to import

    plain = {"".join(filter(str.isalnum, name.casefold())): name for name in names}
    own = "".join(filter(str.isalnum, target.casefold()))
    if like := get_close_matches(own, plain, 1, MIN_NAME_SIMILARITY):
        near = plain[like[0]]
        raise ValueError(
            f"the table has no column {target!r}, but one named {near!r}: did you mean that "
            f"one? Then use --target {quote(near)}; for a column that is not in the table, choose "
            "a name that is less similar"
        )


def refuse_far(X: Array, like: Array, ids: Sequence[Any]) -> None:
    """Raise ValueError for rows X (N, d) too far from the others for any model."""
    mean, sd = location_scale(like)
    far = np.abs(X - mean) > FARTHEST_INPUT * np.where(sd == 0.0, 1.0, sd)
    if rows := np.flatnonzero(far.any(axis=1)).tolist():
        some = ", ".join(repr(ids[n]) for n in rows[:5])
        have = "1 row has" if len(rows) == 1 else f"{len(rows)} rows have"
        raise ValueError(
            f"{have} a value more than {FARTHEST_INPUT:g} standard deviations from "
            f"those of the campaign, such as {some}; is it in another unit?"
        )


def strict_columns(target: str | None, types: Mapping[str, str]) -> list[str]:
    """Columns in which one cell that is no number is an error."""
    return [*filter(None, [target]), *(name for name, kind in types.items() if kind != "number")]


def _table(
    source: object, id_column: str, before: int | None, strict: Sequence[str],
    missing: Missing | None = None, named: Sequence[str] = (),
) -> Table:  # fmt: skip
    """The table; with `before` candidates before, rows without ids are given their numbers."""
    table = read_table(source, text=[id_column], strict=strict, missing=missing)
    check_columns(table, named)  # while it has its own columns alone
    if before is None or id_column in table.columns:
        check_columns(table, [id_column])
        return table
    ids: list[Cell] = [str(before + n + 1) for n in range(len(table))]
    columns = {id_column: ids, **{name: table.cells(name) for name in table.columns}}
    return table_of(columns, text=[id_column], notes=table.notes)


def _chunks(table: Table, id_column: str) -> list[Chunk]:
    starts = range(0, len(table), CHUNK_ROWS)
    parts = [table.take(slice(start, start + CHUNK_ROWS)) for start in starts]
    return [
        Chunk.of(table_to_parquet(part), [check_id(name) for name in part.cells(id_column)])
        for part in parts
    ]


def _added_events(chunks: Sequence[Chunk], first: int, who: str) -> list[Draft]:
    bodies = [
        {"v": EVENT_BODY_VERSION, "rows": len(chunk.ids), "chunk": n, "sha256": chunk.sha256}
        for n, chunk in enumerate(chunks, start=first)
    ]
    return [Draft("added", body, who=who) for body in bodies]


def _label_events(table: Table, id_column: str, target: str | None, who: str) -> list[Draft]:
    """Events for the labels in the target column of the table."""
    return [
        Draft("told", told_body(label, False), label.id, who)
        for label in _labels(table, id_column, target)
    ]


def _labels(table: Table, id_column: str, target: str | None) -> list[LabelInput]:
    if target is None or target not in table.columns:
        return []
    pairs = zip(table.cells(id_column), table.cells(target), strict=True)
    return [entry(name, value, None, None) for name, value in pairs if value is not None]
