"""What a query, a command and a page cost beside scikit-learn and BoTorch: sections of a page."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from benchmarks.pages.figures import SHAPES, Ink, in_inks, quiet
from benchmarks.pages.markdown import figure, milliseconds, table, whole
from benchmarks.pages.result_files import Figures
from matplotlib.figure import Figure

METHODS = ("weal", "scikit-learn", "BoTorch")
SMALL = 8
Section = tuple[str, str, str]  # title, words, table
FIT_SAYS = (
    "Hyperparameters of the rivals (scikit-learn with three restarts); of weal, the selection of "
    "experts and their first pass over the fewest candidates. *Estimated*: as many evaluations of "
    "the marginal likelihood as at 500 labels, each as long as one was measured with these labels. "
    "Rivals are usually fitted after every fifth label; weal selects its experts again after every "
    "fifth label and later after 15 % more labels."
)
STEP_SAYS = (
    "One more label with fixed hyperparameters, then the score of every candidate and the best of "
    "them: the time between two fits, in seconds of the processor, both axes logarithmic. "
    "scikit-learn factorises its covariance again at every label; weal updates what it keeps of "
    "the candidates. Candidates beyond 100,000 are in Parquet files, and nothing is kept of them."
)
MEMORY_SAYS = (
    "The largest resident set of the process. weal keeps the predictions for every candidate, "
    "up to a limit; the rivals score candidates in blocks and keep nothing."
)
COMMAND_SAYS = (
    "`weal ask` from the shell, from the start of Python to its end, with one label told since the "
    "last ask. A script with a rival takes at least its imports, a fit and a step: the sum of these"
    " times is beside it, without reading any file."
)
PAGE_SAYS = (
    "Processor time of the server for the labelling page of `weal serve`, beside the least that a "
    "request can cost. The other packages have no pages."
)
SECTION_SAYS = "Where `weal ask` spends its processor time."


def found(rows: pd.DataFrame) -> str:
    """Where weal is slower than a rival, before where it is faster."""
    steps = _of(rows, "step").pivot_table("seconds", ["labels", "candidates"], "method", sort=False)
    lines = []
    for rival in METHODS[1:]:
        if rival not in steps or "weal" not in steps:
            continue
        both = steps[["weal", rival]].dropna()
        slower = both[both["weal"] > both[rival]]
        most = float((both["weal"] / both[rival]).max())
        least = float((both["weal"] / both[rival]).min())
        lines.append(
            f"- A step of weal is slower than one of {rival} in {len(slower)} of {len(both)} sizes "
            f"(at most {_times(most)} its time, at least {_times(least)})."
        )
    fits = _fits(rows)
    for rival in METHODS[1:]:
        both = [
            (labels, own["weal"], own[rival])
            for labels, own in fits.items()
            if "weal" in own and rival in own
        ]
        if both:
            said = "; ".join(
                f"{milliseconds(1e3 * a)} against {milliseconds(1e3 * b)} at {labels:,} labels"
                for labels, a, b in both
            )
            lines.append(f"- Selecting experts beside a fit of {rival}: {said}.")
    return "\n".join(lines) or "What a query, a command and a page cost."


def _times(ratio: float) -> str:
    return f"{ratio:.2g} times"


def sections(rows: pd.DataFrame, figures: Figures) -> Iterator[Section]:
    """The sections of the page that there are rows for."""
    figures |= step_curves("cost-step", _of(rows, "step"))
    picture = figure("cost-step", "Seconds of a step against candidates, a panel per label count")
    yield "A query between fits", STEP_SAYS, f"{picture}\n{_by_size(_of(rows, 'step'), 'seconds')}"
    yield "A fit", FIT_SAYS, _fit_table(rows)
    yield "Memory", MEMORY_SAYS, _by_size(_of(rows, "step"), "MB")
    for part, title, says in (
        ("command", "A command", COMMAND_SAYS),
        ("page", "A page of the server", PAGE_SAYS),
        ("sections", "What dominates", SECTION_SAYS),
    ):
        own = rows[rows["part"] == part]
        if len(own):
            make = {"command": _commands, "page": _lines, "sections": _shares}[part]
            yield title, says, make(own, rows)


def _of(rows: pd.DataFrame, what: str) -> pd.DataFrame:
    """Rows of queries of one kind; an ask on files counts as a step."""
    return rows[rows["part"].isin(["query", "shards"]) & (rows["what"] == what)]


def step_curves(name: str, steps: pd.DataFrame) -> Figures:
    """Seconds of a step against candidates, a panel for each number of labels."""
    counts = sorted(steps["labels"].unique())

    def draw(fig: Figure, ink: Ink) -> None:
        grid = fig.subplots(1, len(counts), squeeze=False, sharey=True)[0]
        for ax, labels in zip(grid, counts, strict=True):
            for k, method in enumerate(METHODS):
                own = steps[(steps["labels"] == labels) & (steps["method"] == method)]
                if len(own):
                    own = own.sort_values("candidates")
                    ax.plot(own["candidates"], own["seconds"], marker=SHAPES[k], markersize=4,
                            color=ink.marks[k], linewidth=1.4, label=method)  # fmt: skip
            ax.set(xscale="log", yscale="log")
            ax.set_title(f"{labels:,} labels", fontsize=SMALL, loc="left")
            ax.tick_params(labelsize=SMALL - 1)
            quiet(ax, ink)
            ax.grid(axis="y", color=ink.line, linewidth=0.5)
        fig.supxlabel("candidates", fontsize=SMALL)
        fig.supylabel("seconds of the processor", fontsize=SMALL)
        handles, titles = grid[0].get_legend_handles_labels()
        fig.legend(handles, titles, loc="outside lower center", ncols=3, frameon=False,
                   fontsize=SMALL)  # fmt: skip

    return in_inks(name, 3.0, draw)


def _by_size(steps: pd.DataFrame, column: str) -> str:
    """Labels and candidates down, methods across; times that are busy are marked."""
    lines = []
    for (labels, count), own in steps.groupby(["labels", "candidates"]):
        cells = [f"{int(labels):,}", f"{int(count):,}"]
        for method in METHODS:
            one = own[own["method"] == method]
            cells.append(whole(_value(one.iloc[0], column)) if len(one) else "")
        lines.append(cells)
    return table(["labels", "candidates", *METHODS], lines, "rrrrr")


def _value(row: Any, column: str) -> str:
    if column == "MB":
        return f"{row['MB']:.0f} MB"
    busy = " busy" if row["busy"] else ""
    estimated = " estimated" if row.get("estimated") is True else ""
    return milliseconds(1e3 * row["seconds"]) + estimated + busy


def _fit_rows(rows: pd.DataFrame) -> dict[int, dict[str, Any]]:
    """The row of a fit by labels and method; of weal, that with the fewest candidates."""
    found: dict[int, dict[str, Any]] = {}
    for row in _of(rows, "fit").to_dict("records"):
        found.setdefault(int(row["labels"]), {}).setdefault(row["method"], row)
    return found


def _fits(rows: pd.DataFrame) -> dict[int, dict[str, float]]:
    return {n: {m: row["seconds"] for m, row in own.items()} for n, own in _fit_rows(rows).items()}


def _fit_table(rows: pd.DataFrame) -> str:
    lines = [
        [f"{n:,}", *(whole(_value(own[m], "seconds")) if m in own else "" for m in METHODS)]
        for n, own in _fit_rows(rows).items()
    ]
    return table(["labels", *METHODS], lines, "rrrr")


def _commands(own: pd.DataFrame, rows: pd.DataFrame) -> str:
    """`weal ask`, and imports, fit and step of a rival at the same size."""
    fits, lines = _fits(rows), []
    imports, steps = (_of(rows, what) for what in ("imports", "step"))
    for row in own.to_dict("records"):
        labels, count = int(row["labels"]), int(row["candidates"])
        cells = []
        for rival in METHODS[1:]:
            at = (steps["labels"] == labels) & (steps["candidates"] == count)
            step = steps[at & (steps["method"] == rival)]["seconds"]
            start = imports[(imports["labels"] == labels) & (imports["method"] == rival)]["seconds"]
            parts = [start.min(), fits.get(labels, {}).get(rival, np.nan), step.min()]
            total = float(np.sum(parts)) if len(step) and len(start) else np.nan
            cells.append(whole(milliseconds(1e3 * total)) if np.isfinite(total) else "")
        shown = whole(_value(row, "seconds"))
        lines.append([f"{labels:,}", f"{count:,}", shown, f"{row['MB']:.0f} MB", *cells])
    header = ["labels", "candidates", "weal ask", "memory"]
    return table([*header, *(f"script, {rival}" for rival in METHODS[1:])], lines, "rrrrrr")


def _lines(own: pd.DataFrame, rows: pd.DataFrame) -> str:
    """Labels, candidates, request, time, memory."""
    lines = [
        [f"{int(row['labels']):,}", f"{int(row['candidates']):,}", row["what"],
         whole(_value(row, "seconds")), f"{row['MB']:.0f} MB"]
        for row in own.to_dict("records")
    ]  # fmt: skip
    return table(
        ["labels", "candidates", "request", "time", "memory of the server"], lines, "rrlrr"
    )


def _shares(own: pd.DataFrame, rows: pd.DataFrame) -> str:
    """Sections down, sizes across: time and its share of the command."""
    names = list(dict.fromkeys(own["what"]))
    sizes = list(dict.fromkeys(zip(own["labels"], own["candidates"], strict=True)))
    lines = []
    for name in names:
        cells = []
        for labels, count in sizes:
            at = own[(own["labels"] == labels) & (own["candidates"] == count)]
            spent = float(at[at["what"] == name]["seconds"].sum())
            share = f"{spent / at['seconds'].sum():.0%}".replace("%", " %")
            cells.append(whole(f"{milliseconds(1e3 * spent)} ({share})"))
        lines.append([name, *cells])
    header = [f"{int(n):,} labels, {int(count):,} candidates" for n, count in sizes]
    return table(["section", *header], lines, "l" + "r" * len(sizes))
