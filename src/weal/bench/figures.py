"""The figures: NMSE and NPLL against queries, and how the weights went.

Every function returns a matplotlib figure and touches no global state: no pyplot, no backend. In
a notebook a figure shows itself; `save` writes it as PNG and SVG.

    curves               NMSE above, NPLL below, one column a task; mean over realisations, and a
                         band of one standard deviation (for all methods, or where there are many
                         for GP-Var and EGP-multiAFs alone, while their mean is on the scale)
    expert_weights       how the ensemble shifts its weight among its experts: mean over
                         realisations, stacked, short lengthscales dark and long ones light
    acquisition_weights  how Algorithm 2 shifts its weight among acquisition functions
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from weal.bench.styles import Bands, look_of, nmse_limits, npll_limits, wants_log, with_bands
from weal.bench.titles import (
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
    EDGE,
    TEXT,
    Plot,
    as_bytes,
    figure,
    legend,
    log_ticks,
    plain,
    ticks,
)

_MOST_EXPERTS = 12  # areas in one stack; the lightest are put together
_KERNEL = re.compile(r"Kernel\('(\w+)', ([-+.\de]+)(?:, .*)?\)")  # alpha and offset are not told
_MOST_OFF = 3
_IN_A_ROW = 5  # panels


def curves(
    results: pd.DataFrame,
    tasks: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    metrics: Sequence[str] = tuple(METRICS),
    bands: Bands = "few",
) -> Plot:
    """NMSE above and NPLL below against queries, one column a task; all that is there by default.

    Each curve is the mean over realisations; its band is one standard deviation to either side
    (on a log axis one up, and by the same factor down). `bands` is "all" for those of all methods.
    """
    tasks = _chosen(tasks, in_order_of_tasks(results["task"]), "task")
    chosen = _chosen(methods, in_order_of_methods(results["method"]), "method")
    fig = figure(len(tasks), 0.9 + 1.6 * len(metrics))
    axes = fig.subplots(len(metrics), len(tasks), squeeze=False, sharex="col")
    for column, task in zip(axes.T, tasks, strict=True):
        readings = results[results["task"] == task]
        column[0].set_title(plain(task_title(task)), fontsize=7.5)
        for ax, metric in zip(column, metrics, strict=True):
            _panel(ax, readings, metric, chosen, with_bands(chosen, bands))
        column[-1].set_xlabel("queries", **TEXT)
    for ax, metric in zip(axes[:, 0], metrics, strict=True):
        ax.set_ylabel(ALL_METRICS[metric], fontsize=8)
    looks = [Line2D([], [], **look_of(name, chosen).line()) for name in chosen]
    legend(fig, looks, [plain(method_title(name)) for name in chosen])
    return fig


def expert_weights(
    weights: pd.DataFrame, tasks: Sequence[str] | None = None, method: str = "egp-multiafs"
) -> Plot:
    """Weights of a method's experts against queries, stacked, one panel a task."""
    own = _of_method(weights, "expert", method)
    tasks = _chosen(tasks, in_order_of_tasks(own["task"]), "task")
    names = _main_experts(own)
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
) -> Plot:
    """Weights of a method's acquisition functions against queries, one panel a task."""
    own = _of_method(weights, "acquisition", method)
    tasks = _chosen(tasks, in_order_of_tasks(own["task"]), "task")
    names = in_order_of_methods(f"egp-{name}" for name in own["name"].unique())  # for their looks
    fig, axes = _panels(tasks)
    for ax, task in zip(axes, tasks, strict=True):
        table = _mean_weights(own[own["task"] == task]).add_prefix("egp-")
        for i, name in enumerate(names):
            if name in table:
                marks = _marks(i, len(names), len(table))
                ax.plot(table.index, table[name], markevery=marks, **look_of(name, names).line())
    axes[0].set_ylim(0, 1.05 * max(ax.dataLim.y1 for ax in axes))  # shared
    looks = [Line2D([], [], **look_of(name, names).line()) for name in names]
    legend(fig, looks, [plain(re.sub("^egp-", "", method_title(n), flags=re.I)) for n in names])
    fig.suptitle(
        plain(f"Weights of the acquisition functions of {method_title(method)}"), fontsize=8
    )
    return fig


