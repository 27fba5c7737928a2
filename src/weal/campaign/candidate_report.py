"""The report of one candidate: inputs, labels, lease, prediction, events, and why it was asked."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from weal.campaign.events import (
    AskedBody,
    LedgerLabel,
    PredictionBody,
    QuantityPredictionBody,
    prediction_of,
)
from weal.campaign.ledger import Ledger, quantity_of_event
from weal.campaign.prediction_text import (
    moments_of,
    outcome_sentence,
    prediction_of_quantity,
    prediction_text,
)
from weal.campaign.row_predictions import lead_quantity, predict_rows
from weal.campaign.session import Session
from weal.diagnostics.explanation import Neighbour, quantity_neighbours, sentences, usual_sd
from weal.errors import UnknownId
from weal.quantities.kinds import WORKED
from weal.quantities.protocol import Quantity
from weal.store.events import Event
from weal.text import number, probability, shorten


@dataclass(frozen=True, slots=True)
class QuantityReport:
    """The labels and the prediction of one quantity of a row."""

    labels: tuple[LedgerLabel, ...]
    prediction: QuantityPredictionBody
    expected: QuantityPredictionBody | None = None  # when it was asked last


@dataclass(frozen=True, slots=True)
class CandidateReport:
    """The report of one row: cells, labels, lease, prediction, events."""

    id: str
    row: dict[str, Any]  # its original cells
    labels: tuple[LedgerLabel, ...]
    skipped: bool
    note: str | None  # of the person who skipped it
    who: str | None  # the person with the lease
    until: datetime | None
    lapsed: bool
    mean: float | None  # as predicted now, by all labels; None if there is no model
    sd: float | None  # of f
    low: float | None
    high: float | None
    expected: dict[str, float] | None  # when it was asked last
    why: str  # the reason for the ask; empty if there was none
    near: tuple[Neighbour, ...]
    events: tuple[int, ...]
    # of each quantity by name, where there are several, words, or runs that failed
    quantities: dict[str, QuantityReport] = field(default_factory=dict)
    failure: LedgerLabel | None = None  # the run failed

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON values; keys of several quantities only if there are several."""
        found = asdict(self)
        return {key: one for key, one in found.items() if key not in _OPTIONAL or one}


_OPTIONAL = ("quantities", "failure")


def candidate_report(
    session: Session, events: list[Event], name: str, now: datetime
) -> CandidateReport:
    """The report of a candidate; UnknownId if no candidate has this id."""
    state, ledger = session.state, session.ledger
    if name not in state.candidates.index:
        raise UnknownId(f"no candidate has the id {name!r}", [name])
    own = [event for event in events if event.id == name]
    asked = next((event.body for event in reversed(own) if event.kind == "asked"), None)
    quantity = lead_quantity(state)
    [near] = quantity_neighbours(state, session.beliefs, quantity, [name])
    [now_predicted] = predict_rows(state, session.beliefs, [name])
    lease = ledger.leases.get(name)
    expected = None
    if asked and asked["mean"] is not None:
        expected = {key: asked[key] for key in ("mean", "sd", "low", "high")}
    return CandidateReport(
        id=name,
        row=session.pool.row(state.candidates.index[name]),
        labels=ledger.quantity(ledger.first_quantity).labels.get(name, ()),
        skipped=name in ledger.skipped,
        note=ledger.skipped.get(name),
        who=lease.who if lease else None,
        until=lease.until if lease else None,
        lapsed=bool(lease and lease.until <= now),
        mean=now_predicted["mean"],
        sd=now_predicted["sd"],
        low=now_predicted["low"],
        high=now_predicted["high"],
        expected=expected,
        why=_why(session, quantity, asked, near) if asked else "",
        near=near,
        events=tuple(event.seq for event in own),
        quantities=_quantity_reports(ledger, name, now_predicted, asked),
        failure=next(iter(ledger.failures.labels.get(name, ())), None),
    )


def _quantity_reports(
    ledger: Ledger, name: str, now: PredictionBody, asked: AskedBody | None
) -> dict[str, QuantityReport]:
    """The reports of each quantity of a row; empty if there is one number and no failure."""
    every, first = ledger.with_failures(), ledger.first_quantity
    more = now.get("quantities", {})
    if len(ledger.quantities) == 1 and not more:
        return {}
    return {
        key: QuantityReport(
            every[key].labels.get(name, ()),
            prediction_of_quantity(now, key, first),
            prediction_of_quantity(asked, key, first) if asked else None,
        )
        for key in (*ledger.quantities, *([WORKED] if WORKED in more else []))
    }


