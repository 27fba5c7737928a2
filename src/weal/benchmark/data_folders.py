"""Folders of data and of cached arrays on this machine.

    cache folder    WEAL_CACHE, else ~/.cache/weal: simulated points
    data folders    the folder given as an argument, then WEAL_DATA, then `data` in the cache
                    folder, which is the default place of a downloaded table

A folder that is named but does not exist is an error; the cache is created when needed.

Arrays that are costly to compute are cached under a hash of their inputs:

    file     CACHE/NAME/HASH.weal (`weal.formats.archive`): plain .npy inside, no pickle, every
             byte under a checksum, written atomically
    HASH     of the settings as JSON and the bytes of the input arrays

A damaged file is computed again with a warning, and a folder that cannot be written costs time but
no result. Two processes that compute the same file write the same bytes; threads of one process
wait for each other.
"""

import hashlib
import json
import os
import threading
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from weal.core.arrays import Array
from weal.errors import ForeignFile, WealError
from weal.formats import archive

Folder = str | os.PathLike[str] | None


class NotAvailable(WealError):
    """Data or a package of a task is not on this machine; the message says how to get it."""


def cache_folder() -> Path:
    """The folder of the cache, which need not exist yet."""
    named = os.environ.get("WEAL_CACHE")
    return Path(named).expanduser() if named else Path.home() / ".cache" / "weal"


def default_data_folder() -> Path:
    """The default folder of a downloaded table: WEAL_DATA, else `data` in the cache."""
    named = os.environ.get("WEAL_DATA")
    return Path(named).expanduser() if named else cache_folder() / "data"


def data_folders(folder: Folder = None) -> list[Path]:
    """The folders to search for a table, in order; ValueError if a named one does not exist."""
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


_lock = threading.Lock()


def fingerprint(settings: Mapping[str, object], *arrays: Array) -> str:
    """A hash of settings and arrays: another number, order or shape gives another hash.

    >>> fingerprint({"a": 1}, np.zeros(2)) == fingerprint({"a": 1}, np.zeros((2, 1)))
    False
    """
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, allow_nan=False).encode())
    for array in arrays:
        digest.update(repr(array.shape).encode())
        digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return digest.hexdigest()[:32]


def load_or_compute(
    name: str, key: str, shape: tuple[int, ...], compute: Callable[[], Array]
) -> Array:
    """The array of that shape under that key, from disk or computed and cached."""
    path = cache_folder() / name / f"{key}.weal"
    with _lock:
        if (cached := _read(path, name, shape)) is not None:
            return cached
        array = compute()
        _write(path, name, array)
        return array


def _read(path: Path, name: str, shape: tuple[int, ...]) -> Array | None:
    if not path.exists():
        return None
    try:
        array = archive.read(path, f"cached {name}")[1]["array"]
        if array.shape != shape or array.dtype != np.float64:
            raise ValueError(f"it holds {array.dtype} of shape {array.shape}, not {shape}")
    except (OSError, ValueError, KeyError) as error:
        warnings.warn(f"computed again, not read from the cache: {error}", stacklevel=4)
        return None
    return array


def _write(path: Path, name: str, array: Array) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        archive.write(path, f"cached {name}", {}, {"array": array}, replaces_any_file=True)
    except (OSError, ForeignFile) as error:
        warnings.warn(
            f"cannot keep simulated points in {path.parent} ({error}); "
            "set WEAL_CACHE to a folder that can be written",
            stacklevel=4,
        )
