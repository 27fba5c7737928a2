"""Search for sets of labels that the other labels contradict (`contradictions`).

Sets are labels with something in common: told by one person, on one day, equal in a row.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.constants import DECIMAL_SLIP_POWERS
from weal.core.distances import squared_distances
from weal.core.extensions.contradiction_evidence import (
    Evidence,
    evidence,
    group_gain,
    regions,
    run_gain,
    standardise,
    wrong_labels,
)
from weal.core.extensions.model_selection import candidate_grid
from weal.core.extensions.outliers.prior import Mask
from weal.core.paper.kernels import Kernel
from weal.model.parameters import columns_of_inputs
from weal.model.training import TrainedEnsemble

FEWEST_OF_GROUP, FEWEST_EQUAL = 3, 3  # labels of a group, rows of a run
SORTED = 0.8  # steps up less steps down, over all steps, from which labels are sorted
MOST_GROUPS, MOST_RUNS = 16, 8  # in the search, the largest first


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Some of the labels, and the name of what they share."""

    names: tuple[str, ...]  # such as "told by ann"; several where these are the same labels
    which: Mask  # (t,)


def groups_of(groupings: Mapping[str, Sequence[Hashable | None]], t: int) -> list[Group]:
    """The groups of t labels that can be compared with the rest, the largest first.

    If two groups together contain all labels, the smaller one is used; if several groupings give
    the same group, it is one group with several names.
    """
    found: dict[bytes, Group] = {}
    for name, values in groupings.items():
        for value in dict.fromkeys(one for one in values if one is not None):
            which = np.array([one == value for one in values], dtype=np.bool_)
            size, key, rest = int(which.sum()), which.tobytes(), (~which).tobytes()
            if not FEWEST_OF_GROUP <= size <= t - FEWEST_OF_GROUP:
                continue
            if rest in found and 2 * size >= t:
                continue
            found.pop(rest, None)
            before = found[key].names if key in found else ()
            found[key] = Group((*before, f"{name} {value}"), which)
    return sorted(found.values(), key=lambda one: -int(one.which.sum()))[:MOST_GROUPS]


def equal_runs(X: Array, y: Array, groups: Sequence[Group]) -> list[Group]:
    """Runs of equal labels y (t,) in a row, among all labels or within a group, the longest first.

    Rows that are measured again count once. In labels that are told in the order of their values,
    as from a table, equal labels are consecutive for any instrument; they have no runs.
    """
    every = Group((), np.ones(len(y), dtype=np.bool_))
    found: dict[bytes, Group] = {}
    for one in (every, *groups):
        at = np.flatnonzero(one.which)
        if _is_sorted(y[at]):
            continue
        ends = np.flatnonzero(np.diff(y[at]) != 0.0) + 1
        for rows in np.split(at, ends):
            if len(rows) >= FEWEST_EQUAL and _count_distinct(X[rows]) >= FEWEST_EQUAL:
                which = np.zeros(len(y), dtype=np.bool_)
                which[rows] = True
                found.setdefault(which.tobytes(), replace(one, which=which))
    return sorted(found.values(), key=lambda one: -int(one.which.sum()))[:MOST_RUNS]


def _is_sorted(y: Array) -> bool:
    """Whether nearly all steps from one label to the next go the same way."""
    steps = np.sign(np.diff(y))
    steps = steps[steps != 0.0]
    return len(steps) > 0 and abs(float(steps.mean())) >= SORTED


def _count_distinct(X: Array) -> int:
    return len(np.unique(X, axis=0))


