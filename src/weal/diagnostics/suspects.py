"""Labels that are probably wrong, and likely reasons: a factor, a swap, a unit.

The model decides at expert selection whether a label is more likely wrong than right
(`model.outlier_probability_`); those labels are set aside and reported here. Two labels of one
batch that fit much better when exchanged are reported too; they still count unless they are set
aside. Each suspect comes with the prediction from the other labels, the nearest labelled rows, and
a possible explanation:

    a factor    label times or over 10, 100 or 1000 is within FITTING_SDS sds of the prediction
    a swap      the labels are much more likely with this and another of its batch exchanged
    a unit      most labels of one call are off by about the same factor, whatever its value

Labels in the model are left out in closed form (`leave_one_out`); labels set aside are predicted by
the model, which was trained without them.

Every pair of labels of one batch is tested for a swap, given all other labels
(`core.extensions.outliers.slips_and_swaps`). A pair is reported if a swap is more likely by the
penalty SWAP_PENALTY_NATS and the log of the number of possible partners; the best pairs first, each
label once.
"""

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from weal.core.arrays import Array
from weal.core.constants import SWAP_PENALTY_NATS, SWAP_PENALTY_OF_OUTLIERS_NATS
from weal.core.extensions.outliers.inclusion import InclusionState, include_all
from weal.core.extensions.outliers.slips_and_swaps import Pairs, gains
from weal.core.paper.exact_gp import LEAST_RATIO
from weal.diagnostics.explanation import Neighbour, neighbours
from weal.diagnostics.leave_one_out import LeaveOneOut, leave_one_out, leave_one_out_mixtures
from weal.learner.state import QuantityView
from weal.model.model import Model, summary
from weal.model.training import TrainedEnsemble
from weal.text import facts_lines, number, percent, plus_minus

WITHIN_ONE_SD = 0.6827  # probability of a normal


@dataclass(frozen=True, slots=True, eq=False)
class OutlierProbabilities:
    """Outlier probabilities and predictions of the labels, in the order they were told; user's
    units.
    """

    probability: Array  # (n,)  of being wrong
    expected: Array  # (n,)  mean of f given the other labels
    sd: Array  # (n,)  of a label there: half of its 68 % interval
    log_odds: Array  # (n,)  of being wrong


def predictions_by_others(model: Model, level: float) -> LeaveOneOut:
    """Predictions of every label, with intervals, from the other labels in the model."""
    trained, right, scale = model.trained, model.trained.included, model.scaling
    found = np.empty((4, len(right)))
    alone = leave_one_out(trained, scale, level)
    found[:, right] = alone.mean, alone.sd, alone.low, alone.high
    if not right.all():
        found[:, ~right] = summary(trained, scale, trained.all_labels.X[~right], level)
    found[[0, 2, 3]] = model.clip(found[[0, 2, 3]])
    return LeaveOneOut(*found)


def outlier_probabilities(model: Model) -> OutlierProbabilities:
    """Outlier probability and prediction of every label told to a model."""
    trained, right = model.trained, model.trained.included
    expected, sd = np.empty((2, len(right)))
    alone = leave_one_out_mixtures(trained)
    own = np.maximum(trained.ensemble.noise_of_labels(trained.X), LEAST_RATIO)
    alone = replace(alone, s=alone.v + own)  # as for a label without a noise of its own
    low, high = alone.interval(model.scaling, WITHIN_ONE_SD)
    expected[right], sd[right] = alone.moments(model.scaling)[0], 0.5 * (high - low)
    if not right.all():
        X = trained.all_labels.X[~right]
        expected[~right], _, low, high = summary(trained, model.scaling, X, WITHIN_ONE_SD)
        sd[~right] = 0.5 * (high - low)
    probability = model.outlier_probability_
    with np.errstate(divide="ignore"):
        log_odds = np.log(probability) - np.log1p(-probability)
    return OutlierProbabilities(probability, expected, sd, log_odds)


MAX_LABELS_COMPARED = 400  # the latest labels, which are tested for swaps
MAX_BATCH_LABELS = 200  # in larger batches, any label has a similar one


