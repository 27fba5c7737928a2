"""Page 2, of the one who measures: my rows as cards, one in focus, and a field for its number.

Keeping a label, or skipping a row, carries a key of its form, so that a form that is sent again,
after the server died or the line was lost, writes nothing twice; a form that is sent again with
something else in it is refused, and shown with a new key. Taking a label back names the event that
is meant.

Worksheets of the bench: printed, taken along, and brought back filled in.

What is brought back is shown line by line before anything is kept; then all of it is, or nothing.
Its content is its key, so that the same sheet twice changes nothing.
"""

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Form, Query, Response, UploadFile

from weal.campaign.label_input import entry
from weal.campaign.ledger import Ledger, LedgerLabel, apply_events
from weal.campaign.plausibility import ExpectedLabel, expected_in_event, judge_in_ledger
from weal.campaign.rules import withdrawn
from weal.errors import ReusedKey, UnknownId
from weal.store.events import MAX_ID, MAX_KEY, MAX_NOTE
from weal.store.protocol import Transaction
from weal.tables.cells import read_typed_number
from weal.web.pages.campaigns import Once, form_key, store_upload
from weal.web.request import CampaignRequest, Here, Writing
from weal.web.server_folder import new_file

router = APIRouter()
LABEL_KEY_PREFIX = (
    "bench-"  # keys of labels that were typed here begin so: those are taken back here
)
MAX_ASK_ROWS = 500  # rows of one ask
_AGAIN = "Look at the row, and send it once more if it is right."  # the form has a new key then

Id = Annotated[str, Form(min_length=1, max_length=MAX_ID)]
Note = Annotated[str, Form(max_length=MAX_NOTE)]
Key = Annotated[str, Form(min_length=1, max_length=MAX_KEY - 8)]
FormKey = Annotated[str, Form(max_length=MAX_KEY - 8)]
Value = Annotated[str, Form(max_length=400)]
Yes = Annotated[bool, Form()]


@router.get("/c/{name}/bench")
def bench(
    here: Here,
    id: Annotated[str, Query(max_length=MAX_ID)] = "",
    work: Annotated[str, Query(max_length=64)] = "",
) -> Response:
    """My rows, one in focus."""
    here.done(work, "ask", name=here.name)  # an ask that failed says why
    if id and not here.campaign().known([id]):
        raise UnknownId(f"no candidate has the id {id!r}")
    return _bench(here, id)


@router.post("/c/{name}/tell")
def tell(
    here: Writing, id: Id, value: Value, key: Key,
    note: Note = "", again: Yes = False, sure: Yes = False,
) -> Response:  # fmt: skip
    """Keep a label: once, however often the form is sent."""
    typed = {"value": value, "note": note, "again": again}
    try:
        y = read_typed_number(value, here.ledger.target or "the value")
        told = entry(id, y, None, note.strip() or None)
    except ValueError as error:
        return _bench(here, id, code=422, wrong=str(error), typed=typed)
    implausible = None if sure else judge_in_ledger(here.ledger, told)
    if implausible and not _is_there(here.ledger, id, y):
        return _bench(here, id, question=f"{implausible}.", typed=typed, key=key)
    try:
        kept = here.campaign().tell_entries([told], repeat=again, key=f"{LABEL_KEY_PREFIX}{key}")
    except ReusedKey as error:
        return _bench(here, id, code=409, wrong=_sent_before(error), typed=typed)
    if kept.superseded:  # a form from before the label was taken back: a new key, and it counts
        words = f"{value} was not saved: this form saved it before, and the label changed since."
        return _bench(here, id, code=409, wrong=f"{words} {_AGAIN}", typed=typed)
    return _next(here)


@router.post("/c/{name}/skip")
def skip(here: Writing, id: Id, note: Note = "", key: FormKey = "") -> Response:
    """A row that could not be measured: it is not asked again; once for each form."""
    try:
        own = f"{LABEL_KEY_PREFIX}{key}" if key else None
        here.campaign().skip(id, note=note.strip() or None, key=own)
    except ReusedKey as error:
        typed = {"value": "", "note": note, "again": False}
        return _bench(here, id, code=409, wrong=_sent_before(error), typed=typed)
    return _next(here)


