"""Ask and tell: from a pool of candidates, which to label next; from its label, what we know now.

`ActiveLearner` is a shell around one frozen state (`weal.learner.state`). Whatever happens to it is
an event, and `apply(state, event)` gives the next state: an interruption anywhere leaves the old
state or the new one. What the labels make of the model and of the belief on the pool follows from
the state, is computed when somebody asks, and is kept beside it (`weal.learner.beliefs`).

Before `n_start` labels there is no model, and `ask` fills space. With the `n_start`-th label the
scaling of pool and labels is settled, and stays. Everything random comes from (seed, step), ties
are broken by (seed, id).
"""

import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from weal.core.arrays import Array
from weal.learner import describing, refine, run
from weal.learner.apply import apply
from weal.learner.batches import queries
from weal.learner.beliefs import Beliefs
from weal.learner.candidates import read_candidates
from weal.learner.events import Added, Event, Released, Removed, Skipped, Told
from weal.learner.history import History
from weal.learner.labels import Label, Labels, pairs, several, sort
from weal.learner.memory_pool import MEMORY
from weal.learner.predicting import inputs_at
from weal.learner.sampling import standing_for
from weal.learner.settings import settings_of
from weal.learner.sharded.candidates import Pooled, ShardedCandidates, read_shards
from weal.learner.sharded.predicting import check_folder, predictions, write_predictions
from weal.learner.state import State, begin, with_experts
from weal.learner.watch import Watch
from weal.model.checks import check_count, check_seed
from weal.model.model import Model
from weal.shards.crew import line_on_stderr
from weal.shards.crews import crew_of
from weal.shards.pool import Shards
from weal.table.plan import Plan

if TYPE_CHECKING:
    from weal.plots.axes import Plots


