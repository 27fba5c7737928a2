"""The app of a store: pages, errors as pages, static files.

    app = create_app(open_store("weal.db"), door=Door(Access(folder), port))

No page of FastAPI's own is served; `app.openapi()` has the description of all routes, for tests.
"""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, PlainTextResponse
from fastapi.staticfiles import StaticFiles
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
from weal.store.store import Store
from weal.web import (
    bench,
    campaigns,
    effects,
    explore,
    logout,
    making,
    news,
    options,
    sheets,
    watch,
    work,
)
from weal.web.books import Books
from weal.web.desk import Desk, Seat
from weal.web.guard import Door, Guard
from weal.web.job_queue import Cancelled
from weal.web.kept import Kept
from weal.web.places import NO_ROOM, is_disk_full
from weal.web.runners import Local
from weal.web.templating import make_templates
from weal.web.worker import TooManyJobs, Worker

PAGES = (
    campaigns, logout, making, bench, sheets, watch, explore, effects, options, news, work,
)  # fmt: skip
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
    store: Store, *, door: Door, folder: Path | None = None, worker: Worker | None = None
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
    app.state.desk = Desk(store, Books(store), staff, Kept(place), door, make_templates())
    for page in PAGES:
        app.include_router(page.router)
    app.get("/healthz", response_class=PlainTextResponse)(healthz)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    _add_errors(app)
    app.add_middleware(Guard, door=door)
    return app


async def healthz() -> PlainTextResponse:
    """Whether the server answers; open to all, and says no more."""
    return PlainTextResponse("ok\n")


def _add_errors(app: FastAPI) -> None:
    app.add_exception_handler(AnyHTTPException, _refused)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _not_understood)
    for kind in (WealError, ValueError):
        app.add_exception_handler(kind, _failed)
    app.add_exception_handler(OSError, _not_written)


def _refused(request: Request, error: Exception) -> Response:
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


def _failed(request: Request, error: Exception) -> Response:
    status = next(status for kind, status in _STATUS if isinstance(error, kind))
    return _page(request, status, str(error))


def _not_written(request: Request, error: Exception) -> Response:
    if is_disk_full(error):
        return _page(request, 507, NO_ROOM)
    raise error


def _page(request: Request, status: int, words: str) -> Response:
    """The error in a page, or beside what is there (htmx): never a white page."""
    seat = Seat(request)
    template = "notice.html" if seat.is_part else "error.html"
    answer = seat.page(template, status, words=words)
    if seat.is_part:
        answer.headers["HX-Retarget"], answer.headers["HX-Reswap"] = "#notice", "innerHTML"
    return answer
