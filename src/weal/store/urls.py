"""Names of stores: one parser for every command and for Python, and masking of passwords.

    memory:
    sqlite:///file.db | file.db | file.sqlite | file.sqlite3
    postgresql://user:password@host:port/database?option=value

Schemes are read in any case. The text that is shown is built from parsed parts only, so it never
contains a password. For a name that cannot be parsed, only the scheme is shown, since any other
part may be a password. A bare path that could be a
mistyped address (a colon before an @, `password=`) is not read as a file name.
"""

import os
import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

DEFAULT_URL = "sqlite:///weal.db"
DATABASE_ENDINGS = (".db", ".sqlite", ".sqlite3")
_WRITE = (
    "write sqlite:///file.db, a path that ends in .db, postgresql://user:password@host/database, "
    "or memory:"
)
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+):", re.IGNORECASE)  # one letter: a drive of Windows
_SCHEMES = frozenset(("memory", "sqlite", "postgres", "postgresql"))
# Schemes that may be repeated; another word before a colon may be a user's
# fmt: off
_MASK_PATTERNS = frozenset((
    "sqlite3", "postgresql+psycopg", "postgresql+psycopg2", "jdbc", "file", "mysql", "mariadb",
    "mssql", "oracle", "redis", "http", "https", "ftp", "s3", "memory", "sqlite", "postgres",
    "postgresql"
))
# fmt: on
_TEXT_WITHOUT_LOGIN = re.compile(r"[^@:=?&\"'\s\x00-\x1f]*")  # nothing that could be a login
_LOGIN = re.compile(r":.*@|//.*@|\b(pass\w*|pwd|user|host\w*|dbname|port|sslmode)\s*=", re.I | re.S)
_OPTION_VALUE = re.compile(r"(?:pass\w*|pwd)\s*=\s*('[^']*'|\"[^\"]*\"|[^&\s]*)", re.IGNORECASE)
_HOST_PATTERN = r"(?:\[[0-9a-f:.%]+\]|(?:[\w.-]|%2f)*)(?::[0-9]{0,5})?"
_SERVER = re.compile(
    r"(?:(?P<user>[^@:/?#\s]*)(?P<password>:[^@/?#\s]*)?@)?"
    rf"(?P<host>{_HOST_PATTERN}(?:,{_HOST_PATTERN})*)"
    r"(?:/(?P<base>[^@:/?#=&\s]*))?(?:\?(?P<options>[^#\s]*))?",
    re.IGNORECASE,
)
# Options of libpq without a secret in them
# fmt: off
_OPEN_OPTIONS = frozenset((
    "host", "hostaddr", "port", "dbname", "user", "options", "sslmode", "application_name",
    "service", "connect_timeout", "target_session_attrs"
))
# fmt: on
_OPTIONS = _OPEN_OPTIONS | {"password", "sslpassword", "passfile", "sslkey", "sslcert"}


@dataclass(frozen=True, slots=True)
class StoreUrl:
    """The name of a store: its kind, its address, and the text without password."""

    kind: str  # memory, sqlite or postgres
    shown: str
    address: str = field(repr=False)  # a path, or what libpq reads, with its password


def read_name(given: str | os.PathLike[str] | None = None) -> StoreUrl:
    """Parse the name of a store; None: WEAL_STORE, else weal.db in this folder.

    >>> read_name("POSTGRESQL://ann:s3cret@db.example.org/lab")
    StoreUrl(kind='postgres', shown='postgresql://ann:***@db.example.org/lab')
    >>> read_name("weal.db").kind
    'sqlite'
    """
    text = os.fspath(given or os.environ.get("WEAL_STORE") or DEFAULT_URL)
    found = _SCHEME.match(text)
    scheme = found[1].lower() if found else ""
    if scheme == "memory":
        return StoreUrl("memory", "memory:", "memory:")
    if scheme in ("postgresql", "postgres"):
        return _server(text, scheme)
    if scheme == "sqlite":
        return _file(text, text[len("sqlite:///") :] if text[6:10] == ":///" else "")
    if scheme or not text.lower().endswith(DATABASE_ENDINGS) or _LOGIN.search(text):
        raise ValueError(f"{mask(text)!r} is not the name of a store; {_WRITE}")
    return _file(text, text)


