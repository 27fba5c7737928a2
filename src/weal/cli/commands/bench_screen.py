"""Output of the bench commands: results by task and method, availability, and progress.

A run may take hours and may resume an earlier one: progress shows how much was done before, and how
long the rest may take.
"""

import json
import math
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from weal import text
from weal.cli.screen import SECONDS_BETWEEN_LINES, duration_text, say, show_table
from weal.progress import progress_bar

if TYPE_CHECKING:
    from pandas import DataFrame

    from weal.benchmark.labels_saved import LabelsSaved
    from weal.benchmark.runner import Outcome, Progress, RunProgress
    from weal.benchmark.statistics import Interval

RANDOM_METHOD = "weal-random"
METRICS_TEXT = (
    "NMSE: mean squared error on the test rows divided by their variance: 0 is perfect, 1 is no "
    "better than the mean. NPLL: negative log predictive density of their labels: lower is better, "
    "and it also measures the uncertainty"
)
_STAGES = {"splits": "drawing data", "curves": "running"}


def show_outcome(folder: Path, outcome: "Outcome", as_json: bool, answers: bool = False) -> None:
    """Print final means by task and method, the best with a star, and the path of the report."""
    from weal.benchmark.report import choice_csv
    from weal.benchmark.summary import final

    table = final(outcome.results, outcome.setting["seed"])
    if as_json:
        choice = choice_csv(outcome.results, outcome.setting["seed"])
        found = {"final": _records(table), "choice": _records(choice)}
        found |= (
            {"saved": [_saved_json(*one) for one in _saved(outcome).items()]} if answers else {}
        )
        click.echo(json.dumps({"folder": str(folder), **outcome.setting, **found}, indent=1))
        return
    for metric in ("nmse", "npll"):
        for block in split_into_lists(dict.fromkeys(table["task"])):
            show_table(*_block(table, metric, block))
            click.echo()
    say(METRICS_TEXT)
    if answers:
        _show_saved(_saved(outcome))
    else:
        _show_choice(outcome)
    seed, seconds = outcome.setting["seed"], duration_text(outcome.setting["wall_seconds"])
    say(f"means after the last query, * the best of its task; seed {seed}; {seconds} of computing")
    for path in [folder / "report.html", *sorted(folder.rglob("*.png"))]:
        click.echo(path)


def show_goals(folder: Path, outcome: "Outcome", as_json: bool) -> None:
    """Print a table for each question of `weal bench goals`, and the path of the report."""
    from weal.benchmark.goal_report import NOTE, table_of
    from weal.benchmark.goal_summary import QUESTIONS, as_frame, by_run, compare

    found = compare(by_run(outcome.goals))
    if as_json:
        rows = _records(as_frame(found))
        click.echo(
            json.dumps({"folder": str(folder), **outcome.setting, "comparisons": rows}, indent=1)
        )
        return
    for question in QUESTIONS:
        header, rows = table_of(question, found)
        if rows:
            show_table(header, rows)
            click.echo()
    say(NOTE)
    for path in (folder / "report.html", folder / "figures" / "goals.png"):
        click.echo(path)


def _saved(outcome: "Outcome") -> "dict[str, LabelsSaved]":
    """The labels that each method saved against random choice."""
    from weal.benchmark.labels_saved import labels_saved_on_task

    seed = outcome.setting["seed"]
    methods = [name for name in dict.fromkeys(outcome.results["method"]) if name != RANDOM_METHOD]
    found = {
        name: labels_saved_on_task(outcome.results, name, RANDOM_METHOD, seed) for name in methods
    }
    return {name: one for name, one in found.items() if one is not None}


def _show_saved(found: "dict[str, LabelsSaved]") -> None:
    """Print the labels that each method saved, and the answer in sentences."""
    if not found:
        return
    rows = [
        [name, text.number(one.saved.mean, 2), _interval(one.saved), one.verdict]
        for name, one in found.items()
    ]
    show_table(["labels saved against random choice", "mean", "95 %", "labels needed"], rows)
    click.echo()
    for words in dict.fromkeys(one.words for one in found.values()):
        click.echo(words)


def _interval(of: "Interval") -> str:
    ends = (of.low, of.high)
    known = all(map(math.isfinite, ends))
    return " to ".join(text.number(end, 2) for end in ends) if known else "not known"


def _saved_json(method: str, found: "LabelsSaved") -> dict[str, object]:
    """The labels that a method saved, as JSON; an end that is not known is None."""
    ends = {"low": found.saved.low, "high": found.saved.high}
    return {
        "method": method,
        "other": RANDOM_METHOD,
        "queries": found.queries,
        "realisations": found.saved.n,
        "mean": found.saved.mean,
        **{name: end if math.isfinite(end) else None for name, end in ends.items()},
        "verdict": found.verdict,
        "words": found.words,
    }


