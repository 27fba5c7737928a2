"""The folder of a store's server: its tokens, sessions, uploads, and what the worker has found.

It is in XDG_STATE_HOME (else ~/.local/state), one for each store, open to its owner alone. Nothing
in it but the tokens is missed when it is deleted; sessions then end. Names in it are ours: digests
of names of campaigns and of session ids, and random ones; a browser never names a path.
"""

import errno
import hashlib
import os
import re
import secrets
import time
from contextlib import suppress
from pathlib import Path

from weal.files import is_plain_file
from weal.store.naming import Name

OLD = 2 * 24 * 3600.0  # seconds after which uploads and downloads are swept away
LETTERS = 32  # of a random name
_DRAFT_NAME = re.compile(r"\.weal-[0-9a-f]{16}\.draft")  # of `weal.files`
_RANDOM_NAME = re.compile(rf"[0-9a-f]{{{LETTERS}}}(\.[a-z]+)?")
NO_ROOM = "the disk of this server is full: make room on it, and try again; nothing was saved"
_FULL = (errno.ENOSPC, errno.EDQUOT)


def server_folder(name: Name) -> Path:
    """The folder for the server of this store, made if need be."""
    where = name.address if name.kind == "sqlite" else name.shown
    digest = hashlib.blake2b(f"{name.kind} {where}".encode(), digest_size=12).hexdigest()
    folder = _state() / "weal" / f"serve-{digest}"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.chmod(0o700)
    return folder


def campaign_folder(folder: Path, name: str) -> Path:
    """Where results of this campaign are kept."""
    found = folder / f"c-{hashlib.blake2b(name.encode(), digest_size=16).hexdigest()}"
    found.mkdir(exist_ok=True, mode=0o700)
    return found


def new_file(folder: Path, ending: str) -> Path:
    """A place for an upload or a download, that is not there yet."""
    place = folder / "files"
    place.mkdir(exist_ok=True, mode=0o700)
    return place / f"{secrets.token_hex(LETTERS // 2)}{ending}"


def given_file(folder: Path, key: str) -> Path | None:
    """The file with that random name, which came from us; None: there is none."""
    if len(key) != LETTERS or not set(key) <= set("0123456789abcdef"):
        return None
    return next((folder / "files").glob(f"{key}.*"), None)


def is_disk_full(error: BaseException) -> bool:
    """Whether an error says that nothing more can be written.

    >>> is_disk_full(OSError(errno.ENOSPC, "No space left on device")), is_disk_full(OSError())
    (True, False)
    """
    if isinstance(error, OSError) and error.errno in _FULL:
        return True
    words = str(error).lower()
    return "no space left" in words or "disk is full" in words  # of pyarrow, and of SQLite


def sweep(folder: Path) -> None:
    """Delete uploads, downloads and drafts of killed jobs that are days old.

    They are plain files with random names as we give them.
    """
    for path in (*(folder / "files").glob("*"), *folder.glob("*/.weal-*.draft")):
        with suppress(FileNotFoundError):  # another server of this store sweeps too
            named = _RANDOM_NAME.fullmatch(path.name) or _DRAFT_NAME.fullmatch(path.name)
            if named and is_plain_file(path) and path.stat().st_mtime < time.time() - OLD:
                path.unlink()


def _state() -> Path:
    if given := os.environ.get("XDG_STATE_HOME"):
        return Path(given)
    try:
        return Path.home() / ".local" / "state"
    except RuntimeError as error:
        raise ValueError("there is no home folder for the token: set XDG_STATE_HOME") from error
