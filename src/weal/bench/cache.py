"""Arrays that are costly to compute, kept on disk under a hash of what they were computed from.

    file     CACHE/NAME/HASH.weal, one of our files (`weal.model.archive`): plain .npy inside, no
             pickle, every byte under a checksum, written beside its place and moved there
    HASH     of the settings as JSON and the bytes of the arrays that go in

The cache is advice: a file that is damaged is computed again with a warning, and a folder that
cannot be written costs time but no result. Two processes that compute the same file write the
same bytes; threads of one process take turns.
"""

import hashlib
import json
import threading
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from weal.bench.places import cache_folder
from weal.core.arrays import Array
from weal.errors import ForeignFile
from weal.model import archive

_turns = threading.Lock()


def fingerprint(settings: Mapping[str, Any], *arrays: Array) -> str:
    """A hash of settings and arrays: another number, order or shape gives another hash.

    >>> fingerprint({"a": 1}, np.zeros(2)) == fingerprint({"a": 1}, np.zeros((2, 1)))
    False
    """
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, allow_nan=False).encode())
    for array in arrays:
        digest.update(repr(array.shape).encode())
        digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return digest.hexdigest()[:32]


def cached(name: str, key: str, shape: tuple[int, ...], compute: Callable[[], Array]) -> Array:
    """The array of that shape under that key: from disk if it is there, else computed and kept."""
    path = cache_folder() / name / f"{key}.weal"
    with _turns:
        kept = _read(path, name, shape)
        if kept is not None:
            return kept
        array = compute()
        _write(path, name, array)
        return array


def _read(path: Path, name: str, shape: tuple[int, ...]) -> Array | None:
    if not path.exists():
        return None
    try:
        array = archive.read(path, kind=f"cached {name}")[1]["array"]
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
