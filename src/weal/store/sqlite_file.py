"""The SQLite file of a store: its owner, version, journal, syncing and file mode.

    owner       application_id "WEAL"; a file of another program is refused
    version     user_version; older files are upgraded in one transaction, under the write lock,
                after a copy was made with SQLite's backup; newer ones are refused
    journal     the rollback journal: before 3.51.3 SQLite's write-ahead log could damage a file,
                and on network drives it always can. A file made with a newer SQLite has the log.
    sync        synchronous = EXTRA: FULL, and the folder is synced when a rollback journal is
                deleted; otherwise a power cut could restore the journal and the old state

    mode        as the umask says, group-writable under umask 007: SQLite's default would remove the
                write permission of others. Its journal, log and index of the log have the file's
                mode

Nothing here opens the file except through SQLite: closing it elsewhere in the same process would
drop SQLite's locks on it.
"""

import os
import sqlite3
import stat
import warnings
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from weal.errors import WealError
from weal.files import atomic_file, sync_folder
from weal.store import statements
from weal.store.events import damage_error

BUSY_TIMEOUT_SECONDS = 60.0  # seconds to wait for another writer
SAFE_LOG = (3, 51, 3)
_OVER_FUSE = ("fuse.sshfs", "fuse.glusterfs", "fuse.s3fs", "fuse.rclone", "davfs")
_NETWORK = frozenset(
    ("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "9p", "ceph", "lustre", "beegfs", *_OVER_FUSE)
)
_warned: set[str] = set()


def trace(point: str) -> None:
    """A hook for tests, at points where a process may be killed."""


def check_path(path: Path, place: str) -> None:
    """Raise an error for a path that cannot be a store; warn of network drives."""
    try:
        found = path.stat() if os.path.lexists(path) else None
    except OSError as error:  # a circular or broken link, a folder without permission
        raise WealError(f"{place} cannot be opened: {error.strerror}") from None
    if path.is_dir():
        raise WealError(f"{place} is a folder; name a file in it, such as {path.name}/weal.db")
    if not path.parent.is_dir():
        raise WealError(f"the folder of {place} does not exist: make {path.parent} first")
    if found and not stat.S_ISREG(found.st_mode):
        raise WealError(f"{place} is not a file: name a file for the store")
    kind = filesystem(path)
    if kind in _NETWORK and str(path) not in _warned:
        _warned.add(str(path))
        warnings.warn(
            f"{place} is on a network drive ({kind}), where locks of SQLite may fail; keep it on a "
            "local disk, or use postgresql:// for a store that several machines share",
            stacklevel=2,
        )


def filesystem(path: Path, mounts: str = "/proc/mounts") -> str:
    """The type of the path's file system; "" if it is unknown."""
    try:
        text = Path(mounts).read_text("utf-8", "surrogateescape")
        lines = [line.split() for line in text.splitlines()]
    except OSError:
        return ""
    places = [(line[1].replace("\\040", " "), line[2]) for line in lines if len(line) > 2]
    here = path.resolve()
    inside = [(len(at), i, kind) for i, (at, kind) in enumerate(places) if here.is_relative_to(at)]
    return max(inside, default=(0, 0, ""))[2]


def connect(path: Path, place: str, make: bool = True) -> sqlite3.Connection | None:
    """Connect to the file, and upgrade it; an empty file becomes a store, or gives None."""
    if make:
        with suppress(OSError):  # SQLite reports what is wrong with the folder or the disk
            create_file(path)
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode={'rwc' if make else 'rw'}",
        timeout=BUSY_TIMEOUT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        uri=True,
    )
    try:
        for setting in ("trusted_schema=OFF", "cell_size_check=ON", "fullfsync=ON"):
            connection.execute(f"PRAGMA {setting}")
        connection.execute("BEGIN")  # else another process could create the tables meanwhile
        found = version(connection, place)
        connection.execute("COMMIT")
        if not found and not make:
            connection.close()
            return None
        if found < len(statements.SQLITE):
            _bring_up(connection, path, place)
        _choose_journal(connection, path, place)
        connection.execute("PRAGMA synchronous=EXTRA")
        _check_sync(connection, place)
        connection.execute("PRAGMA busy_timeout=0")  # from now on `sqlite` waits
    except BaseException:
        connection.close()
        raise
    return connection


