"""What every request meets before any view: is it for us, from whom, of ours, and how large.

    host       another name than ours: 400 (a foreign site that resolves to this machine)
    token      in the cookie, or as `Authorization: Bearer`: else 401; `?token=` becomes the cookie,
               and the address is asked for again without it
    writing    a POST must come from a page of this server (Origin), be a form, and this server
               must not be for reading alone: else 403; no other method writes
    size       counted while it is read, whatever the request says of its length: 413

Every answer says that nothing in it may run but our own files, and that no other site may frame it.
Static files and /healthz are open to all.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from fastapi import HTTPException

from weal.web.token import cookie_name, same

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

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
LOOPBACK = frozenset(("127.0.0.1", "localhost", "::1"))
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
MOST_FORM = 2**20  # bytes of a form
MOST_UPLOAD = 32 * 2**20  # bytes of a table
UPLOADS = ("/new", "/add", "/sheet")  # ends of addresses that take tables
MONTH = 30 * 24 * 3600  # seconds for which a browser keeps the cookie


@dataclass(frozen=True, slots=True)
class Door:
    """Who may come in."""

    token: str
    port: int
    hosts: frozenset[str] = LOOPBACK
    read_only: bool = False
    secure: bool = False  # whether it is spoken to by https


class Refused(Exception):
    """A request that no view is to see."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class Guard:
    """The app behind its door."""

    def __init__(self, app: Any, door: Door) -> None:
        self.app, self.door = app, door

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # we speak nothing else
            return await send({"type": "websocket.close", "code": 1008})
        send = _sealed(send, scope["path"])
        try:
            if moved := self._checked(scope):
                return await _moved(send, moved)
        except Refused as refused:
            return await _refuse(send, refused)
        await self.app(scope, _counted(receive, scope), send)

    def _checked(self, scope: Message) -> "list[tuple[str, str]] | None":
        """Nothing where the request may pass; the headers of an answer that sets the cookie."""
        headers = {
            key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]
        }
        if _hostname(headers.get("host", "")) not in self.door.hosts:
            raise Refused(400, "This address is none of this server: see --allow-host.")
        if _is_open(scope):
            return None
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for key, value in query if key == "token"]
        if given and same(given[-1], self.door.token):
            return self._login(scope["path"], [pair for pair in query if pair[0] != "token"])
        bearer = self._bearer(headers)
        if not bearer and not self._has_cookie(headers):
            raise Refused(401, "Open the address that weal serve printed: it has a token in it.")
        if scope["method"] not in ("GET", "HEAD"):
            self._check_writing(headers, bearer)
        return None

    def _login(self, path: str, query: list[tuple[str, str]]) -> list[tuple[str, str]]:
        again = f"?{urlencode(query)}" if query else ""
        secure = "; Secure" if self.door.secure else ""
        value = f"{cookie_name(self.door.port)}={self.door.token}; Path=/; Max-Age={MONTH}"
        place = quote("/" + path.lstrip("/\\"))  # never //another.host
        return [
            ("location", place + again),
            ("set-cookie", f"{value}; HttpOnly; SameSite=Strict{secure}"),
        ]

    def _bearer(self, headers: dict[str, str]) -> bool:
        kind, _, given = headers.get("authorization", "").partition(" ")
        return kind.lower() == "bearer" and same(given.strip(), self.door.token)

    def _has_cookie(self, headers: dict[str, str]) -> bool:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(cookie_name(self.door.port))
        except CookieError:
            return False
        return found is not None and same(found.value, self.door.token)

    def _check_writing(self, headers: dict[str, str], bearer: bool) -> None:
        if self.door.read_only:
            raise Refused(403, "This server only shows campaigns (--read-only).")
        origin = headers.get("origin")
        if origin is None and not bearer:
            raise Refused(403, "This form does not say which page it comes from.")
        if origin is not None and urlsplit(origin).netloc != headers.get("host"):
            raise Refused(403, "This form comes from another site.")
        if headers.get("content-type", "").partition(";")[0].strip().lower() not in FORMS:
            raise Refused(403, "Only forms are taken here.")


def _is_open(scope: Message) -> bool:
    path = scope["path"]
    return scope["method"] in ("GET", "HEAD") and (path == "/healthz" or path[:8] == "/static/")


def _hostname(host: str) -> str:
    """The name in a Host header, without its port."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _counted(receive: Receive, scope: Message) -> Receive:
    """The body, until it is too large."""
    most = MOST_UPLOAD if scope["path"].endswith(UPLOADS) else MOST_FORM
    read = 0

    async def counting() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > most:
            raise HTTPException(413, f"This is larger than the {most // 2**20} MB taken here.")
        return message

    return counting


def _sealed(send: Send, path: str) -> Send:
    """Answers with our headers."""
    own = dict(HEADERS) if path[:8] == "/static/" else {**HEADERS, "cache-control": "no-store"}
    more = [(key.encode(), value.encode()) for key, value in own.items()]

    async def sealing(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        await send(message)

    return sealing


async def _moved(send: Send, headers: list[tuple[str, str]]) -> None:
    found = [(key.encode(), value.encode("latin-1")) for key, value in headers]
    await send({"type": "http.response.start", "status": 303, "headers": found})
    await send({"type": "http.response.body", "body": b""})


async def _refuse(send: Send, refused: Refused) -> None:
    """A page without anything in it but the reason."""
    reason = refused.reason.replace("&", "&amp;").replace("<", "&lt;")
    page = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>weal</title>'
        '<meta name="viewport" content="width=device-width">'
        f'<link rel="stylesheet" href="/static/weal.css"><main class="narrow"><h1>weal</h1>'
        f'<p class="card">{reason}</p></main></html>'
    ).encode()
    kind = [(b"content-type", b"text/html; charset=utf-8")]
    await send({"type": "http.response.start", "status": refused.status, "headers": kind})
    await send({"type": "http.response.body", "body": page})
