"""What a campaign knows: an `ActiveLearner` that has been through its steps.

The learner is where the steps of the ledger, taken one by one, lead: what it believes is a function
of the events alone, whoever wrote them and whenever it was opened. A campaign that is opened jumps
there (`weal.resuming`), and settles its experts anew or takes them from a checkpoint. Which rows
are out, which are skipped and how the acquisition functions are weighed is not its own to
remember: it is taken from the ledger before every choice.

A label that no model can take (1e300 among ones) stays in the events, and is left aside here, with
the reason, until it is corrected.
"""

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import numpy as np

from weal.active_learner import ActiveLearner
from weal.campaign import checkpoint
from weal.campaign.candidate_table import Pool
from weal.campaign.ledger import Ledger, Step
from weal.campaign.rules import Offer
from weal.learner.labels import Label
from weal.learner.resuming import Move, Past, jump, past
from weal.model.regressor import EnsembleGPRegressor

LABELLING = ("tell", "repeat", "correct")  # steps that bring a label
LEVEL = 0.9  # of the intervals that are shown
CHECK = 7  # part of the random key of rows that are offered for a test


class Mind:
    """A learner that follows a campaign."""

    def __init__(self, ledger: Ledger, pool: Pool, kept: bytes | None = None) -> None:
        self.pool, self.settings = pool, ledger.settings
        self.aside: dict[str, str] = {}  # id -> why its label is not used
        self.kept: Past | None = None  # of the experts in the checkpoint
        self.first = first_rows(ledger)
        self.learner, self.done = self._begun(ledger), self.first[0]  # and steps taken
        if not self._jumped(ledger, kept):
            self.learner = self._begun(ledger)
        self.follow(ledger)

    def follows_from(self, ledger: Ledger) -> bool:
        """Whether this is the learner that settings and first candidates make."""
        same = all(self.settings[name] == ledger.settings[name] for name in checkpoint.DECIDE)
        return same and self.first == first_rows(ledger)

    def _begun(self, ledger: Ledger) -> ActiveLearner:
        (_, first), seed = self.first, ledger.settings["seed"]
        return ActiveLearner(
            EnsembleGPRegressor(random_state=seed, warp=ledger.settings["warp"]),
            self.pool.X[:first],
            ledger.settings["acquisition"],
            ids=self.pool.ids[:first],
            n_start=ledger.settings["n_start"],
            seed=seed,
        )

    def _jumped(self, ledger: Ledger, kept: bytes | None) -> bool:
        """Whether the learner could be brought at once to where its experts were last settled."""
        found = self.past(ledger)
        if found is None:
            return False
        until = self.done + found.moves
        for step in ledger.steps[self.done : until]:
            if step.kind == "add":
                self._take(step)
        every = [(step.id, step.y, step.noise) for step in ledger.steps if step.kind in LABELLING]
        try:
            jump(self.learner, found, checkpoint.read(kept, found, self.settings), every)
        except ValueError:  # a label that no model can take: which one is found step by step
            return False
        self.done = until
        return True

    def past(self, ledger: Ledger) -> Past | None:
        """What decides where the learner was when its experts were last settled."""
        begun, rows = self.first
        return past(map(_move, ledger.steps[begun:]), rows, self.learner.n_start)

    def follow(self, ledger: Ledger) -> None:
        """Take the steps that are new."""
        for step in ledger.steps[self.done :]:
            self._take(step)
            self.done += 1

    def _take(self, step: Step) -> None:
        learner = self.learner
        if step.kind == "add":
            new = slice(len(learner.candidates), step.rows)
            learner.add(self.pool.X[new], self.pool.ids[new])
            return
        before = list(learner.labels.by_name.get(step.id, []))
        there = bool(before)
        if step.kind in ("correct", "forget"):
            self.aside.pop(step.id, None)
        if step.kind == "forget":
            if there:
                learner.forget(step.id)
            return
        how = {
            "repeat": there and step.kind == "repeat",
            "replace": there and step.kind == "correct",
        }
        try:
            learner.tell(step.id, step.y, noise=step.noise, **how)
        except ValueError as error:
            self.aside[step.id] = str(error)
            self._without(step, [] if step.kind == "correct" else before)

    def _without(self, step: Step, kept: list[Label]) -> None:
        """The learner without a label that it could not take; of the others of its row, those."""
        learner = self.learner
        if learner.labels.by_name.get(step.id, []) == kept:
            return
        learner.forget(step.id)
        for label in kept:
            learner.tell(step.id, label.y, noise=label.noise, repeat=True)

    def offers(
        self, ledger: Ledger, asked: Sequence[str], wanted: int, spare: int
    ) -> tuple[list[Offer], Any]:
        """The rows to ask next, best first, and what the ask leaves behind.

        As many as wanted, and spare ones where there are, should others be faster.
        """
        learner = self._taken_over(ledger, asked)
        left = int(learner.free().sum())
        ids = learner.ask(max(wanted, min(wanted + spare, left)), more=True)
        rows = [learner.history[learner.pending[name]] for name in ids]
        expected = self.expected(ids)
        offers = [
            Offer(name, {"check": False, **belief, "why": _why(row)})
            for name, row, belief in zip(ids, rows, expected, strict=True)
        ]
        omega = learner.chooser.log_omega.tolist()
        return offers, {"log_omega": omega, "acquisition": self.settings["acquisition"]}

    def checks(self, ledger: Ledger, asked: Sequence[str], n: int) -> list[Offer]:
        """Rows drawn at random, of those that are free."""
        learner = self._taken_over(ledger, asked)
        free = np.flatnonzero(learner.free(n))
        rng = np.random.default_rng([ledger.settings["seed"], CHECK, ledger.checks])
        ids = [self.pool.ids[k] for k in rng.choice(free, n, replace=False).tolist()]
        return [
            Offer(name, {"check": True, **belief, "why": {"how": "check"}})
            for name, belief in zip(ids, self.expected(ids), strict=True)
        ]

    def expected(self, ids: Sequence[str]) -> list[dict[str, float | None]]:
        """What is expected of a label of these rows; None where there is no model."""
        learner = self.learner
        if not learner.fitted:
            return [{"mean": None, "sd": None, "low": None, "high": None} for _ in ids]
        X = learner.rows(ids)
        mean, sd = learner.model.predict(X, return_std=True)
        low, high = learner.model.predict_interval(X, LEVEL)
        table = np.stack([mean, sd, low, high], axis=1).tolist()
        return [dict(zip(("mean", "sd", "low", "high"), row, strict=True)) for row in table]

    def _taken_over(self, ledger: Ledger, asked: Sequence[str]) -> ActiveLearner:
        learner, left = self.learner, ledger.ask
        omega = learner.chooser.even if left is None else np.array(left["log_omega"])
        learner.take_over(asked, ledger.skipped, omega, not ledger.news)
        return learner


def first_rows(ledger: Ledger) -> tuple[int, int]:
    """Steps before the first label, all of candidates, and how many candidates these are."""
    leading = list(takewhile(lambda step: step.kind == "add", ledger.steps))
    return len(leading), leading[-1].rows


def _move(step: Step) -> Move:
    kind = "tell" if step.kind == "repeat" else step.kind
    return Move(kind, step.id, step.y, step.noise, step.rows)


def _why(row: dict[str, Any]) -> dict[str, Any]:
    how = "start" if row["why"] == "start" else "chosen"
    return {
        "how": how,
        "scores": row["scores"],
        "shares": row["shares"],
        "weights": row["acquisition_weights"],
    }
