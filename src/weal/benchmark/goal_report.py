"""The folder of a finished `weal bench goals`: report.html, figures and tables.

    report.html             a table for each question and the figure, in one file
    goals.csv               the metrics after every label of every run
    runs.csv                one row for each run (`goal_summary.by_run`)
    comparisons.csv         means, and ours less each other method with its interval
    figures/goals.svg, png  the metrics against labels
    setting.json            command, seed, sizes, versions, commit and load

Files are written atomically, report.html last; files of other programs are never replaced.
"""

import datetime
import json
import math
import os
from pathlib import Path

import pandas as pd
from matplotlib.lines import Line2D

from weal.benchmark.curve_cache import code
from weal.benchmark.figures import style_of
from weal.benchmark.goal_methods import GOAL_METHODS
from weal.benchmark.goal_summary import (
    LOWER_IS_BETTER,
    QUESTIONS,
    Comparison,
    Question,
    as_frame,
    by_run,
    compare,
    mean_curves,
)
from weal.benchmark.goal_tasks import GOAL_TASKS
from weal.benchmark.protocol import RunSetting
from weal.benchmark.report import in_words, versions
from weal.benchmark.report_tables import items, page, picture, table, tag
from weal.files import check_files, write_files
from weal.plots.canvas import TEXT_STYLE, NotebookFigure, as_bytes, figure, legend, plain, ticks

FILES = ("goals.csv", "runs.csv", "comparisons.csv", "setting.json", "report.html")
_OUR_METHODS = {question.methods[0] for question in QUESTIONS}
AXES = {"top_10": "share of the ten best rows", "f1_fifth": "F1", "f1_twentieth": "F1"}
NOTE = (
    "Means over tasks of the mean over realisations. In brackets: the first method less this one, "
    "with the 95 % interval over tasks. Shares and F1 are better when larger, labels and regret "
    "when smaller. Regret is in units of the range of the pool."
)


def method_title(name: str) -> str:
    """The title of a method; the name of a method of another package."""
    return GOAL_METHODS[name].title if name in GOAL_METHODS else name


def table_of(question: Question, found: list[Comparison]) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a question: methods down, columns across."""
    own = {(one.method, one.column): one for one in found if one.question == question.name}
    methods = list(dict.fromkeys(method for method, _ in own))
    rows = [
        [method_title(method), *(cell(own[method, column]) for column in question.columns)]
        for method in methods
    ]
    return [question.title, *question.columns], rows


def cell(found: Comparison) -> str:
    """The mean, and the difference of weal's mean to it.

    >>> from weal.benchmark.statistics import Interval
    >>> cell(Comparison("best", "weal-auto", "top_10 at 40", 0.17, Interval(0.41, 0.3, 0.5, 9)))
    '0.17 (+0.41: +0.30 to +0.50)'
    """
    digits = 3 if "regret" in found.column else 1 if found.column in LOWER_IS_BETTER else 2
    if math.isnan(found.mean):
        return "-"
    mean, d = f"{found.mean:.{digits}f}", found.difference
    if found.method in _OUR_METHODS or not d.n:
        return mean
    known = math.isfinite(d.low) and math.isfinite(d.high)
    ends = f": {d.low:+.{digits}f} to {d.high:+.{digits}f}" if known else ""
    return f"{mean} ({d.mean:+.{digits}f}{ends})"


def goals_figure(goals: pd.DataFrame) -> NotebookFigure:
    """A panel for each question: its metric against labels, the mean over tasks."""
    fig = figure(len(QUESTIONS), 2.7)
    names = [name for name in GOAL_METHODS if name in set(goals["method"])]
    for ax, question in zip(fig.subplots(1, len(QUESTIONS)), QUESTIONS, strict=True):
        for method, curve in mean_curves(goals, question.series, question.methods).items():
            style = style_of(method, names).line() | {"markevery": 10}
            ax.plot(curve.index, curve.to_numpy(), **style)
        ax.set_title(plain(question.title), fontsize=7.5)
        ax.set_xlabel("labels", **TEXT_STYLE)
        ax.set_ylabel(AXES[question.series], fontsize=8)
        ticks(ax)
    shown = {_family_title(name): Line2D([], [], **style_of(name, names).line()) for name in names}
    legend(fig, list(shown.values()), [plain(title) for title in shown])
    return fig


def _family_title(method: str) -> str:
    """One title for the methods of a package that differ in their goal only."""
    if method in _OUR_METHODS:
        return "weal, its goal"
    family = {"sklearn-ei", "sklearn-fifth", "sklearn-twentieth"}
    return "scikit-learn GP, EI or straddle" if method in family else method_title(method)


def write(folder: str | os.PathLike[str], goals: pd.DataFrame, setting: RunSetting) -> Path:
    """Write the report, its figure and its tables into the folder; the path of report.html."""
    runs = by_run(goals)
    found = compare(runs)
    fig = goals_figure(goals)
    svg = as_bytes(fig, "svg")
    fig.set_layout_engine("none")  # the layout is done
    files = {
        "goals.csv": goals.to_csv(index=False).encode(),
        "runs.csv": runs.to_csv(index=False).encode(),
        "comparisons.csv": as_frame(found).to_csv(index=False).encode(),
        "setting.json": json.dumps({**setting, **_circumstances()}, indent=1).encode(),
        "figures/goals.svg": svg,
        "figures/goals.png": as_bytes(fig, "png"),
        "report.html": _html(goals, found, svg, setting).encode(),
    }
    write_files(Path(folder), files)
    return Path(folder) / "report.html"


def _circumstances() -> dict[str, str | float | None]:
    """Date, code and load: with the setting, what it takes to judge and to repeat the numbers."""
    load = round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None
    return {"date": datetime.datetime.now(datetime.UTC).isoformat(), "code": code(), "load": load}


def check_place(folder: Path) -> None:
    """Raise ForeignFile if a file of another program has the name of a file of the report."""
    check_files(folder, FILES)


def _html(goals: pd.DataFrame, found: list[Comparison], svg: bytes, setting: RunSetting) -> str:
    tasks = list(dict.fromkeys(goals["task"]))
    titles = [GOAL_TASKS[name].title if name in GOAL_TASKS else name for name in tasks]
    sizes = (
        f"{len(tasks)} pools ({', '.join(titles)}), {setting['realisations']} realisations, "
        f"{setting['T']} queries each; seed {setting['seed']}; "
        f"{in_words(setting['wall_seconds'])} of computing."
    )
    left_out = [f"{name}: {reason}" for name, reason in setting["skipped"].items()]
    shown = (table(*table_of(question, found)) for question in QUESTIONS)
    return page(
        "weal bench goals",
        tag("h1", "Searching pools"),
        tag("p", "Command: ", tag("code", setting["command"])),
        tag("p", sizes),
        items(left_out),
        tag("p", NOTE, kind="note"),
        *shown,
        picture(svg, "Metrics against labels, means over pools"),
        tag("h2", "Versions"),
        versions(setting),
    )
