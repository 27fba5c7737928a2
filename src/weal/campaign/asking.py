"""Rows are asked: chosen, and leased to who asks, if nobody was faster.

They are out once the transaction has ended, whether or not the answer arrives: who was killed or
lost the line meanwhile, and asks again, is given others. With a key of the asker's own, a retry
gives the rows of the first time, and writes nothing (`idempotency`).
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from weal.campaign import offers, rules
from weal.campaign.idempotency import AskCall, check_command, find_asked
from weal.campaign.rules import Offer
from weal.campaign.settings import seconds
from weal.errors import Conflict, WealError
from weal.store.events import Draft, Event
from weal.store.store import Book

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign

TRIES = 20  # of an ask that others were faster than


def ask(
    campaign: "Campaign", n: int | None, who: str, lease: Any, check: bool, key: str | None = None,
    checks: int = 0,
) -> list[str]:  # fmt: skip
    """Ids of the rows that are out with who asked from now on, or since the key was used first.

    `checks` is how many rows drawn at random the same command asks for after these.
    """
    settings = campaign.ledger.settings
    out = timedelta(seconds=seconds(settings["lease"] if lease is None else lease))
    call = AskCall(_count(n), who, check, _length(lease), checks)
    if key is not None and (past := asked_before(campaign, key, call)):
        return past
    _ = campaign.session  # what takes long, following the labels, is done before it is our turn
    with campaign.store.turn(campaign.name):  # else all who ask now choose the same rows
        events = _asked(campaign, call, out, key)
    with suppress(WealError):  # the rows are asked: advice for next time may fail
        _keep(campaign, check)
    if events or key is None:
        return [str(event.id) for event in events]
    return asked_before(campaign, key, call)  # none: asked by its twin just now


def _length(lease: Any) -> timedelta | None:
    return None if lease is None else timedelta(seconds=seconds(lease))


def check_key(campaign: "Campaign", key: str, n: int, checks: int, lease: Any) -> None:
    """ReusedKey where a command of another content was given this key; it may ask in two calls."""
    call = AskCall(n, campaign.who, False, _length(lease), checks)

    def look(book: Book) -> list[Draft]:
        check_command(book, key, call)
        return []

    campaign.store.transact(campaign.name, look)


def asked_before(campaign: "Campaign", key: str, call: AskCall) -> list[str]:
    """The rows that such a call has asked for with this key; ReusedKey: it was another call."""
    found: list[str] = []

    def look(book: Book) -> list[Draft]:
        found[:] = find_asked(book, key, call)
        return []

    campaign.store.transact(campaign.name, look)
    return found


def _asked(
    campaign: "Campaign", call: AskCall, out: timedelta, key: str | None
) -> tuple[Event, ...]:
    """Rows of those that were chosen that nobody else took; chosen anew where too few are."""
    spare = 0
    for left in reversed(range(TRIES)):
        found, common = _offers(campaign, call.n, spare, call.check)
        before = campaign.session.ledger.asked
        try:
            return campaign.store.transact(
                campaign.name,
                lambda book: rules.asked(book, found, call, out, common, key),  # noqa: B023
            )
        except Conflict:  # rows went to others: next time have as many to spare, and more
            spare = max(call.n, 2 * spare, 2 * (campaign.ledger.asked - before))
            if not left:
                raise
    raise AssertionError("the last try ends in rows or in Conflict")


def _offers(
    campaign: "Campaign", wanted: int, spare: int, check: bool
) -> tuple[Sequence[Offer], Any]:
    session = campaign.session
    state, beliefs = session.choosable(campaign.store.now()), session.beliefs
    if check:
        return offers.drawn(state, beliefs, wanted, session.ledger.checks), None
    found, after = offers.chosen(state, beliefs, wanted, spare)
    acquisition = session.ledger.settings["acquisition"]
    return found, {"log_omega": after.log_omega.tolist(), "acquisition": acquisition}


def _keep(campaign: "Campaign", check: bool) -> None:
    session = campaign.session
    session.keep()
    if not check:  # then nobody has looked at all candidates
        session.keep_pool()


def _count(n: int | None) -> int:
    if n is None:
        return 1
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ValueError(f"asked for {n!r} rows; it needs a whole number of at least 1")
    return n


def ask_for(campaign: "Campaign", ids: list[str], who: str, lease: Any) -> list[str]:
    """Take these very rows, all or none."""
    session = campaign.session
    settings = session.ledger.settings
    out = timedelta(seconds=seconds(settings["lease"] if lease is None else lease))
    rules.check_free(session.ledger, ids, session.state.candidates.index, campaign.store.now())
    found = offers.named(session.state, session.beliefs, ids)
    call = AskCall(len(found), who, check=False)
    campaign.store.transact(campaign.name, lambda book: rules.asked(book, found, call, out, None))
    return ids
