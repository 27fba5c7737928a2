"""A loop for oracles that can be called: ask, measure, tell, until there is a reason to stop.

Every label is told as soon as it is there. An oracle that raises, or Ctrl-C, loses none of them:
the point in question stays asked, and is the first of the next run.
"""

import sys
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from weal.errors import Exhausted
from weal.model.checks import check_count


@dataclass(frozen=True, slots=True)
class Run:
    """How a run ended: "budget", "target", "no gain", "exhausted" or "interrupted"."""

    reason: str
    labels: int  # told in this run
    predicted_error: float  # root mean square over the pool, by the model itself


@dataclass(frozen=True, slots=True)
class Limits:
    """When a run ends early; see `weal.ActiveLearner.run`."""

    target_error: float | None = None
    patience: int | None = None
    least_gain: float = 0.01


def run(
    learner: Any, oracle: Callable[[Any], float], n: int, by_id: bool,
    callback: Callable[[Any, Hashable, float], object] | None, limits: Limits,
    progress: bool | None,
) -> Run:  # fmt: skip
    """Label up to n points with `oracle`, and say why it ended."""
    budget, before, errors = _budget(n, limits.patience), len(learner.labels), list[float]()
    with _bar(progress, budget) as advance:
        try:
            reason = "budget" if not budget else ""
            while not reason:
                name = learner.ask()
                label = oracle(name if by_id else learner.candidates.row(name))
                learner.tell(name, label)
                errors.append(learner.predicted_error())
                advance(errors[-1])
                if callback is not None:
                    callback(learner, name, label)
                reason = _reason(errors, budget, limits)
        except Exhausted:
            reason = "exhausted"
        except KeyboardInterrupt:
            reason = "interrupted"
    return Run(reason, len(learner.labels) - before, learner.predicted_error())


def _budget(n: int, patience: int | None) -> int:
    """The number of labels to spend, from 0 on; patience is from 1 on."""
    if patience is not None:
        check_count(patience)
    return 0 if isinstance(n, Integral) and n == 0 else check_count(n)


def _reason(errors: list[float], n: int, limits: Limits) -> str:
    if limits.target_error is not None and errors[-1] < limits.target_error:
        return "target"
    if limits.patience is not None and len(errors) > limits.patience:
        before = errors[-1 - limits.patience]
        if before < float("inf") and errors[-1] > (1.0 - limits.least_gain) * before:
            return "no gain"
    return "budget" if len(errors) == n else ""


@contextmanager
def _bar(progress: bool | None, n: int) -> Iterator[Callable[[float], None]]:
    """A function that moves the bar by one label; it does nothing where none is drawn."""
    if not (sys.stderr.isatty() if progress is None else progress):
        yield lambda error: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("labels"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    text = TextColumn("expected error {task.fields[error]:.3g}")
    with Progress(*columns, text, console=Console(stderr=True)) as bar:
        task = bar.add_task("labels", total=n, error=float("nan"))
        yield lambda error: bar.update(task, advance=1, error=error)
