r"""The status of a campaign: labels, error estimates, labels to check, advice on stopping.

    with weal.open_campaign("alloys") as campaign:
        print(*campaign.status(until="error < 5").lines(), sep="\n")

Everything follows from the events and the clock of the store: the same events give the same
status. What needs a model is in `model_status`, the advice in the goal and `until`, the text in
`status_text`. Labels to check come with the person who told them and the batch they came in.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from shlex import quote
from typing import Any

import numpy as np

from weal import text
from weal.campaign import status_text
from weal.campaign.contradiction_report import find_contradictions
from weal.campaign.goal_report import goal_view, set_progress
from weal.campaign.ledger import Ledger, PredictedLabel, QuantityLedger
from weal.campaign.model_status import Estimate, ModelStatus, count_model_chosen, model_status
from weal.campaign.session import Session, trend
from weal.core.arrays import root_mean_square
from weal.diagnostics import stopping
from weal.diagnostics.contradictions import Contradiction
from weal.diagnostics.error_trend import Coverage, Trend, coverage
from weal.diagnostics.stopping import LabelsToGoal
from weal.diagnostics.suspects import OtherUnit, Suspect, other_units, suspects
from weal.goals.grammar import goal_and_until, parse_goal, parse_until
from weal.goals.learn import more_labels
from weal.goals.protocol import Goal, GoalProgress, SetProgress
from weal.goals.until import Until
from weal.learner.candidate_sample import best_share, comparison_size
from weal.learner.candidates import MAX_CANDIDATES_WITHOUT_SAMPLE, SAMPLE_CANDIDATES
from weal.learner.config import NOW_AUTO
from weal.learner.joint_beliefs import goal_series
from weal.progress import Progress


@dataclass(frozen=True, slots=True)
class SuspectReport:
    """Labels that are probably wrong, and calls of `tell` that are probably in another unit."""

    labels: tuple[Suspect, ...] = ()
    units: tuple[OtherUnit, ...] = ()

    def lines(self) -> list[str]:
        """One line for each."""
        return [*(unit.words for unit in self.units), *(one.words for one in self.labels)]


def find_suspects(session: Session) -> SuspectReport:
    """Labels that are probably wrong by the model; none before there is one."""
    view = session.view()
    if not view.has_model:
        return SuspectReport()
    own = session.ledger.quantity(view.quantity.name)
    found = suspects(view, session.beliefs.model(view), batches(own))
    return SuspectReport(tuple(found), tuple(other_units(found, labels_by_call(own))))


def batches(own: QuantityLedger) -> dict[Hashable, Hashable]:
    """The batch of each labelled row: rows asked together, or else told together."""
    found = labels_by_call(own)
    asked = {past.told.id: past.body["until"] for past in own.foretold}
    return {name: asked.get(str(name), call) for name, call in found.items()}


def labels_by_call(own: QuantityLedger) -> dict[Hashable, Hashable]:
    """The `tell` call of each labelled row: its time, and who told."""
    told = {name: several[-1] for name, several in own.labels.items()}
    return {
        name: f"{one.time:%Y-%m-%d %H:%M:%S.%f} by {one.who or 'nobody'}"
        for name, one in told.items()
    }


@dataclass(frozen=True, slots=True)
class LeasedId:
    """A leased row."""

    id: str
    who: str
    until: datetime


@dataclass(frozen=True, slots=True)
class RandomTest:
    """The test on rows drawn at random, predicted when they were asked."""

    n: int
    rmse: float
    error: float | None  # standard error of it


@dataclass(frozen=True, slots=True)
class Status:
    """The status of a campaign."""

    name: str
    candidates: int
    labels: int
    labelled: int  # rows
    repeats: int
    out: tuple[LeasedId, ...]
    lapsed: tuple[LeasedId, ...]
    skipped: int
    unusable: dict[str, str]  # labels that no model can take: id -> why
    missing: int  # labels before there is a model
    check: RandomTest | None
    coverage: Coverage | None  # of the intervals given when rows were asked
    goal: str  # the canonical text; an object in JSON
    until: str | None  # when to stop; the same
    needed: LabelsToGoal | None
    beliefs: ModelStatus | None
    advice: str
    stopping: tuple[str, ...]  # lines behind the advice: how far, and beside random choice
    choice: str = ""  # what changed in how rows are chosen, if anything did
    suspects: tuple[Suspect, ...] = ()  # labels to look at again
    other_units: tuple[OtherUnit, ...] = ()
    chosen: int = 0  # labels whose row the model has chosen
    sampled: int | None = None  # candidates that stand for all in what is said; None: all do
    compared: int | None = None  # candidates that one ask compares; None: all
    best_share: float | None = None  # of all, that the row asked is then among (99 %)
    contradictions: tuple[Contradiction, ...] = ()  # labels that count, and the others contradict
    members: SetProgress | None = None  # rows of the goal's set; None: it has none, or no model
    goal_lines: tuple[str, ...] = ()  # the same in words, with a heading
    curve: Estimate | None = None  # the goal's own series; None: the error estimates

    def to_dict(self) -> dict[str, Any]:
        """The status as JSON values; labels that no model can take are under "aside"."""
        plain: dict[str, Any] = _plain(asdict(self))
        for body, one in zip(plain["suspects"], self.suspects, strict=True):
            body |= {"words": one.words, "aside": one.aside}
        for body, unit in zip(plain["other_units"], self.other_units, strict=True):
            body["words"] = unit.words
        for body, found in zip(plain["contradictions"], self.contradictions, strict=True):
            body["words"] = found.words
        until = parse_until(self.until)
        plain["goal"] = parse_goal(self.goal).to_dict()
        plain["until"] = until.to_dict() if until else None
        return {"aside" if name == "unusable" else name: one for name, one in plain.items()}

    def lines(self) -> list[str]:
        """The status as lines of text."""
        return status_text.lines(self)

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return text.facts_lines(self.lines())


def status(
    session: Session, goal: object, until: object, now: datetime, progress: Progress | None = None
) -> Status:
    """The status of a campaign; `goal` and `until` override its settings."""
    ledger, view = session.ledger, session.view()
    state, own = view.state, ledger.quantity(view.quantity.name)
    aim, stop = goal_in_force(ledger, goal, until)
    course = trend(session, progress, aim)
    missing = 0 if course else max(state.settings.n_start - len(view.labels), 1)
    beliefs = model_status(session, aim, course, progress) if course else None
    left = ledger.rows - len(own.labels)
    error = stop.error if stop else None
    needed = (
        stopping.labels_to_goal(course, error, left, state.settings.seed)
        if course and error
        else None
    )
    members = set_progress(session, aim, course) if course else None
    known = replace(_progress(own, course, beliefs, needed, missing), members=members)
    out, lapsed = rows_out(ledger, now)
    doubted = find_suspects(session) if course else SuspectReport()
    n = comparison_size(view, session.beliefs.model(view)) if course else None
    return Status(
        name=ledger.name,
        candidates=ledger.rows,
        labels=own.n_labels,
        labelled=len(own.labels),
        repeats=own.n_labels - len(own.labels),
        out=out,
        lapsed=lapsed,
        skipped=len(ledger.skipped),
        unusable=dict(session.replay.unusable),
        missing=missing,
        check=honest_test(own),
        coverage=_asked_coverage(own.foretold),
        goal=aim.text,
        until=stop.text if stop else None,
        needed=needed,
        beliefs=beliefs,
        sampled=SAMPLE_CANDIDATES if ledger.rows > MAX_CANDIDATES_WITHOUT_SAMPLE else None,
        choice=NOW_AUTO if session.replay.other_auto else "",
        advice=_advice(aim, stop, known, left, ledger),
        stopping=_stopping_lines(aim, stop, known, beliefs),
        suspects=doubted.labels,
        other_units=doubted.units,
        chosen=count_model_chosen(own),
        compared=n,
        best_share=None if n is None else best_share(n),
        contradictions=find_contradictions(session) if course else (),
        members=known.members,
        goal_lines=tuple(aim.lines(members)) if members else (),
        curve=_goal_curve(session, aim, course) if members and course else None,
    )


def bound_goal(ledger: Ledger, goal: Goal) -> Goal:
    """The goal for the quantities of a campaign; ValueError where it does not fit."""
    measured = {name: one.quantity for name, one in ledger.quantities.items()}
    return goal.bind(measured, ledger.column_names)


def goal_in_force(
    ledger: Ledger, goal: object = None, until: object = None
) -> tuple[Goal, Until | None]:
    """The goal and the stop condition: those given, else those of the settings."""
    aim, stop = goal_and_until(goal, until)
    return (
        bound_goal(ledger, aim or parse_goal(ledger.settings["goal"])),
        stop or (None if until is not None else parse_until(ledger.settings["until"])),
    )


def _progress(
    own: QuantityLedger, course: Trend | None, beliefs: ModelStatus | None,
    needed: LabelsToGoal | None, missing: int,
) -> GoalProgress:  # fmt: skip
    """The numbers that the words of a goal follow from."""
    values = [label.y for several in own.labels.values() for label in several]
    return GoalProgress(
        missing,
        beliefs.change if beliefs else None,
        needed,
        course.now.left_out if course else None,
        beliefs.baseline if beliefs else None,
        own.n_labels,
        min(values, default=None),
        max(values, default=None),
    )


def _goal_curve(session: Session, goal: Goal, course: Trend) -> Estimate | None:
    """The learning curve of a goal with a set; None: the error estimates."""
    if goal.curve == "errors":
        return None
    pairs = [(one.labels, one.goal_value) for one in course.marks if one.goal_value is not None]
    if goal.is_joint:
        pairs = goal_series(session.state, goal)
    elif goal.curve == "best":
        y = np.array([label.y for label in goal_view(session, goal).labels])
        best = (np.minimum if goal.lowest else np.maximum).accumulate(y).tolist()
        pairs = list(enumerate(best, start=1))
    return Estimate(pairs[-1][1], tuple(pairs)) if pairs else None


def _stopping_lines(
    goal: Goal, until: Until | None, known: GoalProgress, beliefs: ModelStatus | None
) -> tuple[str, ...]:
    """Lines on the stop condition and on random choice."""
    first = until.lines(known) if until else []
    return (*first, *goal.random_lines(beliefs.random if beliefs else None, known))


def rows_out(ledger: Ledger, now: datetime) -> tuple[tuple[LeasedId, ...], tuple[LeasedId, ...]]:
    """Leased rows, and rows whose lease has expired."""
    every = [LeasedId(lease.id, lease.who, lease.until) for lease in ledger.leases.values()]
    out, lapsed = ([one for one in every if (one.until > now) is on] for on in (True, False))
    return tuple(out), tuple(lapsed)


def honest_test(own: QuantityLedger) -> RandomTest | None:
    """The error on rows that were drawn at random, as predicted when they were asked."""
    errors = np.array(
        [
            past.told.y - past.body["mean"]
            for past in own.foretold
            if past.body["check"] and past.body["mean"] is not None
        ]
    )
    if not len(errors):
        return None
    rmse = root_mean_square(errors)
    error = None
    if len(errors) > 1 and rmse > 0.0:  # of a root: half that of the square, over the root
        spread = float(((errors / rmse) ** 2).std(ddof=1))
        error = rmse * spread / np.sqrt(len(errors)) / 2.0
    return RandomTest(len(errors), rmse, error)


def _asked_coverage(foretold: Sequence[PredictedLabel]) -> Coverage | None:
    ends = [(past.told.y, past.body["low"], past.body["high"]) for past in foretold]
    inside = [low <= y <= high for y, low, high in ends if low is not None and high is not None]
    return coverage(sum(inside), len(inside)) if inside else None


def _advice(goal: Goal, until: Until | None, known: GoalProgress, left: int, ledger: Ledger) -> str:
    missing = known.missing
    if left <= 0:
        return "All candidates are labelled: there is nothing left to ask."
    if missing > left:
        without = "1 row is" if left == 1 else f"{left} rows are"
        return (
            f"There are {ledger.rows} candidates, and {more_labels(missing)} needed before there "
            f"is a model, but {without} without one: add candidates "
            f"(`weal add {quote(ledger.name)} FILE`)."
        )
    met = until.advice(known) if until else None
    return met or goal.advice(known)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return None if isinstance(value, float) and not math.isfinite(value) else value
