"""The first page: the default against random choice, and against the best of other packages."""

from typing import Any

import numpy as np
import pandas as pd
from benchmarks.pages.figures import dots
from benchmarks.pages.markdown import bold, ends, figure, plain, repeat, share, signed, table, whole
from benchmarks.pages.result_files import Figures, Files, by_realisation, difference

from weal.benchmark.statistics import Interval
from weal.benchmark.summary import MIN_LOG_NMSE, number, task_title
from weal.benchmark.tasks import TASKS

OURS, RANDOM = "weal-auto", "weal-random"

TEXT = """---
html_theme.sidebar_secondary.remove: true
---

# Results

**{found}**

Every number on these pages is read from a result file (`benchmarks/results/`), and under each
table is the command that makes it again, with seeds, date, commit and versions. Nobody types them
in.

```{{toctree}}
:maxdepth: 1
:hidden:

{pages}
```

## Beside random choice, and beside the best rival

{figure}

{areas}

{made}

**How to read it.** Tasks are played for {queries}, {seeds}.

- The *area* is the mean over all queries of log10 of the normalised error (NMSE: squared error over
  the variance of the labels; below {floor} it counts as {floor}). Lower is better, and a difference
  of -0.1 is {tenth} less error along the whole curve.
- All methods start from the same first labels of the same splits, so differences are paired; in
  brackets is the 95 % interval, by sign flips.
- *Random* is random choice with our own model: what differs is the choice alone.
- The *best rival* is picked for each task after the fact, the lowest of {rivals} methods ({names}):
  that favours the rivals. All of them are refitted after every fifth label.

{ranks}

{cards}

## How likely the labels were

NPLL is the negative log density that a model gave to test labels, in units of their standard
deviation: it is low where predictions are good *and* say how good they are.

{nplls}

{again}

## The first labels

{early}

## Run your own

`weal bench tasks` and `weal bench methods` list what there is; `weal bench paper` repeats the
paper, `weal bench choice` shows where choosing pays, `weal bench peers` runs other packages'
methods (`pip install "weal[peers]"`), `weal bench goals` searches pools,
`weal bench run --tasks a,b --methods x,y` runs anything else, and
`weal simulate my.csv --target y` the same on a table of yours. Each writes a folder with
`report.html`, figures and tables. An interrupted run is resumed by the same command; a changed
setting, or changed code, never mixes with old results. `--scheduler tcp://...` runs the curves on a
Dask cluster.
"""


def page(files: Files, figures: Figures) -> str:
    """The text; its figure is added to `figures`."""
    ours, rivals = files["ours"], files["rivals"]
    runs = pd.concat([ours.frame, rivals.frame], ignore_index=True)
    tasks = [task for task in TASKS if {OURS, *rivals.frame["method"]} <= methods_of(runs, task)]
    against = [difference(runs, task, OURS, RANDOM) for task in tasks]
    best = {task: best_rival(runs, task) for task in tasks}
    beside = [difference(runs, task, OURS, best[task]) for task in tasks]
    titles = [task_title(task) for task in tasks]
    shown = {"minus random choice": against, "minus the best rival": beside}
    figures |= dots("default", titles, shown, "difference of areas (left: ours is better)")
    words = "Default minus random choice and minus the best rival, with intervals, task by task"
    note = repeat(ours, rivals)
    return TEXT.format(
        found=found(tasks, against, beside),
        pages="\n".join(there(files)),
        cards=cards(files),
        figure=figure("default", words),
        areas=areas(runs, tasks, against, best, beside),
        made=note,
        queries=ours.about["what"].split(", ")[-1],
        seeds=ours.about["seeds"],
        floor=number(MIN_LOG_NMSE),
        tenth=f"{1.0 - 10.0**-0.1:.0%}".replace("%", " %"),
        rivals=rivals.frame["method"].nunique(),
        names="; ".join(sorted(set(rivals.frame["title"]))),
        ranks=ranks(runs, tasks),
        nplls=nplls(runs, tasks),
        again=note,
        early=early(ours.frame),
    )


ABOUT = {
    "choice": ("Does choosing pay?", "The default beside random choice, other functions, batches"),
    "labels": ("Real labels", "Wrong ones, noisy ones, intervals, thousands of them"),
    "goals": ("Searching a pool", "The best rows, all rows above a level, beside BoTorch"),
    "classes": ("Pass or fail, classes, grades", "Probabilities beside peers; BALD beside random"),
    "tables": (
        "Real tables",
        "Beside a GP, a forest and ridge regression, on public tables",
    ),
    "cost": ("What it costs", "A query, a label, a command, beside other packages"),
    "claims": ("The paper's claims", "What is found of them, corrected for many comparisons"),
    "pools": ("Large pools", "Millions of candidates in files"),
    "boxes": ("Candidates out of ranges", "How many a simulator needs, refining them, costs"),
}


