r"""The status of a campaign: labels, error estimates, labels to check, advice on stopping.

    with weal.open_campaign("alloys") as campaign:
        print(*campaign.status(until="error < 5").lines(), sep="\n")

Everything follows from the events and the clock of the store: the same events give the same status.
Parts that need a model are in `model_status`, the advice is in the goal and `until`, the text in
`status_text`. Labels to check come with the person who told them and the batch they came in.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from shlex import quote
from typing import Any

import numpy as np

from weal import text
from weal.campaign import status_text
from weal.campaign.budget import Spending, spending
from weal.campaign.contradiction_report import find_contradictions
from weal.campaign.ledger import Ledger, QuantityLedger
from weal.campaign.quantity_status import (
    FailureStatus,
    QuantityStatus,
    RandomTest,
    WaitingRow,
    asked_coverage,
    count_model_chosen,
    failure_status,
    random_test,
    source_of,
    waiting_rows,
    word_status,
)
from weal.campaign.session import Session, trend
from weal.campaign.suspect_report import SuspectReport, find_suspects
from weal.diagnostics import stopping
from weal.diagnostics.contradictions import Contradiction
from weal.diagnostics.error_trend import Coverage, Trend
from weal.diagnostics.goal_headline import goal_headline
from weal.diagnostics.goal_set import set_progress
from weal.diagnostics.headline import Headline, error_headline
from weal.diagnostics.model_status import Estimate, ModelStatus, model_status
from weal.diagnostics.stopping import LabelsToGoal
from weal.diagnostics.suspects import OtherUnit, Suspect
from weal.goals.grammar import goal_and_until, parse_goal, parse_until
from weal.goals.learn import Learn, more_labels
from weal.goals.protocol import Goal, GoalProgress, SetProgress
from weal.goals.until import Until
from weal.learner.candidate_sample import best_share, comparison_size
from weal.learner.candidates import MAX_CANDIDATES_WITHOUT_SAMPLE, SAMPLE_CANDIDATES
from weal.learner.config import NOW_AUTO
from weal.learner.joint_beliefs import feasible_labels, goal_series
from weal.learner.quantity_predictions import has_models
from weal.learner.state import QuantityView
from weal.progress import Progress
from weal.quantities.protocol import Quantity


@dataclass(frozen=True, slots=True)
class LeasedId:
    """A leased row."""

    id: str
    who: str
    until: datetime


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
    stopping: tuple[str, ...]  # lines after the advice: progress, and comparison with random choice
    choice: str = ""  # what changed in how rows are chosen, if anything did
    suspects: tuple[Suspect, ...] = ()  # labels to check
    other_units: tuple[OtherUnit, ...] = ()
    chosen: int = 0  # labels whose row the model has chosen
    sampled: int | None = None  # size of the sample behind the estimates; None: all candidates
    compared: int | None = None  # candidates that one ask compares; None: all
    best_share: float | None = None  # the asked row is among this share of the best (99 %)
    contradictions: tuple[Contradiction, ...] = ()  # labels in use that contradict the others
    members: SetProgress | None = None  # rows of the goal's set; None if it has none, or no model
    goal_lines: tuple[str, ...] = ()  # the same in words, with a heading
    curve: Estimate | None = None  # the goal's own series; None: the error estimates
    # of each quantity, where there are several, or words
    quantities: tuple[QuantityStatus, ...] = ()
    failures: FailureStatus | None = None  # None if no run has failed
    waiting: tuple[WaitingRow, ...] = ()  # rows with labels of some quantities
    spending: Spending | None = None  # beside the budget, or None
    headline: Headline | None = None  # the one number of the goal; None without a model

    def to_dict(self) -> dict[str, Any]:
        """The status as JSON values; labels that no model can take are under "aside"."""
        plain: dict[str, Any] = _plain(asdict(self))
        _add_words(plain, self)
        for body, one in zip(plain["quantities"], self.quantities, strict=True):
            _add_words(body, one)
        for n, place in enumerate(self.failures.where if self.failures else ()):
            plain["failures"]["where"][n]["words"] = place.words
        for key in ("quantities", "failures", "waiting"):
            if not plain[key]:
                del plain[key]
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


def _add_words(body: dict[str, Any], one: "Status | QuantityStatus") -> None:
    """Add the sentences on suspects and contradictions to the JSON of a status."""
    for told, suspect in zip(body["suspects"], one.suspects, strict=True):
        told |= {"words": suspect.words, "aside": suspect.aside}
    for told, unit in zip(body["other_units"], one.other_units, strict=True):
        told["words"] = unit.words
    for told, found in zip(body["contradictions"], one.contradictions, strict=True):
        told["words"] = found.words


def status(
    session: Session, goal: object, until: object, now: datetime, progress: Progress | None = None
) -> Status:
    """The status of a campaign; `goal` and `until` override its settings."""
    ledger, state = session.ledger, session.state
    aim, stop = goal_in_force(ledger, goal, until)
    names = list(ledger.quantities)
    lead = state.find_measured(aim.scored(names)[0])
    own = ledger.quantity(lead.name)
    course = None if lead.words else trend(session, progress, aim, lead.name)
    first = number_status(session, lead, aim, course, progress)
    rows = {name for one in ledger.quantities.values() for name in one.labels}
    left = ledger.rows - len(rows | ledger.failures.labels.keys())
    error = stop.error if stop else None
    needed = (
        stopping.labels_to_goal(course, error, left, state.settings.seed)
        if course and error
        else None
    )
    members = set_progress(state, session.beliefs, aim, course) if course else None
    known = _progress(own, course, first.beliefs, needed, first.missing)
    known = replace(known, members=members)
    if aim.is_joint:  # the label of an infeasible row ends no search
        counted = feasible_labels(state, aim, lead.name)
        known = replace(
            known, lowest=min(counted, default=None), highest=max(counted, default=None)
        )
    out, lapsed = rows_out(ledger, now)
    view = session.view(lead.parts()[0].name)
    costs = spending(session, now)
    n = comparison_size(view, session.beliefs.model(view)) if course else None
    plain = len(names) == 1 and not lead.words
    every = () if plain else _every_quantity(session, lead, first, progress)
    return Status(
        name=ledger.name,
        candidates=ledger.rows,
        labels=ledger.n_labels,
        labelled=len(rows),
        repeats=sum(one.n_labels - len(one.labels) for one in ledger.quantities.values()),
        out=out,
        lapsed=lapsed,
        skipped=len(ledger.skipped),
        unusable=dict(session.replay.unusable),
        missing=first.missing,
        check=first.check,
        coverage=first.coverage,
        goal=aim.text,
        until=stop.text if stop else None,
        needed=needed,
        beliefs=first.beliefs,
        sampled=SAMPLE_CANDIDATES if ledger.rows > MAX_CANDIDATES_WITHOUT_SAMPLE else None,
        choice=NOW_AUTO if session.replay.other_auto else "",
        advice=_advice(aim, stop, known, left, ledger, costs, _word_advice(aim, lead, every)),
        stopping=_stopping_lines(aim, stop, known, first.beliefs, every),
        suspects=first.suspects,
        other_units=first.other_units,
        chosen=first.chosen,
        compared=n,
        best_share=None if n is None else best_share(n),
        contradictions=first.contradictions,
        members=known.members,
        goal_lines=tuple(aim.lines(members)) if members else (),
        curve=_goal_curve(view, aim, course) if members and course else None,
        quantities=every,
        failures=failure_status(session),
        waiting=() if plain else waiting_rows(ledger),
        spending=costs,
        headline=goal_headline(state, session.beliefs, aim, members)
        if members
        else _lead_headline(lead, first, every),
    )


def _lead_headline(
    lead: Quantity, first: QuantityStatus, every: Sequence[QuantityStatus]
) -> Headline | None:
    """How well the quantity that the goal looks at first is predicted."""
    own = next((one for one in every if one.name == lead.name), first)
    return own.headline


def _every_quantity(
    session: Session, lead: Quantity, first: QuantityStatus, progress: Progress | None
) -> tuple[QuantityStatus, ...]:
    """The status of each quantity, in their order; that of the leading one is known."""
    found, learn = [], Learn()
    for name, own in session.ledger.quantities.items():
        quantity = own.quantity
        if quantity.words:
            found.append(word_status(session, quantity, own))
        elif name == lead.name:
            found.append(first)
        else:
            course = trend(session, progress, learn, name)
            found.append(number_status(session, quantity, learn, course, progress))
    return tuple(found)


def number_status(
    session: Session, quantity: Quantity, goal: Goal, course: Trend | None,
    progress: Progress | None,
) -> QuantityStatus:  # fmt: skip
    """The status of a numeric quantity; without error estimates, only what needs no model."""
    own = session.ledger.quantity(quantity.name)
    labels = len(session.view(quantity.parts()[0].name).labels)
    has_model = course is not None or has_models(session.state, quantity)
    doubted = find_suspects(session, quantity.name) if course else SuspectReport()
    beliefs, headline = None, None
    chosen, check = count_model_chosen(own), None if quantity.words else random_test(own)
    if course:
        view, plan = session.view(quantity.name), session.pool.plan
        beliefs = model_status(view, session.beliefs, plan, goal, course, chosen > 0, progress)
        errors = None if check is None else (check.n, check.rmse, check.error)
        shown = quantity.name if len(session.ledger.quantities) > 1 or quantity.column else ""
        headline = error_headline(beliefs, errors, shown, quantity.unit, chosen)
    return QuantityStatus(
        quantity.name,
        quantity.kind,
        quantity.unit,
        own.n_labels,
        len(own.labels),
        missing=0 if has_model else max(session.state.settings.n_start - labels, 1),
        counts={},
        chosen=chosen,
        beliefs=beliefs,
        check=check,
        coverage=asked_coverage(own.foretold),
        suspects=doubted.labels,
        other_units=doubted.units,
        contradictions=find_contradictions(session, quantity.name) if course else (),
        source=source_of(session, quantity) if course else None,
        headline=headline,
    )


def bound_goal(ledger: Ledger, goal: Goal) -> Goal:
    """The goal for the quantities of a campaign; ValueError if it does not fit."""
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
    """The numbers behind the text of a goal."""
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


def _goal_curve(view: QuantityView, goal: Goal, course: Trend) -> Estimate | None:
    """The learning curve of a goal with a set; None: the error estimates."""
    if goal.curve == "errors":
        return None
    pairs = [(one.labels, one.goal_value) for one in course.marks if one.goal_value is not None]
    if goal.is_joint:
        pairs = goal_series(view.state, goal)
    elif goal.curve == "best":
        y = np.array([label.y for label in view.labels])
        best = (np.minimum if goal.lowest else np.maximum).accumulate(y).tolist()
        pairs = list(enumerate(best, start=1))
    return Estimate(pairs[-1][1], tuple(pairs)) if pairs else None


def _stopping_lines(
    goal: Goal, until: Until | None, known: GoalProgress, beliefs: ModelStatus | None,
    every: Sequence[QuantityStatus],
) -> tuple[str, ...]:  # fmt: skip
    """Lines on the stop condition, on random choice, and on the other quantities to learn."""
    first = until.lines(known) if until else []
    others = [
        f"{one.name}: {goal.advice(_quantity_progress(one))}"
        for one in every
        if goal.set_text is None and one.beliefs is not None and one.beliefs is not beliefs
    ]
    return (*first, *goal.random_lines(beliefs.random if beliefs else None, known), *others)


def _quantity_progress(one: QuantityStatus) -> GoalProgress:
    """The numbers behind the advice on one of several quantities."""
    if one.beliefs is None:
        return GoalProgress(one.missing)
    error, baseline = one.beliefs.left_out.now, one.beliefs.baseline
    return GoalProgress(0, one.beliefs.change, None, error, baseline, one.labels)


def rows_out(ledger: Ledger, now: datetime) -> tuple[tuple[LeasedId, ...], tuple[LeasedId, ...]]:
    """Leased rows, and rows whose lease has expired."""
    every = [LeasedId(lease.id, lease.who, lease.until) for lease in ledger.leases.values()]
    out, lapsed = ([one for one in every if (one.until > now) is on] for on in (True, False))
    return tuple(out), tuple(lapsed)


def _word_advice(goal: Goal, lead: Quantity, every: Sequence[QuantityStatus]) -> str | None:
    """How well words are predicted, for the goal learn; None for numbers, or without a model."""
    own = next((one for one in every if one.name == lead.name), None)
    if own is None or own.scores is None or goal.set_text is not None:
        return None
    commonest = max(own.counts.values()) / max(own.labels, 1)
    return (
        f"{text.percent(own.scores.accuracy)} of the labels of {own.name} are predicted right from "
        f"the others; always guessing the most common word gives {text.percent(commonest)}."
    )


def _advice(
    goal: Goal, until: Until | None, known: GoalProgress, left: int, ledger: Ledger,
    costs: Spending | None, of_words: str | None,
) -> str:  # fmt: skip
    missing = known.missing
    if costs is not None and costs.is_used_up:
        return (
            f"Stop: the budget is used up, {costs.text}. `weal settings {quote(ledger.name)} "
            "--budget NUMBER` raises it."
        )
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
    return met or of_words or goal.advice(known)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return None if isinstance(value, float) and not math.isfinite(value) else value
