"""Figures of the pages, as SVG in two colours: for light pages and for dark ones.

No background of their own, letters that can be read on a phone, and colours that colour-blind
people can distinguish (Okabe and Ito's); marks differ in shape, too.
"""

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from benchmarks.pages.result_files import Figures
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from weal.benchmark.statistics import Interval

WIDE, ROW = 4.8, 0.27  # inches: of a figure, and of a line of dots in it
LETTERS = 9
STYLE = Path(__file__).parents[2] / "docs" / "figures.mplstyle"  # of all figures of the site


@dataclass(frozen=True)
class Ink:
    """Colours of one kind of page."""

    text: str
    line: str
    marks: tuple[str, ...]


INKS = {
    "light": Ink(
        "#222832",
        "#b5bcc6",
        ("#0072B2", "#D55E00", "#444444", "#009E73", "#CC79A7", "#8C6D00", "#56B4E9"),
    ),
    "dark": Ink(
        "#e6e9ee",
        "#5b6472",
        ("#56B4E9", "#E69F00", "#cccccc", "#00C590", "#E39AC2", "#F0E442", "#9DB7FF"),
    ),
}
SHAPES = ("o", "s", "^", "D", "v", "P", "X")


def both(name: str, height: float, draw: Callable[[Axes, Ink], None]) -> Figures:
    """The figure for light pages and for dark ones."""

    def one(fig: Figure, ink: Ink) -> None:
        draw(fig.subplots(), ink)

    return in_inks(name, height, one)


def in_inks(name: str, height: float, draw: Callable[[Figure, Ink], None]) -> Figures:
    """A figure drawn once, in the colours of light pages, and recoloured for dark ones."""
    light = svg(height, draw, INKS["light"])
    return {f"{name}-light.svg": light, f"{name}-dark.svg": recoloured(light)}


def recoloured(light: bytes) -> bytes:
    """An SVG figure with the colours of light pages replaced by those of dark pages.

    >>> recoloured(b"stroke: #0072b2; fill: #ffffff")
    b'stroke: #56b4e9; fill: #ffffff'
    """
    old, new = ([ink.text, ink.line, *ink.marks] for ink in INKS.values())
    colours = {a.lower().encode(): b.lower().encode() for a, b in zip(old, new, strict=True)}
    return re.sub(rb"#[0-9a-f]{6}\b", lambda hit: colours.get(hit[0], hit[0]), light)


def svg(height: float, draw: Callable[[Figure, Ink], None], ink: Ink) -> bytes:
    """A figure of the page's width in the colours of one kind of page."""
    style: Any = {"font.size": LETTERS, "axes.grid": False}
    colours = dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), ink.text
    )
    with mpl.rc_context(style | colours, fname=STYLE):
        fig = Figure(figsize=(WIDE, height), layout="constrained")
        draw(fig, ink)
        buffer = io.BytesIO()
        fig.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    return buffer.getvalue()


def dots(
    name: str, rows: Sequence[str], series: Mapping[str, Sequence[Interval]], axis: str
) -> Figures:
    """Means as dots with their intervals, a line for each row and a mark for each series.

    A line stands at 0; values are below it where ours is better.
    """

    def draw(ax: Axes, ink: Ink) -> None:
        places = np.arange(len(rows), dtype=float)
        step = 0.26
        for k, (label, found) in enumerate(series.items()):
            y = places + step * (k - (len(series) - 1) / 2.0)
            mean, low, high = (np.array([getattr(one, end) for one in found], dtype=float)
                               for end in ("mean", "low", "high"))  # fmt: skip
            known = np.isfinite(low) & np.isfinite(high)
            colour = ink.marks[k]
            ax.hlines(y[known], low[known], high[known], color=colour, linewidth=1.5)
            ax.plot(mean, y, SHAPES[k], color=colour, markersize=5, label=label)
        ax.axvline(0.0, color=ink.text, linewidth=0.9)
        ax.set_yticks(places, rows)
        ax.xaxis.set_major_locator(MaxNLocator(5))
        ax.set_ylim(len(rows) - 0.4, -0.6)
        ax.set_xlabel(axis)
        quiet(ax, ink)
        if len(series) > 1:
            ax.legend(loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=2, frameon=False)

    return both(name, 0.9 + ROW * len(rows) * (1.0 if len(series) == 1 else 1.25), draw)


def growth(name: str, table: pd.DataFrame, titles: Mapping[str, str]) -> Figures:
    """Seconds of a label against labels so far, both logarithmic."""

    def draw(ax: Axes, ink: Ink) -> None:
        for k, (kind, title) in enumerate(titles.items()):
            rows = table[table["kind"] == kind]
            ax.plot(rows["labels"], 1e3 * rows["seconds"], marker=SHAPES[k], color=ink.marks[k],
                    markersize=5, linewidth=1.4, label=title)  # fmt: skip
        ax.set(xscale="log", yscale="log", xlabel="labels so far", ylabel="ms for the next label")
        quiet(ax, ink)
        ax.legend(loc="upper left", frameon=False)

    return both(name, 3.2, draw)


def quiet(ax: Axes, ink: Ink) -> None:
    """Few lines, thin ones."""
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(length=0)
    ax.grid(axis="x", color=ink.line, linewidth=0.5)
    ax.set_axisbelow(True)
