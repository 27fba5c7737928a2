"""Tokens: secrets with a name, permissions, campaigns and an end, kept as digests in the store.

    weal_token   name, digest of the secret, a JSON body, and a checksum of these three

A secret has 256 random bits and is shown once, when it is made. The store keeps its SHA-256 digest:
a random secret of this length cannot be guessed from it, so it needs no salt. Every request
reads the token from the store. A token that is revoked, or expires by the store's clock, is refused
from then on by every server of the store.

The table is made with the first token. weal 0.2 opens such a store and ignores the table. A name
is used again only after its token was revoked or has expired; the row is then replaced.
"""

import hashlib
import hmac
import json
import secrets
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from difflib import get_close_matches

from weal.store.actors import PERMISSIONS, Actor
from weal.store.events import SqlRow, canonical_json, check_text, damage_error, timestamp

PREFIX = "weal_"  # of a secret, so that scanners for secrets recognise it
MAX_NAME = 100  # characters
BODY_VERSION = 1
TOKEN_FIELDS = ("name", "digest", "body", "hash")
_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")  # characters that no name has


@dataclass(frozen=True, slots=True)
class Token:
    """A token as the store keeps it."""

    name: str
    digest: str = field(repr=False)
    may: frozenset[str]
    campaigns: frozenset[str] | None  # None: all
    created: datetime
    expires: datetime | None = None
    revoked: datetime | None = None

    @property
    def actor(self) -> Actor:
        """The actor that a request with this token has."""
        return Actor(self.name, self.may, self.campaigns)

    def state(self, now: datetime) -> str:
        """Whether the token is valid, expired or revoked at this time."""
        if self.revoked is not None:
            return "revoked"
        return "expired" if self.expires is not None and self.expires <= now else "valid"


# The tokens to write, decided under the write lock from the existing ones, and the time.
DecideTokens = Callable[[Sequence[Token], datetime], Sequence[Token]]


def new_secret() -> str:
    """A new secret of 256 random bits."""
    return PREFIX + secrets.token_urlsafe(32)


def digest_of(secret: str) -> str:
    """The SHA-256 digest of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def check_token_name(name: object) -> str:
    """The name of a token, checked; ValueError with advice for an invalid one."""
    text = unicodedata.normalize("NFC", check_text(name, "a token's name", MAX_NAME))
    if text != text.strip() or any(unicodedata.category(one) in _UNSEEN for one in text):
        raise ValueError(
            f"a token's name has no invisible characters and no blanks at its ends: {text!r} does; "
            "choose another"
        )
    return text


def decide_add(
    name: str, digest: str, may: frozenset[str], campaigns: frozenset[str] | None,
    seconds: float | None = None, latest: datetime | None = None,
) -> DecideTokens:  # fmt: skip
    """Add a token that is valid for this many seconds; None: until `latest`, or it is revoked."""

    def decide(tokens: Sequence[Token], now: datetime) -> Sequence[Token]:
        for one in tokens:
            if hmac.compare_digest(one.digest, digest):
                return ()  # the commit of an earlier try succeeded
            if _key(one.name) == _key(name) and one.state(now) == "valid":
                raise ValueError(
                    f"there is a token {one.name!r} already: choose another name, or revoke it "
                    f"first with `weal token revoke {one.name}`"
                )
        typed = None if seconds is None else now + timedelta(seconds=seconds)
        ends = min(filter(None, (typed, latest)), default=None)
        return [Token(name, digest, may, campaigns, now, ends)]

    return decide


def decide_revoke(name: str) -> DecideTokens:
    """Revoke the token with this name; nothing to write if it was revoked before."""

    def decide(tokens: Sequence[Token], now: datetime) -> Sequence[Token]:
        found = find_named(tokens, name)
        return [] if found.revoked is not None else [replace(found, revoked=now)]

    return decide


def decide_limit(
    name: str, may: frozenset[str] | None = None, campaigns: frozenset[str] | None = None,
    seconds: float | None = None,
) -> DecideTokens:  # fmt: skip
    """Limit a valid token to these permissions and campaigns, or end it after so many seconds.

    None: as it is. ValueError if it would get more than it has.
    """

    def decide(tokens: Sequence[Token], now: datetime) -> Sequence[Token]:
        found = find_named(tokens, name)
        if (state := found.state(now)) != "valid":
            raise ValueError(f"the token {found.name!r} is {state}: make another one")
        ends = found.expires if seconds is None else now + timedelta(seconds=seconds)
        new = replace(
            found, may=found.may if may is None else may, expires=ends,
            campaigns=found.campaigns if campaigns is None else campaigns,
        )  # fmt: skip
        _refuse_more(found, new)
        return [] if new == found else [new]

    return decide


def _refuse_more(before: Token, after: Token) -> None:
    """Raise ValueError if a token gets more permissions, more campaigns or a later end."""
    wider = after.may - before.may
    others = (after.campaigns or frozenset()) - (before.campaigns or after.campaigns or frozenset())
    longer = before.expires is not None and (
        after.expires is None or after.expires > before.expires
    )
    more = [*sorted(wider), *sorted(others), *(["a later end"] if longer else [])]
    if more:
        raise ValueError(
            f"a limit cannot extend a token, and {before.name!r} does not have: {', '.join(more)}; "
            "revoke it and make another one"
        )


def find_named(tokens: Sequence[Token], name: str) -> Token:
    """The token with this name; ValueError lists the existing names."""
    wanted = unicodedata.normalize("NFC", name)
    for one in tokens:
        if one.name == wanted:
            return one
    names = [one.name for one in tokens]
    near = get_close_matches(name, names, 1)
    meant = f"did you mean {near[0]!r}?" if near else "`weal token list` lists all tokens"
    raise ValueError(f"there is no token {name!r}: {meant}")


def merged(tokens: Sequence[Token], new: Sequence[Token]) -> list[Token]:
    """The tokens after these were written: one for each name, in the order of the names."""
    found = {one.name: one for one in (*tokens, *new)}
    return [found[name] for name in sorted(found)]


def _key(name: str) -> str:
    """The name as people read it: `Robot-1` and `robot-1` are the same."""
    return unicodedata.normalize("NFKC", name).casefold()


def token_row(token: Token) -> tuple[str, str, str, str]:
    """The row of a token."""
    body = canonical_json(
        {
            "v": BODY_VERSION,
            "may": sorted(token.may),
            "campaigns": None if token.campaigns is None else sorted(token.campaigns),
            "created": timestamp(token.created),
            "expires": timestamp(token.expires) if token.expires else None,
            "revoked": timestamp(token.revoked) if token.revoked else None,
        }
    )
    return token.name, token.digest, body, _checksum(token.name, token.digest, body)


def read_token(row: SqlRow, place: str) -> Token:
    """The token of a stored row; DamagedStore if the row is not what was written."""
    if not all(isinstance(value, str) for value in row) or _checksum(*row[:3]) != row[3]:
        raise damage_error(place, f"the token {str(row[0])!r} does not match its checksum")
    name, digest, text, _ = row
    body = json.loads(text)
    campaigns = body["campaigns"]
    known = body["v"] == BODY_VERSION  # a token of a newer weal grants nothing here
    return Token(
        name,
        digest,
        frozenset(body["may"]) & frozenset(PERMISSIONS) if known else frozenset(),
        None if campaigns is None else frozenset(campaigns),
        datetime.fromisoformat(body["created"]),
        _time(body["expires"]),
        _time(body["revoked"]),
    )


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _checksum(name: str, digest: str, body: str) -> str:
    text = canonical_json([name, digest, body])
    return hashlib.blake2b(text.encode(), digest_size=32).hexdigest()
