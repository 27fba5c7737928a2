"""Sessions of browsers: small files in the server's folder, `sessions/SHA-256 OF ITS ID`.

    {"v": 1, "token": digest of its token, "began": ..., "expires": ...}

Sessions survive a restart and are shared by all servers of the folder, and a reader of the folder
learns no id to log in with. A file that cannot be read is ignored. A session has the actor of
its token, and ends with it.
"""

import json
import secrets
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from weal.files import Replace, is_plain_file, write_atomically
from weal.store.tokens import digest_of

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


def write_private(path: Path, text: str, replace: Replace) -> None:
    """Write a file for its owner only; without `replace` the first writer wins."""
    with suppress(FileExistsError):
        write_atomically(path, text.encode(), replace, 0o600)