def _sent_before(error: ReusedKey) -> str:
    """What to say of a form that was sent before with something else in it."""
    return f"This form has saved {error.used} already; {error.wanted} was not saved. {_AGAIN}"


@router.post("/c/{name}/back")
def take_back(here: Writing, id: Id, event: Annotated[int, Form(ge=1, le=2**53)]) -> Response:
    """Take back the label that this event kept; the row comes into focus again."""
    _withdraw(here, id, event)
    return _next(here, id)


@router.post("/c/{name}/ask")
def ask(
    here: Writing,
    n: Annotated[int, Form(ge=1, le=MAX_ASK_ROWS)],
    key: Annotated[str, Form(pattern="^[0-9a-f]{32}$")],
    check: Yes = False,
) -> Response:
    """Give me n more, once, however often the form is sent: whoever leaves finds them later.

    A form that was used already and says something else now is refused by the campaign.
    """
    given = {"name": here.name, "n": n, "who": here.who, "check": check, "form": key}
    job = here.submit("ask", form_key(key, given), **given)
    return here.progress(job, then=here.url("bench"))


@router.get("/c/{name}/typed")
def preview_number(
    here: Here,
    id: Annotated[str, Query(max_length=MAX_ID)] = "",
    value: Annotated[str, Query(max_length=400)] = "",
) -> Response:
    """How the number that is being typed will be kept."""
    try:
        y = read_typed_number(value, here.ledger.target or "the value") if value.strip() else None
    except ValueError as error:
        return here.page("bench/typed.html", y=None, wrong=str(error), value=value)
    return here.page("bench/typed.html", y=y, wrong=None, value=value)


@router.get("/c/{name}/standing")
def progress_line(here: Here) -> Response:
    """How many labels there are, and how many rows others have."""
    leases = here.ledger.open_leases(here.now)
    others = sum(lease.who != here.who for lease in leases)
    return here.page("bench/standing.html", others=others)


@router.get("/c/{name}/cells")
def cells(here: Here, id: Annotated[str, Query(max_length=MAX_ID)] = "") -> Response:
    """The inputs of a row, once the worker has read the table."""
    return here.page("bench/cells.html", rows=here.rows([id]), focus=id)


@router.get("/c/{name}/why")
def why(here: Here, id: Annotated[str, Query(max_length=MAX_ID)] = "") -> Response:
    """Why a row was asked, once the worker has found the words."""
    return here.page("bench/why.html", **_reason(here, id))


def _bench(here: CampaignRequest, focus: str, code: int = 200, **more: Any) -> Response:
    """The bench with this row in focus, or the first of mine."""
    leases = here.ledger.open_leases(here.now)
    mine = [lease for lease in leases if lease.who == here.who]
    focus = focus or (mine[0].id if mine else "")
    ids = [lease.id for lease in mine]
    known: dict[str, Any] = {
        "mine": mine,
        "others": len(leases) - len(mine),
        "focus": focus,
        "rows": here.rows([*ids, focus] if focus and focus not in ids else ids),
        "expected": _prediction_when_asked(here, focus) if focus else None,
        "last": _last_label(here),
        "question": None,
        "wrong": None,
        "typed": {"value": "", "note": "", "again": False},
        "key": None,
        **_reason(here, focus),
    }
    template = "bench/bench.html" if here.is_part else "bench/page.html"
    return here.page(template, code, **{**known, **more})


def _next(here: CampaignRequest, focus: str = "") -> Response:
    """The bench after something was written."""
    fresh = CampaignRequest(here.request, here.name)
    if here.is_part:
        return _bench(fresh, focus)
    return here.go(here.url("bench") + (f"?id={quote(focus, safe='')}" if focus else ""))


def _reason(here: CampaignRequest, id_: str) -> dict[str, Any]:
    lease = here.ledger.leases.get(id_)
    if lease is None:
        return {"why": [], "waiting": False, "focus": id_}
    found = here.found("why")
    words = found.data.get(str(lease.seq), []) if found else []
    return {"why": words, "waiting": not words and not here.trouble("why"), "focus": id_}


