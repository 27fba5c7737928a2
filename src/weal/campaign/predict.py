"""Predictions for rows that are not candidates, read by the plan of the campaign.

    id          from the id column, from the index of a frame, or "row 1", "row 2", ...
    mean, sd    of the function; of pass/fail, P(pass) and sqrt(P (1 - P))
    low, high   ends of the interval of a label
    P(word)     of words
    P(works)    that the run works, once runs have failed

Columns of several quantities begin with the name of the quantity: "yield mean". These are the
columns of predictions for candidates (`export`). Rows are read as `add` reads them, and nothing is
written. `notes` warn of unused columns, new levels, and inputs far outside those of the campaign.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from weal.campaign.candidate_files import is_in_files
from weal.campaign.creation import InputRanges, refuse_far
from weal.campaign.ledger import Ledger
from weal.campaign.quantity_names import find_named
from weal.campaign.session import Session
from weal.campaign.target_columns import with_targets
from weal.core.arrays import Array
from weal.errors import NoModel
from weal.learner.joint_scores import outcome_view
from weal.learner.quantity_predictions import has_models, joined_columns, prediction_columns
from weal.learner.state import QuantityView
from weal.quantities.protocol import Quantity
from weal.tables.candidate_table import options_of_plan
from weal.tables.cells import cell_text, some_of
from weal.tables.columns import check_columns
from weal.tables.frame_kinds import FrameKind, frame_kind, installed_kind, make_frame
from weal.tables.frames import with_ids
from weal.tables.plan import TablePlan, encode, notes
from weal.tables.table import Table, read_table
from weal.tables.table_writer import is_encodable

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign
    from weal.learner.pools.predictions import Columns

PREDICTION_BLOCK_ROWS = 20_000  # rows that are encoded and predicted at a time
MAX_IDS_LOOKED_UP = 10_000  # ids that are looked for among the candidates


@dataclass(frozen=True, slots=True, eq=False)
class RowPredictions:
    """Predictions for rows, and notes on their table."""

    ids: list[str]
    predicted: Mapping[str, Array]  # (N,) by the name of the column
    notes: tuple[str, ...] = ()

    def columns(self) -> "Columns":
        """The columns of the table of predictions."""
        return {"id": self.ids, **self.predicted}


def predict(
    campaign: "Campaign", source: object, id_column: str | None, level: float,
    sheet: str | None = None, header: int | None = None, most: int | None = None,
    quantity: str | None = None,
) -> RowPredictions:  # fmt: skip
    """Predictions of each row of a table; ValueError if it has more than `most` rows.

    `quantity` is the only one to predict; all if None.
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level is {level!r}; it is a probability, such as 0.9")
    session = campaign.read_session()
    quantities, remarks = predicted_quantities(session, quantity)
    table, id_column = _read(campaign, session.ledger, source, id_column, sheet, header)
    if most is not None and len(table) > most:
        raise ValueError(
            f"{len(table):,} rows are too many to be shown: --to FILE writes their predictions"
        )
    ids, id_remarks = _row_ids(table, id_column)
    plan, like = session.pool.plan, campaign.inputs_there()
    far, parts = InputRanges(plan, like), list[dict[str, Array]]()
    for part, names in _blocks(campaign, table, ids):
        X = encode(plan, part, names)
        refuse_far(X, like, names)
        far.look_at(X)
        parts.append(columns_at(session, quantities, X, level, len(table)))
    said = [*table.notes, *table.row_notes, *_passed_over(campaign, plan, table, id_column)]
    said += [*remarks, *id_remarks, *_candidates(campaign, ids, id_column)]
    said += [*notes(plan, table), *far.lines()]
    return RowPredictions(ids, joined_columns(parts), tuple(said))


def columns_at(
    session: Session, quantities: Sequence[Quantity], X: Array, level: float, of: int
) -> dict[str, Array]:
    """The columns of predictions at inputs X (N, d), which are some of `of` rows."""
    state, beliefs = session.state, session.beliefs
    found = prediction_columns(state, beliefs, quantities, X, level, of)
    if (outcomes := outcome_view(state)) is not None:
        found["P(works)"] = beliefs.pass_probability(outcomes, X)
    return found


def predicted_quantities(
    session: Session, name: str | None = None
) -> tuple[list[Quantity], list[str]]:
    """The quantities to predict, and notes on those without a model; NoModel if none has one."""
    state = session.state
    known = {one.name: one for one in state.measured}
    chosen = list(known.values()) if name is None else [find_named(known, name)]
    able = [one for one in chosen if has_models(state, one)]
    if not able:
        check_model(state.view(chosen[0].parts()[0].name))
    said = []
    for one in chosen:
        if one not in able:
            n = len(state.view(one.parts()[0].name).labels)
            said.append(f"{one.name}: no predictions yet, {n} of {state.settings.n_start} labels")
    return (chosen if len(chosen) > 1 else able), said


def check_model(view: QuantityView) -> None:
    """Raise NoModel if there are too few labels for predictions."""
    if not view.has_model:
        more = max(view.settings.n_start - len(view.labels), 1)
        labels = "1 more label" if more == 1 else f"{more} more labels"
        raise NoModel(f"there are no predictions before there is a model: {labels}")


