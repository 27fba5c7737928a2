"""The FastAPI app of a store: pages, errors as pages, static files, templates and their filters.

    app = create_app(open_store("weal.db"), policy=AccessPolicy(Access(folder), port))

FastAPI's own pages are switched off; `app.openapi()` describes all routes, for tests. Templates
escape everything.
"""

import json
import math
import re
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
from weal.errors import WealError
from weal.store.protocol import Store
from weal.text import number, percent, rounded
from weal.web.access import AccessPolicy
from weal.web.actors import error_text
from weal.web.api.application import Api, ApiMiddleware
from weal.web.api.openapi import all_operations
from weal.web.job_runners import InProcessRunner
from weal.web.job_worker import Worker
from weal.web.ledger_cache import LedgerCache
from weal.web.middleware import AccessMiddleware
from weal.web.next_step import current_step
from weal.web.pages import (
    campaigns,
    effects,
    explore,
    help,
    label_actions,
    labelling,
    options,
    pictures,
    print_sheet,
    progress,
    session,
    tokens,
    watch,
    worksheets,
)
from weal.web.problems import status_of
from weal.web.request import CampaignRequest, RequestContext, ServerContext
from weal.web.server_folder import NO_ROOM, JobResults, is_disk_full

TEMPLATE_FOLDER = Path(__file__).with_name("templates")
_MIDNIGHT = re.compile(r"\d{4}-\d\d-\d\d[ T]00:00:00")
DASH = "\N{EN DASH}"  # for a missing value
_TIME_UNITS = ((60, "s"), (60, "min"), (24, "h"), (365, "d"))


def make_templates() -> Jinja2Templates:
    """The templates with their filters."""
    env = Environment(
        loader=FileSystemLoader(TEMPLATE_FOLDER),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    env.globals |= {"version": __version__, "next_step": current_step}
    env.filters |= {
        "number": shown_number,
        "percent": percent,
        "rounded": shown_rounded,
        "fixed": shown_fixed,
        "label": shown_label,
        "bound": shown_bound,
        "prediction": shown_prediction,
        "segment": lambda text: quote(text, safe=""),
        "ago": ago,
        "json": lambda value: json.dumps(value, allow_nan=False),
        "cell": cell,
        "duration": duration,
    }
    return Jinja2Templates(env=env)


def shown_number(value: float | None, digits: int = 4) -> str:
    """A number with this many digits; a dash for a missing one.

    >>> shown_number(312.4567), shown_number(None), shown_number(float("nan"))
    ('312.5', '–', '–')
    """
    if value is None or not math.isfinite(value):
        return DASH
    return number(float(value), digits)


def shown_rounded(value: float | None, interval: tuple[float, float] | None) -> str:
    """A number in the digits that a 90 % interval justifies; a dash for a missing one.

    >>> shown_rounded(2.61519, (2.16, 3.34)), shown_rounded(2.61519, None), shown_rounded(None, ())
    ('2.62', '2.615', '–')
    """
    if value is None or not math.isfinite(value) or interval is None:
        return shown_number(value)
    return rounded(float(value), *interval)


def shown_fixed(value: float | None, places: int | None) -> str:
    """A number with this many decimals, so that those of a column are aligned.

    >>> shown_fixed(31.5, 2), shown_fixed(31.5, None), shown_fixed(None, 2)
    ('31.50', '31.5', '–')
    """
    if value is None or not math.isfinite(value) or places is None:
        return shown_number(value)
    return f"{value:.{places}f}"


def shown_label(value: float | None, context: CampaignRequest, digits: int = 4) -> str:
    """A label of the quantity that the page is about; a dash for a missing one."""
    if value is None or not math.isfinite(value):
        return DASH
    return context.measured.quantity.format(float(value), digits)


def shown_bound(value: float, low: float, high: float, context: CampaignRequest) -> str:
    """A mean or an end of its 90 % interval, in the digits that the interval justifies."""
    if context.measured.quantity.words:
        return shown_label(value, context)
    return rounded(value, low, high)


def shown_prediction(mean: float, sd: float, context: CampaignRequest) -> str:
    """A prediction of that quantity, with a plus-minus sign that does not wrap."""
    words = context.measured.quantity.format_prediction(mean, sd)
    return words.replace(" +- ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}")


def cell(value: object) -> str:
    """A cell of a table as text; a date without its midnight.

    >>> cell(None), cell(True), cell(0.30000000000000004), cell("grade A"), cell(1200)
    ('–', 'yes', '0.3', 'grade A', '1200')
    >>> cell("2024-08-28 00:00:00"), cell("2024-08-28 09:30:00")
    ('2024-08-28', '2024-08-28 09:30:00')
    """
    if value is None:
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.10g}"
    text = str(value)
    return text[:10] if _MIDNIGHT.fullmatch(text) else text


