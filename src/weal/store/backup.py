"""Backup of a SQLite store at one moment, while others write; a restored store is just opened.

SQLite copies the pages (its backup API, never a file copy), `integrity` checks the copy, and only a
sound copy gets its name. `force` replaces an existing store, and no other file. For PostgreSQL use
the server's own tools.
"""

import os
from os import PathLike
from pathlib import Path

from weal.errors import DamagedStore, WealError
from weal.files import atomic_file
from weal.store import sqlite_file
from weal.store.integrity import Finding, examine_file
from weal.store.sqlite import translate_errors
from weal.store.urls import read_name


def backup(
    url: str | PathLike[str] | None, to: str | PathLike[str], force: bool = False
) -> list[Finding]:
    """Copy the store to a new file; returns the findings of the integrity check."""
    name, place = read_name(url), Path(to).expanduser().absolute()
    if name.kind != "sqlite":
        raise WealError(
            f"{name.shown} is not a file: copy it with pg_dump, restore the dump into a database "
            "of its own, and look at it with `weal doctor`"
        )
    source = Path(name.address)
    _check(source, place, name.shown, force)
    try:
        with atomic_file(place, sqlite_file.is_store if force else False) as draft:
            try:
                return _copy_and_check(source, draft, name.shown)
            finally:
                for end in ("-journal", "-wal", "-shm"):  # SQLite's own, beside the draft
                    Path(f"{draft}{end}").unlink(missing_ok=True)
    except FileExistsError:
        raise _there(place) from None
    except OSError as error:
        raise OSError(error.errno or 0, error.strerror or str(error), str(place)) from error


def _copy_and_check(source: Path, draft: Path, shown: str) -> list[Finding]:
    """Copy and check; an error if the copy is damaged."""
    with translate_errors(shown):
        sqlite_file.copy_pages(source, draft)
    found = examine_file(draft, f"the copy of {shown}")
    if wrong := [str(one) for one in found if one.level == "broken"]:
        raise DamagedStore(f"{shown} was not copied, since it is damaged: {wrong[0]}")
    return found


def _check(source: Path, place: Path, shown: str, force: bool) -> None:
    if not source.is_file() or not source.stat().st_size:
        raise WealError(f"there is no store {shown} to be copied")
    if not place.parent.is_dir():
        raise ValueError(f"there is no folder {place.parent} to write {place.name} to")
    if place.exists() and place.samefile(source):
        raise ValueError(f"{place} is the store itself: name another file for the copy")
    if os.path.lexists(place) and not force:
        raise _there(place)
    for beside in (Path(f"{place}{end}") for end in ("-journal", "-wal")):
        if os.path.lexists(beside) and beside.lstat().st_size:
            raise ValueError(
                f"{beside} belongs to a store that was at {place} and was not closed; it would "
                "damage the copy: open that store once with weal, or name another file"
            )


def _there(place: Path) -> ValueError:
    return ValueError(
        f"there is a file {place} already; name another, or use force (--force) to replace it"
    )
