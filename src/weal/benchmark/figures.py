"""Figures of a benchmark: NMSE and NPLL against queries, and weights against queries.

Every function returns a matplotlib figure and touches no global state: no pyplot, no backend. A
notebook shows the figure; `save` writes it as PNG and SVG.

    curves               NMSE above, NPLL below, one column for each task; mean over realisations,
                         and a band of one standard deviation (for all methods, or, if there are
                         many, for GP-Var and EGP-multiAFs only, while their mean is on the scale)
    expert_weights       weights of the experts: mean over realisations, stacked, short
                         lengthscales dark and long ones light
    acquisition_weights  weights of the acquisition functions in Algorithm 2

Colours are Okabe and Ito's, which colour-blind readers can distinguish; each method also has its
own line and marker for grey print. A method of the table always has the same style; others take the
remaining ones in turn. Methods that also train on V ("+v") have the style of their method with
hollow markers.

Axes follow the mean curves, not the bands. NMSE is logarithmic when the curves span more than a
factor of three. NPLL ends at a few times the height that the median method reaches: a density
that is wrong by a factor e^10000 would flatten all others, so it runs off the scale, and the
figure says which method does and how far it goes.
"""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.typing import LineStyleType

from weal.benchmark.summary import (
    ALL_METRICS,
    METRICS,
    in_order_of_methods,
    in_order_of_tasks,
    method_title,
    number,
    task_title,
)
from weal.core.arrays import Array
from weal.files import write_files
from weal.plots.canvas import (
    BLACK,
    BLUE,
    EDGE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    TEXT_STYLE,
    NotebookFigure,
    as_bytes,
    figure,
    legend,
    log_ticks,
    plain,
    ticks,
)

Bands = Literal["few", "all"]
_MIN_LOG_AXIS_RATIO_OF_CURVES = 3.0
_MAX_NPLL_AXIS_RATIO = 2.5  # of the NPLL axis, in units of the height of the median method's peak
_MAX_BANDS = 4  # more bands hide each other; the paper draws all


@dataclass(frozen=True, slots=True)
class MethodStyle:
    """Colour, line and marker of a method."""

    color: str
    linestyle: LineStyleType = "-"
    marker: str = ""
    linewidth: float = 1.0
    hollow: bool = False

    def line(self) -> dict[str, Any]:
        """The style as keywords of a matplotlib line."""
        face = "white" if self.hollow else self.color
        return {
            "color": self.color,
            "linestyle": self.linestyle,
            "linewidth": self.linewidth,
            "marker": self.marker,
            "markersize": 3.4 + 1.6 * (self.marker == "*"),
            "markerfacecolor": face,
            "markeredgewidth": 0.7,
        }


METHOD_STYLES = {
    "gp-var": MethodStyle(BLACK, "-", "o"),
    "gp-var-exact": MethodStyle(BLACK, (0, (4, 1.5)), "o", hollow=True),
    "random": MethodStyle(GREY, ":", "x"),
    "egp-wvar": MethodStyle(ORANGE, "-", "s"),
    "egp-went": MethodStyle(SKY, (0, (5, 1)), "D"),
    "egp-qbc": MethodStyle(GREEN, "-.", "^"),
    "egp-gpm-var": MethodStyle(BLUE, (0, (2, 1)), "v"),
    "egp-gpm-ent": MethodStyle(PURPLE, (0, (4, 1, 1, 1)), "P"),
    "egp-multiafs": MethodStyle(RED, "-", "*", linewidth=1.6),
    "egp-multiafs-range": MethodStyle(RED, (0, (3, 1)), "*", hollow=True),
    **dict.fromkeys(("weal-best", "weal-fifth", "weal-twentieth"), MethodStyle(RED, "-", "*")),
    **dict.fromkeys(("sklearn-ei", "sklearn-fifth", "sklearn-twentieth"), MethodStyle(BLUE, "--")),
}
_LINE_STYLES: tuple[LineStyleType, ...] = ("-", "--", "-.", ":")
_OTHER_STYLES = [
    MethodStyle(color, line, marker, hollow=True)
    for color, line, marker in zip(
        (PURPLE, BLUE, GREEN, ORANGE, SKY) * 4,
        _LINE_STYLES * 5,
        "hX<>dsp" * 3,
        strict=False,
    )
]


