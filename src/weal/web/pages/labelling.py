"""The page Bench: type labels for leased rows, skip them, or ask for more.

A campaign with several quantities, or with words, has one form with a field for each: a number
field, or a button for each word. Empty fields are told later. A run that failed is saved with the
note as its reason; as an accident it teaches nothing.

A form carries a key, so that a form sent again after a lost connection or a server crash writes
nothing twice; a form sent again with other content is refused and shown with a new key. An
implausible value is asked about: the answer counts for this very value, and not for one that was
typed since. `label_actions` changes labels that are there, and undoes what was done.
"""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends, Form, Query, Response

from weal.campaign.label_input import entry
from weal.campaign.plausibility import judge_in_ledger
from weal.campaign.row_rules import fail_rows, skip_rows
from weal.campaign.undo import PAGE_KEY_PREFIX
from weal.errors import AlreadyLabelled, ReusedKey, UnknownId, WealError
from weal.learner.batch_options import BatchOptionsBody
from weal.store.events import MAX_ID, MAX_KEY, MAX_NOTE
from weal.tables.result_lines import bound_note
from weal.web.input_shares import key_inputs
from weal.web.job_context import Arguments
from weal.web.pages.batch_form import batch_form, failed_ask, rows_left
from weal.web.pages.campaigns import form_key
from weal.web.pages.row_form import (
    fields_digest,
    find_doubts,
    has_label,
    predicted_text,
    prediction_when_asked,
    read_results,
    result_fields,
    typed_results,
    works_text,
)
from weal.web.pages.row_labels import row_labels, undo_offer
from weal.web.problems import status_of
from weal.web.request import CampaignAsk, CampaignRead, CampaignRequest, CampaignSkip, CampaignTell

router = APIRouter()
MAX_ASK_ROWS = 500
SKIP_REASONS = ("sample broken", "no material", "instrument down")
_AGAIN = "Check the row, and save again if it is right."  # the form has a new key then

Id = Annotated[str, Form(min_length=1, max_length=MAX_ID)]
Note = Annotated[str, Form(max_length=MAX_NOTE)]
Key = Annotated[str, Form(min_length=1, max_length=MAX_KEY - 8)]
FormKey = Annotated[str, Form(max_length=MAX_KEY - 8)]
Value = Annotated[str, Form(max_length=400)]
Yes = Annotated[bool, Form()]
AskKey = Annotated[str, Form(pattern="^[0-9a-f]{32}$")]


@router.get("/c/{name}/bench")
def bench(
    context: CampaignRead,
    id: Annotated[str, Query(max_length=MAX_ID)] = "",
    work: Annotated[str, Query(max_length=64)] = "",
) -> Response:
    """The rows of this person, one of them in focus."""
    try:
        context.job_result(work, "ask", name=context.name)
    except (WealError, ValueError) as error:  # of the ask: its form is shown as it was sent
        sent = failed_ask(context, work, error)
        return bench_page(context, id, status_of(error), ask_sent=sent)
    if id and not context.campaign().existing_ids([id]):
        raise UnknownId(f"no candidate has the id {id!r}")
    return bench_page(context, id)


@router.post("/c/{name}/tell")
def tell(
    context: CampaignTell, id: Id, value: Value, key: Key,
    note: Note = "", again: Yes = False, sure: Yes = False, asked: Value = "",
) -> Response:  # fmt: skip
    """Save a label once, however often the form is sent; `asked`: the value that is `sure`."""
    typed = {"value": value, "note": note, "again": again}
    if bound := bound_note(value, note.strip() or None):
        return _skip(context, id, bound, key)
    try:
        quantity = context.measured.quantity
        y = quantity.read(value, decimal_comma=True)
        label = entry(quantity, id, y, None, note.strip() or None)
    except ValueError as error:
        return bench_page(context, id, 422, wrong=str(error), typed=typed)
    is_sure = sure and asked in ("", value)
    implausible = None if is_sure else judge_in_ledger(context.ledger, label)
    if implausible and not has_label(context.measured, id, y):
        return bench_page(context, id, question=f"{implausible}.", typed=typed, key=key)
    try:
        kept = context.campaign().tell_entries([label], repeat=again, key=_key(key))
    except ReusedKey as error:
        return bench_page(context, id, 409, wrong=_sent_before(error), typed=typed)
    except AlreadyLabelled:
        words = f"{_has_label(context, id)} {value} was not saved."
        return bench_page(context, id, 409, wrong=words, labelled=value, typed=typed)
    if kept.superseded:  # a form from before the label was undone
        words = (
            f"{value} was not saved: this form saved it before, and the label has changed since."
        )
        return bench_page(context, id, 409, wrong=f"{words} {_AGAIN}", typed=typed)
    return _next(context)


@router.post("/c/{name}/skip")
def skip(
    context: CampaignSkip, id: Id, note: Note = "", key: FormKey = "",
    reason: Annotated[str, Form(max_length=100)] = "",
) -> Response:  # fmt: skip
    """Skip a row that could not be measured, once for each form, with a reason and a note."""
    return _skip(context, id, ": ".join(filter(None, [reason.strip(), note.strip()])), key)


