"""Campaigns on a box of inputs: the first candidates, and more near the promising ones.

    created    the box, beside settings and plan
    added      rows drawn in the box, and rows that `refine` adds

Every row lies within the bounds, mixtures and constraints of the box that the campaign was created
with. The rows follow from the box, the seed and the number of candidates.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from weal.campaign.batch_rules import result_names
from weal.campaign.creation import add, create
from weal.campaign.earlier_labels import EarlierCampaign
from weal.campaign.idempotency import Change
from weal.campaign.ledger import Ledger
from weal.campaign.session import Session
from weal.learner.batch_limits import limits_of
from weal.learner.batch_options import BatchOptions
from weal.learner.joint_scores import scored_views
from weal.learner.local_candidates import box_neighbours
from weal.learner.shared_candidates import lacks_shared_rows, shared_rows
from weal.model.checks import check_count
from weal.store.protocol import Store
from weal.tables.candidate_table import DEFAULT_ID_COLUMN, PlannedTable
from weal.tables.design_file import design_table, input_types, read_box, space_from_json
from weal.tables.design_space import DesignSpace, Row
from weal.tables.table_options import TableOptions

MAX_REFINED_ROWS = 100_000


def create_from_box(
    store: Store, name: str, path: str | os.PathLike[str], n: int, options: TableOptions,
    settings: Mapping[str, Any], who: str, like: EarlierCampaign | None = None,
) -> tuple[bool, PlannedTable | None]:  # fmt: skip
    """Create the campaign on n rows of the box in a TOML file; see `creation.create`."""
    return create_in_space(store, name, read_box(path), n, options, settings, who, like)


def create_in_space(
    store: Store, name: str, space: DesignSpace, n: int, options: TableOptions,
    settings: Mapping[str, Any], who: str, like: EarlierCampaign | None = None,
    key: str | None = None, call: Sequence[Change] = (),
) -> tuple[bool, PlannedTable | None]:  # fmt: skip
    """Create the campaign on n rows of the box."""
    if options.id_column is not None:
        raise ValueError("rows of a box are numbered: leave out --id")
    if DEFAULT_ID_COLUMN in space.names:
        raise ValueError(
            f"an input of the box is called {DEFAULT_ID_COLUMN!r}, as the numbers of the rows are; "
            "rename the input"
        )
    if options.target in space.names:
        raise ValueError(
            f"the target {options.target!r} is an input of the box; name the result, or rename "
            "the input"
        )
    table = design_table(space, space.rows(n, _seed(settings)))
    how = replace(options, types={**input_types(space), **options.types})
    return create(store, name, table, how, settings, who, box=space, like=like, key=key, call=call)


def _seed(settings: Mapping[str, Any]) -> int:
    found = settings.get("seed")
    return 0 if found is None else int(found)


def box_of(ledger: Ledger) -> DesignSpace:
    """The box of a campaign; ValueError if it was created from a table."""
    if ledger.box is None:
        raise ValueError(
            f"the candidates of {ledger.name!r} came from a table, not from a box: add rows of "
            f"your own with `weal add {ledger.name} FILE`"
        )
    return space_from_json(ledger.box)


def add_shared_rows(session: Session, options: BatchOptions, n: int, who: str) -> bool:
    """Add rows of the box that share a value if an ask needs them; whether any were added."""
    ledger, state = session.ledger, session.state
    if ledger.box is None or not options.same:
        return False
    space = box_of(ledger)
    limits = limits_of(options, session.pool.named_columns(result_names(ledger)))
    if not lacks_shared_rows(state, space, options, limits, n):
        return False
    rows = _rows_of_box(session, space)
    _add_rows(session, space, shared_rows(space, rows, options, n, state.settings.seed), who)
    return True


def _rows_of_box(session: Session, space: DesignSpace) -> list[Row]:
    columns = session.pool.columns()
    each = zip(*(columns[one] for one in space.names), strict=True)
    return [dict(zip(space.names, cells, strict=True)) for cells in each]


def _add_rows(session: Session, space: DesignSpace, rows: Sequence[Row], who: str) -> list[str]:
    """Add rows of the box to the campaign; their ids."""
    table = design_table(space, [tuple(row[one] for one in space.names) for row in rows])
    like = session.state.candidates.inputs_at(slice(None))
    made = add(session.store, session.ledger, table, like, who)
    return [str(name) for name in made.table.cells(session.ledger.id_column)]


def refine(session: Session, n: int, who: str) -> list[str]:
    """Add n candidates of the box near the next queries; their ids."""
    ledger, state = session.ledger, session.state
    space = box_of(ledger)
    if not scored_views(state):
        raise ValueError(
            f"refine needs a model, which takes {state.settings.n_start} labels; there are "
            f"{ledger.n_labels}: measure what `weal ask {ledger.name}` suggests first"
        )
    rows = _rows_of_box(session, space)
    if check_count(n) > MAX_REFINED_ROWS:
        raise ValueError(f"n is {n}; write at most {MAX_REFINED_ROWS:,} rows at a time")
    found = box_neighbours(state, session.beliefs, space, rows, n)
    return _add_rows(session, space, found, who)
