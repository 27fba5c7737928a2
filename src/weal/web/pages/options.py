"""Page 5: settings, further candidates, rows left out, and everything as files."""

import hashlib
from typing import Annotated, Any

from fastapi import APIRouter, Form, HTTPException, Query, Response, UploadFile
from fastapi.responses import FileResponse

from weal.campaign.config import seconds
from weal.store.events import MAX_ID
from weal.tables.cells import read_typed_number
from weal.text import REASONS
from weal.web.pages.campaigns import Once, form_key, store_upload
from weal.web.request import CampaignRequest, Here, Writing
from weal.web.server_folder import given_file, new_file

router = APIRouter()
EXPORT_TABLES = ("labels", "predictions", "candidates", "events")
EXPORT_SUFFIXES = ("csv", "xlsx", "parquet", "json")
CHOICES = ("auto", "multi", *REASONS)
MAX_SKIPPED_SHOWN = 200  # skipped rows
Work = Annotated[str, Query(max_length=64)]
Short = Annotated[str, Form(max_length=200)]


@router.get("/c/{name}/settings")
def settings(here: Here, work: Work = "") -> Response:
    """Settings, and what can be had as a file."""
    found = here.done(work, "export", "worksheet", "change", "add", name=here.name)
    if isinstance(found, dict) and "file" in found:
        return here.go(here.url(f"file?key={found['file']}&work={work}"))
    added = found if isinstance(found, int) else None
    shown: dict[str, Any] = {
        "choices": CHOICES,
        "what": EXPORT_TABLES,
        "endings": EXPORT_SUFFIXES,
        "added": added,
    }
    skipped = list(here.ledger.skipped.items())[:MAX_SKIPPED_SHOWN]
    lease = lease_words(here.ledger.settings["lease"])
    return here.page("settings/page.html", skipped=skipped, lease=lease, **shown)


@router.post("/c/{name}/settings", status_code=303)
def change(
    here: Writing, acquisition: Short, lease: Short, goal: Short = "", warp: Short = ""
) -> Response:
    """Change what is another than before."""
    names = [one.strip() for one in acquisition.split(",") if one.strip()]
    wanted = {
        "acquisition": names[0] if len(names) == 1 else names,
        "lease": seconds(lease),
        "goal": read_typed_number(goal, "the goal") if goal.strip() else None,
        "warp": warp or None,
    }
    before = here.ledger.settings
    changes = {key: value for key, value in wanted.items() if before[key] != value}
    if not changes:
        return here.go(here.url("settings"))
    job = here.submit("change", name=here.name, who=here.who, changes=changes)
    return here.progress(job, then=here.url("settings"))


@router.post("/c/{name}/unskip", status_code=303)
def unskip(here: Writing, id: Annotated[str, Form(min_length=1, max_length=MAX_ID)]) -> Response:
    """Let a skipped row be asked again."""
    here.campaign().unskip(id)
    return here.go(here.url("settings"))


@router.post("/c/{name}/add", status_code=303)
def add(here: Writing, table: UploadFile, key: Once = "") -> Response:
    """Add the candidates of a table."""
    content = hashlib.sha256(table.file.read()).hexdigest()
    table.file.seek(0)
    job = here.submit(
        "add", form_key(key, here.name, here.who, content),
        name=here.name, who=here.who, file=store_upload(here, table),
    )  # fmt: skip
    return here.progress(job, then=here.url("settings"))


@router.get("/c/{name}/export")
def export(
    here: Here,
    what: Annotated[str, Query(pattern=f"^({'|'.join(EXPORT_TABLES)})$")],
    ending: Annotated[str, Query(pattern=f"^({'|'.join(EXPORT_SUFFIXES)})$")],
) -> Response:
    """A table of the campaign as a file, when the worker has written it."""
    path = new_file(here.desk.kept.folder, f".{ending}")
    job = here.submit("export", name=here.name, what=what, path=str(path))
    return here.progress(job, then=here.url("settings"))


@router.get("/c/{name}/file", response_class=FileResponse)
def file(here: Here, key: Annotated[str, Query(max_length=64)], work: Work = "") -> Response:
    """A file that was written for whoever asked."""
    path = given_file(here.desk.kept.folder, key)
    if path is None:
        raise HTTPException(404, "This file is not there any more: ask for it again.")
    return FileResponse(path, filename=_file_name(here, work, path.suffix))


def _file_name(here: CampaignRequest, work: str, ending: str) -> str:
    found = here.done(work, "export", "worksheet", name=here.name)
    return found["called"] if found else f"{here.name}{ending}"


def lease_words(length: float) -> str:
    """A lease as it is typed.

    >>> lease_words(7 * 86400.0), lease_words(5400.0)
    ('7d', '90m')
    """
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("m", 60.0)):
        if length % size == 0.0:
            return f"{length / size:g}{unit}"
    return f"{length:g}s"