def _skip(context: CampaignRequest, id_: str, note: str, key: str) -> Response:
    typed = {"value": "", "note": note, "again": False}
    try:
        own = _key(key) if key else None
        since = skip_rows(context.campaign(), [id_], True, context.who, note or None, own)
    except ReusedKey as error:
        return bench_page(context, id_, 409, wrong=_sent_before(error), typed=typed)
    except AlreadyLabelled:
        words = f"{_has_label(context, id_)} There is nothing to skip."
        return bench_page(context, id_, 409, wrong=words, typed=typed)
    return _says_changed(context, id_) if since else _next(context)


@router.post("/c/{name}/failed")
def failed(
    context: CampaignTell, id: Id, key: Key, note: Note = "", accident: Yes = False
) -> Response:
    """Save that the run of a row failed, once for each form; the note is the reason."""
    reason, typed = note.strip() or None, {"value": "", "note": note, "again": False}
    try:
        fail_rows(context.campaign(), [id], context.who, reason, accident, False, _key(key))
    except ReusedKey as error:
        return bench_page(context, id, 409, wrong=_sent_before(error), typed=typed)
    except AlreadyLabelled:
        words = f"{_has_label(context, id)} So its run worked: change the label if it failed."
        return bench_page(context, id, 409, wrong=words, typed=typed)
    now = CampaignRequest(context.request, context.name).ledger
    is_saved = id in now.failures.labels or id in now.skipped
    return _next(context) if is_saved else _says_changed(context, id)


def _says_changed(context: CampaignRequest, id_: str) -> Response:
    """The answer to a form that was saved before, and whose row has changed since."""
    fresh = CampaignRequest(context.request, context.name)
    words = "Nothing was saved: this form was saved before, and the row has changed since."
    return bench_page(fresh, id_, 409, wrong=f"{words} {_AGAIN}")


def _has_label(context: CampaignRequest, id_: str) -> str:
    """The labels that a row has, in a sentence."""
    fresh = CampaignRequest(context.request, context.name)
    labels = row_labels(fresh, id_).labels
    several = bool(fresh.quantity_names)
    each = [f"{one.title} {one.text}" if several else one.text for one in labels]
    return f"{id_} is saved as {', '.join(each)} already."


def _key(key: str) -> str:
    return f"{PAGE_KEY_PREFIX}{key}"


@router.post("/c/{name}/results")
def results(
    context: CampaignTell, fields: Annotated[dict[str, str], Depends(typed_results)], id: Id,
    key: Key, note: Note = "", again: Yes = False, sure: Yes = False, asked: Value = "",
) -> Response:  # fmt: skip
    """Save the results of a row, all or none, once; `asked`: a digest of what is `sure`."""
    first = fields.get("q0", "")  # the only field of a campaign with one number
    typed: dict[str, object] = {"value": first, "note": note, "again": again, "fields": fields}
    labels, wrong = read_results(context, id, fields, note.strip() or None)
    if wrong or not labels:
        said = wrong or {"": "Fill in at least one result, or choose that the run failed."}
        return bench_page(context, id, 422, wrong_fields=said, typed=typed)
    digest = fields_digest(fields)
    doubts = [] if sure and asked in ("", digest) else find_doubts(context, labels)
    if doubts:
        return bench_page(context, id, questions=doubts, typed=typed, key=key, asked=digest)
    try:
        kept = context.campaign().tell_entries(labels, repeat=again, key=_key(key))
    except ReusedKey as error:
        return bench_page(context, id, 409, wrong_fields={"": _sent_before(error)}, typed=typed)
    except AlreadyLabelled:
        words = f"{_has_label(context, id)} Nothing was saved: keep both, or change the label."
        return bench_page(context, id, 409, wrong_fields={"": words}, typed=typed)
    if kept.superseded:
        words = "Nothing was saved: this form saved it before, and a label has changed since."
        return bench_page(context, id, 409, wrong_fields={"": f"{words} {_AGAIN}"}, typed=typed)
    return _next(context)


def _sent_before(error: ReusedKey) -> str:
    """The error text for a form that was sent before with other content."""
    return f"This form has saved {error.used} before; {error.wanted} was not saved. {_AGAIN}"


@router.post("/c/{name}/ask")
def ask(
    context: CampaignAsk,
    n: Annotated[int, Form(ge=1, le=MAX_ASK_ROWS)],
    key: AskKey,
    batch: Annotated[BatchOptionsBody, Depends(batch_form)],
    check: Yes = False,
) -> Response:
    """Lease n more rows once, however often the form is sent.

    The campaign refuses a form that was used before with other content.
    """
    if (too_many := rows_left(context, n, check)) and not batch:
        if context.is_part:
            return context.page("bench/left.html", 409, sent=too_many)
        return bench_page(context, "", 409, ask_sent=too_many)
    return _submit_ask(context, key, {"n": n, "check": check}, batch)


