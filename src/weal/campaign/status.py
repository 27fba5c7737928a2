r"""How far a campaign is: what is known, how well, and whether to go on.

    with weal.open_campaign("alloys") as campaign:
        print(*campaign.status(goal=5.0).lines(), sep="\n")

Everything follows from the events and the clock of the store: the same events give the same
status. Error estimates are those of `trend`; what is made of them is in `stopping` and
`random_choice`, what it sounds like in `reporting`.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import numpy as np
from scipy.special import betaincinv

from weal.campaign import reporting
from weal.campaign.campaign import Campaign, Progress
from weal.campaign.ledger import Foretold, Ledger
from weal.campaign.mind import LEVEL, Mind
from weal.diagnostics import input_importance, stopping
from weal.diagnostics.explain import sample
from weal.diagnostics.leave_one_out import left_out_levels
from weal.diagnostics.random_choice import Comparison, beside_random
from weal.diagnostics.stopping import Change, Needed
from weal.diagnostics.trend import POOL, WINDOW, Trend, trend
from weal.model.prediction import in_units

SURE = 0.95  # of the interval for a coverage
LAST, LAST_SHARE = 5, 0.1  # "the last labels": this share of them, and so many at the least
EXPERTS = 4  # that are shown


@dataclass(frozen=True, slots=True)
class Out:
    """A row that somebody has."""

    id: str
    who: str
    until: datetime


@dataclass(frozen=True, slots=True)
class Estimate:
    """An error estimate now, and its course: labels, and the error after them."""

    now: float
    course: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many labels were in their intervals; `low` and `high` bound the share that will be."""

    inside: int
    n: int
    level: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Check:
    """The honest test: rows drawn at random, predicted when they were asked."""

    n: int
    rmse: float
    error: float | None  # standard error of it


@dataclass(frozen=True, slots=True)
class Expert:
    """An expert and what the labels make of it."""

    weight: float
    family: str
    lengths: tuple[float, ...]  # in sds of the inputs: one, or one for each


@dataclass(frozen=True, slots=True)
class Beliefs:
    """What there is once there is a model."""

    left_out: Estimate
    prequential: Estimate | None
    expected: Estimate
    expected_over: int  # candidates
    window: int  # labels that the prequential error looks back on
    left_out_coverage: Coverage
    noise: float  # sd of a label's noise, as the model has found it
    experts: tuple[Expert, ...]
    acquisition: dict[str, float]
    inputs: dict[str, float]
    change: Change | None
    random: Comparison | None


@dataclass(frozen=True, slots=True)
class Status:
    """Where a campaign stands."""

    name: str
    candidates: int
    labels: int
    labelled: int  # rows
    repeats: int
    out: tuple[Out, ...]
    lapsed: tuple[Out, ...]
    skipped: int
    aside: dict[str, str]  # labels that no model can take: id -> why
    missing: int  # labels before there is a model
    check: Check | None
    coverage: Coverage | None  # of the intervals given when rows were asked
    goal: float | None
    needed: Needed | None
    beliefs: Beliefs | None
    advice: str

    def to_dict(self) -> dict[str, Any]:
        """As what JSON can say."""
        plain: dict[str, Any] = _plain(asdict(self))
        return plain

    def lines(self) -> list[str]:
        """The same to be read."""
        return reporting.lines(self)


def status(campaign: Campaign, goal: float | None, progress: Progress | None = None) -> Status:
    """Where the campaign stands; `goal` in place of the one in its settings."""
    mind, ledger, now = campaign.mind, campaign.ledger, campaign.store.now()
    goal = ledger.settings["goal"] if goal is None else _checked(goal)
    course = trend(campaign, progress)
    missing = 0 if course else max(mind.learner.n_start - len(mind.learner.labels), 1)
    beliefs = _beliefs(mind, ledger, course, progress) if course else None
    left = ledger.rows - len(ledger.labels)
    seed = mind.settings["seed"]
    needed = stopping.needed(course, goal, left, seed) if course and goal else None
    out = [Out(lease.id, lease.who, lease.until) for lease in ledger.leases.values()]
    return Status(
        name=campaign.name,
        candidates=ledger.rows,
        labels=ledger.n_labels,
        labelled=len(ledger.labels),
        repeats=ledger.n_labels - len(ledger.labels),
        out=tuple(one for one in out if one.until > now),
        lapsed=tuple(one for one in out if one.until <= now),
        skipped=len(ledger.skipped),
        aside=dict(mind.aside),
        missing=missing,
        check=honest_test(ledger),
        coverage=_asked_coverage(ledger.foretold),
        goal=goal,
        needed=needed,
        beliefs=beliefs,
        advice=_advice(course, beliefs, needed, missing, left),
    )


