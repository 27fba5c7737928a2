"""Partial dependence of the prediction on one input, and a map of two inputs, as SVG pictures."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, HTTPException, Query, Response

from weal.quantities.kinds import WORKED
from weal.web.effect_pictures import effect_map, effect_picture
from weal.web.job_context import Arguments
from weal.web.job_worker import Job
from weal.web.pages.pictures import COMPUTING, FILE_TYPES, FILE_WAIT_SECONDS, file_response, shown
from weal.web.pages.quantity_view import inputs_of, job_key
from weal.web.picture import Picture
from weal.web.request import CampaignRead, CampaignRequest

router = APIRouter()
Name = Annotated[str, Query(max_length=10_000)]


@router.get("/c/{name}/effects")
def effects(context: CampaignRead, x: Name = "", y: Name = "") -> Response:
    """The page: its form chooses one input, or two."""
    inputs = inputs_of(context)
    x = x if x in inputs else next(iter(inputs), "")
    y = y if y in inputs and y != x else ""
    return context.page(
        "explore/effects.html", inputs=inputs, x=x, y=y, picture=_address(context, x, y),
        parts=_parts(context), part=_part(context),
    )  # fmt: skip


def _parts(context: CampaignRequest) -> list[str]:
    """What a picture can be about: quantities, the levels of classes, and whether runs work."""
    ledger, found = context.ledger, list[str]()
    for one in ledger.quantities.values():
        parts = one.quantity.parts()
        found += [part.name for part in (parts[:1] if parts[0] == one.quantity else parts)]
    return [*found, WORKED] if ledger.failures.labels and WORKED not in found else found


def _part(context: CampaignRequest) -> str:
    """The part in the address, or the first one."""
    named, parts = context.request.query_params.get("quantity", ""), _parts(context)
    return named if named in parts else parts[0]


def _address(context: CampaignRequest, x: str, y: str) -> str:
    query = {"x": x, "y": y}
    if len(_parts(context)) > 1:
        query["quantity"] = _part(context)
    return f"{context.url('effects/picture')}?{urlencode(query)}"


@router.get("/c/{name}/effects/picture")
def picture(context: CampaignRead, x: Name, y: Name = "") -> Response:
    """The picture once the worker has computed it."""
    job = _job(context, x, y)
    if not context.has_finished(job):
        return context.page("explore/wait.html", again=_address(context, x, y))
    found = _drawn(context, job, y)
    if found is None:
        return context.page("explore/no_model.html")
    query = {"x": x, "y": y} | ({"quantity": _part(context)} if len(_parts(context)) > 1 else {})
    return context.page("watch/picture.html", picture=shown(context, found, query))


@router.get("/c/{name}/picture/effect.{ending}", response_class=Response)
def download(context: CampaignRead, ending: str, x: Name = "", y: Name = "") -> Response:
    """The picture as a file."""
    inputs = inputs_of(context)
    if ending not in FILE_TYPES or x not in inputs or (y and y not in inputs):
        raise HTTPException(404, "There is no such picture: name inputs, as in ?x=temp&y=time.")
    job = _job(context, x, y)
    if not job.finished.wait(FILE_WAIT_SECONDS):
        raise HTTPException(503, COMPUTING)
    found = _drawn(context, job, y)
    if found is None:
        raise HTTPException(404, "There is no model yet: it needs more labels.")
    return file_response(context, found, ending)


def _job(context: CampaignRequest, x: str, y: str) -> Job:
    """The job that computes the effect of one input, or of two."""
    kind, part = "map" if y else "effect", _part(context)
    given: Arguments = {"name": context.name, "quantity": part}
    given |= {"x": x, "y": y} if y else {"input": x}
    return context.submit(kind, job_key(context, kind, x, y, part), **given)


def _drawn(context: CampaignRequest, job: Job, y: str) -> Picture | None:
    """The picture of a finished job; None without a model."""
    found = context.job_result(job.id, "map", "effect")
    if found is None:
        return None
    part = _part(context)
    target, own = _title(context, part) or "", context.ledger.quantities.get(part)
    if y:
        return effect_map(found, target, own.quantity if own else None)
    return effect_picture(found, target)


def _title(context: CampaignRequest, part: str) -> str | None:
    """The title of the axis of a picture: the column of a number, P(...) of words."""
    own = context.ledger.quantities.get(part)
    if own is not None and not own.quantity.is_binary:
        return own.quantity.column
    if part == WORKED:
        return "P(works)"
    return f"P({part if own is None else f'{part} is {own.quantity.words[1]}'})"