@router.post("/c/{name}/another")
def another(context: CampaignAsk, id: Id, key: AskKey) -> Response:
    """Lease another row in place of this one, which is given back."""
    return _submit_ask(context, key, {"n": 1, "check": False}, {"instead_of": [id]})


def _submit_ask(
    context: CampaignRequest, key: str, call: Arguments, batch: BatchOptionsBody
) -> Response:
    """Send an ask to the worker, and show its progress."""
    given: Arguments = {"name": context.name, "who": context.who, "form": key, **call}
    if batch:
        given["batch"] = batch
    job = context.submit("ask", form_key(key, given), **given)
    return context.show_progress(job, then=context.url("bench"))


@router.get("/c/{name}/typed")
def preview_number(
    context: CampaignRead,
    id: Annotated[str, Query(max_length=MAX_ID)] = "",
    value: Annotated[str, Query(max_length=400)] = "",
) -> Response:
    """The number as it will be saved, while it is typed; its field is `value`, or q0, q1, ..."""
    query = context.request.query_params.items()
    value = value or next(
        (one for name, one in query if name[:1] == "q" and name[1:].isdigit()), ""
    )
    try:
        quantity = context.measured.quantity
        y = quantity.read(value, decimal_comma=True) if value.strip() else None
    except ValueError as error:
        return context.page("bench/typed.html", y=None, wrong=str(error), value=value)
    return context.page("bench/typed.html", y=y, wrong=None, value=value)


@router.get("/c/{name}/standing")
def progress_line(context: CampaignRead) -> Response:
    """The numbers of labels, candidates and rows leased to others."""
    leases = context.ledger.open_leases(context.now)
    others = sum(lease.who != context.who for lease in leases)
    return context.page("bench/standing.html", others=others)


@router.get("/c/{name}/cells")
def cells(context: CampaignRead, id: Annotated[str, Query(max_length=MAX_ID)] = "") -> Response:
    """The inputs of a row once the worker has read the table."""
    rows = context.rows([id])
    is_repeat = id in context.ledger.open_repeats(context.now)
    keys = key_inputs(context, rows)
    return context.page("bench/cells.html", rows=rows, focus=id, is_repeat=is_repeat, keys=keys)


@router.get("/c/{name}/why")
def why(context: CampaignRead, id: Annotated[str, Query(max_length=MAX_ID)] = "") -> Response:
    """The reason for a suggestion once the worker has written it."""
    return context.page("bench/why.html", **_reason(context, id))


def bench_page(
    context: CampaignRequest, focus: str, code: int = 200, /, **more: object
) -> Response:
    """The page with this row in focus, or else the first of this person."""
    leases = context.ledger.open_leases(context.now)
    mine = [lease for lease in leases if lease.who == context.who]
    focus = focus or (mine[0].id if mine else "")
    ids = [lease.id for lease in mine]
    rows = context.rows([*ids, focus] if focus and focus not in ids else ids)
    known: dict[str, object] = {
        "mine": mine,
        "others": len(leases) - len(mine),
        "focus": focus,
        "rows": rows,
        "keys": key_inputs(context, rows),
        "expected": prediction_when_asked(context, focus) if focus and context.is_plain else None,
        "works": works_text(context, focus) if focus else "",
        "predicted": {lease.id: predicted_text(context, lease.body) for lease in mine},
        "is_repeat": focus in context.ledger.open_repeats(context.now),
        "undo": undo_offer(context),
        "said": "",
        "good": False,
        "labelled": "",  # a value that was not saved, because the row has a label
        "state": row_labels(context, focus) if focus else None,
        "reasons": SKIP_REASONS,
        "asked": "",
        "columns": [one["name"] for one in context.ledger.plan["columns"]],
        "ask_sent": None,
        "question": None,
        "wrong": None,
        "questions": [],
        "wrong_fields": {},
        "typed": {"value": "", "note": "", "again": False},
        "key": None,
        **_reason(context, focus),
    }
    known |= more
    if focus and not context.is_plain:
        typed = known["typed"]
        assert isinstance(typed, dict)
        known["fields"] = result_fields(context, focus, typed.get("fields", {}))
        if known["wrong"]:
            known["wrong_fields"] = {"": known["wrong"]}
    template = "bench/bench.html" if context.is_part else "bench/page.html"
    return context.page(template, code, **known)


def _next(context: CampaignRequest, focus: str = "") -> Response:
    """The page after a write."""
    fresh = CampaignRequest(context.request, context.name)
    if context.is_part:
        return bench_page(fresh, focus)
    return context.redirect(
        context.url("bench") + (f"?id={quote(focus, safe='')}" if focus else "")
    )


def _reason(context: CampaignRequest, id_: str) -> dict[str, object]:
    lease = context.ledger.leases.get(id_)
    if lease is None:
        return {"why": [], "waiting": False, "focus": id_}
    found = context.cached_result("why")
    words = found.data.get(str(lease.seq), []) if found else []
    return {"why": words, "waiting": not words and not context.job_failure("why"), "focus": id_}
