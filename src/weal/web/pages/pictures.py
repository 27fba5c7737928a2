"""Pictures of a campaign on pages, and as files to take home: SVG, PNG and CSV.

    /c/NAME/picture/WHICH.svg     candidates, progress, recent, best, predicted, curve
                        .png      with ?quantity=; the address stays the same while labels come
                        .csv
    /c/NAME/picture/WHICH         the picture as part of Watch
    /c/NAME/map?x=&y=             the map of the candidates as part of Watch

A picture of a page has links to rows; a file has none, and more labels. PNG is drawn by the worker.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import quote, urlencode

from fastapi import APIRouter, HTTPException, Query, Response
from markupsafe import Markup

from weal.campaign.status import goal_in_force
from weal.web.headline_picture import headline_picture
from weal.web.job_context import Arguments, CandidateMapJson
from weal.web.job_worker import Job
from weal.web.label_pictures import best_picture, curve_picture, predicted_picture, recent_picture
from weal.web.map_picture import map_picture
from weal.web.pages.quantity_view import QuantityView, inputs_of, job_key, quantity_view
from weal.web.picture import Mark, MarkShape, Picture, picture_csv, picture_svg, to_json
from weal.web.request import CampaignRead, CampaignRequest

router = APIRouter()
FILE_TYPES = {"svg": "image/svg+xml", "png": "image/png", "csv": "text/csv; charset=utf-8"}
FILE_WAIT_SECONDS = 30.0  # for the worker, before a file is refused for now
ColumnName = Annotated[str, Query(max_length=10_000)]
COMPUTING = "This picture is being computed: try again in a moment."


@dataclass(frozen=True, slots=True)
class ShownPicture:
    """A picture on a page: its SVG, the keys of its legend, and the addresses of its files."""

    svg: Markup
    legend: list[tuple[Markup, str]]
    note: str
    files: list[tuple[str, str]]  # ending and address
    part: str  # the address of this picture alone, for a page that shows it


def shown(context: CampaignRequest, picture: Picture, query: dict[str, str]) -> ShownPicture:
    """The picture for a template; `query` is that of the addresses of its files."""
    if context.quantity_names:
        query = {**query, "quantity": query.get("quantity", context.measured.quantity.name)}
    of = {"quantity": query["quantity"]} if "quantity" in query else {}
    rows = context.url("row") + (f"?{urlencode(of)}" if of else "")
    asked = f"?{urlencode(query)}" if query else ""
    return ShownPicture(
        Markup(picture_svg(picture, rows)),
        [(_key(one.shape, one.style), one.words) for one in picture.legend],
        picture.note,
        [
            (ending, f"{context.url(f'picture/{picture.which}.{ending}')}{asked}")
            for ending in FILE_TYPES
        ],
        f"{context.url(f'picture/{picture.which}')}{asked}",
    )


def _key(shape: MarkShape, style: str) -> Markup:
    """A mark of a legend as a small picture."""
    mark = Picture("", "", 16, 16, (Mark(8, 8, style, shape),), (), ())
    return Markup(picture_svg(mark, "", "key"))


def shown_pictures(
    context: CampaignRequest, view: QuantityView, names: Iterable[str] = ()
) -> dict[str, ShownPicture]:
    """The pictures of Watch that can be drawn now: these, or all but the map."""
    names = list(names or _DRAWN)
    drawn = {name: _DRAWN[name](context, view, False) for name in names}
    query = {"quantity": view.name} if context.quantity_names else {}
    return {name: shown(context, one, query) for name, one in drawn.items() if one is not None}


def map_address(context: CampaignRequest, quantity: str) -> str:
    """The address of the map of the candidates."""
    query = {"quantity": quantity} if context.quantity_names else {}
    given = context.request.query_params
    query |= {name: given[name] for name in ("x", "y") if name in given}
    return f"{context.url('map')}?{urlencode(query)}"


@router.get("/c/{name}/map")
def candidate_map(context: CampaignRead, x: ColumnName = "", y: ColumnName = "") -> Response:
    """The map of the candidates once the worker has placed them."""
    x, y = _map_axes(context, x, y)
    job = _map_job(context, x, y)
    if not context.has_finished(job):
        return Response(status_code=204, headers={"HX-Trigger": "again"})
    found = _map_result(context, job)
    own = context.measured.quantity
    query = {"x": x, "y": y, **({"quantity": own.name} if context.quantity_names else {})}
    return context.page(
        "watch/map.html", inputs=inputs_of(context), x=x, y=y, quantity=query.get("quantity", ""),
        picture=shown(context, map_picture(found, own), query),
    )  # fmt: skip


def _map_axes(context: CampaignRequest, x: str, y: str) -> tuple[str, str]:
    """The inputs on the axes: those given; else the most important ones; x="" for principal ones.

    A page that shows a map names its axes from then on: they do not change when labels come.
    """
    inputs = inputs_of(context)
    if len(inputs) < 2 or ("x" in context.request.query_params and x not in inputs):
        return "", ""
    order = [*(one for one in (x, y) if one in inputs), *_by_importance(context), *inputs]
    first, second = list(dict.fromkeys(one for one in order if one in inputs))[:2]
    return first, second


def _by_importance(context: CampaignRequest) -> list[str]:
    """The columns that the model finds important, the most important first."""
    status = context.cached_result("status")
    beliefs = (status.data.get("beliefs") if status else None) or {}
    shares: dict[str, float] = beliefs.get("inputs") or {}
    return sorted(shares, key=lambda name: -shares[name])


def _map_job(context: CampaignRequest, x: str, y: str) -> Job:
    own = context.measured.quantity.name
    given: Arguments = {"name": context.name, "quantity": own, "x": x, "y": y}
    return context.submit("candidate_map", job_key(context, "candidate_map", x, y, own), **given)


def _map_result(context: CampaignRequest, job: Job) -> CandidateMapJson:
    found: CandidateMapJson | None = context.job_result(job.id, "candidate_map")
    if found is None:
        raise HTTPException(503, COMPUTING)
    return found


@router.get("/c/{name}/picture/{file}", response_class=Response)
def download(context: CampaignRead, file: str, x: ColumnName = "", y: ColumnName = "") -> Response:
    """A picture as a file: SVG, PNG, or its table as CSV."""
    which, _, ending = file.partition(".")
    if file in _DRAWN:
        return _part(context, file)
    if (which not in _DRAWN and which != "candidates") or ending not in FILE_TYPES:
        names = ", ".join(("candidates", *_DRAWN))
        raise HTTPException(
            404, f"There is no such picture: there are {names}, each as .svg, .png and .csv."
        )
    picture = _whole_picture(context, which, x, y)
    return file_response(context, picture, ending)


def file_response(context: CampaignRequest, picture: Picture, ending: str) -> Response:
    """A picture as a file to save."""
    headers = {"Content-Disposition": _attachment(f"{context.name}-{picture.which}.{ending}")}
    content = _content(context, picture, ending)
    return Response(content, media_type=FILE_TYPES[ending], headers=headers)


def _part(context: CampaignRequest, which: str) -> Response:
    """The picture as part of a page; 204 where there is none now."""
    drawn = shown_pictures(context, quantity_view(context), (which,))
    if which not in drawn:
        return Response(status_code=204)
    return context.page("watch/picture.html", picture=drawn[which])


def _whole_picture(context: CampaignRequest, which: str, x: str, y: str) -> Picture:
    """The picture with all that a file may have; 404 where there is nothing to draw."""
    if which == "candidates":
        job = _map_job(context, *_map_axes(context, x, y))
        if not job.finished.wait(FILE_WAIT_SECONDS):
            raise HTTPException(503, COMPUTING)
        return map_picture(_map_result(context, job), context.measured.quantity, everything=True)
    view = quantity_view(context)
    if view.status is None and which != "recent":
        raise HTTPException(503, COMPUTING)
    if view.points is None and which == "predicted":
        raise HTTPException(503, COMPUTING)
    found = _DRAWN[which](context, view, True)
    if found is None:
        raise HTTPException(404, "There is nothing to draw yet, or not for this goal: see Watch.")
    return found


def _content(context: CampaignRequest, picture: Picture, ending: str) -> bytes:
    if ending == "svg":
        return picture_svg(picture).encode("utf-8", "replace")
    if ending == "csv":
        return picture_csv(picture).encode("utf-8", "replace")
    body = to_json(picture)
    digest = hashlib.blake2b(json.dumps(body).encode(), digest_size=16).hexdigest()
    given: Arguments = {"name": context.name, "picture": body}
    job = context.submit("png", job_key(context, "png", digest), **given)
    if not job.finished.wait(FILE_WAIT_SECONDS):
        raise HTTPException(503, COMPUTING)
    found = context.job_result(job.id, "png")
    context.server.worker.forget(job)  # it is large, and quickly drawn again
    return base64.b64decode(found or "")


def _attachment(name: str) -> str:
    """The header of a file to save; names of campaigns have any letters."""
    plain = "".join(
        one if one.isascii() and (one.isalnum() or one in "-_.") else "_" for one in name
    )
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


Draw = Callable[[CampaignRequest, QuantityView, bool], Picture | None]


def _recent(context: CampaignRequest, view: QuantityView, everything: bool) -> Picture | None:
    return recent_picture(view.own)


def _predicted(context: CampaignRequest, view: QuantityView, everything: bool) -> Picture | None:
    return predicted_picture(view.points, view.own.quantity, everything) if view.points else None


def _best(context: CampaignRequest, view: QuantityView, everything: bool) -> Picture | None:
    """The labels and the best so far, for a goal that looks for the best rows."""
    course = (view.status or {}).get("curve")
    goal, _ = goal_in_force(context.ledger)
    if not course or goal.curve != "best" or view.curve is None:
        return None
    level = next(iter(view.curve["levels"]), None)
    return best_picture(view.own, course["course"], level, goal.text, everything)


def _curve(context: CampaignRequest, view: QuantityView, everything: bool) -> Picture | None:
    one = view.curve
    if one is None:
        return None
    return curve_picture(one["labels"], one["lines"], one["levels"], one["axis"], one["zero"])


def _progress(context: CampaignRequest, view: QuantityView, everything: bool) -> Picture | None:
    found = view.headline
    return headline_picture(found, view.own.n_labels, view.own.quantity.column) if found else None


_DRAWN: dict[str, Draw] = {
    "progress": _progress,
    "recent": _recent,
    "best": _best,
    "predicted": _predicted,
    "curve": _curve,
}
