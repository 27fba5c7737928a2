"""One scoring pass over shards, and the summary of its scores.

`ShardScoring` has everything that scores depend on besides the rows: kept experts, labels, scaling.
Called with a shard it returns a `PassSummary`, a pure function of the two. `merge_summaries` makes
one of two, in any order and grouping:

    low, high          the least and the largest score of each function over the free candidates
    best               the candidates that tie for the best by each function (`core.tie_breaking`)
    top                the BATCH_SHORTLIST best of each function, with their inputs
    largest_variances  the candidates that functions with targets (`mvr`) score

Scores are float64. Where several functions are combined, they are cached.

Half of the shortlist of functions with targets are the candidates with the largest mixture variance
(gpm-var, rounded; of equal ones the least hash of (seed, id)): each shard gives its own, and two
lists merge to one. The other half have the least hash of all, which the id index gives.

A process caches, in memory and then on disk, the scores of one pass, under the key of its state
(number of labels and hash). A missing score is computed again, so a worker that died or never had a
shard costs only time. A full disk ends the pass, and the cached files are deleted at once.
"""

import atexit
import io
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.constants import SHORTLIST_CANDIDATES
from weal.core.hashing import Hashes, hash_ids, mix_with_seed
from weal.core.paper.acquisition import gpm_var, random
from weal.core.protocols import Embedding, Reference
from weal.core.scaling import Scaling
from weal.core.tie_breaking import TIE_RTOL, BestCandidates, best_candidates, merge
from weal.errors import DiskFull
from weal.files import remove_folder
from weal.learner.pools.protocol import ScorePass
from weal.learner.pools.score_pass import belief_of, round_variances
from weal.model.checks import MAX_ABS_VALUE
from weal.shards.encoding import InputEncoder, Later
from weal.shards.shard import Shard

SCORE_CACHE_BYTES = 384 * 2**20  # bytes of scores in memory, in each process

Scores = NDArray[np.float32]