def find_swaps(model: Model, together: Sequence[Hashable | None]) -> dict[int, int]:
    """Positions of labels that may have been swapped; `together` has the batch of each label."""
    trained = model.trained
    first = max(len(together) - MAX_LABELS_COMPARED, 0)
    pairs, mates = _pairs(together[first:])
    if not trained.setting.finds_outliers or not len(pairs):
        return {}
    pairs = pairs[(trained.all_labels.sure[first:][pairs] == 0.0).all(axis=1)]
    now, outlier_prior = _inclusion_state(trained, first)
    gain = gains(now, outlier_prior, pairs)
    doubted = now.wrong[pairs].any(axis=1)
    over = (
        gain
        - np.where(doubted, SWAP_PENALTY_OF_OUTLIERS_NATS, SWAP_PENALTY_NATS)
        - np.log(mates[pairs[:, 0]])
    )
    found: dict[int, int] = {}
    for n in np.argsort(-over, kind="stable").tolist():
        i, j = (int(one) + first for one in pairs[n])
        if over[n] > 0.0 and i not in found and j not in found:
            found[i], found[j] = j, i
    return found


def _pairs(together: Sequence[Hashable | None]) -> tuple[Pairs, Array]:
    """Pairs (P, 2) of labels of one batch, and the number of partners of each label (t,)."""
    whole: dict[Hashable, list[int]] = {}
    for n, batch in enumerate(together):
        if batch is not None:
            whole.setdefault(batch, []).append(n)
    mates, pairs = np.ones(len(together)), list[tuple[int, int]]()
    for some in whole.values():
        if 2 <= len(some) <= MAX_BATCH_LABELS:
            mates[some] = len(some) - 1
            pairs += [(i, j) for n, i in enumerate(some) for j in some[n + 1 :]]
    return np.array(pairs, dtype=np.intp).reshape(len(pairs), 2), mates


def _inclusion_state(trained: TrainedEnsemble, first: int) -> tuple[InclusionState, Array]:
    """Inclusion state of the labels from number `first` on, and their log outlier prior (t,)."""
    ens, labels = trained.ensemble, trained.all_labels
    y, noise_var = trained.warp.labels(labels.y[first:]), labels.noise_var[first:]
    variance = float(trained.prior.scale.variance[0])  # of labels that selected the experts
    noise_var = trained.warp.variances(noise_var, labels.y[first:])
    noise_var = ens.known_noise(labels.X[first:], noise_var) / variance
    units = ens.scale.unit / variance
    experts = list(zip(trained.dictionary, ens.noise.tolist(), units.tolist(), strict=True))
    wrong = ~trained.included[first:]
    now = include_all(
        experts, trained.prior.log_w, labels.X[first:], y / np.sqrt(variance), noise_var, wrong
    )
    outlier_prior = trained.outliers.prior
    if not wrong.any():
        return now, np.zeros(len(y))
    log_prior = outlier_prior.log_prior(y) - outlier_prior.penalty(y)
    return now, log_prior + 0.5 * float(np.log(variance))


MIN_OUTLIER_PROBABILITY = 0.5  # from which a label is reported
FACTORS = (10.0, 100.0, 1000.0)
FITTING_SDS = 2.5  # sds within which a label agrees with the others
# labels of one call that are off by the same factor, and their share
MIN_LABELS_OF_UNIT, MIN_SHARE_OF_UNIT = 3, 0.6
SAME_FACTOR = 0.15  # spread of the logarithms of their factors


@dataclass(frozen=True, slots=True)
class Suspect:
    """A label that is probably wrong and set aside, or probably swapped."""

    id: Hashable
    label: float
    expected: float  # by the others
    sd: float  # of a label there
    probability: float  # of being wrong
    near: tuple[Neighbour, ...]
    factor: float | None = None  # the label over its likely value: 10, 0.01, ..
    swap: Hashable | None = None  # the row whose label this may be
    counted: bool = False  # in error estimates: until the next selection, or if kept
    aside: bool = True  # more likely wrong than right, or left out; a pair may still count

    @property
    def surprise(self) -> float:
        """Distance of the label from its prediction, in sds."""
        return abs(self.label - self.expected) / self.sd if self.sd > 0.0 else np.inf

    @property
    def words(self) -> str:
        """The suspect in one line."""
        made = plus_minus(self.expected, self.sd)
        said = f"{self.id}: {number(self.label, 6)}, but the other labels predict {made}"
        near = [f"{one.id} {number(one.label)}" for one in self.near]
        said += f"; nearest: {', '.join(near)}" if near else ""
        if self.swap is not None:
            return f"{said}; swapped with {self.swap}?"
        if self.factor is not None:
            large = self.factor > 1.0
            times = number(self.factor if large else 1.0 / self.factor)
            return f"{said}; {times} times too {'large' if large else 'small'}?"
        return f"{said}; wrong with {percent(self.probability)} probability"


