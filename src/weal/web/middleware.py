"""The access middleware: the checks of every request, and the security headers of every response.

    host       400 for any other host name than ours (DNS rebinding)
    login      `?token=` and `?code=` become a session cookie and a redirect to the address
               without them
    visit      401 without a session cookie or `Authorization: Bearer TOKEN`
    writing    403 unless a POST comes from a page of this server (its Origin is our scheme and
               host), is a form, and its actor may write; no other method writes
    api        under /api a write needs a bearer token, whatever the cookies; JSON is taken, and a
               refusal is a problem (`problems`)
    size       413 for a body that declares to be too large; `request_body` counts what is read

Static files and /healthz are open to all. Views find the visit and
its actor in the request's state. An exception
in a view is answered here, so that this response has the security headers too: no script or style
but our own files, and no framing by other sites. A refusal is a page with the reason only, or for
htmx a notice on the present page.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from weal.web.access import SESSION_SECONDS, Access, Visit, cookie_name
from weal.web.problems import PROBLEM_TYPE, is_api, problem, problem_bytes, request_id
from weal.web.request_body import (
    CLOSE,
    TOO_LARGE,
    Body,
    Message,
    Receive,
    Send,
)

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; frame-ancestors 'none'; form-action 'self'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_ERROR_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>weal</title>'
    '<meta name="viewport" content="width=device-width">'
    '<link rel="stylesheet" href="/static/weal.css"><main class="narrow"><h1>weal</h1>'
    '<p class="card">{reason}</p></main></html>'
)
_ERROR_PART = '<p class="note bad" role="alert">{reason}</p>'
_NO_LOGIN = "Not logged in. Open the address that weal serve printed: it contains a token."
_NO_TOKEN = "Not logged in: send the header `Authorization: Bearer TOKEN` with a valid token."
_BESIDE = (("hx-retarget", "#notice"), ("hx-reswap", "innerHTML"))
Headers = Iterable[tuple[str, str]]
App = Callable[[Message, Receive, Send], Awaitable[None]]
State = dict[str, Any]  # of an ASGI request


def with_security_headers(send: Send, path: str, id_: str) -> Send:
    """Add the security headers and the id of the request; pages are not cached."""
    own = {**HEADERS, "x-request-id": id_}
    if not path.startswith("/static/"):
        own["cache-control"] = "no-store"
    more = _encode_headers(own.items())

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        await send(message)

    return send_with_headers


async def send_redirect(send: Send, headers: Headers) -> None:
    """Send a redirect with these headers."""
    found = _encode_headers((*headers, ("content-length", "0")))
    await send({"type": "http.response.start", "status": 303, "headers": found})
    await send({"type": "http.response.body", "body": b""})


async def send_reason(
    send: Send, status: int, reason: str, is_part: bool = False, close: bool = False
) -> None:
    """Send a page, or a notice, with the reason of a refusal."""
    page = (_ERROR_PART if is_part else _ERROR_PAGE).format(reason=escape(reason)).encode()
    kind = (("content-type", "text/html; charset=utf-8"), ("content-length", str(len(page))))
    found = _encode_headers((*kind, *(_BESIDE if is_part else ()))) + [CLOSE] * close
    await send({"type": "http.response.start", "status": status, "headers": found})
    await send({"type": "http.response.body", "body": page})


def _encode_headers(headers: Headers) -> list[tuple[bytes, bytes]]:
    return [(key.encode(), value.encode("latin-1")) for key, value in headers]


LOOPBACK = frozenset(("127.0.0.1", "localhost", "::1"))
FORM_CONTENT_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data")
LOGOUT = "/logout"  # the only POST of an actor that may only read
ONCE = ("authorization", "content-type", "host", "origin")  # ignored if they come twice
_HOST_HEADER = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::[0-9]{1,5})?", re.IGNORECASE)

MAX_COOKIES = 50  # of one name


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """The access rules of a server."""

    access: Access
    port: int
    hosts: frozenset[str] = LOOPBACK
    read_only: bool = False
    secure: bool = False  # whether the server speaks https itself


class RequestRefused(Exception):
    """A request that is refused before any view."""

    def __init__(self, status: int, reason: str, code: str) -> None:
        super().__init__(reason)
        self.status, self.reason, self.code = status, reason, code


@dataclass(frozen=True, slots=True)
class Head:
    """The method, address and headers of a request."""

    method: str
    scheme: str
    path: str
    query: list[tuple[str, str]]
    headers: dict[str, str]

    @property
    def is_open(self) -> bool:
        """Whether the address is public."""
        is_get = self.method in ("GET", "HEAD")
        return is_get and (self.path == "/healthz" or self.path.startswith("/static/"))

    @property
    def is_part(self) -> bool:
        """Whether htmx asks for a part of a page."""
        return "hx-request" in self.headers

    @property
    def is_api(self) -> bool:
        """Whether the address answers programs."""
        return is_api(self.path)

    @property
    def is_read(self) -> bool:
        """Whether the method writes nothing."""
        return self.method in ("GET", "HEAD")

    @property
    def is_from_elsewhere(self) -> bool:
        """Whether a browser says that another site, or another port, sends the request."""
        return self.headers.get("sec-fetch-site", "none") not in ("none", "same-origin")

    def cookies(self, name: str) -> list[str]:
        """The values of all cookies with this name; those of other servers may be malformed."""
        pairs = (one.strip().partition("=") for one in self.headers.get("cookie", "").split(";"))
        return [value.strip('"') for key, _, value in pairs if key == name][:MAX_COOKIES]


class AccessMiddleware:
    """The checks around an app."""

    def __init__(self, app: App, policy: AccessPolicy) -> None:
        self.app, self.policy = app, policy

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # no websockets
            return await send({"type": "websocket.close", "code": 1008})
        head = read_head(scope)
        with _track_request(scope) as state:
            given = head.headers.get("x-request-id")
            state["request_id"] = request_id(given, head.headers.get("authorization"))
            send = with_security_headers(send, head.path, state["request_id"])
            await self._answer(scope, head, state, receive, send)

    async def _answer(
        self, scope: Message, head: Head, state: State, receive: Receive, send: Send
    ) -> None:
        body = Body(receive, head.headers, head.path)
        try:
            self._check_host(head)
            visit = state["visit"] = self._visit(head)
            state["actor"] = visit.actor if visit else None
            _set_authenticated(state, visit)
            if moved := self._login(head, visit):
                return await send_redirect(send, moved)
            self._check(head, visit, body)
        except RequestRefused as refused:
            is_known = state.get("visit") is not None
            return await _refuse(head, refused, body, send, is_known, state["request_id"])
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
            if status:  # the response has begun: the connection is closed
                raise
            bug = RequestRefused(500, _bug_text(error), "bug")
            await _send_refusal(head, bug, scope["state"]["request_id"], send, close=True)

    def _check_host(self, head: Head) -> None:
        if _hostname(head.headers.get("host", "")) not in self.policy.hosts:
            words = "This server has another host name: see --allow-host."
            raise RequestRefused(400, words, "wrong_host")

    def _visit(self, head: Head) -> Visit | None:
        access = self.policy.access
        kind, _, given = head.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and (visit := access.visit_by_token(given.strip())):
            return visit
        if head.is_api and (not head.is_read or head.is_from_elsewhere):
            return None  # programs write with a token, never with the cookie of a browser
        return access.visit_by_session(head.cookies(cookie_name(self.policy.port)))

    def _login(self, head: Head, visit: Visit | None) -> list[tuple[str, str]]:
        """Headers of a login: the cookie and a redirect to the address without secrets; or none."""
        given = {key: value for key, value in head.query if key in ("token", "code")}
        if not given or head.method != "GET" or head.is_open or head.is_api:
            return []
        rest = [pair for pair in head.query if pair[0] not in given]
        path = quote("/" + head.path.lstrip("/\\"))  # never //another.host
        moved = [("location", path + (f"?{urlencode(rest)}" if rest else ""))]
        token = self._check_login(given)
        if visit is not None and (token is None or token == visit.token):
            return moved  # logged in already: a reload
        if token is None:
            raise RequestRefused(401, _login_error(given), "not_authenticated")
        return [*moved, ("set-cookie", self._new_cookie(head, token))]

    def _check_login(self, given: dict[str, str]) -> str | None:
        access = self.policy.access
        found = access.tokens.find(given["token"]) if "token" in given else None
        return access.check_code(given["code"]) if found is None and "code" in given else found

    def _new_cookie(self, head: Head, token: str) -> str:
        try:
            id_ = self.policy.access.sessions.begin(token)
        except OSError as error:
            words = f"The server cannot store a session: {error.strerror}."
            raise RequestRefused(503, words, "failed") from error
        secure = "; Secure" if self.policy.secure or head.scheme == "https" else ""
        value = f"{cookie_name(self.policy.port)}={id_}; Path=/; Max-Age={SESSION_SECONDS}"
        return f"{value}; HttpOnly; SameSite=Strict{secure}"

    def _check(self, head: Head, visit: Visit | None, body: Body) -> None:
        if head.is_open and visit is None and body.has_body:
            raise RequestRefused(400, "This address takes no request body.", "invalid_request")
        if head.is_open:
            return
        if visit is None:
            raise RequestRefused(401, _NO_TOKEN if head.is_api else _NO_LOGIN, "not_authenticated")
        if head.method not in ("GET", "HEAD"):
            self._check_writing(head, visit)
        if body.is_declared_too_large:
            raise RequestRefused(TOO_LARGE, body.too_large_text, "body_too_large")

    def _check_writing(self, head: Head, visit: Visit) -> None:
        if head.path != LOGOUT and self.policy.read_only:
            words = "This server is read-only (--read-only): nothing was saved."
            raise RequestRefused(403, words, "not_allowed")
        if head.path != LOGOUT and not visit.actor.may_write:
            raise RequestRefused(
                403, "Your token is read-only: nothing was saved.", "not_permitted"
            )
        origin = head.headers.get("origin")
        if origin is not None or not visit.is_bearer:
            _check_origin(head, origin)
        kind = head.headers.get("content-type", "").partition(";")[0].strip().lower()
        if not head.is_api and kind not in FORM_CONTENT_TYPES:
            raise RequestRefused(403, "This address takes only forms.", "not_permitted")


def read_head(scope: Message) -> Head:
    """The head of a request."""
    headers: dict[str, str] = {}
    for key, value in scope["headers"]:
        name, text = key.decode("latin-1"), value.decode("latin-1")
        if name in headers and name in ONCE:
            text = ""  # given twice: ignored
        elif name in headers:
            text = f"{headers[name]}{'; ' if name == 'cookie' else ', '}{text}"
        headers[name] = text
    query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    return Head(scope["method"], scope.get("scheme", "http"), scope["path"], query, headers)


def _check_origin(head: Head, origin: str | None) -> None:
    """403 unless the Origin is this server: the same scheme, host and port."""
    if not origin:
        raise RequestRefused(403, "This form has no Origin header.", "cross_site")
    host = head.headers.get("host", "").lower()
    if origin.lower() == f"{head.scheme}://{host}":
        return
    if origin.lower() == f"https://{host}":
        raise RequestRefused(
            403,
            "This page was loaded by https, but the proxy in front of this server does not say so: "
            "make it send the header X-Forwarded-Proto.",
            "cross_site",
        )
    raise RequestRefused(403, "This form comes from another site.", "cross_site")


def _login_error(given: dict[str, str]) -> str:
    if "code" in given:
        return (
            "This link works only once, within a minute of weal serve --open. Open the address "
            "that weal serve printed."
        )
    return "This token is not valid. Open the address that weal serve printed."


def _hostname(host: str) -> str:
    """The name in a Host header without its port; empty if it is malformed.

    >>> _hostname("LAB-PC.example.org:8765"), _hostname("[::1]:80"), _hostname("evil@127.0.0.1")
    ('lab-pc.example.org', '::1', '')
    """
    found = _HOST_HEADER.fullmatch(host)
    return (found[1] or found[2]).lower() if found else ""


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


async def _refuse(
    head: Head, refused: RequestRefused, body: Body, send: Send, is_authenticated: bool, id_: str
) -> None:
    """Send a refusal; of an unauthenticated request little of the body is read."""
    if body.has_body and is_authenticated:
        send = body.linger(send)
    elif body.has_body:
        await body.drain()
    close = body.has_body and not is_authenticated
    await _send_refusal(head, refused, id_, send, close)


async def _send_refusal(
    head: Head, refused: RequestRefused, id_: str, send: Send, close: bool
) -> None:
    """Send a refusal as a page, as a notice on one, or to a program as a problem."""
    if not head.is_api:
        return await send_reason(send, refused.status, refused.reason, head.is_part, close)
    content = problem_bytes(problem(refused.status, refused.code, refused.reason, id_))
    headers = [("content-type", PROBLEM_TYPE), ("content-length", str(len(content)))]
    headers += [("www-authenticate", "Bearer")] if refused.status == 401 else []
    found = _encode_headers(headers) + [CLOSE] * close
    await send({"type": "http.response.start", "status": refused.status, "headers": found})
    await send({"type": "http.response.body", "body": content})


def _bug_text(error: Exception) -> str:
    kind = type(error).__name__
    return f"A bug in weal: {kind}. Saved labels are safe; please report it."
