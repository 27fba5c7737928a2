"""The page Bench: type labels for leased rows, and upload worksheets.

A form carries a key, so that a form sent again after a lost connection or a server crash writes
nothing twice; a form sent again with other content is refused and shown with a new key. Undoing a
label names its event.

A worksheet is printed or downloaded, filled in and uploaded. Every line is shown before anything is
saved; then all lines are saved, or none. Its content is its key, so that the same worksheet twice
changes nothing.
"""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Query, Response, UploadFile

from weal.campaign.events import LedgerLabel
from weal.campaign.label_input import entry
from weal.campaign.ledger import QuantityLedger
from weal.campaign.plausibility import expected_in_event, judge_in_ledger
from weal.campaign.row_rules import decide_undo
from weal.errors import ReusedKey, UnknownId
from weal.quantities.protocol import ExpectedLabel
from weal.store.events import MAX_ID, MAX_KEY, MAX_NOTE
from weal.tables.result_lines import bound_note
from weal.web.job_context import Arguments
from weal.web.pages.campaigns import (
    HeaderLine,
    JobKey,
    Text,
    form_key,
    sheet_options,
    store_upload,
)
from weal.web.request import CampaignRead, CampaignRequest, CampaignWrite
from weal.web.server_folder import new_file

router = APIRouter()
LABEL_KEY_PREFIX = "bench-"  # of keys of labels typed on this page, which it can undo
MAX_ASK_ROWS = 500
_AGAIN = "Check the row, and save again if it is right."  # the form has a new key then

Id = Annotated[str, Form(min_length=1, max_length=MAX_ID)]
Note = Annotated[str, Form(max_length=MAX_NOTE)]
Key = Annotated[str, Form(min_length=1, max_length=MAX_KEY - 8)]
FormKey = Annotated[str, Form(max_length=MAX_KEY - 8)]
Value = Annotated[str, Form(max_length=400)]
Yes = Annotated[bool, Form()]


@router.get("/c/{name}/bench")
def bench(
    context: CampaignRead,
    id: Annotated[str, Query(max_length=MAX_ID)] = "",
    work: Annotated[str, Query(max_length=64)] = "",
) -> Response:
    """The rows of this person, one of them in focus."""
    context.job_result(work, "ask", name=context.name)  # raises the error of a failed ask
    if id and not context.campaign().existing_ids([id]):
        raise UnknownId(f"no candidate has the id {id!r}")
    return _bench(context, id)


@router.post("/c/{name}/tell")
def tell(
    context: CampaignWrite, id: Id, value: Value, key: Key,
    note: Note = "", again: Yes = False, sure: Yes = False,
) -> Response:  # fmt: skip
    """Save a label once, however often the form is sent."""
    typed = {"value": value, "note": note, "again": again}
    if bound := bound_note(value, note.strip() or None):
        return skip(context, id, bound, key)
    try:
        quantity = context.measured.quantity
        y = quantity.read(value, decimal_comma=True)
        label = entry(quantity, id, y, None, note.strip() or None)
    except ValueError as error:
        return _bench(context, id, 422, wrong=str(error), typed=typed)
    implausible = None if sure else judge_in_ledger(context.ledger, label)
    if implausible and not _has_label(context.measured, id, y):
        return _bench(context, id, question=f"{implausible}.", typed=typed, key=key)
    try:
        kept = context.campaign().tell_entries(
            [label], repeat=again, key=f"{LABEL_KEY_PREFIX}{key}"
        )
    except ReusedKey as error:
        return _bench(context, id, 409, wrong=_sent_before(error), typed=typed)
    if kept.superseded:  # a form from before the label was undone
        words = (
            f"{value} was not saved: this form saved it before, and the label has changed since."
        )
        return _bench(context, id, 409, wrong=f"{words} {_AGAIN}", typed=typed)
    return _next(context)


@router.post("/c/{name}/skip")
def skip(context: CampaignWrite, id: Id, note: Note = "", key: FormKey = "") -> Response:
    """Skip a row that could not be measured, once for each form."""
    try:
        own = f"{LABEL_KEY_PREFIX}{key}" if key else None
        context.campaign().skip(id, note=note.strip() or None, key=own)
    except ReusedKey as error:
        typed = {"value": "", "note": note, "again": False}
        return _bench(context, id, 409, wrong=_sent_before(error), typed=typed)
    return _next(context)


def _sent_before(error: ReusedKey) -> str:
    """The error text for a form that was sent before with other content."""
    return f"This form has saved {error.used} before; {error.wanted} was not saved. {_AGAIN}"


@router.post("/c/{name}/back")
def take_back(
    context: CampaignWrite, id: Id, event: Annotated[int, Form(ge=1, le=2**53)]
) -> Response:
    """Undo the label of this event, and show its row again."""
    _withdraw(context, id, event)
    return _next(context, id)


@router.post("/c/{name}/ask")
def ask(
    context: CampaignWrite,
    n: Annotated[int, Form(ge=1, le=MAX_ASK_ROWS)],
    key: Annotated[str, Form(pattern="^[0-9a-f]{32}$")],
    check: Yes = False,
) -> Response:
    """Lease n more rows once, however often the form is sent.

    The campaign refuses a form that was used before with other content.
    """
    given: Arguments = {
        "name": context.name,
        "n": n,
        "who": context.who,
        "check": check,
        "form": key,
    }
    job = context.submit("ask", form_key(key, given), **given)
    return context.show_progress(job, then=context.url("bench"))


@router.get("/c/{name}/typed")
def preview_number(
    context: CampaignRead,
    id: Annotated[str, Query(max_length=MAX_ID)] = "",
    value: Annotated[str, Query(max_length=400)] = "",
) -> Response:
    """The number as it will be saved, while it is typed."""
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
    return context.page("bench/cells.html", rows=context.rows([id]), focus=id)


