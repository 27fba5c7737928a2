"""Authentication: tokens, sessions and one-time codes, and the visit that each of them gives.

    token      `Authorization: Bearer TOKEN` of a program; a form, or `?token=` in the printed
               address, logs a browser in
    session    the cookie of a browser that is logged in: a session id, never the token
    code       `?code=CODE`, opened by `weal serve --open`: it logs in once, within 60 s

Each leads to a token that is valid now, and the token to its actor (name and permissions). So a new
token (`--new-token`) or a revocation ends every session of the old one.

Tokens with a name are in the store (`weal.store.tokens`). Two more belong to the server's folder,
each with an actor that has no name:

    token             full access: in the address that `weal serve` prints
    token-read-only   reading: in the address that `weal serve --read-only` prints

Each is a file with 32 random bytes that only its owner can read. It survives a restart, since `weal
serve` prints the same address again, and is the only secret that is stored as plain text. With
`--named-only` there is none, and no token is printed. A running
server reads a token file again when it changes: `--new-token` of another process takes effect at
once.
"""

import hashlib
import hmac
import re
import secrets
import stat
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from secrets import token_urlsafe
from typing import Protocol

from weal.store.actors import FULL_ACCESS, READ_ONLY, Actor
from weal.store.tokens import PREFIX, Token, digest_of
from weal.web.rate_limits import LoginLimit, RateLimit, request_limit
from weal.web.sessions import BrowserSession, Sessions, write_private

TOKEN_LETTERS = 43  # 32 random bytes in base64


TOKEN_FILES = {FULL_ACCESS: "token", READ_ONLY: "token-read-only"}


class Tokens:
    """The valid tokens of a server's folder, by their digests."""

    def __init__(self, folder: Path, files: Mapping[Actor, str]) -> None:
        self._folder, self._files = folder, files
        self._read: dict[Path, tuple[object, str | None]] = {}  # version of a file, digest

    def actors(self) -> dict[str, Actor]:
        """The actor of every valid token, by the digest of the token."""
        found = {self._digest(self._folder / file): one for one, file in self._files.items()}
        return {digest: one for digest, one in found.items() if digest is not None}

    def find(self, token: str) -> str | None:
        """The digest of a valid token, or None, in constant time."""
        given = digest_of(token)
        valid = [one for one in self.actors() if hmac.compare_digest(one, given)]
        return valid[0] if valid else None

    def digest(self, actor: Actor) -> str | None:
        """The digest of the actor's token, or None."""
        return self._digest(self._folder / self._files[actor]) if actor in self._files else None

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


class TokenLookup(Protocol):
    """A store, as far as logging in needs it."""

    def find_token(self, digest: str) -> Token | None:
        """The token with this digest that is valid now, or None."""


class Access:
    """The tokens, sessions and one-time codes of a server's folder, and the tokens of its store."""

    def __init__(
        self, folder: Path, store: TokenLookup | None = None, named_only: bool = False
    ) -> None:
        self.tokens = Tokens(folder, {} if named_only else TOKEN_FILES)
        self.sessions = Sessions(folder)
        self._store = store
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

    def check_token(self, token: str) -> str | None:
        """The digest of a valid token of the folder or the store, or None."""
        found = self.tokens.find(token)
        if found is not None or not token.startswith(PREFIX):
            return found
        digest = digest_of(token)
        return digest if self._find_stored(digest) is not None else None

    def find_actor(self, digest: str) -> Actor | None:
        """The actor of the token with this digest if it is valid; may wait for the store."""
        return self.tokens.actors().get(digest) or self._find_stored(digest)

    def needs_store(self, token: str, ids: Iterable[str]) -> bool:
        """Whether the store has to say whether this token or these session ids are valid."""
        own = self.tokens.actors()
        if token.startswith(PREFIX) and digest_of(token) not in own:
            return True
        sessions = (self.sessions.find(one) for one in ids)
        return any(one is not None and one.token not in own for one in sessions)

    def visit_by_token(self, token: str) -> Visit | None:
        """The visit of a program that sends this token."""
        digest = self.check_token(token)
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
            return self.find_actor(visit.token) is not None
        return self.visit_by_session([visit.secret]) is not None

    def _find_stored(self, digest: str) -> Actor | None:
        found = self._store.find_token(digest) if self._store is not None else None
        return None if found is None else found.actor

    def _visit(self, secret: str, token: str, session: BrowserSession | None) -> Visit | None:
        actor = self.find_actor(token)
        return Visit(actor, secret, token, session) if actor else None


LOOPBACK = frozenset(("127.0.0.1", "localhost", "::1"))


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """The access rules of a server."""

    access: Access
    port: int
    hosts: frozenset[str] = LOOPBACK
    read_only: bool = False
    secure: bool = False  # whether the server speaks https itself
    root_path: str = ""  # "/weal", if a proxy serves other things beside
    requests: RateLimit = field(default_factory=partial(request_limit, 0.0))
    logins: LoginLimit = field(default_factory=LoginLimit)
    reachable: str = ""  # its address for other machines; empty: it is not known, or there is none

    @property
    def cookie_path(self) -> str:
        """The path of all cookies: other programs on the host do not get them."""
        return f"{self.root_path}/"
