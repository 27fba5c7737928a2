"""New campaigns and further candidates: a table becomes a plan, chunks and events.

    created    settings, and the plan that turns columns into inputs
    added      one for each chunk of candidates, with its sha256
    told       labels that the target columns had already, and runs that failed

One transaction writes them all, or none. Further candidates are read by the same plan.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from weal.campaign.candidate_files import FileCandidates, begin, is_in_files, more, whole_table
from weal.campaign.candidates import column_costs
from weal.campaign.config import (
    DEFAULTS,
    check_goal,
    check_settings,
    check_together,
    stored_settings,
)
from weal.campaign.earlier_labels import EarlierCampaign, earlier_bodies
from weal.campaign.events import EVENT_BODY_VERSION, SEVERAL_BODY_VERSION
from weal.campaign.idempotency import Change, with_key
from weal.campaign.label_input import entry
from weal.campaign.ledger import Ledger
from weal.campaign.quantity_names import read_failure_of
from weal.campaign.row_rules import failure
from weal.campaign.rules import LabelInput, told_body
from weal.campaign.target_columns import quantities_of_options, with_targets
from weal.core.arrays import Array
from weal.core.scaling import location_scale
from weal.errors import Conflict
from weal.progress import Progress
from weal.quantities.declarations import declaration
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
from weal.tables.design_file import space_to_json
from weal.tables.design_space import DesignSpace
from weal.tables.label_bounds import find_bounds
from weal.tables.parquet_io import table_to_parquet
from weal.tables.plan import TablePlan, encode, notes
from weal.tables.result_lines import RUN_FAILED
from weal.tables.table import Table
from weal.tables.table_options import TableOptions

FARTHEST_INPUT = 1e50  # standard deviations
FAR_INPUT_RANGES = 1.0  # times the existing range: an input beyond it is far outside
CHUNK_ROWS = 50_000  # candidates


def create(
    store: Store, name: str, source: object, options: TableOptions, settings: Mapping[str, Any],
    who: str, copy: bool = False, executor: Executor | None = None,
    progress: Progress | None = None, box: DesignSpace | None = None,
    like: EarlierCampaign | None = None, key: str | None = None, call: Sequence[Change] = (),
) -> tuple[bool, PlannedTable | None]:  # fmt: skip
    """Create the campaign: whether it is new, and its table with notes.

    A key of the client goes with the content of its `call` (`idempotency`).

    Candidates in many files stay there, and no table is returned, unless `copy` is True. The event
    keeps the box that candidates were drawn in, for `refine`, and the labels of an earlier campaign
    (`like`), whose quantities are measured if no target is named.
    """
    chosen = {**DEFAULTS, **check_settings(settings)}
    check_together(chosen)
    options = _with_earlier_targets(options, like)
    if is_in_files(source) and not copy:
        if like is not None:
            raise ValueError("--like needs candidates in the store: use copy=True (--copy)")
        given = (source, options, chosen, who, executor or ThreadExecutor(), progress)
        return _create_in_files(store, name, *given), None
    if is_in_files(source):
        source = whole_table(source)
    cost = chosen["cost"]
    if cost is not None and options.features is None and cost not in options.types:
        options = replace(options, types={**options.types, cost: "drop"})
    made = read_candidates(source, options)
    ids, quantities = made.plan.id_column, quantities_of_options(options, made.table)
    column_costs(made.table, ids, cost)
    check_goal(chosen, made.table.n, quantities, [one.name for one in made.plan.columns])
    chunks = _chunks(made.table, ids)
    drafts = [
        _created_event(chosen, made.plan, quantities, ids, made.is_numbered, who, box, like),
        *_added_events(chunks, 0, who),
        *_label_events(made, ids, quantities, who),
    ]
    return store.create(name, with_key(drafts, key, call), chunks), made


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
    id_column = options.id_column
    for target in options.targets:
        if target not in begun.targets:
            refuse_similar_name(target, list(begun.sample.columns))
    if not begun.targets and options.features is None:
        refuse_hidden_target(begun.sample, begun.plan, options)
    added = [draft.body["rows"] for draft in begun.drafts if draft.kind == "added"]
    n = sum(rows for rows in added if isinstance(rows, int))
    check_goal(chosen, n, begun.quantities, [one.name for one in begun.plan.columns])
    ids = id_column or DEFAULT_ID_COLUMN
    created = _created_event(chosen, begun.plan, begun.quantities, ids, id_column is None, who)
    return store.create(name, [created, *begun.drafts])


def _created_event(
    settings: Mapping[str, Any], plan: TablePlan, quantities: Sequence[Quantity], id_column: str,
    numbered: bool, who: str, box: DesignSpace | None = None, like: EarlierCampaign | None = None,
) -> Draft:  # fmt: skip
    is_plain = len(quantities) == 1 and not quantities[0].words and like is None
    is_plain = is_plain and settings["goal"] == "learn"
    body: dict[str, object] = {
        "v": EVENT_BODY_VERSION if is_plain else SEVERAL_BODY_VERSION,
        "settings": stored_settings(settings),
        "plan": plan.to_json(),
        "quantities": [one.to_json() for one in quantities],
        "target": quantities[0].column,  # weal 0.2 reads it
        "id": id_column,
        "numbered": numbered,
    }
    if box is not None:
        body["box"] = space_to_json(box)
    if like is not None:
        body["earlier"] = earlier_bodies(like, plan)
    return Draft("created", body, who=who)


def _with_earlier_targets(options: TableOptions, like: EarlierCampaign | None) -> TableOptions:
    """The options with the target columns of an earlier campaign, if no target is named."""
    if like is None or options.targets:
        return options
    columns = [one.column for one in like.quantities if one.column is not None]
    types = {str(one.column): declaration(one) for one in like.quantities if one.words}
    return replace(
        options, target=next(iter(columns), None), more_targets=tuple(columns[1:]),
        types={**types, **options.types},
    )  # fmt: skip


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
    options: TableOptions | None = None, key: str | None = None, call: Sequence[Change] = (),
) -> PlannedTable:  # fmt: skip
    """Add candidates to a campaign with the inputs `like` (U, d); the table with its notes."""
    made = read_more(ledger, source, options)
    ids = ledger.id_column
    quantities = [one.quantity for one in ledger.quantities.values()]
    refuse_far(made.X, like, made.table.cells(ids))
    column_costs(made.table, ids, ledger.settings.get("cost"))
    chunks = _chunks(made.table, ids)

    def decide(tx: Transaction) -> Sequence[Draft]:
        first = tx.count_chunks()
        labels = _label_events(made, ids, quantities, who)
        return with_key([*_added_events(chunks, first, who), *labels], key, call)

    store.transact(ledger.name, decide, chunks)
    return made


def read_more(ledger: Ledger, source: object, options: TableOptions | None = None) -> PlannedTable:
    """Further candidates, read by the plan of the campaign."""
    if isinstance(source, PlannedTable):
        return source
    quantities = [one.quantity for one in ledger.quantities.values()]
    target = quantities[0].column
    plan = replace(TablePlan.from_json(ledger.plan), id_column=ledger.id_column, target=target)
    how = with_targets(options_of_plan(plan, options), quantities)
    how = replace(how, id_column=None) if ledger.numbered else how
    rows, numbered = read_rows(source, how, ledger.rows)
    there = [name for name in how.targets if name in rows.columns]
    if refused := [rows.refusals[name] for name in there if name in rows.refusals]:
        raise refused[0]
    table, repeats = once_each(rows, plan, there)
    X = encode(plan, table)
    beyond = (note for one in quantities for note in _beyond_notes(table, one))
    said = (*table.notes, *table.row_notes, *notes(plan, table), *beyond)
    failures = find_failures(rows, ledger.id_column, there)
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
        """Count the rows of a block (N, d) that are far outside."""
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
            f"{name}: {self.count[n]} of {self.rows} are far outside the range of the existing "
            f"candidates ({self.low[n]:.6g} to {self.high[n]:.6g}), such as {self.example[n]:.6g}; "
            "another "
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
    made: PlannedTable, id_column: str, quantities: Sequence[Quantity], who: str
) -> list[Draft]:
    """Events for the labels in the columns of the quantities, and for runs that failed."""
    told, missing = list[Draft](), dict(made.failures)
    for quantity in quantities:
        first, words = _labels(made.table, id_column, quantity)
        again = [one for one in made.repeats if one.column == quantity.column]
        repeated = [entry(quantity, one.id, one.label, None, None) for one in again]
        told += [Draft("told", told_body(one, False), one.id, who) for one in first]
        told += [Draft("told", told_body(one, True), one.id, who) for one in repeated]
        missing |= words
    labelled = {draft.id for draft in told}
    return told + [
        _missing_event(name, note, who) for name, note in missing.items() if name not in labelled
    ]


def _missing_event(name: str, note: str, who: str) -> Draft:
    """The event for a row without a label: its run failed, or it is skipped."""
    word, _, because = note.partition(": ")
    if word.lower() in RUN_FAILED:
        return Draft("told", told_body(failure(name, because or None), False), name, who)
    return Draft("skipped", {"v": EVENT_BODY_VERSION, "on": True, "note": note}, name, who)


def _labels(
    table: Table, id_column: str, quantity: Quantity
) -> tuple[list[LabelInput], dict[str, str]]:
    """The labels in the column of a quantity, and by id the words that replace labels."""
    column = quantity.column
    if column is None or column not in table.columns:
        return [], {}
    pairs = zip(table.cells(id_column), table.cells(column), strict=True)
    labels, missing = list[LabelInput](), dict[str, str]()
    for name, value in pairs:
        words = read_failure_of(quantity, value) if isinstance(value, str) else (None, None)
        if words[0]:
            missing[str(name)] = ": ".join(filter(None, words))
        elif value is not None:
            labels.append(entry(quantity, name, value, None, None))
    return labels, missing