def _read(
    campaign: "Campaign", ledger: Ledger, source: object, id_column: str | None, sheet: str | None,
    header: int | None,
) -> tuple[Table, str | None]:  # fmt: skip
    """The table, and the column of its ids, if it has one; checked to have all inputs."""
    if is_in_files(source):
        raise ValueError(f"{source} is a folder or a pattern: predict the rows of one file")
    if isinstance(source, str) and campaign.existing_ids([source]):
        raise ValueError(
            f"{source!r} is a candidate, and this takes a table: `card` has the prediction for one "
            'row (weal show), to_frame("predictions") those for all'
        )
    wanted = ledger.id_column if id_column is None else str(id_column)
    if id_column is None:
        source, _ = with_ids(source, None, wanted=wanted)
    kinds = {one["name"]: one["kind"] for one in ledger.plan["columns"]}
    quantities = [one.quantity for one in ledger.quantities.values()]
    target = quantities[0].column
    plan = replace(TablePlan.from_json(ledger.plan), id_column=wanted, target=target)
    used = [name for name, kind in kinds.items() if kind != "dropped"]
    how = with_targets(options_of_plan(plan), quantities)
    how = replace(how, features=used, sheet=sheet, header=header)
    how = replace(how, id_column=id_column and wanted)
    table = read_table(source, how, text=[wanted], leave_out=True)
    if not len(table):
        raise ValueError("the table has no rows, so there is nothing to predict")
    check_columns(table, [*([] if id_column is None else [wanted]), *used])
    return table, wanted if wanted in table.columns else None


def _row_ids(table: Table, id_column: str | None) -> tuple[list[str], list[str]]:
    """The ids of the rows, with notes on missing and repeated ids."""
    if id_column is None:
        return [f"row {n}" for n in range(1, len(table) + 1)], []
    cells = table.cells(id_column)
    ids = [f"row {n}" if one is None else cell_text(one) for n, one in enumerate(cells, start=1)]
    said = []
    if gaps := cells.count(None):
        rows = "1 row has" if gaps == 1 else f"{gaps:,} rows have"
        said.append(f"{id_column}: {rows} no id, and {_is(gaps)} named by row number")
    if twice := [one for one, n in Counter(ids).items() if n > 1]:
        said.append(f"{id_column}: {some_of(twice)} more than once; rows keep their order")
    return ids, said


def _is(n: int) -> str:
    return "is" if n == 1 else "are"


def _blocks(
    campaign: "Campaign", table: Table, ids: Sequence[str]
) -> Iterator[tuple[Table, Sequence[str]]]:
    """The rows in blocks, with progress."""
    for start in range(0, len(table), PREDICTION_BLOCK_ROWS):
        if campaign.progress is not None:
            campaign.progress("predicting", start, len(table))
        part = slice(start, start + PREDICTION_BLOCK_ROWS)
        yield table.take(part), ids[part]


def _passed_over(
    campaign: "Campaign", plan: TablePlan, table: Table, id_column: str | None
) -> list[str]:
    """Notes on columns of the table that predictions do not use.

    Columns of the campaign that are not inputs are not reported: that was done at its creation.
    """
    every = (one.column for one in campaign.read_quantities().values())
    targets = [name for name in every if name is not None]
    own = {column.name for column in plan.columns} | {id_column, *targets}
    said = []
    if (more := [name for name in table.columns if name not in own]) and (
        more := [name for name in more if name not in campaign.columns()]
    ):
        several = "no such columns" if len(more) > 1 else "no such column"
        said.append(f"{some_of(more)}: ignored, the campaign has {several}")
    for target in targets:
        n = len(table) - table.cells(target).count(None) if target in table.columns else 0
        if n:
            values = "1 value" if n == 1 else f"{n:,} values"
            said.append(f"{target}: {values} ignored, because it is the predicted quantity")
    return said


def _candidates(campaign: "Campaign", ids: Sequence[str], id_column: str | None) -> list[str]:
    """A note on rows with ids of candidates."""
    first = ids[:MAX_IDS_LOOKED_UP]
    known = campaign.existing_ids(first) if id_column is not None else set()
    if not known:
        return []
    some = some_of([one for one in dict.fromkeys(first) if one in known])
    return [
        f"{id_column}: of candidates ({some}); predicted from the inputs in this table, not from "
        "the inputs in the campaign"
    ]


def kind_of_input(table: object) -> FrameKind | None:
    """The kind of frame of a table; None for a file."""
    return None if isinstance(table, str | os.PathLike) else frame_kind(table)


def frame_of(columns: "Columns", kind: FrameKind | None = None) -> Any:
    """Columns as a frame of this kind, or of an installed one.

    An old store may hold an unpaired surrogate: pandas keeps such text as objects; in other frames,
    a question mark replaces it.
    """
    whole = {name: all(map(is_encodable, cells)) for name, cells in columns.items()}
    if all(whole.values()):
        return make_frame(columns, kind)
    if installed_kind(kind) != "pandas":
        return make_frame({name: list(map(_encodable, c)) for name, c in columns.items()}, kind)
    from pandas import Series

    objects = (Series(cells, dtype=object) for cells in columns.values())
    kept = zip(columns.items(), objects, strict=True)
    return make_frame({name: cells if whole[name] else one for (name, cells), one in kept}, kind)


def _encodable(cell: object) -> object:
    return cell.encode("utf-8", "replace").decode() if isinstance(cell, str) else cell