def style_of(method: str, methods: list[str]) -> MethodStyle:
    """The style of one of these methods."""
    plain = method.removesuffix("+v")
    if plain in METHOD_STYLES:
        return (
            METHOD_STYLES[plain] if plain == method else replace(METHOD_STYLES[plain], hollow=True)
        )
    others = [name for name in methods if name.removesuffix("+v") not in METHOD_STYLES]
    return _OTHER_STYLES[others.index(method) % len(_OTHER_STYLES)]


def with_bands(methods: list[str], bands: Bands = "few") -> list[str]:
    """The methods whose band is drawn: all of a few, else the two that the paper sets apart."""
    if bands == "all" or len(methods) <= _MAX_BANDS:
        return methods
    return [name for name in methods if name.removesuffix("+v") in ("gp-var", "egp-multiafs")]


def wants_log(values: Array) -> bool:
    """Whether mean curves of NMSE, all their values in a row, read better on a logarithmic axis."""
    known = values[np.isfinite(values)]
    return bool(
        len(known) and known.min() > 0 and known.max() > _MIN_LOG_AXIS_RATIO_OF_CURVES * known.min()
    )


def nmse_limits(values: Array, log: bool) -> tuple[float, float]:
    """Limits of the NMSE axis."""
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    if log:
        margin = (high / low) ** 0.05
        return low / margin, high * margin
    margin = 0.08 * (high - low) or 0.05 * high or 0.05
    return max(low - margin, 0.0), high + margin


def npll_limits(curves: Iterable[Array]) -> tuple[float, float]:
    """Limits of the NPLL axis."""
    known = [curve[np.isfinite(curve)] for curve in curves]
    peaks = np.array([curve.max() for curve in known if len(curve)])
    if not len(peaks):
        return 0.0, 1.0
    low = min(float(curve.min()) for curve in known if len(curve))
    height = max(float(np.median(peaks)) - low, 0.1)
    high = float(peaks[peaks <= low + _MAX_NPLL_AXIS_RATIO * height].max())
    margin = 0.06 * (high - low) or 0.1
    return low - margin, high + margin


_MAX_EXPERT_AREAS = 12  # areas in one stack; the rest is one area
_KERNEL = re.compile(r"Kernel\('(\w+)', ([-+.\de]+)(?:, .*)?\)")  # without alpha and offset
_MAX_CURVES_OFF_AXIS = 3
_PANELS_PER_ROW = 5


def curves(
    results: pd.DataFrame,
    tasks: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    metrics: Sequence[str] = tuple(METRICS),
    bands: Bands = "few",
) -> NotebookFigure:
    """NMSE above and NPLL below against queries, one column a task; all that is there by default.

    Each curve is the mean over realisations; its band is one standard deviation to either side
    (on a log axis one up, and by the same factor down). `bands` is "all" for those of all methods.
    """
    tasks = _select_names(tasks, in_order_of_tasks(results["task"]), "task")
    chosen = _select_names(methods, in_order_of_methods(results["method"]), "method")
    fig = figure(len(tasks), 0.9 + 1.6 * len(metrics))
    axes = fig.subplots(len(metrics), len(tasks), squeeze=False, sharex="col")
    for column, task in zip(axes.T, tasks, strict=True):
        readings = results[results["task"] == task]
        column[0].set_title(plain(task_title(task)), fontsize=7.5)
        for ax, metric in zip(column, metrics, strict=True):
            _panel(ax, readings, metric, chosen, with_bands(chosen, bands))
        column[-1].set_xlabel("queries", **TEXT_STYLE)
    for ax, metric in zip(axes[:, 0], metrics, strict=True):
        ax.set_ylabel(ALL_METRICS[metric], fontsize=8)
    styles = [Line2D([], [], **style_of(name, chosen).line()) for name in chosen]
    legend(fig, styles, [plain(method_title(name)) for name in chosen])
    return fig


