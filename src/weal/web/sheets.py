"""Worksheets of the bench: printed, taken along, and brought back filled in.

What is brought back is shown line by line before anything is kept; then all of it is, or nothing.
Its content is its key, so that the same sheet twice changes nothing.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Response, UploadFile

from weal.web.desk import Here, Writing
from weal.web.making import Once, once, stored
from weal.web.places import new_file

router = APIRouter()
LETTERS = 80  # of the name of a file that are shown
File = Annotated[str, Form(pattern="^[0-9a-f]{32}$")]
Called = Annotated[str, Form(max_length=LETTERS)]
Work = Annotated[str, Query(max_length=64)]


@router.get("/c/{name}/print")
def printed(here: Here) -> Response:
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
def bring(here: Writing, table: UploadFile) -> Response:
    """Look at a sheet that was filled in; nothing is kept yet."""
    called = (table.filename or "the file").replace("\\", "/").rpartition("/")[2][:LETTERS]
    job = here.submit("preview", name=here.name, file=stored(here, table), called=called, how={})
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
    job = here.submit(kind, None if look else once(key, given, how), **given, how=how)
    return here.progress(job, then=here.url("sheet"))
