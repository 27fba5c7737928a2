"""What was asked and what is skipped, and which candidate is next.

A query is chosen by the acquisition functions in use (`asking`), on what is believed once every
pending candidate is given the ensemble's mean as its label. Before the first choice after news the
functions are weighed; the weights depend on the labels alone, not on what is pending.
"""

from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.errors import Exhausted
from weal.learner.candidates import Candidates
from weal.learner.choosing import Chooser, Chosen, Outlook, next_of_start
from weal.learner.history import NAN, History
from weal.learner.knowledge import Knowledge
from weal.learner.labels import Labels

Kept = tuple[dict[Hashable, int], int, Array, int]


class Queries:
    """Pending and skipped candidates, and the way to the next."""

    def __init__(self, chooser: Chooser, seed: int) -> None:
        self.chooser, self.seed = chooser, seed
        self.pending: dict[Hashable, int] = {}  # id -> its row in the history
        self.skipped: set[Hashable] = set()
        self.history = History()
        self.batch: list[Hashable] = []  # asked since the last news
        self.news, self.adapted = 0, -1  # changes of the labels; the last that omega followed
        self.outlook: Outlook | None = None  # with pending points believed: these, in this order
        self.believed: list[Hashable] = []

    def free(
        self, candidates: Candidates, labels: Labels, wanted: int
    ) -> NDArray[np.bool_]:  # (U,)
        """Who is neither labelled, asked, skipped nor removed; Exhausted if fewer than wanted."""
        free = candidates.present.copy()
        taken = [*labels.by_name, *self.pending, *self.skipped]
        free[[candidates.index[name] for name in taken]] = False
        left = int(free.sum())
        if wanted > left:
            raise Exhausted(
                f"asked for {wanted} more, and {left} candidates are left: "
                f"{len(labels.by_name)} of {len(candidates)} are labelled, "
                f"{len(self.pending)} asked, {len(self.skipped)} skipped. "
                "Add candidates (add), or bring skipped ones back (unskip; weal skip --undo)."
            )
        return free

    def extend(
        self, batch: list[Hashable], wanted: int, candidates: Candidates, labels: Labels,
        known: Knowledge, free: NDArray[np.bool_],
    ) -> None:  # fmt: skip
        """Ask for more until the batch has as many as wanted; all of them, or none."""
        kept = dict(self.pending), self.adapted, self.chooser.log_omega, len(self.history)
        try:
            while len(batch) < wanted:
                batch.append(self._next(candidates, labels, known, free))
                free[candidates.index[batch[-1]]] = False
        except BaseException:  # a score of the user's own, or Ctrl-C: nothing was asked
            self._back_to(kept)
            raise
        self.batch = batch

    def _back_to(self, kept: Kept) -> None:
        self.pending, self.adapted, self.chooser.log_omega, rows = kept
        self.outlook = None
        del self.history[rows:]

    def forget_plans(self) -> None:
        """The next batch is chosen anew."""
        self.batch, self.outlook = [], None

    def take_over(
        self, asked: Sequence[Hashable], skipped: Iterable[Hashable], step: int,
        log_omega: Array, weighed: bool,
    ) -> None:  # fmt: skip
        """Go on from what others decided; `weighed` if omega followed the labels up to now."""
        if list(self.pending) != list(asked):
            if not set(self.believed) <= set(asked):
                self.outlook = None
            self.pending = {name: self._row(name, step) for name in asked}
        self.skipped, self.batch = set(skipped), []
        self.chooser.log_omega = log_omega
        self.adapted = self.news if weighed else -1

    def _row(self, name: Hashable, step: int) -> int:
        row = self.pending.get(name)
        return self.history.asked(step, name, "elsewhere") if row is None else row

    def _next(
        self, candidates: Candidates, labels: Labels, known: Knowledge, free: NDArray[np.bool_]
    ) -> Hashable:
        if known.fitted:
            chosen = self._choose(candidates, labels, known, free)
            why, expected = " + ".join(self.chooser.functions), known.predicted(chosen.n)
        else:
            told, asked = [label.x for label in labels], list(self.pending)
            chosen = next_of_start(candidates, told, asked, free, self.seed)
            why, expected = "start", (NAN, NAN)
        name = candidates.ids[chosen.n]
        self.pending[name] = self.history.asked(len(labels), name, why, chosen, expected)
        return name

    def _choose(
        self, candidates: Candidates, labels: Labels, known: Knowledge, free: NDArray[np.bool_]
    ) -> Chosen:
        chooser, ids = self.chooser, candidates.ids
        scores = None
        if len(chooser.functions) > 1 and self.adapted != self.news:
            now = known.outlook(labels)
            scores = chooser.scores(now.belief((self.seed, len(labels))), free)
            picks = chooser.picks(scores, free, self.seed, ids)
            chooser.adapt(picks, known.losses(labels, sorted(set(picks))))
            self.adapted = self.news
        if scores is None or self.pending:
            key = (self.seed, len(labels) + len(self.pending))
            ahead = self._look_ahead(candidates, labels, known)
            scores = chooser.scores(ahead.belief(key), free)
        return chooser.choose(scores, free, self.seed, ids)

    def _look_ahead(self, candidates: Candidates, labels: Labels, known: Knowledge) -> Outlook:
        """The outlook with every pending point believed; their order does not matter."""
        now = known.outlook(labels)
        if self.outlook is None:
            self.outlook, self.believed = now, []
        done = set(self.believed)
        new = [name for name in self.pending if name not in done]
        if new:
            at = [candidates.index[name] for name in new]
            self.outlook = self.outlook.believing(at, now.means(at))
            self.believed += new
        return self.outlook
