"""Problems: errors as JSON for programs (RFC 9457), and the HTTP status of every error.

    {"type": "about:blank", "title": "Conflict", "status": 409, "detail": "A-1 has the label ...",
     "code": "already_labelled", "request_id": "6f1c2b9e0d4a4f57"}

`code` is that of the error (`weal.errors.error_code`), the same as under --json of the shell.
`errors` lists what is wrong in a body or in parameters, each with a JSON pointer. Every request has
an id: that of its X-Request-ID header if it is harmless, else a random one. It is in the response,
in problems and in the log.
"""

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import NotRequired, TypedDict

from weal.errors import (
    AlreadyLabelled,
    Archived,
    CampaignExists,
    Changed,
    Conflict,
    DamagedStore,
    DiskFull,
    Exhausted,
    ImplausibleLabel,
    NoModel,
    NotAllowed,
    NotAuthenticated,
    NotPermitted,
    ReusedKey,
    UnknownCampaign,
    UnknownId,
    WealError,
    error_code,
)

PROBLEM_TYPE = "application/problem+json"
API = "/api"
VERSION = "v1"
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,36}")  # shorter than any token
_STATUS: tuple[tuple[type[Exception], int], ...] = (  # the first that fits
    (UnknownCampaign, 404),
    (UnknownId, 404),
    (NotAuthenticated, 401),
    (NotPermitted, 403),
    (NotAllowed, 403),
    (AlreadyLabelled, 409),
    (Archived, 409),
    (CampaignExists, 409),
    (ImplausibleLabel, 409),
    (ReusedKey, 409),
    (Conflict, 409),
    (Exhausted, 409),
    (NoModel, 409),
    (Changed, 412),
    (DiskFull, 507),
    (DamagedStore, 503),
    (ValueError, 422),
    (WealError, 503),
)
_STATUS_OF_CODE = {"cancelled": 409, "too_many_jobs": 429, "too_many_requests": 429}


class InvalidPart(TypedDict):
    """What is wrong at one place of a request."""

    pointer: str  # into the body (RFC 6901), or the name of a parameter
    detail: str


class Problem(TypedDict):
    """A problem as it is sent."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    errors: NotRequired[Sequence[InvalidPart]]


class RequestProblem(Exception):
    """A request that is refused with this status and code."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        errors: Sequence[InvalidPart] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail = status, code, detail
        self.errors, self.headers = errors, dict(headers or {})


def invalid(pointer: str, detail: str) -> RequestProblem:
    """The problem of a request that does not fit its description."""
    return invalid_request([(pointer, detail)])


def invalid_request(faults: Sequence[tuple[str, str]]) -> RequestProblem:
    """The problem of a request with these faults."""
    errors: list[InvalidPart] = [{"pointer": one, "detail": what} for one, what in faults]
    words = "; ".join(f"{one}: {what}" if one else what for one, what in faults)
    end = "" if words.endswith("?") else "."
    detail = f"{words}{end} See /api/{VERSION}/openapi.json"
    return RequestProblem(422, "invalid_request", detail, errors)


def status_of(error: Exception) -> int:
    """The HTTP status of an error of weal, or of a wrong value.

    >>> status_of(UnknownId("A-3")), status_of(ValueError("n is -1")), status_of(KeyError("x"))
    (404, 422, 500)
    """
    known = _STATUS_OF_CODE.get(error_code(error))
    return known or next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def problem(
    status: int, code: str, detail: str, request_id: str, errors: Sequence[InvalidPart] = ()
) -> Problem:
    """The problem with these fields."""
    found: Problem = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
        "request_id": request_id,
    }
    if errors:
        found["errors"] = errors
    return found


def problem_bytes(found: Problem) -> bytes:
    """The problem as JSON; ASCII, so that no text can break it."""
    return json.dumps(found).encode()


def is_api(path: str) -> bool:
    """Whether an address answers programs.

    >>> is_api("/api/v1/campaigns"), is_api("/api"), is_api("/apis"), is_api("/c/api")
    (True, True, False, False)
    """
    return path == API or path.startswith(f"{API}/")


def request_id(given: str | None, secret: str | None = None) -> str:
    """The id of a request: the given one if it is harmless, else a random one.

    >>> request_id("job-7"), len(request_id("a b")), request_id("s3cret", "s3cret") == "s3cret"
    ('job-7', 16, False)
    """
    if given and _REQUEST_ID.fullmatch(given) and not (secret and given in secret):
        return given
    return secrets.token_hex(8)
