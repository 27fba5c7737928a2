"""The page Settings: settings, more candidates, skipped rows, and tables to download."""

from itertools import count
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, HTTPException, Query, Response, UploadFile
from fastapi.responses import FileResponse

from weal.campaign.config import (
    check_goal,
    check_title,
    check_typed_goal,
    seconds,
    split_names,
)
from weal.errors import NotPermitted
from weal.store.events import MAX_ID, check_name
from weal.text import REASONS
from weal.web.job_context import Arguments, FileJson
from weal.web.pages.campaigns import JobKey, file_name, form_key, store_upload
from weal.web.plan_form import HeaderLine, Text, sheet_options
from weal.web.request import CampaignManage, CampaignRead, CampaignRequest, CampaignSkip
from weal.web.server_folder import find_file, new_file

router = APIRouter()
EXPORT_TABLES = ("labels", "predictions", "candidates", "events")
EXPORT_SUFFIXES = ("csv", "xlsx", "parquet", "json")
# Scores with parameters, such as ucb(2), are set in the shell: the page has no field for them.
CHOICES = ("auto", "multi", *(name for name in REASONS if name not in ("ucb", "straddle")))
MAX_SKIPPED_SHOWN = 200
Work = Annotated[str, Query(max_length=64)]
Short = Annotated[str, Form(max_length=200)]
Goal = Annotated[str, Form(max_length=2000)]


@router.get("/c/{name}/settings")
def settings(context: CampaignRead, work: Work = "") -> Response:
    """The page; a finished export or worksheet is downloaded."""
    kinds = ("export", "worksheet", "change", "add", "copy")
    found = context.job_result(work, *kinds, name=context.name)
    if isinstance(found, dict) and "copied" in found:
        return context.redirect(context.address(f"/c/{quote(found['copied'], safe='')}/bench"))
    if isinstance(found, dict) and "file" in found:
        return context.redirect(context.url(f"file?key={found['file']}&work={work}"))
    added = found if isinstance(found, int) else None
    skipped = list(context.ledger.skipped.items())[:MAX_SKIPPED_SHOWN]
    lease = lease_text(context.ledger.settings["lease"])
    return context.page(
        "settings/page.html", skipped=skipped, lease=lease, added=added, choices=CHOICES,
        tables=EXPORT_TABLES, endings=EXPORT_SUFFIXES, copy_name=_copy_name(context),
    )  # fmt: skip


@router.post("/c/{name}/settings", status_code=303)
def change(
    context: CampaignManage, acquisition: Short, lease: Short, goal: Goal = "", until: Short = "",
    warp: Short = "", title: Annotated[str, Form(max_length=20_000)] = "",
) -> Response:  # fmt: skip
    """Change the settings that differ from the present ones."""
    names = split_names(acquisition)
    wanted: dict[str, object] = {
        "acquisition": names[0] if len(names) == 1 else names,
        "lease": seconds(lease),
        "warp": warp or None,
        "title": check_title(title),
        **check_typed_goal(goal, until),
    }
    ledger, before = context.ledger, context.ledger.settings
    changes = {key: value for key, value in wanted.items() if before.get(key) != value}
    measured = [one.quantity for one in ledger.quantities.values()]
    check_goal(changes, ledger.rows, measured, ledger.column_names)  # before the work
    if not changes:
        return context.redirect(context.url("settings"))
    job = context.submit("change", name=context.name, who=context.who, changes=changes)
    return context.show_progress(job, then=context.url("settings"))


@router.post("/c/{name}/archive", status_code=303)
def archive(context: CampaignManage, on: Annotated[bool, Form()]) -> Response:
    """Archive the campaign, or open it again."""
    context.campaign().archive(on)
    return context.redirect(context.address("/") if on else context.url("settings"))