def create_file(path: Path) -> None:
    """Create an empty file with the mode that the umask gives, unless the path exists."""
    with suppress(FileExistsError):
        if hasattr(os, "mknod"):
            with suppress(PermissionError):  # macOS: for root alone
                os.mknod(path, 0o666 | stat.S_IFREG)  # opens nothing, so that no lock is dropped
                return
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))


def version(connection: sqlite3.Connection, place: str) -> int:
    """The version of the tables, 0 for an empty file; an error for other programs' files."""
    owner, number = pragma(connection, "application_id"), pragma(connection, "user_version")
    empty = not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if owner == 0 and number == 0 and empty:
        return 0
    if owner != statements.STORE_APPLICATION_ID:
        raise WealError(f"{place} is a SQLite file of another program: name another file")
    statements.check_version(number, place)
    if number < 1 or empty:
        raise damage_error(place, f"it has version {number} and {'no' if empty else 'some'} tables")
    return number


def pragma(connection: sqlite3.Connection, name: str) -> int:
    """An integer PRAGMA."""
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def build(connection: sqlite3.Connection, since: int = 0) -> None:
    """Take the steps of the schema after number `since`."""
    for step in statements.SQLITE[since:]:
        for statement in step:
            connection.execute(statement)
        trace("in the upgrade")
    connection.execute(f"PRAGMA application_id={statements.STORE_APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version={len(statements.SQLITE)}")


def roll_back(connection: sqlite3.Connection) -> None:
    """End a transaction, if one is open; after some errors SQLite has ended it already."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def is_store(path: Path) -> bool:
    """Whether a file is empty or a store, by its first page; nothing is written."""
    if not path.stat().st_size:
        return True
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as found:
            return pragma(found, "application_id") == statements.STORE_APPLICATION_ID
    except sqlite3.Error:
        return False


def _bring_up(connection: sqlite3.Connection, path: Path, place: str) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        before = version(connection, place)  # another process may have been first
        if before < len(statements.SQLITE):
            if before:
                _copy(path, before)
            build(connection, before)
        connection.execute("COMMIT")
    except BaseException:
        roll_back(connection)
        raise
    sync_folder(path.parent)
    if not before and log_is_safe(path):
        _attempt(lambda: connection.execute("PRAGMA journal_mode=WAL"))


def _copy(path: Path, number: int) -> Path:
    """A copy of the file beside it, before its tables change; other copies stay."""
    kept, extra = path.with_name(f"{path.name}.v{number}"), 2
    while os.path.lexists(kept):
        kept = path.with_name(f"{path.name}.v{number}-{extra}")
        extra += 1
    with atomic_file(kept, replace=False) as draft:
        copy_pages(path, draft)
        trace("after the copy")
    return kept


def copy_pages(path: Path, draft: Path) -> None:
    """Copy the file consistently while others write; the copy is checked by SQLite."""
    with (
        closing(
            sqlite3.connect(f"{path.as_uri()}?mode=ro", timeout=BUSY_TIMEOUT_SECONDS, uri=True)
        ) as source,
        closing(sqlite3.connect(draft)) as target,
    ):
        source.backup(target)
        trace("in the copy")
        if target.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise damage_error(str(path), "a copy of it failed SQLite's check")


def log_is_safe(path: Path) -> bool:
    """Whether this SQLite may use its write-ahead log on the file."""
    return sqlite3.sqlite_version_info >= SAFE_LOG and filesystem(path) not in _NETWORK


def _choose_journal(connection: sqlite3.Connection, path: Path, place: str) -> None:
    """Switch to the rollback journal if the write-ahead log is not safe here."""
    if log_is_safe(path) or _journal(connection) != "wal":
        return
    _attempt(lambda: connection.execute("PRAGMA journal_mode=DELETE"))
    if _journal(connection) == "wal":
        raise WealError(
            f"{place} is in use with a write-ahead log, which SQLite {sqlite3.sqlite_version} does "
            "not share safely: close the other program first, or upgrade SQLite to 3.51.3"
        )


def _journal(connection: sqlite3.Connection) -> str:
    return str(connection.execute("PRAGMA journal_mode").fetchone()[0])


def _attempt(change: Callable[[], object]) -> None:
    """Try to change the journal; it fails while others use the file."""
    try:
        change()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise


def _check_sync(connection: sqlite3.Connection, place: str) -> None:
    if pragma(connection, "synchronous") < 2:  # 2: FULL
        raise WealError(f"{place}: this SQLite does not sync its writes, so labels could be lost")
