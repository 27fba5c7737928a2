"""Figures by name: `learner.plot.predicted()`, `campaign.plot.effect("temp")`.

Each method computes its numbers and returns matplotlib axes: of a new figure, which a notebook
shows, or those given as `ax`. Without a model it raises WealError. `PlotData` has the values that
the figures are drawn from.
"""

import os
import warnings
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from weal.core.arrays import Array
from weal.core.constants import INTERVAL_LEVEL
from weal.core.extensions.hypervolume import pareto_rows, signed_labels
from weal.diagnostics import effects
from weal.diagnostics.error_trend import Trend, error_trend, expected_error_inputs
from weal.diagnostics.explanation import sample
from weal.diagnostics.leave_one_out import baseline
from weal.diagnostics.suspects import predictions_by_others
from weal.errors import NoModel
from weal.files import check_files, write_files
from weal.goals.learn import Learn
from weal.goals.protocol import CurveKind, Goal
from weal.goals.until import Until
from weal.learner.joint_beliefs import hypervolume_series, joint_labels
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.state import QuantityView, State
from weal.model.model import Model
from weal.plots import effect_figures, goal_figures, learner_figures
from weal.plots.canvas import as_bytes, figure_of, style_for
from weal.progress import Progress
from weal.tables.plan import TablePlan

NO_POINTS = np.zeros((0, 2))


@dataclass(frozen=True, slots=True, eq=False)
class PlotData:
    """The values that the figures of a learner or a campaign are drawn from."""

    learner: QuantityView
    model: Model
    course: Callable[[Progress | None], Trend]
    names: Sequence[str]  # of the inputs
    plan: TablePlan | None
    title: str = ""
    goal: Goal = field(default_factory=Learn)
    until: Until | None = None
    check: tuple[float, float | None] | None = None  # error on check rows, and its sd
    asked: Array = field(default_factory=lambda: NO_POINTS)  # (n, 2)  label, prediction
    checked: Array = field(default_factory=lambda: NO_POINTS)  # (n, 2)  the same, random rows

    @property
    def label_ids(self) -> list[Hashable]:
        """The ids of the labels, in their order; "outside" for points outside the pool."""
        return ["outside" if label.name is None else label.name for label in self.learner.labels]


def plot_data(view: QuantityView, beliefs: PosteriorCache) -> PlotData:
    """The plot data of a learner; WealError without a model."""
    model = require_model(view, beliefs)
    pool, state = view.candidates, view.state

    @cache  # two figures show it
    def compute_trend(progress: Progress | None) -> Trend:
        n_start, X = state.settings.n_start, expected_error_inputs(state)
        return error_trend(model, n_start, X, progress=progress, goal=state.settings.goal)

    return PlotData(
        view,
        model,
        compute_trend,
        pool.input_names,
        pool.plan,
        goal=state.settings.goal,
        asked=_predictions_when_asked(state),
    )


def require_model(view: QuantityView, beliefs: PosteriorCache) -> Model:
    """The model; NoModel if there is none, or no label."""
    if not view.has_model or not len(view.labels):
        raise NoModel(
            "there is nothing to draw before there is a model: "
            f"{len(view.labels)} of {view.settings.n_start} labels"
        )
    return beliefs.model(view)


def _predictions_when_asked(state: State) -> Array:
    rows = [row for row in state.history if row["label"] is not None]
    pairs = [(row["label"], row["mean"]) for row in rows if row["mean"] == row["mean"]]
    return np.array(pairs).reshape(len(pairs), 2)


MAX_AVERAGED_ROWS, AVERAGED_MAP = 100, 30  # candidates in averages of effects and of maps
MAP_POINTS = 31  # values along each side of a map
_PLOT_SAMPLE_KEY = 13  # part of the random key of these candidates


