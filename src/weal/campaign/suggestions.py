"""`ask`: choose the rows to measure next, lease them, and explain the choice.

The learner chooses rows (`choose_rows`), or they are drawn at random for a test (`draw_rows`). The
transaction leases them unless another user was faster; then rows are chosen again. Rows stay
leased even if the answer never arrives: a process that was killed and asks again gets other rows.
With an idempotency key, a retry returns the rows of the first call and writes nothing
(`idempotency`).

`explain` describes leased rows: the person, the end of the lease, and the prediction, scores and
shares that are stored in the event of the ask.
"""

from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial, reduce
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np

from weal.active_learner import ActiveLearner
from weal.campaign.batch_rules import (
    batch_of_session,
    check_rows_out,
    decide_returns,
    options_key,
)
from weal.campaign.config import seconds
from weal.campaign.events import (
    EVENT_BODY_VERSION,
    REPEATS,
    AskBody,
    AskedBody,
    PredictionBody,
    QuantityPredictionBody,
    ReasonBody,
    SuggestionBody,
    prediction_of,
)
from weal.campaign.idempotency import AskCall, ask_keys, check_command, find_asked
from weal.campaign.ledger import Lease, Ledger, is_archived
from weal.campaign.prediction_text import moments_of, outcome_sentence
from weal.campaign.row_predictions import lead_quantity, predict_rows
from weal.campaign.rules import read_rows
from weal.campaign.session import Session
from weal.diagnostics.explanation import (
    Neighbour,
    brief,
    quantity_neighbours,
    sentences,
    usual_sd,
)
from weal.errors import AlreadyLabelled, Archived, Conflict, UnknownId, WealError
from weal.goals.grammar import parse_goal
from weal.learner.batch_options import NO_OPTIONS, BatchOptions, is_count
from weal.learner.batches import BY_HAND
from weal.learner.best_rows import set_membership
from weal.learner.joint_scores import lead_view
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.repeats import belief_at
from weal.learner.state import State
from weal.learner.transitions import apply
from weal.quantities.protocol import Quantity
from weal.store.events import Draft, Event
from weal.store.protocol import Transaction
from weal.text import REPEAT_REASONS

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A row to lease, and the body of its event."""

    id: str
    body: SuggestionBody


def decide_leases(
    tx: Transaction, ledger: Ledger, offers: Sequence[Suggestion], call: AskCall,
    lease: timedelta, common: AskBody | None, key: str | None = None,
    options: BatchOptions = NO_OPTIONS,
) -> list[Draft]:  # fmt: skip
    """Lease the first suggestions that are still free; Conflict if too few are.

    If the ledger that the rows were chosen with is still current, it decides; otherwise the events
    of the rows are read under the lock. `common` is stored with the first row: weights for the next
    ask. No rows are leased if a call with this key has leased some already.
    """
    if key is not None and find_asked(tx, key, call):
        return []
    _refuse_archived(tx, ledger)
    now = ledger
    if (tx.last, tx.hash) != (ledger.seq, ledger.hash):
        now = read_rows(tx, [offer.id for offer in offers])
    taken = {one.id for one in now.open_leases(tx.now)} | now.skipped.keys()
    left = [offer for offer in offers if offer.id not in taken]
    free = [offer for offer in left if _is_as_chosen(offer, now, ledger)][: call.n]
    if len(free) < call.n:
        raise Conflict("another user has asked for the same rows; ask again")
    until = (tx.now + lease).isoformat()
    bodies = [_asked_body(offer.body, until) for offer in free]
    if common is not None:
        bodies[0]["ask"] = common if key is None else {**common, "checks": call.checks}
    keys = [None] * call.n if key is None else ask_keys(key, 0, call.n)
    asked = [
        Draft("asked", body, offer.id, call.who, own)
        for offer, body, own in zip(free, bodies, keys, strict=True)
    ]
    return [*decide_returns(tx, options, call), *asked]


def _refuse_archived(tx: Transaction, ledger: Ledger) -> None:
    """Raise Archived if the campaign is archived, also by an event after the ledger."""
    if apply_archived(ledger, tx.events_between(ledger.seq + 1, tx.last)):
        raise archived_error(ledger.name)


def apply_archived(ledger: Ledger, events: Sequence[Event]) -> bool:
    """Whether the campaign of a ledger is archived after more events."""
    settings = dict(ledger.settings)
    for event in events:
        settings.update(event.body["changes"] if event.kind == "settings" else {})
    return is_archived(settings)


def archived_error(name: str) -> Archived:
    """The error of an ask in an archived campaign."""
    return Archived(
        f"the campaign {name!r} is archived, so no row is asked: `weal archive {quote(name)} "
        "--undo` restores it; labels can still be saved"
    )


def _is_as_chosen(offer: Suggestion, now: Ledger, ledger: Ledger) -> bool:
    """Whether a row has no label, or for a repeat the same ones as when it was chosen."""
    known = ledger.labels_of(offer.id) if offer.body["why"]["how"] in REPEATS else {}
    return now.labels_of(offer.id) == known


def _asked_body(body: SuggestionBody, until: str) -> AskedBody:
    return {**body, "v": EVENT_BODY_VERSION, "until": until}  # type: ignore[typeddict-item]


def check_free(now: Ledger, ids: Sequence[Any], rows: Container[Any], time: datetime) -> None:
    """Raise an error if one of these rows cannot be leased."""
    out = {lease.id: lease for lease in now.open_leases(time)}
    for name in ids:
        if name not in rows:
            listed = f"weal export --what candidates --to - {quote(now.name)}"
            raise UnknownId(f"no candidate has the id {name!r}; `{listed}` lists all ids", [name])
        if now.is_labelled(name):
            raise AlreadyLabelled(f"{name!r} is labelled already; leave it out")
        if name in out:
            who = f" with {out[name].who}" if out[name].who else ""
            end = f"{out[name].until:%Y-%m-%d %H:%M} UTC"
            raise Conflict(f"{name!r} is out{who} until {end}; leave it out, or wait")
        if name in now.skipped:
            undo = f"weal skip --undo -- {quote(now.name)} {quote(name)}"
            raise ValueError(f"{name!r} is skipped; `{undo}` allows it again")


CHECK_KEY = 7  # part of the random key of rows that are offered for a test


def choose_rows(
    state: State, beliefs: PosteriorCache, wanted: int, spare: int
) -> tuple[list[Suggestion], State]:
    """Choose the rows to ask next, best first; and the state after it.

    The wanted number and, if available, spare rows in case other users are faster.
    """
    left = int(state.free().sum())
    learner = ActiveLearner.of(state, beliefs)
    ids = learner.ask(max(wanted, min(wanted + spare, left)), more=True)
    return _explained(state, beliefs, ids, learner), learner.state


def choose_batch(
    session: Session, state: State, wanted: int, options: BatchOptions
) -> tuple[list[Suggestion], State]:
    """Choose a batch with options, requested rows first; and the state after it."""
    beliefs = session.beliefs
    ids, events = batch_of_session(session, state, beliefs, options, wanted)
    after = reduce(apply, events, state)
    return _explained(state, beliefs, ids, ActiveLearner.of(after, beliefs)), after


def _explained(
    state: State, beliefs: PosteriorCache, ids: Sequence[str], learner: ActiveLearner
) -> list[Suggestion]:
    """Suggestions for rows that a learner has asked in this state."""
    rows = [learner.history[learner.pending[name]] for name in ids]
    chances = _chances(state, beliefs, ids, rows)
    reasons = [_reason(row, p, state) for row, p in zip(rows, chances, strict=True)]
    return _suggest(ids, predict_rows(state, beliefs, ids), reasons)


def _chances(
    state: State, beliefs: PosteriorCache, ids: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> list[float | None]:
    """The probability of each of these rows to belong to the goal's set; None if unknown.

    For a goal of best rows it is the score, unless scores are divided by a cost.
    """
    goal, pool = state.settings.goal, state.candidates
    name = goal.acquisition(in_shards=False)
    view = lead_view(state)
    if goal.set_text is None or not view.has_model:
        return [None] * len(ids)
    if goal.is_joint:
        return _joint_chances(state, beliefs, ids)
    if goal.pointwise:
        at = np.array([pool.index[one] for one in ids], dtype=np.intp)
        p = goal.membership(belief_at(beliefs.posterior(view), at))
        return [None] * len(ids) if p is None else list(p.tolist())
    known = [row["scores"].get(name) if pool.cost is None else None for row in rows]
    return [None if score is None else float(np.exp(score)) for score in known]


def _joint_chances(state: State, beliefs: PosteriorCache, ids: Sequence[str]) -> list[float | None]:
    """The same for a goal over several quantities, with a pool in memory."""
    found = None if state.candidates.in_shards else set_membership(state, beliefs)
    if found is None:
        return [None] * len(ids)
    known = dict(zip(found.at.tolist(), found.p.tolist(), strict=True))
    return [known.get(state.candidates.index[one]) for one in ids]


def draw_rows(state: State, beliefs: PosteriorCache, n: int, before: int) -> list[Suggestion]:
    """Draw free rows at random; `before` rows were drawn earlier."""
    free = np.flatnonzero(state.free(n))
    rng = np.random.default_rng([state.settings.seed, CHECK_KEY, before])
    ids = [str(state.candidates.ids[k]) for k in rng.choice(free, n, replace=False).tolist()]
    return _suggest(ids, predict_rows(state, beliefs, ids), [{"how": "check"}] * n)


def rows_by_id(state: State, beliefs: PosteriorCache, ids: Sequence[str]) -> list[Suggestion]:
    """Suggestions for rows with given ids."""
    return _suggest(ids, predict_rows(state, beliefs, ids), [{"how": "by hand"}] * len(ids))


def _suggest(
    ids: Sequence[str], predictions: Sequence[PredictionBody], reasons: Sequence[ReasonBody]
) -> list[Suggestion]:
    return [
        Suggestion(name, {**prediction, "check": why["how"] == "check", "why": why})
        for name, prediction, why in zip(ids, predictions, reasons, strict=True)
    ]


def _reason(row: Mapping[str, Any], probability: float | None, state: State) -> ReasonBody:
    if row["why"] == BY_HAND:
        return {"how": BY_HAND}
    is_repeat = any(row["id"] in one.labels.by_name for one in state.quantities.values())
    found: ReasonBody = {
        "how": row["why"] if row["why"] == "start" or is_repeat else "chosen",
        "scores": row["scores"],
        "shares": row["shares"],
        "weights": row["acquisition_weights"],
    }
    if is_repeat:
        return {**found, "goal": state.settings.goal.text}
    if probability is None or found["how"] == "start":
        return found
    return {**found, "goal": state.settings.goal.text, "probability": probability}


def goal_reason(why: ReasonBody) -> str | None:
    """The reason of the goal at that time for a row, in words; None if it has none."""
    if "goal" not in why:
        return None
    goal = parse_goal(why["goal"])
    if why["how"] in REPEATS:
        return REPEAT_REASONS[why["how"]].format(goal.set_text)
    return goal.reason(why.get("probability"))


def reason_of(quantity: Quantity, body: AskedBody) -> str | None:
    """The reason for a row in words: the goal, or that its class is uncertain."""
    why, (mean, sd) = body["why"], moments_of(quantity, body)
    found = goal_reason(why)
    if found or not quantity.words or why["how"] != "chosen" or mean is None or sd is None:
        return found
    return f"{quantity.name} is uncertain here: {quantity.format_prediction(mean, sd)}"


MAX_ASK_RETRIES = 20  # of an ask that lost a race


def ask(
    campaign: "Campaign", ledger: Ledger, n: int | None, who: str, lease: object, check: bool,
    key: str | None = None, checks: int = 0, repeats: bool = True,
    options: BatchOptions = NO_OPTIONS,
) -> list[str]:  # fmt: skip
    """Ids of the rows that are leased now, or were by an earlier call with this key.

    `ledger` is the campaign as it was just read. `checks` is the number of rows drawn at random
    that the same command asks for after these. They may include a labelled row, for a repeat, if
    `repeats` and the settings allow it. `options` restrict the batch.
    """
    if check and not options.is_empty:
        raise ValueError(
            "rows for a test of the predictions are drawn at random from all: leave out same, "
            "at_most, where, instead_of and rows, or check"
        )
    out = timedelta(seconds=seconds(ledger.settings["lease"] if lease is None else lease))
    call = AskCall(_count(n, options), who, check, _length(lease), checks, options_key(options))
    if key is not None and (past := asked_before(campaign, key, call)):
        return past
    if ledger.is_archived:
        raise archived_error(ledger.name)
    session = campaign.replay_session()  # slow, so done before the lock is taken
    if options.same and ledger.box is not None:
        session = _with_shared_rows(campaign, session, call, options)
    with campaign.store.turn(campaign.name):  # else concurrent calls choose the same rows
        if campaign.store.head(campaign.name)[0] != session.ledger.seq:  # others wrote meanwhile
            session = campaign.read_session()
        events = _lease_rows(campaign, session, call, out, key, repeats, options)
    if events and events[-1].seq > campaign.last_ledger.seq:  # others wrote before these events
        campaign.read_ledger()
    with suppress(WealError):  # the rows are leased: a snapshot for next time may fail
        _write_snapshots(campaign.replay_session(), check)
    if events or key is None:
        return [str(event.id) for event in events if event.kind == "asked"]
    return asked_before(campaign, key, call)  # the same call of another process was faster


def _with_shared_rows(
    campaign: "Campaign", session: Session, call: AskCall, options: BatchOptions
) -> Session:
    """The session after rows that share a value were added to its box, if the ask needs them."""
    from weal.campaign.box_candidates import add_shared_rows

    while True:  # once, unless others add candidates at the same moment
        rows = session.ledger.rows
        try:
            added = add_shared_rows(session, options, call.n, call.who)
            return campaign.read_session() if added else session
        except ValueError:
            session = campaign.read_session()
            if session.ledger.rows == rows:
                raise


def _length(lease: object) -> timedelta | None:
    return None if lease is None else timedelta(seconds=seconds(lease))


def check_key(
    campaign: "Campaign", key: str, n: int, checks: int, lease: object,
    options: BatchOptions = NO_OPTIONS,
) -> None:  # fmt: skip
    """Raise ReusedKey if a command with other content had this key."""
    call = AskCall(n, campaign.who, False, _length(lease), checks, options_key(options))

    def look(tx: Transaction) -> list[Draft]:
        check_command(tx, key, call)
        return []

    campaign.store.transact(campaign.name, look)


def asked_before(campaign: "Campaign", key: str, call: AskCall) -> list[str]:
    """The rows of an earlier call with this key; ReusedKey if its content differs.

    The campaign has then read the events of that call.
    """
    found: list[str] = []
    last = 0

    def look(tx: Transaction) -> list[Draft]:
        nonlocal last
        found[:], last = find_asked(tx, key, call), tx.last
        return []

    campaign.store.transact(campaign.name, look)
    if found and last > campaign.last_ledger.seq:
        campaign.read_ledger()
    return found


def _lease_rows(
    campaign: "Campaign", session: Session, call: AskCall, out: timedelta, key: str | None,
    repeats: bool, options: BatchOptions = NO_OPTIONS,
) -> tuple[Event, ...]:  # fmt: skip
    """Lease rows of the session's choice; read and choose again if others have taken too many."""
    spare = 0
    for left in reversed(range(MAX_ASK_RETRIES)):
        found, common = _choose(session, campaign.store.now(), call, spare, repeats, options)
        ledger = session.ledger
        try:
            return campaign.transact(partial(
                decide_leases, ledger=ledger, offers=found, call=call, lease=out, common=common,
                key=key, options=options,
            ))  # fmt: skip
        except Conflict:  # next time, choose more spare rows than others have taken
            session = campaign.read_session()
            spare = max(call.n, 2 * spare, 2 * (session.ledger.asked - ledger.asked))
            if not left:
                raise
    raise AssertionError("the last try ends in rows or in Conflict")