class _ScoreCache:
    """The scores that this process has cached."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.key, self.bytes = "", 0
        self.scores: dict[int, Scores] = {}
        self.files: dict[int, Path] = {}
        self.written: set[int] = set()  # begun, complete or not
        self.folder: Path | None = None

    def turn_to(self, key: str) -> None:
        """Drop the scores of any other state."""
        if key == self.key:
            return
        self.key, self.bytes, self.scores, self.files = key, 0, {}, {}
        if self.folder is not None:
            with suppress(OSError):  # the file was deleted meanwhile
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
    except FileNotFoundError:  # another pass began, or the files were deleted
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
    except (OSError, ValueError):  # the file was deleted meanwhile
        return None


def forget() -> None:
    """Clear the cache."""
    with _kept.lock:
        _kept.turn_to("")


atexit.register(forget)


@dataclass(frozen=True, slots=True, eq=False)
class LargestVariances:
    """The candidates with the largest variance: by falling variance, then by hash."""

    variances: Array  # (n,)  rounded
    hashes: Hashes  # (n,)
    at: NDArray[np.int64]  # (n,)
    X: Array  # (n, d)  in the user's units


def rows_of_largest_variance(
    shard: Shard, X: Array, variances: Array, free: NDArray[np.bool_], seed: int
) -> LargestVariances:
    """The free rows of a shard with the largest variances: half of a shortlist."""
    at, half = np.flatnonzero(free), SHORTLIST_CANDIDATES // 2
    values = round_variances(variances[at])
    if len(at) > half:
        least = np.partition(values, len(values) - half)[len(values) - half]
        at, values = at[values >= least], values[values >= least]
    hashes = mix_with_seed(hash_ids(shard.ids(at)), seed) if len(at) else np.zeros(0, np.uint64)
    return _first(LargestVariances(values, hashes, at + shard.start, X[at]))


def merge_largest_variances(
    a: LargestVariances | None, b: LargestVariances | None
) -> LargestVariances | None:
    """The half of SHORTLIST_CANDIDATES with the largest variances of both; None without any."""
    if a is None or b is None:
        return None
    return _first(
        LargestVariances(
            np.concatenate([a.variances, b.variances]),
            np.concatenate([a.hashes, b.hashes]),
            np.concatenate([a.at, b.at]),
            np.concatenate([a.X, b.X]),
        )
    )


def _first(found: LargestVariances) -> LargestVariances:
    order = np.lexsort((found.hashes, -found.variances))[: SHORTLIST_CANDIDATES // 2]
    return LargestVariances(
        found.variances[order], found.hashes[order], found.at[order], found.X[order]
    )


BATCH_SHORTLIST = 1024  # of each function, that a batch is chosen from
BLOCK_NUMBERS = (
    1 << 17
)  # numbers that a block has for each expert: they stay in the processor's cache
MIN_BLOCK_ROWS, MAX_SCORED_BLOCK_ROWS = 512, 8192  # rows

Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class TopScores:
    """The best few candidates by one function; ties go to the first in the pool."""

    scores: Array  # (n,)  falling
    at: Positions  # (n,)
    X: Array  # (n, d)  in the user's units


@dataclass(frozen=True, slots=True, eq=False)
class PassSummary:
    """The result of a pass over some shards."""

    free: int
    low: Array  # (K,)
    high: Array  # (K,)
    best: tuple[BestCandidates, ...]  # K
    top: tuple[TopScores, ...]  # K
    largest_variances: LargestVariances | None  # where a function uses targets
    later: Later  # values that are new to the plan
    rows: Mapping[int, Array] = field(default_factory=dict)  # inputs of the best, by position


@dataclass(frozen=True, slots=True, eq=False)
class ShardScoring:
    """Scores one shard: everything that scores depend on, besides the rows."""

    key: str  # number of labels and hash of the state that the scores belong to
    asked: ScorePass  # with the kept experts alone, functions that score in a pass, no candidates
    lists: bool  # whether candidates are listed for functions that use targets
    embedding: Embedding
    reference: Reference | None
    scaling: Scaling
    encoder: InputEncoder
    taken: Positions  # ascending: these may not be asked
    width: int  # numbers that a row takes for each expert
    keeps: bool  # whether scores are kept, to be weighted later
    shortlist: int = BATCH_SHORTLIST

    def __call__(self, shard: Shard) -> PassSummary:
        """The summary of a shard."""
        shard.check()
        later, parts, rows = Later(), [], []
        for X, scores in self.blocks(shard, later):
            parts.append(scores)
            rows.append(X)
        scores, K = np.concatenate(parts, axis=1), len(self.asked.functions)
        if self.keeps:
            keep(self.key, shard.start, scores[:K].astype(np.float32))
        return self._summary(shard, np.concatenate(rows), scores, later)

    def blocks(self, shard: Shard, later: Later) -> Any:
        """Rows of a shard, in the user's units, and their scores, a block at a time."""
        done = 0
        size = int(
            np.clip(BLOCK_NUMBERS // max(1, self.width), MIN_BLOCK_ROWS, MAX_SCORED_BLOCK_ROWS)
        )
        for X in shard.blocks(self.encoder, later):
            for start in range(0, len(X), size):
                some = X[start : start + size]
                yield some, self.scores(some, shard.start + done)
                done += len(some)

    def scores(self, X: Array, start: int) -> Array:  # (K, n), or (K + 1, n)
        """The scores of rows X (n, d), in the user's units, that begin at this position.

        If candidates are listed, the variance of the mixture is the last of them.
        """
        scaled = self.scaling.inputs(X)
        if np.abs(scaled).max(initial=0.0) > MAX_ABS_VALUE:
            raise ValueError(
                f"the pool has a value more than {MAX_ABS_VALUE:g} standard deviations of the "
                "first fit's data away; check its unit, or leave it out"
            )
        ens = self.asked.ens
        q = None
        if self.reference is None:
            mu, v = self.embedding.predict(ens.experts, scaled)
        else:
            points = self.embedding.points(ens.experts, scaled)
            mu, v = ens.experts.predict(points)
            q = self.reference.relevance(ens.experts, points)
        belief = belief_of(self.asked, slice(None), mu, v, q, scaled)
        functions = dict(self.asked.functions) | ({"": gpm_var} if self.lists else {})
        alone, found = len(self.asked.functions) == 1, np.empty((len(functions), len(X)))
        for k, (name, function) in enumerate(functions.items()):
            if function is random:
                found[k] = random_scores(self.asked.key, start, len(X))
            else:
                found[k] = _check_scores(np.asarray(function(belief)), name, len(X), alone)
        return found

    def free(self, shard: Shard) -> NDArray[np.bool_]:
        """Mask of the rows of a shard that may be asked."""
        first, last = np.searchsorted(self.taken, [shard.start, shard.start + shard.rows])
        free = np.ones(shard.rows, dtype=bool)
        free[self.taken[first:last] - shard.start] = False
        return free

    def _summary(self, shard: Shard, X: Array, scores: Array, later: Later) -> PassSummary:
        free, seed, K = self.free(shard), self.asked.seed, len(self.asked.functions)
        best = tuple(best_rows(shard, row, free, seed) for row in scores[:K])
        variances = (
            rows_of_largest_variance(shard, X, scores[K], free, seed) if self.lists else None
        )
        at = [entry.position for one in best for entry in one.entries]
        return PassSummary(
            int(free.sum()),
            scores[:K].min(axis=1, where=free, initial=np.inf),
            scores[:K].max(axis=1, where=free, initial=-np.inf),
            best,
            tuple(top_rows(shard.start, X, row, free, self.shortlist) for row in scores),
            variances,
            later,
            {n: X[n - shard.start] for n in at},
        )


def best_rows(shard: Shard, scores: Array, free: NDArray[np.bool_], seed: int) -> BestCandidates:
    """The best rows of a shard; ids are read for tied rows only."""
    if not free.any():
        return BestCandidates()
    top = float(scores.max(where=free, initial=-np.inf))
    least = top - TIE_RTOL * abs(top) if np.isfinite(top) else top
    at = np.flatnonzero(free & (scores >= least))
    found = best_candidates(scores[at], np.ones(len(at), dtype=bool), seed, shard.ids(at))
    return shift_positions(found, at + shard.start)


def top_rows(start: int, X: Array, scores: Array, free: NDArray[np.bool_], most: int) -> TopScores:
    """The `most` best of the free rows; ties go to the first."""
    at = np.flatnonzero(free)
    if len(at) > most:
        values = scores[at]
        least = np.partition(values, len(values) - most)[len(values) - most]
        at = at[values >= least]
    order = np.lexsort((at, -scores[at]))[:most]
    at = at[order]
    return TopScores(scores[at], at + start, X[at])


def merge_summaries(a: PassSummary, b: PassSummary, most: int = BATCH_SHORTLIST) -> PassSummary:
    """The summary of two summaries, with the `most` best of each function."""
    best = tuple(merge(one, other) for one, other in zip(a.best, b.best, strict=True))
    here = {entry.position for one in best for entry in one.entries}
    rows = {n: x for n, x in (*a.rows.items(), *b.rows.items()) if n in here}
    return PassSummary(
        a.free + b.free,
        np.minimum(a.low, b.low),
        np.maximum(a.high, b.high),
        best,
        tuple(merge_top(one, other, most) for one, other in zip(a.top, b.top, strict=True)),
        merge_largest_variances(a.largest_variances, b.largest_variances),
        a.later + b.later,
        rows,
    )


def merge_top(a: TopScores, b: TopScores, most: int) -> TopScores:
    """The `most` best candidates of two lists."""
    scores, at = np.concatenate([a.scores, b.scores]), np.concatenate([a.at, b.at])
    order = np.lexsort((at, -scores))[:most]
    return TopScores(scores[order], at[order], np.concatenate([a.X, b.X])[order])


def shift_positions(best: BestCandidates, at: NDArray[np.intp]) -> BestCandidates:
    """The entries with positions `at` instead of 0, 1, 2, ..."""
    entries = tuple(entry._replace(position=int(at[entry.position])) for entry in best.entries)
    return replace(best, entries=entries)


def random_scores(key: tuple[int, int], start: int, n: int) -> Array:
    """Scores of `random` for n candidates from a position on, as for a pool in memory."""
    bits = np.random.PCG64(np.random.SeedSequence(list(key)))
    bits.advance(start)
    return np.asarray(np.random.Generator(bits).random(n))


def _check_scores(scores: Array, name: str, n: int, alone: bool) -> Array:
    """The scores of a function, one for each of n candidates, all finite."""
    if scores.shape != (n,):
        raise ValueError(
            f"the acquisition function {name!r} returned shape {scores.shape}; it must return one "
            f"score for each of the {n} candidates that it is given"
        )
    bad = np.flatnonzero(~(np.isfinite(scores) | ((scores == -np.inf) & alone)))
    if len(bad):
        raise ValueError(
            f"the acquisition function {name!r} scored {len(bad)} of {n} candidates with "
            f"{scores[bad[0]]}; scores must be finite. To leave candidates out, skip or remove them"
        )
    return scores
