"""Change by the last labels, and a forecast of the labels that an error limit needs.

Labels needed. The error that the model expects over the candidates falls about as a power of the
number n of labels. Over the later part of its course

    log error = alpha - beta log(n / t) + Student-t residuals,      beta ~ N(1/2, 1/2), above 0

is fitted to marks a tenth apart. If the labels deviated from their predictions more (or less) than
expected, the error is multiplied by c, where c^2 is the mean square of the innovations in units of
their expected sds; c is known better with more labels. The future rate is drawn between beta and
the usual rate in the long run, when noise is averaged away. Each draw of these gives one answer
n* = t exp((alpha + log c - log goal) / rate); the median and the middle 80 % are reported.

The forecast extrapolates a straight line. It fails if the model discovers new structure, or if it
reaches noise that more labels do not reduce.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weal.core.arrays import Array, root_mean_square
from weal.diagnostics.error_trend import SequentialError, Trend, TrendPoint, train_on_first
from weal.model.model import Model, mean_sd

FROM_PART = 3  # the course is looked at from this part of the labels on
MARKS_APART = 1.1  # ratio of the numbers of labels of two marks that count as two
FEWEST_MARKS = 4  # marks, and
MIN_LABEL_RATIO = 1.4  # ratio of the last to the first of them, from which a line is fitted
COURSES_DRAWN = 4000
DECAY_RATE_MEAN, RATE_SD = 0.5, 0.5  # prior of beta
USUAL_SD = 0.15  # of the rate in the long run, around DECAY_RATE_MEAN
# expected residuals of log error, and the number of labels that they count as
PRIOR_RESIDUAL, SCATTER_WEIGHT = 0.1, 4.0
DEGREES_OF_FREEDOM = 4.0  # of the Student-t
# innovations that c is computed from, and the number of added ones of size 1
N_RECENT_ERRORS, PRIOR_UNIT_ERRORS = 30, 5.0
FARTHEST_AHEAD = 20  # times the present labels: unknown beyond
_STOPPING_KEY = 17  # part of the random key


@dataclass(frozen=True, slots=True)
class RecentChange:
    """Change of predictions and of the expected error by the last labels."""

    labels: int  # how many
    moved: float  # root mean square change of predictions, in units of the sd before
    before: float  # expected error before, over the same candidates
    now: float

    @property
    def gained(self) -> float:
        """Relative reduction of the expected error."""
        return 1.0 - self.now / self.before if self.before > 0.0 else 0.0


@dataclass(frozen=True, slots=True)
class LabelsToGoal:
    """Forecast of the further labels that a goal needs; None: more than the limit."""

    goal: float
    error: float  # expected now, corrected by c
    reached: float  # probability that it is reached already
    low: int | None
    median: int | None
    high: int | None
    limit: int
    text: str


def change_by_last_labels(model: Model, n_start: int, X: Array, k: int) -> RecentChange | None:
    """Change by the last k labels at candidates X (N, d); None without a model before them."""
    t = len(model.trained.y)
    if t - k < min(n_start, t) or k < 1:
        return None
    mean, sd = model.predict(X, return_std=True)
    scale = model.scaling
    before, sd_before = mean_sd(train_on_first(model, n_start, t - k), scale, scale.inputs(X))
    spread, after = root_mean_square(sd_before), root_mean_square(sd)
    return RecentChange(
        k, root_mean_square(mean - before) / spread if spread else 0.0, spread, after
    )


def labels_to_goal(trend: Trend, goal: float, left: int, seed: int) -> LabelsToGoal:
    """Forecast of the further labels that a goal needs, with `left` unlabelled candidates."""
    marks, now = _select_marks(trend.marks), trend.now
    limit = min(left, FARTHEST_AHEAD * now.labels)
    known = len(marks) >= FEWEST_MARKS and marks[-1].labels >= MIN_LABEL_RATIO * marks[0].labels
    rng = np.random.default_rng([seed, _STOPPING_KEY, now.labels])
    log_c = _log_widening(trend.surprises, rng)
    if not known:
        error = np.log(now.expected or 1e-300) + log_c
        reached = float((error <= np.log(goal)).mean())
        text = "unknown: too few labels to estimate how many more are needed"
        return LabelsToGoal(goal, _middle(error), reached, None, None, None, limit, text)
    level, rate = _draws(marks, now.labels, rng)
    excess = level + log_c - np.log(goal)
    with np.errstate(divide="ignore", over="ignore"):
        more = now.labels * np.expm1(np.maximum(excess, 0.0) / np.maximum(rate, 1e-3))
    reached = float((excess <= 0.0).mean())
    low, median, high = (_count(part, limit) for part in np.quantile(more, [0.1, 0.5, 0.9]))
    text = _in_words(low, median, high, limit, reached)
    return LabelsToGoal(goal, _middle(level + log_c), reached, low, median, high, limit, text)


def _in_words(
    low: int | None, median: int | None, high: int | None, limit: int, reached: float
) -> str:
    if reached >= 0.5:
        return "probably reached" if reached >= 0.8 else "perhaps reached"
    if median is None:
        first = "" if low is None else f" (with luck after {low})"
        return f"not within {limit} more labels{first}"
    ends = f"{low} to {high}" if high is not None else f"{low} to more than {limit}"
    return f"about {median} more labels (80 %: {ends})"


def _select_marks(marks: Sequence[TrendPoint]) -> list[TrendPoint]:
    """Later marks of the trend, at least a tenth apart, the last included."""
    found: list[TrendPoint] = []
    for mark in reversed(marks):
        near = bool(found) and found[-1].labels < MARKS_APART * mark.labels
        if not near and FROM_PART * mark.labels >= marks[-1].labels and mark.expected > 0.0:
            found.append(mark)
    return found[::-1]


def _draws(marks: Sequence[TrendPoint], t: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draws of alpha and of the future decay rate."""
    x = np.log([mark.labels / t for mark in marks])
    y = np.log([mark.expected for mark in marks])
    A = np.stack([np.ones_like(x), -x], axis=1)
    prior = np.diag([1e-6, PRIOR_RESIDUAL**2 / RATE_SD**2])  # precision, over that of a residual
    pull = prior @ np.array([y[-1], DECAY_RATE_MEAN])
    weight, spread = np.ones_like(x), PRIOR_RESIDUAL**2
    for _ in range(20):  # expectation and maximisation for the Student-t
        P = A.T @ (weight[:, None] * A) + prior
        best = np.linalg.solve(P, A.T @ (weight * y) + pull)
        squares = (y - A @ best) ** 2
        spread = (SCATTER_WEIGHT * PRIOR_RESIDUAL**2 + weight @ squares) / (SCATTER_WEIGHT + len(y))
        weight = (DEGREES_OF_FREEDOM + 1.0) / (DEGREES_OF_FREEDOM + squares / spread)
    freedom = SCATTER_WEIGHT + len(y) - 2.0
    sd = np.sqrt(spread * freedom / rng.chisquare(freedom, COURSES_DRAWN))
    root = np.linalg.cholesky(np.linalg.inv(P))
    level, beta = best[:, None] + sd * (root @ rng.standard_normal((2, COURSES_DRAWN)))
    usual, share = (
        DECAY_RATE_MEAN + USUAL_SD * rng.standard_normal(COURSES_DRAWN),
        rng.random(COURSES_DRAWN),
    )
    return level, share * np.maximum(beta, 0.0) + (1.0 - share) * np.maximum(usual, 0.0)


def _log_widening(surprises: Sequence[SequentialError], rng: np.random.Generator) -> Array:
    """Draws of log c, the correction for surprising labels."""
    last = surprises[-N_RECENT_ERRORS:]
    z2 = np.array([min((one.error / one.sd) ** 2, 16.0) if one.sd > 0 else 1.0 for one in last])
    n = PRIOR_UNIT_ERRORS + len(z2)
    mean = (PRIOR_UNIT_ERRORS + z2.sum()) / n
    return np.asarray(0.5 * np.log(mean) + rng.standard_normal(COURSES_DRAWN) / np.sqrt(2.0 * n))


def _count(more: float, limit: int) -> int | None:
    return int(np.ceil(more)) if more <= limit else None


def _middle(log_error: Array) -> float:
    return float(np.exp(np.median(log_error)))
