"""New campaigns and further candidates: a table becomes a plan, chunks and events.

    created    settings, and the plan that turns columns into inputs
    added      one for each chunk of candidates, with its sha256
    told       labels that the target column had already

One transaction writes them all, or none. Further candidates are read by the same plan.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from weal.campaign.candidate_files import FileCandidates, begin, is_in_files, more, whole_table
from weal.campaign.candidates import column_costs
from weal.campaign.config import DEFAULTS, check_goal, check_settings, check_together
from weal.campaign.events import EVENT_BODY_VERSION
from weal.campaign.label_input import entry
from weal.campaign.ledger import Ledger
from weal.campaign.row_rules import failure
from weal.campaign.rules import LabelInput, told_body
from weal.core.arrays import Array
from weal.core.scaling import location_scale
from weal.errors import Conflict
from weal.progress import Progress
from weal.quantities.kinds import quantity_of_column, with_bounds, with_unit
from weal.quantities.protocol import Quantity
from weal.shards.executors import Executor, ThreadExecutor
from weal.store.events import Draft, check_id
from weal.store.protocol import Chunk, Store, Transaction
from weal.tables.candidate_table import (
    DEFAULT_ID_COLUMN,
    PlannedTable,
    find_failures,
    once_each,
    options_of_plan,
    read_candidates,
    read_rows,
    refuse_hidden_target,
    refuse_similar_name,
)
from weal.tables.cells import Cell
from weal.tables.design_file import space_to_json
from weal.tables.design_space import DesignSpace
from weal.tables.label_bounds import find_bounds
from weal.tables.parquet_io import table_to_parquet
from weal.tables.plan import TablePlan, encode, notes
from weal.tables.result_lines import RUN_FAILED
from weal.tables.table import Table, table_of
from weal.tables.table_options import TableOptions

FARTHEST_INPUT = 1e50  # standard deviations
FAR_INPUT_RANGES = 1.0  # times the range that was there: beyond, an input is far outside
CHUNK_ROWS = 50_000  # candidates


def create(
    store: Store, name: str, source: object, options: TableOptions, settings: Mapping[str, Any],
    who: str, copy: bool = False, executor: Executor | None = None,
    progress: Progress | None = None, box: DesignSpace | None = None,
) -> tuple[bool, PlannedTable | None]:  # fmt: skip
    """Create the campaign: whether it is new, and its table with notes.

    Candidates in many files stay there, and no table is returned, unless `copy` says that the store
    is to keep them. The event keeps the box that candidates were drawn in, for `refine`.
    """
    chosen = {**DEFAULTS, **check_settings(settings)}
    check_together(chosen)
    if is_in_files(source) and not copy:
        given = (source, options, chosen, who, executor or ThreadExecutor(), progress)
        return _create_in_files(store, name, *given), None
    if is_in_files(source):
        source = whole_table(source)
    cost = chosen["cost"]
    if cost is not None and options.features is None and cost not in options.types:
        options = replace(options, types={**options.types, cost: "drop"})
    made = read_candidates(source, options)
    ids, quantity = made.plan.id_column, _quantity(options, made.table)
    column_costs(made.table, ids, cost)
    check_goal(chosen, made.table.n)
    chunks = _chunks(made.table, ids)
    drafts = [
        _created_event(chosen, made.plan, quantity, ids, made.is_numbered, who, box),
        *_added_events(chunks, 0, who),
        *_label_events(made.table, ids, quantity, who, made.repeats),
        *_failure_events(made, who),
    ]
    return store.create(name, drafts, chunks), made


def _create_in_files(
    store: Store, name: str, source: object, options: TableOptions, chosen: Mapping[str, Any],
    who: str, executor: Executor, progress: Progress | None,
) -> bool:  # fmt: skip
    """Create a campaign whose candidates stay in their files."""
    if options.missing or options.sheet or options.header:
        raise ValueError(
            "--missing, --sheet and --header are for candidates that the store keeps: say copy "
            "(--copy)"
        )
    if chosen["cost"] is not None:
        raise ValueError("costs need candidates in the store: use copy=True (--copy)")
    begun = begin(store, source, options, chosen["seed"], who, executor, progress)
    target, id_column = options.target, options.id_column
    if target is not None and not begun.has_target:
        refuse_similar_name(target, list(begun.sample.columns))
    if not begun.has_target and options.features is None:
        refuse_hidden_target(begun.sample, begun.plan, options)
    added = [draft.body["rows"] for draft in begun.drafts if draft.kind == "added"]
    check_goal(chosen, sum(rows for rows in added if isinstance(rows, int)))
    created = _created_event(
        chosen,
        begun.plan,
        _quantity(options, _labels_of(begun.drafts, target)),
        id_column or DEFAULT_ID_COLUMN,
        id_column is None,
        who,
    )
    return store.create(name, [created, *begun.drafts])


def _quantity(options: TableOptions, table: Table) -> Quantity:
    """The quantity in the target column, with the bounds of its labels in the table."""
    if wrong := [name for name in options.ranges if name != options.target]:
        raise ValueError(
            f"--range names {wrong[0]!r}, which is not the target {options.target!r}: name the "
            "target, or leave it out"
        )
    bounds, unit = (
        find_bounds(table, options.target, options)[0],
        table.units.get(options.target or ""),
    )
    return with_unit(with_bounds(quantity_of_column(options.target), *bounds), unit)


def _labels_of(drafts: Sequence[Draft], target: str | None) -> Table:
    """The labels in events as a table of one column."""
    labels = [draft.body["y"] for draft in drafts if draft.kind == "told"]
    return table_of({target: cast(list[Cell], labels)} if target else {})


def _created_event(
    settings: Mapping[str, Any], plan: TablePlan, quantity: Quantity, id_column: str,
    numbered: bool, who: str, box: DesignSpace | None = None,
) -> Draft:  # fmt: skip
    body: dict[str, object] = {
        "v": EVENT_BODY_VERSION,
        "settings": settings,
        "plan": plan.to_json(),
        "quantities": [quantity.to_json()],
        "target": quantity.column,  # weal 0.2 reads it
        "id": id_column,
        "numbered": numbered,
    }
    if box is not None:
        body["box"] = space_to_json(box)
    return Draft("created", body, who=who)


def add_files(store: Store, ledger: Ledger, source: object, pool: FileCandidates, who: str) -> int:
    """Add files to a campaign in files; returns the number of new rows."""
    drafts = more(ledger, source, who, pool)

    def decide(tx: Transaction) -> Sequence[Draft]:
        new = tx.events_between(ledger.seq + 1, tx.last)
        if any(event.kind == "added" for event in new):  # their ids were not compared
            raise Conflict(
                f"another user has added candidates to {ledger.name!r} meanwhile; add again"
            )
        return drafts

    store.transact(ledger.name, decide)
    rows = drafts[0].body["rows"]
    assert isinstance(rows, int)
    return rows


def add(
    store: Store, ledger: Ledger, source: object, like: Array, who: str,
    options: TableOptions | None = None,
) -> PlannedTable:  # fmt: skip
    """Add candidates to a campaign with the inputs `like` (U, d); the table with its notes."""
    made = read_more(ledger, source, options)
    ids, quantity = ledger.id_column, ledger.quantity().quantity
    refuse_far(made.X, like, made.table.cells(ids))
    column_costs(made.table, ids, ledger.settings.get("cost"))
    chunks = _chunks(made.table, ids)

    def decide(tx: Transaction) -> Sequence[Draft]:
        first = tx.count_chunks()
        labels = _label_events(made.table, ids, quantity, who, made.repeats)
        return [*_added_events(chunks, first, who), *labels, *_failure_events(made, who)]

    store.transact(ledger.name, decide, chunks)
    return made


def read_more(ledger: Ledger, source: object, options: TableOptions | None = None) -> PlannedTable:
    """Further candidates, read by the plan of the campaign."""
    if isinstance(source, PlannedTable):
        return source
    quantity = ledger.quantity().quantity
    plan = replace(
        TablePlan.from_json(ledger.plan), id_column=ledger.id_column, target=quantity.column
    )
    how = options_of_plan(plan, options)
    if quantity.column and quantity.unit:
        how = replace(how, units={**how.units, quantity.column: quantity.unit})
    how = replace(how, id_column=None) if ledger.numbered else how
    rows, numbered = read_rows(source, how, ledger.rows)
    if refusal := rows.refusals.get(quantity.column or ""):
        raise refusal
    table, repeats = once_each(rows, plan)
    X = encode(plan, table)
    said = (*table.notes, *table.row_notes, *notes(plan, table), *_beyond_notes(table, quantity))
    failures = find_failures(rows, plan)
    return PlannedTable(table, plan, X, repeats, failures, notes=said, is_numbered=numbered)


def _beyond_notes(table: Table, quantity: Quantity) -> list[str]:
    """Notes on labels beyond the bounds of the quantity."""
    column = quantity.column
    how = TableOptions(ranges={column or "": (quantity.low, quantity.high)})
    return find_bounds(table, column, how)[1]


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


def far_inputs(plan: TablePlan, made: PlannedTable, like: Array) -> list[str]:
    """Messages on inputs of a table far outside the range of existing inputs (U, d)."""
    far = InputRanges(plan, like)
    far.look_at(made.X)
    return far.lines()


def refuse_far(X: Array, like: Array, ids: Sequence[Any]) -> None:
    """Raise ValueError for rows X (N, d) too far from the others for any model."""
    mean, sd = location_scale(like)
    far = np.abs(X - mean) > FARTHEST_INPUT * np.where(sd == 0.0, 1.0, sd)
    if rows := np.flatnonzero(far.any(axis=1)).tolist():
        some = ", ".join(repr(ids[n]) for n in rows[:20])
        have = "1 row has" if len(rows) == 1 else f"{len(rows)} rows have"
        raise ValueError(
            f"{have} a value more than {FARTHEST_INPUT:g} standard deviations from "
            f"those of the campaign, such as {some}; correct them: are "
            "they in another unit?"
        )


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


def _label_events(
    table: Table, id_column: str, quantity: Quantity, who: str,
    repeats: Sequence[tuple[str, Cell]] = (),
) -> list[Draft]:  # fmt: skip
    """Events for the labels in the column of the quantity."""
    labels = _labels(table, id_column, quantity)
    again = [entry(quantity, name, value, None, None) for name, value in repeats]
    return [
        Draft("told", told_body(label, is_repeat), label.id, who)
        for some, is_repeat in ((labels, False), (again, True))
        for label in some
    ]


def _failure_events(made: PlannedTable, who: str) -> list[Draft]:
    """Events of the runs that failed, and of rows with a bound, which are skipped."""
    found = list[Draft]()
    for name, note in made.failures:
        word, _, because = note.partition(": ")
        if word.lower() in RUN_FAILED:
            told = told_body(failure(name, because or None), False)
            found.append(Draft("told", told, name, who))
        else:
            body = {"v": EVENT_BODY_VERSION, "on": True, "note": note}
            found.append(Draft("skipped", body, name, who))
    return found


def _labels(table: Table, id_column: str, quantity: Quantity) -> list[LabelInput]:
    column = quantity.column
    if column is None or column not in table.columns:
        return []
    pairs = zip(table.cells(id_column), table.cells(column), strict=True)
    return [entry(quantity, name, value, None, None) for name, value in pairs if value is not None]
