"""The access middleware: the checks of every request.

    root path  the app sees addresses without it (`request_head`)
    host       400 for any other host name than ours (DNS rebinding)
    login      tokens, codes and the form `/login` become a session cookie (`login`)
    visit      401 without a session cookie or `Authorization: Bearer TOKEN`
    rate       429 for too many requests of a token or session, or failed logins of an address
    writing    403 unless a POST comes from a page of this server (its Origin is our scheme and
               host), is a form, and its actor may write; no other method writes, and a
               POST of rows to predict needs no more than reading
    api        under /api a write needs a bearer token, whatever the cookies; JSON is taken, and a
               refusal is a problem (`problems`)
    size       413 for a body that declares to be too large; `request_body` counts what is read

Static files and /healthz are open to all. Views find the visit and its actor in the request's
state. An exception in a view is answered here, so that this response has the security headers too
(`refusals`).
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from weal.logs import record, request
from weal.web.access import AccessPolicy, Visit
from weal.web.login import Logins, check_form_type, check_origin
from weal.web.problems import request_id
from weal.web.refusals import (
    RequestRefused,
    refuse,
    send_redirect,
    send_refusal,
    with_security_headers,
)
from weal.web.request_body import TOO_LARGE, Body, Message, Receive, Send
from weal.web.request_head import Head, read_head, without_root
from weal.web.request_log import log_request

LOGOUT = "/logout"  # the only POST of an actor that may only read
App = Callable[[Message, Receive, Send], Awaitable[None]]
State = dict[str, Any]  # of an ASGI request


class AccessMiddleware:
    """The checks around an app."""

    def __init__(self, app: App, policy: AccessPolicy) -> None:
        self.app, self.policy, self.logins = app, policy, Logins(policy)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # no websockets
            return await send({"type": "websocket.close", "code": 1008})
        scope = without_root(scope, self.policy.root_path)
        head = read_head(scope)
        with _track_request(scope) as state:
            given = head.headers.get("x-request-id")
            state["request_id"] = request_id(given, head.headers.get("authorization"))
            send = with_security_headers(send, head.path, state["request_id"])
            with request(state["request_id"]), log_request(head, state, send) as send:
                await self._answer(scope, head, state, receive, send)

    async def _answer(
        self, scope: Message, head: Head, state: State, receive: Receive, send: Send
    ) -> None:
        body = Body(receive, head.headers, head.path)
        try:
            self._check_host(head)
            visit = state["visit"] = await self.logins.find_visit(head)
            state["actor"] = visit.actor if visit else None
            _set_authenticated(state, visit)
            self.logins.check_rate(head, visit)
            if moved := await self.logins.log_in(head, visit, body):
                return await send_redirect(send, moved)
            self._check(head, visit, body)
        except RequestRefused as refused:
            root, id_ = self.policy.root_path, state["request_id"]
            is_known = state.get("visit") is not None
            return await refuse(head, refused, body, send, root, id_, is_known)
        await self._call_app(scope, head, body, send)

    async def _call_app(self, scope: Message, head: Head, body: Body, send: Send) -> None:
        """Send the response of a view; an exception becomes 500, and 413 reaches a slow sender."""
        status = 0

        async def send_view(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await (body.linger(send) if status == TOO_LARGE else send)(message)

        try:
            await self.app(scope, body.receive_limited, send_view)
        except Exception as error:
            id_ = scope["state"]["request_id"]
            record("web.requests", "ERROR", "bug", error, request_id=id_, path=head.path)
            if status:  # the response has begun: the connection is closed
                raise
            bug = RequestRefused(500, _bug_text(error), "bug")
            await send_refusal(head, bug, self.policy.root_path, id_, send, close=True)

    def _check_host(self, head: Head) -> None:
        if head.hostname not in self.policy.hosts:
            words = "This server has another host name: see --allow-host."
            raise RequestRefused(400, words, "wrong_host")

    def _check(self, head: Head, visit: Visit | None, body: Body) -> None:
        if head.is_open and visit is None and body.has_body:
            raise RequestRefused(400, "This address takes no request body.", "invalid_request")
        if head.is_open:
            return
        if visit is None:
            raise self.logins.no_login(head)
        if not head.is_read:
            self._check_writing(head, visit)
        if body.is_declared_too_large:
            raise RequestRefused(TOO_LARGE, body.too_large_text, "body_too_large")

    def _check_writing(self, head: Head, visit: Visit) -> None:
        saves = head.path != LOGOUT and not head.is_prediction
        if saves and self.policy.read_only:
            words = "This server is read-only (--read-only): nothing was saved."
            raise RequestRefused(403, words, "not_allowed")
        if saves and not visit.actor.may_write:
            words = "Your token is read-only: nothing was saved. `weal token add` makes another."
            raise RequestRefused(403, words, "not_permitted")
        origin = head.headers.get("origin")
        if origin is not None or not visit.is_bearer:
            check_origin(head, origin)
        if not head.is_api:
            check_form_type(head)


@contextmanager
def _track_request(scope: Message) -> Iterator[State]:
    """The state of a request; its connection is told when the request begins and ends."""
    state: State = scope.setdefault("state", {})
    connection = state.get("connection")
    if connection is None:
        yield state
        return
    connection.begin_request()
    try:
        yield state
    finally:
        connection.end_request()


def _set_authenticated(state: State, visit: Visit | None) -> None:
    if (connection := state.get("connection")) is not None:
        connection.set_authenticated(visit is not None)


def _bug_text(error: Exception) -> str:
    kind = type(error).__name__
    return f"A bug in weal: {kind}. Saved labels are safe; please report it."