def _prediction_when_asked(here: CampaignRequest, id_: str) -> ExpectedLabel | None:
    """What was expected when the row was asked last."""
    lease = here.ledger.leases.get(id_)
    if lease is not None:
        return expected_in_event(lease.body)
    asked = [one for one in here.desk.store.of(here.name, [id_]) if one.kind == "asked"]
    return expected_in_event(asked[-1].body) if asked else None


def _is_there(ledger: Ledger, id_: str, y: float) -> bool:
    return any(told.y == y for told in ledger.labels.get(id_, ()))


def _last_label(here: CampaignRequest) -> LedgerLabel | None:
    """The label that I kept last, if it still counts."""
    for event in here.events(200):
        if event.kind == "skipped":
            continue
        if event.who == here.who and (event.key or "").startswith(LABEL_KEY_PREFIX):
            several = here.ledger.labels.get(str(event.id), ())
            return next((told for told in several if told.seq == event.seq), None)
    return None


def _withdraw(here: CampaignRequest, id_: str, event: int) -> None:
    """Withdraw the labels of a row, if that event is among them still."""

    def decide(book: Transaction) -> Any:
        now = apply_events(Ledger(""), book.of([id_]))
        if all(told.seq != event for told in now.labels.get(id_, ())):
            return []
        return withdrawn(book, [id_], here.who, "taken back at the bench")

    here.desk.store.transact(here.name, decide)


MAX_FILE_NAME_LETTERS = 80  # of the name of a file that are shown
File = Annotated[str, Form(pattern="^[0-9a-f]{32}$")]
Called = Annotated[str, Form(max_length=MAX_FILE_NAME_LETTERS)]
Work = Annotated[str, Query(max_length=64)]


@router.get("/c/{name}/print")
def print_rows(here: Here) -> Response:
    """My rows on paper, with room for a number and a note."""
    mine = [one for one in here.ledger.open_leases(here.now) if one.who == here.who]
    columns = [one["name"] for one in here.ledger.plan["columns"] if one["kind"] != "dropped"]
    rows = here.rows([lease.id for lease in mine])
    return here.page("bench/print.html", mine=mine, columns=columns, rows=rows, now=here.now)


@router.get("/c/{name}/worksheet")
def download(here: Here, ending: Annotated[str, Query(pattern="^(csv|xlsx)$")] = "csv") -> Response:
    """My rows as a file to be filled in."""
    leases = here.ledger.open_leases(here.now)
    ids = [one.id for one in leases if one.who == here.who] or [one.id for one in leases]
    path = new_file(here.desk.kept.folder, f".{ending}")
    job = here.submit("worksheet", name=here.name, ids=ids, path=str(path))
    return here.progress(job, then=here.url("settings"))


@router.post("/c/{name}/sheet", status_code=303)
def upload_results(here: Writing, table: UploadFile) -> Response:
    """Look at a sheet that was filled in; nothing is kept yet."""
    called = (
        (table.filename or "the file").replace("\\", "/").rpartition("/")[2][:MAX_FILE_NAME_LETTERS]
    )
    job = here.submit(
        "preview", name=here.name, file=store_upload(here, table), called=called, how={}
    )
    return here.progress(job, then=here.url("sheet"))


@router.get("/c/{name}/sheet")
def sheet(here: Here, work: Work = "") -> Response:
    """What will become of each line, or what has."""
    found = here.done(work, "preview", "tell_file", name=here.name)
    if found is None:
        return here.go(here.url("bench"))
    return here.page("bench/sheet.html", sheet=found)


@router.post("/c/{name}/keep", status_code=303)
def keep(
    here: Writing,
    file: File,
    called: Called = "",
    twice: Annotated[str, Form(pattern="^(|replace|repeat)$")] = "",
    look: Annotated[bool, Form()] = False,
    key: Once = "",
) -> Response:
    """Keep the labels of a sheet, or look at it again with labels that are there seen otherwise."""
    kind = "preview" if look else "tell_file"
    how = {twice: True} if twice else {}
    given: dict[str, Any] = {"name": here.name, "who": here.who, "file": file, "called": called}
    job = here.submit(kind, None if look else form_key(key, given, how), **given, how=how)
    return here.progress(job, then=here.url("sheet"))
