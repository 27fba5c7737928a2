"""What views are given: the store's ledgers, the worker and its results, and who sits there.

Desk      of the server
Here      of a request on one campaign (see the text of `weal.web`)
Writing   the same for a request that writes: its form is ours, and says who

Ledgers of the campaigns of a store, kept up to date: each look reads what is new, and no more.

Views run in threads; a ledger is frozen, so that who has it may read it for as long as it likes.
"""

import hashlib
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path as FilePath
from typing import Annotated, Any
from urllib.parse import quote, unquote

from fastapi import Depends, Form, HTTPException, Path, Request, Response
from fastapi.templating import Jinja2Templates

from weal.campaign.campaign import Campaign
from weal.campaign.ledger import Ledger, apply_events
from weal.store.events import MAX_WHO, Event
from weal.store.protocol import Store
from weal.web.access import Visit
from weal.web.candidate_search import CANDIDATES_FILE, written_after
from weal.web.job_queue import Job
from weal.web.job_worker import PICTURES, Worker, title_of
from weal.web.middleware import AccessPolicy
from weal.web.server_folder import JobResult, JobResults
from weal.web.token import same

MAX_CACHED_LEDGERS = 64  # campaigns whose events are held in memory


class LedgerCache:
    """The ledgers of a store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._lock = threading.Lock()
        self._open: OrderedDict[str, _CachedLedger] = OrderedDict()

    def ledger(self, name: str) -> Ledger:
        """Where the campaign stands now; UnknownCampaign where there is none."""
        return self._book(name).look(self.store)[0]

    def events(self, name: str, most: int) -> list[Event]:
        """The last events, the newest first."""
        return self._book(name).look(self.store)[1][: -most - 1 : -1]

    def _book(self, name: str) -> "_CachedLedger":
        with self._lock:
            book = self._open.setdefault(name, _CachedLedger(name))
            self._open.move_to_end(name)
            while len(self._open) > MAX_CACHED_LEDGERS:
                self._open.popitem(last=False)
        return book


class _CachedLedger:
    """One campaign, read by one thread at a time."""

    def __init__(self, name: str) -> None:
        self._lock = threading.Lock()
        self._ledger, self._events = Ledger(name), list[Event]()

    def look(self, store: Store) -> tuple[Ledger, list[Event]]:
        """The ledger and the events, read as far as they go; anew where the store is another."""
        with self._lock:
            name = self._ledger.name
            head = store.head(name)
            if head != (self._ledger.seq, self._ledger.hash):
                if head[0] <= self._ledger.seq:  # a copy was put in its place
                    self._ledger, self._events = Ledger(name), []
                new = store.read(name, self._ledger.seq)
                self._ledger = apply_events(self._ledger, new)
                self._events = [*self._events, *new]
            return self._ledger, self._events


WHO_COOKIE = "weal-who"  # the cookie with the name of who sits there
ADDRESS_MARKS = "/?&=%:;,@+$!*'()~#[]"  # of an address that is quoted already
JOB_WAIT_SECONDS = 0.25  # seconds for which a job is waited for before its progress is shown


@dataclass(frozen=True, slots=True)
class ServerContext:
    """What a server has at hand."""

    store: Store
    books: LedgerCache
    worker: Worker
    kept: JobResults
    door: AccessPolicy
    templates: Jinja2Templates


class RequestContext:
    """A request: whose it is, and what is shown for it."""

    def __init__(self, request: Request) -> None:
        self.request, self.desk = request, _desk(request)

    @property
    def who(self) -> str:
        """The name of who sits there; empty until it is known."""
        return unquote(self.request.cookies.get(WHO_COOKIE, ""))[:MAX_WHO].strip()

    @property
    def visit(self) -> Visit | None:
        """The principal of the request, and its session; None on an address that is open to all."""
        found: Visit | None = self.request.scope.get("state", {}).get("visit")
        return found

    @property
    def is_read_only(self) -> bool:
        """Whether nothing may be written by this request."""
        may_write = self.visit is not None and self.visit.principal.may_write
        return self.desk.door.read_only or not may_write

    @property
    def is_admitted(self) -> bool:
        """Whether the token or session of the request is valid still."""
        return self.visit is not None and self.desk.door.access.is_valid(self.visit)

    @property
    def is_part(self) -> bool:
        """Whether a part of a page is asked for, and not all of it."""
        return "hx-request" in self.request.headers

    def page(self, template: str, code: int = 200, **context: Any) -> Response:
        """A page, or a part of one, with everything escaped."""
        known = {
            "who": self.who,
            "read_only": self.is_read_only,
            "form_token": self.visit.form_token if self.visit else "",
            "new_key": lambda: secrets.token_hex(16),
            "here": self,
            "jobs": len(self.desk.worker.unfinished()) if self.visit else 0,
        }
        return self.desk.templates.TemplateResponse(
            self.request, template, {**known, **context}, status_code=code
        )

    def submit(self, kind: str, key: str | None = None, **given: Any) -> Job:
        """A job that somebody waits for."""
        who = "" if self.is_read_only else self.who  # readers share one allowance of jobs
        return self.desk.worker.submit(kind, given, key, who)

    def progress(self, job: Job, then: str) -> Response:
        """Where the job ends: `then`, with its id as ?work=; until then, how far it is."""
        target = f"{then}{'&' if '?' in then else '?'}work={job.id}"
        if job.finished.wait(JOB_WAIT_SECONDS):
            return self.go(target)
        place = f"/work/{job.id}?then={quote(then, safe='')}"
        return self.work("work.html", job, then) if self.is_part else self.go(place)

    def work(self, template: str, job: Job, then: str) -> Response:
        """How far a job is, and how many come before it."""
        worker = self.desk.worker
        shown: dict[str, Any] = {
            "ahead": worker.ahead(job),
            "limit": worker.seconds,
            "title": title_of(job),
        }
        return self.page(template, job=job, then=then, **shown)

    def go(self, url: str) -> Response:
        """Go to another page of ours; a header takes no control characters and no umlauts."""
        url = quote(url, safe=ADDRESS_MARKS)
        if self.is_part:
            return Response(status_code=204, headers={"HX-Redirect": url})
        return Response(status_code=303, headers={"Location": url}, media_type="text/html")

    def done(self, work: str | None, *kinds: str, **given: Any) -> Any:
        """The answer of a job that has ended, its error raised; None: no such job.

        A job of another kind than these, or that was not given this, is not meant: addresses are
        copied, and typed.
        """
        job = self.desk.worker.job(work) if work else None
        if job is None or not job.finished.is_set() or job.kind not in kinds:
            return None
        if any(job.given.get(name) != value for name, value in given.items()):
            return None
        if job.error is not None:
            if job.kind in PICTURES:  # the same for everybody: the next request tries again
                self.desk.worker.forget(job)
            raise job.error.with_traceback(None)
        return job.answer


class CampaignRequest(RequestContext):
    """A request on one campaign."""

    def __init__(self, request: Request, name: str) -> None:
        super().__init__(request)
        self.name = name
        self.standing = ""

    @cached_property
    def ledger(self) -> Ledger:
        """Where the campaign stands; UnknownCampaign where there is none."""
        return self.desk.books.ledger(self.name)

    @property
    def now(self) -> datetime:
        """The store's clock."""
        return self.desk.store.now()

    def url(self, page: str = "") -> str:
        """The address of a page of this campaign."""
        return f"/c/{quote(self.name, safe='')}{f'/{page}' if page else ''}"

    def events(self, most: int) -> list[Event]:
        """What happened last, the newest first."""
        return self.desk.books.events(self.name, most)

    def campaign(self) -> Campaign:
        """The campaign, to write to."""
        return Campaign(self.name, self.desk.store, self.who)

    def found(self, kind: str) -> JobResult | None:
        """What the worker found last; it is asked for more where that is not of the last event."""
        found = self.desk.kept.found(self.name, kind)
        if found is None or found.seq != self.ledger.seq:
            self.desk.worker.want(kind, self.name, self.ledger.seq)
        return found

    def trouble(self, kind: str) -> str | None:
        """Why the worker found nothing, if it tried."""
        return self.desk.worker.trouble(kind, self.name, self.ledger.seq)

    def rows(self, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Cells of these candidates, as far as the worker has read the table."""
        wanted = list(dict.fromkeys(ids))
        found = self.desk.kept.rows(self.name, wanted)
        if found is None or (len(found) < len(wanted) and self._rows_are_old()):
            self.desk.worker.want("rows", self.name, self.ledger.seq)
        return found or {}

    def _rows_are_old(self) -> bool:
        kept, ledger = self.desk.kept, self.ledger
        if ledger.shards:  # of many, those that something happened to are kept
            return kept.rows_after(self.name) != ledger.seq
        return kept.row_count(self.name) != ledger.rows

    def catalogue(self) -> FilePath:
        """The file of all candidates with predictions, which the worker keeps up to date."""
        path = self.desk.kept.path(self.name, CANDIDATES_FILE)
        if not self.is_catalogued:
            self.desk.worker.want("explore", self.name, self.ledger.seq)
        return path

    @property
    def is_catalogued(self) -> bool:
        """Whether that file is of the last event."""
        return written_after(self.desk.kept.path(self.name, CANDIDATES_FILE)) == self.ledger.seq

    def story(self, id_: str) -> list[Event]:
        """What happened to a row, the newest first."""
        return [one for one in self.events(self.ledger.seq) if one.id == id_]


def _desk(request: Request) -> ServerContext:
    desk: ServerContext = request.app.state.desk
    return desk


def state_token(desk: ServerContext, name: str) -> str:
    """What is another when the campaign, or what was found of it, is another."""
    now = repr((desk.store.head(name), sorted(desk.kept.stamps(name).items())))
    return hashlib.blake2b(now.encode(), digest_size=8).hexdigest()


def _seat(request: Request) -> RequestContext:
    return RequestContext(request)


Name = Annotated[str, Path(min_length=1, max_length=100, description="A campaign.")]


def _here(request: Request, name: Name) -> CampaignRequest:
    here = CampaignRequest(request, name)
    here.standing = state_token(here.desk, name)  # before anything is looked at
    _ = here.ledger
    return here


def check_form_token(request: Request, form: Annotated[str, Form(max_length=100)] = "") -> None:
    """403 where a form is not one of ours; a program that sends the token itself needs none."""
    visit = RequestContext(request).visit
    if visit is None or not (visit.is_bearer or same(form, visit.form_token)):
        raise HTTPException(403, "This form is not one of this server: load the page again.")


def _require_name(seat: RequestContext) -> None:
    if not seat.who:
        raise HTTPException(422, "Say who you are first (at the top of the page).")


def _writing(
    here: Annotated[CampaignRequest, Depends(_here)], _: Annotated[None, Depends(check_form_token)]
) -> CampaignRequest:
    _require_name(here)
    return here


def _writing_seat(
    seat: Annotated[RequestContext, Depends(_seat)], _: Annotated[None, Depends(check_form_token)]
) -> RequestContext:
    _require_name(seat)
    return seat


Sitting = Annotated[RequestContext, Depends(_seat)]
Here = Annotated[CampaignRequest, Depends(_here)]
Writing = Annotated[CampaignRequest, Depends(_writing)]
WritingSeat = Annotated[RequestContext, Depends(_writing_seat)]
View = Callable[..., Response]