def _panels(tasks: list[str]) -> tuple[Plot, list[Axes]]:
    """A figure with one panel a task, five in a row."""
    columns = min(len(tasks), _IN_A_ROW)
    rows = -(-len(tasks) // columns)
    fig = figure(columns, 0.8 + 1.35 * rows)
    grid = fig.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    axes = list(grid.flat)
    for ax, task in zip(axes, tasks, strict=False):
        ax.set_title(plain(task_title(task)), **TEXT)
        ticks(ax)
    for ax in axes[len(tasks) :]:
        ax.remove()
    for ax in axes[max(len(tasks) - columns, 0) : len(tasks)]:
        ax.set_xlabel("queries", **TEXT)
        ax.tick_params(labelbottom=True)
    for row in grid:
        row[0].set_ylabel("weight", **TEXT)
    return fig, axes[: len(tasks)]


def save(fig: Figure, folder: str | os.PathLike[str], name: str) -> tuple[Path, Path]:
    """Write NAME.png and NAME.svg into the folder, each whole or not at all; their paths.

    Pictures that were written there before are replaced, and no other file (ForeignFile).
    """
    paths = Path(folder) / f"{name}.png", Path(folder) / f"{name}.svg"
    contents = [as_bytes(fig, path.suffix[1:]) for path in paths]
    files = {path.name: content for path, content in zip(paths, contents, strict=True)}
    write_files(Path(folder), files)
    return paths


def _chosen(names: Sequence[str] | None, known: list[str], what: str) -> list[str]:
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
    if metric == "joint":  # read now and then
        tables = {name: table.dropna(how="all") for name, table in tables.items()}
    means = {name: table.mean(axis=1, skipna=False) for name, table in tables.items()}
    ticks(ax)
    top = _scale(ax, metric, means)
    for i, name in enumerate(methods):
        if name not in means:
            continue
        mean, look = means[name], look_of(name, methods)
        marks = _marks(i, len(methods), len(mean))
        ax.plot(mean.index, mean, markevery=marks, zorder=2 + look.linewidth, **look.line())
        if name in bands and mean.max() <= top:
            sd = tables[name].std(axis=1)
            # On a log axis as far down as up: mean - sd may be below 0, which has no place there.
            low = mean**2 / (mean + sd) if ax.get_yscale() == "log" else mean - sd
            band: dict[str, Any] = {"color": look.color, "alpha": 0.12, "linewidth": 0}
            ax.fill_between(mean.index, low, mean + sd, **band)


def _scale(ax: Axes, metric: str, means: dict[str, pd.Series]) -> float:
    """Set the axis to show most of the mean curves; where it ends."""
    every = {name: mean.to_numpy(np.float64) for name, mean in means.items()}
    if metric != "nmse":
        low, high = npll_limits(every.values())
        _say_what_is_off(ax, every, high)
    else:
        flat = np.concatenate([*every.values(), []])
        log = wants_log(flat)
        low, high = nmse_limits(flat, log)
        if log:
            log_ticks(ax, decades=np.log10(high / low))
    ax.set_ylim(low, high)
    return high


def _say_what_is_off(ax: Axes, means: dict[str, Array], top: float) -> None:
    """A line above the panel for each method whose mean leaves it: its name and how far it goes."""
    peaks = {name: float(max(mean[~np.isnan(mean)], default=top)) for name, mean in means.items()}
    off = sorted((m for m in peaks if peaks[m] > top), key=peaks.__getitem__, reverse=True)
    lines = [f"{plain(method_title(m))} to {number(peaks[m])}" for m in off[:_MOST_OFF]]
    lines += [f"and {len(off) - _MOST_OFF} more"] if len(off) > _MOST_OFF else []
    if not lines:
        return
    lines[0] = "off scale: " + lines[0]
    if title := ax.get_title():  # the name of the task makes room
        ax.set_title(title + "\n" * len(lines), fontsize=7.5)
    ax.set_title("\n".join(lines), fontsize=5.5, loc="right", pad=2, color="0.25")


def _marks(i: int, n: int, points: int) -> tuple[int, int]:
    """Where curve i of n has its markers: five each, staggered."""
    step = max(points // 5, 1)
    return i * step // n, step


def _of_method(weights: pd.DataFrame, kind: str, method: str) -> pd.DataFrame:
    own = weights[(weights["kind"] == kind) & (weights["method"] == method)]
    if own.empty:
        raise ValueError(f"there are no {kind} weights of {method!r} in this table")
    return own


def _mean_weights(own: pd.DataFrame) -> pd.DataFrame:
    """Mean over realisations (T + 1, names); an expert that a realisation has not weighs 0."""
    runs = own["realisation"].nunique()
    table = own.pivot_table(index="t", columns="name", values="weight", aggfunc="sum")
    return table.fillna(0.0) / runs


def _main_experts(own: pd.DataFrame) -> list[str]:
    """The experts to tell apart, by family and lengthscale."""
    heaviest = own.groupby("name", sort=False)["weight"].sum().nlargest(_MOST_EXPERTS)
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
