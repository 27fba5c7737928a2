"""The paper's figures on a page: NMSE and NPLL against queries, task by task."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from benchmarks.pages.figures import Ink, in_inks
from benchmarks.pages.result_files import Figures
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from weal.benchmark.figures import MethodStyle, nmse_limits, npll_limits, style_of, wants_log
from weal.benchmark.summary import METRICS, in_order_of_methods, method_title, number, task_title
from weal.plots.canvas import BLACK, log_ticks, ticks

HIGH, LEGEND = 1.45, 0.9  # inches: of the panels of a task, and of the legend
SMALL = 8


def curves(name: str, rows: pd.DataFrame, tasks: Sequence[str]) -> Figures:
    """The figure for light pages and for dark ones, two panels for each task."""
    methods = in_order_of_methods(rows["method"])

    def draw(fig: Figure, ink: Ink) -> None:
        grid = fig.subplots(len(tasks), len(METRICS), squeeze=False, sharex=True)
        for panels, task in zip(grid, tasks, strict=True):
            own = rows[rows["task"] == task].set_index("method")
            for ax, metric in zip(panels, METRICS, strict=True):
                _panel(ax, own, metric, methods, ink)
                ax.set_title(f"{task_title(task)}, {METRICS[metric]}", fontsize=SMALL, loc="left")
        for ax in grid[-1]:
            ax.set_xlabel("queries", fontsize=SMALL)
        lines = [Line2D([], [], **_look(method, methods, ink).line()) for method in methods]
        titles = [method_title(method) for method in methods]
        fig.legend(lines, titles, loc="outside lower center", ncols=3, frameon=False,
                   fontsize=SMALL)  # fmt: skip

    height = LEGEND + HIGH * len(tasks)
    return in_inks(name, height, draw)


def _panel(ax: Axes, own: pd.DataFrame, metric: str, methods: list[str], ink: Ink) -> None:
    """One task and metric; what leaves the axis is named with how far it goes."""
    ticks(ax)
    found = {method: np.array(own[metric][method], dtype=float) for method in own.index}
    every = np.concatenate(list(found.values()))
    log = metric == "nmse" and wants_log(every)
    low, high = nmse_limits(every, log) if metric == "nmse" else npll_limits(found.values())
    if log:
        log_ticks(ax, decades=float(np.log10(high / low)))
    for k, (method, values) in enumerate(found.items()):
        marks = k % 5, 5
        ax.plot(own["t"][method], values, markevery=marks, **_look(method, methods, ink).line())
    ax.set_ylim(low, high)
    far = {method: np.nanmax(values) for method, values in found.items()}
    off = [f"{method_title(m)} to {number(far[m])}" for m in far if far[m] > high]
    ax.text(0.99, 0.99, "\n".join(off), ha="right", va="top", transform=ax.transAxes,
            fontsize=SMALL - 2)  # fmt: skip


def _look(method: str, methods: list[str], ink: Ink) -> MethodStyle:
    """As in reports, but black is the colour of the text."""
    look = style_of(method, methods)
    return replace(look, color=ink.text) if look.color == BLACK else look
