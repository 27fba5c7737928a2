"""How wrong the model is, by three estimates, and how that went as labels came.

    left out      root mean square of label minus its prediction from all the others (`left_out`).
                  Optimistic or pessimistic: the labelled rows were picked for being uncertain, and
                  the experts have seen all labels.
    prequential   each label predicted from those before it, over the last WINDOW labels. Nothing
                  is seen twice; rows picked for being uncertain are harder than most.
    expected      root mean square, over the candidates, of the sd of f: what the model itself says

The first two include the noise of the labels; the third does not. The past of a model is a function
of its labels in their order: they are folded once more from the beginning, experts settled anew
when the learner would (`model.fold`). Each label is predicted on the way; the other two estimates
are taken after every label at first, later after every twentieth part more, and after the last.
From FINE labels on, and where there are more than MANY, the steps are longer; not every label is
kept.

Settling costs t^3, and the learner settles some five times while labels double. So where there are
more than PAST labels, experts of the past are, from AS_IT_WAS labels on, settled each time that
half as many have come, by at most SETTLED_BY of them, evenly spread. These are somewhat coarser
than those that the learner had then: on three functions, 400 labels each, estimates of the past
came out 0 to 4 % too high in the middle, a few by up to 37 %. The last estimate is that of the
model itself.

Where there are more than MANY labels, the past beyond REPLAYED of them is that of the experts of
now, told these labels in the same order: one pass over the labels, whose work is bounded
(`model.approximation`). With more than MANY_INPUTS inputs that is so for all of the past.
Lengthscales and noise are then those that all labels settled, so that estimates of the past are
somewhat lower than they were then. Left-out errors are taken over some of the labels
(`leave_one_out.averaged_labels`), and have a standard error.

Who keeps the course, with the fingerprint of all that it depends on, need not start from the
beginning: it goes on from the last time that experts were settled.

How many labels were in their intervals, and what that says of the share that will be.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import pairwise

import numpy as np
from scipy.special import betaincinv

from weal.core.arrays import Array, root_mean_square
from weal.core.constants import INTERVAL_LEVEL
from weal.core.extensions.outliers.prior import NO_OUTLIERS
from weal.core.scaling import Scaling
from weal.diagnostics.explanation import sample
from weal.diagnostics.leave_one_out import (
    LabelMixtures,
    averaged_labels,
    leave_one_out_means,
    main_experts,
    rms,
    sequential_predictions,
)
from weal.learner.state import State
from weal.model.model import Model, mean_sd
from weal.model.training import (
    TrainedEnsemble,
    add_labels,
    refresh_after,
    select_experts,
    selection_labels,
    without_labels,
)
from weal.progress import Progress

COVERAGE_CONFIDENCE = 0.95  # of the interval for the share


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many labels were in their intervals; `low` and `high` bound the share that will be."""

    inside: int
    n: int
    level: float
    low: float
    high: float


def coverage(inside: int, n: int) -> Coverage:
    """So many of n inside their intervals, with the shares that go with that (Jeffreys).

    >>> found = coverage(9, 10)
    >>> round(found.low, 2), round(found.high, 2)
    (0.62, 0.99)
    """
    tail = 0.5 * (1.0 - COVERAGE_CONFIDENCE)
    low, high = betaincinv(inside + 0.5, n - inside + 0.5, [tail, 1.0 - tail]).tolist()
    return Coverage(inside, n, INTERVAL_LEVEL, low if inside else 0.0, high if inside < n else 1.0)


SEQUENTIAL_WINDOW_LABELS = 10  # labels that the prequential error looks back on
MARK_SHARE, LONG_STEP = 0.05, 0.15  # shares of the labels after which estimates are taken again
# labels up to which each is kept; of twice as many every second, and so on
MAX_LABELS_WITH_EVERY_MARK = 400
# labels up to which the past is settled as it was, and all experts count
MAX_LABELS_RESELECTED = 120
# beyond: settled as it was up to so many; then ratio of labels between
AS_IT_WAS, RESELECTION_RATIO = 40, 1.5
SETTLED_BY, COUNTS_FROM = 120, 1e-4  # and labels that settle, weight of an expert that counts
MANY, REPLAYED = 2000, 400  # labels: beyond MANY, the past from REPLAYED on is of experts of now
MANY_INPUTS = 100  # from which a settling takes seconds, and all of the past is of experts of now
MAX_CANDIDATES = 500  # candidates, at most, that the expected error is taken over
POOL_NUMBERS, FEWEST_POOL = 50_000, 100  # inputs of them all, and candidates at the least
_TREND_SAMPLE_KEY = 11  # part of the random key of these candidates
Rows = tuple[Array, Array, Array]  # inputs (N, d), labels and noise variances (N,), scaled
_NORMAL = 1.6449  # half the width of the interval at LEVEL, in sds of a normal


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """Estimates after so many labels."""

    labels: int
    left_out: float
    expected: float
    experts: dict[str, float]  # weights of the kinds of experts
    left_out_error: float | None = None  # standard error, where some labels stand for all


