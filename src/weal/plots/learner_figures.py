"""Figures of a learner: learning curve, predictions, experts, inputs.

    learning_curve   three error estimates against the number of labels, and where to stop
    draw_predicted   labels against their predictions: leave-one-out, with intervals, and at the
                     time of the question; ids of labels outside their intervals
    experts          weights of the kinds of experts against the number of labels
    inputs           importance of the inputs, a category as one

Numbers come from `weal.diagnostics`.
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.typing import ColorType, LineStyleType

from weal.core.arrays import Array
from weal.core.constants import INTERVAL_LEVEL
from weal.diagnostics.error_trend import SEQUENTIAL_WINDOW_LABELS, Trend
from weal.diagnostics.leave_one_out import LeaveOneOut
from weal.plots.canvas import (
    BLUE,
    EDGE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    TEXT_STYLE,
    MarkStyle,
    axes,
    label_axis,
    legend_of,
    log_ticks,
    plain,
    text_color,
)
from weal.quantities.protocol import Quantity
from weal.text import number, percent, shorten, shorten_distinctly

INPUTS_SHOWN = 15
NAME_LETTERS = 36
MAX_IDS_SHOWN = 6
NOT_KNOWN = "unknown: too few labels to tell which inputs matter"
_LINE, _WORD = 0.035, 0.16  # height and width of an id, in shares of the axes
# ratio of the largest error to the smallest from which the axis is logarithmic
_MIN_LOG_AXIS_RATIO_OF_ERROR = 3.0
_ERROR_KINDS = {
    "rbf, one lengthscale": (SKY, "very smooth, inputs alike"),
    "rbf, one for each input": (BLUE, "very smooth, inputs apart"),
    "matern52, one lengthscale": ("#F2CF7E", "smooth, inputs alike"),
    "matern52, one for each input": (ORANGE, "smooth, inputs apart"),
    "anova, one for each input": (GREEN, "sum of effects, inputs apart"),
    "anova, one lengthscale": ("#8FD3BE", "sum of effects, inputs alike"),
    "trend, one for each input": (PURPLE, "linear trend, inputs apart"),
    "trend, one lengthscale": ("#DDB3CC", "linear trend, inputs alike"),
}


def learning_curve(
    course: Trend,
    stop: float | None,
    check: tuple[float, float | None] | None,
    name: str,
    *,
    quantity: Quantity,
    guessing: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The three error estimates against the number of labels.

    `stop` is the error at which to stop; `check` is the error on random check rows and its
    standard error; `guessing` is the error of the mean of the labels.
    """
    ax = axes(3.2, ax)
    at = [mark.labels for mark in course.marks]
    before = [course.prequential(n) for n in at]
    expected = [mark.expected for mark in course.marks]
    curves: dict[str, tuple[ColorType, LineStyleType, str, Sequence[float | None]]] = {
        "leave-one-out": (BLUE, "-", "o", [mark.left_out for mark in course.marks]),
        f"prequential (last {SEQUENTIAL_WINDOW_LABELS} labels)": (ORANGE, "--", "s", before),
        "expected by the model": (text_color(ax), "-.", "^", expected),
    }
    handles, values = {}, []
    for n, (label, (color, line, marker, errors)) in enumerate(curves.items()):
        known = np.array([np.nan if error is None else error for error in errors])
        step = max(len(at) // 8, 1)
        style: MarkStyle = {"color": color, "linestyle": line, "marker": marker}
        style |= {"markersize": 3, "linewidth": 1.1}
        ax.plot(at, known, markevery=(n * step // 3, step) if len(at) > 8 else None, **style)
        handles[label] = Line2D([], [], **style)
        values.append(known)
    if check:
        handles["test on random rows"] = _check(ax, *check, at[-1])
        values.append(np.array([check[0]]))
    if guessing:
        handles[f"guessing the mean {number(guessing)}"] = ax.axhline(
            guessing, color=PURPLE, linestyle=(0, (5, 2)), linewidth=0.9
        )
        values.append(np.array([guessing]))
    if stop:
        handles[f"until error < {number(stop)}"] = stop_line(ax, stop)
        values.append(np.array([stop]))
    _error_axis(ax, np.concatenate(values))
    _few_labels(ax, course)
    label_axis(ax)
    ax.set_ylabel(plain(quantity.error_axis_label()), **TEXT_STYLE)
    if name:
        ax.set_title(plain(shorten(name, 60)), fontsize=8)
    legend_of(ax, list(handles.values()), list(handles))
    return ax


def stop_line(ax: Axes, value: float) -> Line2D:
    """A dotted line at the value at which to stop."""
    return ax.axhline(value, color=GREY, linestyle=":", linewidth=1)


def _few_labels(ax: Axes, course: Trend) -> None:
    """One tick for a single point: there is no half label."""
    if len(course.marks) == 1:
        ax.set_xticks([course.now.labels])


def _check(ax: Axes, rmse: float, error: float | None, at: int) -> Line2D:
    bar = 0.0 if error is None else min(error, 0.9 * rmse)
    style: MarkStyle = {"color": RED, "marker": "*", "markersize": 6, "linestyle": ""}
    ax.errorbar([at], [rmse], yerr=[bar], capsize=2, elinewidth=0.8, zorder=4, **style)
    return Line2D([], [], **style)


def _error_axis(ax: Axes, values: Array) -> None:
    known = values[np.isfinite(values) & (values > 0.0)]
    if not len(known):
        return
    low, high = float(known.min()), float(known.max())
    if high > _MIN_LOG_AXIS_RATIO_OF_ERROR * low:
        margin = (high / low) ** 0.06
        log_ticks(ax, float(np.log10(high / low)))
        ax.set_ylim(low / margin, high * margin)
    else:
        ax.set_ylim(0.0, 1.08 * high)


def draw_predicted(
    y: Array,
    alone: LeaveOneOut,
    asked: Array,
    checked: Array,
    *,
    quantity: Quantity,
    ids: Sequence[object] = (),
    ax: Axes | None = None,
) -> Axes:
    """Labels y (t,) against their leave-one-out predictions, with ids of the largest deviations.

    `asked` and `checked` (n, 2) are labels and their predictions when asked: chosen, and drawn at
    random.
    """
    ax = axes(4.4, ax)
    bars = np.maximum([alone.mean - alone.low, alone.high - alone.mean], 0.0)
    faint = float(np.clip(30 / len(y), 0.25, 0.8))
    style: MarkStyle = {"color": BLUE, "marker": "o", "markersize": 2.8, "linestyle": ""}
    ax.errorbar(y, alone.mean, yerr=bars, elinewidth=0.6, ecolor=(0.0, 0.45, 0.7, faint), **style)
    handles = {
        f"without it (leave-one-out), {percent(INTERVAL_LEVEL)} interval": Line2D([], [], **style)
    }
    every = [y, alone.mean]
    for pairs, label, color, marker, size in (
        (asked, "when it was asked", ORANGE, "s", 3.4),
        (checked, "when it was asked, drawn at random", RED, "*", 5.4),
    ):
        if len(pairs):
            marks: MarkStyle = {"color": color, "marker": marker, "linestyle": ""}
            marks |= {"markerfacecolor": "none", "markersize": size, "markeredgewidth": 0.7}
            ax.plot(*pairs.T, zorder=3, **marks)
            handles[label] = Line2D([], [], **marks)
            every += list(pairs.T)
    _diagonal(ax, np.concatenate(every))
    _name_outliers(ax, y, alone, ids)
    ax.set_xlabel(plain(quantity.axis_label("measured")), **TEXT_STYLE)
    ax.set_ylabel(plain(quantity.axis_label("expected")), **TEXT_STYLE)
    legend_of(ax, list(handles.values()), list(handles))
    return ax


def _name_outliers(ax: Axes, y: Array, alone: LeaveOneOut, ids: Sequence[object]) -> None:
    """Write ids beside the labels farthest outside their intervals, without overlap."""
    half = np.maximum(0.5 * (alone.high - alone.low), np.finfo(float).tiny)
    beyond = np.maximum(alone.low - y, y - alone.high) / half
    out = np.flatnonzero(beyond > 0.0) if len(ids) else np.zeros(0, dtype=np.intp)
    low, high = ax.get_ylim()
    taken: list[tuple[float, float]] = []
    for n in out[np.argsort(-beyond[out], kind="stable")][:MAX_IDS_SHOWN].tolist():
        x, at = (float(y[n]) - low) / (high - low), (float(alone.mean[n]) - low) / (high - low)
        away = _LINE if at < 0.5 else -_LINE  # one way only, so that the loop ends
        while any(abs(at - b) < 0.99 * _LINE and abs(x - a) < _WORD for a, b in taken):
            at += away
        taken.append((x, at))
        left = x > 0.75
        ax.annotate(
            plain(shorten(str(ids[n]), 14)),
            (float(y[n]), float(alone.mean[n])),
            xytext=(x + (-0.02 if left else 0.02), at),
            textcoords="axes fraction",
            ha="right" if left else "left",
            va="center",
            fontsize=5.5,
            zorder=5,
            bbox={"facecolor": ax.get_facecolor(), "edgecolor": "none", "alpha": 0.75, "pad": 0.4},
            arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.4},
        )


def _diagonal(ax: Axes, values: Array) -> None:
    """Draw the diagonal, and set limits that show all points (but not all of their bars)."""
    low, high = float(values.min()), float(values.max())
    margin = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
    ends = (low - margin, high + margin)
    ax.plot(ends, ends, color=GREY, linewidth=0.8, linestyle="--", zorder=1)
    ax.set_xlim(*ends)
    ax.set_ylim(*ends)
    ax.set_aspect("equal")


def experts(course: Trend, ax: Axes | None = None) -> Axes:
    """Weights of the kinds of experts against the number of labels."""
    names = [kind for kind in _ERROR_KINDS if any(kind in mark.experts for mark in course.marks)]
    others = {kind for mark in course.marks for kind in mark.experts} - set(_ERROR_KINDS)
    at = [float(mark.labels) for mark in course.marks]
    rows = [[mark.experts.get(kind, 0.0) for mark in course.marks] for kind in names]
    colors, labels = (
        [_ERROR_KINDS[kind][0] for kind in names],
        [_ERROR_KINDS[kind][1] for kind in names],
    )
    if others:
        rows.append([sum(mark.experts.get(kind, 0.0) for kind in others) for mark in course.marks])
        colors, labels = [*colors, PURPLE], [*labels, "others"]
    if len(at) == 1:  # a stack has a width
        at, rows = [at[0] - 0.5, at[0] + 0.5], [row * 2 for row in rows]
    ax = axes(2.6, ax)
    ax.stackplot(at, *rows, colors=colors, **EDGE)
    ax.set_ylim(0, 1)
    ax.set_xlim(at[0], at[-1])
    _few_labels(ax, course)
    label_axis(ax)
    ax.set_ylabel("weight of the experts", **TEXT_STYLE)
    legend_of(ax, [Patch(color=color) for color in colors], labels)
    return ax


def inputs(shares: dict[str, float], known: bool = True, ax: Axes | None = None) -> Axes:
    """Importance of the inputs, the largest above; a note if it is not known."""
    names, values = (
        shorten_distinctly(list(shares)[:INPUTS_SHOWN], NAME_LETTERS),
        list(shares.values())[:INPUTS_SHOWN],
    )
    if len(shares) > INPUTS_SHOWN:
        names.append(f"{len(shares) - INPUTS_SHOWN} others together")
        values.append(sum(list(shares.values())[INPUTS_SHOWN:]))
    ax = axes(0.7 + 0.17 * max(len(names), 3), ax)
    at = np.arange(len(names))
    ax.set_yticks(at, [plain(name) for name in names], fontsize=6.5)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.grid(False, axis="y")
    ax.set_xlabel("how much an input matters, % (1 / lengthscale)", **TEXT_STYLE)
    if not known:
        ax.set_xlim(0, 100)
        ax.set_xticks([])
        ax.text(0.5, 0.5, NOT_KNOWN, transform=ax.transAxes, ha="center", va="center", **TEXT_STYLE)
        return ax
    colors = [BLUE] * min(len(names), INPUTS_SHOWN) + [GREY] * (len(names) - INPUTS_SHOWN)
    ax.barh(at, [100 * value for value in values], color=colors, height=0.7)
    ax.set_xlim(0, 100 * 1.08 * max(values))
    return ax
