"""The list of campaigns, a new campaign from a table, the person's name, and log out.

A table is uploaded, shown column by column, and only then becomes a campaign. Logging out ends the
session of this browser; a person who may write can also end every session of the token, as for a
lost phone. The token itself stays valid (`weal serve --new-token` makes another).
"""

import hashlib
import json
import shutil
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Annotated, TypedDict
from urllib.parse import quote

from fastapi import APIRouter, Depends, Form, HTTPException, Query, Response, UploadFile

from weal.campaign.ledger import Ledger
from weal.goals.grammar import parse_goal
from weal.goals.learn import Learn
from weal.store.events import MAX_WHO, Event, check_name, check_text
from weal.tables.results_reader import TEXT_SUFFIXES
from weal.web.access import cookie_name
from weal.web.job_context import Arguments, StatusJson
from weal.web.request import WHO_COOKIE, FormToken, RequestContext, ServerRead, ServerWrite
from weal.web.server_folder import new_file

router = APIRouter()


class CurveSummary(TypedDict):
    """The learning curve of a campaign."""

    curve: list[tuple[int, float]]  # the series of the goal, by number of labels, and
    curve_label: str  # its name


class CampaignSummary(CurveSummary):
    """A row of the list of campaigns."""

    ledger: Ledger
    out: int
    last: Event


@router.get("/")
def list_campaigns(context: ServerRead) -> Response:
    """All campaigns."""
    summaries = [_summary(context, name) for name in context.server.store.campaigns()]
    shown = [one for one in summaries if not one["ledger"].settings.get("hidden")]
    removed, now = len(summaries) - len(shown), context.server.store.now()
    return context.page("campaigns/page.html", campaigns=shown, removed=removed, now=now)


@router.post("/who", status_code=303)
def set_name(
    context: ServerRead,
    _: FormToken,
    name: Annotated[str, Form(max_length=MAX_WHO)],
    back: Annotated[str, Form(max_length=4000)] = "/",
) -> Response:
    """Store the name of the person in a cookie of this browser."""
    cookie = quote(check_text(name.strip(), "your name", MAX_WHO), safe="")
    is_local = back.startswith("/") and not back.startswith(("//", "/\\")) and back.isprintable()
    answer = context.redirect(quote(back, safe="/?=&%") if is_local else "/")
    answer.set_cookie(
        WHO_COOKIE, cookie, max_age=NAME_COOKIE_SECONDS, httponly=True, samesite="strict"
    )
    return answer


def _summary(context: RequestContext, name: str) -> CampaignSummary:
    """A row of the list, from the store and the last status."""
    ledger = context.server.ledgers.ledger(name)
    last = context.server.ledgers.events(name, 1)[0]
    status = context.server.results.read_result(name, "status")
    first = ledger.quantity(ledger.first_quantity).quantity
    return {
        "ledger": ledger,
        "out": len(ledger.open_leases(context.server.store.now())),
        "last": last,
        **_curve(status.data if status else None, first.column),
    }


def _curve(status: StatusJson | None, target: str | None) -> CurveSummary:
    """The series of the goal of a status; results of 0.2 in the server's folder have errors."""
    beliefs = status["beliefs"] if status else None
    if status is None or not beliefs:
        return {"curve": [], "curve_label": ""}
    own = status.get("curve")
    goal = parse_goal(status["goal"]["text"]) if own else Learn()
    course = (own or beliefs["left_out"])["course"]
    return {"curve": course, "curve_label": goal.curve_label(target)}


@router.get("/logout")
def show_session(context: ServerRead) -> Response:
    """The session of this browser and its end."""
    visit = context.visit
    ends = visit.session.expires if visit and visit.session else None
    until = datetime.fromtimestamp(ends, UTC) if ends else None
    return context.page("logout.html", actor=visit.actor if visit else None, until=until)


@router.post("/logout", status_code=303)
def log_out(
    context: ServerRead,
    _: FormToken,
    everywhere: Annotated[bool, Form()] = False,
) -> Response:
    """End the session of this browser, or all sessions of its token."""
    visit, sessions = context.visit, context.server.policy.access.sessions
    if everywhere and context.is_read_only:
        raise HTTPException(403, "With a read-only token you can log out only this browser.")
    if everywhere and visit is not None:
        sessions.end_all(visit.token)
    elif visit is not None and visit.session is not None:
        sessions.end(visit.secret)
    answer = context.redirect("/")
    answer.delete_cookie(cookie_name(context.server.policy.port), httponly=True, samesite="strict")
    return answer


NAME_COOKIE_SECONDS = 365 * 24 * 3600
UPLOAD_SUFFIXES = (*TEXT_SUFFIXES, ".xlsx")
File = Annotated[str, Query(pattern="^[0-9a-f]{32}$")]
Text = Annotated[str, Form(max_length=1000)]
JobKey = Annotated[str, Form(pattern="^([0-9a-f]{32})?$")]  # of a form: sent twice, it is one job


