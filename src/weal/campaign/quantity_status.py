"""The status of each quantity of a campaign, and of the runs that failed.

    number     error estimates, model, suspects, contradictions: as in a campaign with one number
    words      log loss, accuracy and calibration, each label predicted from the others; labels with
               a left-out probability below MIN_PLAUSIBLE should be checked
    failures   the share of runs that failed, and the input ranges in which P(works) is lowest

A campaign with one number and without failures has no such parts: its status is that of the number.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weal.campaign.events import LedgerLabel
from weal.campaign.ledger import Ledger, PredictedLabel, QuantityLedger
from weal.campaign.session import Session
from weal.core.arrays import Array, root_mean_square
from weal.diagnostics.contradictions import Contradiction
from weal.diagnostics.error_trend import Coverage, coverage
from weal.diagnostics.headline import Headline
from weal.diagnostics.model_status import ModelStatus
from weal.diagnostics.suspects import OtherUnit, Suspect
from weal.diagnostics.word_scores import (
    UnlikelyWord,
    WordScores,
    left_out_words,
    unlikely_words,
    word_scores,
    words_headline,
)
from weal.learner.joint_scores import outcome_view
from weal.learner.label_entry import told_labels
from weal.model.class_model import left_out_pass_probability
from weal.quantities.kinds import WORKED
from weal.quantities.protocol import Quantity
from weal.text import number, probability, shorten

SAMPLED_CANDIDATES = 1000  # that P(works) is averaged over
MAX_RANGES = 3  # inputs that are named
MIN_WORKS_GAP = 0.05  # of P(works) between a range and the others, from which the range is named
MAX_LEVELS = 20  # values of a column that are compared
MAX_VALUE_LETTERS = 40


@dataclass(frozen=True, slots=True)
class RandomTest:
    """The test on rows drawn at random, predicted when they were asked."""

    n: int
    rmse: float
    error: float | None  # standard error of it


@dataclass(frozen=True, slots=True)
class QuantityStatus:
    """The status of one quantity."""

    name: str
    kind: str
    unit: str
    labels: int
    labelled: int  # rows
    missing: int  # labels before there is a model
    counts: dict[str, int]  # labels of each word; empty for a number
    chosen: int = 0  # labels whose row the model has chosen
    beliefs: ModelStatus | None = None  # of a number
    check: RandomTest | None = None
    coverage: Coverage | None = None
    suspects: tuple[Suspect, ...] = ()
    other_units: tuple[OtherUnit, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    source: str | None = None  # the quantity whose predictions are an input of its model
    scores: WordScores | None = None  # of words
    unlikely: tuple[UnlikelyWord, ...] = ()
    headline: Headline | None = None  # how well it is predicted; None without a model


@dataclass(frozen=True, slots=True)
class FailingRange:
    """A range or a value of an input in which runs work less often than elsewhere."""

    column: str
    values: str  # "87 to 120", or a level
    works: float  # mean P(works) there
    elsewhere: float

    @property
    def words(self) -> str:
        """The range and both probabilities."""
        where = f"{shorten(self.column, MAX_VALUE_LETTERS)} {self.values}"
        return f"{where}: P(works) {probability(self.works)}; else {probability(self.elsewhere)}"


@dataclass(frozen=True, slots=True)
class FailureStatus:
    """The runs that failed."""

    failed: int
    runs: int  # that failed or worked
    missing: int  # outcomes before there is a model
    where: tuple[FailingRange, ...]
    scores: WordScores | None


@dataclass(frozen=True, slots=True)
class WaitingRow:
    """A row that has labels of some quantities and waits for others."""

    id: str
    quantities: tuple[str, ...]  # that it waits for


def count_model_chosen(own: QuantityLedger) -> int:
    """The number of labels of rows that the model has chosen."""
    return sum(past.body["why"]["how"] == "chosen" for past in own.foretold)


def random_test(own: QuantityLedger) -> RandomTest | None:
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


def asked_coverage(foretold: Sequence[PredictedLabel]) -> Coverage | None:
    """The share of labels inside the intervals that were given when rows were asked."""
    ends = [(past.told.y, past.body["low"], past.body["high"]) for past in foretold]
    inside = [low <= y <= high for y, low, high in ends if low is not None and high is not None]
    return coverage(sum(inside), len(inside)) if inside else None


def word_status(session: Session, quantity: Quantity, own: QuantityLedger) -> QuantityStatus:
    """The status of a quantity of words."""
    found = left_out_words(session.state, session.beliefs, quantity)
    told, rows = own.told(), told_labels(session.state, quantity).told
    counts = {
        word: sum(round(label.y) == code for label in told)
        for code, word in enumerate(quantity.words)
    }
    n_start = session.state.settings.n_start
    return QuantityStatus(
        quantity.name, quantity.kind, quantity.unit, own.n_labels, len(own.labels),
        missing=0 if found else max(n_start - own.n_labels, 1),
        counts=counts,
        source=source_of(session, quantity),
        scores=None if found is None else word_scores(*found),
        unlikely=() if found is None else unlikely_words(rows, quantity, *found),
        headline=None if found is None else words_headline(quantity, *found),
    )  # fmt: skip


def source_of(session: Session, quantity: Quantity) -> str | None:
    """The quantity whose predictions are an input of a model with fewer labels."""
    part = quantity.parts()[0].name
    has_several = len(session.state.parts) > 1 and session.view(part).has_model
    return session.learner.source_of(quantity.name) if has_several else None


def failure_status(session: Session) -> FailureStatus | None:
    """The runs that failed, and where; None if no run has failed."""
    ledger, state = session.ledger, session.state
    failed = len(ledger.failures.labels)
    if not failed:
        return None
    runs, view = len(ledger.labelled()), outcome_view(state)
    if view is None:
        missing = max(state.settings.n_start - runs, 1)
        return FailureStatus(failed, runs, missing, (), None)
    model = session.beliefs.model(view)
    p = left_out_pass_probability(model, session.beliefs.slope(view))
    codes = np.array([label.y > 0.0 for label in view.labels], dtype=np.intp)
    scores = word_scores(np.stack([1.0 - p, p], axis=1), codes)
    return FailureStatus(failed, runs, 0, where_runs_fail(session), scores)


def where_runs_fail(session: Session) -> tuple[FailingRange, ...]:
    """The inputs that matter most for failures, and the range of each in which most runs fail."""
    state, view = session.state, session.view(WORKED)
    at, X = state.candidates.sample(state.settings.seed)
    every = -(-len(at) // SAMPLED_CANDIDATES)
    at, X = at[::every], X[::every]
    p = session.beliefs.pass_probability(view, X)
    rows = [session.pool.row(n) for n in at.tolist()]
    names = [one.name for one in session.pool.plan.columns if one.kind != "dropped"]
    found = [_worst_range(name, [row.get(name) for row in rows], p) for name in names]
    clear = [one for one in found if one and one.elsewhere - one.works >= MIN_WORKS_GAP]
    return tuple(sorted(clear, key=lambda one: one.works - one.elsewhere)[:MAX_RANGES])


def _worst_range(column: str, cells: Sequence[object], p: Array) -> FailingRange | None:
    """The third of the numbers of a column, or the level, with the lowest mean P(works)."""
    numbers = [cell for cell in cells if isinstance(cell, int | float) and cell == cell]
    groups: dict[str, list[int]] = {}
    if len(numbers) > len(cells) // 2:
        edges = np.quantile(np.array(numbers, dtype=np.float64), [0.0, 1 / 3, 2 / 3, 1.0])
        for n, cell in enumerate(cells):
            if isinstance(cell, int | float) and cell == cell:
                k = int(np.clip(np.searchsorted(edges, float(cell), side="right") - 1, 0, 2))
                groups.setdefault(f"{number(edges[k], 3)} to {number(edges[k + 1], 3)}", []).append(
                    n
                )
    else:
        for n, cell in enumerate(cells):
            shown = "missing" if cell is None else shorten(str(cell), MAX_VALUE_LETTERS)
            groups.setdefault(shown, []).append(n)
    if not 1 < len(groups) <= MAX_LEVELS:
        return None
    means = {values: float(p[rows].mean()) for values, rows in groups.items()}
    worst = min(means, key=means.__getitem__)
    others = np.setdiff1d(np.arange(len(p)), groups[worst])
    return FailingRange(column, worst, means[worst], float(p[others].mean()))


def waiting_rows(ledger: Ledger) -> tuple[WaitingRow, ...]:
    """Rows with a label of some quantities, and without one of others."""
    every: dict[str, tuple[LedgerLabel, ...]] = {}
    for own in ledger.quantities.values():
        every |= own.labels
    found = (
        WaitingRow(name, tuple(k for k, one in ledger.quantities.items() if name not in one.labels))
        for name in every
    )
    return tuple(row for row in found if row.quantities)
