"""Contradictions: sets of labels in use (trusted, runs, groups) that the other labels contradict.

The model sets single labels aside that look wrong (`suspects`), but not labels marked as sure, and
not a third of all labels. So the evidence that a set is wrong is compared with the evidence that it
is right (`core.extensions.contradiction_evidence`), for three kinds of sets, which are reported
with the error without them:

    run      consecutive equal labels, by all people or within one group: a stuck
             instrument. Equal labels of rows that are not neighbours, within the range of the
             others and without other equal labels, add TIE_GAIN nats each.
    group    labels of one person, day or instrument that differ from the rest. If a region of the
             inputs explains the difference about as well, the group was measured elsewhere; if it
             depends on a few steep pairs of labels, the function may jump there. Then the group
             is not reported.
    sure     labels marked as sure that are FAR_SDS or more from their prediction, in sds of the
             other labels. Labels of a peak are not errors: next to one another, or a single one
             beyond PEAK_SDS, unless its decimal point has slipped. Neither are all labels beyond
             some value of an input, where the function may jump.

Nothing is changed. A set that is found is left out of the further search. With more than
MOST_LABELS labels, each test uses MOST_LABELS of them: some of the set, the nearest to them and
others evenly spread. The thresholds come from `benchmarks/contradictions.py`.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from weal.core.extensions.outliers.prior import Mask
from weal.diagnostics.contradiction_search import (
    MOST_LABELS,
    FoundSet,
    Rows,
    Search,
    groups_of,
    sample_rows,
)
from weal.diagnostics.leave_one_out import leave_one_out_means
from weal.learner.state import QuantityView
from weal.model import scaled_data
from weal.model.model import Model, mean_sd
from weal.model.training import TrainedEnsemble, begin
from weal.text import number, some

FEWEST_LABELS = 10  # for any contradiction


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A set of labels in use that the other labels contradict."""

    kind: str  # "sure", "run" or "group"
    ids: tuple[Hashable, ...]
    labels: tuple[float, ...]
    expected: tuple[float, ...]  # by the others; empty for a group
    group: tuple[str, ...]  # common to the labels of a group, such as "told by ann"
    gain: float  # log of the evidence ratio, in nats
    error: float  # of the other labels, each predicted from all the rest
    error_without: float  # the same without these labels
    looked_at: int  # labels
    of: int  # labels

    @property
    def words(self) -> str:
        """The contradiction in one line."""
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
        sure = "1 label marked as sure does" if n == 1 else f"{n} labels marked as sure do"
        return f"{sure} not fit the others: {some(said)}"

    @property
    def _errors(self) -> str:
        without = f"{number(self.error_without, 2)} without them"
        return f"error of the other labels {number(self.error, 2)} with them, {without}"


def contradictions(
    view: QuantityView,
    model: Model,
    groupings: Mapping[str, Sequence[Hashable | None]] | None = None,
) -> list[Contradiction]:
    """Sets of labels that the others contradict: runs, then groups and sure labels.

    `groupings` has, for each way to group the labels, the group of each label in order;
    its name, such as "told by", comes before that of a group.
    """
    t = len(model.trained.all_labels)
    if (
        not model.trained.dictionary
        or t < FEWEST_LABELS
        or np.ptp(model.trained.all_labels.y) == 0.0
    ):
        return []
    groups = groups_of(groupings or {}, t)
    found = list(Search(model.trained, groups, scaled_data.label_zero(model.scaling)).find_all())
    names = [label.name for label in view.labels]
    return [_to_contradiction(model, one, names) for one in found]


def _to_contradiction(
    model: Model, one: FoundSet, names: Sequence[Hashable | None]
) -> Contradiction:
    """A set of labels in the user's units, with the errors."""
    trained, scale, at = model.trained, model.scaling, np.flatnonzero(one.out).tolist()
    before = np.zeros_like(one.out) if one.before is None else one.before
    error, without, expected = _errors(model, before, one)
    return Contradiction(
        one.kind,
        tuple(names[n] for n in at),
        tuple(scale.means(trained.all_labels.y[at]).tolist()),
        expected if one.kind != "group" else (),
        one.group,
        one.gain,
        error,
        without,
        one.looked_at,
        len(trained.all_labels),
    )


def _errors(model: Model, before: Mask, one: FoundSet) -> tuple[float, float, tuple[float, ...]]:
    """Leave-one-out errors of the other labels with a set and without it, and its predictions."""
    labels, rest = model.trained.all_labels, ~one.out & ~before
    rows: Rows = np.flatnonzero(rest)
    if len(rows) > MOST_LABELS:
        rows = sample_rows(labels.X, one.out, rest | one.out)
        rows = rows[rest[rows]]
    every = np.sort(np.concatenate([rows, np.flatnonzero(one.out)[:MOST_LABELS]]))
    own = len(rows) + int(one.out.sum()) == len(labels)
    whole = model.trained if own else _train_on(model, every)
    less = _train_on(model, rows)
    kept = np.isin(every, rows)
    expected = mean_sd(less, model.scaling, labels.X[one.out])[0]
    return (
        _left_out_error(model, whole, kept),
        _left_out_error(model, less, np.ones(len(rows), dtype=np.bool_)),
        tuple(expected.tolist()),
    )


def _train_on(model: Model, rows: Rows) -> TrainedEnsemble:
    """The ensemble trained on some of the labels only, its experts selected with these."""
    trained, labels = model.trained, model.trained.all_labels
    parts = (labels.X[rows], labels.y[rows], labels.noise_var[rows])
    zero = scaled_data.label_zero(model.scaling)
    return begin(trained.setting, *parts, trained.seed, labels.sure[rows], zero)


def _left_out_error(model: Model, trained: TrainedEnsemble, kept: Mask) -> float:
    """Leave-one-out root mean square error of the labels in `kept`."""
    errors = model.scaling.means(trained.y) - leave_one_out_means(trained, model.scaling)
    counted = errors[kept[trained.included]]
    return float(np.sqrt((counted**2).mean())) if len(counted) else np.nan
