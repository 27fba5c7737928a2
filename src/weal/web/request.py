"""Request contexts: everything that a view needs, given to it by FastAPI's dependencies.

    ServerRead      any request: person, access, pages, jobs                  (RequestContext)
    ServerManage    the same for a form that creates a campaign
    CampaignRead    a request on one campaign: also ledger, rows, results     (CampaignRequest)
    CampaignAsk     the same for a form that asks for rows; so CampaignTell, CampaignSkip and
                    CampaignManage; CampaignTellOrSkip for an undo

Of a form the token is checked, the person has a name, and the actor has the permission.

Views run in threads; a ledger is frozen, so a view may read it for as long as it likes.
"""

import hashlib
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path as FilePath
from typing import Annotated, Any, Unpack
from urllib.parse import quote, unquote, urlsplit

from fastapi import Depends, Form, HTTPException, Path, Request, Response
from fastapi.templating import Jinja2Templates

from weal.campaign.campaign import Campaign
from weal.campaign.ledger import Ledger, QuantityLedger
from weal.errors import NotPermitted
from weal.store.actors import Actor
from weal.store.events import MAX_WHO, Event
from weal.store.protocol import Store
from weal.web.access import AccessPolicy, Visit, secrets_equal
from weal.web.actors import find_actor, require
from weal.web.candidate_search import candidates_file, last_event
from weal.web.help_topics import help_page
from weal.web.job_context import Arguments
from weal.web.job_worker import PICTURES, Job, Worker
from weal.web.ledger_cache import LedgerCache
from weal.web.server_folder import Cells, JobResult, JobResults

WHO_COOKIE = "weal-who"  # holds the name of the person
ADDRESS_MARKS = "/?&=%:;,@+$!*'()~#[]"  # of an address that is quoted already
MAX_BACK_LETTERS = 4000  # of the page that a form about the person leads back to
JOB_WAIT_SECONDS = 0.25  # before the progress of a job is shown


@dataclass(frozen=True, slots=True)
class ServerContext:
    """The objects that all requests of a server share."""

    store: Store
    ledgers: LedgerCache
    worker: Worker
    results: JobResults
    policy: AccessPolicy
    templates: Jinja2Templates
    waiting: dict[str, object] = field(default_factory=dict)  # what clients of the API wait for


