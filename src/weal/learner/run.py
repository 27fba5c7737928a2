"""The loop of `ActiveLearner.run`: ask, measure with a callable oracle, tell, until it stops.

Every label is told at once. An oracle that raises, or Ctrl-C, loses no label: the candidate in
question stays asked and comes first in the next run. With `on_failure="skip"` a candidate whose
oracle raises, or returns no finite number, is skipped, and the run continues.

With `batch` the oracle gets a list and returns as many labels, or yields them one by one; each is
then told at once. Candidates of a broken batch that were not measured may be asked again.

With `workers` or `timeout` several candidates are measured at the same time (`workers`). Labels are
told in the order in which they come, by this thread alone; each later candidate is chosen as if
those under way had their predicted labels. The end of a run waits for the candidates under way;
Ctrl-C gives them up and keeps every label that has come.

With a budget a candidate is measured only if its cost still fits; else the run ends for "cost".
"""

import signal
import sys
import threading
from collections.abc import Callable, Generator, Hashable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from weal.errors import AlreadyLabelled, Exhausted
from weal.goals.grammar import combine_goals, error_of, goal_and_until
from weal.goals.protocol import Goal
from weal.goals.until import Until, until_error
from weal.learner.joint_beliefs import feasible_labels
from weal.learner.oracle import Oracle, failure_reason, missing_reason, without_gaps
from weal.learner.run_subject import RunSubject, cost_of, lead_error, lead_quantity
from weal.learner.workers import OracleError, Workers, check_workers, make_workers
from weal.model.checks import check_count
from weal.progress import progress_bar

if TYPE_CHECKING:
    from weal.active_learner import ActiveLearner

POLL_SECONDS = 0.2  # between looks at Ctrl-C
COST_ROUNDING = 1e-9  # share of the budget by which costs may exceed it


@dataclass(frozen=True, slots=True)
class Failure:
    """A point that could not be measured, with the reason."""

    id: Hashable
    why: str


