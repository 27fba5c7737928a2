"""What can be looked at of a learner: its state, what follows from it, tables and pictures.

Nothing here changes the learner; what does is in `active_learner`.
"""

import os
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from weal.core.arrays import Array
from weal.learner import describing
from weal.learner.beliefs import Beliefs
from weal.learner.candidate_sample import compared
from weal.learner.history import History
from weal.learner.labels import Labels
from weal.learner.predicting import inputs_at
from weal.learner.sampling import standing_for
from weal.learner.sharded.candidates import Pooled, ShardedCandidates
from weal.learner.sharded.predicting import check_folder, predictions, write_predictions
from weal.learner.state import State, with_experts
from weal.learner.watch import Watch
from weal.model.model import Model
from weal.table.plan import Plan

if TYPE_CHECKING:
    from weal.diagnostics.contradictions import Contradiction
    from weal.plots.axes import Plots


class LearnerView:
    """A state and what is kept of it, looked at."""

    _state: State
    _beliefs: Beliefs

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

    @property
    def plot(self) -> "Plots":
        """Pictures on matplotlib axes, such as ``learner.plot.predicted()``.

        There are learning_curve, predicted, inputs, experts, effect(name) and map(a, b);
        save(folder) writes files.
        """
        from weal.plots.axes import Plots
        from weal.plots.view import view_of

        return Plots(lambda: view_of(self._state, self._beliefs))

    def contradictions(
        self, groups: Mapping[str, Mapping[Hashable, Hashable]] | None = None
    ) -> "list[Contradiction]":
        """Labels that count although the others contradict them; nothing is changed.

        These are labels told as sure, runs of equal labels in a row, and labels of one group.

        Parameters
        ----------
        groups : mapping of mappings, optional
            For each way to group labels, such as "measured by", the group of each id.

        Returns
        -------
        list of Contradiction
            With `kind` ("sure", "run" or "group"), `ids`, the error with these labels and without,
            and `words`; none before there is a model.

        Examples
        --------
        >>> import numpy as np
        >>> from weal import ActiveLearner
        >>> X = np.random.default_rng(0).uniform(0, 6, (40, 1))
        >>> y = np.sin(X[:, 0])
        >>> y[10:15] = 0.3  # the instrument was stuck
        >>> learner = ActiveLearner(X)
        >>> learner.tell(range(40), y)
        >>> [(found.kind, found.ids) for found in learner.contradictions()]
        [('run', (10, 11, 12, 13, 14))]
        """
        from weal.diagnostics.contradictions import contradictions

        if not self._state.fitted:
            return []
        names = [label.name for label in self._state.labels]
        each = {how: [of.get(name) for name in names] for how, of in (groups or {}).items()}
        return contradictions(self._state, self.model, each)

    def predict(self, x: Any, return_std: bool = False) -> Any:
        """Mean of f, and if wanted its sd: of candidates by their ids, or of rows.

        `model` has intervals, quantiles and densities of labels.

        Parameters
        ----------
        x : id, list of ids, array (N, d) or frame
            An id, or several (1-d), of candidates; or rows (2-d, or a frame) of any inputs.
        return_std : bool
            Whether the sd of f is wanted too. It is that of f, not of a noisy label.

        Returns
        -------
        float, array (N,), or a pair of them
            The mean, in units of the labels; with `return_std` the pair (mean, sd). One id gives
            one number.

        Raises
        ------
        RuntimeError
            While labels are too few for a model.
        UnknownId
            Where an id is not in the pool.

        Examples
        --------
        >>> import numpy as np
        >>> from weal import ActiveLearner
        >>> X = np.linspace(0, 6, 31)[:, None]
        >>> learner = ActiveLearner(X)
        >>> learner.tell(range(0, 31, 3), np.sin(X[::3, 0]))
        >>> mean, sd = learner.predict(10, return_std=True)
        >>> bool(abs(mean - np.sin(2.0)) < 0.05), sd < 0.05
        (True, True)
        """
        X, single = inputs_at(self.candidates, x)
        found = self.model.predict(X, return_std=True) if len(X) else (np.zeros(0), np.zeros(0))
        mean, sd = (float(one[0]) if single else one for one in found)
        return (mean, sd) if return_std else mean

    def to_frame(self, what: str = "labels") -> Any:
        """A table of the labels, the predictions, the candidates or the history.

        Parameters
        ----------
        what : {"labels", "predictions", "candidates", "history"}
            Labels: id, label and noise. Predictions: mean and sd of f, the ends of the 90 %
            interval of a label, and the label where there is one, for each candidate. Candidates:
            the pool as it came. History: what was asked, why, and what came back.

        Returns
        -------
        pandas.DataFrame
            The table.

        Raises
        ------
        ValueError
            Where there is no such table, pandas is not installed, or the pool is in files and too
            large for one table (`predict_pool`).

        Examples
        --------
        >>> from weal import ActiveLearner
        >>> learner = ActiveLearner([[0.0], [1.0], [2.0]], ids=["a", "b", "c"])
        >>> learner.tell({"a": 1.5, "c": 0.5})
        >>> learner.to_frame().to_dict("list")
        {'id': ['a', 'c'], 'label': [1.5, 0.5], 'noise': [0.0, 0.0]}
        """
        from weal.learner.tables import frame

        return frame(self._state, self._beliefs, what)

    def rows(self, ids: Sequence[Hashable]) -> Any:
        """The rows of some candidates.

        Parameters
        ----------
        ids : list
            Ids of candidates.

        Returns
        -------
        array (n, d), or frame
            Their rows, as the kind of table that the pool was; of a pool in files, a pyarrow table.

        Raises
        ------
        UnknownId
            Where an id is not in the pool.
        """
        return self.candidates.rows(list(ids))

    def predicted_error(self) -> float:
        """The error that the model expects of itself: root mean square of the sds over the pool.

        Returns
        -------
        float
            In units of the labels; infinite before there is a model. Of a large pool in files, or
            of one with thousands of labels, that of a sample.
        """
        if not self.fitted:
            return float("inf")
        if compared(self._state, self.model) is not None:
            _, sd = self.model.predict(standing_for(self.candidates, self.seed)[1], return_std=True)
            return float(np.sqrt((sd**2).mean()))
        at = np.flatnonzero(self.candidates.present)
        if isinstance(self.candidates, ShardedCandidates):  # a sample of a large one
            at, _ = standing_for(self.candidates, self.seed)
        _, sd = self._beliefs.moments(self._state, at)
        return float(np.sqrt((sd**2).mean())) if len(sd) else 0.0

    def predict_pool(
        self, to: str | os.PathLike[str], *, level: float = 0.9, force: bool = False
    ) -> int:
        """Write what is expected of every candidate of a pool in files, as a folder of Parquet.

        One file for each shard: id, mean and sd of f, and the ends of the interval of a label.

        Parameters
        ----------
        to : path
            The folder.
        level : float
            Probability with which the interval holds a label.
        force : bool
            Whether a folder that is there is replaced.

        Returns
        -------
        int
            How many candidates there are.

        Raises
        ------
        ValueError
            Where the pool is in memory, or the folder is there.
        RuntimeError
            While labels are too few for a model.
        """
        if not isinstance(self.candidates, ShardedCandidates):
            raise ValueError("the pool is in memory: learner.model.predict(X) gives an array")
        check_folder(to, force)
        crew, progress = self._beliefs.crew, self._beliefs.progress
        found = predictions(self.candidates, self.model, level, crew, progress)
        return write_predictions(to, found, force=force)

    def watch(self, X: Any) -> Watch:
        """Keep the belief on other points up to date too, such as those of a test set.

        The same as `model.predict(X)` after every label, without computing it anew.

        Parameters
        ----------
        X : array (N, d) or frame
            The points, with the inputs of the pool.

        Returns
        -------
        Watch
            With `predict()`, mean and sd (N,) of f, and `log_predictive_density(y)`.

        Examples
        --------
        >>> import numpy as np
        >>> from weal import ActiveLearner
        >>> X = np.linspace(0, 6, 31)[:, None]
        >>> learner = ActiveLearner(X)
        >>> learner.tell(range(0, 31, 3), np.sin(X[::3, 0]))
        >>> watch = learner.watch([[0.7], [2.2]])
        >>> learner.tell(11, np.sin(2.2))
        >>> mean, sd = watch.predict()
        >>> bool(np.abs(mean - np.sin([0.7, 2.2])).max() < 0.05)
        True
        """
        return Watch(self._beliefs, self.candidates.like(X), lambda: self._state)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learner to one file, without pickle; `load` reads it.

        Parameters
        ----------
        path : path
            The file; one that is there is replaced, whole or not at all. Its ending is yours to
            choose, such as ``.weal``.
        """
        from weal.learner import learner_file

        state = self._state
        if state.fitted:  # the experts are spared the settling when it is opened
            state = with_experts(state, self._beliefs.settled(state))
        learner_file.save(state, self._beliefs.memory, path)

    def __repr__(self) -> str:
        return describing.line(self._state)

    def _repr_html_(self) -> str:
        return describing.page(self._state)
