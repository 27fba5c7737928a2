"""A table becomes a campaign: dropped, shown column by column, and only then made."""

import hashlib
import json
import shutil
from pathlib import PurePosixPath
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Form, HTTPException, Query, Response, UploadFile

from weal.store.events import check_name
from weal.table.results import TEXT_ENDINGS
from weal.web.desk import Seat, Sitting, WritingSeat
from weal.web.places import new_file

router = APIRouter()
ENDINGS = (*TEXT_ENDINGS, ".xlsx")
File = Annotated[str, Query(pattern="^[0-9a-f]{32}$")]
Text = Annotated[str, Form(max_length=1000)]
Once = Annotated[str, Form(pattern="^([0-9a-f]{32})?$")]  # of a form: sent twice, it is one job


def once(key: str, *said: Any) -> str | None:
    """What the job of a form is known by: one for the same key and words; None without a key."""
    if not key:
        return None
    return hashlib.blake2b(json.dumps([key, *said]).encode(), digest_size=16).hexdigest()


def stored(seat: Seat, table: UploadFile) -> str:
    """Keep an upload under a random name of ours; which one."""
    seat.desk.worker.check_room(seat.who)  # before anything is written
    ending = PurePosixPath(table.filename or "").suffix.lower()
    if ending not in ENDINGS:
        raise HTTPException(422, f"A table is a file that ends in {', '.join(ENDINGS)}.")
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
def bring(seat: WritingSeat, table: UploadFile) -> Response:
    """Take a table, and look at it."""
    name = PurePosixPath((table.filename or "").replace("\\", "/")).stem
    file = stored(seat, table)
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


class Choices:
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
    choices: Annotated[Choices, Depends()],
    make: Annotated[bool, Form()] = False,
    key: Once = "",
) -> Response:
    """Look again with other choices, or make the campaign."""
    given = choices.given
    if make:
        check_name(given["name"])
        job = seat.submit("make", once(key, given, seat.who), who=seat.who, **given)
    else:
        job = seat.submit("look", **given)
    return seat.progress(job, then=f"/new/plan?file={given['file']}")


def _name(stem: str) -> str:
    """A name for a campaign, from that of its file."""
    try:
        return check_name(stem[:100].replace("..", ".").strip())
    except ValueError:
        return ""