def _choose(
    session: Session, now: datetime, call: AskCall, spare: int, repeats: bool,
    options: BatchOptions,
) -> tuple[Sequence[Suggestion], AskBody | None]:  # fmt: skip
    state, beliefs = session.choosable(now), session.beliefs
    allowed = repeats and session.ledger.settings.get("repeats", True)
    state = replace(state, settings=replace(state.settings, repeats=allowed))
    if call.check:
        return draw_rows(state, beliefs, call.n, session.ledger.checks), None
    if options.is_empty:
        found, after = choose_rows(state, beliefs, call.n, spare)
    else:
        check_rows_out(session.ledger, options, call.who, now)
        check_free(session.ledger, options.rows, state.candidates.index, now)
        found, after = choose_batch(session, state, call.n, options)
    acquisition = session.ledger.settings["acquisition"]
    common: AskBody = {"log_omega": after.log_omega.tolist(), "acquisition": acquisition}
    return found, common if options.is_empty else {**common, "options": options.to_json()}


def _write_snapshots(session: Session, check: bool) -> None:
    session.keep()
    if not check:  # only a choice predicts all candidates
        session.keep_pool()


def _count(n: int | None, options: BatchOptions) -> int:
    if n is not None and not is_count(n):
        raise ValueError(f"asked for {n!r} rows; it needs a whole number of at least 1")
    return options.count(n)


