"""Answers of the server itself, and the security headers of every answer.

Every answer says that nothing in it may run but our own files, and that no other site may frame it.
A refusal is a page without anything in it but the reason; a part of a page (htmx) gets the reason
alone, beside what is there.
"""

from collections.abc import Iterable
from html import escape

from weal.web.request_body import CLOSE, Message, Send

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
    '<link rel="stylesheet" href="/static/weal.css"><main class="narrow"><h1>weal</h1>'
    '<p class="card">{reason}</p></main></html>'
)
_PART = '<p class="note bad" role="alert">{reason}</p>'
_BESIDE = (("hx-retarget", "#notice"), ("hx-reswap", "innerHTML"))
Headers = Iterable[tuple[str, str]]


def with_security_headers(send: Send, path: str) -> Send:
    """Answers with the security headers; pages are not cached."""
    own = dict(HEADERS) if path.startswith("/static/") else {**HEADERS, "cache-control": "no-store"}
    more = _encoded(own.items())

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        await send(message)

    return send_with_headers


async def send_redirect(send: Send, headers: Headers) -> None:
    """See another address."""
    found = _encoded((*headers, ("content-length", "0")))
    await send({"type": "http.response.start", "status": 303, "headers": found})
    await send({"type": "http.response.body", "body": b""})


async def send_reason(
    send: Send, status: int, reason: str, is_part: bool = False, close: bool = False
) -> None:
    """A page, or a part of one, that gives the reason of a refusal."""
    page = (_PART if is_part else _PAGE).format(reason=escape(reason)).encode()
    kind = (("content-type", "text/html; charset=utf-8"), ("content-length", str(len(page))))
    found = _encoded((*kind, *(_BESIDE if is_part else ()))) + [CLOSE] * close
    await send({"type": "http.response.start", "status": status, "headers": found})
    await send({"type": "http.response.body", "body": page})


def _encoded(headers: Headers) -> list[tuple[bytes, bytes]]:
    return [(key.encode(), value.encode("latin-1")) for key, value in headers]
