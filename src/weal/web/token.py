"""The tokens of a store's server, and the principal (name and role) of each.

    token             full access: in the address that `weal serve` prints
    token-read-only   reading: in the address that `weal serve --read-only` prints

Each is a file with 32 random bytes that only its owner can read. It survives a restart, since
`weal serve` prints the same address again, and is the only secret that is stored as plain text. Of
sessions and one-time codes only the SHA-256 digest is stored; they are long and random, so a digest
without salt cannot be reversed.

A running server reads a token file again when it changes: `--new-token` of another process takes
effect at once.
"""

import hashlib
import hmac
import re
import secrets
import stat
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from weal.files import Replace, write_atomically

TOKEN_LETTERS = 43  # 32 random bytes in base64


class Role(StrEnum):
    """The rights of a principal."""

    READ = "read"
    MANAGE = "manage"


@dataclass(frozen=True, slots=True)
class Principal:
    """The identity behind a request: the name of a token, and its role."""

    name: str
    role: Role

    @property
    def may_write(self) -> bool:
        """Whether this principal may change the store."""
        return self.role is not Role.READ


FULL = Principal("full", Role.MANAGE)
READ_ONLY = Principal("read-only", Role.READ)
FILES = {FULL: "token", READ_ONLY: "token-read-only"}


class Tokens:
    """The valid tokens of a server's folder, by their digests."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[Path, tuple[object, str | None]] = {}  # version of a file, digest

    def principals(self) -> dict[str, Principal]:
        """The principal of every valid token, by the digest of the token."""
        found = {self._digest(self._folder / file): one for one, file in FILES.items()}
        return {digest: one for digest, one in found.items() if digest is not None}

    def find(self, token: str) -> str | None:
        """The digest of a valid token, or None, in constant time."""
        given = digest_of(token)
        valid = [one for one in self.principals() if hmac.compare_digest(one, given)]
        return valid[0] if valid else None

    def digest(self, principal: Principal) -> str | None:
        """The digest of the principal's token, or None."""
        return self._digest(self._folder / FILES[principal])

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


def get_or_create_token(folder: Path, new: bool = False, principal: Principal = FULL) -> str:
    """The token of a principal in this folder; created if there is none, or if `new` is true."""
    path = folder / FILES[principal]
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