@dataclass(frozen=True, slots=True)
class SequentialError:
    """A label beside what those before it made the model expect."""

    labels: int  # how many came before
    error: float  # label minus expectation
    sd: float  # of a label, as expected: half the width of its interval over that of a normal
    inside: bool  # whether the label was in its interval


@dataclass(frozen=True, slots=True)
class Trend:
    """The course of the estimates."""

    marks: tuple[TrendPoint, ...]
    surprises: tuple[SequentialError, ...]
    candidates: int  # that the expected error is taken over

    @property
    def now(self) -> TrendPoint:
        """Estimates after the last label."""
        return self.marks[-1]

    def prequential(self, labels: int | None = None) -> float | None:
        """The prequential error after so many labels, or after all."""
        before = [one for one in self.surprises if labels is None or one.labels < labels]
        errors = np.array([one.error for one in before[-SEQUENTIAL_WINDOW_LABELS:]])
        return root_mean_square(errors) if len(errors) else None


def expected_over(state: State) -> Array:  # (N, d)
    """The candidates that the expected error of a learner is taken over; fewer of many inputs."""
    return sample(state, most_candidates(state), _TREND_SAMPLE_KEY)


def most_candidates(state: State) -> int:
    """How many candidates stand for all in error estimates."""
    d = state.candidates.n_inputs
    return max(FEWEST_POOL, min(MAX_CANDIDATES, POOL_NUMBERS // d))


def error_trend(
    model: Model,
    n_start: int,
    X: Array,
    known: Trend | None = None,
    progress: Progress | None = None,
) -> Trend:
    """The course of a model's estimates; the expected error over candidates X (N, d).

    `known` is the course of the same labels up to some time: it goes on from there.
    """
    trained, scale, t = without_outliers(model.trained), model.scaling, len(model.trained.y)
    X, y, first = scale.inputs(X), scale.means(trained.y), min(n_start, t)
    known = known if known and (known.now.labels > MANY) == (t > MANY) else None
    replayed = _replayed(trained, first)
    settled = [n for n in _settlings(trained, first, t) if n <= replayed]
    wanted = set(_label_counts(first, t))
    until = min(known.now.labels, replayed) if known else first
    until = (
        min(until, AS_IT_WAS) if until <= MAX_LABELS_RESELECTED < t else until
    )  # it was settled otherwise since
    start = max((n for n in settled if n <= until), default=first)
    marks = [one for one in known.marks if one.labels < start] if known else []
    marks = [one for one in marks if one.labels in wanted]
    surprises = [one for one in known.surprises if one.labels < start] if known else []
    stops = sorted(n for n in {*wanted, *settled, replayed} if n >= start)
    now = trained
    for i, end in pairwise([*stops, t]):
        if i == t and (t > MAX_LABELS_RESELECTED or replayed < t):
            now = trained
        elif i == replayed < t:
            now = _told_anew(trained, i)
        elif i in settled or i == start:
            now = train_now(trained, i)
        now = main_experts(now, COUNTS_FROM) if i > MAX_LABELS_RESELECTED else now
        if i in wanted:
            marks.append(_mark(now, scale, X, y[:i]))
        if i < end:
            expected, now = sequential_predictions(now, *_rows(trained, i, end))
            surprises += _surprises(expected, scale, y[i:end], i)
        if progress:
            progress("error estimates", i, t)
    return Trend(tuple(marks), tuple(surprises), len(X))


def _replayed(trained: TrainedEnsemble, first: int) -> int:
    """Labels up to which experts of the past are settled as they were; then they are those of now.

    All of them; REPLAYED where there are MANY; none with MANY_INPUTS, whose settling takes long.
    """
    t, d = trained.X.shape
    if d > MANY_INPUTS:
        return first
    return t if t <= MANY else max(REPLAYED, first)


def _settlings(trained: TrainedEnsemble, first: int, t: int) -> Iterator[int]:
    """Numbers of labels at which the experts of the past are settled, for t labels."""
    as_it_was = t if t <= MAX_LABELS_RESELECTED else AS_IT_WAS
    while first <= t:
        yield first
        if not trained.setting.adaptive:
            return
        first = refresh_after(first) if first < as_it_was else int(RESELECTION_RATIO * first)


def train_on_first(model: Model, n_start: int, k: int) -> TrainedEnsemble:
    """The fold of the first k labels, its experts settled when they would have been.

    Where there are more than PAST labels or MANY_INPUTS inputs, its experts are those of now.
    """
    trained = without_outliers(model.trained)
    if len(trained.y) > MAX_LABELS_RESELECTED or trained.X.shape[1] > MANY_INPUTS:
        return _told_anew(trained, k)
    start = max(_settlings(trained, min(n_start, k), k))
    return add_labels(train_now(trained, start), *_rows(trained, start, k))


def _told_anew(trained: TrainedEnsemble, k: int) -> TrainedEnsemble:
    """The main experts of now after the first k labels alone."""
    return add_labels(without_labels(main_experts(trained, COUNTS_FROM)), *_rows(trained, 0, k))


def without_outliers(trained: TrainedEnsemble) -> TrainedEnsemble:
    """The same fold, none of whose labels is doubted: those that were wrong are not in it."""
    setting = replace(trained.setting, outliers=False)
    return replace(trained, setting=setting, outliers=NO_OUTLIERS, base=None)


def train_now(trained: TrainedEnsemble, k: int) -> TrainedEnsemble:
    """The fold of the first k labels, its experts settled by these, or by some of them."""
    rows = _rows(trained, 0, k)
    experts = select_experts(trained.setting, *_some(rows), trained.seed)
    if k > MAX_LABELS_RESELECTED and trained.setting.adaptive:  # picked by some, and then for all
        experts = select_experts(trained.setting, *rows, trained.seed, selection_labels(experts))
    return add_labels(experts, *rows)


def _some(rows: Rows) -> Rows:
    """SETTLED_BY of the labels, evenly spread, where there are more than PAST."""
    t = len(rows[1])
    if t <= MAX_LABELS_RESELECTED:
        return rows
    at = np.linspace(0, t - 1, SETTLED_BY).round().astype(int)
    X, y, noise_var = rows
    return X[at], y[at], noise_var[at]


def fingerprint(model: Model, X: Array, t: int) -> str:
    """What the course of the first t labels depends on."""
    trained, scale = model.trained, model.scaling
    text = repr((trained.setting, trained.seed, scale.y_mean, scale.y_sd, X.shape))
    found = blake2b(text.encode(), digest_size=16)
    for part in (*_rows(trained, 0, t), scale.inputs(X)):
        found.update(np.ascontiguousarray(part).tobytes())
    return found.hexdigest()


def kinds(trained: TrainedEnsemble) -> dict[str, float]:
    """Weights of the experts by family, and by whether each input has a lengthscale of its own."""
    if not trained.dictionary:
        return {"encoded": 1.0}
    found: dict[str, float] = {}
    for kernel, w in zip(trained.dictionary, trained.ensemble.w.tolist(), strict=True):
        single = isinstance(kernel.length_scale, float)
        name = f"{kernel.family}, {'one lengthscale' if single else 'one for each input'}"
        found[name] = found.get(name, 0.0) + w
    return found


def _label_counts(first: int, t: int) -> Iterator[int]:
    """Numbers of labels after which estimates are taken."""
    while first < t:
        yield first
        step = MARK_SHARE if first < MAX_LABELS_WITH_EVERY_MARK and t <= MANY else LONG_STEP
        first = max(first + 1, int(first * (1.0 + step)))
    yield t


def _rows(trained: TrainedEnsemble, start: int, end: int) -> Rows:
    return trained.X[start:end], trained.y[start:end], trained.noise_var[start:end]


def _mark(trained: TrainedEnsemble, scale: Scaling, X: Array, y: Array) -> TrendPoint:
    which = averaged_labels(len(y))
    alone = leave_one_out_means(trained, scale, which)
    left_out, error = rms((y if which is None else y[which]) - alone, len(y))
    _, sd = mean_sd(trained, scale, X)
    return TrendPoint(len(y), left_out, root_mean_square(sd), kinds(trained), error)


def _surprises(
    expected: LabelMixtures, scale: Scaling, y: Array, before: int
) -> list[SequentialError]:
    """Labels y (N,) that came after so many, beside what was expected; those that are kept."""
    errors = y - expected.moments(scale)[0]
    low, high = expected.interval(scale, INTERVAL_LEVEL)
    sd, inside = (high - low) / (2.0 * _NORMAL), (low <= y) & (y <= high)
    table = zip(errors.tolist(), sd.tolist(), inside.tolist(), strict=True)
    every = [SequentialError(before + n, *row) for n, row in enumerate(table)]
    return [
        one for one in every if one.labels % (1 + one.labels // MAX_LABELS_WITH_EVERY_MARK) == 0
    ]
