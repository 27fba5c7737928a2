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
from typing import Any

import numpy as np

from weal.campaign import checkpoint
from weal.campaign.ledger import Ledger, Step
from weal.campaign.pool import Pool
from weal.campaign.rules import Offer
from weal.learner import ActiveLearner
from weal.regressor import EnsembleGPRegressor
from weal.resuming import Move, Past, jump, past

LEVEL = 0.9  # of the intervals that are shown
CHECK = 7  # part of the random key of rows that are offered for a test


class Mind:
    """A learner that follows a campaign."""

    def __init__(self, ledger: Ledger, pool: Pool, kept: bytes | None = None) -> None:
        self.pool, self.settings = pool, ledger.settings
        self.aside: dict[str, str] = {}  # id -> why its label is not used
        self.kept = 0  # labels by which the experts in the checkpoint were settled
        self.learner, self.done = self._begun(ledger), 1  # and steps taken
        if not self._jumped(ledger, kept):
            self.learner = self._begun(ledger)
            self.follow(ledger)

    def _begun(self, ledger: Ledger) -> ActiveLearner:
        first, seed = ledger.steps[0].rows, ledger.settings["seed"]
        return ActiveLearner(
            EnsembleGPRegressor(random_state=seed, warp=ledger.settings["warp"]),
            self.pool.X[:first],
            ledger.settings["acquisition"],
            ids=self.pool.ids[:first],
            n_start=ledger.settings["n_start"],
            seed=seed,
        )

    def _jumped(self, ledger: Ledger, kept: bytes | None) -> bool:
        """Whether the learner could be brought to the last step at once."""
        found = self.past(ledger)
        if found is None:
            return False
        for step in ledger.steps[1:]:
            if step.kind == "add":
                self._take(step)
        try:
            jump(self.learner, found, checkpoint.read(kept, found, self.settings))
        except ValueError:  # a label that no model can take: which one is found step by step
            return False
        self.done = len(ledger.steps)
        return True

    def past(self, ledger: Ledger) -> Past | None:
        """What decides where the learner is."""
        moves = (_move(step) for step in ledger.steps[1:])
        return past(moves, ledger.steps[0].rows, self.learner.n_start)

    def follow(self, ledger: Ledger) -> None:
        """Take the steps that are new."""
        for step in ledger.steps[self.done :]:
            self._take(step)
            self.done += 1

    def _take(self, step: Step) -> None:
        learner = self.learner
        if step.kind == "add":
            before = len(learner.candidates)
            learner.add(self.pool.X[before : step.rows], self.pool.ids[before : step.rows])
            return
        there = step.id in learner.labels.by_name
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
            if step.id in learner.labels.by_name:
                learner.forget(step.id)

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
        return offers, {"log_omega": learner.chooser.log_omega.tolist()}

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
        omega = None if ledger.ask is None else np.array(ledger.ask["log_omega"])
        self.learner.take_over(asked, ledger.skipped, omega, not ledger.news)
        return self.learner


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