def honest_test(ledger: Ledger) -> Check | None:
    """The error on rows that were drawn at random, as predicted when they were asked."""
    errors = np.array(
        [
            past.told.y - past.body["mean"]
            for past in ledger.foretold
            if past.body["check"] and past.body["mean"] is not None
        ]
    )
    if not len(errors):
        return None
    rmse = float(np.sqrt((errors**2).mean()))
    error = None
    if len(errors) > 1 and rmse > 0.0:  # of a root: half that of the square, over the root
        error = float((errors**2).std(ddof=1) / np.sqrt(len(errors)) / (2.0 * rmse))
    return Check(len(errors), rmse, error)


def coverage(inside: int, n: int) -> Coverage:
    """So many of n inside their intervals, with the shares that go with that (Jeffreys)."""
    tail = 0.5 * (1.0 - SURE)
    low, high = betaincinv(inside + 0.5, n - inside + 0.5, [tail, 1.0 - tail]).tolist()
    return Coverage(inside, n, LEVEL, low if inside else 0.0, high if inside < n else 1.0)


def _asked_coverage(foretold: Sequence[Foretold]) -> Coverage | None:
    known = [past for past in foretold if past.body["low"] is not None]
    inside = [past.body["low"] <= past.told.y <= past.body["high"] for past in known]
    return coverage(sum(inside), len(inside)) if inside else None


def _beliefs(mind: Mind, ledger: Ledger, course: Trend, progress: Progress | None) -> Beliefs:
    learner, model = mind.learner, mind.learner.model
    t, X = model.n_labels_, sample(mind, POOL)
    last = max(LAST, int(LAST_SHARE * t))
    inside = np.abs(left_out_levels(model.fold_) - 0.5) <= 0.5 * LEVEL
    scaled = model.scaling_.inputs(learner.candidates.X)
    seed = mind.settings["seed"]
    return Beliefs(
        left_out=Estimate(course.now.left_out, tuple((m.labels, m.left_out) for m in course.marks)),
        prequential=_prequential(course),
        expected=Estimate(course.now.expected, tuple((m.labels, m.expected) for m in course.marks)),
        expected_over=course.candidates,
        window=WINDOW,
        left_out_coverage=coverage(int(inside.sum()), len(inside)),
        noise=_noise(mind),
        experts=_experts(mind),
        acquisition=_acquisition(mind, ledger),
        inputs=input_importance.shares(model, mind.pool.plan.names),
        change=stopping.changed(model, learner.n_start, X, last),
        random=beside_random(model.fold_, model.scaling_, scaled, seed, progress),
    )


def _prequential(course: Trend) -> Estimate | None:
    at = [mark.labels for mark in course.marks]
    known = [(n, error) for n in at if (error := course.prequential(n)) is not None]
    return Estimate(known[-1][1], tuple(known)) if known else None


def _noise(mind: Mind) -> float:
    """The sd of noise in the user's units, where labels are what they are on average."""
    model = mind.learner.model
    noise = model.noise_[:, None]
    _, sd = in_units(model.fold_, model.scaling_, np.zeros_like(noise), noise)
    return float(sd[0])


def _acquisition(mind: Mind, ledger: Ledger) -> dict[str, float]:
    """Weights of the acquisition functions at the last ask; even where there was none."""
    names = list(mind.learner.chooser.functions)
    omega = np.exp(ledger.ask["log_omega"]) if ledger.ask else []
    even = [1.0 / len(names)] * len(names)
    return dict(zip(names, map(float, omega if len(omega) == len(names) else even), strict=True))


def _experts(mind: Mind) -> tuple[Expert, ...]:
    model = mind.learner.model
    best = np.argsort(-model.weights_, kind="stable")[:EXPERTS].tolist()
    return tuple(
        Expert(
            float(model.weights_[m]),
            model.dictionary_[m].family,
            tuple(np.atleast_1d(model.dictionary_[m].length_scale).tolist()),
        )
        for m in best
    )


def _advice(
    course: Trend | None, beliefs: Beliefs | None, needed: Needed | None, missing: int, left: int
) -> str:
    if left <= 0:
        return "All candidates are labelled: there is nothing left to ask."
    return stopping.advice(course, beliefs.change if beliefs else None, needed, missing)


def _checked(goal: float) -> float:
    if not (math.isfinite(goal) and goal > 0.0):
        raise ValueError(f"goal is {goal!r}; it needs an error above 0, in units of the label")
    return float(goal)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return None if isinstance(value, float) and not math.isfinite(value) else value