def expert_weights(
    weights: pd.DataFrame, tasks: Sequence[str] | None = None, method: str = "egp-multiafs"
) -> NotebookFigure:
    """Weights of a method's experts against queries, stacked, one panel a task."""
    own = _weights_of_method(weights, "expert", method)
    tasks = _select_names(tasks, in_order_of_tasks(own["task"]), "task")
    names = _largest_experts(own)
    shades = mpl.colormaps["viridis"](np.linspace(0, 1, len(names)))
    fig, axes = _panels(tasks)
    for ax, task in zip(axes, tasks, strict=True):
        table = _mean_weights(own[own["task"] == task])
        stack = [table[name] if name in table else 0 * table.index for name in names]
        rest = 1 - np.sum(stack, axis=0)
        ax.stackplot(table.index, *stack, rest.clip(0), colors=[*shades, "0.85"], **EDGE)
        ax.set_ylim(0, 1)
    entries = {_expert_label(name): Patch(color=c) for name, c in zip(names, shades, strict=True)}
    if own["name"].nunique() > len(names):
        entries["others"] = Patch(color="0.85")
    legend(fig, list(entries.values()), list(entries))
    title = f"Weights of the experts of {method_title(method)}, by lengthscale"
    fig.suptitle(plain(title), fontsize=8)
    return fig


def acquisition_weights(
    weights: pd.DataFrame, tasks: Sequence[str] | None = None, method: str = "egp-multiafs"
) -> NotebookFigure:
    """Weights of a method's acquisition functions against queries, one panel a task."""
    own = _weights_of_method(weights, "acquisition", method)
    tasks = _select_names(tasks, in_order_of_tasks(own["task"]), "task")
    names = in_order_of_methods(f"egp-{name}" for name in own["name"].unique())  # for their styles
    fig, axes = _panels(tasks)
    for ax, task in zip(axes, tasks, strict=True):
        table = _mean_weights(own[own["task"] == task]).add_prefix("egp-")
        for i, name in enumerate(names):
            if name in table:
                marks = _marks(i, len(names), len(table))
                ax.plot(table.index, table[name], markevery=marks, **style_of(name, names).line())
    axes[0].set_ylim(0, 1.05 * max(ax.dataLim.y1 for ax in axes))  # shared
    styles = [Line2D([], [], **style_of(name, names).line()) for name in names]
    legend(fig, styles, [plain(re.sub("^egp-", "", method_title(n), flags=re.I)) for n in names])
    fig.suptitle(
        plain(f"Weights of the acquisition functions of {method_title(method)}"), fontsize=8
    )
    return fig


