"""Ask and tell: from a pool of candidates, which to label next; from its label, what we know now.

The labels told are the truth; the model is their fold, and the belief on the pool follows it one
covariance column at a time. Before `n_start` labels there is no model, and `ask` fills space. With
the `n_start`-th label the model is fitted to all labels so far: scaling (of pool and labels),
magnitudes and noises are settled then, and stay.

Everything random comes from (seed, step), ties are broken by (seed, id), and `ask` changes nothing
that a second `ask` could see: without news it gives the same answer again.
"""

import os
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.learner import learner_file, run
from weal.learner.candidates import Candidates
from weal.learner.choosing import Chooser
from weal.learner.history import NAN, History
from weal.learner.knowledge import Knowledge, Surroundings, Watch, fresh_model
from weal.learner.labels import Label, Labels, pairs, several, sort
from weal.learner.pool import MEMORY
from weal.learner.queries import Queries
from weal.model.checks import check_count, check_seed, check_validation
from weal.model.regressor import EnsembleGPRegressor


class ActiveLearner:
    """Picks the next candidate worth labelling, and learns from its label at once.

    Parameters
    ----------
    model : EnsembleGPRegressor or None
        Its parameters are taken (a clone), not its labels. None: the default one.
    pool : array (U, d), or a pandas, polars or pyarrow frame
        The candidates, in any units.
    acquisition : str, function, or list of them
        One of random, wvar, went, qbc, gpm-var, gpm-ent, ivr, bald, igs; "auto" for the
        paper's five and igs together, weighed as labels come (the default); "multi" for the five
        alone; a list for others together; or your own function of a
        `weal.core.acquisition.Belief` that returns one score for each candidate.
    ids, id_column
        Ids of the candidates: a list, or the frame's column that holds them. Neither: the index
        of a pandas frame, else 0, 1, 2, ...
    validation : (X, y) or None
        Labels kept apart, on which several acquisition functions are judged. None: they are
        judged by leave-one-out on the labels told (ours; needs no labels to spare).
    eta, score_scaling
        Learning rate of their weights, for labels of sd 1; "range" (shift and scale to [0, 1]) or
        "maximum" (the paper's literal rule).
    target : array (N, d) or None
        Where `ivr` wants to be sure; None: the pool.
    n_start : int or None
        Labels before there is a model; None: d + 3, but 5 at the least and 10 at the most.
    seed : int
        Decides all that is random.
    memory : int
        Bytes that cached features of the pool may take.

    Examples
    --------
    >>> import numpy as np
    >>> from weal import ActiveLearner, EnsembleGPRegressor
    >>> X_pool = np.linspace(0, 6, 61)[:, None]
    >>> learner = ActiveLearner(EnsembleGPRegressor(), pool=X_pool, acquisition="gpm-var")
    >>> for _ in range(12):
    ...     query = learner.ask()
    ...     learner.tell(query, np.sin(X_pool[query, 0]))
    >>> bool(np.abs(learner.model.predict(X_pool) - np.sin(X_pool[:, 0])).max() < 0.05)
    True
    """

    def __init__(
        self,
        model: EnsembleGPRegressor | None = None,
        pool: Any = None,
        acquisition: Any = "auto",
        *,
        ids: Iterable[Hashable] | None = None,
        id_column: str | None = None,
        validation: tuple[Any, Any] | None = None,
        eta: float = 20.0,
        score_scaling: str = "range",
        target: Any = None,
        n_start: int | None = None,
        seed: int = 0,
        memory: int = MEMORY,
    ) -> None:
        if pool is None:
            raise ValueError("ActiveLearner needs a pool: one row for each candidate")
        self.candidates = Candidates(pool, ids, id_column)
        d = self.candidates.X.shape[1]
        self.chooser = Chooser(acquisition, eta, score_scaling)
        self.validation = check_validation(validation, self.candidates.like)
        self.target = None if target is None else self.candidates.like(target)
        self.n_start = min(10, max(5, d + 3)) if n_start is None else check_count(n_start)
        self.seed, self.memory = check_seed(seed), int(memory)
        self.labels = Labels()
        self._queries = Queries(self.chooser, self.seed)
        self._knowledge = Knowledge(fresh_model(model, self.seed, d))

    @property
    def pending(self) -> dict[Hashable, int]:
        """Ids that were asked and wait for their label, each with its row in the history."""
        return self._queries.pending

    @property
    def skipped(self) -> set[Hashable]:
        """Ids that are left out for now."""
        return self._queries.skipped

    @property
    def history(self) -> History:
        """What was asked, why, and what came back (`weal.learner.history`)."""
        return self._queries.history

    @property
    def fitted(self) -> bool:
        """Whether there is a model: labels enough have come."""
        self._catch_up()
        return self._knowledge.fitted

    @property
    def model(self) -> EnsembleGPRegressor:
        """The regressor, fitted to the labels told so far.

        For a frame as pool it predicts on frames with the same columns; to an array it then gives
        scikit-learn's warning that the names of its columns cannot be checked.
        """
        self._catch_up()
        return self._knowledge.model

    def ask(self, n: int | None = None, *, more: bool = False) -> Any:
        """The id of the candidate to label next; with `n`, a list of n ids for one batch.

        Without news since the last `ask` the answer is the same (and a longer batch begins with
        the shorter one). Points asked before and still without a label are not asked again.
        `more=True` asks for points beyond all that were asked, even without news.
        """
        wanted = 1 if n is None else check_count(n)
        self._catch_up()
        batch = [] if more else list(self._queries.batch)
        free = self.free(wanted - len(batch))
        around = (self.candidates, self.labels, self._knowledge)
        self._queries.extend(batch, wanted, *around, free)
        return batch[0] if n is None else batch[:wanted]

    def free(self, wanted: int = 0) -> NDArray[np.bool_]:
        """Which candidates (U,) may be asked; Exhausted when there are fewer than wanted."""
        return self._queries.free(self.candidates, self.labels, wanted)

    def take_over(
        self, asked: Sequence[Hashable], skipped: Iterable[Hashable], log_omega: Array,
        weighed: bool,
    ) -> None:  # fmt: skip
        """Go on from what was decided elsewhere: who is asked (in this order), who is skipped.

        `log_omega` are the weights of the acquisition functions, and `weighed` tells whether they
        followed the labels up to now.
        """
        self._queries.take_over(asked, skipped, len(self.labels), log_omega, weighed)

    def rows(self, ids: Sequence[Hashable]) -> Any:
        """The rows of these ids, as the kind of table that the pool was."""
        return self.candidates.rows(list(ids))

    def tell(
        self,
        ids: Any,
        labels: Any,
        *,
        noise: Any = None,
        replace: bool = False,
        repeat: bool = False,
    ) -> None:
        """Learn the label of an id, or the labels of several.

        The same label again changes nothing; another one raises AlreadyLabelled, unless
        `replace` says that it corrects the old or `repeat` that it is a second measurement.
        `noise` is the sd of what is known of a label's noise. Either all is taken or nothing.
        """
        if replace and repeat:
            raise ValueError("replace corrects a label and repeat adds to it: not both at once")
        rows = [
            Label(self.candidates.name(given), self.candidates.x(given), y, sd)
            for given, y, sd in pairs(ids, labels, noise)
        ]
        dropped, new = sort(self.labels, rows, replace, repeat)
        if new:
            self._take(dropped, new)

    def tell_points(self, X: Any, y: Any, *, noise: Any = None) -> None:
        """Learn labels y (N,) of points X (N, d) that are not in the pool."""
        points = self.candidates.like(np.atleast_2d(X) if np.ndim(X) < 2 and not several(y) else X)
        rows = pairs(range(len(points)), y if several(y) else [y], noise)
        new = [Label(None, x, value, sd) for x, (_, value, sd) in zip(points, rows, strict=True)]
        self._take([], new)

    def forget(self, name: Hashable) -> None:
        """Drop the label of an id, as if it had never been told; it may be asked again."""
        name = self.candidates.name(name)
        if name not in self.labels.by_name:
            raise ValueError(f"{name!r} has no label to forget")
        self._take([name], [])

    def skip(self, name: Hashable) -> None:
        """Leave an id out for now: not asked until `unskip`, or until its label is told."""
        name = self.candidates.name(name)
        self.skipped.add(name)
        self.pending.pop(name, None)
        self._queries.forget_plans()

    def unskip(self, name: Hashable) -> None:
        """Let a skipped id be asked again."""
        self.skipped.discard(self.candidates.name(name))
        self._queries.forget_plans()

    def add(
        self, pool: Any, ids: Iterable[Hashable] | None = None, *, to_target: bool = False
    ) -> None:
        """Add candidates: rows like the pool's. `to_target` adds them to the target of ivr too."""
        if self.target is None:
            self.target = self.candidates.X  # what the pool was stays the target
        before = self.candidates.add(pool, ids, self._knowledge.check_inputs)
        self._queries.batch, self._queries.outlook, self._knowledge.pool = [], None, None
        if to_target:
            self.target = np.concatenate([self.target, self.candidates.X[before:]])

    def remove(self, ids: Iterable[Hashable]) -> None:
        """Take candidates out of the pool; labels of theirs stay."""
        names = [self.candidates.name(given) for given in ids]
        self.candidates.present[[self.candidates.index[name] for name in names]] = False
        for name in names:
            self.pending.pop(name, None)
        self._queries.forget_plans()

    def predicted_error(self) -> float:
        """Root mean square, over the pool, of the error that the model itself expects."""
        self._catch_up()
        if not self._knowledge.fitted:
            return float("inf")
        return self._knowledge.predicted_error(self.candidates.present)

    def watch(self, X: Any) -> Watch:
        """Keep the belief on other points X (N, d) up to date too, at one column a label.

        The same as `model.predict(X)` after every label, without computing it anew.
        """
        watch = Watch(self._knowledge, self.candidates.like(X), self._catch_up)
        self._knowledge.watches.append(watch)
        self._catch_up()
        return watch

    def run(self, oracle: Any, n: int, **options: Any) -> run.Run:
        """Ask, have `oracle` measure, and tell, n times; see `weal.learner.run.run`."""
        return run.run(self, oracle, n, **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learner to one file, without pickle; `load` reads it."""
        self._catch_up()
        learner_file.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], acquisition: Any = None) -> Self:
        """The learner that `save` wrote; `acquisition` gives functions of your own again."""
        learner: Self = learner_file.load(cls, path, acquisition)
        return learner

    def _take(self, dropped: Sequence[Hashable], new: Sequence[Label]) -> None:
        """Labels out and labels in: first the truth, then what follows from it."""
        self._catch_up()
        self._knowledge.check(new)
        places = [self.candidates.index.get(label.name) for label in new]
        asked_for = [label.name in self.pending for label in new]
        expected = [
            (NAN, NAN) if asked else self._knowledge.expected(n)
            for asked, n in zip(asked_for, places, strict=True)
        ]
        step, asked = len(self.labels), dict(self.pending)
        labels, names = self.labels.after(dropped, new), {label.name for label in new}
        pending = {name: row for name, row in asked.items() if name not in names}
        skipped = self.skipped - names
        # All at once: whoever presses Ctrl-C finds the labels taken, or nothing changed.
        if dropped:
            self._knowledge.torn = True
        queries = self._queries
        self._knowledge.sound, queries.batch, queries.outlook = False, [], None
        self.labels, queries.pending, queries.skipped = labels, pending, skipped
        queries.news += 1
        notes = [
            self.history.told(step, label, asked.pop(label.name, None), mean_sd)
            for label, mean_sd in zip(new, expected, strict=True)
        ]
        if not dropped:
            self._knowledge.learn(list(zip(new, places, strict=True)))
        self._catch_up()
        self.history.weigh(notes, self._knowledge.weights)

    def _catch_up(self) -> None:
        """Bring the model to what the labels say, if it is not there."""
        if not self._knowledge.fitted and len(self.labels) < self.n_start:
            self._knowledge.sound = True
            return
        target = self.target if self.target is not None else self.candidates.X
        around = Surroundings(
            self.candidates.X,
            self.validation,
            target if self.chooser.needs_target else None,
            self.memory,
        )
        if not self._knowledge.fitted:
            labelled = [self.candidates.index[name] for name in self.labels.by_name]
            unlabelled = np.delete(self.candidates.X, labelled, axis=0)
            self._knowledge.fit(self.labels, unlabelled, self.candidates.columns)
        elif not self._knowledge.sound:
            self._knowledge.mend(self.labels)
        self._knowledge.start(around)
