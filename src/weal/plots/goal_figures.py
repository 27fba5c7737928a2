"""Learning curves of goals with a set of rows, each from plain values.

best_curve   labels in their order, and the best of them so far
f1_curve     expected F1 of the rows that probably are in the set, against labels
"""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from weal.core.arrays import Array
from weal.plots.canvas import BLUE, GREY, TEXT_STYLE, MarkStyle, axes, label_axis, legend_of, plain
from weal.plots.learner_figures import NAME_LETTERS, stop_line
from weal.text import number, shorten

FIGURE_HEIGHT, TITLE_LETTERS = 3.2, 60


def best_curve(
    y: Array,
    lowest: bool,
    stop: float | None,
    name: str,
    *,
    label: str,
    ax: Axes | None = None,
) -> Axes:
    """Labels y (t,) in their order, and the best of them so far; `stop` is good enough."""
    ax = axes(FIGURE_HEIGHT, ax)
    at, best = np.arange(1.0, len(y) + 1.0), (np.minimum if lowest else np.maximum).accumulate(y)
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


def _finish(ax: Axes, at: Array, name: str, label: str) -> None:
    """Labels of the axes, and the title; one tick for a single point: there is no half label."""
    if len(at) == 1:
        ax.set_xticks(at)
    label_axis(ax)
    ax.set_ylabel(plain(shorten(label, 2 * NAME_LETTERS)), **TEXT_STYLE)
    if name:
        ax.set_title(plain(shorten(name, TITLE_LETTERS)), fontsize=8)
