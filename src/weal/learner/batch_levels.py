"""Which levels of a hard-to-change factor a batch holds: the best joint batch over the levels.

For a batch of n rows with one level of a factor (`same`), a greedy batch is chosen within each
promising level, and the level whose batch has the largest joint value (`batch_value`) is taken. The
level of the best single row may have no other good rows, and a batch that is chosen freely and
filtered afterwards has fewer than n rows. A level with fewer than n free rows is not compared.

Promising levels are the MAX_FINALISTS with the largest quick values (`level_screening`). Where
there are more than MAX_LEVELS levels, quick values are computed for MAX_LEVELS of them: of a column
of numbers for levels evenly spaced by rank, and then for MAX_NEIGHBOURS levels between the best one
and its neighbours; of words for the levels with the most free rows. A level is tried on
MAX_LEVEL_ROWS of its rows; a pool in files is searched in a sample.

For several levels (`at_most`) batches from several sets of levels are compared: the levels that a
greedy batch adds until the limit is reached; and the MAX_FINALISTS sets with the largest quick
values. Where there are more than MAX_LEVELS sets, only one is built, by adding the level that gives
the set the largest quick value, one level after the other.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb

import numpy as np
from numpy.typing import NDArray

from weal.errors import Exhausted
from weal.learner.batch_limits import Factor
from weal.learner.batch_value import BatchValues, Mask, batch_values
from weal.learner.choosing import state_of_part
from weal.learner.level_screening import QuickValues, quick_values
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.state import State
from weal.text import some

MAX_LEVELS = 32
MAX_NEIGHBOURS = 6
MAX_FINALISTS = 3
MAX_LEVEL_ROWS = 1024
MAX_SEARCHED_ROWS = 8192  # of a pool in files

Positions = NDArray[np.intp]
LevelSet = frozenset[int]


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A batch that was tried: its value, and the levels of each factor that it holds."""

    value: float
    levels: tuple[LevelSet, ...]


def rows_of_best_levels(
    state: State, beliefs: PosteriorCache, factors: Sequence[Factor], used: Sequence[LevelSet],
    wanted: int,
) -> Mask:  # (U,)  # fmt: skip
    """The rows at the levels that the best joint batch of `wanted` more rows holds.

    `used` are the levels of each factor that rows included by hand have. Exhausted, with the way
    out, where no levels have so many free rows.
    """
    free = state.free()
    for factor, own in zip(factors, used, strict=True):
        free &= factor.levels.codes >= 0
        if len(own) == factor.limit:
            free &= np.isin(factor.levels.codes, list(own))
    _check_sizes(factors, used, free, wanted)
    if all(
        len(_levels_in(one, free) | own) <= one.limit
        for one, own in zip(factors, used, strict=True)
    ):
        levels = [_levels_in(one, free) | own for one, own in zip(factors, used, strict=True)]
        return _rows_at(factors, levels)
    found = _search_of(state, beliefs, factors, used, free, wanted).best()
    if found is None:
        raise Exhausted(
            f"no {wanted:,} free rows were found with {limits_text(factors)}; ask for fewer rows, "
            "or allow more values (at_most, --at-most)"
        )
    return _rows_at(factors, found.levels)


def limits_text(factors: Sequence[Factor]) -> str:
    """The limits in words, such as "one temperature"."""
    several = "at most {} values of {}"
    return " and ".join(
        f"one {one.text}" if one.limit == 1 else several.format(one.limit, one.text)
        for one in factors
    )


def _rows_at(factors: Sequence[Factor], levels: Iterable[Iterable[int]]) -> Mask:
    masks = [np.isin(one.levels.codes, list(own)) for one, own in zip(factors, levels, strict=True)]
    return np.asarray(np.logical_and.reduce(masks))


def _levels_in(factor: Factor, rows: Mask) -> LevelSet:
    return frozenset(np.unique(factor.levels.codes[rows]).tolist()) - {-1}


def _sizes(factor: Factor, rows: Mask) -> NDArray[np.intp]:  # (L,)
    """The number of these rows at each level."""
    codes = factor.levels.codes[rows]
    return np.bincount(codes[codes >= 0], minlength=len(factor.levels.names))


def _check_sizes(
    factors: Sequence[Factor], used: Sequence[LevelSet], free: Mask, wanted: int
) -> None:
    """Exhausted if the largest levels of a factor have too few rows."""
    for factor, own in zip(factors, used, strict=True):
        sizes = _sizes(factor, free)
        most = _most_rows(sizes, own, factor.limit)
        if most < wanted:
            raise _too_few(factor, own, sizes, wanted, most)


def _most_rows(sizes: NDArray[np.intp], own: LevelSet, limit: int) -> int:
    """The rows at the levels `own`, and at the largest others up to the limit."""
    others = np.sort(np.delete(sizes, list(own)))[::-1][: limit - len(own)]
    return int(sizes[list(own)].sum() + others.sum())