class Suspects(list[Suspect]):
    """A list of suspects, which prints as a line for each."""

    def __repr__(self) -> str:
        return "\n".join(one.words for one in self) or "No label is suspect."

    def _repr_html_(self) -> str:
        return facts_lines([repr(self)])


@dataclass(frozen=True, slots=True)
class OtherUnit:
    """Labels of one call that are probably in another unit."""

    batch: Hashable
    ids: tuple[Hashable, ...]
    factor: float  # labels over their predictions

    @property
    def words(self) -> str:
        """The labels in one line."""
        large = self.factor > 1.0
        times = number(self.factor if large else 1.0 / self.factor, 2)
        way = "large" if large else "small"
        told = re.sub(r"\.[0-9]+", "", str(self.batch))  # without fractions of seconds
        return f"{len(self.ids)} labels told {told} are about {times} times too {way}: a unit?"


def suspects(
    view: QuantityView, model: Model, batches: Mapping[Hashable, Hashable] | None = None
) -> list[Suspect]:
    """The labels that are probably wrong or swapped, the most surprising first.

    `batches` has the batch of each id.
    """
    told = list(view.labels)
    names = [label.name for label in told]
    swaps = find_swaps(model, [(batches or {}).get(name) for name in names])
    p = model.outlier_probability_
    aside = ~model.trained.included | (p >= MIN_OUTLIER_PROBABILITY)
    named = sorted({*np.flatnonzero(aside).tolist(), *swaps})
    if not named:
        return []
    known = [names[n] for n in named if names[n] is not None]
    near, others = (
        dict(zip(known, neighbours(view, model, known), strict=True)),
        outlier_probabilities(model),
    )
    found = []
    for n in named:
        values = (told[n].y, float(others.expected[n]), float(others.sd[n]), float(p[n]))
        one = Suspect(names[n], *values, near.get(names[n], ()))
        swap = names[swaps[n]] if n in swaps else None
        counted = bool(model.trained.included[n])
        one = replace(one, swap=swap, counted=counted, aside=bool(aside[n]))
        found.append(replace(one, factor=_factor(one)))
    return sorted(found, key=lambda one: -one.surprise)


def other_units(found: Sequence[Suspect], calls: Mapping[Hashable, Hashable]) -> list[OtherUnit]:
    """Calls of `tell` with most labels off by one factor; `calls` has the call of each id."""
    units = []
    for call in dict.fromkeys(calls.get(one.id) for one in found):
        off = [one for one in found if calls.get(one.id) == call and one.expected * one.label > 0.0]
        of = sum(other == call for other in calls.values())
        if call is None or len(off) < max(MIN_LABELS_OF_UNIT, MIN_SHARE_OF_UNIT * of):
            continue
        logs = np.log([one.label / one.expected for one in off])
        middle = float(np.median(logs))
        if np.median(np.abs(logs - middle)) <= SAME_FACTOR * max(abs(middle), 1.0):
            units.append(OtherUnit(call, tuple(one.id for one in off), float(np.exp(middle))))
    return units


def _factor(one: Suspect) -> float | None:
    """The factor that explains the label best, or None."""
    ways = [way for factor in FACTORS for way in (factor, 1.0 / factor)]
    off = {way: abs(one.label / way - one.expected) / one.sd for way in ways if one.sd > 0.0}
    best = min(off, key=lambda way: off[way], default=None)
    return best if best is not None and off[best] <= FITTING_SDS else None
