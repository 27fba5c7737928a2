"""The API as an ASGI app: routes, checks of requests, and problems for everything that fails.

    /api/v1/openapi.json       the description of all operations
    /api/v1/campaigns/...      operations (`operations.OPERATIONS`)

The access middleware has checked host, token and Origin before: a write has a bearer token, never
a cookie. Everything else is checked here, once: path, method, permission, query parameters, body,
keys and preconditions.
"""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request

from weal.errors import WealError, error_code
from weal.logs import record
from weal.web.actors import error_text, require
from weal.web.api.call import Answer, Call, Disconnected
from weal.web.api.operations import Operation
from weal.web.api.parameters import read_key, read_query, read_tags
from weal.web.api.request_content import read_content
from weal.web.problems import (
    PROBLEM_TYPE,
    VERSION,
    RequestProblem,
    is_api,
    problem,
    problem_bytes,
    status_of,
)
from weal.web.request import ServerContext
from weal.web.request_body import Message, Receive, Send
from weal.web.server_folder import NO_ROOM, is_disk_full

App = Callable[[Message, Receive, Send], Awaitable[None]]


class Api:
    """All operations on the campaigns of a server."""

    def __init__(self, server: ServerContext, operations: Sequence[Operation]) -> None:
        self.server = server
        self._routes: dict[tuple[str, ...], dict[str, Operation]] = {}
        for one in operations:
            self._routes.setdefault(_segments(one.path), {})[one.method] = one

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        begun = False

        async def send_once(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await _send(await self._answer(scope, receive), scope["method"], send_once)
        except Disconnected:
            return
        except Exception as error:
            if begun:  # the connection is closed: the client sees an answer that is not complete
                raise
            answer = problem_answer(scope, error)
            if answer.status >= 500:
                id_ = scope["state"]["request_id"]
                record("web.requests", "ERROR", type(error).__name__, error, request_id=id_)
            await _send(answer, scope["method"], send)

    async def _answer(self, scope: Message, receive: Receive) -> Answer:
        operation, name = self._route(scope)
        request = Request(scope, receive)
        actor = require(request, operation.may, name or None)
        headers = dict(request.headers)
        query = read_query(scope["query_string"], operation.query)
        call = Call(operation, self.server, actor, scope["state"]["request_id"], receive, headers)
        call.name, call.query, call.visit = name, query, scope["state"].get("visit")
        if operation.method != "GET":
            await read_content(call, request)
        call.expected = read_tags(headers.get("if-match"))
        if operation.is_conditional and (found := await run_in_threadpool(_not_modified, call)):
            return found
        return await _run(call)

    def _route(self, scope: Message) -> tuple[Operation, str]:
        """The operation, and the name of the campaign; 404 or 405 if there is none."""
        parts = tuple(scope["path"].split("/")[2:])  # after /api
        name = parts[2] if len(parts) > 2 else ""
        segments = (*parts[1:2], *(["{name}"] if name else parts[2:3]), *parts[3:])
        methods = self._routes.get(segments) if parts[:1] == (VERSION,) else None
        if methods is None:
            words = f"there is no such address: /api/{VERSION}/openapi.json lists what there is"
            raise RequestProblem(404, "not_found", words)
        scope["path_params"] = {"name": name} if name else {}
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        if method not in methods:
            allowed = [*methods, *(["HEAD"] if "GET" in methods else [])]
            raise RequestProblem(
                405, "method_not_allowed", f"use {' or '.join(allowed)} here, not {method[:20]}",
                headers={"allow": ", ".join(allowed)},
            )  # fmt: skip
        return methods[method], name


async def _run(call: Call) -> Answer:
    """The answer of the function of an operation; an upload is deleted."""
    function = call.operation.function
    try:
        call.key = read_key(call.headers, call.body)
        if inspect.iscoroutinefunction(function):
            answer: Answer = await function(call)
        else:
            answer = await run_in_threadpool(function, call)
    except Disconnected:  # a job that runs still needs the upload, and deletes it
        raise
    except BaseException:
        _delete_upload(call)
        raise
    _delete_upload(call)
    return answer


def _delete_upload(call: Call) -> None:
    if call.upload is not None:
        call.upload.path.unlink(missing_ok=True)


class ApiMiddleware:
    """Sends every request below /api to the API, whatever letters its path has."""

    def __init__(self, app: App, api: Api) -> None:
        self.app, self.api = app, api

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        own = scope["type"] == "http" and is_api(scope["path"])
        await (self.api if own else self.app)(scope, receive, send)


def _segments(path: str) -> tuple[str, ...]:
    return tuple(path.split("/")[1:])


def _not_modified(call: Call) -> Answer | None:
    """304 if the client has the state of If-None-Match already."""
    tags = read_tags(call.headers.get("if-none-match"), weak=True)
    if tags and (tag := call.tag) in tags:
        return Answer(b"", 304, headers={"etag": f'"{tag}"'})
    return None


def problem_answer(scope: Message, error: Exception) -> Answer:
    """The problem of an error."""
    found = _request_problem(scope, error)
    request_id = scope["state"]["request_id"]
    content = problem_bytes(
        problem(found.status, found.code, found.detail, request_id, found.errors)
    )
    return Answer(content, found.status, PROBLEM_TYPE, found.headers)


def _request_problem(scope: Message, error: Exception) -> RequestProblem:
    if isinstance(error, RequestProblem):
        return error
    if isinstance(error, HTTPException):  # of the body: too large, or malformed multipart
        code = "body_too_large" if error.status_code == 413 else "malformed_body"
        return RequestProblem(error.status_code, code, str(error.detail))
    if is_disk_full(error) and not isinstance(error, WealError):
        return RequestProblem(507, "disk_full", NO_ROOM)
    status = status_of(error)
    if status >= 500 and not isinstance(error, WealError):
        words = f"a bug in weal: {type(error).__name__}. Saved labels are safe; please report it"
        return RequestProblem(500, "bug", words)
    headers = {"www-authenticate": "Bearer"} if status == 401 else {}
    detail = error_text(Request(scope), error)
    return RequestProblem(status, error_code(error), detail, headers=headers)


async def _send(answer: Answer, method: str, send: Send) -> None:
    """Send an answer; HEAD has the headers alone."""
    headers = [("content-type", answer.media), *answer.headers.items()]
    if isinstance(answer.content, bytes):
        headers.append(("content-length", str(len(answer.content))))
    found = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    await send({"type": "http.response.start", "status": answer.status, "headers": found})
    if isinstance(answer.content, bytes):
        body = b"" if method == "HEAD" else answer.content
        await send({"type": "http.response.body", "body": body})
        return
    async with aclosing(answer.content) as parts:  # a stream that has begun deletes its file
        async for part in parts:
            if method == "HEAD":
                break
            await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