class RequestContext:
    """A request: the person, the access rights, and the responses that a view returns."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.server: ServerContext = request.app.state.server

    @property
    def actor(self) -> Actor | None:
        """Who sends the request; None at an address that is public."""
        return find_actor(self.request)

    @property
    def who(self) -> str:
        """The name of the person: that of the token, else from the cookie; empty without one."""
        given = unquote(self.request.cookies.get(WHO_COOKIE, ""))[:MAX_WHO].strip()
        return given if self.actor is None else self.actor.recorded_as(given)

    @property
    def has_own_name(self) -> bool:
        """Whether the name comes with the token, and is not to be typed."""
        return self.actor is not None and self.actor.name is not None

    @property
    def visit(self) -> Visit | None:
        """The actor of the request and its session; None at an address that is public."""
        found: Visit | None = self.request.scope.get("state", {}).get("visit")
        return found

    @property
    def is_read_only(self) -> bool:
        """Whether this request may write nothing."""
        may_write = self.actor is not None and self.actor.may_write
        return self.server.policy.read_only or not may_write

    def may(self, permission: str) -> bool:
        """Whether this request may do that; pages do not offer what it may not."""
        if self.actor is None or (self.server.policy.read_only and permission != "read"):
            return False
        return permission in self.actor.may

    @property
    def may_create(self) -> bool:
        """Whether this request may create campaigns: not with a token for some campaigns."""
        return self.may("manage") and self.actor is not None and self.actor.campaigns is None

    @property
    def help_page(self) -> str:
        """The name of the help of this page; empty: the overview."""
        path = self.request.url.path.removeprefix(self.server.policy.root_path)
        return help_page(path)

    @property
    def is_authenticated(self) -> bool:
        """Whether the token or session of the request is still valid."""
        return self.visit is not None and self.server.policy.access.is_valid(self.visit)

    @property
    def is_part(self) -> bool:
        """Whether htmx asks for a part of a page."""
        return "hx-request" in self.request.headers

    def address(self, path: str) -> str:
        """The address of a page of this server: a path below its root path."""
        return f"{self.server.policy.root_path}{path}"

    @property
    def here(self) -> str:
        """The path and query of this page; the start page for the answer of a form."""
        url = self.request.url
        if self.request.method != "GET":
            return "/"
        whole = f"{url.path}?{url.query}" if url.query else url.path
        return whole if len(whole) <= MAX_BACK_LETTERS else url.path

    def sees(self, job: Job) -> bool:
        """Whether a job is of this person or of a campaign that exists for the actor."""
        if self.actor is None or self.actor.campaigns is None or (job.who and job.who == self.who):
            return self.actor is not None
        return self.actor.sees(job.arguments.get("name", ""))

    def unfinished_jobs(self) -> list[Job]:
        """The unfinished jobs that exist for the actor."""
        return [one for one in self.server.worker.unfinished_jobs() if self.sees(one)]

    def page(self, template: str, code: int = 200, /, **variables: object) -> Response:
        """A page, or a part of one, with everything escaped."""
        common = {
            "who": self.who,
            "read_only": self.is_read_only,
            "form_token": self.visit.form_token if self.visit else "",
            "new_key": lambda: secrets.token_hex(16),
            "context": self,
            "jobs": len(self.unfinished_jobs()) if self.visit else 0,
            "root": self.server.policy.root_path,
        }
        return self.server.templates.TemplateResponse(
            self.request, template, {**common, **variables}, status_code=code
        )

    def redirect(self, url: str) -> Response:
        """A redirect to a page of this server; headers take no control characters or umlauts."""
        url = quote(url, safe=ADDRESS_MARKS)
        if self.is_part:
            return Response(status_code=204, headers={"HX-Redirect": url})
        return Response(status_code=303, headers={"Location": url}, media_type="text/html")

    def submit(self, kind: str, key: str | None = None, **arguments: Unpack[Arguments]) -> Job:
        """Submit a job that this person waits for; the same key again returns the same job."""
        who = "" if self.is_read_only else self.who  # readers share one allowance of jobs
        return self.server.worker.submit(kind, arguments, key, who)

    @staticmethod
    def has_finished(job: Job) -> bool:
        """Whether a job ends within a moment."""
        return job.finished.wait(JOB_WAIT_SECONDS)

    def show_progress(self, job: Job, then: str) -> Response:
        """A redirect to `then` with the id of the finished job as ?work=; else its progress."""
        target = f"{then}{'&' if '?' in then else '?'}work={job.id}"
        if self.has_finished(job):
            self.raise_in_place(job)
            return self.redirect(target)
        progress = self.address(f"/work/{job.id}?then={quote(then, safe='')}")
        return self.job_page("work.html", job, then) if self.is_part else self.redirect(progress)

    def raise_in_place(self, job: Job) -> None:
        """Raise the error of a finished job for a form of the present page, which stays."""
        if job.error is not None and self.is_part and not self.is_at_progress:
            raise job.error.with_traceback(None)

    @property
    def is_at_progress(self) -> bool:
        """Whether the request is of the page that shows the progress of a job alone."""
        page = urlsplit(self.request.headers.get("hx-current-url", "")).path
        return page.startswith(self.address("/work"))

    def job_page(self, template: str, job: Job, then: str) -> Response:
        """The progress of a job and the number of jobs before it."""
        worker = self.server.worker
        ahead = worker.jobs_ahead(job)
        return self.page(template, job=job, then=then, jobs_ahead=ahead, limit=worker.seconds)

    def job_result(self, work: str | None, *kinds: str, **arguments: Unpack[Arguments]) -> Any:
        """The answer of a finished job (JSON) or its error raised; None if there is no such job.

        A job of another kind or with other arguments does not count: addresses are copied and
        typed by hand.
        """
        job = self.server.worker.job(work) if work else None
        if job is None or not job.finished.is_set() or job.kind not in kinds:
            return None
        if not self.sees(job):
            return None
        if any(job.arguments.get(name) != value for name, value in arguments.items()):
            return None
        if job.error is not None:
            if job.kind in PICTURES:  # shared by all people: the next request tries again
                self.server.worker.forget(job)
            raise job.error.with_traceback(None)
        return job.answer


class CampaignRequest(RequestContext):
    """A request on one campaign."""

    def __init__(self, request: Request, name: str) -> None:
        super().__init__(request)
        self.name = name
        self.state_token = ""

    @cached_property
    def ledger(self) -> Ledger:
        """The ledger of the campaign; UnknownCampaign if there is none."""
        return self.server.ledgers.ledger(self.name)

    def may(self, permission: str) -> bool:
        """Whether this request may do that; in an archived campaign no row is asked."""
        if permission == "ask" and self.ledger.is_archived:
            return False
        return super().may(permission)

    @property
    def title(self) -> str:
        """The title of the campaign, else its name."""
        return self.ledger.title or self.name

    @property
    def measured(self) -> QuantityLedger:
        """The quantity that the page is about, with its labels: `quantity` in the address."""
        named = self.request.query_params.get("quantity", "")
        known = self.ledger.quantities
        return known.get(named) or known[self.ledger.first_quantity]

    @property
    def quantity_names(self) -> list[str]:
        """The names of the quantities, where there are several."""
        names = list(self.ledger.quantities)
        return names if len(names) > 1 else []

    @property
    def targets(self) -> tuple[str | None, ...]:
        """The columns of all quantities."""
        return tuple(one.quantity.column for one in self.ledger.quantities.values())

    @property
    def is_plain(self) -> bool:
        """Whether the campaign measures one number."""
        return not self.quantity_names and not self.measured.quantity.words

    @property
    def target(self) -> str | None:
        """The column of that quantity; None: it has no name."""
        return self.measured.quantity.column

    @property
    def now(self) -> datetime:
        """The time of the store's clock."""
        return self.server.store.now()

    def url(self, page: str = "") -> str:
        """The address of a page of this campaign."""
        return self.address(f"/c/{quote(self.name, safe='')}{f'/{page}' if page else ''}")

    def events(self, limit: int) -> list[Event]:
        """The last events, the newest first."""
        return self.server.ledgers.events(self.name, limit)

    def row_events(self, id_: str) -> list[Event]:
        """The events of one row, the newest first."""
        return [one for one in self.events(self.ledger.seq) if one.id == id_]

    def is_current(self, event: Event) -> bool:
        """Whether the label, the failure or the skip of an event still counts."""
        name = str(event.id)
        if event.kind == "skipped":
            return bool(event.body["on"]) and name in self.ledger.skipped
        labels = self.ledger.labels_of(name).values() if event.id else ()
        return any(told.seq == event.seq for several in labels for told in several)

    def campaign(self) -> Campaign:
        """The campaign, to write to in the name of this person."""
        log = self.server.ledgers.log(self.name)
        return Campaign(self.name, self.server.store, self.who, log=log)

    def cached_result(self, kind: str) -> JobResult | None:
        """The last result of this kind; a newer one is requested if events came since."""
        found = self.server.results.read_result(self.name, kind)
        if found is None or found.seq != self.ledger.seq:
            self.server.worker.request_result(kind, self.name, self.ledger.seq)
        return found

    def job_failure(self, kind: str) -> str | None:
        """The error of the worker for this result; None without one."""
        return self.server.worker.failure(kind, self.name, self.ledger.seq)

    def rows(self, ids: Iterable[str]) -> dict[str, Cells]:
        """The cells of these candidates, as far as the worker has read the table."""
        wanted = list(dict.fromkeys(ids))
        found = self.server.results.rows(self.name, wanted)
        if found is None or (len(found) < len(wanted) and self._has_old_rows()):
            self.server.worker.request_result("rows", self.name, self.ledger.seq)
        return found or {}

    def _has_old_rows(self) -> bool:
        results, ledger = self.server.results, self.ledger
        if ledger.shards:  # of a large pool, only rows with events are kept
            return results.rows_after(self.name) != ledger.seq
        return results.row_count(self.name) != ledger.rows

    def candidates_file(self) -> FilePath:
        """The file of all candidates with predictions; a newer one is requested if it is old."""
        if not self.has_current_predictions:
            self.server.worker.request_result("explore", self.name, self.ledger.seq)
        return self._candidates_path

    @property
    def has_current_predictions(self) -> bool:
        """Whether that file includes the last event."""
        return last_event(self._candidates_path) == self.ledger.seq

    @property
    def _candidates_path(self) -> FilePath:
        at = list(self.ledger.quantities).index(self.measured.quantity.name)
        return self.server.results.path(self.name, candidates_file(at))


