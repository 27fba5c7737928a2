"""The paper that figures are drawn on: sizes, colours, ticks, legend, and the bytes of a file.

Figures are laid out for print at 18 cm, the width of a page, with letters of 5.5 to 8 points. No
pyplot and no backend: a figure is a value, and whoever makes it keeps it. Colours are Okabe and
Ito's, which the colour-blind can tell apart. Our own figures are black on white whatever style is
in use (`light`); axes that somebody gives keep theirs.
"""

import io
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, cast

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

FIGURE_WIDTH_INCHES = 18 / 2.54  # inches
DPI = 200
TEXT_STYLE: dict[str, Any] = {"fontsize": 7}
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, RED, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#777777"
EDGE: dict[str, Any] = {"edgecolor": "white", "linewidth": 0.2}
_ENTRY, _LETTER = 40 / 72, 4.1 / 72  # inches of an entry of the legend, and of each letter in it
_TICK_STEPS = [1, 2, 2.5, 5, 10]
_MIN_DECADES = 2.5  # decades: too few powers of ten to read from
_LOG_TICKS = {0.9: (1, 1.5, 2, 3, 5, 7), 1.7: (1, 2, 5), _MIN_DECADES: (1, 3)}


_PALETTE = (
    *("text.color", "axes.labelcolor", "axes.titlecolor", "axes.edgecolor", "axes.facecolor"),
    *("xtick.color", "ytick.color", "xtick.labelcolor", "ytick.labelcolor", "figure.facecolor"),
    *("legend.facecolor", "legend.edgecolor", "legend.labelcolor", "grid.color"),
)


def light() -> AbstractContextManager[None]:
    """Black on white, whatever style is in use."""
    defaults: Any = mpl.rcParamsDefault
    colours: Any = {name: defaults[name] for name in _PALETTE}
    return mpl.rc_context(colours)


def paper(ax: Axes | None) -> AbstractContextManager[None]:
    """The style to draw in: black on white, or that of the axes given."""
    return light() if ax is None else nullcontext()


class NotebookAxes(Axes):
    """Axes of a figure of their own, which they show in a notebook."""

    def _repr_png_(self) -> bytes:
        return as_bytes(figure_of(self), "png")


def figure_of(ax: Axes) -> Figure:
    """The figure that the axes are on."""
    found = ax.get_figure(root=True)
    if found is None:
        raise ValueError("the axes are on no figure any longer")
    return found


class NotebookFigure(Figure):
    """A matplotlib figure that shows itself in a notebook."""

    def _repr_png_(self) -> bytes:
        return as_bytes(self, "png")


def as_bytes(fig: Figure, kind: str) -> bytes:
    """The figure as a PNG or SVG file: the same bytes for the same figure."""
    buffer = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else {}
    with light(), mpl.rc_context({"svg.hashsalt": "weal", "svg.fonttype": "path"}):
        fig.savefig(buffer, format=kind, dpi=DPI, facecolor="white", metadata=metadata)
    return buffer.getvalue()


def figure(columns: int, height: float) -> NotebookFigure:
    """An empty figure of the page's width, or two thirds of it for a single column."""
    width = FIGURE_WIDTH_INCHES if columns > 1 else FIGURE_WIDTH_INCHES * 2 / 3
    return NotebookFigure(figsize=(width, height), layout="constrained")


def axes(height: float, ax: Axes | None = None) -> Axes:
    """Axes to draw on: those given, or those of a figure of their own."""
    made = figure(1, height).add_subplot(axes_class=NotebookAxes) if ax is None else ax
    ticks(made)
    return made


def ink(ax: Axes) -> Any:
    """The colour that these axes write in."""
    return ax.xaxis.label.get_color()


def ticks(ax: Axes) -> None:
    """Small ticks at round numbers, a faint grid, no frame."""
    ax.tick_params(labelsize=6, length=2, pad=2, colors=ink(ax), labelcolor=ink(ax))
    ax.grid(True, linewidth=0.3, color=GREY, alpha=0.3)
    ax.set_axisbelow(True)
    ax.margins(x=0.02)
    ax.xaxis.set_major_locator(MaxNLocator(4, steps=_TICK_STEPS, integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(5, steps=_TICK_STEPS))
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def log_ticks(ax: Axes, decades: float) -> None:
    """A logarithmic axis over so many decades, with ticks to read from."""
    ax.set_yscale("log")
    if decades < _MIN_DECADES:
        subs = next(subs for most, subs in _LOG_TICKS.items() if decades < most)
        ax.yaxis.set_major_locator(LogLocator(subs=subs))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    else:
        ax.yaxis.set_major_locator(LogLocator(numticks=6))
    ax.yaxis.set_minor_locator(NullLocator())


def legend(fig: NotebookFigure, handles: Sequence[Any], labels: Sequence[str]) -> None:
    """One legend below all panels."""
    entry = _ENTRY + _LETTER * max(map(len, labels))
    columns = min(len(handles), max(int(fig.get_figwidth() / entry), 1))
    place: dict[str, Any] = {"loc": "outside lower center", "ncols": columns}
    fig.legend(handles, labels, frameon=False, handlelength=3, **place, **TEXT_STYLE)


def legend_of(ax: Axes, handles: Sequence[Any], labels: Sequence[str]) -> None:
    """A legend below axes of their own; in the best place of others."""
    if isinstance(ax, NotebookAxes):
        legend(cast(NotebookFigure, figure_of(ax)), handles, labels)
    else:
        ax.legend(handles, labels, frameon=False, **TEXT_STYLE)


def plain(text: str) -> str:
    """Text as it is: dollars would start a formula, an underscore hide it from the legend."""
    return (" " if text.startswith("_") else "") + text.replace("$", r"\$")
