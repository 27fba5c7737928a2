"""Labels are changed where they are seen: on the page of a row, in Watch, in Explore, at the bench.

    GET  row/labels   the labels of a row with their forms, for the dialog of the other pages
    POST row/label    correct, repeat, confirm or withdraw a label, or call the run failed
    POST row/unskip   bring back a skipped row
    POST undo         undo an action of this person

A form names the event of its label and the last event of the row that it shows. If the row has
changed since, nothing is written, and the answer says who changed it and shows the row as it is
now. An implausible value is asked about as at the bench. `place` says where the form is: its answer
is the page of the row, the content of the dialog, or the bench.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal, cast
from urllib.parse import quote

from fastapi import APIRouter, Form, Query, Response

from weal.campaign.events import LABELLING
from weal.campaign.label_edits import EditKind, LabelEdit, decide_edit
from weal.campaign.plausibility import judge_in_ledger
from weal.campaign.rules import LabelInput
from weal.campaign.undo import PAGE_KEY_PREFIX, UndoDecision, action_text, decide_undo_action
from weal.errors import Changed, ReusedKey, UnknownId
from weal.store.events import MAX_ID, MAX_KEY, MAX_NOTE, Draft, Event
from weal.store.protocol import Transaction
from weal.web.actors import require
from weal.web.pages.explore import row_page
from weal.web.pages.labelling import bench_page
from weal.web.pages.row_form import has_label
from weal.web.pages.row_labels import Answer, permission_to_undo, row_labels, undo_offer
from weal.web.pages.watch import event_text
from weal.web.request import (
    CampaignRead,
    CampaignRequest,
    CampaignSkip,
    CampaignTell,
    CampaignTellOrSkip,
)

router = APIRouter()
ANYWAY = "-anyway"  # after the name of an edit whose value was asked about
EDIT_PATTERN = f"^(correct|repeat|confirm|withdraw|failed)({ANYWAY})?$"

Id = Annotated[str, Form(min_length=1, max_length=MAX_ID)]
Key = Annotated[str, Form(min_length=1, max_length=MAX_KEY - 8)]
Seq = Annotated[int, Form(ge=0, le=2**53)]
Value = Annotated[str, Form(max_length=400)]
Place = Annotated[Literal["row", "dialog", "bench"], Form()]


@router.get("/c/{name}/row/labels")
def show_labels(
    context: CampaignRead,
    id: Annotated[str, Query(min_length=1, max_length=MAX_ID)],
    event: Annotated[int, Query(ge=0, le=2**53)] = 0,
) -> Response:
    """The labels of a row, in the dialog; without a script, the page of the row."""
    if not context.campaign().existing_ids([id]):
        raise UnknownId(f"no candidate has the id {id!r}; search for it under Explore")
    if not context.is_part:
        return context.redirect(_row_address(context, id))
    return _panel(context, id, "dialog", 200, Answer(opened=event))


@router.post("/c/{name}/row/label")
def change_label(
    context: CampaignTell, id: Id, event: Seq, seen: Seq, key: Key,
    what: Annotated[str, Form(pattern=EDIT_PATTERN)],
    value: Value = "", note: Annotated[str, Form(max_length=MAX_NOTE)] = "", asked: Value = "",
    place: Place = "row",
) -> Response:  # fmt: skip
    """Change a label once, however often the form is sent."""
    kind = cast(EditKind, what.removesuffix(ANYWAY))
    kept = Answer(opened=event, value=value, note=note)
    try:
        y = _read_value(context, event, value) if kind in ("correct", "repeat") else None
    except ValueError as error:
        return _answer(context, id, place, 422, kept, str(error))
    except Changed as error:
        return _answer(context, id, place, 409, kept, _sentence(error))
    sure = what != kind and asked == value
    if y is not None and not sure and (doubt := _doubt(context, id, event, y)):
        question = Answer("", False, event, value, note, doubt, kind, key)
        return _answer(context, id, place, 200, question)
    edit = LabelEdit(kind, id, event, seen, y, note.strip() or None)
    return _write(context, edit, key, place, kept)


@router.post("/c/{name}/row/unskip")
def bring_back(
    context: CampaignSkip, id: Id, seen: Seq, key: Key, place: Place = "row"
) -> Response:
    """Bring back a skipped row once, however often the form is sent."""
    return _write(context, LabelEdit("unskip", id, 0, seen), key, place, Answer())


@router.post("/c/{name}/undo")
def undo(
    context: CampaignTellOrSkip,
    event: Annotated[int, Form(ge=1, le=2**53)],
    place: Place = "bench",
) -> Response:
    """Undo the action with this first event, if it is this person's and nobody changed it since."""
    found: list[UndoDecision | None] = []

    def decide(tx: Transaction) -> Sequence[Draft]:
        decision = decide_undo_action(tx, event, context.who)
        found[:] = [decision]
        if decision is None:
            return []
        require(context.request, permission_to_undo(decision.action), context.name)
        return decision.drafts

    context.campaign().transact(decide)
    fresh = CampaignRequest(context.request, context.name)
    done = found[0]
    if done is None:
        return _answer(fresh, "", "bench", 409, Answer(), "Nothing was undone: no such action.")
    id_, text = done.action.id, action_text(done.action, fresh.ledger)
    if done.changed_by is not None:
        said = f"{_changed_text(fresh, id_, done.changed_by)} Nothing was undone."
        return _answer(fresh, id_, place, 409, Answer(), said)
    good = Answer(f"Undone: {id_} {text}.", True, is_changed=True)
    return _after_write(fresh, id_, place, good)


