"""Rules for `ask` with options in a campaign (`learner.batch_options`).

Columns are those of the table of candidates, without the results. Requested rows must be free; rows
to replace must be leased to the person who asks, and their leases end in the transaction that
leases the others, so that either both happen or neither does. The options are in the first event
`asked` of the ask.
"""

from datetime import datetime

from weal.campaign.idempotency import AskCall
from weal.campaign.ledger import Ledger
from weal.campaign.row_rules import decide_release
from weal.campaign.session import Session
from weal.learner.batch_limits import limits_of
from weal.learner.batch_options import BatchOptions
from weal.learner.batches import batch_events
from weal.learner.events import Asked, Event
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.state import State
from weal.store.events import Draft, canonical_json
from weal.store.protocol import Transaction
from weal.tables.cells import some_of

RETURN_NOTE = "another row was asked instead"


def options_key(options: BatchOptions) -> str:
    """The options in the form that is compared when a key is used again."""
    return canonical_json(options.to_json())


def batch_of_session(
    session: Session, state: State, beliefs: PosteriorCache, options: BatchOptions, n: int
) -> tuple[list[str], list[Event]]:
    """The ids of a batch with options, and the events of the learner that ask for them."""
    limits = limits_of(options, session.pool.named_columns(result_names(session.ledger)))
    events = batch_events(state, beliefs, options, limits, n)
    return [str(event.id) for event in events if isinstance(event, Asked)], events


def result_names(ledger: Ledger) -> set[str]:
    """Names and columns of the measured quantities."""
    measured = [one.quantity for one in ledger.quantities.values()]
    return {one.name for one in measured} | {one.column for one in measured if one.column}


def check_rows_out(ledger: Ledger, options: BatchOptions, who: str, time: datetime) -> None:
    """Raise ValueError unless the rows to replace are leased to this person."""
    out = {lease.id: lease.who for lease in ledger.open_leases(time)}
    for name in options.instead_of:
        if name in out and out[str(name)] != who:
            raise ValueError(
                f"instead_of: {name!r} is out with {out[str(name)] or 'nobody by name'}, not with "
                f"{who or 'nobody by name'}; ask as that person (--by), or leave it out"
            )
    if missing := [str(name) for name in options.instead_of if name not in out]:
        raise ValueError(
            f"instead_of: {some_of(missing)}: not out, so no row is asked in place of it; leave it "
            f"out (`weal ask {ledger.name} --again` shows the rows that are out)"
        )


def decide_returns(tx: Transaction, options: BatchOptions, call: AskCall) -> list[Draft]:
    """Events that end the leases of the rows to replace."""
    ids = [str(name) for name in options.instead_of]
    if not ids:
        return []
    found = decide_release(tx, ids, call.who, RETURN_NOTE)
    if len(found) < len(ids):
        gone = sorted({*ids} - {str(draft.id) for draft in found})
        raise ValueError(
            f"instead_of: {some_of(gone)}: no longer out with {call.who or 'nobody by name'}; "
            "leave it out"
        )
    return found
