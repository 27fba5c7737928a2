"""Figures of partial dependence: on one input, and on two.

Numbers come from `weal.diagnostics.effects`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib import dates
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import LogFormatter, LogLocator

from weal.core.arrays import Array
from weal.core.constants import INTERVAL_LEVEL
from weal.diagnostics.effects import EffectInput
from weal.plots.canvas import BLUE, GREY, RED, TEXT_STYLE, MarkStyle, axes, figure_of, plain
from weal.quantities.protocol import Quantity
from weal.text import percent, shorten, shorten_distinctly

INTERVAL_SDS = 1.6449  # half the width of a normal interval at INTERVAL_LEVEL, in sds
MAX_LEVEL_NAMES = 12  # names of levels on an axis
_LETTERS = 36


def effect(
    axis: EffectInput, mean: Array, sd: Array, measured: Array, *, quantity: Quantity,
    ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Partial dependence with its band; `measured` (t,) are values of the input at the labels."""
    ax = axes(3.0, ax)
    at: Any = axis.times if axis.origin else axis.values
    least, most = quantity.low, quantity.high
    low = np.maximum(mean - INTERVAL_SDS * sd, -np.inf if least is None else min(least, mean.min()))
    high = np.minimum(mean + INTERVAL_SDS * sd, np.inf if most is None else max(most, mean.max()))
    if axis.kind in ("category", "flag"):
        bars: MarkStyle = {
            "color": BLUE, "marker": "o", "markersize": 4, "linestyle": ""
        }  # fmt: skip
        ax.errorbar(
            axis.values, mean, yerr=[mean - low, high - mean], elinewidth=1.0, capsize=2, **bars
        )
        ax.set_xlim(axis.values[0] - 0.5, axis.values[-1] + 0.5)
    else:
        ax.fill_between(at, low, high, color=BLUE, alpha=0.2, linewidth=0)
        ax.plot(at, mean, color=BLUE, linewidth=1.3, marker="o" if len(mean) < 13 else "")
        if len(measured):
            ticks_at: Any = _as_drawn(axis, measured)
            ax.plot(
                ticks_at, np.full(len(measured), 0.015), "|", color=GREY, markersize=5,
                transform=ax.get_xaxis_transform(), clip_on=False,
            )  # fmt: skip
    _scale(ax, axis, "x")
    ax.set_ylabel(plain(quantity.axis_label()), **TEXT_STYLE)
    words = f"averaged over candidates; {percent(INTERVAL_LEVEL)} band; ticks: measured"
    ax.set_title(
        words if axis.kind not in ("category", "flag") else words.split("; t")[0], **TEXT_STYLE
    )
    return ax


def surface(
    a: EffectInput, b: EffectInput, mean: Array, measured: Array, out: Array, *,
    quantity: Quantity, ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """The mean (G_b, G_a) over two inputs; points are `measured` and `out` rows (n, 2)."""
    ax = axes(3.6, ax)
    ax.grid(False)
    edges = (_edges(a), _edges(b))
    mesh = ax.pcolormesh(*edges, mean, cmap="viridis", shading="flat", rasterized=True)
    bar = figure_of(ax).colorbar(mesh, ax=ax, pad=0.02)
    bar.ax.tick_params(labelsize=6, length=2)
    bar.set_label(plain(quantity.axis_label()), **TEXT_STYLE)
    bar.outline.set_visible(False)
    styles: tuple[MarkStyle, ...] = (
        {"color": "white", "markeredgecolor": "black", "marker": "o"},
        {"color": RED, "markeredgecolor": "white", "marker": "D"},
    )
    for points, style in zip((measured, out), styles, strict=True):
        if len(points):
            at = (_as_drawn(a, points[:, 0]), _as_drawn(b, points[:, 1]))
            ax.plot(*at, linestyle="", markersize=3.5, markeredgewidth=0.5, zorder=3, **style)
    ax.set_xlim(edges[0][0], edges[0][-1])
    ax.set_ylim(edges[1][0], edges[1][-1])
    _scale(ax, a, "x")
    _scale(ax, b, "y")
    what = "dots: measured" + (", diamonds: out now" if len(out) else "")
    ax.set_title(f"averaged over candidates; {what}", **TEXT_STYLE)
    return ax


def _as_drawn(axis: EffectInput, values: Array) -> Any:
    return replace(axis, values=values).times if axis.origin else values


def _edges(axis: EffectInput) -> Any:
    """Edges (G + 1,) of the cells around the values."""
    x = np.log(axis.values) if axis.log else axis.values
    if len(x) == 1:
        ends = np.array([x[0] - 0.5, x[0] + 0.5])
    else:
        middle = 0.5 * (x[1:] + x[:-1])
        ends = np.concatenate([[x[0] - (middle[0] - x[0])], middle, [2 * x[-1] - middle[-1]]])
    return _as_drawn(axis, np.exp(ends) if axis.log else ends)


def _scale(ax: Axes, axis: EffectInput, side: str) -> None:
    """Scale, ticks and label of one side."""
    line = ax.xaxis if side == "x" else ax.yaxis
    label = ax.set_xlabel if side == "x" else ax.set_ylabel
    label(plain(shorten(axis.name, _LETTERS)), **TEXT_STYLE)
    names = ("no", "yes") if axis.kind == "flag" and len(axis.values) == 2 else axis.names
    if axis.log:
        (ax.set_xscale if side == "x" else ax.set_yscale)("log")
        few = np.log10(axis.values[-1] / axis.values[0]) < 3
        line.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
        line.set_major_formatter(LogFormatter(labelOnlyBase=False, minor_thresholds=(9, 9)))
        line.set_minor_locator(LogLocator(subs=()))
    elif axis.origin:
        locator: Any = dates.AutoDateLocator(minticks=3, maxticks=6)  # type: ignore[no-untyped-call]
        line.set_major_locator(locator)
        line.set_major_formatter(dates.ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
        line.get_offset_text().set_fontsize(6)
    elif names:
        _set_level_names(line, names)


def _set_level_names(line: Axis, names: Sequence[str]) -> None:
    shown = shorten_distinctly(list(names), 18 if len(names) <= 6 else 9)
    step = -(-len(names) // MAX_LEVEL_NAMES)
    line.set_ticks(range(0, len(names), step), [plain(name) for name in shown[::step]])
