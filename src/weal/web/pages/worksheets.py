"""Worksheets: the rows of a person as a file, filled in and uploaded.

Every line of an uploaded file is shown before anything is saved; then all lines are saved, or none.
The content of a file is its key, so that the same worksheet twice changes nothing.
"""

from typing import Annotated

from fastapi import APIRouter, Form, Query, Response, UploadFile

from weal.web.job_context import Arguments
from weal.web.pages.campaigns import JobKey, form_key, store_upload
from weal.web.plan_form import HeaderLine, Text, sheet_options
from weal.web.request import CampaignRead, CampaignTell
from weal.web.server_folder import new_file

router = APIRouter()
Yes = Annotated[bool, Form()]
MAX_FILE_NAME_LETTERS = 80
File = Annotated[str, Form(pattern="^[0-9a-f]{32}$")]
Called = Annotated[str, Form(max_length=MAX_FILE_NAME_LETTERS)]
Work = Annotated[str, Query(max_length=64)]


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
def upload_results(context: CampaignTell, table: UploadFile) -> Response:
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
    context: CampaignTell,
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
