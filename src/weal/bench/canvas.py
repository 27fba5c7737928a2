"""The paper that figures are drawn on: sizes, panels, ticks, legend, and the bytes of a file.

Figures are laid out for print at 18 cm, the width of a page, with letters of 5.5 to 8 points. No
pyplot and no backend: a figure is a value, and whoever makes it keeps it.
"""

import io
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from weal.bench.wording import task_title

WIDTH = 18 / 2.54  # inches
DPI = 200
TEXT: dict[str, Any] = {"fontsize": 7}
_IN_A_ROW = 5  # panels
_ENTRY, _LETTER = 40 / 72, 4.1 / 72  # inches of an entry of the legend, and of each letter in it
_STEPS = [1, 2, 2.5, 5, 10]


class Plot(Figure):
    """A matplotlib figure that shows itself in a notebook."""

    def _repr_png_(self) -> bytes:
        return as_bytes(self, "png")


def as_bytes(fig: Figure, kind: str) -> bytes:
    """The figure as a PNG or SVG file: the same bytes for the same figure."""
    buffer = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else {}
    with mpl.rc_context({"svg.hashsalt": "weal", "svg.fonttype": "path"}):
        fig.savefig(buffer, format=kind, dpi=DPI, facecolor="white", metadata=metadata)
    return buffer.getvalue()


def figure(columns: int, height: float) -> Plot:
    """An empty figure of the page's width, or two thirds of it for a single column."""
    width = WIDTH if columns > 1 else WIDTH * 2 / 3
    return Plot(figsize=(width, height), layout="constrained")


def panels(tasks: list[str]) -> tuple[Plot, list[Axes]]:
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


def ticks(ax: Axes) -> None:
    """Small ticks at round numbers, a faint grid, no frame."""
    ax.tick_params(labelsize=6, length=2, pad=2)
    ax.grid(True, linewidth=0.3, color="0.85")
    ax.set_axisbelow(True)
    ax.margins(x=0.02)
    ax.xaxis.set_major_locator(MaxNLocator(4, steps=_STEPS, integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(5, steps=_STEPS))
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def legend(fig: Plot, handles: Sequence[Any], labels: Sequence[str]) -> None:
    """One legend below all panels."""
    entry = _ENTRY + _LETTER * max(map(len, labels))
    columns = min(len(handles), max(int(fig.get_figwidth() / entry), 1))
    place: dict[str, Any] = {"loc": "outside lower center", "ncols": columns}
    fig.legend(handles, labels, frameon=False, handlelength=3, **place, **TEXT)


def plain(text: str) -> str:
    """Text as it is: dollars would start a formula, an underscore hide it from the legend."""
    return (" " if text.startswith("_") else "") + text.replace("$", r"\$")
