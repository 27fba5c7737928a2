"""Where things are kept on this machine.

    cache folder    WEAL_CACHE, else ~/.cache/weal: points that were costly to simulate
    data folders    the folder given as an argument, then WEAL_DATA, then `data` in the cache
                    folder, which is where a fetched table goes when no folder is named

A folder that is named but does not exist is a mistake, and said; the cache is made when needed.
"""

import os
from pathlib import Path

from weal.errors import WealError

Folder = str | os.PathLike[str] | None


class NotAtHand(WealError):
    """Something a task needs is not on this machine; the message says in one line how to get it."""


def cache_folder() -> Path:
    """The folder of the cache, which need not exist yet."""
    named = os.environ.get("WEAL_CACHE")
    return Path(named).expanduser() if named else Path.home() / ".cache" / "weal"


def default_data_folder() -> Path:
    """Where a fetched table goes when no folder is named: WEAL_DATA, else inside the cache."""
    named = os.environ.get("WEAL_DATA")
    return Path(named).expanduser() if named else cache_folder() / "data"


def data_folders(folder: Folder = None) -> list[Path]:
    """The folders to look into for a table, in order; ValueError if a named one is none."""
    named = {"the data folder": folder, "WEAL_DATA": os.environ.get("WEAL_DATA")}
    found = []
    for what, value in named.items():
        if value is None or value == "":
            continue
        path = Path(value).expanduser()
        if not path.is_dir():
            raise ValueError(f"{what} is {str(value)!r}, but there is no such folder")
        found.append(path)
    return [*found, cache_folder() / "data"]
