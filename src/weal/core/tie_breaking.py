"""The best candidate by score, with ties broken by a hash of the id, and merged over blocks.

Ties. Scores within the relative difference TIE_RTOL of the best count as equal, and the candidate
with the least hash of (seed, id) is chosen: rounding, the order of the pool and the number of
threads decide nothing.

Blocks. `best_candidates` returns the best of one block of candidates, and `merge` combines two such
results; the order and the grouping make no difference. A result has the few best candidates, and
all that could still be chosen if another block has a better score. A candidate cannot be chosen if
another one has as good a score and a lesser hash, so even where all scores are equal a result is
short.

Start. Before there are labels enough for a model, each next point is the one farthest from all
points taken so far among a random handful of candidates (Mitchell's best candidate): it fills the
space, and keeps to where the pool is, where plain farthest-first would collect the outliers.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.hashing import hash_ids, mix_with_seed

TIE_RTOL = 1e-9
START_CANDIDATES = 64  # candidates that the start looks at for each point


class TieEntry(NamedTuple):
    """A candidate that may turn out to be the best."""

    score: float
    quick: int  # hash of (seed, id); where that is shared, the long one decides
    long: bytes
    position: int


@dataclass(frozen=True, slots=True)
class BestCandidates:
    """The best of some candidates, sorted by descending score, then by hash."""

    entries: tuple[TieEntry, ...] = ()
    few: int = 1  # least number of entries, if there are so many candidates

    @property
    def position(self) -> int:
        """Position of the best candidate; ValueError unless its score is finite."""
        top = self.entries[0].score if self.entries else -np.inf
        if not np.isfinite(top):
            raise ValueError(f"the best score of the candidates is {top}; scores must be finite")
        tied = [entry for entry in self.entries if entry.score >= _tied_from(top)]
        return min(tied, key=_hash).position


def best_candidates(
    scores: Array,
    free: NDArray[np.bool_],
    seed: int,
    ids: Sequence[Hashable],
    start: int = 0,
    few: int = 1,
) -> BestCandidates:
    """The best of the free candidates (N,) of a block that begins at position `start`."""
    masked = np.where(free, scores, -np.inf)
    top = int(masked.argmax()) if len(masked) else 0
    if not len(masked) or (masked[top] == -np.inf and not free.any()):
        return BestCandidates((), few)
    least = _tied_from(float(masked[top]))
    if few > 1:
        last = max(len(masked) - few, 0)
        least = min(least, float(np.partition(masked, last)[last]))
    among = masked >= least if least != -np.inf else free
    if np.count_nonzero(among) == 1 and among[top]:  # no other candidate ties with the best
        return BestCandidates((_entry(float(masked[top]), seed, ids, top, start),), few)
    found = np.flatnonzero(among)
    quick = np.array([_quick(seed, ids[n]) for n in found.tolist()])
    order = np.lexsort((quick, -masked[found]))
    # Where hashes are equal the long ones decide. They are computed for few candidates: for the
    # ones whose hash is no greater than all before.
    least_before = np.minimum.accumulate(quick[order])
    kept = order[(quick[order] <= least_before) | (np.arange(len(order)) < few)]
    entries = [_entry(float(masked[n]), seed, ids, n, start) for n in found[kept].tolist()]
    return _keep_best(entries, few)


def by_hash(seed: int, ids: Sequence[Hashable]) -> NDArray[np.intp]:  # (N,)
    """Positions of the candidates in the order of the hash of (seed, id)."""
    return np.argsort(mix_with_seed(hash_ids(ids), seed), kind="stable")


def merge(a: BestCandidates, b: BestCandidates) -> BestCandidates:
    """The best candidates of two blocks."""
    return _keep_best([*a.entries, *b.entries], max(a.few, b.few))


def best(scores: Array, free: NDArray[np.bool_], seed: int, ids: Sequence[Hashable]) -> int:
    """Position of the best of the free candidates (N,); at least one must be free."""
    return best_candidates(scores, free, seed, ids).position


def _tied_from(top: float) -> float:
    """The least score that ties with the best."""
    return top - TIE_RTOL * abs(top) if np.isfinite(top) else top


def _keep_best(entries: list[TieEntry], few: int) -> BestCandidates:
    """The best `few` entries, and the tied entries that could still win."""
    entries.sort(key=lambda entry: (-entry.score, *_hash(entry)))
    kept = entries[:few]
    for entry in entries[few:]:
        if entry.score < _tied_from(entries[0].score):
            break
        if _hash(entry) < min(map(_hash, kept)):
            kept.append(entry)
    return BestCandidates(tuple(kept), few)


def _entry(score: float, seed: int, ids: Sequence[Hashable], n: int, start: int) -> TieEntry:
    return TieEntry(score, _quick(seed, ids[n]), _long(seed, ids[n]), start + n)


def _quick(seed: int, name: Hashable) -> int:
    return crc32(repr(name).encode(), seed & 0xFFFFFFFF)


def _long(seed: int, name: Hashable) -> bytes:
    return blake2b(repr(name).encode(), digest_size=16, key=str(seed).encode()).digest()


def _hash(entry: TieEntry) -> tuple[int, bytes]:
    return entry.quick, entry.long
