"""Operations of the API: what each takes, what it answers, who may call it, and examples.

    @operation("POST", "/campaigns/{name}/skip", "skip", "Leave rows out.", may="skip",
               body=object_of({"ids": IDS, "note": NOTE}, "ids"), answer="skip")
    def skip(call: Call) -> Answer: ...

An operation is a function of a `Call`. A plain function runs in a thread, a coroutine function in
the event loop. The request is checked with the schemas given here (`schema_check`) before the
function is called, and the OpenAPI document is made from the same (`openapi`). Answers have the
schemas of `--json` of the shell (`weal/cli/schemas`), named by the command.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from weal.store.events import MAX_ID, MAX_KEY, MAX_NOTE, MAX_WHO

if TYPE_CHECKING:
    pass

JsonSchema = dict[str, Any]
Function = "Callable[[Call], Answer | Awaitable[Answer]]"
MAX_IDS = 10_000  # in one request
MAX_CLIENT_KEY = MAX_KEY - 20  # a key of an ask gets a prefix and a number

JSON_TYPE = "application/json"
FORM_TYPE = "multipart/form-data"
XLSX_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PARQUET_TYPE = "application/vnd.apache.parquet"
TABLE_TYPES = {
    "text/csv": ".csv",
    "text/tab-separated-values": ".tsv",
    XLSX_TYPE: ".xlsx",
    PARQUET_TYPE: ".parquet",
}
NDJSON_TYPE = "application/x-ndjson"

ID: JsonSchema = {
    "type": ["string", "integer"],
    "minLength": 1,
    "maxLength": MAX_ID,
    "minimum": -(2**53),
    "maximum": 2**53,
    "description": "Of a row.",
}
IDS: JsonSchema = {
    "type": "array",
    "items": ID,
    "minItems": 1,
    "maxItems": MAX_IDS,
    "description": "Of rows.",
}
NOTE: JsonSchema = {"type": "string", "maxLength": MAX_NOTE, "description": "Kept with it."}
BY: JsonSchema = {
    "type": "string",
    "maxLength": MAX_WHO,
    "description": "Name of the person, where the token has no name of its own.",
}
KEY: JsonSchema = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_CLIENT_KEY,
    "description": "A key of your choice, as the header Idempotency-Key: the same request with the "
    "same key again writes nothing.",
}
WRITE_FIELDS: dict[str, JsonSchema] = {"by": BY, "key": KEY}


def flag(description: str) -> JsonSchema:
    """A field that is true or false; false without it."""
    return {"type": "boolean", "default": False, "description": description}


def object_of(properties: Mapping[str, JsonSchema], *required: str) -> JsonSchema:
    """A JSON object with these fields and no other."""
    found: JsonSchema = {
        "type": "object",
        "properties": dict(properties),
        "additionalProperties": False,
    }
    return {**found, "required": list(required)} if required else found


@dataclass(frozen=True, slots=True)
class Parameter:
    """A query parameter."""

    name: str
    schema: JsonSchema
    description: str = ""
    is_required: bool = False

    @property
    def is_several(self) -> bool:
        """Whether it may be given more than once."""
        return bool(self.schema.get("type") == "array")


@dataclass(frozen=True, slots=True)
class Example:
    """A request that is run as a test, in the order of the operations."""

    name: str
    body: object = None
    query: Mapping[str, object] = field(default_factory=dict)
    path: Mapping[str, str] = field(default_factory=lambda: {"name": "alloys"})
    status: int = 200
    media: str = "application/json"  # of a body that is text


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation: a method of a path."""

    method: str
    path: str  # below /api/v1
    id: str
    summary: str
    may: str  # the permission that it needs
    function: Any  # a function of a Call
    answer: str | JsonSchema  # a schema of the shell by its name, or another one
    body: JsonSchema | None = None  # of a JSON body
    needs_body: bool = True
    upload: Literal["", "form", "table"] = ""  # a table in a form, or also as the body itself
    query: Sequence[Parameter] = ()
    status: int = 200
    description: str = ""
    media: Sequence[str] = ("application/json",)  # of the answer
    examples: Sequence[Example] = ()
    links: Mapping[str, JsonSchema] = field(default_factory=dict)  # body of an operation after it
    is_conditional: bool = False  # a GET that answers 304 to If-None-Match

    @property
    def writes(self) -> bool:
        """Whether it changes a campaign."""
        return self.method != "GET" and self.may != "read"


OPERATIONS: list[Operation] = []


def operation(
    method: str, path: str, id: str, summary: str, **more: Any
) -> "Callable[[Callable[..., object]], Callable[..., object]]":
    """Register the function of an operation; its docstring is the description."""

    def add(function: Callable[..., object]) -> Callable[..., object]:
        description = " ".join((function.__doc__ or "").split())
        OPERATIONS.append(
            Operation(method, path, id, summary, function=function, description=description, **more)
        )
        return function

    return add