def mask(text: str) -> str:
    """The text with *** for everything that may be a password.

    >>> mask("weal.bd"), mask("postgresql:ann:s3cret@host")
    ('weal.bd', 'postgresql:...')
    """
    found = _SCHEME.match(text)
    scheme = found[1].lower() if found else ""
    if scheme in _SCHEMES:
        with suppress(ValueError):  # then only its scheme is shown
            return read_name(text).shown
    if scheme in _MASK_PATTERNS:
        return f"{scheme}:..."
    return text if _TEXT_WITHOUT_LOGIN.fullmatch(text) else "..."


def secrets(text: str) -> set[str]:
    """All parts of a text that may be a password: after a colon before an @, or `password=`."""
    _, slashes, rest = text.partition("://")
    rest = rest if slashes else text
    found = {rest[rest.find(":") + 1 : rest.rfind("@")]} if ":" in rest and "@" in rest else set()
    found |= {rest.rpartition("@")[0]}
    for value in _OPTION_VALUE.findall(text):
        found |= {value, value.strip("'\"")}
    found |= {unquote(one) for one in found}
    found |= {part for one in found for part in re.split(r"[@:/?#'\"\s]+", one)}
    return {one for one in found if one and one != _user(rest)}


def _user(rest: str) -> str:
    return re.split(r"[:@]", rest.lstrip("/"), maxsplit=1)[0]


def _file(text: str, path: str) -> StoreUrl:
    if path in ("", ":memory:") or "\0" in path:
        raise ValueError(
            f"{_mask(text)!r} is not the name of a file; write sqlite:///file.db, "
            "sqlite:////folder/file.db, or memory:"
        )
    if _LOGIN.search(path):
        raise ValueError(
            f"the path in {_mask(text)!r} has a colon before an @, as an address with a password "
            f"has: {_WRITE}"
        )
    return StoreUrl("sqlite", text, str(Path(path).expanduser().absolute()))


def _mask(text: str) -> str:
    rest = text.removeprefix("sqlite:")
    return text if _TEXT_WITHOUT_LOGIN.fullmatch(rest.replace(":memory:", "")) else "sqlite:..."


def _server(text: str, scheme: str) -> StoreUrl:
    rest = text[len(scheme) :]
    found = _SERVER.fullmatch(rest[3:]) if rest.startswith("://") else None
    if found is None:
        raise ValueError(
            f"'{scheme}:...' is not the name of a store: write "
            "postgresql://user:password@host:port/database, "
            "with %40 for @, %3A for :, %2F for /, %3F for ? and %23 for # in user and password"
        )
    user = found["user"]
    login = "" if user is None else f"{_open(user)}{':***' if found['password'] else ''}@"
    base = "" if found["base"] is None else f"/{_open(found['base'])}"
    options = "" if found["options"] is None else f"?{_options(found['options'])}"
    return StoreUrl(
        "postgres", f"{scheme}://{login}{found['host']}{base}{options}", f"{scheme}{rest}"
    )


def _open(part: str) -> str:
    """A user or a database as it was written; *** if an escape could hide a login."""
    return "***" if re.search(r"[@:=]", unquote(part)) else part


def _options(text: str) -> str:
    pairs = [one.partition("=") for one in text.split("&")]
    return "&".join(
        f"{key if key in _OPTIONS else '***'}={value if _is_open(key, value) else '***'}"
        for key, _, value in pairs
    )


def _is_open(key: str, value: str) -> bool:
    return key in _OPEN_OPTIONS and not re.search(r"[@:]|pass", unquote(value), re.IGNORECASE)