def _too_few(
    factor: Factor, own: LevelSet, sizes: NDArray[np.intp], wanted: int, most: int
) -> Exhausted:
    largest = sorted(own) or np.argsort(-sizes, kind="stable")[:5].tolist()
    shown = [f"{factor.levels.names[k]}: {sizes[k]:,}" for k in largest]
    column, limit = factor.levels.columns[0], factor.limit + 1
    alone = "; every row has a different value" if sizes.max(initial=0) == 1 else ""
    fewer = f"ask for {most:,} or fewer, or " if most else ""
    return Exhausted(
        f"asked for {wanted:,} more rows with {limits_text([factor])}, and at most {most:,} free "
        f"rows have that ({some(shown)}{alone}). To continue, {fewer}allow more values: "
        f"at_most={{{column!r}: {limit}}}, --at-most {column}={limit}"
    )


def _search_of(
    state: State, beliefs: PosteriorCache, factors: Sequence[Factor], used: Sequence[LevelSet],
    free: Mask, wanted: int,
) -> "LevelSearch":  # fmt: skip
    """The search in a state; that of a pool in files is in a part of it, in memory."""
    sizes = [_sizes(factor, free) for factor in factors]
    if state.candidates.in_shards:
        at = _part_of(state, factors[0], free, wanted)
        state, beliefs = state_of_part(state, beliefs, at), PosteriorCache(beliefs.memory)
        factors, free = [factor.subset(at) for factor in factors], free[at]
    values = batch_values(state, beliefs)
    quick = quick_values(values, state, beliefs, wanted)
    return LevelSearch(values, quick, tuple(factors), tuple(used), free, tuple(sizes), wanted)


def _part_of(state: State, factor: Factor, free: Mask, wanted: int) -> Positions:
    """Positions of some rows of each level, and of all that are taken, ascending."""
    pool, at = state.candidates, np.flatnonzero(free)
    at = np.random.default_rng([state.settings.seed, len(state.taken)]).permutation(at)
    codes = factor.levels.codes[at]
    order = np.argsort(codes, kind="stable")
    rank = np.arange(len(at)) - np.searchsorted(codes[order], codes[order])
    share = min(MAX_SEARCHED_ROWS / len(at), 1.0)
    sizes = np.bincount(codes)[codes[order]]
    some_of_level = np.maximum(np.ceil(sizes * share), np.minimum(sizes, wanted))
    taken = np.array([pool.index[name] for name in state.taken], dtype=np.intp)
    return np.union1d(at[order[rank < some_of_level]], taken).astype(np.intp)


