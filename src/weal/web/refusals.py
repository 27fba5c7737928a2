"""Refusals of requests before any view, and the security headers of every response.

A refusal is a page with the reason, with the login form below where a login is missing; for htmx a
notice on the present page; for a program a problem (`problems`). Every response has the security
headers: no script or style but our own files, and no framing by other sites.
"""

from collections.abc import Iterable
from html import escape
from math import ceil

from weal.web.problems import PROBLEM_TYPE, problem, problem_bytes
from weal.web.request_body import CLOSE, Body, Message, Send
from weal.web.request_head import Head

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
_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>weal</title>'
    '<meta name="viewport" content="width=device-width">'
    '<link rel="stylesheet" href="{root}/static/weal.css"><main class="narrow"><h1>weal</h1>'
    '<p class="card">{reason}</p>{form}</main></html>'
)
_PART = '<p class="note bad" role="alert">{reason}</p>'
_BESIDE = (("hx-retarget", "#notice"), ("hx-reswap", "innerHTML"))
Headers = Iterable[tuple[str, str]]


class RequestRefused(Exception):
    """A request that is refused before any view; `form` is HTML below the reason."""

    def __init__(
        self, status: int, reason: str, code: str, *headers: tuple[str, str], form: str = ""
    ) -> None:
        super().__init__(reason)
        self.status, self.reason, self.code = status, reason, code
        self.headers, self.form = headers, form


def too_many(what: str, seconds: float) -> RequestRefused:
    """429 with the time to wait."""
    wait = str(max(1, ceil(seconds)))
    words = f"{what}: try again in {wait} s."
    return RequestRefused(429, words, "too_many_requests", ("retry-after", wait))


async def refuse(
    head: Head, refused: RequestRefused, body: Body, send: Send, root: str, id_: str,
    is_authenticated: bool,
) -> None:  # fmt: skip
    """Send a refusal; of an unauthenticated request little of the body is read."""
    if body.has_body and is_authenticated:
        send = body.linger(send)
    elif body.has_body:
        await body.drain()
    close = body.has_body and not is_authenticated
    await send_refusal(head, refused, root, id_, send, close)


async def send_refusal(
    head: Head, refused: RequestRefused, root: str, id_: str, send: Send, close: bool
) -> None:
    """Send a refusal as a page, as a notice on one, or to a program as a problem."""
    if head.is_api:
        content = problem_bytes(problem(refused.status, refused.code, refused.reason, id_))
        headers = [("content-type", PROBLEM_TYPE)]
    else:
        content = _page(refused, root, head.is_part)
        headers = [("content-type", "text/html; charset=utf-8")]
        headers += _BESIDE if head.is_part else ()
    if refused.status == 401:
        headers.append(("www-authenticate", "Bearer"))
    headers += [("content-length", str(len(content))), *refused.headers]
    found = encode_headers(headers) + [CLOSE] * close
    await send({"type": "http.response.start", "status": refused.status, "headers": found})
    await send({"type": "http.response.body", "body": content})


def _page(refused: RequestRefused, root: str, is_part: bool) -> bytes:
    reason = escape(refused.reason)
    if is_part:
        return _PART.format(reason=reason).encode()
    return _PAGE.format(reason=reason, root=escape(root), form=refused.form).encode()


async def send_redirect(send: Send, headers: Headers) -> None:
    """Send a redirect with these headers."""
    found = encode_headers((*headers, ("content-length", "0")))
    await send({"type": "http.response.start", "status": 303, "headers": found})
    await send({"type": "http.response.body", "body": b""})


def with_security_headers(send: Send, path: str, id_: str) -> Send:
    """Add the security headers and the id of the request; pages are not cached."""
    own = {**HEADERS, "x-request-id": id_}
    if not path.startswith("/static/"):
        own["cache-control"] = "no-store"
    more = encode_headers(own.items())

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        await send(message)

    return send_with_headers


def encode_headers(headers: Headers) -> list[tuple[bytes, bytes]]:
    """Headers as ASGI has them."""
    return [(key.encode(), value.encode("latin-1")) for key, value in headers]
