"""The figures of a report, with file names and captions.

Curves: the tasks of a group (synthetic, real, robot: the paper's three figures; then the user's
own), five at most in a figure, once for each of these sets of methods that was run:

    paper     the paper's methods
    fair      methods with L0 and V as first labels, beside EGP-multiAFs, which has both too
    others    all other methods, beside GP-Var, random choice and EGP-multiAFs

The paper's methods once more with the joint NPLL, if it was computed.

Weights: of EGP-multiAFs, or else of the first method with several weights.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from weal.benchmark.figures import Bands, acquisition_weights, curves, expert_weights
from weal.benchmark.paper_claims import BASELINE, MULTI
from weal.benchmark.summary import (
    find_method,
    in_order_of_methods,
    in_order_of_tasks,
    method_title,
    task_title,
)
from weal.benchmark.tasks import TASKS
from weal.plots.canvas import NotebookFigure

_IN_A_FIGURE = 5  # tasks
_REFERENCES = (BASELINE, "random", MULTI)
_CURVE_FIGURES = (
    "NMSE (above) and NPLL (below) against queries for {tasks}. Mean over realisations; where a "
    "band is drawn, one standard deviation to either side (on a log axis one up, and by the same "
    "factor down). Axes follow the means; methods whose "
    "mean NPLL leaves the axis are named with how far it goes."
)
_JOINT = (
    "Joint NPLL of all test labels, as the paper writes it, against queries for {tasks}; the "
    "paper's methods, mean over realisations. In nats and raw units: compare within a task only."
)
_SETS = {
    "paper": "The paper's methods.",
    "fair": "Methods given the validation labels as first labels, beside EGP-multiAFs, which has "
    "as many labels.",
    "others": "Other methods, beside those of the paper.",
}


@dataclass(frozen=True, slots=True, eq=False)
class ReportFigure:
    """A figure with the name of its files and its caption."""

    name: str
    caption: str
    plot: NotebookFigure


def report_figures(
    results: pd.DataFrame, weights: pd.DataFrame, bands: Bands = "few"
) -> list[ReportFigure]:
    """All figures of a report, in order; `bands` as in `figures.curves`."""
    return [*_curves(results, bands), *_joint(results, bands), *_weights(weights)]


def tasks_by_group(tasks: list[str]) -> dict[str, list[str]]:
    """Tasks by group, in the order of the paper; tasks of one's own are the group "own"."""
    found: dict[str, list[str]] = {}
    for task in tasks:
        found.setdefault(TASKS[task].group if task in TASKS else "own", []).append(task)
    return found


def method_sets(names: list[str]) -> dict[str, list[str]]:
    """The sets of methods that share a figure; a set without methods of its own is empty."""
    group = {name: known.group if (known := find_method(name)) else "own" for name in names}
    paper = [name for name in names if group[name] == "paper"]
    fair = [name for name in names if group[name] == "fair"]
    others = [name for name in names if group[name] not in ("paper", "fair")]
    beside = [name for name in _REFERENCES if name in names]
    return {
        "paper": paper,
        "fair": fair and fair + [name for name in beside if name == MULTI],
        "others": others and beside + others,
    }


def _curves(results: pd.DataFrame, bands: Bands) -> Iterator[ReportFigure]:
    methods = method_sets(in_order_of_methods(results["method"]))
    for group, tasks in tasks_by_group(in_order_of_tasks(results["task"])).items():
        for kind, chosen in methods.items():
            for start in range(0, len(tasks) if chosen else 0, _IN_A_FIGURE):
                part = tasks[start : start + _IN_A_FIGURE]
                tail = ("" if kind == "paper" else f"-{kind}") + (f"-{start}" if start else "")
                titles = ", ".join(map(task_title, part))
                caption = f"{_SETS[kind]} {_CURVE_FIGURES.format(tasks=titles)}"
                yield ReportFigure(
                    group + tail, caption, curves(results, part, chosen, bands=bands)
                )


def _joint(results: pd.DataFrame, bands: Bands) -> Iterator[ReportFigure]:
    """The joint NPLL of the paper's methods, one figure for each group of tasks."""
    read = results[results["joint"].notna()]
    paper = method_sets(in_order_of_methods(read["method"]))["paper"]
    read = read[read["method"].isin(paper)]
    for group, tasks in tasks_by_group(in_order_of_tasks(read["task"])).items():
        for start in range(0, len(tasks), _IN_A_FIGURE):
            part = tasks[start : start + _IN_A_FIGURE]
            caption = _JOINT.format(tasks=", ".join(map(task_title, part)))
            name = f"{group}-joint" + (f"-{start}" if start else "")
            yield ReportFigure(name, caption, curves(read, part, paper, ["joint"], bands))


def _weights(weights: pd.DataFrame) -> Iterator[ReportFigure]:
    drawn = {"expert": expert_weights, "acquisition": acquisition_weights}
    whats = {"expert": "experts", "acquisition": "acquisition functions"}
    for kind, draw in drawn.items():
        if method := _with_several(weights[weights["kind"] == kind]):
            caption = f"Weights of the {whats[kind]} of {method_title(method)} against queries, "
            caption += "mean over realisations."
            yield ReportFigure(f"{kind}-weights", caption, draw(weights, method=method))


def _with_several(own: pd.DataFrame) -> str | None:
    """The method whose weights are shown: one with several weights in a run."""
    names = own.groupby(["method", "task", "realisation"])["name"].nunique()
    several = in_order_of_methods(names[names > 1].index.get_level_values("method"))
    return MULTI if MULTI in several else next(iter(several), None)
