"""Page 2, of the one who measures: my rows as cards, one in focus, and a field for its number.

Keeping a label, or skipping a row, carries a key of its form, so that a form that is sent again,
after the server died or the line was lost, writes nothing twice; a form that is sent again with
something else in it is refused, and shown with a new key. Taking a label back names the event that
is meant.
"""

from collections.abc import Sequence
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Form, Query, Response

from weal.campaign.entries import entry
from weal.campaign.ledger import Ledger, Told, fold
from weal.campaign.rules import withdrawn
from weal.errors import ReusedKey, UnknownId
from weal.store.events import MAX_ID, MAX_KEY, MAX_NOTE
from weal.store.store import Book
from weal.web.desk import At, Here, Writing
from weal.web.making import once
from weal.web.typed import Expected, doubt, expected, read_value

router = APIRouter()
BENCH = "bench-"  # keys of labels that were typed here begin so: those are taken back here
MOST_AT_ONCE = 500  # rows of one ask
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
        y = read_value(value, here.ledger.target or "the value")
        told = [entry(id, y, None, note.strip() or None)]
    except ValueError as error:
        return _bench(here, id, code=422, wrong=str(error), typed=typed)
    question = None if sure else doubt(y, _expected(here, id), _labels(here.ledger))
    if question and not _is_there(here.ledger, id, y):
        return _bench(here, id, question=question, typed=typed, key=key)
    try:
        kept = here.campaign().tell_entries(told, repeat=again, key=f"{BENCH}{key}")
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
        own = f"{BENCH}{key}" if key else None
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
    n: Annotated[int, Form(ge=1, le=MOST_AT_ONCE)],
    key: Annotated[str, Form(pattern="^[0-9a-f]{32}$")],
    check: Yes = False,
) -> Response:
    """Give me n more, once, however often the form is sent: whoever leaves finds them later.

    A form that was used already and says something else now is refused by the campaign.
    """
    given = {"name": here.name, "n": n, "who": here.who, "check": check, "form": key}
    job = here.submit("ask", once(key, given), **given)
    return here.progress(job, then=here.url("bench"))


@router.get("/c/{name}/typed")
def typed(
    here: Here,
    id: Annotated[str, Query(max_length=MAX_ID)] = "",
    value: Annotated[str, Query(max_length=400)] = "",
) -> Response:
    """How the number that is being typed will be kept."""
    try:
        y = read_value(value, here.ledger.target or "the value") if value.strip() else None
    except ValueError as error:
        return here.page("bench/typed.html", y=None, wrong=str(error), value=value)
    return here.page("bench/typed.html", y=y, wrong=None, value=value)


@router.get("/c/{name}/standing")
def standing(here: Here) -> Response:
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


def _bench(here: At, focus: str, code: int = 200, **more: Any) -> Response:
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
        "expected": _expected(here, focus) if focus else None,
        "last": _last_label(here),
        "question": None,
        "wrong": None,
        "typed": {"value": "", "note": "", "again": False},
        "key": None,
        **_reason(here, focus),
    }
    template = "bench/bench.html" if here.is_part else "bench/page.html"
    return here.page(template, code, **{**known, **more})


def _next(here: At, focus: str = "") -> Response:
    """The bench after something was written."""
    fresh = At(here.request, here.name)
    if here.is_part:
        return _bench(fresh, focus)
    return here.go(here.url("bench") + (f"?id={quote(focus, safe='')}" if focus else ""))


def _reason(here: At, id_: str) -> dict[str, Any]:
    lease = here.ledger.leases.get(id_)
    if lease is None:
        return {"why": [], "waiting": False, "focus": id_}
    found = here.found("why")
    words = found.data.get(str(lease.seq), []) if found else []
    return {"why": words, "waiting": not words and not here.trouble("why"), "focus": id_}


def _expected(here: At, id_: str) -> Expected | None:
    """What was expected when the row was asked last."""
    lease = here.ledger.leases.get(id_)
    if lease is not None:
        return expected(lease.body)
    asked = [one for one in here.desk.store.of(here.name, [id_]) if one.kind == "asked"]
    return expected(asked[-1].body) if asked else None


def _labels(ledger: Ledger) -> Sequence[float]:
    return [told.y for several in ledger.labels.values() for told in several]


def _is_there(ledger: Ledger, id_: str, y: float) -> bool:
    return any(told.y == y for told in ledger.labels.get(id_, ()))


def _last_label(here: At) -> Told | None:
    """The label that I kept last, if it still counts."""
    for event in here.events(200):
        if event.kind == "skipped":
            continue
        if event.who == here.who and (event.key or "").startswith(BENCH):
            several = here.ledger.labels.get(str(event.id), ())
            return next((told for told in several if told.seq == event.seq), None)
    return None


def _withdraw(here: At, id_: str, event: int) -> None:
    """Withdraw the labels of a row, if that event is among them still."""

    def decide(book: Book) -> Any:
        now = fold(Ledger(""), book.of([id_]))
        if all(told.seq != event for told in now.labels.get(id_, ())):
            return []
        return withdrawn(book, [id_], here.who, "taken back at the bench")

    here.desk.store.transact(here.name, decide)
