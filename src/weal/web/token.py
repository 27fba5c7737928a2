"""The secret of a server: one random token in a file that its owner alone can read.

It comes with the first address (`?token=...`), and leaves it at once for a cookie, named by the
port since browsers share cookies between ports. The file survives a restart, so that a phone on the
bench need not log in again.
"""

import hashlib
import hmac
import os
import re
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from weal.files import write_atomically

LETTERS = 43  # of a token: 32 random bytes
FILE = "token"


def kept_token(folder: Path, new: bool = False) -> str:
    """The token of this folder; made if there is none, or if another is wanted."""
    path = folder / FILE
    if new or not _is_private(path) or not path.exists():
        text = f"{secrets.token_urlsafe(32)}\n".encode()
        with suppress(FileExistsError):  # of two who make the first one, the first is right
            write_atomically(path, text, is_token if os.path.lexists(path) else False, 0o600)
    found = path.read_text(encoding="ascii").strip()
    if len(found) < LETTERS:
        raise ValueError(f"{path} holds no token of weal's: weal serve --new-token makes another")
    return found


def same(given: str, token: str) -> bool:
    """Whether this is the token, in a time that tells nothing of how much of it is right."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())


def form_token(token: str) -> str:
    """What a form of ours carries: it follows from the token, and does not give it away."""
    return hmac.new(token.encode(), b"weal form", hashlib.sha256).hexdigest()


def cookie_name(port: int) -> str:
    """The cookie of the server at this port."""
    return f"weal-{port}"


def _is_private(path: Path) -> bool:
    """Whether nobody else could read the file, or there is none."""
    try:
        return not stat.S_IMODE(path.stat().st_mode) & 0o077
    except FileNotFoundError:
        return True


def is_token(path: Path) -> bool:
    """Whether a file holds a token, or what is left of one: a word of at most LETTERS letters."""
    with path.open("rb") as file:
        return re.fullmatch(rb"[\w-]{0,43}\n?", file.read(2 * LETTERS)) is not None
