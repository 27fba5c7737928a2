"""A call of an operation: the checked request, and the means to answer it.

    call.name       the campaign                        call.actor    who sends the request
    call.query      checked query parameters            call.who      the name for the events
    call.body       the checked JSON body               call.key      the idempotency key
    call.upload     a table in place of JSON            call.campaign()  the campaign, to write to

`call.campaign()` writes only if the state of the campaign is one of If-Match (`preconditions`).
Work that needs a model is a job of the worker: `await call.job(kind, ...)` waits without a thread.
A client that hangs up cancels a job that has not begun; one that runs is finished.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Unpack

from weal.campaign.answers import json_text
from weal.campaign.campaign import Campaign
from weal.campaign.preconditions import GuardedStore, guard, state_tag
from weal.errors import NotAuthenticated
from weal.store.actors import Actor
from weal.web.access import Visit
from weal.web.api.operations import Operation
from weal.web.job_context import Arguments
from weal.web.job_worker import Job
from weal.web.request import ServerContext
from weal.web.request_body import Receive

Stream = AsyncGenerator[bytes, None]


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a call: JSON, or a stream of bytes."""

    content: bytes | Stream
    status: int = 200
    media: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Upload:
    """A table that was sent in place of JSON: a file of the server, and its name at the client."""

    path: Path
    called: str


class Disconnected(Exception):
    """The client has hung up."""


@dataclass(slots=True)
class Call:
    """One call of an operation."""

    operation: Operation
    server: ServerContext
    actor: Actor
    request_id: str
    receive: Receive
    headers: Mapping[str, str]
    name: str = ""
    query: dict[str, Any] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)
    upload: Upload | None = None
    key: str | None = None
    expected: Collection[str] | None = None  # tags of If-Match; None: any state
    visit: Visit | None = None
    _guard: GuardedStore | None = None

    @property
    def who(self) -> str:
        """The name in the events: that of the token, else `by`."""
        return self.actor.recorded_as(str(self.body.get("by") or self.query.get("by") or ""))

    def is_authenticated(self) -> bool:
        """Whether the token or session of the request is still valid."""
        return self.visit is not None and self.server.policy.access.is_valid(self.visit)

    def check_authenticated(self) -> None:
        """NotAuthenticated if the token or session has ended since the request began."""
        if not self.is_authenticated():
            raise NotAuthenticated(
                "this token was revoked or has expired: send another one (`weal token add`)"
            )

    def campaign(self) -> Campaign:
        """The campaign, to write to in this name; Changed if its state is not as expected."""
        store, self._guard = guard(self.server.store, self.expected)
        return Campaign(self.name, store, self.who, log=self.server.ledgers.log(self.name))

    @property
    def tag(self) -> str:
        """The tag of the campaign: after the write of this call, else now."""
        if self._guard is not None and self._guard.tag is not None:
            return self._guard.tag
        return state_tag(*self.server.store.head(self.name))

    def answer(self, value: object, tag: str | None = None, **headers: str) -> Answer:
        """The answer with a JSON value; the tag of the state is its ETag."""
        return self.text_answer(json_text(value), tag, **headers)

    def text_answer(self, text: str, tag: str | None = None, **headers: str) -> Answer:
        """The answer with JSON that is text already."""
        found = {"etag": f'"{tag}"'} if tag else {}
        return Answer(text.encode(), self.operation.status, headers={**found, **headers})

    async def job(self, kind: str, arguments: Arguments) -> Any:
        """The answer of a job of the worker; its error is raised."""
        who = self.who or self.actor.name or ""
        job = self.server.worker.submit(kind, arguments, None, who)
        await self._wait(job, who)
        self.server.worker.forget(job)
        if job.error is not None:
            raise job.error.with_traceback(None)
        return job.answer

    async def job_text(self, kind: str, **arguments: Unpack[Arguments]) -> Answer:
        """The answer of a job that returns JSON as text, and the tag of the state it is of."""
        arguments["name"] = self.name
        text, tag = await self.job(kind, arguments)
        return self.text_answer(text, tag)

    async def _wait(self, job: Job, who: str) -> None:
        """Wait until a job has ended, or the client has gone."""
        loop = asyncio.get_running_loop()
        done = loop.create_future()

        def wake() -> None:
            if not done.done():
                done.set_result(None)

        self.server.worker.when_finished(job, lambda: loop.call_soon_threadsafe(wake))
        gone = asyncio.ensure_future(self.disconnect())
        try:
            await asyncio.wait({done, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
        if not done.done():
            if job.started is None:
                await asyncio.to_thread(self.server.worker.give_up, job)
            raise Disconnected

    async def disconnect(self) -> None:
        """Wait until the client hangs up."""
        while (await self.receive())["type"] != "http.disconnect":
            pass


def read_json(text: str) -> object:
    """The value of strict JSON: no NaN or infinite numbers, and no field twice."""
    return json.loads(
        text,
        parse_constant=_refuse_constant,
        parse_float=_finite,
        parse_int=_whole,
        object_pairs_hook=_once,
    )


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:40]} is too large for a number")
    return value


def _whole(text: str) -> int:
    """An integer that is a number of the library too, which are those below 1.8e308."""
    _finite(text)
    return int(text)


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a field is given twice")
    return found
