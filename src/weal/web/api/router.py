"""The routes of the API: every operation, and the OpenAPI document that describes them."""

import json
from functools import cache

from weal.web.api import campaigns, reports, rows  # noqa: F401, register operations
from weal.web.api.application import Api
from weal.web.api.call import Answer, Call
from weal.web.api.openapi import openapi
from weal.web.api.operations import OPERATIONS, Example, Operation, operation
from weal.web.request import ServerContext


@cache
def document() -> bytes:
    """The OpenAPI document as JSON."""
    return json.dumps(openapi(OPERATIONS)).encode()


@operation(
    "GET", "/openapi.json", "get_openapi", "The OpenAPI document.",
    may="read", answer={"type": "object"}, examples=[Example("the document", path={})],
)  # fmt: skip
def get_openapi(call: Call) -> Answer:
    """The description of all operations, in OpenAPI 3.1."""
    return Answer(document())


def make_api(server: ServerContext) -> Api:
    """The ASGI app of all operations."""
    return Api(server, OPERATIONS)


def find_operation(id: str) -> Operation:
    """The operation with this id."""
    return next(one for one in OPERATIONS if one.id == id)