@router.post("/c/{name}/copy", status_code=303)
def copy(
    context: CampaignManage,
    new: Annotated[str, Form(max_length=200)],
    labels: Annotated[bool, Form()] = False,
    key: JobKey = "",
) -> Response:
    """Copy the campaign, with or without its labels."""
    new = check_name(new.strip())
    if not context.may_create:
        raise NotPermitted("this token is for some campaigns and creates none: use another one")
    given: Arguments = {"name": context.name, "who": context.who,
                        "call": {"new": new, "labels": labels, "key": key or None}}  # fmt: skip
    job = context.submit("copy", form_key(key, given), **given)
    return context.show_progress(job, then=context.url("settings"))


def _copy_name(context: CampaignRequest) -> str:
    """A name for a copy that is not taken."""
    there = set(context.server.store.campaigns())
    stem = context.name[:90]
    return next(name for n in count(2) if (name := f"{stem}-{n}") not in there)


@router.post("/c/{name}/unskip", status_code=303)
def unskip(
    context: CampaignSkip, id: Annotated[str, Form(min_length=1, max_length=MAX_ID)]
) -> Response:
    """Allow a skipped row to be suggested again."""
    context.campaign().unskip(id)
    return context.redirect(context.url("settings"))


@router.post("/c/{name}/add", status_code=303)
def upload_candidates(context: CampaignManage, table: UploadFile) -> Response:
    """Upload a table of candidates and read it; nothing is saved yet."""
    called, file = file_name(table), store_upload(context, table)
    job = context.submit("look_more", name=context.name, file=file, called=called)
    return context.show_progress(job, then=context.url("add/table"))


@router.get("/c/{name}/add/table")
def candidates_to_add(context: CampaignRead, work: Work = "") -> Response:
    """What adding the table would do."""
    found = context.job_result(work, "look_more", name=context.name)
    if found is None:
        return context.redirect(context.url("settings"))
    return context.page("settings/add.html", more=found)


@router.post("/c/{name}/add/table", status_code=303)
def add(
    context: CampaignManage,
    file: Annotated[str, Form(pattern="^[0-9a-f]{32}$")],
    called: Annotated[str, Form(max_length=300)] = "",
    sheet: Text = "",
    header: HeaderLine = "",
    look: Annotated[bool, Form()] = False,
    key: JobKey = "",
) -> Response:
    """Add the candidates of a table, or read it again with other choices."""
    given: Arguments = {
        "name": context.name, "who": context.who, "file": file, "called": called,
        "options": sheet_options(sheet, header),
    }  # fmt: skip
    if look:
        job = context.submit("look_more", **given)
        return context.show_progress(job, then=context.url("add/table"))
    job = context.submit("add", form_key(key, given), **given)
    return context.show_progress(job, then=context.url("settings"))


@router.get("/c/{name}/export")
def export(
    context: CampaignRead,
    what: Annotated[str, Query(pattern=f"^({'|'.join(EXPORT_TABLES)})$")],
    ending: Annotated[str, Query(pattern=f"^({'|'.join(EXPORT_SUFFIXES)})$")],
) -> Response:
    """Write a table of the campaign to a file and download it."""
    path = new_file(context.server.results.folder, f".{ending}")
    job = context.submit("export", name=context.name, what=what, path=str(path))
    return context.show_progress(job, then=context.url("settings"))


@router.get("/c/{name}/file", response_class=FileResponse)
def file(
    context: CampaignRead, key: Annotated[str, Query(max_length=64)], work: Work = ""
) -> Response:
    """Download a file that a job wrote."""
    path = find_file(context.server.results.folder, key)
    if path is None:
        raise HTTPException(404, "This file was deleted: download it again.")
    return FileResponse(path, filename=_file_name(context, work, path.suffix))


def _file_name(context: CampaignRequest, work: str, ending: str) -> str:
    found: FileJson | None = context.job_result(work, "export", "worksheet", name=context.name)
    return found["called"] if found else f"{context.name}{ending}"


def lease_text(length: float) -> str:
    """A lease as people type it.

    >>> lease_text(7 * 86400.0), lease_text(5400.0)
    ('7d', '90m')
    """
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("m", 60.0)):
        if length % size == 0.0:
            return f"{length / size:g}{unit}"
    return f"{length:g}s"