def _records(table: "DataFrame") -> object:
    """The rows of a table as JSON."""
    return json.loads(table.to_json(orient="records", double_precision=15))


def _show_choice(outcome: "Outcome") -> None:
    """Print the gain of active learning, one table for each pair of methods."""
    from weal.benchmark.labels_saved import compare_choices, in_one_line
    from weal.benchmark.report import cells
    from weal.benchmark.statistics import MIN_REALISATIONS_FOR_TEST
    from weal.benchmark.summary import method_title

    found = compare_choices(outcome.results, outcome.setting["seed"])
    for pair in dict.fromkeys((row.method, row.other) for row in found):
        rows = [row for row in found if (row.method, row.other) == pair]
        title = " / ".join(map(method_title, pair))
        header = [title, "NMSE", "other", "ratio (95 %)", "", "over all queries (95 %)", ""]
        show_table(header, [cells(row) for row in rows])
        click.echo()
        few = f"; fewer than {MIN_REALISATIONS_FOR_TEST} realisations are not conclusive" * (
            rows[0].at_end.n < MIN_REALISATIONS_FOR_TEST
        )
        say(f"{title}: {in_one_line(rows)} over all queries; a ratio below 1 is a gain{few}")


def _block(table: "DataFrame", metric: str, tasks: list[str]) -> tuple[list[str], list[list[str]]]:
    """Header and rows: methods down, these tasks across."""
    from weal.benchmark.summary import number

    means = {
        (row["task"], row["method"]): number(row[f"{metric}_mean"])
        + (" *" if row[f"{metric}_mark"] == "best" else "")
        for row in table.to_dict("records")
    }
    methods = dict.fromkeys(table["method"])
    return [metric.upper(), *tasks], [[m, *(means[t, m] for t in tasks)] for m in methods]


def show_rows(rows: Sequence[Mapping[str, object]], as_json: bool) -> None:
    """Print rows with the column `missing`: None, or how to install what is missing."""
    if as_json:
        click.echo(json.dumps(rows, indent=1))
        return
    header = [*list(rows[0])[:-1], "available"]
    cells = [
        [f"{value:g}" if isinstance(value, float) else str(value) for value in row.values()]
        for row in ({**row, "missing": "no" if row["missing"] else "yes"} for row in rows)
    ]
    show_table(header, cells)
    for row in rows:
        if row["missing"]:
            say(f"{row['name']}: {row['missing']}")


def split_into_lists(items: Iterable[str], size: int = 5) -> list[list[str]]:
    """Split into lists of at most n items.

    >>> split_into_lists("abcdefg")
    [['a', 'b', 'c', 'd', 'e'], ['f', 'g']]
    """
    rows = list(items)
    return [rows[i : i + size] for i in range(0, len(rows), size)]


class StageClock:
    """Elapsed and remaining time of a stage of a run."""

    def __init__(self) -> None:
        self._stage, self._began = "", time.monotonic()

    def text(self, step: "RunProgress") -> str:
        """Elapsed time, and remaining time if it can be estimated."""
        if step.stage != self._stage:
            self._stage, self._began = step.stage, time.monotonic()
        gone = time.monotonic() - self._began
        fresh = step.done - step.kept
        if step.done == step.total or not fresh:
            return f"{duration_text(gone)} elapsed"
        left = gone / fresh * (step.total - step.done)
        return f"{duration_text(gone)} elapsed, about {duration_text(left)} left"


@contextmanager
def show_run_progress() -> Iterator["Progress"]:
    """A progress callback of a run: a bar on a terminal, else lines."""
    if sys.stderr.isatty():
        with _bar() as tell:
            yield tell
    else:
        yield _lines()


def _lines() -> "Progress":
    clock, last = StageClock(), time.monotonic()

    def tell(step: "RunProgress") -> None:
        nonlocal last
        words, ended = clock.text(step), step.done == step.total
        if step.kept and step.done == step.kept:
            say(f"{step.kept} of {step.total} {step.stage} were finished before")
        elif (ended and step.stage == "curves") or time.monotonic() - last > SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            say(f"{_STAGES[step.stage]}: {step.done} of {step.total} {step.stage}, {words}")

    return tell


@contextmanager
def _bar() -> Iterator["Progress"]:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    words, clock = TextColumn("{task.fields[words]}"), StageClock()
    with progress_bar(*columns, words, description=_STAGES["splits"], words="") as update:

        def tell(step: "RunProgress") -> None:
            what, far = _STAGES[step.stage], {"completed": step.done, "total": step.total}
            update(description=what, words=clock.text(step), **far)

        yield tell
