"""Authentication: tokens, sessions and one-time codes, and the visit that each of them gives.

    token      `Authorization: Bearer TOKEN` of a program; `?token=TOKEN` logs a browser in
    session    the cookie of a browser that is logged in: a session id, never the token
    code       `?code=CODE`, opened by `weal serve --open`: it logs in once, within 60 s

Each leads to a token that is valid now, and the token to its principal (name and role). So a new
token (`--new-token`) ends every session of the old one, on every server of the folder.

A session is a small file in the server's folder, `sessions/SHA-256 OF ITS ID`:

    {"v": 1, "token": digest of its token, "began": ..., "expires": ...}

Sessions therefore survive a restart and are shared by all servers of the folder, and a reader of
the folder learns no id to log in with. A file that cannot be read is no session.
"""

import json
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_urlsafe

from weal.files import is_plain_file
from weal.web.token import Principal, Tokens, digest_of, form_token, write_private

VERSION = 1
SESSION_SECONDS = 30 * 24 * 3600  # after the login
MAX_SESSIONS = 1000  # of a token; the oldest end first


@dataclass(frozen=True, slots=True)
class Session:
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
        plain = {"v": VERSION, "token": token, "began": now, "expires": now + SESSION_SECONDS}
        write_private(self._path(id_), json.dumps(plain), replace=False)
        return id_

    def find(self, id_: str) -> Session | None:
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


def _read(path: Path) -> Session | None:
    if not is_plain_file(path):
        return None
    with suppress(OSError, ValueError, KeyError, TypeError):
        plain = json.loads(path.read_bytes())
        if plain["v"] == VERSION:
            return Session(str(plain["token"]), float(plain["began"]), float(plain["expires"]))
    return None


CODE_SECONDS = 60.0  # validity of a one-time code


@dataclass(frozen=True, slots=True)
class Visit:
    """An authenticated request: its principal and its secret."""

    principal: Principal
    secret: str = field(repr=False)  # the session id or the token
    token: str  # digest of its token
    session: Session | None  # None if the request sent the token itself

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

    def new_code(self, principal: Principal) -> str:
        """A code that logs in as this principal once, within a minute."""
        token = self.tokens.digest(principal)
        if token is None:
            raise ValueError("the token was deleted: start weal serve again")
        code = token_urlsafe(32)
        self._codes[digest_of(code)] = time.monotonic() + CODE_SECONDS, token
        return code

    def check_code(self, code: str) -> str | None:
        """The digest of the code's token, or None; the code cannot be used again."""
        ends, token = self._codes.pop(digest_of(code), (0.0, ""))
        return token if time.monotonic() < ends and token in self.tokens.principals() else None

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
            return visit.token in self.tokens.principals()
        return self.visit_by_session([visit.secret]) is not None

    def _visit(self, secret: str, token: str, session: Session | None) -> Visit | None:
        principal = self.tokens.principals().get(token)
        return Visit(principal, secret, token, session) if principal else None
