"""What was run, where, with what and for how long."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from weal.bench.page import Html, items, table, tag
from weal.bench.tasks import TASKS
from weal.bench.titles import (
    in_order_of_methods,
    in_order_of_tasks,
    method_title,
    shared_rows,
    task_title,
)

Setting = Mapping[str, Any]  # seed, T, realisations, versions, wall_seconds, command, skipped
_OWN = (
    "realisations of one's own table are splits of the same rows, so its intervals are too narrow"
)


def what_was_run(results: pd.DataFrame, setting: Setting) -> Html:
    """The command, sizes, methods, tasks, and what was left out with how to get it."""
    tasks, methods = in_order_of_tasks(results["task"]), in_order_of_methods(results["method"])
    sizes = (
        f"{_count(len(tasks), 'task')}, {_count(len(methods), 'method')}, "
        f"{_count(setting['realisations'], 'realisation')}, at most {setting['T']} queries a run; "
        f"seed {setting['seed']}; {in_words(setting['wall_seconds'])} on the clock."
    )
    header = ["Task", "First labels", "Validation", "Candidates", "Test", "What it is"]
    return tag(
        "div",
        tag("p", "Command: ", tag("code", str(setting["command"]))),
        tag("p", sizes),
        table(header, map(_task_row, tasks), kind="tasks"),
        tag("p", f"Methods: {'; '.join(map(method_title, methods))}."),
        *_left_out(setting),
    )


def shared(results: pd.DataFrame) -> Html:
    """Notes on the tasks whose realisations share rows."""
    tasks = in_order_of_tasks(results["task"])
    notes = [note for task in tasks if (note := shared_rows(task))]
    notes += [f"{task}: {_OWN}." for task in tasks if task not in TASKS]
    return items(notes, kind="note")


def versions(setting: Setting) -> Html:
    """Versions, seed and machine."""
    rows = [[str(name), str(value)] for name, value in setting["versions"].items()]
    return table(["", "Version"], [*rows, ["seed", str(setting["seed"])]], kind="words")


def in_words(seconds: float) -> str:
    """A time in words.

    >>> in_words(3.21), in_words(75), in_words(7384)
    ('3.2 s', '1 min 15 s', '2 h 3 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def _task_row(name: str) -> list[str]:
    task = TASKS.get(name)
    if task is None:
        return [name, *["-"] * 4, "a task of your own"]
    return [task.title, *map(str, (task.L0, task.V, task.U0, task.test)), task.source]


def _left_out(setting: Setting) -> list[Html]:
    skipped = setting["skipped"]
    if not skipped:
        return []
    lines = [f"{task_title(n) if n in TASKS else method_title(n)}: {skipped[n]}" for n in skipped]
    return [tag("p", "Left out, and how to get it:"), items(lines)]


def _count(n: int, word: str) -> str:
    return f"{n} {word}{'' if n == 1 else 's'}"