class Plots:
    """The figures of a learner or a campaign; each method returns matplotlib axes.

    >>> import numpy as np
    >>> from weal import ActiveLearner
    >>> X = np.linspace(0, 6, 31)[:, None]
    >>> learner = ActiveLearner(X, target="height [mm]")
    >>> learner.tell(range(0, 31, 3), np.sin(X[::3, 0]))
    >>> learner.plot.predicted().get_xlabel()
    'measured height [mm]'
    """

    def __init__(self, view: Callable[[], PlotData]) -> None:
        self._view = view

    def __repr__(self) -> str:
        return f"<Plots: {', '.join(PLOT_NAMES)}, effect, map, pareto; save>"

    def learning_curve(self, *, ax: Axes | None = None, progress: Progress | None = None) -> Axes:
        """The series of the goal against labels: error estimates, or the best so far."""
        view = self._view()
        with style_for(ax):
            return _CURVES[view.goal.curve](view, ax, progress)

    def predicted(self, *, ax: Axes | None = None) -> Axes:
        """Labels against their predictions, with the ids of the largest deviations."""
        view = self._view()
        model = view.model
        y, alone = (
            model.scaling.means(model.trained.all_labels.y),
            predictions_by_others(model, INTERVAL_LEVEL),
        )
        with style_for(ax):
            return learner_figures.draw_predicted(
                y,
                alone,
                view.asked,
                view.checked,
                ax=ax,
                quantity=view.learner.quantity,
                ids=view.label_ids,
            )

    def experts(self, *, ax: Axes | None = None, progress: Progress | None = None) -> Axes:
        """Weights of the kinds of experts against the number of labels."""
        course = self._view().course(progress)
        with style_for(ax):
            return learner_figures.experts(course, ax)

    def inputs(self, *, ax: Axes | None = None) -> Axes:
        """Importance of the inputs; a category is one input, the sum of its levels."""
        view = self._view()
        columns = effects.columns_of(view.names, view.plan)
        shares, known = (
            effects.column_importance(view.model, columns),
            effects.has_input_importance(view.model),
        )
        with style_for(ax):
            return learner_figures.inputs(shares, known, ax)

    def effect(self, name: str | int, *, ax: Axes | None = None) -> Axes:
        """Partial dependence on one input, with its band; by name or number."""
        view = self._view()
        axis = _axis(view, name)
        mean, sd = effects.partial_dependence(view.model, _sample(view, MAX_AVERAGED_ROWS), axis)
        with style_for(ax):
            return effect_figures.effect(
                axis, mean, sd, _values_at_labels(view, axis), quantity=view.learner.quantity, ax=ax
            )

    def map(self, first: str | int, second: str | int, *, ax: Axes | None = None) -> Axes:
        """Partial dependence on two inputs together; by name or number."""
        view = self._view()
        a, b = (_axis(view, name, MAP_POINTS) for name in (first, second))
        if a.name == b.name:
            raise ValueError(f"a map is over two inputs; got {a.name!r} twice")
        mean, _ = effects.partial_dependence_of_two(view.model, _sample(view, AVERAGED_MAP), a, b)
        pool = view.learner.candidates
        rows = [pool.x(name) for name in view.learner.state.asked]
        out = np.array(rows).reshape(len(rows), pool.n_inputs)
        points = [_pairs(a, b, X) for X in (view.learner.labels.arrays()[0], out)]
        with style_for(ax):
            return effect_figures.surface(
                a, b, mean, *points, quantity=view.learner.quantity, ax=ax
            )

    def pareto(self, *, ax: Axes | None = None) -> Axes:
        """The two objectives of the goal against each other, with the measured Pareto rows."""
        view = self._view()
        lowest = [low for _, low in view.goal.directions]
        if len(lowest) != 2:
            raise ValueError(
                f"the goal is {view.goal.text!r}, and a front has two objectives: choose them with "
                "goal=['maximise yield', 'minimise cost']"
            )
        state = view.learner.state
        told, names = joint_labels(state), [str(name) for name, _ in view.goal.directions]
        front = pareto_rows(signed_labels(_objective_labels(view), lowest))
        labels = [state.find_measured(name).axis_label() for name in names]
        with style_for(ax):
            return goal_figures.pareto_front(
                told.columns(names),
                front,
                (lowest[0], lowest[1]),
                view.title,
                labels=(labels[0], labels[1]),
                ax=ax,
            )

    def save(self, folder: str | os.PathLike[str], progress: Progress | None = None) -> list[Path]:
        """Write learning-curve, predicted, experts and inputs as PNG; their paths.

        Figures that weal wrote there are replaced; any other file of that name is ForeignFile.
        """
        place, names = Path(folder), [f"{name.replace('_', '-')}.png" for name in PLOT_NAMES]
        check_files(place, names)
        view = self._view()  # an error here leaves no folder
        same = Plots(lambda: view)
        plots = {
            "learning-curve": same.learning_curve(progress=progress),
            "predicted": same.predicted(),
            "experts": same.experts(progress=progress),
            "inputs": same.inputs(),
        }
        files = {}
        for n, (name, ax) in enumerate(plots.items()):
            files[f"{name}.png"] = _png(ax)
            if progress:
                progress("pictures", n + 1, len(plots))
        write_files(place, files)
        return [place / name for name in files]


