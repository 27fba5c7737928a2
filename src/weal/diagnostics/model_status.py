"""The model of a number in a status: errors, coverage, noise, experts, inputs.

The error estimates are those of `weal.diagnostics.error_trend`, each with its course over the
labels; the comparison with random choice is that of `weal.diagnostics.random_baseline`.
"""

from dataclasses import dataclass

import numpy as np

from weal.core.arrays import root_mean_square
from weal.core.constants import INTERVAL_LEVEL
from weal.core.extensions.leave_one_out import Which
from weal.diagnostics import effects, stopping
from weal.diagnostics.effects import columns_of
from weal.diagnostics.error_trend import (
    SEQUENTIAL_WINDOW_LABELS,
    Coverage,
    Trend,
    coverage,
    expected_error_inputs,
    expected_error_size,
)
from weal.diagnostics.estimate_intervals import left_out_interval, rms_error
from weal.diagnostics.explanation import sample
from weal.diagnostics.leave_one_out import (
    averaged_labels,
    baseline,
    leave_one_out_levels,
    leave_one_out_means,
    rms,
)
from weal.diagnostics.noise_difference import (
    NoiseDifference,
    noise_difference,
    noise_factors,
    varying_probability,
)
from weal.diagnostics.random_baseline import RandomComparison, compare_with_random
from weal.diagnostics.stopping import RecentChange
from weal.goals.protocol import Goal
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.state import QuantityView
from weal.model.model import Model, in_units, noise_sd
from weal.progress import Progress
from weal.tables.fixed_sums import fixed_sums, plan_fixed_sums
from weal.tables.plan import TablePlan

# "the last labels": at least so many, and this share of all
MIN_LAST_LABELS, LAST_SHARE = 5, 0.1
MAX_EXPERTS_SHOWN = 4  # that are shown


@dataclass(frozen=True, slots=True)
class Estimate:
    """An error estimate now, and its course: labels, and the error after them."""

    now: float
    course: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Expert:
    """An expert and its weight."""

    weight: float
    family: str
    lengths: tuple[float, ...]  # in sds of the inputs: one, or one for each


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """The part of a status that needs a model."""

    left_out: Estimate
    baseline: float  # the same error when every label is guessed by the mean of the others
    explained: float  # share of the variance of labels that left-out predictions explain
    prequential: Estimate | None
    expected: Estimate
    expected_over: int  # candidates
    window: int  # labels that the prequential error looks back on
    left_out_coverage: Coverage
    noise: float  # sd of a label's noise, estimated by the model
    experts: tuple[Expert, ...]
    acquisition: dict[str, float]
    inputs: dict[str, float] | None  # shares by column; None: not known yet
    change: RecentChange | None
    random: RandomComparison | None
    left_out_over: int  # number of labels in the leave-one-out error
    left_out_error: float | None  # standard error of it; None if all labels are looked at
    expected_error: float | None  # the same of the expected error, by its candidates
    source: str | None = None  # the quantity whose predictions are an input
    probability: dict[str, float] | None = None  # that each column matters
    leave_out: tuple[str, ...] = ()  # columns that could be left out of the sheet
    varying_noise: NoiseDifference | None = None  # where labels scatter more; None: nowhere
    mixtures: tuple[str, ...] = ()  # sentences on columns with a fixed sum
    left_out_interval: tuple[float, float] = (0.0, 0.0)  # 90 %, of the error over all rows


