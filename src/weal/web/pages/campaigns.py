"""The list of campaigns, and a new campaign from a table.

A table is uploaded, shown column by column, and only then becomes a campaign.
"""

import hashlib
import json
import shutil
from pathlib import Path, PurePosixPath
from typing import Annotated, TypedDict
from urllib.parse import quote

from fastapi import APIRouter, Depends, Form, HTTPException, Query, Response, UploadFile

import weal
from weal.campaign.ledger import Ledger
from weal.goals.grammar import parse_goal
from weal.goals.learn import Learn
from weal.store.events import Event, check_name
from weal.tables.results_reader import TEXT_SUFFIXES
from weal.web.actors import require
from weal.web.job_context import Arguments, StatusJson
from weal.web.plan_form import PlanForm
from weal.web.request import RequestContext, ServerManage, ServerRead
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
    names = require(context.request, "read").visible(context.server.store.campaigns())
    summaries = [_summary(context, name) for name in names]
    shown = [one for one in summaries if not one["ledger"].is_hidden]
    archived = [one for one in summaries if one["ledger"].is_hidden]
    now = context.server.store.now()
    return context.page("campaigns/page.html", campaigns=shown, archived=archived, now=now)


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


MAX_FILE_NAME = 200  # characters of an upload's name that are shown
SAMPLE_NAME = "sample-alloys"
SAMPLE_TABLE = Path(weal.__file__).with_name("samples") / "alloys.csv"
UPLOAD_SUFFIXES = (*TEXT_SUFFIXES, ".xlsx")
File = Annotated[str, Query(pattern="^[0-9a-f]{32}$")]
JobKey = Annotated[str, Form(pattern="^([0-9a-f]{32})?$")]  # of a form: sent twice, it is one job


def form_key(key: str, *content: object) -> str | None:
    """The key of a form's job, from the form's key and content; None without a key."""
    if not key:
        return None
    return hashlib.blake2b(json.dumps([key, *content]).encode(), digest_size=16).hexdigest()


def file_name(table: UploadFile) -> str:
    """The name of an upload on the user's machine, without its folder and on one line."""
    name = PurePosixPath((table.filename or "").replace("\\", "/")).name
    return "".join(one if one.isprintable() else " " for one in name)[:MAX_FILE_NAME]


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
def upload_table(context: ServerManage, table: UploadFile) -> Response:
    """Upload a table and read it."""
    called = file_name(table)
    file = store_upload(context, table)
    job = context.submit("look", file=file, called=called, name=_name(PurePosixPath(called).stem))
    return context.show_progress(job, then=f"{context.address('/new/plan')}?file={file}")


@router.post("/sample", status_code=303)
def create_sample(context: ServerManage, key: JobKey = "") -> Response:
    """Create the sample campaign, from a table of the package; if it exists, open it."""
    if SAMPLE_NAME in context.server.store.campaigns():
        return context.redirect(context.address(f"/c/{SAMPLE_NAME}/bench"))
    with SAMPLE_TABLE.open("rb") as table:
        file = store_upload(context, UploadFile(table, filename=SAMPLE_TABLE.name))
    given: Arguments = {
        "file": file, "name": SAMPLE_NAME, "id": "sample", "target": "hardness", "types": {},
        "options": [], "goal": "", "until": "", "who": context.who,
    }  # fmt: skip
    job = context.submit("make", form_key(key, "sample", context.who), **given)
    then = f"{context.address('/new/plan')}?file={job.arguments['file']}"
    return context.show_progress(job, then=then)


@router.get("/new/plan")
def plan(
    context: ServerRead, file: File, work: Annotated[str, Query(max_length=64)] = ""
) -> Response:
    """The plan, column by column; the campaign once it was created."""
    require(context.request, "manage")
    found = context.job_result(work, "look", "make", file=file)
    if found is None:  # the server was restarted: read it again
        job = context.submit("look", file=file, name="")
        return context.show_progress(job, then=f"{context.address('/new/plan')}?file={file}")
    if "made" in found:
        return context.redirect(context.address(f"/c/{quote(found['made'], safe='')}/bench"))
    return context.page("campaigns/plan.html", plan=found, key=None)


@router.post("/new/plan", status_code=303)
def submit_plan(
    context: ServerManage,
    choices: Annotated[PlanForm, Depends()],
    make: Annotated[bool, Form()] = False,
    key: JobKey = "",
) -> Response:
    """Read the table again with other choices, or create the campaign."""
    given: Arguments = {**choices.arguments, "who": context.who}
    if make and not choices.is_other_table:
        check_name(given["name"])
        job = context.submit("make", form_key(key, given), **given)
    else:
        job = context.submit("look", **given)
    return context.show_progress(job, then=f"{context.address('/new/plan')}?file={given['file']}")


def _name(stem: str) -> str:
    """A name for the campaign from the name of its file; empty if it is not allowed."""
    try:
        return check_name(stem[:100].replace("..", ".").strip())
    except ValueError:
        return ""
