"""The first page: how weal compares with other packages, goal by goal."""

from collections.abc import Mapping

from benchmarks.comparison import GOALS, GROUPS, METHODS, check_rows
from benchmarks.pages.learning_curves import learning_curves
from benchmarks.pages.markdown import (
    bold,
    ends,
    figure,
    repeat,
    signed,
    table,
    whole,
)
from benchmarks.pages.paired import (
    BETTER,
    OPEN,
    WORSE,
    Comparison,
    GoalRows,
    compared,
    goal_rows,
    over_tasks,
    tasks_with,
)
from benchmarks.pages.result_files import Figures, Files

from weal.benchmark.statistics import Interval
from weal.benchmark.summary import task_title

ENOUGH = 10  # realisations
FEW = (
    " With so few realisations the correction leaves most differences undecided; "
    "`./scripts/results` adds more."
)
Found = Mapping[str, Mapping[str, Comparison]]  # method -> task -> comparison

TEXT = """---
html_theme.sidebar_secondary.remove: true
---

# How weal compares

weal with its defaults beside other packages, losses first. A difference counts only if it survives
correction for the number of tasks. Compared with the other methods, weal is

{lost}

```{{toctree}}
:maxdepth: 1
:hidden:

{pages}
```

{goals}

## Methods and their refits

This table in the code (`benchmarks/comparison.py`) says which method is compared for which goal,
and when the hyperparameters of its model are fitted.

{methods}

## How to read it

- *Area*: the mean of the score over the label counts of the curves. Differences are ours less the
  other method's, turned so that **below 0 weal is better**. For the goal learn, -0.1 is {tenth}
  less squared error along the whole curve.
- All methods start from the same first labels of the same splits, so differences are paired. In
  brackets are the 95 % interval by Student's t, and the number of realisations.
- **Bold**: the difference survives Holm's correction over all tasks of the goal.
  *No clear difference*: it does not, or there are fewer than five realisations, which does not mean
  that the methods are equal.
- *Random rows* with weal's model differ from weal in the choice of rows alone.
- What a query costs is on [a page of its own](cost.md): times are measured alone on a machine.

## More results

{cards}

## Run your own

`./scripts/results` lists all result files, and `./scripts/results NAME` makes one of them again;
after Ctrl-C the same command goes on. `weal bench methods` lists methods, `weal bench run --tasks
a,b --methods x,y` runs any of them (other packages need `pip install "weal[peers]"`), and `weal
simulate my.csv --target y` does the same on your table.
"""

GOAL = """
## {title}

{says}

{summary}

{made}

{groups}
"""

GROUP = """
### {goal}: {title}

{figure}

{table}

{made}
"""


def page(files: Files, figures: Figures) -> str:
    """The text; its figures are added to `figures`."""
    goals = goal_rows(files)
    for rows in goals:
        for file in rows.files:
            check_rows(file.rows, file.name)
    found = {
        rows.goal: {m: compared(rows, m) for m in rows.methods if m != rows.ours} for rows in goals
    }
    return TEXT.format(
        lost="\n\n".join(lost(rows, found[rows.goal]) for rows in goals),
        pages="\n".join(there(files)),
        goals="".join(_goal(rows, found[rows.goal], figures) for rows in goals),
        methods=methods(),
        tenth=f"{1.0 - 10.0**-0.1:.0%}".replace("%", " %"),
        cards=cards(files),
    )


def lost(rows: GoalRows, found: Found) -> str:
    """Where weal is worse, and where there is no clear difference, before where it is better.

    weal with the refits of the rivals is no other method: it is in the tables alone.
    """
    lines = [f"**{GOALS[rows.goal].title}**, {_count(len(rows.tasks()), 'task')}:", ""]
    found = {method: own for method, own in found.items() if method != METHODS[rows.goal][1].name}
    for verdict, word in ((WORSE, "than"), (OPEN, "from"), (BETTER, "than")):
        counted = [
            f"{rows.title(method)} on {_on(own, verdict)}"
            for method, own in found.items()
            if tasks_with(own, verdict)
        ]
        said = f"{word} {'; '.join(counted)}" if counted else "on no task"
        lines.append(f"- *{verdict}* {said}")
    return "\n".join(lines)


def _on(found: Mapping[str, Comparison], verdict: str) -> str:
    """How many tasks of how many; losses by name, and the means against weal that are open."""
    tasks = tasks_with(found, verdict)
    counted = f"{len(tasks)} of {len(found)}"
    if verdict == WORSE:
        return f"{counted} ({', '.join(map(task_title, tasks))})"
    against = sum(found[task].difference.mean > 0.0 for task in tasks)
    return f"{counted} (mean against weal on {against})" if verdict == OPEN and against else counted


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def _goal(rows: GoalRows, found: Found, figures: Figures) -> str:
    made, title = repeat(*rows.files), GOALS[rows.goal].title
    return GOAL.format(
        title=title,
        goal=title,
        says=says(rows),
        summary=summary(rows, found),
        groups="".join(_group(rows, found, group, figures, made) for group in GROUPS),
        made=made,
    )