def model_status(
    view: QuantityView, beliefs: PosteriorCache, plan: TablePlan | None, goal: Goal, course: Trend,
    chosen: bool, progress: Progress | None = None,
) -> ModelStatus:  # fmt: skip
    """The part of a status that comes from the model of all labels of a number.

    `plan` is how columns became inputs; `chosen`, whether the model has chosen a labelled row.
    """
    model, state = beliefs.model(view), view.state
    t, n_start = len(model.trained.y), state.settings.n_start
    X = sample(state, expected_error_size(state))
    last = max(MIN_LAST_LABELS, int(LAST_SHARE * t))
    which = averaged_labels(t)
    inside = np.abs(leave_one_out_levels(model.trained, which) - 0.5) <= 0.5 * INTERVAL_LEVEL
    candidates = state.candidates.sample(state.settings.seed)[1]
    pool = model.scaling.inputs(candidates)
    guessed = baseline(model.scaling.means(model.trained.y))
    names = state.candidates.input_names if plan is None else plan.names
    columns = columns_of(names, plan)
    sums = fixed_sums(candidates, names) if plan is None else plan_fixed_sums(plan, candidates)
    return ModelStatus(
        baseline=guessed,
        explained=1.0 - (course.now.left_out / guessed) ** 2 if guessed > 0.0 else 0.0,
        left_out=Estimate(course.now.left_out, tuple((m.labels, m.left_out) for m in course.marks)),
        prequential=_prequential(course),
        expected=Estimate(course.now.expected, tuple((m.labels, m.expected) for m in course.marks)),
        expected_over=course.candidates,
        window=SEQUENTIAL_WINDOW_LABELS,
        left_out_coverage=coverage(int(inside.sum()), len(inside)),
        noise=_noise(model),
        experts=_experts(model),
        acquisition=state.omega,
        inputs=_inputs(model, columns),
        change=stopping.change_by_last_labels(model, n_start, X, last),
        random=compare_with_random(
            model.trained, model.scaling, pool, state.settings.seed, goal.loss, progress
        )
        if chosen and goal.loss
        else None,
        left_out_over=len(inside),
        left_out_error=course.now.left_out_error,
        expected_error=_expected_error(view, model),
        source=_source(view, model),
        probability=effects.column_probability(model, columns),
        leave_out=tuple(effects.columns_to_leave_out(model, columns)),
        varying_noise=_varying_noise(view, model, columns, plan),
        left_out_interval=_left_out_interval(model, course.now.left_out, which, chosen),
        mixtures=tuple(one.words() for one in sums),
    )


def _left_out_interval(
    model: Model, left_out: float, which: Which, chosen: bool
) -> tuple[float, float]:
    """The 90 % interval of the error over all rows, by the left-out errors of the labels."""
    y = model.scaling.means(model.trained.y)
    errors = (y if which is None else y[which]) - leave_one_out_means(
        model.trained, model.scaling, which
    )
    spread, found = rms_error(errors), root_mean_square(errors)
    error = None if spread is None or found == 0.0 else left_out * spread / found
    return left_out_interval(left_out, len(errors), error, chosen)


def _source(view: QuantityView, model: Model) -> str | None:
    """The quantity whose predictions are an input of the model; None: none helps."""
    source = None if view.selection is None else view.selection.source
    return source.part if source is not None and model.scaling.source is not None else None


def _expected_error(view: QuantityView, model: Model) -> float | None:
    """The standard error of the expected error, if it is averaged over a sample of candidates."""
    _, sd = model.predict(expected_error_inputs(view.state), return_std=True)
    return rms(sd, len(view.candidates))[1]


def _prequential(course: Trend) -> Estimate | None:
    at = [mark.labels for mark in course.marks]
    known = [(n, error) for n in at if (error := course.prequential(n)) is not None]
    return Estimate(known[-1][1], tuple(known)) if known else None


def _varying_noise(
    view: QuantityView, model: Model, columns: dict[str, list[int]], plan: TablePlan | None
) -> NoiseDifference | None:
    """Where labels of a quantity scatter more, by the rows that have labels."""
    if varying_probability(model) == 0.0:
        return None
    X = view.labels.arrays()[0]
    factors = noise_factors(model, X, columns, plan, view.quantity.name or "label")
    return noise_difference(model, X, factors)


def _noise(model: Model) -> float:
    """The sd of the noise in the user's units, at the mean of the labels; its rms if it varies."""
    if model.ensemble_.field is not None:
        X = model.trained.X
        return float(np.sqrt(np.mean(noise_sd(model.trained, model.scaling, X) ** 2)))
    var = model.noise_[:, None] ** 2
    _, sd = in_units(model.trained, model.scaling, np.zeros_like(var), var)
    return float(sd[0])


def _inputs(model: Model, columns: dict[str, list[int]]) -> dict[str, float] | None:
    """The importance of each column; levels of a category are summed."""
    if not effects.has_input_importance(model):
        return None
    return effects.column_importance(model, columns)


def _experts(model: Model) -> tuple[Expert, ...]:
    best = np.argsort(-model.weights_, kind="stable")[:MAX_EXPERTS_SHOWN].tolist()
    return tuple(
        Expert(
            float(model.weights_[m]),
            model.dictionary_[m].family,
            tuple(np.atleast_1d(model.dictionary_[m].length_scale).tolist()),
        )
        for m in best
    )
