"""The body of a request: strict JSON, or a table as an upload.

    application/json                     checked with the schema of the operation
    multipart/form-data                  `table`, a file, and `options`, JSON beside it
    text/csv, ... (`TABLE_TYPES`)        the table itself

Anything else is 415, also a body that is compressed. JSON has no NaN, no infinite numbers, no field
twice, and is UTF-8 without a byte order mark.
"""

import shutil
from codecs import BOM_UTF8
from pathlib import Path, PurePosixPath

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from weal.tables.results_reader import TEXT_SUFFIXES
from weal.web.api.call import Call, Upload, read_json
from weal.web.api.operations import FORM_TYPE, JSON_TYPE, TABLE_TYPES
from weal.web.api.schema_check import check
from weal.web.problems import RequestProblem, invalid_request
from weal.web.server_folder import new_file

UPLOAD_SUFFIXES = (*TEXT_SUFFIXES, ".xlsx", ".parquet")
LARGE_JSON_BYTES = 2**18  # a larger body is parsed in a thread
MAX_CALLED_LETTERS = 80


async def read_content(call: Call, request: Request) -> None:
    """Read the body of the request into the call."""
    _refuse_compression(call.headers.get("content-encoding", ""))
    kind, charset = _content_type(call.headers.get("content-type", ""))
    operation = call.operation
    if operation.upload and kind == FORM_TYPE:
        await _read_form(call, request)
    elif operation.upload == "table" and kind in TABLE_TYPES:
        await _read_table(call, request, TABLE_TYPES[kind])
    elif kind == JSON_TYPE and charset in ("", "utf-8"):
        body = await request.body()
        parse = (
            _parse(body) if len(body) < LARGE_JSON_BYTES else await run_in_threadpool(_parse, body)
        )
        _set_body(call, parse)
    elif kind or await request.body():
        raise _unsupported(call, kind)
    elif operation.needs_body:
        raise _unsupported(call, "no content")
    if operation.body is None and call.body:
        raise RequestProblem(422, "invalid_request", "this takes no body: leave it out")


def _refuse_compression(encoding: str) -> None:
    if encoding.strip().lower() not in ("", "identity"):
        words = f"send the body as it is, not compressed (Content-Encoding: {encoding[:40]})"
        raise RequestProblem(
            415, "unsupported_media_type", words, headers={"accept-encoding": "identity"}
        )


def _set_body(call: Call, value: object) -> None:
    schema = call.operation.body or {"type": "object"}
    if faults := check(value, schema):
        raise invalid_request(faults)
    assert isinstance(value, dict)
    call.body = value


def _parse(body: bytes) -> object:
    if not body:
        raise RequestProblem(400, "malformed_json", "the body is empty: send a JSON object")
    if body.startswith(BOM_UTF8):
        words = "the body begins with a byte order mark: send it without (UTF-8, no BOM)"
        raise RequestProblem(400, "malformed_json", words)
    try:
        return read_json(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        words = f"byte {error.start + 1} is not UTF-8; send it as UTF-8, without compression"
        raise RequestProblem(400, "malformed_json", f"the body is not JSON: {words}") from None
    except (ValueError, RecursionError) as error:
        words = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise RequestProblem(400, "malformed_json", f"the body is not JSON: {words}") from None


def _content_type(header: str) -> tuple[str, str]:
    kind, _, rest = header.partition(";")
    charset = rest.partition("charset=")[2].partition(";")[0].strip().strip('"').lower()
    return kind.strip().lower(), charset


def _unsupported(call: Call, kind: str) -> RequestProblem:
    forms = {"": (), "form": (FORM_TYPE,), "table": (FORM_TYPE, *TABLE_TYPES)}
    types = [JSON_TYPE, *forms[call.operation.upload]]
    return RequestProblem(
        415, "unsupported_media_type", f"send {', '.join(types)}, not {kind[:60] or 'no type'}",
        headers={"accept-post": ", ".join(types)},
    )  # fmt: skip


async def _read_form(call: Call, request: Request) -> None:
    """The table and the options of a form."""
    try:
        form = await request.form(max_files=1, max_fields=5, max_part_size=2**20)
    except HTTPException as error:
        if error.status_code != 400:  # the body is too large
            raise
        words = f"{error.detail} Send `table` as the only file, and `options` as JSON text"
        raise RequestProblem(400, "malformed_body", words) from None
    try:
        table, options = form.get("table"), form.get("options")
        if unknown := [name for name in form if name not in ("table", "options")]:
            words = f"there is no part {unknown[0][:60]!r}: send `table` and `options`"
            raise RequestProblem(422, "invalid_request", words)
        if not isinstance(table, UploadFile) or isinstance(options, UploadFile):
            words = "send the table as a file named `table`, and `options` as JSON text"
            raise RequestProblem(422, "invalid_request", words)
        ending = PurePosixPath(table.filename or "").suffix.lower()
        if ending not in UPLOAD_SUFFIXES:
            words = f"the name of the file must end in {', '.join(UPLOAD_SUFFIXES)}"
            raise RequestProblem(422, "invalid_request", words)
        _set_body(call, {} if options is None else _parse(options.encode()))
        path = new_file(call.server.results.folder, ending)
        await run_in_threadpool(_copy, table, path)
        call.upload = Upload(path, _called(table.filename))
    finally:
        await form.close()


def _copy(table: UploadFile, path: Path) -> None:
    try:
        with path.open("xb") as file:
            shutil.copyfileobj(table.file, file)
    except OSError:  # the disk may be full: delete the half
        path.unlink(missing_ok=True)
        raise


async def _read_table(call: Call, request: Request, ending: str) -> None:
    """A table that is the body itself."""
    path = new_file(call.server.results.folder, ending)
    try:
        with path.open("xb") as file:
            async for part in request.stream():
                await run_in_threadpool(file.write, part)
    except BaseException:  # too large, or the client is gone
        path.unlink(missing_ok=True)
        raise
    call.upload = Upload(path, "the table")


def _called(name: str | None) -> str:
    return (name or "the table").replace("\\", "/").rpartition("/")[2][:MAX_CALLED_LETTERS]
