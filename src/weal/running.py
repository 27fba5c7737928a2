"""A loop for oracles that can be called: ask, measure, tell, until there is a reason to stop.

Every label is told as soon as it is there. An oracle that raises, or Ctrl-C, loses none of them:
the point in question stays asked, and is the first of the next run.
"""

import sys
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from weal.errors import Exhausted


@dataclass(frozen=True, slots=True)
class Run:
    """How a run ended: "budget", "target", "no gain", "exhausted" or "interrupted"."""

    reason: str
    labels: int  # told in this run
    predicted_error: float  # root mean square over the pool, by the model itself


def run(
    learner: Any,
    oracle: Callable[[Any], float],
    n: int,
    *,
    by_id: bool = False,
    callback: Callable[[Any, Hashable, float], object] | None = None,
    target_error: float | None = None,
    patience: int | None = None,
    least_gain: float = 0.01,
    progress: bool | None = None,
) -> Run:
    """Label up to n points with `oracle`, and say why it ended.

    The oracle gets the row of the candidate ((d,) for an array, a dict for a frame), or its id
    with `by_id`. `callback(learner, id, label)` is called after every label. Stops early when the
    predicted error falls below `target_error` (in units of y), or when it fell by less than
    `least_gain` of itself over the last `patience` labels. `progress` draws a bar on standard
    error; None: where that is a terminal.
    """
    errors: list[float] = []
    with _bar(progress, n) as advance:
        while len(errors) < n:
            try:
                name = learner.ask()
                label = oracle(name if by_id else learner.candidates.row(name))
                learner.tell(name, label)
            except Exhausted:
                return Run("exhausted", len(errors), learner.predicted_error())
            except KeyboardInterrupt:
                return Run("interrupted", len(errors), learner.predicted_error())
            errors.append(learner.predicted_error())
            advance(errors[-1])
            if callback is not None:
                callback(learner, name, label)
            reason = _reason(errors, target_error, patience, least_gain)
            if reason:
                return Run(reason, len(errors), errors[-1])
    return Run("budget", len(errors), errors[-1] if errors else learner.predicted_error())


def _reason(
    errors: list[float], target: float | None, patience: int | None, least_gain: float
) -> str | None:
    if target is not None and errors[-1] < target:
        return "target"
    if patience is not None and len(errors) > patience:
        before = errors[-1 - patience]
        if before < float("inf") and errors[-1] > (1.0 - least_gain) * before:
            return "no gain"
    return None


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