Rows = NDArray[np.intp]  # numbers of labels, as told
MOST_LABELS = 90  # for one question
RUN_GAIN, GROUP_GAIN, SURE_GAIN = 5.0, 5.0, 6.0  # nats from which a set is reported
REGION_GAIN = 3.0  # nats by which a group has to be more probable than any region of the inputs
STEEPEST = 3  # pairs of a label of a group and another that may not decide alone
TIE_GAIN = 1.5  # nats of an equal label, if all other labels are distinct
PLATEAU = 0.6  # share of a run whose nearest label is in it, from which it may be a plateau
FAR_SDS, PEAK_SDS, COMPACT = 2.5, 8.0, 0.33  # the last: spread of a peak over that of all labels
FEWEST_BEYOND = 3  # sure labels beyond some value of an input that are not errors
SLIP_SDS, ZERO_SDS = 0.5, 3.0  # of a label without its decimal slip, and of its prediction
FEWEST_ASIDE = 3  # labels of a group set aside by the model from which they count as its own
MOST_FOUND = 3  # sets of each kind
KERNELS, LEAST_WEIGHT = 4, 0.05  # of the model, beside the grid
FINE_LABELS, FINE, COARSE = 60, 2, 4  # every second kernel of the grid, or every fourth


@dataclass(frozen=True, slots=True, eq=False)
class FoundSet:
    """A set of labels that the others contradict, as a mask."""

    kind: str
    out: Mask  # (t,)
    gain: float
    looked_at: int
    group: tuple[str, ...] = ()
    before: Mask | None = None  # (t,)  labels of sets found earlier