def _why(
    session: Session, quantity: Quantity, asked: AskedBody, near: tuple[Neighbour, ...]
) -> str:
    from weal.campaign.suggestions import reason_of

    view, why = session.view(), asked["why"]
    is_number = view.has_model and not quantity.words
    usual = usual_sd(view, session.beliefs) if is_number else None
    own = prediction_of(asked, quantity.name, session.ledger.first_quantity)
    given = (*moments_of(quantity, own), why.get("shares", {}), near, usual)
    said = sentences(quantity, why["how"], *given, reason_of(quantity, own))
    return " ".join([*said[:-1], *outcome_sentence(asked), *said[-1:]])


def card_lines(
    card: CandidateReport, quantities: Mapping[str, Quantity], names: list[str]
) -> list[str]:
    """The report as lines of text; `names` are the columns to show."""
    found = [f"{card.id}"]
    found += [f"  {name:<16} {_cell(card.row.get(name))}" for name in names]
    first = next(iter(quantities.values()))
    prediction: QuantityPredictionBody = {
        "mean": card.mean, "sd": card.sd, "low": card.low, "high": card.high
    }  # fmt: skip
    reports = card.quantities or {first.name: QuantityReport(card.labels, prediction)}
    own = [(quantities[name], one) for name, one in reports.items() if name in quantities]
    several = len(own) > 1
    for quantity, report in own:
        head = shorten(quantity.name, 16) if several else "label"
        found += [_label_line(head, quantity, told) for told in report.labels]
    if card.failure:
        found.append(f"  {'failed':<16} {_told_by(card.failure)}")
    if card.until:
        what = "lapsed          " if card.lapsed else "out             "
        found.append(f"  {what} {card.who or 'nobody'}, until {card.until:%Y-%m-%d %H:%M}")
    if card.skipped:
        found.append(f"  skipped          {card.note or 'yes'}")
    for quantity, report in own:
        found += _prediction_lines(quantity, report.prediction, several)
    if WORKED in card.quantities:
        p = card.quantities[WORKED].prediction["mean"]
        found += [] if p is None else [f"  {'P(works)':<16} {probability(p)}"]
    found += [f"  asked because    {card.why}"] if card.why else []
    return [*found, f"  events           {', '.join(map(str, card.events)) or 'none'}"]


def _label_line(head: str, quantity: Quantity, told: LedgerLabel) -> str:
    sd = f" +- {number(told.noise)}" if told.noise else ""
    return f"  {head:<16} {quantity.format(told.y, 8)}{sd}, {_told_by(told)}"


def _told_by(told: LedgerLabel) -> str:
    """When and by whom a label was told, and its note."""
    by = f" by {told.who}" if told.who else ""
    sure = ", sure" if told.sure else ""
    note = f" ({told.note})" if told.note else ""
    return f"{told.time:%Y-%m-%d %H:%M}{by}{sure}{note}"


def _prediction_lines(
    quantity: Quantity, prediction: QuantityPredictionBody, several: bool
) -> list[str]:
    """The prediction of a quantity; no line if the only quantity has no model yet."""
    made, what = prediction_text(quantity, prediction), "predicted"
    if not several and prediction["mean"] is None and "probabilities" not in prediction:
        return []
    low, high = prediction["low"], prediction["high"]
    ends = ""
    if low is not None and high is not None:
        ends = f" (90 % of labels: {quantity.format(low)} to {quantity.format(high)})"
    p = prediction.get("probabilities", {})
    if len(p) > 2:
        ends = (
            f" ({', '.join(f'{shorten(word, 20)} {probability(one)}' for word, one in p.items())})"
        )
    name = f"{shorten(quantity.name, 40)} " if several else ""
    return [f"  {what:<16} {name}{made}{ends}"]


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
        "withdrawn": lambda: _quantity_name(event, quantities),
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


def _quantity_name(event: Event, quantities: Mapping[str, Quantity]) -> str:
    """The name of the quantity of an event, if there are several or the run failed."""
    name = event.body.get("quantity")
    if name == WORKED and WORKED not in quantities:
        return "failed"
    return shorten(name, 40) if name is not None and len(quantities) > 1 else ""


def _label(event: Event, quantities: Mapping[str, Quantity]) -> str:
    body, name = event.body, _quantity_name(event, quantities)
    if name == "failed":
        return name
    quantity = quantities[quantity_of_event(quantities, event)]
    sd = f" +- {number(body['noise'])}" if body.get("noise") else ""
    label = f"{quantity.format(body['y'], 10)}{sd}" + (", sure" if body.get("sure") else "")
    return f"{name} {label}".strip()
