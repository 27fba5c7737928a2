"""Sizes, colours, ticks and legends of figures, and figures as files.

Figures have the width of a printed page, 18 cm, with letters of 5.5 to 8 points. They use neither
pyplot nor a backend: a figure is a value of its caller. Colours are Okabe and Ito's, which
colour-blind readers can distinguish. Figures of weal are black on white whatever style is active
(`light`); axes given by the user keep their style.
"""

import io
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypedDict, cast

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator
from matplotlib.typing import ColorType, LineStyleType

FIGURE_WIDTH_INCHES = 18 / 2.54
DPI = 200


class TextStyle(TypedDict):
    """The style of text, as keywords of matplotlib."""

    fontsize: float


class EdgeStyle(TypedDict):
    """The edges of bars, as keywords of matplotlib."""

    edgecolor: str
    linewidth: float


class MarkStyle(TypedDict, total=False):
    """Lines and markers, as keywords of matplotlib."""

    color: ColorType
    linestyle: LineStyleType
    linewidth: float
    marker: str
    markersize: float
    markeredgecolor: str
    markeredgewidth: float
    markerfacecolor: str


TEXT_STYLE: TextStyle = {"fontsize": 7}
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, RED, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#777777"
EDGE: EdgeStyle = {"edgecolor": "white", "linewidth": 0.2}
_ENTRY, _LETTER = 40 / 72, 4.1 / 72  # inches of a legend entry, and of each of its letters
_TICK_STEPS = [1, 2, 2.5, 5, 10]
_MIN_DECADES = 2.5  # below, powers of ten are too few ticks
_LOG_TICKS = {0.9: (1, 1.5, 2, 3, 5, 7), 1.7: (1, 2, 5), _MIN_DECADES: (1, 3)}


_PALETTE = (
    *("text.color", "axes.labelcolor", "axes.titlecolor", "axes.edgecolor", "axes.facecolor"),
    *("xtick.color", "ytick.color", "xtick.labelcolor", "ytick.labelcolor", "figure.facecolor"),
    *("legend.facecolor", "legend.edgecolor", "legend.labelcolor", "grid.color"),
)


def light() -> AbstractContextManager[None]:
    """A context with black on white, whatever style is active."""
    defaults: Any = mpl.rcParamsDefault
    colours: Any = {name: defaults[name] for name in _PALETTE}
    return mpl.rc_context(colours)


def style_for(ax: Axes | None) -> AbstractContextManager[None]:
    """The style context: black on white, or the style of the given axes."""
    return light() if ax is None else nullcontext()


class NotebookAxes(Axes):
    """Axes that show their figure in a notebook."""

    def _repr_png_(self) -> bytes:
        return as_bytes(figure_of(self), "png")


def figure_of(ax: Axes) -> Figure:
    """The figure of the axes."""
    found = ax.get_figure(root=True)
    if found is None:
        raise ValueError("the axes no longer have a figure")
    return found


class NotebookFigure(Figure):
    """A matplotlib figure that shows itself in a notebook."""

    def _repr_png_(self) -> bytes:
        return as_bytes(self, "png")


def as_bytes(fig: Figure, kind: str) -> bytes:
    """The figure as PNG or SVG; the same figure gives the same bytes."""
    buffer = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else {}
    with light(), mpl.rc_context({"svg.hashsalt": "weal", "svg.fonttype": "path"}):
        fig.savefig(buffer, format=kind, dpi=DPI, facecolor="white", metadata=metadata)
    return buffer.getvalue()


def figure(columns: int, height: float) -> NotebookFigure:
    """An empty figure of the width of a page, or two thirds of it for one column."""
    width = FIGURE_WIDTH_INCHES if columns > 1 else FIGURE_WIDTH_INCHES * 2 / 3
    return NotebookFigure(figsize=(width, height), layout="constrained")


def axes(height: float, ax: Axes | None = None) -> Axes:
    """The axes given, or new ones on a figure of their own; with ticks."""
    made = figure(1, height).add_subplot(axes_class=NotebookAxes) if ax is None else ax
    ticks(made)
    return made


def text_color(ax: Axes) -> ColorType:
    """The colour of text on these axes."""
    return ax.xaxis.label.get_color()


def ticks(ax: Axes) -> None:
    """Small ticks at round numbers, a faint grid, no frame."""
    ax.tick_params(labelsize=6, length=2, pad=2, colors=text_color(ax), labelcolor=text_color(ax))
    ax.grid(True, linewidth=0.3, color=GREY, alpha=0.3)
    ax.set_axisbelow(True)
    ax.margins(x=0.02)
    ax.xaxis.set_major_locator(MaxNLocator(4, steps=_TICK_STEPS, integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(5, steps=_TICK_STEPS))
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def label_axis(ax: Axes) -> None:
    """Make the x axis one of numbers of labels: ticks at whole numbers only, be it at one."""
    ax.xaxis.set_major_locator(MaxNLocator(4, steps=_TICK_STEPS, integer=True, min_n_ticks=1))
    ax.set_xlabel("labels", **TEXT_STYLE)


def log_ticks(ax: Axes, decades: float) -> None:
    """Make the y axis logarithmic, with ticks that suit its decades."""
    ax.set_yscale("log")
    if decades < _MIN_DECADES:
        subs = next(subs for most, subs in _LOG_TICKS.items() if decades < most)
        ax.yaxis.set_major_locator(LogLocator(subs=subs))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    else:
        ax.yaxis.set_major_locator(LogLocator(numticks=6))
    ax.yaxis.set_minor_locator(NullLocator())


def legend(fig: NotebookFigure, handles: Sequence[Artist], labels: Sequence[str]) -> None:
    """One legend below all panels."""
    entry = _ENTRY + _LETTER * max(map(len, labels))
    columns = min(len(handles), max(int(fig.get_figwidth() / entry), 1))
    fig.legend(
        handles, labels, loc="outside lower center", ncols=columns, frameon=False, handlelength=3,
        **TEXT_STYLE,
    )  # fmt: skip


def legend_of(ax: Axes, handles: Sequence[Artist], labels: Sequence[str]) -> None:
    """A legend below new axes, or in the best place of given axes."""
    if isinstance(ax, NotebookAxes):
        legend(cast(NotebookFigure, figure_of(ax)), handles, labels)
    else:
        ax.legend(handles, labels, frameon=False, **TEXT_STYLE)


def plain(text: str) -> str:
    """Text for matplotlib: a dollar would start a formula, a leading underscore hide a legend."""
    return (" " if text.startswith("_") else "") + text.replace("$", r"\$")
