"""Authentication: tokens, sessions and one-time codes, and the visit that each of them gives.

    token      `Authorization: Bearer TOKEN` of a program; `?token=TOKEN` logs a browser in
    session    the cookie of a browser that is logged in: a session id, never the token
    code       `?code=CODE`, opened by `weal serve --open`: it logs in once, within 60 s

Each leads to a token that is valid now, and the token to its actor (name and permissions). So a new
token (`--new-token`) ends every session of the old one, on every server of the folder.

A session is a small file in the server's folder, `sessions/SHA-256 OF ITS ID`:

    {"v": 1, "token": digest of its token, "began": ..., "expires": ...}

Sessions therefore survive a restart and are shared by all servers of the folder, and a reader of
the folder learns no id to log in with. A file that cannot be read is no session.

Two tokens belong to a store's server, each with its actor, which has no name:

    token             full access: in the address that `weal serve` prints
    token-read-only   reading: in the address that `weal serve --read-only` prints

Each is a file with 32 random bytes that only its owner can read. It survives a restart, since `weal
serve` prints the same address again, and is the only secret that is stored as plain text. Of
sessions and one-time codes only the SHA-256 digest is stored; they are long and random, so a digest
without salt cannot be reversed.

A running server reads a token file again when it changes: `--new-token` of another process takes
effect at once.
"""

import hashlib
import hmac
import json
import re
import secrets
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_urlsafe

from weal.files import Replace, is_plain_file, write_atomically
from weal.store.actors import FULL_ACCESS, READ_ONLY, Actor

TOKEN_LETTERS = 43  # 32 random bytes in base64


TOKEN_FILES = {FULL_ACCESS: "token", READ_ONLY: "token-read-only"}


class Tokens:
    """The valid tokens of a server's folder, by their digests."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[Path, tuple[object, str | None]] = {}  # version of a file, digest

    def actors(self) -> dict[str, Actor]:
        """The actor of every valid token, by the digest of the token."""
        found = {self._digest(self._folder / file): one for one, file in TOKEN_FILES.items()}
        return {digest: one for digest, one in found.items() if digest is not None}

    def find(self, token: str) -> str | None:
        """The digest of a valid token, or None, in constant time."""
        given = digest_of(token)
        valid = [one for one in self.actors() if hmac.compare_digest(one, given)]
        return valid[0] if valid else None

    def digest(self, actor: Actor) -> str | None:
        """The digest of the actor's token, or None."""
        return self._digest(self._folder / TOKEN_FILES[actor])

    def _digest(self, path: Path) -> str | None:
        try:
            found = path.stat()
            version = (found.st_ino, found.st_mtime_ns, found.st_size)
            if self._read.get(path, (None, None))[0] != version:
                token = path.read_text(encoding="ascii").strip()
                self._read[path] = (
                    version,
                    digest_of(token) if len(token) >= TOKEN_LETTERS else None,
                )
            return self._read[path][1]
        except (OSError, ValueError):  # an unreadable file holds no token
            return None


def get_or_create_token(folder: Path, new: bool = False, actor: Actor = FULL_ACCESS) -> str:
    """The token of an actor in this folder; created if there is none, or if `new` is true."""
    path = folder / TOKEN_FILES[actor]
    replace = new or not _is_private(path)
    if replace or not path.exists():
        write_private(path, f"{secrets.token_urlsafe(32)}\n", is_token if replace else False)
    found = path.read_text(encoding="ascii").strip()
    if len(found) < TOKEN_LETTERS:
        raise ValueError(f"{path} holds no token of weal: `weal serve --new-token` creates one")
    return found


def digest_of(secret: str) -> str:
    """The digest of a token, a session id or a code."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def secrets_equal(given: str, secret: str) -> bool:
    """Whether two secrets are equal, in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), secret.encode())


def form_token(secret: str) -> str:
    """The hidden field of a form: a keyed digest of the session id."""
    return hmac.new(secret.encode("utf-8", "replace"), b"weal form", hashlib.sha256).hexdigest()


def cookie_name(port: int) -> str:
    """The cookie of the server at this port: browsers send cookies to all ports of a host."""
    return f"weal-{port}"


def _is_private(path: Path) -> bool:
    """Whether only the owner can read the file, or there is none."""
    try:
        return not stat.S_IMODE(path.stat().st_mode) & 0o077
    except FileNotFoundError:
        return True


def is_token(path: Path) -> bool:
    """Whether a file holds a token, or the beginning of one."""
    with path.open("rb") as file:
        return re.fullmatch(rb"[\w-]{0,43}\n?", file.read(2 * TOKEN_LETTERS)) is not None


def write_private(path: Path, text: str, replace: Replace) -> None:
    """Write a file for its owner only; without `replace` the first writer wins."""
    with suppress(FileExistsError):
        write_atomically(path, text.encode(), replace, 0o600)


