"""Operations on events: a page of them, a long poll, and server-sent events.

One task for each campaign that somebody waits for looks at the store (`Watcher`): a waiting client
takes no thread, and fifty of them read no more than one. An event is what `weal log --json` lists.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from weal.campaign.answers import event_answer, json_text
from weal.campaign.preconditions import state_tag
from weal.errors import WealError
from weal.store.events import Event
from weal.store.protocol import Store
from weal.web.api.call import Answer, Call
from weal.web.api.operations import Example, Parameter, operation
from weal.web.problems import RequestProblem

MAX_EVENTS = 1000  # on one page
MAX_WAIT_SECONDS = 60
MAX_WAITING = 200  # clients of a server that wait for events
POLL_SECONDS = 0.25  # between two looks at the store
HEARTBEAT_SECONDS = 15.0  # so that no proxy closes an idle stream
SSE_TYPE = "text/event-stream"
UNBUFFERED = {"x-accel-buffering": "no"}  # nginx passes every event on at once


class Watcher:
    """The clients that wait for events, by campaign."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    @asynccontextmanager
    async def place(self, name: str) -> AsyncIterator[asyncio.Event]:
        """An event that is set when the campaign changes; 429 if too many clients wait."""
        if sum(map(len, self._waiting.values())) >= MAX_WAITING:
            raise RequestProblem(
                429, "too_many_waiting", f"{MAX_WAITING} clients wait for events already: ask "
                "without `wait`, or later", headers={"retry-after": "10"},
            )  # fmt: skip
        own = asyncio.Event()
        self._waiting.setdefault(name, set()).add(own)
        if name not in self._tasks:
            self._tasks[name] = asyncio.create_task(self._watch(name))
        try:
            yield own
        finally:
            self._waiting.get(name, set()).discard(own)

    async def _watch(self, name: str) -> None:
        """Wake the clients whenever the last event is another, until nobody waits."""
        before: tuple[int, str] | None = None
        try:
            while waiting := self._waiting.get(name):
                now = await asyncio.to_thread(self._store.head, name)
                if now != before:
                    for one in waiting:
                        one.set()
                before = now
                await asyncio.sleep(POLL_SECONDS)
        except WealError:  # the clients are woken, and see it when they read
            pass
        finally:
            del self._tasks[name]
            for one in self._waiting.pop(name, ()):
                one.set()


def _watcher(call: Call) -> Watcher:
    """The watcher of this server and event loop."""
    found = call.server.waiting.get("events")
    if found is None:
        found = call.server.waiting["events"] = Watcher(call.server.store)
    assert isinstance(found, Watcher)
    return found


@operation(
    "GET", "/campaigns/{name}/events", "events", "List events, or wait for them.",
    may="read", answer={"$ref": "log.json"}, media=("application/json", SSE_TYPE),
    query=[
        Parameter("since", {"type": "integer", "minimum": 0, "maximum": 2**53, "default": 0},
                  "The number of the last event that you have."),
        Parameter("limit", {"type": "integer", "minimum": 1, "maximum": MAX_EVENTS,
                            "default": MAX_EVENTS}, "Events on a page."),
        Parameter("wait", {"type": "number", "minimum": 0, "maximum": MAX_WAIT_SECONDS,
                           "default": 0},
                  "Seconds to wait for an event, where there is none yet."),
    ],
    examples=[Example("after the third", query={"since": 3, "limit": 5})],
)  # fmt: skip
async def events(call: Call) -> Answer:
    """Events after `since`, in order. With `Accept: text/event-stream` they are sent as they come
    (server-sent events; Last-Event-ID is understood), else the answer is a page: the header Link
    has the address of the next one. `wait` makes it a long poll.
    """
    await asyncio.to_thread(call.server.store.head, call.name)  # UnknownCampaign
    since, limit = int(call.query["since"]), int(call.query["limit"])
    if SSE_TYPE in call.headers.get("accept", ""):
        last = call.headers.get("last-event-id", "")
        since = int(last) if last.isascii() and last.isdigit() and len(last) < 16 else since
        return Answer(_stream(call, since), media=SSE_TYPE, headers=UNBUFFERED)
    found = await _page(call, since, limit)
    if not found and call.query["wait"]:
        found = await _wait(call, since, limit)
        await asyncio.to_thread(call.check_authenticated)  # the token may have ended meanwhile
    tag = state_tag(found[-1].seq, found[-1].hash) if found else None
    more = {}
    if len(found) == limit:
        more["link"] = f'<?since={found[-1].seq}&limit={limit}>; rel="next"'
    return call.answer([event_answer(one) for one in found], tag, **more)


async def _page(call: Call, since: int, limit: int) -> list[Event]:
    store = call.server.store
    return await asyncio.to_thread(store.events_between, call.name, since + 1, since + limit)


async def _wait(call: Call, since: int, limit: int) -> list[Event]:
    """The first events that come, none at the end of the time."""
    gone = asyncio.ensure_future(call.disconnect())
    try:
        async with asyncio.timeout(call.query["wait"]), _watcher(call).place(call.name) as changed:
            while not (found := await _page(call, since, limit)):
                changed.clear()
                woken = asyncio.ensure_future(changed.wait())
                await asyncio.wait({woken, gone}, return_when=asyncio.FIRST_COMPLETED)
                woken.cancel()
                if gone.done():
                    return []
            return found
    except TimeoutError:
        return []
    finally:
        gone.cancel()


async def _stream(call: Call, since: int) -> AsyncGenerator[bytes, None]:
    """Server-sent events until the client is gone, or its token is no longer valid."""
    yield b"retry: 2000\n\n"
    gone = asyncio.ensure_future(call.disconnect())
    try:
        async with _watcher(call).place(call.name) as changed:
            while not gone.done() and await asyncio.to_thread(call.is_authenticated):
                changed.clear()
                while found := await _page(call, since, MAX_EVENTS):
                    since = found[-1].seq
                    yield b"".join(map(_event_bytes, found))
                woken = asyncio.ensure_future(changed.wait())
                done, _ = await asyncio.wait(
                    {woken, gone}, timeout=HEARTBEAT_SECONDS, return_when=asyncio.FIRST_COMPLETED
                )
                woken.cancel()
                if not done:
                    yield b": still here\n\n"
    finally:
        gone.cancel()


def _event_bytes(event: Event) -> bytes:
    data: dict[str, Any] = event_answer(event)
    return f"id: {event.seq}\nevent: {event.kind}\ndata: {json_text(data)}\n\n".encode()