@router.get("/c/{name}/why")
def why(context: CampaignRead, id: Annotated[str, Query(max_length=MAX_ID)] = "") -> Response:
    """The reason for a suggestion once the worker has written it."""
    return context.page("bench/why.html", **_reason(context, id))


def _bench(context: CampaignRequest, focus: str, code: int = 200, /, **more: object) -> Response:
    """The page with this row in focus, or else the first of this person."""
    leases = context.ledger.open_leases(context.now)
    mine = [lease for lease in leases if lease.who == context.who]
    focus = focus or (mine[0].id if mine else "")
    ids = [lease.id for lease in mine]
    known: dict[str, object] = {
        "mine": mine,
        "others": len(leases) - len(mine),
        "focus": focus,
        "rows": context.rows([*ids, focus] if focus and focus not in ids else ids),
        "expected": _prediction_when_asked(context, focus) if focus else None,
        "is_repeat": focus in context.ledger.open_repeats(context.now),
        "last": _last_label(context),
        "question": None,
        "wrong": None,
        "typed": {"value": "", "note": "", "again": False},
        "key": None,
        **_reason(context, focus),
    }
    template = "bench/bench.html" if context.is_part else "bench/page.html"
    return context.page(template, code, **{**known, **more})


def _next(context: CampaignRequest, focus: str = "") -> Response:
    """The page after a write."""
    fresh = CampaignRequest(context.request, context.name)
    if context.is_part:
        return _bench(fresh, focus)
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


def _prediction_when_asked(context: CampaignRequest, id_: str) -> ExpectedLabel | None:
    """The prediction when the row was last asked."""
    lease = context.ledger.leases.get(id_)
    if lease is not None:
        return expected_in_event(lease.body)
    asked = [
        one for one in context.server.store.events_of(context.name, [id_]) if one.kind == "asked"
    ]
    return expected_in_event(asked[-1].body) if asked else None


def _has_label(own: QuantityLedger, id_: str, y: float) -> bool:
    return any(told.y == y for told in own.labels.get(id_, ()))


def _last_label(context: CampaignRequest) -> LedgerLabel | None:
    """The last label that this person typed, if it still counts."""
    for event in context.events(200):
        if event.kind == "skipped":
            continue
        if event.who == context.who and (event.key or "").startswith(LABEL_KEY_PREFIX):
            several = context.measured.labels.get(str(event.id), ())
            return next((told for told in several if told.seq == event.seq), None)
    return None


def _withdraw(context: CampaignRequest, id_: str, event: int) -> None:
    """Withdraw the label of that event if it still counts."""
    store, note = context.server.store, "taken back at the bench"
    store.transact(context.name, lambda tx: decide_undo(tx, id_, event, context.who, note))


MAX_FILE_NAME_LETTERS = 80
File = Annotated[str, Form(pattern="^[0-9a-f]{32}$")]
Called = Annotated[str, Form(max_length=MAX_FILE_NAME_LETTERS)]
Work = Annotated[str, Query(max_length=64)]


@router.get("/c/{name}/print")
def print_rows(context: CampaignRead) -> Response:
    """A printable table of the rows of this person, with room for a number and a note."""
    mine = [one for one in context.ledger.open_leases(context.now) if one.who == context.who]
    columns = [one["name"] for one in context.ledger.plan["columns"] if one["kind"] != "dropped"]
    rows = context.rows([lease.id for lease in mine])
    return context.page("bench/print.html", mine=mine, columns=columns, rows=rows, now=context.now)


@router.get("/c/{name}/worksheet")
def download(
    context: CampaignRead, ending: Annotated[str, Query(pattern="^(csv|xlsx)$")] = "csv"
) -> Response:
    """Download the rows of this person as a file to fill in."""
    leases = context.ledger.open_leases(context.now)
    ids = [one.id for one in leases if one.who == context.who] or [one.id for one in leases]
    path = new_file(context.server.results.folder, f".{ending}")
    job = context.submit("worksheet", name=context.name, ids=ids, path=str(path))
    return context.show_progress(job, then=context.url("settings"))


@router.post("/c/{name}/sheet", status_code=303)
def upload_results(context: CampaignWrite, table: UploadFile) -> Response:
    """Upload a filled-in worksheet and check it; nothing is saved yet."""
    called = (
        (table.filename or "the file").replace("\\", "/").rpartition("/")[2][:MAX_FILE_NAME_LETTERS]
    )
    job = context.submit(
        "preview", name=context.name, file=store_upload(context, table), called=called, how={}
    )
    return context.show_progress(job, then=context.url("sheet"))


@router.get("/c/{name}/sheet")
def sheet(context: CampaignRead, work: Work = "") -> Response:
    """The outcome of each line, before or after saving."""
    found = context.job_result(work, "preview", "tell_file", name=context.name)
    if found is None:
        return context.redirect(context.url("bench"))
    return context.page("bench/sheet.html", sheet=found)


@router.post("/c/{name}/keep", status_code=303)
def keep(
    context: CampaignWrite,
    file: File,
    called: Called = "",
    twice: Annotated[str, Form(pattern="^(|replace|repeat)$")] = "",
    sheet: Text = "",
    header: HeaderLine = "",
    look: Yes = False,
    key: JobKey = "",
) -> Response:
    """Save the labels of a worksheet, or check it again with other choices."""
    kind = "preview" if look else "tell_file"
    given: Arguments = {
        "name": context.name, "who": context.who, "file": file, "called": called,
        "how": {twice: True} if twice else {}, "options": sheet_options(sheet, header),
    }  # fmt: skip
    job = context.submit(kind, None if look else form_key(key, given), **given)
    return context.show_progress(job, then=context.url("sheet"))
