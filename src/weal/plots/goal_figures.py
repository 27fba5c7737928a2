"""Learning curves of goals with a set of rows, each from plain values.

best_curve         labels in their order, and the best of them so far
f1_curve           expected F1 of the rows that probably are in the set, against labels
hypervolume_curve  hypervolume of the measured rows, against rows
pareto_front       two measured quantities, and the rows that no other one is better than in both
"""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.plots.canvas import BLUE, GREY, TEXT_STYLE, MarkStyle, axes, label_axis, legend_of, plain
from weal.plots.learner_figures import NAME_LETTERS, stop_line
from weal.text import number, shorten

FIGURE_HEIGHT, FRONT_HEIGHT, TITLE_LETTERS = 3.2, 4.2, 60


def best_curve(
    y: Array,
    lowest: bool,
    stop: float | None,
    name: str,
    *,
    label: str,
    ax: Axes | None = None,
) -> Axes:
    """Labels y (t,) in their order, and the best of them so far; `stop` is good enough.

    NaN is a label that does not count.
    """
    ax = axes(FIGURE_HEIGHT, ax)
    at, best = np.arange(1.0, len(y) + 1.0), (np.fmin if lowest else np.fmax).accumulate(y)
    dots: MarkStyle = {"color": GREY, "marker": "o", "markersize": 3, "linestyle": ""}
    line: MarkStyle = {"color": BLUE, "linewidth": 1.4}
    ax.plot(at, y, **dots)
    ax.step(at, best, where="post", **line)
    handles = {"label": Line2D([], [], **dots), "best so far": Line2D([], [], **line)}
    if stop is not None:
        handles[f"until best {'<' if lowest else '>'} {number(stop)}"] = stop_line(ax, stop)
    _finish(ax, at, name, label)
    legend_of(ax, list(handles.values()), list(handles))
    return ax


def f1_curve(at: Array, values: Array, name: str, *, label: str, ax: Axes | None = None) -> Axes:
    """Expected F1 (n,) after `at` (n,) labels."""
    ax = axes(FIGURE_HEIGHT, ax)
    ax.plot(at, values, color=BLUE, marker="o", markersize=3, linewidth=1.2)
    ax.set_ylim(0.0, 1.02)
    _finish(ax, at, name, label)
    return ax


def hypervolume_curve(values: Array, name: str, *, label: str, ax: Axes | None = None) -> Axes:
    """Hypervolume (n,) after each measured row, as a share of the last."""
    ax, at = axes(FIGURE_HEIGHT, ax), np.arange(1.0, len(values) + 1.0)
    ax.step(at, values, where="post", color=BLUE, linewidth=1.4)
    ax.set_ylim(0.0, 1.02)
    _finish(ax, at, name, label)
    return ax


def pareto_front(
    Y: Array,
    front: NDArray[np.intp],
    lowest: tuple[bool, bool],
    name: str,
    *,
    labels: tuple[str, str],
    ax: Axes | None = None,
) -> Axes:
    """Labels Y (n, 2) of measured rows, and the Pareto rows `front` (p,) by the first objective.

    The line has a step at each row of the front: beyond it, no measured row is better in both.
    """
    ax = axes(FRONT_HEIGHT, ax)
    dots: MarkStyle = {"color": GREY, "marker": "o", "markersize": 3, "linestyle": ""}
    best: MarkStyle = {"color": BLUE, "marker": "o", "markersize": 4.5, "linestyle": ""}
    ax.plot(Y[:, 0], Y[:, 1], **dots)
    ax.step(Y[front, 0], Y[front, 1], where="pre", color=BLUE, linewidth=1.0)
    ax.plot(Y[front, 0], Y[front, 1], **best)
    sides = [f"{which} ({'lower' if low else 'higher'} is better)"
             for which, low in zip(labels, lowest, strict=True)]  # fmt: skip
    ax.set_xlabel(plain(shorten(sides[0], 2 * NAME_LETTERS)), **TEXT_STYLE)
    ax.set_ylabel(plain(shorten(sides[1], 2 * NAME_LETTERS)), **TEXT_STYLE)
    if name:
        ax.set_title(plain(shorten(name, TITLE_LETTERS)), fontsize=8)
    handles = {"measured row": Line2D([], [], **dots), "Pareto row": Line2D([], [], **best)}
    legend_of(ax, list(handles.values()), list(handles))
    return ax


def _finish(ax: Axes, at: Array, name: str, label: str) -> None:
    """Labels of the axes, and the title; one tick for a single point: there is no half label."""
    if len(at) == 1:
        ax.set_xticks(at)
    label_axis(ax)
    ax.set_ylabel(plain(shorten(label, 2 * NAME_LETTERS)), **TEXT_STYLE)
    if name:
        ax.set_title(plain(shorten(name, TITLE_LETTERS)), fontsize=8)
