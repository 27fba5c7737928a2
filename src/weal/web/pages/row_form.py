"""The form of a row on the page Bench: its fields, and what was typed.

A form has the fields q0, q1, ... of the quantities in their order. The labels of one form are the
events of one call (`campaign.idempotency`), and are undone together (`campaign.undo`).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from fastapi import Request

from weal.campaign.events import AskedBody
from weal.campaign.ledger import QuantityLedger
from weal.campaign.plausibility import expected_in_event, judge_in_ledger
from weal.campaign.prediction_text import NOT_KNOWN, prediction_of_quantity, prediction_text
from weal.campaign.rules import LabelInput
from weal.quantities.kinds import WORKED
from weal.quantities.protocol import ExpectedLabel
from weal.store.events import canonical_json, check_id
from weal.text import probability, rounded
from weal.web.request import CampaignRequest

MAX_VALUE_LETTERS = 400
FIELD_NAME = re.compile("q[0-9]{1,4}")


async def typed_results(request: Request) -> dict[str, str]:
    """The fields of the results in a form, by name: q0 for the first quantity."""
    form = await request.form()
    found = ((name, one) for name, one in form.items() if FIELD_NAME.fullmatch(name))
    return {name: one[:MAX_VALUE_LETTERS] for name, one in found if isinstance(one, str)}


def fields_digest(fields: Mapping[str, str]) -> str:
    """A digest of what was typed, by which the answer to a question names it."""
    return blake2b(canonical_json(dict(fields)).encode(), digest_size=8).hexdigest()


def read_results(
    context: CampaignRequest, id_: str, fields: dict[str, str], note: str | None
) -> tuple[list[LabelInput], dict[str, str]]:
    """The labels in the fields that are filled in, and the errors by field."""
    labels, wrong = list[LabelInput](), dict[str, str]()
    for n, own in enumerate(context.ledger.quantities.values()):
        value = fields.get(f"q{n}", "").strip()
        if not value:
            continue
        try:
            y = own.quantity.read(value, decimal_comma=True)
            labels.append(LabelInput(own.quantity.name, check_id(id_), y, None, note))
        except ValueError as error:
            wrong[f"q{n}"] = str(error)
    return labels, wrong


def find_doubts(context: CampaignRequest, labels: Sequence[LabelInput]) -> list[str]:
    """For each implausible label that is not saved yet, the reason."""
    found = []
    for label in labels:
        own = context.ledger.quantity(label.quantity)
        doubt = judge_in_ledger(context.ledger, label)
        if doubt and not has_label(own, label.id, label.y):
            found.append(f"{label.quantity}: {doubt}.")
    return found


@dataclass(frozen=True, slots=True)
class ResultField:
    """The field of a quantity in the form of a row."""

    name: str  # in the form
    quantity: str
    title: str  # the column, or the name
    words: tuple[str, ...]  # to choose from; empty: a number
    typed: str
    saved: tuple[str, ...]  # labels that it has
    predicted: str  # in words; empty: not known


def result_fields(
    context: CampaignRequest, id_: str, fields: Mapping[str, str]
) -> list[ResultField]:
    """The fields of all quantities of a row."""
    body, first = asked_body(context, id_), context.ledger.first_quantity
    found = []
    for n, (name, own) in enumerate(context.ledger.quantities.items()):
        quantity, labels = own.quantity, own.labels.get(id_, ())
        words = prediction_text(quantity, prediction_of_quantity(body, name, first)) if body else ""
        found.append(
            ResultField(
                f"q{n}",
                name,
                quantity.column or name,
                quantity.words,
                fields.get(f"q{n}", ""),
                tuple(quantity.format(told.y, 8) for told in labels),
                "" if words == NOT_KNOWN else words,
            )
        )
    return found


def asked_body(context: CampaignRequest, id_: str) -> AskedBody | None:
    """The event in which the row was last asked."""
    lease = context.ledger.leases.get(id_)
    if lease is not None:
        return lease.body
    events = context.server.store.events_of(context.name, [id_])
    found: list[AskedBody] = [one.body for one in events if one.kind == "asked"]
    return found[-1] if found else None


def prediction_when_asked(context: CampaignRequest, id_: str) -> ExpectedLabel | None:
    """The prediction when the row was last asked."""
    return expected_in_event(asked_body(context, id_))


def predicted_text(context: CampaignRequest, body: AskedBody) -> str:
    """The prediction of the first quantity when a row was asked, in words; empty: none."""
    first = context.ledger.first_quantity
    quantity = context.ledger.quantity(first).quantity
    found = prediction_of_quantity(body, first, first)
    if not quantity.words:
        mean, low, high = found["mean"], found["low"], found["high"]
        if mean is None or low is None or high is None:
            return "" if mean is None else quantity.format(mean)
        return rounded(mean, low, high)
    words = prediction_text(quantity, found)
    return "" if words == NOT_KNOWN else words


def works_text(context: CampaignRequest, id_: str) -> str:
    """The probability that the run works, in words; empty where no run has failed."""
    body = asked_body(context, id_)
    p = body.get("quantities", {}).get(WORKED, {}).get("mean") if body else None
    return "" if p is None else probability(p)


def has_label(own: QuantityLedger, id_: str, y: float) -> bool:
    """Whether the row has this very label."""
    return any(told.y == y for told in own.labels.get(id_, ()))