def says(rows: GoalRows) -> str:
    """The score, and how many realisations there are."""
    score = GOALS[rows.goal]
    counts = [len(rows.rows[task, rows.ours]["areas"]) for task in rows.tasks()]
    better = "lower" if score.lower_is_better else "higher"
    few = "" if min(counts) == max(counts) else f" to {max(counts)}"
    return (
        f"The score is the {score.score}; {better} is better. weal was run for {min(counts)}{few} "
        "realisations of each task, other methods for as many or fewer, as the tables say."
    ) + (FEW if min(counts) < ENOUGH else "")


def summary(rows: GoalRows, found: Found) -> str:
    """One row for each other method: verdicts counted, and the mean over the tasks of each group.

    Groups are apart: differences are large on formulas without noise, and would hide the others.
    """
    groups = [group for group in GROUPS if rows.tasks(group)]
    lines = []
    for method, own in found.items():
        counts = [len(tasks_with(own, verdict)) for verdict in (WORSE, OPEN, BETTER)]
        means = [_mean([own[t] for t in rows.tasks(group) if t in own]) for group in groups]
        lines.append([rows.title(method), len(own), *counts, *means])
    titles = [f"mean, {group_title(rows.goal, group)}" for group in groups]
    header = ["weal beside", "tasks", "worse", "no clear difference", "better", *titles]
    return table(header, lines, "lrrrr" + "r" * len(groups))


def _mean(own: list[Comparison]) -> str:
    """The mean over tasks with its interval, or no text where there are none."""
    return whole(ends(over_tasks(own))) if own else ""


def _group(rows: GoalRows, found: Found, group: str, figures: Figures, made: str) -> str:
    if not (tasks := rows.tasks(group)):
        return ""
    name = f"{rows.goal}-{group}"
    figures |= learning_curves(name, rows, tasks)
    return GROUP.format(
        title=group_title(rows.goal, group),
        goal=GOALS[rows.goal].title,
        figure=figure(name, f"{GOALS[rows.goal].score} against labels, all methods, task by task"),
        table=_tasks(rows, found, tasks),
        made=made,
    )


def group_title(goal: str, group: str) -> str:
    """The name of a group of tasks; searches have formulas in place of the paper's tasks."""
    title = "formulas" if group == "paper" and goal != "learn" else GROUPS[group]
    return title[0].lower() + title[1:]


def _tasks(rows: GoalRows, found: Found, tasks: list[str]) -> str:
    """Tasks down, methods across."""
    lines = [
        [task_title(task), whole(verdict_of(task, found)), _area(rows, task),
         *(_cell(own.get(task)) for own in found.values())]
        for task in tasks
    ]  # fmt: skip
    header = ["task", "weal is", "area", *(rows.title(method) for method in found)]
    return table(header, lines, "llr" + "r" * len(found))


def verdict_of(task: str, found: Found) -> str:
    """The verdicts on one task, in words."""
    counts = {
        verdict: sum(own[task].verdict == verdict for own in found.values() if task in own)
        for verdict in (WORSE, BETTER)
    }
    words = [f"{verdict} than {n}" for verdict, n in counts.items() if n]
    return ", ".join(words) or OPEN


def _area(rows: GoalRows, task: str) -> str:
    areas = rows.rows[task, rows.ours]["areas"]
    return signed(sum(areas) / len(areas), 2)


def _cell(one: Comparison | None) -> str:
    """A difference with its interval and number of realisations; bold where it is decided."""
    if one is None:
        return ""
    mean = bold(signed(one.difference.mean, 2), one.verdict != OPEN)
    return f"{mean}<br>{whole(_interval(one.difference))}"


def _interval(found: Interval) -> str:
    if found.n < 2:
        return f"(n {found.n})"
    return f"({signed(found.low, 2)} to {signed(found.high, 2)}; n {found.n})"


def methods() -> str:
    """The fixed table of methods, as lists."""
    parts = []
    for goal, own in METHODS.items():
        listed = [f"- {method.title}: fitted {method.refits}" for method in own]
        parts.append(f"**{GOALS[goal].title}**\n\n" + "\n".join(listed))
    return "\n\n".join(parts)


ABOUT = {
    "choice": ("Does choosing pay?", "The default beside random choice, other functions, batches"),
    "labels": ("Real labels", "Wrong ones, noisy ones, intervals, thousands of them"),
    "goals": ("Searching a pool", "The best rows, rows above a level, passes, beside rivals"),
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
    "goals": "goals", "classes": "classes", "best": "goals", "threshold": "goals", "pass": "goals",
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
