"""The report of one candidate: inputs, labels, lease, prediction, events, and why it was asked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from weal.campaign.events import LedgerLabel
from weal.campaign.ledger import quantity_of_event
from weal.campaign.session import Session
from weal.diagnostics.explanation import Neighbour, neighbours, sentences, usual_sd
from weal.errors import UnknownId
from weal.quantities.protocol import Quantity
from weal.store.events import Event
from weal.text import number


@dataclass(frozen=True, slots=True)
class CandidateReport:
    """The report of one row: cells, labels, lease, prediction, events."""

    id: str
    row: dict[str, Any]  # its original cells
    labels: tuple[LedgerLabel, ...]
    skipped: bool
    note: str | None  # of who skipped it
    who: str | None  # who has it
    until: datetime | None
    lapsed: bool
    mean: float | None  # as predicted now, by all labels; None: there is no model
    sd: float | None  # of f
    low: float | None
    high: float | None
    expected: dict[str, float] | None  # when it was asked last
    why: str  # it was asked; empty: it was not
    near: tuple[Neighbour, ...]
    events: tuple[int, ...]


def candidate_report(
    session: Session, events: list[Event], name: str, now: datetime
) -> CandidateReport:
    """The report of a candidate; UnknownId if no candidate has this id."""
    view, ledger = session.view(), session.ledger
    if name not in view.candidates.index:
        raise UnknownId(f"no candidate has the id {name!r}", [name])
    model = session.beliefs.model(view) if view.has_model else None
    own = [event for event in events if event.id == name]
    asked = next((event.body for event in reversed(own) if event.kind == "asked"), None)
    [near] = neighbours(view, model, [name])
    lease = ledger.leases.get(name)
    expected = None
    if asked and asked["mean"] is not None:
        expected = {key: asked[key] for key in ("mean", "sd", "low", "high")}
    return CandidateReport(
        id=name,
        row=session.pool.row(view.candidates.index[name]),
        labels=ledger.quantity().labels.get(name, ()),
        skipped=name in ledger.skipped,
        note=ledger.skipped.get(name),
        who=lease.who if lease else None,
        until=lease.until if lease else None,
        lapsed=bool(lease and lease.until <= now),
        **_prediction_of_row(session, name),
        expected=expected,
        why=_why(session, asked, near) if asked else "",
        near=near,
        events=tuple(event.seq for event in own),
    )


def _prediction_of_row(session: Session, name: str) -> dict[str, Any]:
    from weal.campaign.suggestions import predict_rows

    return dict(predict_rows(session.view(), session.beliefs, [name])[0])


def _why(session: Session, asked: dict[str, Any], near: tuple[Neighbour, ...]) -> str:
    from weal.campaign.suggestions import goal_reason

    view = session.view()
    usual = usual_sd(view.state, session.beliefs.model(view) if view.has_model else None)
    why = asked["why"]
    given = (asked["mean"], asked["sd"], why.get("shares", {}), near, usual)
    return " ".join(sentences(view.quantity, why["how"], *given, goal_reason(why)))


def card_lines(card: CandidateReport, quantity: Quantity, names: list[str]) -> list[str]:
    """The report as lines of text; `names` are the columns to show."""
    found = [f"{card.id}"]
    found += [f"  {name:<16} {_cell(card.row.get(name))}" for name in names]
    for told in card.labels:
        by = f" by {told.who}" if told.who else ""
        sd = f" +- {number(told.noise)}" if told.noise else ""
        sure = ", sure" if told.sure else ""
        note = f" ({told.note})" if told.note else ""
        when = f"{told.time:%Y-%m-%d %H:%M}"
        found.append(f"  label            {quantity.format(told.y, 8)}{sd}, {when}{by}{sure}{note}")
    if card.until:
        what = "lapsed          " if card.lapsed else "out             "
        found.append(f"  {what} {card.who or 'nobody'}, until {card.until:%Y-%m-%d %H:%M}")
    if card.skipped:
        found.append(f"  skipped          {card.note or 'yes'}")
    if card.mean is not None and card.sd is not None:
        low, high = (quantity.format(end or 0.0) for end in (card.low, card.high))
        made = quantity.format_prediction(card.mean, card.sd)
        found.append(f"  predicted        {made} (90 % of labels: {low} to {high})")
    found += [f"  asked because    {card.why}"] if card.why else []
    return [*found, f"  events           {', '.join(map(str, card.events)) or 'none'}"]


def _cell(value: object) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def told_event(event: Event, quantities: Mapping[str, Quantity]) -> str:
    """An event in a few words."""
    body, note = event.body, event.body.get("note")
    ways: dict[str, Callable[[], str]] = {
        "created": lambda: f"target {body.get('target') or 'not named'}",
        "added": lambda: f"{body['rows']} candidates",
        "asked": lambda: f"until {body['until'][:16]}" + (", for a test" if body["check"] else ""),
        "told": lambda: _label(event, quantities),
        "corrected": lambda: _label(event, quantities),
        "skipped": lambda: "" if body["on"] else "restored",
        "withdrawn": lambda: "",
        "settings": lambda: ", ".join(_setting(*pair) for pair in body["changes"].items()),
    }
    said = ways[event.kind]()
    return f"{said} ({note})" if said and note else said or (f"({note})" if note else "")


def _setting(key: str, value: object) -> str:
    if key == "lease" and isinstance(value, float | int):
        sizes = ((86400, "d"), (3600, "h"), (60, "m"))
        size, unit = next((pair for pair in sizes if value >= pair[0]), (1, "s"))
        value = f"{value / size:g}{unit}"
    return f"{key} = {value:.10g}" if isinstance(value, float) else f"{key} = {value}"


def _label(event: Event, quantities: Mapping[str, Quantity]) -> str:
    body, quantity = event.body, quantities[quantity_of_event(quantities, event)]
    sd = f" +- {number(body['noise'])}" if body.get("noise") else ""
    return f"{quantity.format(body['y'], 10)}{sd}" + (", sure" if body.get("sure") else "")