HeaderLine = Annotated[str, Form(pattern="^[0-9]{0,7}$")]


def sheet_options(sheet: str, header: str) -> list[tuple[str, str]]:
    """The chosen sheet and line of the column names as options of a table."""
    line = [("header", header)] if header.strip("0") else []
    return [*([("sheet", sheet)] if sheet else []), *line]


def form_key(key: str, *content: object) -> str | None:
    """The key of a form's job, from the form's key and content; None without a key."""
    if not key:
        return None
    return hashlib.blake2b(json.dumps([key, *content]).encode(), digest_size=16).hexdigest()


def store_upload(context: RequestContext, table: UploadFile) -> str:
    """Store an upload under a random name, and return that name."""
    context.server.worker.check_capacity(context.who)  # before anything is written
    ending = PurePosixPath(table.filename or "").suffix.lower()
    if ending not in UPLOAD_SUFFIXES:
        raise HTTPException(422, f"The name of the file must end in {', '.join(UPLOAD_SUFFIXES)}.")
    path = new_file(context.server.results.folder, ending)
    file = path.open("xb")
    try:
        with file:
            shutil.copyfileobj(table.file, file)
    except OSError:  # the disk may be full: delete the half
        path.unlink(missing_ok=True)
        raise
    return path.stem


@router.get("/new")
def new(context: ServerRead) -> Response:
    """The form that uploads a table."""
    return context.page("campaigns/new.html")


@router.post("/new", status_code=303)
def upload_table(context: ServerWrite, table: UploadFile) -> Response:
    """Upload a table and read it."""
    name = PurePosixPath((table.filename or "").replace("\\", "/")).stem
    file = store_upload(context, table)
    job = context.submit("look", file=file, name=_name(name))
    return context.show_progress(job, then=f"/new/plan?file={file}")


@router.get("/new/plan")
def plan(
    context: ServerRead, file: File, work: Annotated[str, Query(max_length=64)] = ""
) -> Response:
    """The plan, column by column; the campaign once it was created."""
    found = context.job_result(work, "look", "make", file=file)
    if found is None:  # the server was restarted: read it again
        job = context.submit("look", file=file, name="")
        return context.show_progress(job, then=f"/new/plan?file={file}")
    if "made" in found:
        return context.redirect(f"/c/{quote(found['made'], safe='')}/bench")
    return context.page("campaigns/plan.html", plan=found, key=None)


class PlanForm:
    """The choices in the form of a plan."""

    def __init__(
        self,
        file: Annotated[str, Form(pattern="^[0-9a-f]{32}$")],
        name: Annotated[str, Form(max_length=200)] = "",
        id: Text = "",
        target: Text = "",
        column: Annotated[list[str], Form(max_length=5000)] = [],  # noqa: B006
        kind: Annotated[list[str], Form(max_length=5000)] = [],  # noqa: B006
        option: Annotated[list[str], Form(max_length=1000)] = [],  # noqa: B006
        sheet: Text = "",
        header: HeaderLine = "",
        goal: Annotated[str, Form(max_length=2000)] = "",
        until: Annotated[str, Form(max_length=200)] = "",
    ) -> None:
        pairs = [one.partition("\n") for one in option]
        chosen = {name: value for name, _, value in pairs}  # a button says which column it is
        id, target = chosen.get("id", id), chosen.get("target", target)
        roles = ("sheet", "header", "id", "target", "type")
        options = [(name, value) for name, _, value in pairs if name not in roles]
        options += sheet_options(sheet, header)
        types = {one: type_ for one, type_ in zip(column, kind, strict=False) if type_}
        declared = [value.rpartition("=") for name, _, value in pairs if name == "type"]
        types |= {one: type_ for one, _, type_ in declared}
        self.arguments: Arguments = {
            "file": file, "name": name.strip(), "id": id, "target": target, "types": types,
            "options": options, "goal": goal.strip(), "until": until.strip(),
        }  # fmt: skip


@router.post("/new/plan", status_code=303)
def submit_plan(
    context: ServerWrite,
    choices: Annotated[PlanForm, Depends()],
    make: Annotated[bool, Form()] = False,
    key: JobKey = "",
) -> Response:
    """Read the table again with other choices, or create the campaign."""
    given: Arguments = {**choices.arguments, "who": context.who}
    if make:
        check_name(given["name"])
        job = context.submit("make", form_key(key, given), **given)
    else:
        job = context.submit("look", **given)
    return context.show_progress(job, then=f"/new/plan?file={given['file']}")


def _name(stem: str) -> str:
    """A name for the campaign from the name of its file; empty if it is not allowed."""
    try:
        return check_name(stem[:100].replace("..", ".").strip())
    except ValueError:
        return ""
