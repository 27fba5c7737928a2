"""Learning curves of all methods of a goal on the same axes, one panel for each task."""

from math import ceil
from typing import Any

import numpy as np
from benchmarks.comparison import GOALS, METHODS
from benchmarks.pages.figures import SHAPES, Ink, in_inks, quiet
from benchmarks.pages.paired import GoalRows
from benchmarks.pages.result_files import Figures
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from weal.benchmark.summary import task_title

COLUMNS, PANEL, LEGEND_LINE = 2, 1.5, 0.19  # panels in a row; inches
SMALL = 8
OUR_LINES = ("-", "--", ":")  # ours, ours with the rivals' refits, random choice
FLAT = 0.02  # of the span of the scores, kept free at each end


def learning_curves(name: str, rows: GoalRows, tasks: list[str]) -> Figures:
    """The figure for light pages and for dark ones."""
    lines = ceil(len(tasks) / COLUMNS)
    height = PANEL * lines + LEGEND_LINE * (ceil(len(rows.methods) / 2) + 1)

    def draw(fig: Figure, ink: Ink) -> None:
        grid = fig.subplots(lines, COLUMNS, squeeze=False)
        for ax in grid.flat[len(tasks) :]:
            ax.set_axis_off()
        for ax, task in zip(grid.flat, tasks, strict=False):
            _panel(ax, rows, task, ink)
        for ax in grid[-1]:
            ax.set_xlabel("labels", fontsize=SMALL)
        for ax in grid[:, 0]:
            ax.set_ylabel(GOALS[rows.goal].score.split(" of ")[0], fontsize=SMALL)
        shown = [Line2D([], [], **_look(rows, method, ink)) for method in rows.methods]
        titles = [rows.title(method) for method in rows.methods]
        fig.legend(shown, titles, loc="outside lower center", ncols=2, frameon=False,
                   fontsize=SMALL)  # fmt: skip

    return in_inks(name, height, draw)


def _panel(ax: Axes, rows: GoalRows, task: str, ink: Ink) -> None:
    """The curves of one task, ours on top."""
    for k, method in enumerate(rows.methods):
        if row := rows.rows.get((task, method)):
            look = {**_look(rows, method, ink), "zorder": 9 - k, "markevery": (k % 4, 4)}
            ax.plot(row["labels"], np.array(row["curve"], dtype=float), **look)
    ax.set_title(task_title(task), fontsize=SMALL, loc="left")
    ax.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(4))
    ax.tick_params(labelsize=SMALL - 1)
    ax.margins(y=FLAT)
    quiet(ax, ink)
    ax.grid(axis="y", color=ink.line, linewidth=0.5)


def _look(rows: GoalRows, method: str, ink: Ink) -> dict[str, Any]:
    """Ours in one colour, thick and in three kinds of line; each rival has a colour and a mark."""
    ours = [one.name for one in METHODS[rows.goal] if one.ours]
    if method in ours:
        width = 2.2 if method == ours[0] else 1.3
        dash = OUR_LINES[ours.index(method)]
        return {"color": ink.marks[0], "linewidth": width, "linestyle": dash}
    rivals = [one.name for one in METHODS[rows.goal] if not one.ours]
    k = 1 + rivals.index(method) % (len(ink.marks) - 1)
    return {"color": ink.marks[k], "linewidth": 1.1, "marker": SHAPES[k], "markersize": 3.5}