def state_token(server: ServerContext, name: str) -> str:
    """A digest that changes with the campaign's events and with its results."""
    now = repr((server.store.head(name), sorted(server.results.stamps(name).items())))
    return hashlib.blake2b(now.encode(), digest_size=8).hexdigest()


def check_form_token(request: Request, form: Annotated[str, Form(max_length=100)] = "") -> None:
    """403 unless the form is of this server; a program that sends the token itself needs none."""
    visit = RequestContext(request).visit
    if visit is None or not (visit.is_bearer or secrets_equal(form, visit.form_token)):
        raise HTTPException(403, "This form has expired or is not from this server: reload it.")


FormToken = Annotated[None, Depends(check_form_token)]
Name = Annotated[str, Path(min_length=1, max_length=100, description="A campaign.")]


def _server_read(request: Request) -> RequestContext:
    return RequestContext(request)


ServerRead = Annotated[RequestContext, Depends(_server_read)]


def _server_manage(context: ServerRead, _: FormToken) -> RequestContext:
    actor = require(context.request, "manage")
    if actor.campaigns is not None:
        raise NotPermitted(
            "this token is for some campaigns and creates none: `weal token add` without "
            "--campaign makes one that may"
        )
    _require_name(context)
    return context


def _campaign_read(request: Request, name: Name) -> CampaignRequest:
    require(request, "read", name)
    context = CampaignRequest(request, name)
    context.state_token = state_token(context.server, name)  # before anything is read
    _ = context.ledger  # UnknownCampaign
    return context


CampaignRead = Annotated[CampaignRequest, Depends(_campaign_read)]


def _require_name(context: RequestContext) -> None:
    if not context.who:
        raise HTTPException(422, "Enter your name first (at the top of the page).")


def _campaign_write(permission: str) -> Callable[..., CampaignRequest]:
    """The context of a form that needs this permission."""

    def check(context: CampaignRead, _: FormToken) -> CampaignRequest:
        require(context.request, permission, context.name)
        _require_name(context)
        return context

    return check


def _campaign_tell_or_skip(context: CampaignRead, _: FormToken) -> CampaignRequest:
    require(context.request, "skip" if context.may("skip") else "tell", context.name)
    _require_name(context)
    return context


ServerManage = Annotated[RequestContext, Depends(_server_manage)]
CampaignAsk = Annotated[CampaignRequest, Depends(_campaign_write("ask"))]
CampaignTell = Annotated[CampaignRequest, Depends(_campaign_write("tell"))]
CampaignSkip = Annotated[CampaignRequest, Depends(_campaign_write("skip"))]
CampaignManage = Annotated[CampaignRequest, Depends(_campaign_write("manage"))]
CampaignTellOrSkip = Annotated[CampaignRequest, Depends(_campaign_tell_or_skip)]
