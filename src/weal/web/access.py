"""Who makes a request: tokens, sessions and one-time codes, and the visit that they give.

    token      `Authorization: Bearer TOKEN` of a program; `?token=TOKEN` of a browser that logs in
    session    the cookie of a browser that has logged in
    code       `?code=CODE`, what `weal serve --open` opens: it logs in once, within 60 s

Each leads to a token that is valid now, and the token to its principal (name and role). So a new
token ends every session of the old one, on every server of the folder.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_urlsafe

from weal.web.sessions import Session, Sessions
from weal.web.token import Principal, Tokens, digest_of, form_token

CODE_SECONDS = 60.0  # a one-time code is refused after this


@dataclass(frozen=True, slots=True)
class Visit:
    """An authenticated request: its principal, and what showed who it is."""

    principal: Principal
    secret: str = field(repr=False)  # the session id or the token
    token: str  # the digest of the token that lets it in
    session: Session | None  # None: the token itself came with the request

    @property
    def is_bearer(self) -> bool:
        """Whether a program sent the token itself, which no other site can make a browser do."""
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
        """A code that logs in as this principal, once and soon."""
        token = self.tokens.digest(principal)
        if token is None:
            raise ValueError("the token was deleted: start weal serve again")
        code = token_urlsafe(32)
        self._codes[digest_of(code)] = time.monotonic() + CODE_SECONDS, token
        return code

    def check_code(self, code: str) -> str | None:
        """The digest of the token that a code stands for; the code is dead after this."""
        ends, token = self._codes.pop(digest_of(code), (0.0, ""))
        return token if time.monotonic() < ends and token in self.tokens.principals() else None

    def visit_by_token(self, token: str) -> Visit | None:
        """The visit of a program that sends the token itself."""
        found = self.tokens.find(token)
        return None if found is None else self._visit(token, found, None)

    def visit_by_session(self, ids: Iterable[str]) -> Visit | None:
        """The visit of a browser; of several cookies with one name, the first that is a session."""
        for id_ in ids:
            session = self.sessions.find(id_)
            if session and (visit := self._visit(id_, session.token, session)):
                return visit
        return None

    def is_valid(self, visit: Visit) -> bool:
        """Whether the visit would still be let in."""
        if visit.is_bearer:
            return visit.token in self.tokens.principals()
        return self.visit_by_session([visit.secret]) is not None

    def _visit(self, secret: str, token: str, session: Session | None) -> Visit | None:
        principal = self.tokens.principals().get(token)
        return Visit(principal, secret, token, session) if principal else None