# By the beginning of a name of a file: the page that it is on.
ON = {
    "choice": "choice", "real": "labels", "coverage": "labels", "cost": "cost", "growth": "cost",
    "asking": "cost", "foundation": "cost", "steps": "cost", "campaign": "cost", "startup": "cost",
    "claims": "claims", "pools": "pools", "boxes": "boxes", "serve": "cost", "tables": "tables",
    "goals": "goals", "classes": "classes",
}  # fmt: skip


def there(files: Files) -> list[str]:
    """The other pages that there is something to say on."""
    found = {ON[name.split("-")[0]] for name in files if name.split("-")[0] in ON}
    return [name for name in ABOUT if name in found]


def cards(files: Files) -> str:
    """A card for each of the other pages."""
    one = ":::{{grid-item-card}} {title}\n:link: {name}\n:link-type: doc\n\n{says}\n:::"
    found = [one.format(name=n, title=ABOUT[n][0], says=ABOUT[n][1]) for n in there(files)]
    return "::::{grid} 1 2 2 3\n:gutter: 2\n\n" + "\n\n".join(found) + "\n\n::::"


def methods_of(runs: pd.DataFrame, task: str) -> set[str]:
    """The methods that a task was played with."""
    return set(runs.loc[runs["task"] == task, "method"])


def best_rival(runs: pd.DataFrame, task: str, column: str = "area") -> str:
    """The rival with the lowest mean, over the realisations that we have too."""
    ours = by_realisation(runs, task, OURS, column)
    rows = runs[(runs["task"] == task) & runs["realisation"].isin(ours.index)]
    rows = rows[~rows["method"].isin([OURS, RANDOM])]
    return str(rows.groupby("method")[column].mean().idxmin())


def found(tasks: list[str], against: list[Interval], beside: list[Interval]) -> str:
    """What is found, in one or two sentences."""
    n = len(tasks)
    one, other = (sum(d.mean < 0.0 for d in each) for each in (against, beside))
    sure, surely = (sum(d.high < 0.0 for d in each) for each in (against, beside))
    lost = [task_title(t) for t, d in zip(tasks, beside, strict=True) if d.low > 0.0]
    mean = np.mean([d.mean for d in beside])
    text = (
        f"With its defaults weal learns faster than random choice on {share(one, n)} tasks and "
        f"faster than the best of the rival methods on {share(other, n)}; the whole interval is "
        f"below 0 on {sure} and on {surely}. In the mean over tasks its error along the curve is "
        f"{abs(1.0 - 10.0**mean):.0%} {'lower' if mean < 0.0 else 'higher'} than that of the best "
        "rival of each."
    ).replace("%", " %")
    return text + (f" It is behind on {', '.join(lost)}." if lost else "")


def areas(
    runs: pd.DataFrame,
    tasks: list[str],
    against: list[Interval],
    best: dict[str, str],
    beside: list[Interval],
) -> str:
    """Areas and differences, task by task."""
    titles = dict(zip(runs["method"], runs["title"], strict=True))
    rows: list[list[Any]] = []
    for task, random, rival in zip(tasks, against, beside, strict=True):
        area = by_realisation(runs, task, OURS).mean()
        differences = [whole(ends(d, digits=2)) for d in (random, rival)]
        rows.append([task_title(task), signed(area, 2), *differences, titles[best[task]]])
    header = ["task", "area", "minus random", "minus best rival", "which is"]
    return table(header, rows, "lrrrl")


def ranks(runs: pd.DataFrame, tasks: list[str]) -> str:
    """Mean ranks of all methods by area."""
    rows = runs[runs["task"].isin(tasks)]
    means = rows.groupby(["task", "title"])["area"].mean().unstack("title")
    found = means.rank(axis=1).mean().sort_values()
    listed = "; ".join(f"{title} {rank:.1f}" for title, rank in found.items())
    return f"Mean rank by area, of {len(found)} methods: {listed}."


def nplls(runs: pd.DataFrame, tasks: list[str]) -> str:
    """NPLL half way and in the end, of ours and of the best rival."""
    rows = []
    for task in tasks:
        cells = []
        for column in ("npll half", "npll"):
            ours = by_realisation(runs, task, OURS, column).mean()
            other = by_realisation(runs, task, best_rival(runs, task, column), column).mean()
            cells += [bold(plain(ours), ours <= other), bold(plain(other), other < ours)]
        rows.append([task_title(task), *cells])
    header = ["task", "weal, half way", "best rival", "weal, in the end", "best rival"]
    return table(header, rows, "lrrrr")


def early(runs: pd.DataFrame) -> str:
    """What the error was in the first ten queries."""
    ours = runs[runs["method"] == OURS]
    tenth = ours.groupby("task")["nmse 10"].mean()
    single = ours.loc[ours["worst of first 10"].idxmax()]
    return (
        f"After ten queries the error (NMSE; guessing the mean of all labels has 1) is "
        f"{plain(tenth.max())} on the worst task in the mean ({task_title(str(tenth.idxmax()))}). "
        f"The worst single moment within the first ten, of {len(ours)} runs, was "
        f"{plain(single['worst of first 10'])} ({task_title(single['task'])})."
    )