def _error_curve(view: PlotData, ax: Axes | None, progress: Progress | None) -> Axes:
    y = view.model.scaling.means(view.model.trained.y)
    stop = view.until.error if view.until else None
    return learner_figures.learning_curve(
        *(view.course(progress), stop, view.check, view.title),
        quantity=view.learner.quantity,
        guessing=baseline(y),
        ax=ax,
    )


def _best_curve(view: PlotData, ax: Axes | None, progress: Progress | None) -> Axes:
    y, until = np.array([label.y for label in view.learner.labels]), view.until
    if view.goal.is_joint:
        y = _objective_labels(view)[:, 0]
    stop = until.value if until and until.watched == "best" else None
    label = view.goal.curve_label(view.learner.quantity.column)
    return goal_figures.best_curve(y, view.goal.lowest, stop, view.title, label=label, ax=ax)


def _f1_curve(view: PlotData, ax: Axes | None, progress: Progress | None) -> Axes:
    marks = [mark for mark in view.course(progress).marks if mark.goal_value is not None]
    at, values = [mark.labels for mark in marks], [mark.goal_value for mark in marks]
    label = view.goal.curve_label(view.learner.quantity.column)
    return goal_figures.f1_curve(np.array(at), np.array(values), view.title, label=label, ax=ax)


def _hypervolume_curve(view: PlotData, ax: Axes | None, progress: Progress | None) -> Axes:
    Y = signed_labels(_objective_labels(view), [low for _, low in view.goal.directions])
    label = view.goal.curve_label(None)
    return goal_figures.hypervolume_curve(hypervolume_series(Y), view.title, label=label, ax=ax)


def _objective_labels(view: PlotData) -> Array:  # (n, objectives)
    """Labels of the objectives of the goal, row by row; NaN for rows that are not feasible."""
    state = view.learner.state
    told = joint_labels(state)
    names = [name or state.measured[0].name for name, _ in view.goal.directions]
    return np.where(view.goal.meets(told.labels)[:, None], told.columns(names), np.nan)


_CURVES: dict[CurveKind, Callable[[PlotData, Axes | None, Progress | None], Axes]] = {
    "errors": _error_curve,
    "best": _best_curve,
    "f1": _f1_curve,
    "hypervolume": _hypervolume_curve,
}
PLOT_NAMES = ("learning_curve", "predicted", "experts", "inputs")


def _axis(
    view: PlotData, name: str | int, points: int = effects.EFFECT_LINE_POINTS
) -> effects.EffectInput:
    _, X = view.learner.candidates.sample(view.learner.settings.seed)
    return effects.make_effect_input(name, X, view.names, view.plan, points)


def _sample(view: PlotData, n: int) -> Array:
    return sample(view.learner.state, n, _PLOT_SAMPLE_KEY)


def _values_at_labels(view: PlotData, axis: effects.EffectInput) -> Array:  # (t,)
    """Values of a column at the labels, without missing ones."""
    X = view.learner.labels.arrays()[0]
    return np.zeros(0) if axis.kind in ("category", "flag") else _pairs(axis, axis, X)[:, 0]


def _pairs(a: effects.EffectInput, b: effects.EffectInput, X: Array) -> Array:  # (n, 2)
    """Two columns of rows X (N, d) as drawn, without rows with a missing value."""
    values = [_draw_values(axis, X) for axis in (a, b)]
    pairs = np.stack(values, axis=1)
    return pairs[np.isfinite(pairs).all(axis=1)]


def _draw_values(axis: effects.EffectInput, X: Array) -> Array:  # (N,)
    part = X[:, list(axis.positions)]
    if axis.kind == "category":
        known = part.any(axis=1)
        return np.where(known, part.argmax(axis=1), np.nan)
    missing = part[:, 1] == 1.0 if len(axis.positions) > 1 else np.zeros(len(X), dtype=bool)
    scale = axis.values[-1] / axis.inputs[-1, 0] if axis.inputs[-1, 0] else 1.0
    return np.where(missing, np.nan, part[:, 0] * scale)


def _png(ax: Axes) -> bytes:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # an emoji in a name becomes a box
        return as_bytes(figure_of(ax), "png")