def _quantity_of(context: CampaignRequest, event: int) -> str:
    """The quantity of the label of an event, whether it still counts or not; Changed: no label."""
    found = context.server.store.events_between(context.name, event, event) if event else []
    if not found or found[0].kind not in LABELLING:
        raise Changed("this form is about no label; read the row again")
    return str(found[0].body.get("quantity", context.ledger.first_quantity))


def _read_value(context: CampaignRequest, event: int, value: str) -> float:
    """The typed value as a label of the quantity of that event."""
    name = _quantity_of(context, event)
    if name not in context.ledger.quantities:
        raise ValueError("A failure has no value: withdraw it, or enter a result.")
    return context.ledger.quantity(name).quantity.read(value, decimal_comma=True)


def _doubt(context: CampaignRequest, id_: str, event: int, y: float) -> str:
    """The reason why a value may be wrong; empty where it is plausible, or saved already."""
    name = _quantity_of(context, event)
    found = judge_in_ledger(context.ledger, LabelInput(name, id_, y))
    known = has_label(context.ledger.quantity(name), id_, y)
    return f"{found}." if found and not known else ""


def _write(
    context: CampaignRequest, edit: LabelEdit, key: str, place: str, kept: Answer
) -> Response:
    """Write an edit, or say why it is not written."""
    own = f"{PAGE_KEY_PREFIX}{key}"
    try:
        events = context.campaign().transact(lambda tx: decide_edit(tx, edit, context.who, own))
    except Changed:
        fresh = CampaignRequest(context.request, context.name)
        last = row_labels(fresh, edit.id).last
        said = _changed_text(fresh, edit.id, last) if last else "This form is out of date."
        words = f"{said} Nothing was saved. This is the row as it is now."
        return _answer(fresh, edit.id, place, 409, kept, words)
    except ReusedKey as error:
        words = f"This form has saved {error.used} before; {error.wanted} was not saved."
        return _answer(context, edit.id, place, 409, kept, words)
    except UnknownId:
        raise
    except ValueError as error:
        return _answer(context, edit.id, place, 422, kept, str(error))
    fresh = CampaignRequest(context.request, context.name)
    done = Answer("" if events else "It is saved unchanged.", True, is_changed=True)
    return _after_write(fresh, edit.id, place, done)


def _changed_text(context: CampaignRequest, id_: str, event: Event) -> str:
    """Who changed a row since, and to what."""
    by = "you" if event.who == context.who else event.who or "somebody"
    return f"{id_} has changed since: {event_text(event, context)} ({by})."


def _after_write(context: CampaignRequest, id_: str, place: str, answer: Answer) -> Response:
    """The answer to a form that was saved; pages are loaded again, so that they are up to date."""
    if place == "dialog" and context.is_part:
        return _panel(context, id_, place, 200, answer)
    if place == "bench":
        if context.is_part:
            return bench_page(context, id_, said=answer.said, good=True)
        return context.redirect(f"{context.url('bench')}?id={quote(id_, safe='')}")
    if context.is_part:
        return Response(status_code=204, headers={"HX-Refresh": "true"})
    return context.redirect(_row_address(context, id_))


def _answer(
    context: CampaignRequest, id_: str, place: str, code: int, answer: Answer, said: str = ""
) -> Response:
    """The form again, with a message; nothing was written."""
    if said:
        answer = replace(answer, said=said)
    if place == "bench":
        return bench_page(context, id_, code, said=answer.said, good=answer.good)
    return _panel(context, id_, place, code, answer)


def _panel(context: CampaignRequest, id_: str, place: str, code: int, answer: Answer) -> Response:
    answer = _open_form(context, id_, answer)
    if not context.is_part:
        return row_page(context, id_, code, answer=answer)
    state, offer = row_labels(context, id_), undo_offer(context)
    return context.page(
        "labels/panel.html", code, id=id_, state=state, undo=offer, answer=answer, place=place
    )


def _open_form(context: CampaignRequest, id_: str, answer: Answer) -> Answer:
    """The answer with the open form of a label that counts: that of the same quantity."""
    labels = row_labels(context, id_).labels
    if not answer.opened or answer.opened in [one.told.seq for one in labels]:
        return answer
    try:
        name = _quantity_of(context, answer.opened)
    except Changed:
        return replace(answer, opened=0)
    return replace(answer, opened=next((o.told.seq for o in labels if o.quantity == name), 0))


def _sentence(error: Exception) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."


def _row_address(context: CampaignRequest, id_: str) -> str:
    return f"{context.url('row')}?id={quote(id_, safe='')}#labels"
