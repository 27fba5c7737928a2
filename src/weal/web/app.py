"""The app of a store: pages, errors as pages, static files.

    app = create_app(open_store("weal.db"), door=Door(Access(folder), port))

No page of FastAPI's own is served; `app.openapi()` has the description of all routes, for tests.

Templates: everything is escaped; numbers and times as people read them.
"""

import json
import math
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, PlainTextResponse
from fastapi.staticfiles import StaticFiles
from fastapi.templating import Jinja2Templates
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.exceptions import HTTPException as AnyHTTPException

from weal import __version__
from weal.errors import (
    AlreadyLabelled,
    Conflict,
    DamagedStore,
    DiskFull,
    Exhausted,
    NotAllowed,
    ReusedKey,
    UnknownCampaign,
    UnknownId,
    WealError,
)
from weal.store.protocol import Store
from weal.text import number, percent, plus_minus
from weal.web.job_queue import Cancelled
from weal.web.job_runners import Local
from weal.web.job_worker import TooManyJobs, Worker
from weal.web.middleware import AccessMiddleware, AccessPolicy
from weal.web.pages import campaigns, effects, explore, labelling, options, progress, watch
from weal.web.request import LedgerCache, RequestContext, ServerContext
from weal.web.server_folder import NO_ROOM, JobResults, is_disk_full

FOLDER = Path(__file__).with_name("templates")
DASH = "\N{EN DASH}"  # where there is nothing
_TIME_UNITS = ((60, "s"), (60, "min"), (24, "h"), (365, "d"))


def make_templates() -> Jinja2Templates:
    """The templates of this folder."""
    env = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    env.globals["version"] = __version__
    env.filters |= {
        "number": shown_number,
        "percent": percent,
        "plus_minus": lambda mean, sd: plus_minus(mean, sd),
        "segment": lambda text: quote(text, safe=""),
        "ago": ago,
        "json": lambda value: json.dumps(value, allow_nan=False),
        "cell": cell,
        "duration": duration,
    }
    return Jinja2Templates(env=env)


def shown_number(value: Any, digits: int = 4) -> str:
    """A number to so many digits; a dash where there is none.

    >>> shown_number(312.4567), shown_number(None), shown_number(float("nan"))
    ('312.5', '–', '–')
    """
    if value is None or not math.isfinite(value):
        return DASH
    return number(float(value), digits)


def cell(value: Any) -> str:
    """A cell of a table as people read it.

    >>> cell(None), cell(True), cell(0.30000000000000004), cell("grade A"), cell(1200)
    ('–', 'yes', '0.3', 'grade A', '1200')
    """
    if value is None:
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def duration(seconds: float) -> str:
    """A length of time, in one unit.

    >>> duration(4.2), duration(90), duration(600), duration(7200)
    ('4 s', '90 s', '10 min', '2 h')
    """
    for size, unit in ((7200, "h"), (120, "min")):
        if seconds >= size:
            return f"{seconds / {'h': 3600, 'min': 60}[unit]:.0f} {unit}"
    return f"{seconds:.0f} s"


def ago(time: datetime, now: datetime) -> str:
    """How long ago that was, in one unit.

    >>> from datetime import UTC
    >>> ago(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 3, tzinfo=UTC))
    '3 h ago'
    """
    left = (now - time).total_seconds()
    if left < 1.0:
        return "just now"
    for size, unit in _TIME_UNITS:
        if left < size:
            return f"{left:.0f} {unit} ago"
        left /= size
    return f"{left:.0f} y ago"


