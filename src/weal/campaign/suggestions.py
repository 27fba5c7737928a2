"""Rows are asked: chosen, and leased to who asks, if nobody was faster.

They are out once the transaction has ended, whether or not the answer arrives: who was killed or
lost the line meanwhile, and asks again, is given others. With a key of the asker's own, a retry
gives the rows of the first time, and writes nothing (`idempotency`).

Rows to be asked next, with what is to be kept of why: chosen by the learner, or at random.

Rows that are out: with whom and until when, what was expected of them, and why they were asked.

Expectations, scores and shares are those kept in the event of the ask: what was true then.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from weal.active_learner import ActiveLearner
from weal.campaign import rules
from weal.campaign.config import seconds
from weal.campaign.idempotency import AskCall, check_command, find_asked
from weal.campaign.ledger import Lease
from weal.campaign.rules import Suggestion
from weal.campaign.session import Session
from weal.core.constants import INTERVAL_LEVEL
from weal.diagnostics.explanation import Neighbour, brief, neighbours, sentences, usual_sd
from weal.errors import Conflict, WealError
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.state import State
from weal.store.events import Draft, Event
from weal.store.protocol import Transaction

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign


CHECK_KEY = 7  # part of the random key of rows that are offered for a test
PREDICTION_FIELDS = ("mean", "sd", "low", "high")


def choose_rows(
    state: State, beliefs: PosteriorCache, wanted: int, spare: int
) -> tuple[list[Suggestion], State]:
    """The rows to ask next, best first, and the state once they are asked.

    As many as wanted, and spare ones where there are, should others be faster.
    """
    left = int(state.free().sum())
    learner = ActiveLearner.of(state, beliefs)
    ids = learner.ask(max(wanted, min(wanted + spare, left)), more=True)
    rows = [learner.history[learner.pending[name]] for name in ids]
    offers = [
        Suggestion(name, {"check": False, **belief, "why": _why(row)})
        for name, row, belief in zip(ids, rows, predict_rows(state, beliefs, ids), strict=True)
    ]
    return offers, learner.state


def draw_rows(state: State, beliefs: PosteriorCache, n: int, before: int) -> list[Suggestion]:
    """Rows drawn at random, of those that are free; `before` were drawn already."""
    free = np.flatnonzero(state.free(n))
    rng = np.random.default_rng([state.settings.seed, CHECK_KEY, before])
    ids = [str(state.candidates.ids[k]) for k in rng.choice(free, n, replace=False).tolist()]
    return [
        Suggestion(name, {"check": True, **belief, "why": {"how": "check"}})
        for name, belief in zip(ids, predict_rows(state, beliefs, ids), strict=True)
    ]


def rows_by_id(state: State, beliefs: PosteriorCache, ids: Sequence[str]) -> list[Suggestion]:
    """Rows that somebody wants by name."""
    return [
        Suggestion(name, {"check": False, **belief, "why": {"how": "by hand"}})
        for name, belief in zip(ids, predict_rows(state, beliefs, ids), strict=True)
    ]


def predict_rows(
    state: State, beliefs: PosteriorCache, ids: Sequence[str]
) -> list[dict[str, float | None]]:
    """What is expected of a label of these rows; None where there is no model."""
    if not state.fitted:
        return [dict.fromkeys(PREDICTION_FIELDS) for _ in ids]
    model, X = beliefs.model(state), state.candidates.inputs(ids)
    table = model.summary(X, INTERVAL_LEVEL).T.tolist()
    return [dict(zip(PREDICTION_FIELDS, row, strict=True)) for row in table]


def _why(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "how": "start" if row["why"] == "start" else "chosen",
        "scores": row["scores"],
        "shares": row["shares"],
        "weights": row["acquisition_weights"],
    }


MAX_ASK_RETRIES = 20  # of an ask that others were faster than


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
        events = _lease_rows(campaign, call, out, key)
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

    def look(book: Transaction) -> list[Draft]:
        check_command(book, key, call)
        return []

    campaign.store.transact(campaign.name, look)


def asked_before(campaign: "Campaign", key: str, call: AskCall) -> list[str]:
    """The rows that such a call has asked for with this key; ReusedKey: it was another call."""
    found: list[str] = []

    def look(book: Transaction) -> list[Draft]:
        found[:] = find_asked(book, key, call)
        return []

    campaign.store.transact(campaign.name, look)
    return found


def _lease_rows(
    campaign: "Campaign", call: AskCall, out: timedelta, key: str | None
) -> tuple[Event, ...]:
    """Rows of those that were chosen that nobody else took; chosen anew where too few are."""
    spare = 0
    for left in reversed(range(MAX_ASK_RETRIES)):
        found, common = _offers(campaign, call.n, spare, call.check)
        before = campaign.session.ledger.asked
        try:
            return campaign.store.transact(
                campaign.name,
                lambda book: rules.decide_leases(book, found, call, out, common, key),  # noqa: B023
            )
        except Conflict:  # rows went to others: next time have as many to spare, and more
            spare = max(call.n, 2 * spare, 2 * (campaign.ledger.asked - before))
            if not left:
                raise
    raise AssertionError("the last try ends in rows or in Conflict")


def _offers(
    campaign: "Campaign", wanted: int, spare: int, check: bool
) -> tuple[Sequence[Suggestion], Any]:
    session = campaign.session
    state, beliefs = session.choosable(campaign.store.now()), session.beliefs
    if check:
        return draw_rows(state, beliefs, wanted, session.ledger.checks), None
    found, after = choose_rows(state, beliefs, wanted, spare)
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
    found = rows_by_id(session.state, session.beliefs, ids)
    call = AskCall(len(found), who, check=False)
    campaign.store.transact(
        campaign.name, lambda book: rules.decide_leases(book, found, call, out, None)
    )
    return ids


@dataclass(frozen=True, slots=True)
class LeasedRow:
    """A row that is out, and why it was chosen."""

    id: str
    row: dict[str, Any]  # its original cells
    who: str
    since: datetime
    until: datetime
    check: bool
    mean: float | None  # what was expected when it was asked; None: there was no model
    sd: float | None
    low: float | None
    high: float | None
    shares: dict[str, float]  # of each acquisition function in the choice
    scores: dict[str, float]
    near: tuple[Neighbour, ...]
    sentences: tuple[str, ...]
    brief: str = ""  # the main reason, in a few words

    @property
    def why(self) -> str:
        """All that is to say, in one line."""
        return " ".join(self.sentences)


def explain(session: Session, leases: Sequence[Lease]) -> list[LeasedRow]:
    """What is known of these rows, and why each was asked."""
    if not leases:
        return []
    state = session.state
    model = session.model if state.fitted else None
    near = neighbours(state, model, [lease.id for lease in leases])
    usual = usual_sd(state, model)
    return [_describe_lease(session, *pair, usual) for pair in zip(leases, near, strict=True)]


def _describe_lease(
    session: Session, lease: Lease, near: tuple[Neighbour, ...], usual: float | None
) -> LeasedRow:
    body, why = lease.body, lease.body["why"]
    shares, expected = why.get("shares", {}), (body["mean"], body["sd"])
    return LeasedRow(
        id=lease.id,
        row=session.pool.row(session.state.candidates.index[lease.id]),
        who=lease.who,
        since=lease.since,
        until=lease.until,
        check=body["check"],
        mean=body["mean"],
        sd=body["sd"],
        low=body["low"],
        high=body["high"],
        shares=dict(shares),
        scores=dict(why.get("scores", {})),
        near=near,
        sentences=tuple(sentences(why["how"], *expected, shares, near, usual)),
        brief=brief(why["how"], near, body["sd"], usual),
    )