def ask_for(campaign: "Campaign", ids: list[str], who: str, lease: object) -> list[str]:
    """Lease rows with given ids, all or none."""
    session = campaign.read_session()
    ledger = session.ledger
    if ledger.is_archived:
        raise archived_error(ledger.name)
    out = timedelta(seconds=seconds(ledger.settings["lease"] if lease is None else lease))
    check_free(ledger, ids, session.state.candidates.index, campaign.store.now())
    found = rows_by_id(session.state, session.beliefs, ids)
    call = AskCall(len(found), who, check=False)
    campaign.transact(lambda tx: decide_leases(tx, ledger, found, call, out, None))
    return ids


@dataclass(frozen=True, slots=True)
class LeasedRow:
    """A leased row, and why it was chosen."""

    id: str
    row: dict[str, Any]  # its original cells
    who: str
    since: datetime
    until: datetime
    check: bool
    mean: float | None  # what was expected when it was asked; None if there was no model
    sd: float | None
    low: float | None
    high: float | None
    shares: dict[str, float]  # of each acquisition function in the choice
    scores: dict[str, float]
    near: tuple[Neighbour, ...]
    sentences: tuple[str, ...]
    brief: str = ""  # the main reason, in a few words
    repeat: bool = False  # whether it has a label and is asked for a repeat
    # predictions of further quantities, of words, and of "worked", by name
    quantities: dict[str, QuantityPredictionBody] = field(default_factory=dict)

    @property
    def why(self) -> str:
        """All sentences in one line."""
        return " ".join(self.sentences)


