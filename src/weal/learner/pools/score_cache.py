"""Scores of the last pass, cached in the process that computed them: in memory, then on disk.

A process caches the scores of one pass, under the key of its state (number of labels and hash). A
missing score is computed again, so a worker that died or never had a shard costs only time. A full
disk ends the pass, and the cached files are deleted at once.
"""

import atexit
import io
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from weal.errors import DiskFull
from weal.files import remove_folder

SCORE_CACHE_BYTES = 384 * 2**20  # bytes of scores in memory, in each process

Scores = NDArray[np.float32]


class _ScoreCache:
    """The scores that this process has cached."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.key, self.bytes = "", 0
        self.scores: dict[int, Scores] = {}
        self.files: dict[int, Path] = {}
        self.written: set[int] = set()  # begun, whole or not
        self.folder: Path | None = None

    def turn_to(self, key: str) -> None:
        """Drop the scores of any other state."""
        if key == self.key:
            return
        self.key, self.bytes, self.scores, self.files = key, 0, {}, {}
        if self.folder is not None:
            with suppress(OSError):  # the disk was emptied under us
                remove_folder(self.folder, [f"{start}.npy" for start in self.written])
            self.folder, self.written = None, set()


_kept = _ScoreCache()


def keep(key: str, start: int, scores: Scores) -> None:
    """Cache the scores (K, n) of the shard that begins at this position; DiskFull without room."""
    with _kept.lock:
        _kept.turn_to(key)
        if _kept.bytes + scores.nbytes <= SCORE_CACHE_BYTES:
            _kept.bytes += scores.nbytes
            _kept.scores[start] = scores
            return
    try:
        path = _write_scores(start, scores)
    except FileNotFoundError:  # another pass began meanwhile, or the disk was emptied under us
        return
    except OSError as error:
        forget()
        raise DiskFull(
            f"the folder {tempfile.gettempdir()} cannot take the scores of a pass: "
            f"{error.strerror or error}; make room there, or name another with TMPDIR"
        ) from error
    with _kept.lock:
        if _kept.key == key:
            _kept.files[start] = path


def _write_scores(start: int, scores: Scores) -> Path:
    """Write a file of scores as bytes, since `np.save` misses errors of closing; its path."""
    with _kept.lock:
        if _kept.folder is None:
            _kept.folder = Path(tempfile.mkdtemp(prefix="weal-scores-"))
        path = _kept.folder / f"{start}.npy"
        _kept.written.add(start)
    whole = io.BytesIO()
    np.save(whole, scores)
    path.write_bytes(whole.getbuffer())
    return path


def find(key: str, start: int) -> Scores | None:
    """The scores of that shard if they are cached, else None."""
    with _kept.lock:
        if _kept.key != key:
            return None
        if start in _kept.scores:
            return _kept.scores[start]
        path = _kept.files.get(start)
    try:
        return None if path is None else np.asarray(np.load(path))
    except (OSError, ValueError):  # the disk was emptied under us
        return None


def forget() -> None:
    """Clear the cache."""
    with _kept.lock:
        _kept.turn_to("")


atexit.register(forget)