PAGES = (campaigns, labelling, watch, explore, effects, options, progress)
STATIC = Path(__file__).with_name("static")
_STATUS: tuple[tuple[type[Exception], int], ...] = (  # the first that fits
    (UnknownCampaign, 404),
    (UnknownId, 404),
    (NotAllowed, 403),
    (AlreadyLabelled, 409),
    (ReusedKey, 409),
    (Conflict, 409),
    (Exhausted, 409),
    (Cancelled, 409),
    (TooManyJobs, 429),
    (DiskFull, 507),
    (DamagedStore, 503),
    (ValueError, 422),
    (WealError, 503),
)
_PAGE: dict[str, Any] = {"text/html": {}}
_ANSWERS: dict[int | str, dict[str, Any]] = {
    status: {"description": what} | ({} if status == 204 else {"content": _PAGE})
    for status, what in {
        204: "done: htmx goes to another page",
        303: "done: see another page",
        400: "not for this server, or not to be read",
        401: "no token",
        403: "not from a page of this server, or not allowed",
        404: "there is no such thing",
        405: "not with this method",
        409: "somebody else was faster, there is a label already, or the form was used already",
        413: "too large",
        422: "not understood",
        429: "too many jobs that have not ended",
        503: "the store, or the worker, cannot be reached",
        507: "the disk of the server is full",
    }.items()
}


def create_app(
    store: Store, *, door: AccessPolicy, folder: Path | None = None, worker: Worker | None = None
) -> FastAPI:
    """The app of this store; results are kept in the folder, found by the worker (else here)."""
    own = None if folder else tempfile.TemporaryDirectory(prefix="weal-serve-")
    place = folder or Path(own.name if own else "")
    staff = worker or Worker(partial(Local, store, place))

    @asynccontextmanager
    async def open_hours(_: FastAPI) -> AsyncIterator[None]:
        yield
        staff.close()
        if own:
            own.cleanup()

    app = FastAPI(
        title="weal",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=open_hours,
        redirect_slashes=False,
        default_response_class=HTMLResponse,
        responses=_ANSWERS,
    )
    app.state.desk = ServerContext(
        store, LedgerCache(store), staff, JobResults(place), door, make_templates()
    )
    for page in PAGES:
        app.include_router(page.router)
    app.get("/healthz", response_class=PlainTextResponse)(healthz)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    _add_errors(app)
    app.add_middleware(AccessMiddleware, door=door)
    return app


async def healthz() -> PlainTextResponse:
    """Whether the server answers; open to all, and says no more."""
    return PlainTextResponse("ok\n")


def _add_errors(app: FastAPI) -> None:
    app.add_exception_handler(AnyHTTPException, _bad_request_page)
    app.add_exception_handler(HTTPException, _bad_request_page)
    app.add_exception_handler(RequestValidationError, _not_understood)
    for kind in (WealError, ValueError):
        app.add_exception_handler(kind, _error_page)
    app.add_exception_handler(OSError, _not_written)


def _bad_request_page(request: Request, error: Exception) -> Response:
    assert isinstance(error, AnyHTTPException)
    if error.__cause__ is not None and is_disk_full(error.__cause__):  # while a form was read
        return _page(request, 507, NO_ROOM)
    said = {404: "There is no such page.", 405: "That cannot be done here."}
    plain = error.detail in ("Not Found", "Method Not Allowed")
    words = said[error.status_code] if plain else error.detail
    return _page(request, error.status_code, words)


def _not_understood(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = [f"{' '.join(map(str, one['loc'][1:]))}: {one['msg']}" for one in error.errors()]
    return _page(request, 422, "; ".join(found[:5]))


def _error_page(request: Request, error: Exception) -> Response:
    status = next(status for kind, status in _STATUS if isinstance(error, kind))
    return _page(request, status, str(error))


def _not_written(request: Request, error: Exception) -> Response:
    if is_disk_full(error):
        return _page(request, 507, NO_ROOM)
    raise error


def _page(request: Request, status: int, words: str) -> Response:
    """The error in a page, or beside what is there (htmx): never a white page."""
    seat = RequestContext(request)
    template = "notice.html" if seat.is_part else "error.html"
    answer = seat.page(template, status, words=words)
    if seat.is_part:
        answer.headers["HX-Retarget"], answer.headers["HX-Reswap"] = "#notice", "innerHTML"
    return answer