class ActiveLearner:
    """Picks the next candidate worth labelling, and learns from its label at once.

    Parameters
    ----------
    pool : array (U, d), or a pandas, polars or pyarrow frame
        The candidates, in any units. An array holds numbers; so may a frame, or it has text,
        categories, dates and gaps, which are read by the plan that campaigns have (`plan`).
    model : EnsembleGPRegressor or None
        Its parameters are taken, not its labels. None: the default ones.
    acquisition : str, function, or list of them
        One of random, wvar, went, qbc, gpm-var, gpm-ent, ivr, mvr, mvr-var, mvr-var-igs,
        bald, igs; "auto", the default, which is mvr-var-igs; "multi" for the paper's five
        together, weighed as labels come; a list for others together; or your own function of a
        `weal.core.acquisition.Belief` that returns one score for each candidate. One that looks
        at each candidate by itself may say so (`f.pointwise = True`): large pools are then
        given to it in blocks.
    ids, id_column
        Ids of the candidates: a list, or the frame's column that holds them. Neither: the index
        of a pandas frame, else 0, 1, 2, ...
    target : str or None
        Name of what is measured, with its unit: "hardness [HV]". A column of that name is no
        input; labels in it are told.
    features, types
        Columns of a frame to use ("auto": all that can be); what a column is, where we would
        guess wrong: {"made": "day-first"}.
    cost : str, function, or one number for each candidate
        What a label costs: a column, or a function of the row (as an oracle gets it). Scores
        that are amounts of variance (ivr, wvar, qbc, gpm-var) are divided by it; others refuse.
    validation : (X, y) or None
        Labels kept apart, on which several acquisition functions are judged. None: they are
        judged by leave-one-out on the labels told (ours; needs no labels to spare).
    eta, score_scaling
        Learning rate of their weights, for labels of sd 1; "range" (shift and scale to [0, 1]) or
        "maximum" (the paper's literal rule).
    reference : array (N, d) or None
        Where `ivr`, `mvr` and the default want to be sure; None: the pool.
    n_start : int or None
        Labels before there is a model; None: d + 3, but 5 at the least and 10 at the most.
    seed : int
        Decides all that is random.
    memory : int
        Bytes that the pool in the form of the experts may take; what does not fit is computed
        anew block by block.
    scheduler : str, distributed.Client or None
        Who does the passes over a pool in shards (`weal.open_pool`): None: what WEAL_SCHEDULER
        says, else the threads of this process; "local" for a Dask cluster on this machine
        ("local:4": of four processes); the address of a Dask scheduler; or a client of yours,
        with its security.
    threads : int or None
        Threads of this process for such passes; None: as many as it has processors.
    index : path or None
        Folder where the index of the ids of such a pool is kept; None: made by every process.

    Examples
    --------
    >>> import numpy as np
    >>> from weal import ActiveLearner
    >>> X_pool = np.linspace(0, 6, 61)[:, None]
    >>> learner = ActiveLearner(X_pool, acquisition="gpm-var")
    >>> for _ in range(12):
    ...     query = learner.ask()
    ...     learner.tell(query, np.sin(X_pool[query, 0]))
    >>> bool(np.abs(learner.model.predict(X_pool) - np.sin(X_pool[:, 0])).max() < 0.05)
    True
    """

    def __init__(
        self,
        pool: Any,
        model: Any = None,
        acquisition: Any = "auto",
        *,
        ids: Iterable[Hashable] | None = None,
        id_column: str | None = None,
        target: str | None = None,
        features: Any = "auto",
        types: Mapping[str, str] | None = None,
        cost: Any = None,
        validation: tuple[Any, Any] | None = None,
        eta: float = 20.0,
        score_scaling: str = "range",
        reference: Any = None,
        n_start: int | None = None,
        seed: int = 0,
        memory: int = MEMORY,
        scheduler: Any = None,
        threads: int | None = None,
        index: str | os.PathLike[str] | None = None,
    ) -> None:
        columns: dict[str, Any] = {"target": target, "features": features, "types": types}
        crew, progress = crew_of(scheduler, threads), line_on_stderr()
        if isinstance(pool, Shards | ShardedCandidates):
            _refuse_columns({"ids": ids, "id_column": id_column, "cost": cost, **columns})
            folder = None if index is None else Path(index)
            candidates: Pooled = (
                read_shards(pool, check_seed(seed), crew, folder, progress)
                if isinstance(pool, Shards)
                else pool
            )
        else:
            candidates = read_candidates(pool, ids, id_column, cost=cost, **columns)
        chosen = (acquisition, eta, score_scaling, n_start, seed, validation)
        settings = settings_of(candidates, model, *chosen)
        points = None if reference is None else candidates.like(reference)
        self._state = begin(settings, candidates, points)
        self._beliefs = Beliefs(int(memory), None, crew, progress)
        self._tell_known(0)

    @classmethod
    def of(cls, state: State, beliefs: Beliefs | None = None) -> Self:
        """The learner of a state, with what is kept of it already."""
        learner = cls.__new__(cls)
        learner._state, learner._beliefs = state, beliefs or Beliefs(MEMORY)
        return learner

    @property
    def state(self) -> State:
        """All that decides what the learner says next, as a frozen value."""
        return self._state

    @property
    def candidates(self) -> Pooled:
        """The pool: ids and rows."""
        return self._state.candidates

    @property
    def plan(self) -> Plan | None:
        """How a frame becomes inputs; None: its numbers are taken as they are."""
        return self.candidates.plan

    @property
    def labels(self) -> Labels:
        """The labels told, in their order."""
        return self._state.labels

    @property
    def pending(self) -> Mapping[Hashable, int]:
        """Ids that were asked and wait for their label, each with its row in the history."""
        return dict(self._state.asked)

    @property
    def skipped(self) -> frozenset[Hashable]:
        """Ids that are left out for now."""
        return self._state.skipped

    @property
    def history(self) -> History:
        """What was asked, why, and what came back; a list, with `to_frame()`."""
        return History(dict(row) for row in self._state.history)

    @property
    def acquisition_weights(self) -> dict[str, float]:
        """Weights of the acquisition functions, by name."""
        return self._state.omega

    @property
    def reference(self) -> Array | None:
        """The points (N, d) where `ivr` wants to be sure; None: the pool."""
        return self._state.reference

    @property
    def n_start(self) -> int:
        """Labels before there is a model."""
        return self._state.settings.n_start

    @property
    def seed(self) -> int:
        """What decides all that is random."""
        return self._state.settings.seed

    @property
    def fitted(self) -> bool:
        """Whether there is a model: labels enough have come."""
        return self._state.fitted

    @property
    def model(self) -> Model:
        """What the labels told so far have taught; RuntimeError while they are too few.

        For a frame as pool it predicts on frames with the same columns.
        """
        return self._beliefs.model(self._state)

    @property
    def notes(self) -> list[str]:
        """What the last pass over a pool in shards met that a sample of it had not shown."""
        return self._beliefs.notes

    def ask(self, n: int | None = None, *, more: bool = False) -> Any:
        """The id of the candidate to label next; with `n`, a list of n ids for one batch.

        Without news since the last `ask` the answer is the same (and a longer batch begins with
        the shorter one); a `Campaign` differs there, and offers others at each ask. Points asked
        before and still without a label are not asked again. `more=True` asks for points beyond
        all that were asked, even without news. All of a batch is asked, or none of it.
        """
        wanted, state = 1 if n is None else check_count(n), self._state
        batch = () if more else state.batch
        state.free(wanted - len(batch))
        more_ = max(wanted - len(batch), 0)
        for event in queries(state, self._beliefs, more_, opens=not batch):
            state, batch = apply(state, event), (*batch, event.id)
        self._state = state
        return batch[0] if n is None else list(batch[:wanted])

    def predict(self, x: Any, return_std: bool = False) -> Any:
        """Mean of f, and with `return_std` its sd: of ids (1-d), or of rows (2-d, or a frame).

        One id gives one number. `model` has intervals, quantiles and densities.
        """
        X, single = inputs_at(self.candidates, x)
        found = self.model.predict(X, return_std=True) if len(X) else (np.zeros(0), np.zeros(0))
        mean, sd = (float(one[0]) if single else one for one in found)
        return (mean, sd) if return_std else mean

    def to_frame(self, what: str = "labels") -> Any:
        """A pandas frame of labels, predictions, candidates or history."""
        from weal.learner.tables import frame

        return frame(self._state, self._beliefs, what)

    def rows(self, ids: Sequence[Hashable]) -> Any:
        """The rows of these ids, as the kind of table that the pool was."""
        return self.candidates.rows(list(ids))

    def tell(
        self,
        ids: Any,
        labels: Any = None,
        *,
        noise: Any = None,
        sure: Any = False,
        replace: bool = False,
        repeat: bool = False,
    ) -> None:
        """Learn the label of an id, the labels of several, or of a dict: {id: label}.

        The same label again changes nothing; another one raises AlreadyLabelled, unless
        `replace` says that it corrects the old or `repeat` that it is a second measurement.
        `noise` is the sd of what is known of a label's noise. A label that is called `sure` is
        never taken for an outlier; the same label told again as sure is confirmed. Either all is
        taken or nothing.
        """
        if isinstance(ids, Mapping) and labels is None:
            ids, labels = list(ids), list(ids.values())
        if replace and repeat:
            raise ValueError("replace corrects a label and repeat adds to it: not both at once")
        rows = [
            Label(self.candidates.name(given), self.candidates.x(given), y, sd, known)
            for given, y, sd, known in pairs(ids, labels, noise, sure)
        ]
        dropped, new, confirmed = sort(self.labels, rows, replace, repeat)
        if new or confirmed:
            self._apply(Told(tuple(new), tuple(dropped), tuple(confirmed)))

    def tell_points(self, X: Any, y: Any, *, noise: Any = None, sure: Any = False) -> None:
        """Learn labels y (N,) of points X (N, d) that are not in the pool."""
        points = self.candidates.like(np.atleast_2d(X) if np.ndim(X) < 2 and not several(y) else X)
        rows = pairs(range(len(points)), y if several(y) else [y], noise, sure)
        new = [Label(None, x, *row[1:]) for x, row in zip(points, rows, strict=True)]
        self._apply(Told(tuple(new)))

    def forget(self, name: Hashable) -> None:
        """Drop the label of an id, as if it had never been told; it may be asked again."""
        name = self.candidates.name(name)
        if name not in self.labels.by_name:
            raise ValueError(f"{name!r} has no label to forget")
        self._apply(Told(dropped=(name,)))

    def skip(self, name: Hashable) -> None:
        """Leave an id out for now: not asked until `unskip`, or until its label is told."""
        self._apply(Skipped(self.candidates.name(name)))

    def unskip(self, name: Hashable) -> None:
        """Let a skipped id be asked again."""
        self._apply(Skipped(self.candidates.name(name), on=False))

    def release(self, ids: Iterable[Hashable]) -> None:
        """Let candidates that were asked be asked again."""
        self._apply(Released(tuple(self.candidates.name(given) for given in ids)))

    def add(
        self,
        pool: Any,
        ids: Iterable[Hashable] | None = None,
        *,
        cost: Any = None,
        to_reference: bool = False,
    ) -> None:
        """Add candidates: rows like the pool's, read as it was; labels in its target are told.

        `cost`, where costs are numbers, has one for each. `to_reference`: `ivr` looks at them too.
        """
        before = len(self.candidates)
        self._apply(Added(self.candidates.with_more(pool, ids, cost), to_reference))
        self._tell_known(before)

    def refine(self, n: int, *, constraint: Callable[[Any], bool] | None = None) -> list[Hashable]:
        """Add n candidates near those that are wanted most, and give their ids.

        So a pool serves a continuous domain. Numbers move a little, within the range that each
        has in the pool and among its values where these are few; all else is kept. `constraint`
        gets a row as an oracle does, and says whether it may be asked. Needs a model.
        """
        more = refine.near(self._state, self._beliefs, check_count(n), constraint)
        self.add(more.rows, more.ids)
        return list(more.ids)

    def remove(self, ids: Iterable[Hashable] = (), *, shards: Iterable[Any] = ()) -> None:
        """Take candidates, or whole files of a pool in shards, out; labels of theirs stay."""
        paths = tuple(map(str, shards))
        if paths and not isinstance(self.candidates, ShardedCandidates):
            raise ValueError("the pool is in memory: it has no shards to remove")
        self._apply(Removed(tuple(self.candidates.name(given) for given in ids), paths))

    def predicted_error(self) -> float:
        """Root mean square, over the pool, of the error that the model itself expects."""
        if not self.fitted:
            return float("inf")
        at = np.flatnonzero(self.candidates.present)
        if isinstance(self.candidates, ShardedCandidates):  # a sample of a large one
            at, _ = standing_for(self.candidates, self.seed)
        _, sd = self._beliefs.moments(self._state, at)
        return float(np.sqrt((sd**2).mean())) if len(sd) else 0.0

    def predict_pool(
        self, to: str | os.PathLike[str], *, level: float = 0.9, force: bool = False
    ) -> int:
        """Write what is expected of every candidate of a pool in shards; how many there are.

        A folder of Parquet files, one for each shard: id, mean and sd of f, and the ends of the
        interval that holds a label with probability `level`.
        """
        if not isinstance(self.candidates, ShardedCandidates):
            raise ValueError("the pool is in memory: learner.model.predict(X) gives an array")
        check_folder(to, force)
        crew, progress = self._beliefs.crew, self._beliefs.progress
        found = predictions(self.candidates, self.model, level, crew, progress)
        return write_predictions(to, found, force=force)

    def close(self) -> None:
        """Let go of the processes that read a pool in shards, where there are any."""
        self._beliefs.crew.close()

    def watch(self, X: Any) -> Watch:
        """Keep the belief on other points X (N, d) up to date too, at one column a label.

        The same as `model.predict(X)` after every label, without computing it anew.
        """
        return Watch(self._beliefs, self.candidates.like(X), lambda: self._state)

    def run(
        self,
        oracle: Callable[[Any], Any],
        n: int,
        *,
        batch: int | None = None,
        by_id: bool = False,
        on_failure: str = "raise",
        callback: Callable[[Any, Hashable, float], object] | None = None,
        target_error: float | None = None,
        patience: int | None = None,
        least_gain: float = 0.01,
        progress: bool | None = None,
    ) -> run.Run:
        """Ask, have `oracle` measure, and tell, up to n times; says why it ended.

        The oracle gets the row of the candidate ((d,) for an array, a dict for a frame), or its
        id with `by_id`; with `batch`, a list of so many, and it returns or yields their labels.
        `on_failure="skip"` goes on where it raises or gives NaN: the point is skipped, and listed
        in `failures` of what is returned (it counts among the n; of a batch that raises, all are).
        `callback(learner, id, label)` is called after every label. Stops early when the predicted
        error falls below `target_error` (in units of y), or when it fell by less than `least_gain`
        of itself over the last `patience` labels. `progress` draws a bar on standard error; None:
        where that is a terminal. Ctrl-C, or an oracle that raises, loses no label: the point in
        question stays asked.
        """
        measures = run.Oracle(oracle, by_id, batch, on_failure)
        limits = run.Limits(target_error, patience, least_gain)
        return run.run(self, measures, n, callback, limits, progress)

    @property
    def plot(self) -> "Plots":
        """Pictures: `learner.plot.learning_curve()`, `.predicted()`, `.inputs()`, `.effect(name)`,
        `.map(a, b)` and `.experts()` return matplotlib axes; `.save(folder)` writes files.
        """
        from weal.plots.axes import Plots
        from weal.plots.view import view_of

        return Plots(lambda: view_of(self._state, self._beliefs))

    def __repr__(self) -> str:
        return describing.line(self._state)

    def _repr_html_(self) -> str:
        return describing.page(self._state)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learner to one file, without pickle; `load` reads it."""
        from weal.learner import learner_file

        state = self._state
        if state.fitted:  # the experts are spared the settling when it is opened
            state = with_experts(state, self._beliefs.settled(state))
        learner_file.save(state, self._beliefs.memory, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], acquisition: Any = None, cost: Any = None) -> Self:
        """The learner that `save` wrote; functions of your own are given again."""
        from weal.learner import learner_file

        state, memory = learner_file.load(path, acquisition, cost)
        return cls.of(state, Beliefs(memory))

    def _tell_known(self, start: int) -> None:
        if known := self.candidates.known_labels(start):
            self.tell(known)

    def _apply(self, event: Event) -> None:
        self._state = apply(self._state, event)


def _refuse_columns(given: Mapping[str, Any]) -> None:
    """Refuse what `open_pool` is to be told of a pool in shards."""
    for name, value in given.items():
        if value is not None and value != "auto" and value != {}:
            raise ValueError(
                f"{name} is for a pool in memory; of a pool in shards, open_pool is told which "
                "columns hold ids and inputs"
            )