def duration(seconds: float) -> str:
    """A duration in one unit.

    >>> duration(4.2), duration(90), duration(600), duration(7200)
    ('4 s', '90 s', '10 min', '2 h')
    """
    for size, unit in ((7200, "h"), (120, "min")):
        if seconds >= size:
            return f"{seconds / {'h': 3600, 'min': 60}[unit]:.0f} {unit}"
    return f"{seconds:.0f} s"


def ago(time: datetime, now: datetime) -> str:
    """The time since then in one unit.

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


PAGES = (
    campaigns, session, tokens, help, labelling, worksheets, print_sheet, watch,
    explore, label_actions, effects, pictures, options, progress,
)  # fmt: skip
STATIC = Path(__file__).with_name("static")
_HTML_PAGE: dict[str, object] = {"text/html": {}}
_ANSWERS: dict[int | str, dict[str, Any]] = {  # as FastAPI types them
    status: {"description": what} | ({} if status == 204 else {"content": _HTML_PAGE})
    for status, what in {
        204: "done: htmx loads another page",
        303: "done: redirect to another page",
        400: "wrong host name, or a malformed request",
        401: "no valid token or session",
        403: "form of another site, or not allowed",
        404: "not found",
        405: "method not allowed",
        409: "conflict: a concurrent change, an existing label, or a form that was used before",
        413: "body too large",
        422: "invalid input",
        429: "too many unfinished jobs",
        503: "store or worker not available",
        507: "disk full",
    }.items()
}


def create_app(
    store: Store, *, policy: AccessPolicy, folder: Path | None = None, worker: Worker | None = None
) -> FastAPI:
    """The app of this store; without a folder or worker it uses a temporary one of this process."""
    own = None if folder else tempfile.TemporaryDirectory(prefix="weal-serve-")
    place = folder or Path(own.name if own else "")
    job_worker = worker or Worker(partial(InProcessRunner, store, place))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        job_worker.close()
        if own:
            own.cleanup()

    app = FastAPI(
        title="weal",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
        default_response_class=HTMLResponse,
        responses=_ANSWERS,
    )
    app.state.server = ServerContext(
        store, LedgerCache(store), job_worker, JobResults(place), policy, make_templates()
    )
    for page in PAGES:
        app.include_router(page.router)
    app.get("/healthz", response_class=PlainTextResponse)(healthz)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    _add_errors(app)
    app.add_middleware(ApiMiddleware, api=Api(app.state.server, all_operations()))
    app.add_middleware(AccessMiddleware, policy=policy)
    return app


async def healthz() -> PlainTextResponse:
    """A health check, open to all."""
    return PlainTextResponse("ok\n")


def _add_errors(app: FastAPI) -> None:
    app.add_exception_handler(AnyHTTPException, _bad_request_page)
    app.add_exception_handler(HTTPException, _bad_request_page)
    app.add_exception_handler(RequestValidationError, _invalid_input_page)
    for kind in (WealError, ValueError):
        app.add_exception_handler(kind, _error_page)
    app.add_exception_handler(OSError, _disk_full_page)


def _bad_request_page(request: Request, error: Exception) -> Response:
    assert isinstance(error, AnyHTTPException)
    if error.__cause__ is not None and is_disk_full(error.__cause__):  # while a form was read
        return _page(request, 507, NO_ROOM)
    texts = {"Not Found": "Page not found.", "Method Not Allowed": "Not possible here."}
    return _page(request, error.status_code, texts.get(error.detail, error.detail))


def _invalid_input_page(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = [f"{' '.join(map(str, one['loc'][1:]))}: {one['msg']}" for one in error.errors()]
    return _page(request, 422, "; ".join(found[:5]))


def _error_page(request: Request, error: Exception) -> Response:
    status = status_of(error)
    return _page(request, status, error_text(request, error))


def _disk_full_page(request: Request, error: Exception) -> Response:
    if is_disk_full(error):
        return _page(request, 507, NO_ROOM)
    raise error


def _page(request: Request, status: int, words: str) -> Response:
    """The error as a page, or as a notice on the present page (htmx)."""
    context = RequestContext(request)
    template = "notice.html" if context.is_part else "error.html"
    answer = context.page(template, status, words=words)
    if context.is_part:
        target = "#work" if request.url.path.startswith("/work/") else "#notice"
        swap = "outerHTML" if target == "#work" else "innerHTML show:#notice:top"
        answer.headers["HX-Retarget"], answer.headers["HX-Reswap"] = target, swap
        answer.headers["HX-Reselect"] = ".note"  # whatever the form selects
    return answer
