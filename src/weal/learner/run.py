"""The loop of `ActiveLearner.run`: ask, measure with a callable oracle, tell, until it stops.

Every label is told at once. An oracle that raises, or Ctrl-C, loses no label: the candidate in
question stays asked and comes first in the next run. With `on_failure="skip"` a candidate whose
oracle raises, or returns no finite number, is skipped, and the run continues.

With `batch` the oracle gets a list and returns as many labels, or yields them one by one; each is
then told at once. Candidates of a broken batch that were not measured may be asked again.
"""

import sys
from collections.abc import Callable, Generator, Hashable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from weal.errors import Exhausted
from weal.goals.grammar import error_of, goal_and_until, parse_goal
from weal.goals.protocol import Goal
from weal.goals.until import Until, until_error
from weal.model.checks import check_count
from weal.progress import progress_bar

if TYPE_CHECKING:
    from weal.active_learner import ActiveLearner

ON_FAILURE = ("raise", "skip")


@dataclass(frozen=True, slots=True)
class Failure:
    """A point that could not be measured, with the reason."""

    id: Hashable
    why: str


@dataclass(frozen=True, slots=True)
class Run:
    """The result of a run; it ends by budget, target, no gain, exhaustion or an interrupt.

    "target" is the stop condition: an error, a number of labels, or a label that is good enough.
    """

    reason: str
    labels: int  # told in this run
    predicted_error: float  # root mean square over the pool, by the model itself
    failures: tuple[Failure, ...] = ()  # points that were skipped


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Conditions that end a run early; see `weal.ActiveLearner.run`."""

    until: Until | None = None
    patience: int | None = None
    least_gain: float = 0.01
    remaining: Callable[["ActiveLearner"], float | None] | None = None  # `best_rows`


def goal_and_condition(
    goal: object, until: object, target_error: float | None
) -> tuple[Goal | None, Until | None]:
    """The goal of a run, if one is given, and its stop condition.

    A number in place of a goal, and `target_error`, are errors at which to stop.
    """
    if target_error is not None:
        if until is not None or error_of(goal) is not None:
            raise ValueError(
                f"target_error is {target_error!r}, beside another stop condition: give until "
                "alone, as in 'error < 6'"
            )
        return None if goal is None else parse_goal(goal), until_error(target_error)
    is_error = error_of(goal) is not None
    wanted, stop = goal_and_until(goal, until)
    return None if is_error else wanted, stop


@dataclass(frozen=True, slots=True)
class Oracle:
    """The function that measures, and how it is called."""

    measure: Callable[[Any], Any]
    by_id: bool = False
    batch: int | None = None  # points that it gets at once, in a list; None: one, by itself
    on_failure: str = "raise"

    def __post_init__(self) -> None:
        if self.batch is not None:
            check_count(self.batch)
        if self.on_failure not in ON_FAILURE:
            raise ValueError(f"on_failure is {self.on_failure!r}; it is 'raise' or 'skip'")

    def results(
        self, rows: Sequence[Any], names: Sequence[Hashable]
    ) -> Iterator[tuple[Hashable, Any]]:
        """Ids with their labels or `OracleError`, as they come; fewer if the oracle stops early."""
        try:
            found = self.measure(rows[0] if self.batch is None else list(rows))
        except Exception as error:  # noqa: BLE001  raised again, or reported, by who asked
            yield from ((name, OracleError(error)) for name in names)
            return
        if self.batch is None:
            yield names[0], found
        elif isinstance(found, Iterator):
            yield from _in_turn(found, names)
        else:
            yield from zip(names, _as_many(found, len(names)), strict=True)


@dataclass(frozen=True, slots=True)
class OracleError:
    """The error that an oracle raised, in place of a label."""

    error: Exception


def run(
    learner: "ActiveLearner", oracle: Oracle, n: int,
    callback: Callable[[Any, Hashable, float], object] | None, limits: RunLimits,
    progress: bool | None,
) -> Run:  # fmt: skip
    """Measure up to n points with the oracle; the result says why it ended."""
    budget, before = _budget(n, limits.patience), len(learner.labels)
    errors, gains, failures = list[float](), list[float](), list[Failure]()
    with _bar(progress, budget) as advance:
        try:
            reason = "budget" if not budget else ""
            while not reason:
                left = budget - len(errors) - len(failures)
                with closing(_measure_batch(learner, oracle, left, failures, advance)) as found:
                    for name, label in found:
                        errors.append(learner.predicted_error())
                        advance(errors[-1])
                        if callback is not None:
                            callback(learner, name, label)
                        if limits.patience is not None:
                            gains.append(_gain_left(learner, errors[-1], limits))
                        reason = reason or _reason(learner, errors, gains, limits)
                if len(errors) + len(failures) >= budget:
                    reason = reason or "budget"
        except Exhausted:
            reason = "exhausted"
        except KeyboardInterrupt:
            reason = "interrupted"
    told = len(learner.labels) - before
    return Run(reason, told, learner.predicted_error(), tuple(failures))


def _measure_batch(
    learner: "ActiveLearner", oracle: Oracle, left: int, failures: list[Failure],
    advance: Callable[[float], None],
) -> Generator[tuple[Hashable, Any], None, None]:  # fmt: skip
    """Ask for a batch, measure it and tell its labels; yields ids and labels as they come."""
    names = _ask_batch(learner, oracle.batch, left)
    rows = names if oracle.by_id else [learner.candidates.row(name) for name in names]
    done = 0
    try:
        for name, label in oracle.results(rows, names):
            try:
                _tell(learner, name, label)
            except Exception as error:
                if oracle.on_failure == "raise":
                    raise
                learner.skip(name)
                failures.append(Failure(name, _why(error)))
                advance(float("nan"))
                done += 1
                continue
            done += 1
            yield name, label
    finally:
        if 0 < done < len(names):  # news came: the others would stay asked, and not come again
            learner.release(names[done:])


def _ask_batch(learner: "ActiveLearner", batch: int | None, left: int) -> list[Hashable]:
    """The ids to measure next; fewer than a batch if no more are left."""
    if batch is None:
        return [learner.ask()]
    wanted, state = min(batch, left), learner.state
    there = len(state.batch) + int(state.free().sum())
    return list(learner.ask(max(min(wanted, there), 1)))


def _tell(learner: "ActiveLearner", name: Hashable, label: float | OracleError) -> None:
    if isinstance(label, OracleError):
        raise label.error
    learner.tell(name, label)


def _why(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _in_turn(found: Iterator[Any], names: Sequence[Hashable]) -> Iterator[tuple[Hashable, Any]]:
    """Labels that an oracle yields; it ends at the first error."""
    for n, name in enumerate(names):
        try:
            label = next(found)
        except StopIteration:
            few = f"the oracle yielded {n} labels for {len(names)} points; it needs as many"
            raise ValueError(few) from None
        except Exception as error:  # noqa: BLE001  as above
            yield name, OracleError(error)
            return
        yield name, label


def _as_many(found: Any, n: int) -> list[Any]:
    """The labels of a batch as a list; ValueError unless there are n."""
    if isinstance(found, str) or not hasattr(found, "__len__") or np.ndim(found) != 1:
        raise ValueError(f"the oracle of a batch returned {found!r}; it needs a list of labels")
    if len(found) != n:
        raise ValueError(
            f"the oracle returned {len(found)} labels for {n} points; it needs as many"
        )
    return list(found)


def _budget(n: int, patience: int | None) -> int:
    """The budget, checked: an integer of at least 0; patience is at least 1."""
    if patience is not None:
        check_count(patience)
    return 0 if isinstance(n, Integral) and n == 0 else check_count(n)


def _gain_left(learner: "ActiveLearner", error: float, limits: RunLimits) -> float:
    """What the goal still has to gain: the predicted error, where it has no set of rows."""
    found = limits.remaining(learner) if limits.remaining else None
    return error if found is None else found


def _reason(
    learner: "ActiveLearner", errors: list[float], gains: list[float], limits: RunLimits
) -> str:
    """The reason to end now, or an empty text."""
    if limits.until is not None:
        y = learner.labels.arrays()[1]
        if limits.until.is_met(len(y), errors[-1], float(y.min()), float(y.max())):
            return "target"
    patience = limits.patience
    if patience is None or len(gains) <= patience:
        return ""
    if learner.goal.curve == "best" and learner.fitted:  # in sds of the labels
        return "no gain" if max(gains[-patience:]) < limits.least_gain else ""
    before = gains[-1 - patience]
    fell = before == float("inf") or gains[-1] <= (1.0 - limits.least_gain) * before
    return "" if fell else "no gain"


@contextmanager
def _bar(progress: bool | None, n: int) -> Iterator[Callable[[float], None]]:
    """A function that advances the progress bar by one label, or does nothing."""
    if not (sys.stderr.isatty() if progress is None else progress):
        yield lambda error: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("labels"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    text = TextColumn("expected error {task.fields[error]:.3g}")
    with progress_bar(*columns, text, total=n, error=float("nan")) as update:
        yield lambda error: update(advance=1, error=error)