@dataclass(frozen=True, slots=True)
class Run:
    """The result of a run; it ends by budget, cost, target, no gain, exhaustion or an interrupt.

    "budget" is the number of labels, "cost" what they may cost. "target" is the stop condition: an
    error, a number of labels, or a label that is good enough.
    """

    reason: str
    labels: int  # told in this run
    predicted_error: float  # root mean square over the pool, by the model itself
    failures: tuple[Failure, ...] = ()  # points that could not be measured
    cost: float = 0.0  # of labels and failures of this run; each costs 1 if the pool has no costs


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Conditions that end a run early; see `weal.ActiveLearner.run`."""

    until: Until | None = None
    patience: int | None = None
    least_gain: float = 0.01
    remaining: Callable[["ActiveLearner"], float | None] | None = None  # `best_rows`
    max_cost: float | None = None  # of labels and failures of this run


def goal_and_condition(
    goal: object, until: object, target_error: float | None
) -> tuple[Goal | None, Until | None]:
    """The goal of a run, if one is given, and its stop condition.

    A number instead of a goal, and `target_error`, are errors at which to stop.
    """
    if target_error is not None:
        if until is not None or error_of(goal) is not None:
            raise ValueError(
                f"target_error is {target_error!r}, beside another stop condition: give until "
                "alone, as in 'error < 6'"
            )
        return combine_goals(goal), until_error(target_error)
    is_error = error_of(goal) is not None
    wanted, stop = goal_and_until(goal, until)
    return None if is_error else wanted, stop


@dataclass(slots=True)
class _Progress:
    """What a run has done so far."""

    subject: RunSubject
    oracle: Oracle
    budget: int
    limits: RunLimits
    callback: Callable[[Any, Hashable, float], object] | None
    advance: Callable[[float], None]
    errors: list[float] = field(default_factory=list)
    gains: list[float] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    told: int = 0
    spent: float = 0.0
    reason: str = ""

    @property
    def left(self) -> int:
        """Points that may still be measured."""
        return self.budget - len(self.errors) - len(self.failures)

    def affordable(self, names: Sequence[Hashable], committed: float = 0.0) -> list[Hashable]:
        """The first of these whose costs fit the budget; the others are released."""
        most = self.limits.max_cost
        if most is None:
            return list(names)
        total = self.spent + committed
        for n, name in enumerate(names):
            total += cost_of(self.subject.learner(), name)
            if total > most * (1.0 + COST_ROUNDING):
                self.subject.release(names[n:])
                self.reason = self.reason or "cost"
                return list(names[:n])
        return list(names)

    def take(self, name: Hashable, label: Any) -> bool:
        """Tell a label, or note a failure; raises it where the oracle says so.

        A result that cannot be read, such as one of an unknown quantity, is not a failed run: the
        error is raised.
        """
        self.spent += cost_of(self.subject.learner(), name)
        raises = self.oracle.on_failure == "raise"
        if isinstance(label, OracleError) and raises:
            raise label.error
        why = None if raises else missing_reason(label)
        if why is not None:
            with suppress(AlreadyLabelled):  # another person told it meanwhile: their label stays
                self.subject.fail(name, why, self.oracle.on_failure)
            return self._note_failure(name, why)
        try:
            self.subject.tell(name, label if raises else without_gaps(label))
        except AlreadyLabelled as error:
            if raises:
                raise
            return self._note_failure(name, failure_reason(error))
        self.told += 1
        return True

    def _note_failure(self, name: Hashable, why: str) -> bool:
        self.failures.append(Failure(name, why))
        self.advance(float("nan"))
        return False

    def follow(self, name: Hashable, label: Any) -> None:
        """Call back after a label, and see whether the run ends."""
        learner, limits = self.subject.learner(), self.limits
        self.errors.append(lead_error(learner))
        self.advance(self.errors[-1])
        if self.callback is not None:
            self.callback(self.subject.owner, name, label)
        if limits.patience is not None:
            self.gains.append(_gain_left(learner, self.errors[-1], limits))
        self.reason = self.reason or _reason(learner, self.errors, self.gains, limits)


def run(
    subject: RunSubject, oracle: Oracle, n: int,
    callback: Callable[[Any, Hashable, float], object] | None, limits: RunLimits,
    progress: bool | None,
) -> Run:  # fmt: skip
    """Measure up to n points with the oracle; the result says why it ended."""
    budget = _budget(n, limits.patience)
    check_max_cost(limits.max_cost)
    with _bar(progress, budget) as advance:
        done = _Progress(subject, oracle, budget, limits, callback, advance)
        measure = _measure_concurrently if oracle.is_concurrent else _measure_in_turn
        try:
            if budget:
                measure(done)
        except Exhausted:
            done.reason = "exhausted"
        except KeyboardInterrupt:
            done.reason = "interrupted"
    error = lead_error(subject.learner())
    return Run(done.reason or "budget", done.told, error, tuple(done.failures), done.spent)


def check_max_cost(given: float | None) -> None:
    """Raise ValueError unless a limit of costs is None or a number above 0."""
    is_number = isinstance(given, Real) and not isinstance(given, bool)
    if given is not None and not (is_number and 0.0 < float(given) < float("inf")):
        raise ValueError(f"max_cost is {given!r}; write a number above 0, in units of the cost")


def _measure_in_turn(done: _Progress) -> None:
    """Measure one point, or batch, after another."""
    while not done.reason and done.left > 0:
        with closing(_measure_batch(done)) as found:
            for _ in found:
                pass


def _measure_batch(done: _Progress) -> Generator[Hashable, None, None]:
    """Ask for a batch, measure it and tell its labels; yields ids as they are done."""
    subject, oracle = done.subject, done.oracle
    wanted = 1 if oracle.batch is None else min(oracle.batch, done.left)
    names = done.affordable(subject.ask(wanted, more=False))
    if not names:
        return
    rows = names if oracle.by_id else [subject.row(name) for name in names]
    count = 0
    try:
        for name, label in oracle.results(rows, names):
            is_told = done.take(name, label)
            count += 1
            if is_told:
                done.follow(name, label)
            yield name
    finally:
        if 0 < count < len(names):  # the others would stay asked, and not be asked again
            subject.release(names[count:])


def _measure_concurrently(done: _Progress) -> None:
    """Measure several points at the same time."""
    oracle = done.oracle
    size, timeout = check_workers(oracle.workers, oracle.timeout)
    workers = make_workers(oracle.measure, size, timeout)
    queue, out, error = list[Hashable](), dict[Hashable, float](), None
    try:
        with _interrupts() as interrupted:
            queue += done.subject.ask(min(size, done.left), more=False)
            while not interrupted():
                error = error or _start(done, workers, queue, out)
                if not out:
                    break
                error = _take_results(done, workers.wait(POLL_SECONDS), out) or error
            if interrupted():
                error = _take_results(done, workers.wait(0.0), out) or error
                done.reason = "interrupted"
    finally:
        workers.close()
        if left := [*out, *queue]:
            done.subject.release(left)
    if error is not None:
        raise error


def _start(
    done: _Progress, workers: Workers, queue: list[Hashable], out: dict[Hashable, float]
) -> Exception | None:
    """Give points to the free workers, while the run goes on."""
    while not done.reason and len(out) < workers.size and done.left > len(out):
        try:
            names = [queue.pop(0)] if queue else done.subject.ask(1, more=True)
        except Exhausted as error:
            return error
        for name in done.affordable(names, sum(out.values())):
            out[name] = cost_of(done.subject.learner(), name)
            workers.start(name, name if done.oracle.by_id else done.subject.row(name))
    return None


def _take_results(
    done: _Progress, found: Sequence[tuple[Hashable, Any]], out: dict[Hashable, float]
) -> Exception | None:
    """Tell the labels that came; the first error, where the oracle says to raise it."""
    first: Exception | None = None
    for name, label in found:
        try:
            if done.take(name, label):
                done.follow(name, label)
        except Exception as error:  # noqa: BLE001  raised once the others are told
            first = first or error
            done.subject.release([name])
        out.pop(name)
    return first


@contextmanager
def _interrupts() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed; the second time it raises KeyboardInterrupt as usual."""
    pressed = list[int]()

    def note(number: int, _: object) -> None:
        if pressed:
            raise KeyboardInterrupt
        pressed.append(number)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, before)


def _budget(n: int, patience: int | None) -> int:
    """The budget, checked: an integer of at least 0; patience is at least 1."""
    if patience is not None:
        check_count(patience)
    return 0 if isinstance(n, Integral) and n == 0 else check_count(n)


def _gain_left(learner: "ActiveLearner", error: float, limits: RunLimits) -> float:
    """The remaining gain of the goal: the predicted error, where it has no set of rows."""
    found = limits.remaining(learner) if limits.remaining else None
    return error if found is None else found


def _reason(
    learner: "ActiveLearner", errors: list[float], gains: list[float], limits: RunLimits
) -> str:
    """The reason to end now, or an empty text."""
    if limits.until is not None:
        lead = lead_quantity(learner)
        y = learner.labels_of(lead).arrays()[1]
        counted: list[float] = y.tolist()
        if learner.goal.is_joint:  # a label of a row that is not feasible ends no search
            counted = feasible_labels(learner.state, learner.goal, lead)
        ends = min(counted, default=None), max(counted, default=None)
        if limits.until.is_met(len(y), errors[-1], *ends):
            return "target"
    patience = limits.patience
    if patience is None or len(gains) <= patience:
        return ""
    if learner.goal.directions and learner.fitted:  # in sds of the labels, or of the hypervolume
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
