"""Pictures by name: `learner.plot.predicted()`, `campaign.plot.effect("temp")`, on axes.

Each method computes what it shows and returns matplotlib axes: of a figure of their own, which a
notebook shows, or those given as `ax`. Nothing is drawn before there is a model.
"""

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from weal.core.arrays import Array
from weal.diagnostics import effects, input_importance
from weal.diagnostics.coverage import LEVEL
from weal.diagnostics.explain import sample
from weal.diagnostics.leave_one_out import baseline
from weal.diagnostics.outliers import beside_others
from weal.files import check_files, write_files
from weal.learner.sampling import standing_for
from weal.plots import effect_figures, learner_figures
from weal.plots.canvas import as_bytes, figure_of, paper
from weal.plots.view import View
from weal.progress import Progress

AVERAGED, AVERAGED_MAP = 100, 30  # candidates that effects and maps are averaged over
MAP_POINTS = 31  # values along each side of a map
_DRAWN = 13  # part of the random key of these candidates


class Plots:
    """The pictures of a learner or a campaign; each method returns matplotlib axes.

    >>> import numpy as np
    >>> from weal import ActiveLearner
    >>> X = np.linspace(0, 6, 31)[:, None]
    >>> learner = ActiveLearner(X, target="height [mm]")
    >>> learner.tell(range(0, 31, 3), np.sin(X[::3, 0]))
    >>> learner.plot.predicted().get_xlabel()
    'measured height [mm]'
    """

    def __init__(self, view: Callable[[], View]) -> None:
        self._view = view

    def __repr__(self) -> str:
        return f"<Plots: {', '.join(NAMES)}, effect, map; save>"

    def learning_curve(self, *, ax: Axes | None = None, progress: Progress | None = None) -> Axes:
        """Three estimates of the error as labels came, beside guessing the mean, and the goal."""
        view = self._view()
        y = view.model.scaling.means(view.model.fold.y)
        given = (view.course(progress), view.goal, view.check, view.title)
        with paper(ax):
            return learner_figures.learning_curve(
                *given, target=view.target, guessing=baseline(y), ax=ax
            )

    def predicted(self, *, ax: Axes | None = None) -> Axes:
        """Labels beside what was expected of them, with the ids of those farthest out."""
        view = self._view()
        model = view.model
        y, alone = model.scaling.means(model.fold.seen.y), beside_others(model, LEVEL)
        shown: dict[str, Any] = {"target": view.target, "ids": view.label_ids}
        with paper(ax):
            return learner_figures.predicted(y, alone, view.asked, view.checked, ax=ax, **shown)

    def experts(self, *, ax: Axes | None = None, progress: Progress | None = None) -> Axes:
        """How the kinds of experts were weighed as labels came."""
        course = self._view().course(progress)
        with paper(ax):
            return learner_figures.experts(course, ax)

    def inputs(self, *, ax: Axes | None = None) -> Axes:
        """Which inputs matter; a category is one, the sum of its levels."""
        view = self._view()
        columns = effects.columns_of(view.names, view.plan)
        shares, known = (
            input_importance.by_column(view.model, columns),
            input_importance.told_apart(view.model),
        )
        with paper(ax):
            return learner_figures.inputs(shares, known, ax)

    def effect(self, name: str | int, *, ax: Axes | None = None) -> Axes:
        """What one input does, averaged over candidates, with its band; by name or number."""
        view = self._view()
        axis = _axis(view, name)
        mean, sd = effects.effect(view.model, _sample(view, AVERAGED), axis)
        with paper(ax):
            return effect_figures.effect(
                axis, mean, sd, _measured(view, axis), target=view.target, ax=ax
            )

    def map(self, first: str | int, second: str | int, *, ax: Axes | None = None) -> Axes:
        """What two inputs do together, averaged over candidates; by name or number."""
        view = self._view()
        a, b = (_axis(view, name, MAP_POINTS) for name in (first, second))
        if a.name == b.name:
            raise ValueError(f"a map is over two inputs; got {a.name!r} twice")
        mean, _ = effects.surface(view.model, _sample(view, AVERAGED_MAP), a, b)
        pool = view.state.candidates
        rows = [pool.x(name) for name in view.state.asked]
        out = np.array(rows).reshape(len(rows), pool.X.shape[1])
        points = [_pairs(a, b, X) for X in (view.state.labels.arrays()[0], out)]
        with paper(ax):
            return effect_figures.surface(a, b, mean, *points, target=view.target, ax=ax)

    def save(self, folder: str | os.PathLike[str], progress: Progress | None = None) -> list[Path]:
        """Write learning-curve, predicted, experts and inputs as PNG; their paths.

        Pictures that were written there before are replaced, and no other file (ForeignFile).
        """
        place, names = Path(folder), [f"{name.replace('_', '-')}.png" for name in NAMES]
        check_files(place, names)
        view = self._view()  # what cannot be drawn leaves no folder
        same = Plots(lambda: view)
        plots = {
            "learning-curve": same.learning_curve(progress=progress),
            "predicted": same.predicted(),
            "experts": same.experts(progress=progress),
            "inputs": same.inputs(),
        }
        drawn = {}
        for n, (name, ax) in enumerate(plots.items()):
            drawn[f"{name}.png"] = _png(ax)
            if progress:
                progress("pictures", n + 1, len(plots))
        write_files(place, drawn)
        return [place / name for name in drawn]


NAMES = ("learning_curve", "predicted", "experts", "inputs")


def _axis(view: View, name: str | int, points: int = effects.POINTS) -> effects.Axis:
    _, X = standing_for(view.state.candidates, view.state.settings.seed)
    return effects.axis_of(name, X, view.names, view.plan, points)


def _sample(view: View, n: int) -> Array:
    return sample(view.state, n, _DRAWN)


def _measured(view: View, axis: effects.Axis) -> Array:  # (t,)
    """Values of a column at the labels, without gaps."""
    X = view.state.labels.arrays()[0]
    return np.zeros(0) if axis.kind in ("category", "flag") else _pairs(axis, axis, X)[:, 0]


def _pairs(a: effects.Axis, b: effects.Axis, X: Array) -> Array:  # (n, 2)
    """Two columns of rows X (N, d) as they are drawn, without rows where one is missing."""
    values = [_drawn(axis, X) for axis in (a, b)]
    pairs = np.stack(values, axis=1)
    return pairs[np.isfinite(pairs).all(axis=1)]


def _drawn(axis: effects.Axis, X: Array) -> Array:  # (N,)
    part = X[:, list(axis.at)]
    if axis.kind == "category":
        known = part.any(axis=1)
        return np.where(known, part.argmax(axis=1), np.nan)
    missing = part[:, 1] == 1.0 if len(axis.at) > 1 else np.zeros(len(X), dtype=bool)
    scale = axis.values[-1] / axis.inputs[-1, 0] if axis.inputs[-1, 0] else 1.0
    return np.where(missing, np.nan, part[:, 0] * scale)


def _png(ax: Axes) -> bytes:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # an emoji in a name is a box then
        return as_bytes(figure_of(ax), "png")
