"""Three error estimates of a model against the number of labels, and the coverage of intervals.

    left out      leave-one-out root mean square error (`leave_one_out`). Optimistic, since all
                  labels selected the experts, or pessimistic, since rows were chosen and not drawn.
    prequential   each label predicted from the labels before it, over the last
                  SEQUENTIAL_WINDOW_LABELS labels. No label is used twice; rows that were chosen
                  for being uncertain are harder to predict than most.
    expected      root mean square of the sd of f over the candidates, by the model itself

The first two include the noise of the labels; the third does not. The past of a model is a function
of its labels in their order: the model is trained again from the beginning, and experts are
selected when the learner would have selected them (`model.training`). Each label is predicted
before it is added; the other two estimates are taken after every label at first, later after every
twentieth part more, and after the last label. From MAX_LABELS_WITH_EVERY_MARK labels on, and if
there are more than MANY_LABELS, the steps are longer, and not every label is kept.

A selection costs t^3, and the learner makes about five selections while the number of labels
doubles. So with more than MAX_LABELS_RESELECTED labels, past experts are selected less often from
AS_IT_WAS labels on: each time that the number of labels has grown by half, with at most
RESELECTION_LABELS of them, evenly spread. These experts are coarser than the learner's: on three
functions, 400 labels each, past estimates were 0 to 4 % too high in the middle, a few by up to
37 %. The last estimate is that of the model itself.

With more than MANY_LABELS labels, estimates after more than REPLAYED labels use the present
experts, trained on these labels in the same order: one pass over the labels, with bounded work
(`model.expert_kind`). With more than SLOW_SELECTION_INPUTS inputs, all past estimates do.
Lengthscales and noise are then those selected with all labels, so past estimates are somewhat too
low. Leave-one-out errors are averaged over some of the labels (`leave_one_out.averaged_labels`),
and have a standard error.

A caller can keep the trend, with the fingerprint of everything that it depends on: the trend is
then continued from the last selection of experts, not computed from the beginning.
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
from weal.core.paper import ensemble
from weal.core.protocols import Points
from weal.core.scaling import Scaling
from weal.diagnostics.explanation import sample
from weal.diagnostics.leave_one_out import (
    LabelMixtures,
    averaged_labels,
    join_mixtures,
    leave_one_out_means,
    main_experts,
    rms,
    sequential_predictions,
)
from weal.diagnostics.set_progress import goal_value
from weal.goals.protocol import Goal
from weal.learner.state import State
from weal.model.model import Model, in_units
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
    """Count of labels inside their intervals, and a confidence interval of the coverage."""

    inside: int
    n: int
    level: float
    low: float
    high: float


def coverage(inside: int, n: int) -> Coverage:
    """Coverage of n intervals that contain `inside` labels, with the Jeffreys interval.

    >>> found = coverage(9, 10)
    >>> round(found.low, 2), round(found.high, 2)
    (0.62, 0.99)
    """
    tail = 0.5 * (1.0 - COVERAGE_CONFIDENCE)
    low, high = betaincinv(inside + 0.5, n - inside + 0.5, [tail, 1.0 - tail]).tolist()
    return Coverage(inside, n, INTERVAL_LEVEL, low if inside else 0.0, high if inside < n else 1.0)


SEQUENTIAL_WINDOW_LABELS = 10  # labels in the window of the prequential error
MARK_SHARE, LONG_STEP = 0.05, 0.15  # shares of the labels after which estimates are taken again
# labels up to which each is kept; with twice as many, every second, and so on
MAX_LABELS_WITH_EVERY_MARK = 400
# labels up to which past experts are selected as they were, and all of them are kept
MAX_LABELS_RESELECTED = 120
# beyond: selected as they were up to so many labels; then the ratio between selections
AS_IT_WAS, RESELECTION_RATIO = 40, 1.5
RESELECTION_LABELS, MIN_REPLAYED_WEIGHT = 120, 1e-4  # labels of a selection, least weight kept
MANY_LABELS, REPLAYED = (
    2000,
    400,
)  # labels: beyond MANY_LABELS, present experts are used from REPLAYED on
SLOW_SELECTION_INPUTS = (
    100  # beyond it a selection takes seconds, and only present experts are used
)
MAX_CANDIDATES = 500  # candidates, at most, that the expected error is taken over
POOL_NUMBERS, FEWEST_POOL = 50_000, 100  # inputs of them all, and candidates at least
_TREND_SAMPLE_KEY = 11  # part of the random key of these candidates
Rows = tuple[Array, Array, Array]  # inputs (N, d), labels and noise variances (N,), scaled
_NORMAL = 1.6449  # half the width of the interval at LEVEL, in sds of a normal


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """Error estimates after a number of labels."""

    labels: int
    left_out: float
    expected: float
    experts: dict[str, float]  # weights of the kinds of experts
    left_out_error: float | None = None  # standard error, if it is averaged over a sample of labels
    goal_value: float | None = None  # of a goal with a set (`set_progress.goal_value`)


@dataclass(frozen=True, slots=True)
class SequentialError:
    """The error of one label, predicted from the labels before it."""

    labels: int  # how many came before
    error: float  # label minus prediction
    sd: float  # of a label, as expected: half the width of its interval over that of a normal
    inside: bool  # whether the label was in its interval


@dataclass(frozen=True, slots=True)
class Trend:
    """Error estimates against the number of labels."""

    marks: tuple[TrendPoint, ...]
    surprises: tuple[SequentialError, ...]
    candidates: int  # that the expected error is taken over

    @property
    def now(self) -> TrendPoint:
        """Error estimates after the last label."""
        return self.marks[-1]

    def prequential(self, labels: int | None = None) -> float | None:
        """The prequential error after this number of labels, or after all."""
        before = [one for one in self.surprises if labels is None or one.labels < labels]
        errors = np.array([one.error for one in before[-SEQUENTIAL_WINDOW_LABELS:]])
        return root_mean_square(errors) if len(errors) else None


def expected_error_inputs(state: State) -> Array:  # (N, d)
    """Inputs of the candidates over which the expected error is averaged."""
    return sample(state, expected_error_size(state), _TREND_SAMPLE_KEY)


def expected_error_size(state: State) -> int:
    """Number of candidates in the average of the expected error; fewer with many inputs."""
    d = state.candidates.n_inputs
    return max(FEWEST_POOL, min(MAX_CANDIDATES, POOL_NUMBERS // d))


def error_trend(
    model: Model,
    n_start: int,
    X: Array,
    known: Trend | None = None,
    progress: Progress | None = None,
    goal: Goal | None = None,
) -> Trend:
    """Error estimates of a model against the number of labels, for candidates X (N, d).

    `known` is the trend of the first of these labels; it is continued.
    """
    trained, scale, t = without_outliers(model.trained), model.scaling, len(model.trained.y)
    X, y, first = scale.inputs(X), scale.means(trained.y), min(n_start, t)
    known = known if known and (known.now.labels > MANY_LABELS) == (t > MANY_LABELS) else None
    replayed = _reselected_count(trained, first)
    selections = [n for n in _selection_counts(trained, first, t) if n <= replayed]
    wanted = set(_label_counts(first, t))
    until = min(known.now.labels, replayed) if known else first
    until = (
        min(until, AS_IT_WAS) if until <= MAX_LABELS_RESELECTED < t else until
    )  # selected in another way since
    start = max((n for n in selections if n <= until), default=first)
    marks = [one for one in known.marks if one.labels < start] if known else []
    marks = [one for one in marks if one.labels in wanted]
    surprises = [one for one in known.surprises if one.labels < start] if known else []
    stops = sorted(n for n in {*wanted, *selections, replayed} if n >= start)
    now, told, points = trained, _Sequence(scale, y), None
    for i, end in pairwise([*stops, t]):
        before, now = now, _experts_at(i, now, trained, i in selections or i == start, replayed)
        if now is not before:
            surprises, points = [*surprises, *told.errors()], None
        if i in wanted:
            points = _points(now, X, points)
            marks.append(_mark(now, scale, X, points, y[:i], goal))
        if i < end:
            expected, now = sequential_predictions(now, *_rows(trained, i, end))
            told.append(expected, i)
        if progress:
            progress("error estimates", i, t)
    return Trend(tuple(marks), (*surprises, *told.errors()), len(X))


def _experts_at(
    i: int, now: TrainedEnsemble, trained: TrainedEnsemble, select: bool, replayed: int
) -> TrainedEnsemble:
    """The ensemble after i labels: `now`, unless the experts change there."""
    t = len(trained.y)
    if i == t and (t > MAX_LABELS_RESELECTED or replayed < t):
        now = trained
    elif i == replayed < t:
        now = _train_present_experts(trained, i)
    elif select:
        now = select_and_train(trained, i)
    return main_experts(now, MIN_REPLAYED_WEIGHT) if i > MAX_LABELS_RESELECTED else now


def _points(trained: TrainedEnsemble, X: Array, before: Points | None) -> Points:
    """Candidates X (N, d) in the form of the experts; `before`: in that after fewer labels."""
    experts = trained.ensemble.experts
    if before is None:
        return trained.embedding.points(experts, X)
    return trained.embedding.update_points(experts, before)


def _reselected_count(trained: TrainedEnsemble, first: int) -> int:
    """Number of labels up to which past experts are selected again; then the present are used.

    All labels; REPLAYED with more than MANY_LABELS; none with more than SLOW_SELECTION_INPUTS.
    """
    t, d = trained.X.shape
    if d > SLOW_SELECTION_INPUTS:
        return first
    return t if t <= MANY_LABELS else max(REPLAYED, first)


def _selection_counts(trained: TrainedEnsemble, first: int, t: int) -> Iterator[int]:
    """Numbers of labels at which past experts are selected, for t labels."""
    as_it_was = t if t <= MAX_LABELS_RESELECTED else AS_IT_WAS
    while first <= t:
        yield first
        if not trained.setting.adaptive:
            return
        first = refresh_after(first) if first < as_it_was else int(RESELECTION_RATIO * first)


def train_on_first(model: Model, n_start: int, k: int) -> TrainedEnsemble:
    """The ensemble trained on the first k labels, with experts selected when they would have been.

    Beyond MAX_LABELS_RESELECTED labels or SLOW_SELECTION_INPUTS inputs: the present experts.
    """
    trained = without_outliers(model.trained)
    if len(trained.y) > MAX_LABELS_RESELECTED or trained.X.shape[1] > SLOW_SELECTION_INPUTS:
        return _train_present_experts(trained, k)
    start = max(_selection_counts(trained, min(n_start, k), k))
    return add_labels(select_and_train(trained, start), *_rows(trained, start, k))


def _train_present_experts(trained: TrainedEnsemble, k: int) -> TrainedEnsemble:
    """The present main experts, trained on the first k labels only."""
    return add_labels(
        without_labels(main_experts(trained, MIN_REPLAYED_WEIGHT)), *_rows(trained, 0, k)
    )


def without_outliers(trained: TrainedEnsemble) -> TrainedEnsemble:
    """The same training labels without outlier search: outliers are not among them."""
    setting = replace(trained.setting, outliers=False)
    return replace(trained, setting=setting, outliers=NO_OUTLIERS, base=None)


def select_and_train(trained: TrainedEnsemble, k: int) -> TrainedEnsemble:
    """The ensemble trained on the first k labels, with experts selected by (some of) them."""
    rows = _rows(trained, 0, k)
    experts = select_experts(trained.setting, *_some(rows), trained.seed)
    if k > MAX_LABELS_RESELECTED and trained.setting.adaptive:  # selected by some
        experts = select_experts(trained.setting, *rows, trained.seed, selection_labels(experts))
    return add_labels(experts, *rows)


def _some(rows: Rows) -> Rows:
    """RESELECTION_LABELS labels, evenly spread, if there are more than MAX_LABELS_RESELECTED."""
    t = len(rows[1])
    if t <= MAX_LABELS_RESELECTED:
        return rows
    at = np.linspace(0, t - 1, RESELECTION_LABELS).round().astype(int)
    X, y, noise_var = rows
    return X[at], y[at], noise_var[at]


def fingerprint(model: Model, X: Array, t: int, goal: Goal | None = None) -> str:
    """A hash of everything that the trend of the first t labels depends on."""
    trained, scale = model.trained, model.scaling
    text = repr((trained.setting, trained.seed, scale.y_mean, scale.y_sd, X.shape))
    text += goal.text if goal and goal.set_text else ""
    found = blake2b(text.encode(), digest_size=16)
    for part in (*_rows(trained, 0, t), scale.inputs(X)):
        found.update(np.ascontiguousarray(part).tobytes())
    return found.hexdigest()


def kinds(trained: TrainedEnsemble) -> dict[str, float]:
    """Weights of the experts by kernel family, and by one lengthscale or one for each input."""
    if not trained.dictionary:
        return {"encoded": 1.0}
    found: dict[str, float] = {}
    for kernel, w in zip(trained.dictionary, trained.ensemble.w.tolist(), strict=True):
        single = isinstance(kernel.length_scale, float)
        name = f"{kernel.family}, {'one lengthscale' if single else 'one for each input'}"
        found[name] = found.get(name, 0.0) + w
    return found


def _label_counts(first: int, t: int) -> Iterator[int]:
    """Numbers of labels after which errors are estimated."""
    while first < t:
        yield first
        step = MARK_SHARE if first < MAX_LABELS_WITH_EVERY_MARK and t <= MANY_LABELS else LONG_STEP
        first = max(first + 1, int(first * (1.0 + step)))
    yield t


def _rows(trained: TrainedEnsemble, start: int, end: int) -> Rows:
    return trained.X[start:end], trained.y[start:end], trained.noise_var[start:end]


def _mark(
    trained: TrainedEnsemble, scale: Scaling, X: Array, points: Points, y: Array, goal: Goal | None
) -> TrendPoint:
    which = averaged_labels(len(y))
    alone = leave_one_out_means(trained, scale, which)
    left_out, error = rms((y if which is None else y[which]) - alone, len(y))
    _, sd = in_units(trained, scale, *ensemble.predict(trained.ensemble, points))
    value = goal_value(goal, trained, scale, X) if goal else None
    return TrendPoint(len(y), left_out, root_mean_square(sd), kinds(trained), error, value)


class _Sequence:
    """Predictions of labels by the same experts, each from the labels before it."""

    def __init__(self, scale: Scaling, y: Array) -> None:
        self.scale, self.y = scale, y
        self.expected: list[LabelMixtures] = []
        self.before: list[int] = []

    def append(self, expected: LabelMixtures, before: int) -> None:
        """Add the predictions of labels that came after `before` others."""
        self.expected.append(expected)
        self.before.append(before)

    def errors(self) -> list[SequentialError]:
        """The errors of the labels so far, thinned if there are many; then there are none."""
        if not self.expected:
            return []
        joined, start = join_mixtures(self.expected), self.before[0]
        self.expected, self.before = [], []
        y = self.y[start : start + joined.w.shape[1]]
        errors = y - joined.moments(self.scale)[0]
        low, high = joined.interval(self.scale, INTERVAL_LEVEL)
        sd, inside = (high - low) / (2.0 * _NORMAL), (low <= y) & (y <= high)
        table = zip(errors.tolist(), sd.tolist(), inside.tolist(), strict=True)
        every = [SequentialError(start + n, *row) for n, row in enumerate(table)]
        return [
            one for one in every if one.labels % (1 + one.labels // MAX_LABELS_WITH_EVERY_MARK) == 0
        ]
