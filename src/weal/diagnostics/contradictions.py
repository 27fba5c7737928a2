"""Labels that count although the other labels contradict them: sure ones, runs, groups.

The model sets single labels aside that look wrong (`suspects`), but not those told as sure, and it
cannot set aside a third of them. So three kinds of sets are weighed by evidence, each against being
right (`core.extensions.contradictions`), with what the error would be without them:

    run      equal labels in a row, in the order told, by everybody or within one group: an
             instrument that was stuck. Equal labels of rows that are no neighbours, within the
             range of the others and where no others are equal, speak for it with TIE_GAIN nats
             each.
    group    labels of one person, day or instrument that differ from the rest. Where a region of
             the inputs explains the difference about as well (`core.extensions.contradictions`),
             the group was measured elsewhere; where all hangs on a few steep pairs of labels, the
             function may jump there. Then nothing is said of it.
    sure     labels told as sure that are FAR_SDS or more from what the others let expect, in sds of
             the others. Labels of a peak are no errors: next to one another, or a single one
             beyond PEAK_SDS, unless its decimal point has slipped. Nor are all labels beyond some
             value of an input, where the function may jump.

Nothing is changed. A set that is found is left out before the next is looked for. Of more than
MOST_LABELS labels, so many are looked at for each question: some of the set, those nearest to them
and others evenly spread. The thresholds are those of `benchmarks/contradictions.py`.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from weal.core.extensions.outliers.prior import Mask
from weal.diagnostics.contradiction_search import (
    MOST_LABELS,
    Found,
    Rows,
    Search,
    groups_of,
    looked_at,
)
from weal.diagnostics.leave_one_out import left_out_means
from weal.learner.state import State
from weal.model import scaled_data
from weal.model.model import Model, mean_sd
from weal.model.training import TrainedEnsemble, begin
from weal.text import number, some

FEWEST_LABELS = 10  # from which labels can contradict one another


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Labels that the others contradict, and that count all the same."""

    kind: str  # "sure", "run" or "group"
    ids: tuple[Hashable, ...]
    labels: tuple[float, ...]
    expected: tuple[float, ...]  # by the others; empty for a group
    group: tuple[str, ...]  # what the labels of a group have in common, such as "told by ann"
    gain: float  # log of the evidence ratio, in nats
    error: float  # of the other labels, each predicted from all the rest
    error_without: float  # the same where these labels do not count
    looked_at: int  # labels
    of: int  # labels

    @property
    def words(self) -> str:
        """All of it in one line."""
        all_of_them = self.looked_at == self.of
        sampled = "" if all_of_them else f" (by {self.looked_at} of {self.of:,} labels)"
        return f"{self._what}{sampled}; {self._errors}"

    @property
    def _what(self) -> str:
        n, names = len(self.ids), some(map(str, self.ids))
        if self.kind == "group":
            return f"{n} labels {' and '.join(self.group)} differ from the rest: {names}"
        if self.kind == "run":
            inside = f" {' and '.join(self.group)}" if self.group else ""
            same = f"{n} labels in a row{inside} are {number(self.labels[0], 6)}"
            return f"{same}, which the others contradict. A stuck instrument? {names}"
        each = zip(self.ids, self.labels, self.expected, strict=True)
        said = (f"{name} is {number(y, 6)} (expected {number(mu)})" for name, y, mu in each)
        sure = "1 label told as sure does" if n == 1 else f"{n} labels told as sure do"
        return f"{sure} not fit the others: {some(said)}"

    @property
    def _errors(self) -> str:
        without = f"{number(self.error_without, 2)} without them"
        return f"error of the other labels {number(self.error, 2)} with them, {without}"


def contradictions(
    state: State, model: Model, groupings: Mapping[str, Sequence[Hashable | None]] | None = None
) -> list[Contradiction]:
    """Sets of labels that the others contradict: runs, then groups and sure labels.

    `weal.campaign.contradiction_report` has, for each way to group the labels, the group of each
    label in the order told; its name, such as "told by", comes before that of a group.
    """
    t = len(model.fold.seen)
    if not model.fold.dictionary or t < FEWEST_LABELS or np.ptp(model.fold.seen.y) == 0.0:
        return []
    groups = groups_of(groupings or {}, t)
    found = list(Search(model.fold, groups, scaled_data.label_zero(model.scaling)).found())
    names = [label.name for label in state.labels]
    return [_reported(model, one, names) for one in found]


def _reported(model: Model, one: Found, names: Sequence[Hashable | None]) -> Contradiction:
    """A set in the user's units, with the errors."""
    fold, scale, at = model.fold, model.scaling, np.flatnonzero(one.out).tolist()
    before = np.zeros_like(one.out) if one.before is None else one.before
    error, without, expected = _errors(model, before, one)
    return Contradiction(
        one.kind,
        tuple(names[n] for n in at),
        tuple(scale.means(fold.seen.y[at]).tolist()),
        expected if one.kind != "group" else (),
        one.group,
        one.gain,
        error,
        without,
        one.looked_at,
        len(fold.seen),
    )


def _errors(model: Model, before: Mask, one: Found) -> tuple[float, float, tuple[float, ...]]:
    """Leave-one-out errors of the other labels with a set and without, and what is expected of it
    then.
    """
    seen, rest = model.fold.seen, ~one.out & ~before
    rows: Rows = np.flatnonzero(rest)
    if len(rows) > MOST_LABELS:
        rows = looked_at(seen.X, one.out, rest | one.out)
        rows = rows[rest[rows]]
    every = np.sort(np.concatenate([rows, np.flatnonzero(one.out)[:MOST_LABELS]]))
    own = len(rows) + int(one.out.sum()) == len(seen)
    whole = model.fold if own else _begun(model, every)
    less = _begun(model, rows)
    kept = np.isin(every, rows)
    expected = mean_sd(less, model.scaling, seen.X[one.out])[0]
    return (
        _left_out_error(model, whole, kept),
        _left_out_error(model, less, np.ones(len(rows), dtype=np.bool_)),
        tuple(expected.tolist()),
    )


def _begun(model: Model, rows: Rows) -> TrainedEnsemble:
    """The fold of some of the labels alone, its experts settled by these."""
    fold, seen = model.fold, model.fold.seen
    parts = (seen.X[rows], seen.y[rows], seen.extra[rows])
    zero = scaled_data.label_zero(model.scaling)
    return begin(fold.setting, *parts, fold.seed, seen.sure[rows], zero)


def _left_out_error(model: Model, fold: TrainedEnsemble, kept: Mask) -> float:
    """Root mean square error of those of the labels that are kept, each left out."""
    errors = model.scaling.means(fold.y) - left_out_means(fold, model.scaling)
    counted = errors[kept[fold.right]]
    return float(np.sqrt((counted**2).mean())) if len(counted) else np.nan
