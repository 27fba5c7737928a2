"""Figures of how a learner does, each from plain values.

    learning_curve   the three error estimates as labels came, and the goal
    predicted        labels beside what was expected of them: without each (leave-one-out, with
                     intervals) and when they were asked
    experts          how the kinds of experts were weighed as labels came
    inputs           which inputs matter

Estimates and explanations come from `weal.diagnostics`.
"""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from weal.core.arrays import Array
from weal.diagnostics.coverage import LEVEL
from weal.diagnostics.leave_one_out import LeftOut
from weal.diagnostics.trend import WINDOW, Trend
from weal.diagnostics.wording import number, percent, shortened, told_apart
from weal.plots.canvas import (
    BLACK,
    BLUE,
    EDGE,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    TEXT,
    Plot,
    figure,
    legend,
    log_ticks,
    plain,
    ticks,
)

INPUTS_SHOWN = 15  # inputs
NAME_LETTERS = 36  # letters of a name
_LOG_RATIO = 3.0  # of the largest error to the smallest, from which the axis is logarithmic
_KINDS = {
    "rbf, one lengthscale": (SKY, "very smooth, inputs alike"),
    "rbf, one for each input": (BLUE, "very smooth, inputs apart"),
    "matern52, one lengthscale": ("#F2CF7E", "smooth, inputs alike"),
    "matern52, one for each input": (ORANGE, "smooth, inputs apart"),
}


