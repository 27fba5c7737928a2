"""Logs of weal: records of the loggers `weal.*`, silent until somebody listens.

    record("campaign", "INFO", "3 events written", campaign="alloys", event=12)

A record goes to the logger `weal.campaign`. In Python, `logging` decides what is shown; in the
shell and for `weal serve`, --log-level and --log-format do (`configure`):

    text   2026-11-18T09:30:00.123Z INFO weal.campaign: 3 events written campaign=alloys event=12
    json   {"time": "...", "level": "INFO", "logger": "weal.campaign", "message": ..., "event": 12}

No record has a secret: `scrub` masks tokens, session ids, passwords in URLs and the values of
headers and parameters that carry them, in the message, in fields and in tracebacks, before a
handler sees the record.

`logging` takes a while to import. As long as no other module has imported it nobody can listen, so
that a record costs nothing.
"""

import json
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging

LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("text", "json")
MASK = "***"
MIN_SECRET_LETTERS = 3
_FIELDS = "weal_fields"  # of a log record
_PATTERNS = (
    (re.compile(r"(?i)\b(bearer|basic)\s+[^\s\"',;]+"), rf"\1 {MASK}"),
    (re.compile(r"://[^\s\"'<>]*@"), f"://{MASK}@"),  # user:password@
    (
        re.compile(
            r"(?i)\b((?:[\w-]*(?:token|password|passwd|secret|cookie|session|authorization))|code"
            r"|passfile|sslkey)(\"?\s*[=:]\s*[\"']?)(?!\*\*\*)[^\s\"'&,;}]+"
        ),
        rf"\1\2{MASK}",
    ),
    (re.compile(r"(?<![\w-])(?=[\w-]*[0-9A-Z])[\w-]{40,}"), MASK),  # tokens, session ids, digests
)
_request_id: ContextVar[str] = ContextVar("request_id", default="")
_hidden: set[str] = set()
_settings: dict[str, str] = {}


def hide(secrets: Iterable[str]) -> None:
    """Mask these texts in all further records, such as the password of the store."""
    _hidden.update(one for one in secrets if len(one) >= MIN_SECRET_LETTERS)


def scrub(text: str) -> str:
    """The text without secrets.

    >>> scrub("GET /?token=abc Authorization: Bearer xyz postgresql://ann:geheim@db/lab")
    'GET /?token=*** Authorization: *** *** postgresql://***@db/lab'
    """
    for one in sorted(_hidden, key=len, reverse=True):
        text = text.replace(one, MASK)
    for pattern, instead in _PATTERNS:
        text = pattern.sub(instead, text)
    return text


@contextmanager
def request(id_: str) -> Iterator[None]:
    """A block whose records carry the id of a request; empty: of none."""
    before = _request_id.set(id_)
    try:
        yield
    finally:
        _request_id.reset(before)


def current_request() -> str:
    """The id of the request that this block works for; empty: of none."""
    return _request_id.get()


def record(
    name: str, level: str, message: str, error: BaseException | None = None, /, **fields: object
) -> None:
    """Log a message with fields, and the traceback of an error."""
    logging = sys.modules.get("logging")
    if logging is None:
        return
    root = logging.getLogger("weal")
    if not root.handlers:
        root.addHandler(logging.NullHandler())  # else Python prints warnings on stderr
    logger = logging.getLogger(f"weal.{name}")
    number = getattr(logging, level)
    if logger.isEnabledFor(number):
        named = {"request_id": id_} if (id_ := current_request()) else {}
        own = {key: _plain(value) for key, value in {**named, **fields}.items()}
        if error is not None:
            from traceback import format_exception

            own["traceback"] = scrub("".join(format_exception(error)))
        logger.log(number, "%s", scrub(message), extra={_FIELDS: own})


def configure(level: str | None = None, form: str | None = None) -> None:
    """Write records of this level and above to stderr; without a level those of info."""
    import logging

    _settings.update({"level": level or _settings.get("level", "info"),
                      "form": form or _settings.get("form", "text")})  # fmt: skip
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(make_formatter(_settings["form"]))
    root = logging.getLogger("weal")
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(_settings["level"].upper())
    root.propagate = False


def settings() -> dict[str, str]:
    """Level and format that were configured, for a child process; empty: none."""
    return dict(_settings)


def make_formatter(form: str) -> "logging.Formatter":
    """The formatter of a format."""
    import logging
    from datetime import UTC, datetime

    def time_of(one: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(one.created, UTC)
        return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    class Text(logging.Formatter):
        """One line, with the fields at its end; then the traceback."""

        def format(self, record: logging.LogRecord) -> str:
            fields = dict(getattr(record, _FIELDS, {}))
            traceback = fields.pop("traceback", "")
            more = "".join(f" {key}={_word(value)}" for key, value in fields.items())
            head = f"{time_of(record)} {record.levelname} {record.name}: "
            said = " ".join(scrub(f"{record.getMessage()}{more}").splitlines())
            return f"{head}{said}\n{traceback}".rstrip()

    class Json(logging.Formatter):
        """One JSON object on a line."""

        def format(self, record: logging.LogRecord) -> str:
            own = {
                "time": time_of(record),
                "level": record.levelname,
                "logger": record.name,
                "message": scrub(record.getMessage()),
            }
            return json.dumps({**getattr(record, _FIELDS, {}), **own})

    return Json() if form == "json" else Text()


def _plain(value: object) -> object:
    return value if isinstance(value, bool | int | float | None) else scrub(str(value))


def _word(value: object) -> str:
    text = str(value)
    return json.dumps(text) if not text or re.search(r"[\s\"=]", text) else text