SESSION_VERSION = 1
SESSION_SECONDS = 30 * 24 * 3600  # after the login
MAX_SESSIONS = 1000  # of a token; the oldest end first


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """A login: the digest of its token, its begin and its end (seconds since 1970)."""

    token: str
    began: float
    expires: float


class Sessions:
    """The sessions of a server's folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "sessions"

    def begin(self, token: str) -> str:
        """The id of a new session of the token with this digest."""
        self._folder.mkdir(exist_ok=True, mode=0o700)
        self._remove_old(token)
        id_, now = secrets.token_urlsafe(32), time.time()
        plain = {
            "v": SESSION_VERSION,
            "token": token,
            "began": now,
            "expires": now + SESSION_SECONDS,
        }
        write_private(self._path(id_), json.dumps(plain), replace=False)
        return id_

    def find(self, id_: str) -> BrowserSession | None:
        """The session with this id if it has not expired."""
        found = _read(self._path(id_))
        return found if found and found.expires > time.time() else None

    def end(self, id_: str) -> None:
        """End a session."""
        _remove(self._path(id_))

    def end_all(self, token: str | None = None) -> None:
        """End every session of the token with this digest, or all sessions."""
        for path in self._paths():
            session = _read(path)
            if session is not None and token in (None, session.token):
                _remove(path)

    def _remove_old(self, token: str) -> None:
        """Remove expired sessions, and the oldest of this token if there are too many."""
        began = {}
        for path in self._paths():
            session = _read(path)
            if session is not None and session.expires <= time.time():
                _remove(path)
            elif session is not None and session.token == token:
                began[path] = session.began
        surplus = max(0, len(began) - MAX_SESSIONS + 1)
        for path in sorted(began, key=lambda one: began[one])[:surplus]:
            _remove(path)

    def _paths(self) -> Iterator[Path]:
        return self._folder.glob("[0-9a-f]" * 64)

    def _path(self, id_: str) -> Path:
        return self._folder / digest_of(id_)


def _remove(path: Path) -> None:
    """Remove a file if it holds a session."""
    if _read(path) is not None:
        path.unlink(missing_ok=True)


def _read(path: Path) -> BrowserSession | None:
    if not is_plain_file(path):
        return None
    with suppress(OSError, ValueError, KeyError, TypeError):
        plain = json.loads(path.read_bytes())
        if plain["v"] == SESSION_VERSION:
            return BrowserSession(
                str(plain["token"]), float(plain["began"]), float(plain["expires"])
            )
    return None


CODE_SECONDS = 60.0  # validity of a one-time code


@dataclass(frozen=True, slots=True)
class Visit:
    """An authenticated request: its actor and its secret."""

    actor: Actor
    secret: str = field(repr=False)  # the session id or the token
    token: str  # digest of its token
    session: BrowserSession | None  # None if the request sent the token itself

    @property
    def is_bearer(self) -> bool:
        """Whether the request sent the token itself, which no other site can make a browser do."""
        return self.session is None

    @property
    def form_token(self) -> str:
        """The hidden field of this visitor's forms."""
        return form_token(self.secret)


class Access:
    """The tokens, sessions and one-time codes of a server's folder."""

    def __init__(self, folder: Path) -> None:
        self.tokens, self.sessions = Tokens(folder), Sessions(folder)
        self._codes: dict[str, tuple[float, str]] = {}  # digest: when it ends, digest of the token

    def new_code(self, actor: Actor) -> str:
        """A code that logs in as this actor once, within a minute."""
        token = self.tokens.digest(actor)
        if token is None:
            raise ValueError("the token was deleted: start weal serve again")
        code = token_urlsafe(32)
        self._codes[digest_of(code)] = time.monotonic() + CODE_SECONDS, token
        return code

    def check_code(self, code: str) -> str | None:
        """The digest of the code's token, or None; the code cannot be used again."""
        ends, token = self._codes.pop(digest_of(code), (0.0, ""))
        return token if time.monotonic() < ends and token in self.tokens.actors() else None

    def visit_by_token(self, token: str) -> Visit | None:
        """The visit of a program that sends this token."""
        digest = self.tokens.find(token)
        return None if digest is None else self._visit(token, digest, None)

    def visit_by_session(self, ids: Iterable[str]) -> Visit | None:
        """The visit of a browser: the first of these ids that is a session."""
        for id_ in ids:
            session = self.sessions.find(id_)
            if session and (visit := self._visit(id_, session.token, session)):
                return visit
        return None

    def is_valid(self, visit: Visit) -> bool:
        """Whether the token or session of the visit is still valid."""
        if visit.is_bearer:
            return visit.token in self.tokens.actors()
        return self.visit_by_session([visit.secret]) is not None

    def _visit(self, secret: str, token: str, session: BrowserSession | None) -> Visit | None:
        actor = self.tokens.actors().get(token)
        return Visit(actor, secret, token, session) if actor else None