def learning_curve(
    course: Trend, goal: float | None, check: tuple[float, float | None] | None, name: str
) -> Plot:
    """The three error estimates against the number of labels.

    `check` is the error of an honest test, on rows drawn at random, and its standard error.
    """
    fig = figure(1, 3.2)
    ax = fig.subplots()
    ticks(ax)
    at = [mark.labels for mark in course.marks]
    before = [course.prequential(n) for n in at]
    curves: dict[str, tuple[str, str, str, list[Any]]] = {
        "leave-one-out": (BLUE, "-", "o", [mark.left_out for mark in course.marks]),
        f"prequential (last {WINDOW} labels)": (ORANGE, "--", "s", before),
        "expected by the model": (BLACK, "-.", "^", [mark.expected for mark in course.marks]),
    }
    handles, values = {}, []
    for n, (label, (color, line, marker, errors)) in enumerate(curves.items()):
        known = np.array([np.nan if error is None else error for error in errors])
        step = max(len(at) // 8, 1)
        style: dict[str, Any] = {"color": color, "linestyle": line, "marker": marker}
        style |= {"markersize": 3, "linewidth": 1.1}
        ax.plot(at, known, markevery=(n * step // 3, step) if len(at) > 8 else None, **style)
        handles[label] = Line2D([], [], **style)
        values.append(known)
    if check:
        handles["honest test (random rows)"] = _check(ax, *check, at[-1])
        values.append(np.array([check[0]]))
    if goal:
        handles[f"goal {number(goal)}"] = ax.axhline(goal, color=GREY, linestyle=":", linewidth=1)
        values.append(np.array([goal]))
    _error_axis(ax, np.concatenate(values))
    _few_labels(ax, course)
    ax.set_xlabel("labels", **TEXT)
    ax.set_ylabel("error, in units of the label", **TEXT)
    ax.set_title(plain(shortened(name, 60)), fontsize=8)
    legend(fig, list(handles.values()), list(handles))
    return fig


def _few_labels(ax: Axes, course: Trend) -> None:
    """One tick where there is one mark: half a label is none."""
    if len(course.marks) == 1:
        ax.set_xticks([course.now.labels])


def _check(ax: Axes, rmse: float, error: float | None, at: int) -> Any:
    bar = 0.0 if error is None else min(error, 0.9 * rmse)
    style: dict[str, Any] = {"color": RED, "marker": "*", "markersize": 6, "linestyle": ""}
    ax.errorbar([at], [rmse], yerr=[bar], capsize=2, elinewidth=0.8, zorder=4, **style)
    return Line2D([], [], **style)


def _error_axis(ax: Axes, values: Any) -> None:
    known = values[np.isfinite(values) & (values > 0.0)]
    if not len(known):
        return
    low, high = float(known.min()), float(known.max())
    if high > _LOG_RATIO * low:
        margin = (high / low) ** 0.06
        log_ticks(ax, float(np.log10(high / low)))
        ax.set_ylim(low / margin, high * margin)
    else:
        ax.set_ylim(0.0, 1.08 * high)


def predicted(y: Array, alone: LeftOut, asked: Array, checked: Array) -> Plot:
    """Labels y (t,) against what the others made expect of each.

    `asked` and `checked` (n, 2) are labels beside what was expected when they were asked: chosen,
    and drawn at random.
    """
    fig = figure(1, 4.4)
    ax = fig.subplots()
    ticks(ax)
    bars = np.maximum([alone.mean - alone.low, alone.high - alone.mean], 0.0)
    faint = float(np.clip(30 / len(y), 0.25, 0.8))
    style: dict[str, Any] = {"color": BLUE, "marker": "o", "markersize": 2.8, "linestyle": ""}
    ax.errorbar(y, alone.mean, yerr=bars, elinewidth=0.6, ecolor=(0.0, 0.45, 0.7, faint), **style)
    handles = {f"without it (leave-one-out), {percent(LEVEL)} interval": Line2D([], [], **style)}
    every = [y, alone.mean]
    for pairs, label, color, marker, size in (
        (asked, "when it was asked", ORANGE, "s", 3.4),
        (checked, "when it was asked, drawn at random", RED, "*", 5.4),
    ):
        if len(pairs):
            look: dict[str, Any] = {"color": color, "marker": marker, "linestyle": ""}
            look |= {"markerfacecolor": "none", "markersize": size, "markeredgewidth": 0.7}
            ax.plot(*pairs.T, zorder=3, **look)
            handles[label] = Line2D([], [], **look)
            every += list(pairs.T)
    _diagonal(ax, np.concatenate(every))
    ax.set_xlabel("measured", **TEXT)
    ax.set_ylabel("expected", **TEXT)
    legend(fig, list(handles.values()), list(handles))
    return fig


def _diagonal(ax: Axes, values: Any) -> None:
    """The line where both agree, and axes that show all points (if not all of their bars)."""
    low, high = float(values.min()), float(values.max())
    margin = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
    ends = (low - margin, high + margin)
    ax.plot(ends, ends, color=GREY, linewidth=0.8, linestyle="--", zorder=1)
    ax.set_xlim(*ends)
    ax.set_ylim(*ends)
    ax.set_aspect("equal")


def experts(course: Trend) -> Plot:
    """How the kinds of experts were weighed as labels came."""
    names = [kind for kind in _KINDS if any(kind in mark.experts for mark in course.marks)]
    others = {kind for mark in course.marks for kind in mark.experts} - set(_KINDS)
    at = [float(mark.labels) for mark in course.marks]
    rows = [[mark.experts.get(kind, 0.0) for mark in course.marks] for kind in names]
    colors, labels = [_KINDS[kind][0] for kind in names], [_KINDS[kind][1] for kind in names]
    if others:
        rows.append([sum(mark.experts.get(kind, 0.0) for kind in others) for mark in course.marks])
        colors, labels = [*colors, PURPLE], [*labels, "others"]
    if len(at) == 1:  # a stack has a width
        at, rows = [at[0] - 0.5, at[0] + 0.5], [row * 2 for row in rows]
    fig = figure(1, 2.6)
    ax = fig.subplots()
    ticks(ax)
    ax.stackplot(at, *rows, colors=colors, **EDGE)
    ax.set_ylim(0, 1)
    ax.set_xlim(at[0], at[-1])
    _few_labels(ax, course)
    ax.set_xlabel("labels", **TEXT)
    ax.set_ylabel("weight of the experts", **TEXT)
    legend(fig, [Patch(color=color) for color in colors], labels)
    return fig


def inputs(shares: dict[str, float]) -> Plot:
    """Which inputs matter, the most important above."""
    names, values = (
        told_apart(list(shares)[:INPUTS_SHOWN], NAME_LETTERS),
        list(shares.values())[:INPUTS_SHOWN],
    )
    if len(shares) > INPUTS_SHOWN:
        names.append(f"{len(shares) - INPUTS_SHOWN} others together")
        values.append(sum(list(shares.values())[INPUTS_SHOWN:]))
    fig = figure(1, 0.7 + 0.17 * len(names))
    ax = fig.subplots()
    ticks(ax)
    at = np.arange(len(names))
    colors = [BLUE] * min(len(names), INPUTS_SHOWN) + [GREY] * (len(names) - INPUTS_SHOWN)
    ax.barh(at, [100 * value for value in values], color=colors, height=0.7)
    ax.set_yticks(at, [plain(name) for name in names], fontsize=6.5)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.grid(False, axis="y")
    ax.set_xlim(0, 100 * 1.08 * max(values))
    ax.set_xlabel("how much an input matters, % (1 / lengthscale)", **TEXT)
    return fig