def explain(session: Session, leases: Sequence[Lease]) -> list[LeasedRow]:
    """Describe leased rows, and why each was asked."""
    if not leases:
        return []
    view, quantity = session.view(), lead_quantity(session.state)
    near = quantity_neighbours(
        session.state, session.beliefs, quantity, [lease.id for lease in leases]
    )
    is_number = view.has_model and not quantity.words
    usual = usual_sd(view, session.beliefs) if is_number else None
    pairs = zip(leases, near, strict=True)
    return [_describe_lease(session, quantity, *pair, usual) for pair in pairs]


def _describe_lease(
    session: Session, quantity: Quantity, lease: Lease, near: tuple[Neighbour, ...],
    usual: float | None,
) -> LeasedRow:  # fmt: skip
    body, why = lease.body, lease.body["why"]
    own = prediction_of(body, quantity.name, session.ledger.first_quantity)
    shares, expected = why.get("shares", {}), moments_of(quantity, own)
    because = reason_of(quantity, own)
    said = sentences(quantity, why["how"], *expected, shares, near, usual, because)
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
        sentences=(*said[:-1], *outcome_sentence(body), *said[-1:]),
        brief=brief(quantity, why["how"], near, expected[1], usual, because),
        repeat=lease.is_repeat,
        quantities=dict(body.get("quantities", {})),
    )