@dataclass(frozen=True, slots=True, eq=False)
class LevelSearch:
    """The search for the levels of one batch."""

    values: BatchValues
    quick: QuickValues
    factors: tuple[Factor, ...]
    used: tuple[LevelSet, ...]
    free: Mask  # (U,)
    sizes: tuple[NDArray[np.intp], ...]  # (L,)  free rows at each level, in the whole pool
    wanted: int

    def best(self) -> Trial | None:
        """The trial with the largest value; None if no trial had enough rows."""
        first = self.factors[0]
        if first.limit > 1 or self.used[0]:
            return self._trial_of_rows(self.free)
        levels = [k for k, size in enumerate(self.sizes[0].tolist()) if size >= self.wanted]
        known = {k: self._quick_of_level(k) for k in self._first_levels(levels)}
        for k in self._neighbours(levels, known) if first.levels.is_ordered else []:
            known[k] = self._quick_of_level(k)
        ranked = sorted(known, key=lambda k: (-known[k], k))
        trials = (self._trial_of_rows(self._rows_of(k)) for k in ranked)
        ready = (one for one in trials if one is not None)
        return largest(islice(ready, MAX_FINALISTS))

    def _rows_of(self, level: int) -> Mask:
        return np.asarray(self.free & (self.factors[0].levels.codes == level))

    def _quick_of_level(self, level: int) -> float:
        return self.quick.of_rows(self._rows_of(level))

    def _first_levels(self, levels: list[int]) -> list[int]:
        """The levels whose quick values are computed first."""
        if len(levels) <= MAX_LEVELS:
            return levels
        if self.factors[0].levels.is_ordered:
            steps = np.linspace(0, len(levels) - 1, MAX_LEVELS).round().astype(int)
            return [levels[k] for k in steps.tolist()]
        return sorted(levels, key=lambda k: (-self.sizes[0][k], k))[:MAX_LEVELS]

    def _neighbours(self, levels: list[int], known: dict[int, float]) -> list[int]:
        """Levels between the best one and its neighbours with quick values, evenly spaced."""
        best = max(sorted(known), key=lambda k: known[k])
        low = max([k for k in known if k < best], default=best)
        high = min([k for k in known if k > best], default=best)
        inside = [k for k in levels if low < k < high and k != best]
        if len(inside) <= MAX_NEIGHBOURS:
            return inside
        steps = np.linspace(0, len(inside) - 1, MAX_NEIGHBOURS + 2).round().astype(int)[1:-1]
        return [inside[k] for k in steps.tolist()]

    def _trial_of_rows(self, rows: Mask) -> Trial | None:
        """The best batch of these rows: with levels added by the batch, or chosen before."""
        first = self._trial(rows)
        if all(len(_levels_in(one, rows)) <= one.limit for one in self.factors):
            return first
        return largest([first, *(self._trial(one) for one in self._rows_of_sets(rows))])

    def _rows_of_sets(self, rows: Mask) -> list[Mask]:
        """The rows at most promising sets of levels of each factor."""
        found = [rows]
        for factor, own in zip(self.factors, self.used, strict=True):
            found = [
                np.asarray(part & np.isin(factor.levels.codes, list(held)))
                for part in found
                for held in self._promising_sets(part, factor, own)
            ][:MAX_FINALISTS]
        return found

    def _promising_sets(self, rows: Mask, factor: Factor, own: LevelSet) -> list[LevelSet]:
        sizes = _sizes(factor, rows)
        others = [k for k in np.flatnonzero(sizes).tolist() if k not in own]
        more = min(factor.limit - len(own), len(others))
        if comb(len(others), more) > MAX_LEVELS:
            return [self._grown_set(rows, factor, own)]
        sets = [own | frozenset(one) for one in combinations(others, more)]
        quick = {
            one: self.quick.of_rows(rows & np.isin(factor.levels.codes, list(one)))
            for one in sets
            if sizes[list(one)].sum() >= self.wanted
        }
        return sorted(quick, key=lambda one: (-quick[one], sorted(one)))[:MAX_FINALISTS]

    def _grown_set(self, rows: Mask, factor: Factor, own: LevelSet) -> LevelSet:
        """The set whose levels are added one by one, by quick values."""
        codes, sizes, held = factor.levels.codes, _sizes(factor, rows), own
        while len(held) < factor.limit:
            left = self.wanted - sum(int(sizes[k]) for k in held)
            others = [k for k in np.flatnonzero(sizes).tolist() if k not in held]
            others = sorted(others, key=lambda k: (-sizes[k], k))[:MAX_LEVELS]
            fit = [k for k in others if _most_rows(sizes, held | {k}, factor.limit) >= self.wanted]
            if not fit or (left <= 0 and len(others) == 0):
                break
            found = {k: self.quick.of_rows(rows & np.isin(codes, [*held, k])) for k in sorted(fit)}
            held = held | {max(found, key=lambda k: found[k])}
        return held

    def _trial(self, rows: Mask) -> Trial | None:
        """The greedy batch of these rows; None if there are too few."""
        at, wanted = self._some_rows(rows), self.wanted
        if len(at) < wanted:
            return None
        part, here = self.values.part(at)
        allowed = np.isin(here, at)
        factors = [factor.subset(here) for factor in self.factors]
        index = part.candidates.index

        def open_rows(batch: Sequence[Hashable]) -> Mask:
            taken = np.array([index[name] for name in batch], dtype=np.intp)
            left = allowed.copy()
            left[taken] = False
            return _openable(factors, self.used, left, taken, wanted - len(batch))

        done = self.values.choose(part, wanted, open_rows)
        if done is None:
            return None
        chosen = np.array([index[name] for name in done.batch], dtype=np.intp)
        codes = [factor.levels.codes[chosen].tolist() for factor in factors]
        levels = [frozenset(own) | fixed for own, fixed in zip(codes, self.used, strict=True)]
        return Trial(self.values.joint_value(done), tuple(levels))

    def _some_rows(self, rows: Mask) -> Positions:
        """Positions of the rows of a trial: all, or those with the least hashes of (seed, id)."""
        at, most = np.flatnonzero(rows), max(MAX_LEVEL_ROWS, 4 * self.wanted)
        if len(at) <= most:
            return at
        return np.sort(at[np.argsort(self.quick.hashes[at], kind="stable")[:most]])


def largest(trials: Iterable[Trial | None]) -> Trial | None:
    """The trial with the largest value, the first of equal ones."""
    there = [one for one in trials if one is not None]
    return max(there, key=lambda one: one.value) if there else None


def _openable(
    factors: Sequence[Factor], used: Sequence[LevelSet], left: Mask, taken: Positions, missing: int
) -> Mask:
    """The rows left that keep to the limits, and leave enough rows for all that are missing."""
    found = left
    for factor, own in zip(factors, used, strict=True):
        codes = factor.levels.codes
        held = own | frozenset(codes[taken].tolist())
        if len(held) == factor.limit:
            found = found & np.isin(codes, list(held))
            continue
        sizes = _sizes(factor, left)
        new = [k for k in np.flatnonzero(sizes).tolist() if k not in held]
        rooms = [_most_rows(sizes, held | {k}, factor.limit) for k in new]
        fit = [k for k, room in zip(new, rooms, strict=True) if room >= missing]
        inside = list(held) if _most_rows(sizes, held, factor.limit) >= missing else []
        found = found & np.isin(codes, [*inside, *fit])
    return found