class Search:
    """The search over the labels of a model; labels of a set that is found leave the search."""

    def __init__(
        self, trained: TrainedEnsemble, groups: Sequence[Group], label_zero: float = np.nan
    ) -> None:
        self.trained, self.groups, self.label_zero = trained, groups, label_zero
        self.X, self.y, self.noise_var = trained.all_labels.parts
        self.left = np.isfinite(self.noise_var)
        self.kernels = _kernels(trained)
        self._cache: dict[bytes, tuple[Evidence, float]] = {}

    def find_all(self) -> Iterator[FoundSet]:
        """All sets: first runs, then groups and sure labels, the most probable first."""
        for kinds in ((self._find_run,), (self._find_group, self._find_sure)):
            for _ in range(MOST_FOUND):
                every = [one for kind in kinds if (one := kind()) is not None]
                if not every:
                    break
                best = _likeliest(every)
                yield replace(best, before=~self.left)
                self.left &= ~best.out

    def _find_run(self) -> FoundSet | None:
        """The run of equal labels with the largest gain."""
        runs = equal_runs(self.X, self.y, self.groups)
        runs = [one for one in runs if self.left[one.which].all()]
        found = [self._score_run(one) for one in runs]
        return _best_above(found, RUN_GAIN + np.log(max(len(runs), 1)))

    def _score_run(self, one: Group) -> FoundSet:
        rows, labels, _ = self._evidence(one.which)
        y, v = self.y[self.left], self.y[one.which][0]
        bound = int(v == y.max()) - int(v == y.min())
        gain = run_gain(labels, one.which[rows], bound)
        ties = int(one.which.sum()) - 1 if not bound and self._is_scattered(one.which) else 0
        return FoundSet("run", one.which, gain + TIE_GAIN * ties, len(rows), one.names)

    def _is_scattered(self, run: Mask) -> bool:
        """Whether only the labels of a run are equal, and its rows are not neighbours."""
        own, rows = np.flatnonzero(run), np.flatnonzero(self.left)
        others = self.y[rows][~run[rows]]
        r2 = squared_distances(self.X[own], self.X[rows])
        r2[own[:, None] == rows] = np.inf
        near = run[rows[r2.argmin(axis=1)]]
        return len(np.unique(others)) == len(others) and float(near.mean()) < PLATEAU

    def _find_group(self) -> FoundSet | None:
        """The group that differs most from the rest."""
        half = 0.5 * int(self.left.sum())
        sets = [replace(one, which=one.which & self.left) for one in self.groups]
        sets = [one for one in sets if 3 <= one.which.sum() <= half]
        found = [self._score_group(one) for one in sets]
        least = GROUP_GAIN + np.log(max(len(sets), 1))
        found = [one for one in found if one.gain >= least]
        found = [one for one in found if not (self._is_region(one) or self._is_jump(one, least))]
        return _best_above(found, least)

    def _score_group(self, one: Group) -> FoundSet:
        rows, labels, log_z = self._evidence(one.which)
        gain = group_gain(labels, one.which[rows], log_z)
        return FoundSet("group", one.which, gain, len(rows), one.names)

    def _is_region(self, one: FoundSet) -> bool:
        """Whether a region of the inputs explains the difference about as well."""
        rows, labels, log_z = self._evidence(one.out)
        near = regions(self.X[rows], one.out[rows])
        return any(group_gain(labels, r, log_z) > one.gain - REGION_GAIN for r in near)

    def _is_jump(self, one: FoundSet, least: float) -> bool:
        """Whether the STEEPEST pairs of labels decide alone: the function may jump between them."""
        rows, labels, _ = self._evidence(one.out)
        X, y, group = self.X[rows], self.y[rows], one.out[rows]
        r2 = squared_distances(X[group], X[~group])
        steep = np.abs(y[group][:, None] - y[~group]) / np.sqrt(
            np.maximum(r2, r2[r2 > 0.0].min(initial=np.inf))
        )
        pairs = np.unravel_index(np.argsort(-steep, axis=None)[:STEEPEST], steep.shape)
        kept = np.ones(len(rows), dtype=np.bool_)
        kept[np.flatnonzero(group)[pairs[0]]] = kept[np.flatnonzero(~group)[pairs[1]]] = False
        if not (group[kept].any() and (~group[kept]).any()):
            return True
        less = labels.subset(kept)
        return group_gain(less, group[kept], less.log_z()) < least

    def _find_sure(self) -> FoundSet | None:
        """The sure labels that the others contradict most."""
        free = self.left & (self.trained.all_labels.sure > 0.0)
        if not free.any():
            return None
        rows, labels, _ = self._evidence(self._farthest(free))
        inside, gain = wrong_labels(labels, free[rows])
        if gain < SURE_GAIN:
            return None
        wrong = np.zeros_like(free)
        slipped = _find_decimal_slip(labels, inside, self._standard_zero(rows, labels))
        wrong[rows[_off_peak(self.X[rows], labels, inside) | slipped]] = True
        return FoundSet("sure", wrong, gain, len(rows)) if wrong.any() else None

    def _standard_zero(self, rows: Rows, labels: Evidence) -> float:
        """The zero of the labels on the standardised scale."""
        y, u = self.y[rows], labels.Y[:, 0]
        far = int(np.abs(u).argmax())
        unit = (y[far] - np.median(y)) / u[far]
        return float((self.label_zero - np.median(y)) / unit)

    def _farthest(self, free: Mask) -> Mask:
        """The sure labels farthest from the median, if there are many."""
        away = np.where(free, np.abs(self.y - np.median(self.y)), -1.0)
        most = np.sort(away)[-min(MOST_LABELS // 3, len(away))]
        return np.asarray(free & (away >= most))

    def _evidence(self, which: Mask) -> tuple[Rows, Evidence, float]:
        """Rows to compare some labels with, the evidence of the experts for them, and its log Z."""
        right = self.trained.included
        aside = which & ~right
        aside &= aside.sum() >= FEWEST_ASIDE
        rows = sample_rows(self.X, which & self.left, self.left & (right | aside))
        key = rows.tobytes()
        if key not in self._cache:
            y, noise_var = standardise(self.y[rows], self.noise_var[rows])
            labels = evidence(self.kernels, self.X[rows], y, noise_var)
            self._cache = {key: (labels, labels.log_z())}
        return rows, *self._cache[key]


def _likeliest(found: Sequence[FoundSet]) -> FoundSet:
    """The set with the largest gain; for a group inside a set of sure labels, that set.

    A person who confirmed wrong labels need not differ in anything else.
    """
    best = max(found, key=lambda one: one.gain)
    return next((one for one in found if one.kind == "sure" and one.out[best.out].all()), best)


def _kernels(trained: TrainedEnsemble) -> list[Kernel]:
    """Kernels of the comparison: some of the grid, and those of the model with most weight."""
    step = FINE if len(trained.all_labels) <= FINE_LABELS else COARSE
    order = np.argsort(-trained.ensemble.w, kind="stable").tolist()
    own = [trained.dictionary[m] for m in order if trained.ensemble.w[m] >= LEAST_WEIGHT]
    d = trained.X.shape[1]
    grid = candidate_grid(d, columns_of_inputs(trained.setting, d))
    return [*grid[::step], *dict.fromkeys(own[:KERNELS])]


def sample_rows(X: Array, which: Mask, every: Mask) -> Rows:
    """Rows to compare `which` with: all, or these, the nearest and some evenly spread."""
    rows = np.flatnonzero(every)
    if len(rows) <= MOST_LABELS:
        return rows
    own = _evenly_spread(np.flatnonzero(which), MOST_LABELS // 3)
    rest = np.flatnonzero(every & ~which)
    near = squared_distances(X[own], X[rest]).argsort(axis=1, kind="stable").T.ravel()
    near = rest[np.array(list(dict.fromkeys(near.tolist()))[: MOST_LABELS // 3], dtype=np.intp)]
    far = _evenly_spread(np.setdiff1d(rest, near), MOST_LABELS - len(own) - len(near))
    return np.sort(np.concatenate([own, near, far]))


def _evenly_spread(rows: Rows, most: int) -> Rows:
    """At most `most` of the rows, evenly spread."""
    at = np.linspace(0, len(rows) - 1, min(most, len(rows))).round().astype(np.intp)
    return np.asarray(rows[at])


def _best_above(found: Sequence[FoundSet], least: float) -> FoundSet | None:
    """The set with the largest gain, if it is at least `least`."""
    best = max(found, key=lambda one: one.gain, default=None)
    return best if best is not None and best.gain >= least else None


def _off_peak(X: Array, labels: Evidence, wrong: Mask) -> Mask:
    """The wrong labels that are far from their predictions and not on a peak."""
    y, away = labels.Y[:, 0], np.zeros(len(wrong))
    away[wrong] = (y[wrong] - labels.predict(wrong)[:, 0]) / (y[~wrong].std() or 1.0)
    far = wrong & (np.abs(away) >= FAR_SDS)
    r2 = squared_distances(X, X)
    np.fill_diagonal(r2, np.inf)
    nearest = r2.argmin(axis=1)
    high = bool((np.abs(away) > PEAK_SDS).any())
    if high or (far.sum() > 1 and _spread(X[far]) < COMPACT * _spread(X)):
        far &= ~(wrong[nearest] & (away[nearest] * away > 0.0))
    if far.sum() >= FEWEST_BEYOND and _beyond(X, far):
        return np.zeros_like(far)
    return far if far.sum() > 1 or not high else np.zeros_like(far)


def _beyond(X: Array, which: Mask) -> bool:
    """Whether these are all labels beyond some value of an input, where the function may jump."""
    some, rest = X[which], X[~which]
    above, below = some.min(axis=0) > rest.max(axis=0), some.max(axis=0) < rest.min(axis=0)
    return bool((above | below).any())


def _find_decimal_slip(labels: Evidence, wrong: Mask, label_zero: float) -> Mask:
    """The single wrong label whose decimal point has slipped.

    Its ratio to the prediction is 10, 100 or 1000 or the inverse, and the prediction is not near 0.
    """
    found, y = np.zeros_like(wrong), labels.Y[:, 0]
    if wrong.sum() != 1:
        return found
    sd, meant = float(y[~wrong].std()), float(labels.predict(wrong)[0, 0])
    size = float(y[wrong][0]) - label_zero
    off = min(abs(label_zero + size / 10.0**k - meant) for k in DECIMAL_SLIP_POWERS)
    found[wrong] = off <= SLIP_SDS * sd and abs(meant - label_zero) >= ZERO_SDS * sd
    return found


def _spread(X: Array) -> float:
    return float(X.std(axis=0).mean())