def _panels(tasks: list[str]) -> tuple[NotebookFigure, list[Axes]]:
    """A figure with one panel a task, five in a row."""
    columns = min(len(tasks), _PANELS_PER_ROW)
    rows = -(-len(tasks) // columns)
    fig = figure(columns, 0.8 + 1.35 * rows)
    grid = fig.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    axes = list(grid.flat)
    for ax, task in zip(axes, tasks, strict=False):
        ax.set_title(plain(task_title(task)), **TEXT_STYLE)
        ticks(ax)
    for ax in axes[len(tasks) :]:
        ax.remove()
    for ax in axes[max(len(tasks) - columns, 0) : len(tasks)]:
        ax.set_xlabel("queries", **TEXT_STYLE)
        ax.tick_params(labelbottom=True)
    for row in grid:
        row[0].set_ylabel("weight", **TEXT_STYLE)
    return fig, axes[: len(tasks)]


def save(fig: Figure, folder: str | os.PathLike[str], name: str) -> tuple[Path, Path]:
    """Write NAME.png and NAME.svg into the folder, each atomically; their paths.

    Pictures that were written there before are replaced, and no other file (ForeignFile).
    """
    paths = Path(folder) / f"{name}.png", Path(folder) / f"{name}.svg"
    contents = [as_bytes(fig, path.suffix[1:]) for path in paths]
    files = {path.name: content for path, content in zip(paths, contents, strict=True)}
    write_files(Path(folder), files)
    return paths


def _select_names(names: Sequence[str] | None, known: list[str], what: str) -> list[str]:
    """The names asked for, or all; ValueError when there are no results of one."""
    if gone := [name for name in names or () if name not in known]:
        raise ValueError(f"no {what} {gone[0]!r} in this table; there are {', '.join(known)}")
    return list(names or known)


def _panel(
    ax: Axes, readings: pd.DataFrame, metric: str, methods: list[str], bands: list[str]
) -> None:
    """One task and metric: curves, bands, and an axis that shows most of them."""
    tables = {
        name: table.pivot(index="t", columns="realisation", values=metric)
        for name, table in readings.groupby("method", sort=False)
        if name in methods
    }
    if metric == "joint":  # computed at some t only
        tables = {name: table.dropna(how="all") for name, table in tables.items()}
    means = {name: table.mean(axis=1, skipna=False) for name, table in tables.items()}
    ticks(ax)
    top = _scale(ax, metric, means)
    for i, name in enumerate(methods):
        if name not in means:
            continue
        mean, style = means[name], style_of(name, methods)
        marks = _marks(i, len(methods), len(mean))
        ax.plot(mean.index, mean, markevery=marks, zorder=2 + style.linewidth, **style.line())
        if name in bands and mean.max() <= top:
            sd = tables[name].std(axis=1)
            # On a log axis the band goes down by the factor it goes up: mean - sd may be below 0.
            low = mean**2 / (mean + sd) if ax.get_yscale() == "log" else mean - sd
            band: dict[str, Any] = {"color": style.color, "alpha": 0.12, "linewidth": 0}
            ax.fill_between(mean.index, low, mean + sd, **band)


def _scale(ax: Axes, metric: str, means: dict[str, pd.Series]) -> float:
    """Set the axis to show most of the mean curves; where it ends."""
    every = {name: mean.to_numpy(np.float64) for name, mean in means.items()}
    if metric != "nmse":
        low, high = npll_limits(every.values())
        _name_curves_off_scale(ax, every, high)
    else:
        flat = np.concatenate([*every.values(), []])
        log = wants_log(flat)
        low, high = nmse_limits(flat, log)
        if log:
            log_ticks(ax, decades=np.log10(high / low))
    ax.set_ylim(low, high)
    return high


def _name_curves_off_scale(ax: Axes, means: dict[str, Array], top: float) -> None:
    """A line above the panel for each method whose mean leaves it: its name and how far it goes."""
    peaks = {name: float(max(mean[~np.isnan(mean)], default=top)) for name, mean in means.items()}
    off = sorted((m for m in peaks if peaks[m] > top), key=peaks.__getitem__, reverse=True)
    lines = [f"{plain(method_title(m))} to {number(peaks[m])}" for m in off[:_MAX_CURVES_OFF_AXIS]]
    lines += (
        [f"and {len(off) - _MAX_CURVES_OFF_AXIS} more"] if len(off) > _MAX_CURVES_OFF_AXIS else []
    )
    if not lines:
        return
    lines[0] = "off scale: " + lines[0]
    if title := ax.get_title():  # move the name of the task up
        ax.set_title(title + "\n" * len(lines), fontsize=7.5)
    ax.set_title("\n".join(lines), fontsize=5.5, loc="right", pad=2, color="0.25")


def _marks(i: int, n: int, points: int) -> tuple[int, int]:
    """Positions of the markers of curve i of n: five each, staggered."""
    step = max(points // 5, 1)
    return i * step // n, step


def _weights_of_method(weights: pd.DataFrame, kind: str, method: str) -> pd.DataFrame:
    own = weights[(weights["kind"] == kind) & (weights["method"] == method)]
    if own.empty:
        raise ValueError(f"there are no {kind} weights of {method!r} in this table")
    return own


def _mean_weights(own: pd.DataFrame) -> pd.DataFrame:
    """Mean over realisations (T + 1, names); an expert missing in a realisation has weight 0."""
    runs = own["realisation"].nunique()
    table = own.pivot_table(index="t", columns="name", values="weight", aggfunc="sum")
    return table.fillna(0.0) / runs


def _largest_experts(own: pd.DataFrame) -> list[str]:
    """The experts with the largest weights, by family and lengthscale."""
    heaviest = own.groupby("name", sort=False)["weight"].sum().nlargest(_MAX_EXPERT_AREAS)
    return sorted(heaviest.index, key=_family_and_scale)


def _family_and_scale(name: str) -> tuple[str, float, str]:
    found = _KERNEL.fullmatch(name)
    return (found[1], float(found[2]), name) if found else ("~", 0.0, name)


def _expert_label(name: str) -> str:
    found = _KERNEL.fullmatch(name)
    if not found:
        return plain(name)
    power = np.log10(float(found[2]))
    whole = power == round(power)
    scale = f"$10^{{{power:.0f}}}$" if whole else number(float(found[2]))
    return scale if found[1] == "rbf" else f"{found[1]} {scale}"
