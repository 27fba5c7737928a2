"""Page 1: all campaigns, each with its labels, rows that are out, last activity, error trend.

The page of a session: who is logged in until when, and the forms that end it.

Logging out ends the session of this browser. Whoever may write can also end every session of the
token, for a telephone that was lost; the token itself stays valid (`weal serve --new-token` makes
another).

A table becomes a campaign: dropped, shown column by column, and only then made.
"""

import hashlib
import json
import shutil
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Form, HTTPException, Query, Response, UploadFile

from weal.store.events import MAX_WHO, check_name, check_text
from weal.tables.results_reader import TEXT_SUFFIXES
from weal.web.request import WHO_COOKIE, RequestContext, Sitting, WritingSeat, check_form_token
from weal.web.server_folder import new_file
from weal.web.token import cookie_name

router = APIRouter()
YEAR = 365 * 24 * 3600  # seconds for which a browser knows who sits there


@router.get("/")
def every_campaign(seat: Sitting) -> Response:
    """All campaigns."""
    found = [_summary(seat, name) for name in seat.desk.store.campaigns()]
    shown = [one for one in found if not one["ledger"].settings.get("hidden")]
    removed, now = len(found) - len(shown), seat.desk.store.now()
    return seat.page("campaigns/page.html", campaigns=shown, removed=removed, now=now)


@router.post("/who", status_code=303)
def say_who(
    seat: Sitting,
    _: Annotated[None, Depends(check_form_token)],
    name: Annotated[str, Form(max_length=MAX_WHO)],
    back: Annotated[str, Form(max_length=4000)] = "/",
) -> Response:
    """Who sits there, kept in a cookie of this browser."""
    said = quote(check_text(name.strip(), "your name", MAX_WHO), safe="")
    ours = back.startswith("/") and not back.startswith(("//", "/\\")) and back.isprintable()
    answer = seat.go(quote(back, safe="/?=&%") if ours else "/")
    answer.set_cookie(WHO_COOKIE, said, max_age=YEAR, httponly=True, samesite="strict")
    return answer


def _summary(seat: RequestContext, name: str) -> dict[str, Any]:
    """What the list says of a campaign, from the store and what was found before."""
    ledger = seat.desk.books.ledger(name)
    last = seat.desk.books.events(name, 1)[0]
    status = seat.desk.kept.found(name, "status")
    beliefs = status.data["beliefs"] if status else None
    return {
        "ledger": ledger,
        "out": len(ledger.open_leases(seat.desk.store.now())),
        "last": last,
        "trend": beliefs["left_out"]["course"] if beliefs else [],
    }


@router.get("/logout")
def show_session(seat: Sitting) -> Response:
    """Who is logged in, and until when."""
    visit = seat.visit
    ends = visit.session.expires if visit and visit.session else None
    until = datetime.fromtimestamp(ends, UTC) if ends else None
    return seat.page("logout.html", principal=visit.principal if visit else None, until=until)


@router.post("/logout", status_code=303)
def log_out(
    seat: Sitting,
    _: Annotated[None, Depends(check_form_token)],
    everywhere: Annotated[bool, Form()] = False,
) -> Response:
    """End the session of this browser, or all sessions of its token."""
    visit, sessions = seat.visit, seat.desk.door.access.sessions
    if everywhere and seat.is_read_only:
        raise HTTPException(403, "With a token for reading you can log out this browser alone.")
    if everywhere and visit is not None:
        sessions.end_all(visit.token)
    elif visit is not None and visit.session is not None:
        sessions.end(visit.secret)
    answer = seat.go("/")
    answer.delete_cookie(cookie_name(seat.desk.door.port), httponly=True, samesite="strict")
    return answer


UPLOAD_SUFFIXES = (*TEXT_SUFFIXES, ".xlsx")
File = Annotated[str, Query(pattern="^[0-9a-f]{32}$")]
Text = Annotated[str, Form(max_length=1000)]
Once = Annotated[str, Form(pattern="^([0-9a-f]{32})?$")]  # of a form: sent twice, it is one job


def form_key(key: str, *said: Any) -> str | None:
    """What the job of a form is known by: one for the same key and words; None without a key."""
    if not key:
        return None
    return hashlib.blake2b(json.dumps([key, *said]).encode(), digest_size=16).hexdigest()


def store_upload(seat: RequestContext, table: UploadFile) -> str:
    """Keep an upload under a random name of ours; which one."""
    seat.desk.worker.check_room(seat.who)  # before anything is written
    ending = PurePosixPath(table.filename or "").suffix.lower()
    if ending not in UPLOAD_SUFFIXES:
        raise HTTPException(422, f"A table is a file that ends in {', '.join(UPLOAD_SUFFIXES)}.")
    path = new_file(seat.desk.kept.folder, ending)
    file = path.open("xb")
    try:
        with file:
            shutil.copyfileobj(table.file, file)
    except OSError:  # half a table would fill a disk that is full
        path.unlink(missing_ok=True)
        raise
    return path.stem


@router.get("/new")
def new(seat: Sitting) -> Response:
    """Where to drop a table."""
    return seat.page("campaigns/new.html")


@router.post("/new", status_code=303)
def upload_table(seat: WritingSeat, table: UploadFile) -> Response:
    """Take a table, and look at it."""
    name = PurePosixPath((table.filename or "").replace("\\", "/")).stem
    file = store_upload(seat, table)
    job = seat.submit("look", file=file, name=_name(name))
    return seat.progress(job, then=f"/new/plan?file={file}")


@router.get("/new/plan")
def plan(seat: Sitting, file: File, work: Annotated[str, Query(max_length=64)] = "") -> Response:
    """The plan, column by column; the campaign, once it is made."""
    found = seat.done(work, "look", "make", file=file)
    if found is None:  # a server that has started again looks at it anew
        job = seat.submit("look", file=file, name="")
        return seat.progress(job, then=f"/new/plan?file={file}")
    if "made" in found:
        return seat.go(f"/c/{quote(found['made'], safe='')}/bench")
    return seat.page("campaigns/plan.html", plan=found, key=None)


class PlanForm:
    """What was chosen in the form of a plan."""

    def __init__(
        self,
        file: Annotated[str, Form(pattern="^[0-9a-f]{32}$")],
        name: Annotated[str, Form(max_length=200)] = "",
        id: Text = "",
        target: Text = "",
        column: Annotated[list[str], Form(max_length=5000)] = [],  # noqa: B006
        kind: Annotated[list[str], Form(max_length=5000)] = [],  # noqa: B006
    ) -> None:
        types = dict(zip(column, kind, strict=False))
        chosen = {one: said for one, said in types.items() if said}
        self.given: dict[str, Any] = {
            "file": file, "name": name.strip(), "id": id, "target": target, "types": chosen
        }  # fmt: skip


@router.post("/new/plan", status_code=303)
def choose(
    seat: WritingSeat,
    choices: Annotated[PlanForm, Depends()],
    make: Annotated[bool, Form()] = False,
    key: Once = "",
) -> Response:
    """Look again with other choices, or make the campaign."""
    given = choices.given
    if make:
        check_name(given["name"])
        job = seat.submit("make", form_key(key, given, seat.who), who=seat.who, **given)
    else:
        job = seat.submit("look", **given)
    return seat.progress(job, then=f"/new/plan?file={given['file']}")


def _name(stem: str) -> str:
    """A name for a campaign, from that of its file."""
    try:
        return check_name(stem[:100].replace("..", ".").strip())
    except ValueError:
        return ""
