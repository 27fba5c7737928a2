"""`ActiveLearner`: ask which candidate of a pool to label next, and tell its label.

An `ActiveLearner` holds one frozen state (`weal.learner.state`). Every change is an event, and
`apply(state, event)` gives the next state: an interruption anywhere leaves the old state or the new
one. The model and its posterior on the pool follow from the state; they are computed on demand and
cached (`weal.learner.posterior_cache`).

Before `n_start` labels there is no model, and `ask` spreads points over the pool. The scaling of
pool and labels is fixed at the `n_start`-th label. Random numbers depend on (seed, step) only, and
ties are broken by (seed, id).

`LearnerView` has everything that only reads a learner: state, predictions, tables and plots.
`TrackedPoints` keeps the predictions at further points, such as a test set, up to date.
"""

import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike

from weal.core.arrays import Array
from weal.goals.grammar import combine_goals
from weal.goals.protocol import Goal
from weal.goals.until import Until
from weal.learner import frames
from weal.learner.candidate_sample import comparison_size
from weal.learner.candidates import Candidates
from weal.learner.choosing import queries, with_selected_experts
from weal.learner.config import check_goal_chooses, functions_for, goal_for, settings_of
from weal.learner.events import (
    Added,
    Asked,
    EarlierTold,
    Event,
    FunctionsChanged,
    LabelsTold,
    Released,
    Removed,
    Skipped,
)
from weal.learner.frames import inputs_at
from weal.learner.history import History
from weal.learner.joint_scores import lead_view
from weal.learner.label_entry import (
    LabelOptions,
    failure_event,
    find_told,
    forget_events,
    label_events,
    told_labels,
)
from weal.learner.labels import Label, Labels, pairs, several
from weal.learner.memory_candidates import measured_quantities, read_candidates
from weal.learner.pools.memory import POOL_BYTES
from weal.learner.pools.predictions import write_predictions
from weal.learner.posterior_cache import PosteriorCache
from weal.learner.quantity_predictions import predict_inputs
from weal.learner.sharded_candidates import open_candidates
from weal.learner.state import QuantityView, State, begin
from weal.learner.transitions import apply
from weal.model.checks import check_count, check_level, check_seed
from weal.model.model import Model, in_units, log_density_in_units
from weal.progress import Progress, line_on_stderr
from weal.quantities.declarations import declared_quantity
from weal.quantities.kinds import WORKED, worked_quantity
from weal.shards.dask_executor import choose_executor
from weal.tables.plan import TablePlan

if TYPE_CHECKING:
    from weal.diagnostics.contradictions import Contradiction
    from weal.diagnostics.learner_status import LearnerStatus, TrendCache
    from weal.diagnostics.row_explanation import RowExplanation
    from weal.diagnostics.suspects import Suspects
    from weal.learner.batch_options import AtMostArgument, RowsArgument, SameArgument
    from weal.learner.run import Run
    from weal.plots.axes import Plots
    from weal.tables.design_file import ConstraintArgument

OneId = str | bytes | float | np.generic  # of a candidate; ids may be other hashable values too
Rows = Iterable[Any]  # several ids (1-d), rows (2-d), or a frame


class TrackedPoints:
    """Predictions at a set of points, updated with each label."""

    def __init__(self, beliefs: PosteriorCache, X: Array, view: Callable[[], QuantityView]) -> None:
        self._beliefs, self._view, self.X = beliefs, view, X
        self._n = beliefs.watch(X)

    def predict(self) -> tuple[Array, Array]:
        """Mean and sd (N,) of f, in the user's units."""
        model, mu, var = self._beliefs.predict_tracked(self._view(), self._n)
        lam = model.trained.noise_at(model.scaling.inputs(self.X))
        return in_units(model.trained, model.scaling, mu, var, lam=lam)

    def log_predictive_density(self, y: Array) -> Array:
        """Log density (N,) of labels y (N,), noise included, in units of y."""
        model, mu, var = self._beliefs.predict_tracked(self._view(), self._n)
        lam = model.trained.noise_at(model.scaling.inputs(self.X))
        return log_density_in_units(model.trained, model.scaling, mu, var, y, lam)


class LearnerView:
    """Read access to a learner: its state, predictions, tables and plots."""

    _state: State
    _beliefs: PosteriorCache
    _trends: "TrendCache | None" = None  # errors over the labels, for `status`

    @property
    def state(self) -> State:
        """The complete state of the learner, as a frozen value."""
        return self._state

    @property
    def candidates(self) -> Candidates:
        """The pool: ids and rows."""
        return self._state.candidates

    @property
    def plan(self) -> TablePlan | None:
        """The plan that encodes a frame as inputs, or None if the numbers are used unchanged."""
        return self.candidates.plan

    @property
    def labels(self) -> Labels:
        """The labels, in the order they were added; see `labels_of` for several quantities."""
        return self.labels_of()

    def labels_of(self, quantity: str | None = None) -> Labels:
        """The labels of a quantity, in the order they were added.

        Parameters
        ----------
        quantity : str or None
            Which quantity; if None, the only one.

        Returns
        -------
        Labels
            Numbers, or codes of words: 0 for fail and 1 for pass; 0, 1, 2, ... for classes.
        """
        return told_labels(self._state, find_told(self._state, quantity))

    def _view(self, quantity: str | None = None) -> QuantityView:
        """The state restricted to the first part of a quantity; if None, of the only quantity."""
        return self._state.view(find_told(self._state, quantity).parts()[0].name)

    @property
    def pending(self) -> Mapping[Hashable, int]:
        """Ids that were asked and have no label yet, each with its entry in the history."""
        return dict(self._state.asked)

    @property
    def skipped(self) -> frozenset[Hashable]:
        """Skipped ids."""
        return self._state.skipped

    @property
    def history(self) -> History:
        """Every query with its reason and its label; a list with `to_frame()`."""
        found = History(dict(row) for row in self._state.history)
        found.kind = self.candidates.frame_kind
        return found

    @property
    def acquisition_weights(self) -> dict[str, float]:
        """Weights of the acquisition functions, by name."""
        return self._state.omega

    @property
    def goal(self) -> Goal:
        """The goal of the learner."""
        return self._state.settings.goal

    @property
    def reference(self) -> Array | None:
        """The reference points (N, d) of `ivr`, or None for the pool."""
        return self._state.reference

    @property
    def n_start(self) -> int:
        """Number of labels before the first model."""
        return self._state.settings.n_start

    @property
    def seed(self) -> int:
        """The seed of all random choices."""
        return self._state.settings.seed

    @property
    def fitted(self) -> bool:
        """Whether at least one quantity has enough labels for a model."""
        return any(one.selection is not None for one in self._state.parts.values())

    @property
    def model(self) -> Model:
        """The model trained on all labels; RuntimeError if there are too few labels.

        If the pool is a frame, the model predicts for frames with the same columns.
        """
        return self._beliefs.model(self._view())

    def model_of(self, part: str) -> Model:
        """The model of a quantity, of one class, or of the success of runs.

        Parameters
        ----------
        part : str
            The name of the quantity; "phase is fcc" for one class; "worked" once a run has failed.

        Returns
        -------
        Model
            Trained on all labels. For pass/fail results and classes its labels are +1 and -1.
        """
        return self._beliefs.model(self._state.view(part))

    def source_of(self, quantity: str | None = None) -> str | None:
        """The quantity whose predictions are an input of this quantity's model, or None.

        Quantities with at least twice as many labels are tried. One is used if it improves the
        leave-one-out predictions of this quantity.

        Parameters
        ----------
        quantity : str or None
            The quantity; if None, the only one, which has no source.

        Returns
        -------
        str or None
            Name of the source quantity.

        Raises
        ------
        RuntimeError
            If there are too few labels for a model.
        """
        view = self._view(quantity)
        source = None if view.selection is None else view.selection.source
        used = self._beliefs.model(view).scaling.source is not None
        return source.part if source is not None and used else None

    @property
    def notes(self) -> list[str]:
        """Notes on the pool: inputs that form a mixture, and values that the plan does not cover.

        Such values come from the last pass over the shards, if the sample for the plan lacked them.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> from weal import ActiveLearner
        >>> shares = np.random.default_rng(0).dirichlet([1, 1, 1], 30)
        >>> learner = ActiveLearner(pd.DataFrame(shares, columns=["a", "b", "c"]))
        >>> learner.notes
        ['a, b and c sum to 1 in every row: a mixture. The model uses them unchanged.']
        """
        from weal.tables.fixed_sums import fixed_sums, plan_fixed_sums

        pool = self.candidates
        X = pool.sample(self.seed)[1]
        found = plan_fixed_sums(pool.plan, X) if pool.plan else fixed_sums(X, pool.input_names)
        return [*(one.words() for one in found), *self._beliefs.notes]

    @property
    def plot(self) -> "Plots":
        """Figures on matplotlib axes, such as ``learner.plot.predicted()``.

        The figures are learning_curve, predicted, inputs, experts, effect(name) and map(a, b), and
        pareto for a goal with two objectives. save(folder) writes them to files.
        """
        return self.plots()

    def plots(self, quantity: str | None = None) -> "Plots":
        """The figures of `plot` for one quantity.

        Parameters
        ----------
        quantity : str or None
            Which quantity; if None, the only one, or the one in the goal.

        Returns
        -------
        Plots
            The same figures as `plot`.
        """
        from weal.plots.axes import Plots, plot_data

        def view() -> QuantityView:
            has_rows = self.goal.set_text is not None
            return lead_view(self._state) if quantity is None and has_rows else self._view(quantity)

        return Plots(lambda: plot_data(view(), self._beliefs))

    def contradictions(
        self,
        groups: Mapping[str, Mapping[Hashable, Hashable]] | None = None,
        quantity: str | None = None,
    ) -> "list[Contradiction]":
        """Find labels that contradict the other labels; nothing is changed.

        Checked are labels marked as sure, consecutive equal labels, and labels of one group.

        Parameters
        ----------
        groups : mapping of mappings, optional
            For each way to group labels, such as "measured by", the group of each id.
        quantity : str or None
            Which quantity; if None, the only one.

        Returns
        -------
        list of Contradiction
            Each has `kind` ("sure", "run" or "group"), `ids`, the error with and without these
            labels, and `words`. The list is empty before there is a model.

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

        view = self._view(quantity)
        if not view.has_model:
            return []
        names = [label.name for label in view.labels]
        each = {how: [of.get(name) for name in names] for how, of in (groups or {}).items()}
        return contradictions(view, self._beliefs.model(view), each)

    @overload
    def predict(
        self, x: OneId, return_std: Literal[False] = False, *, quantity: str | None = None
    ) -> float: ...
    @overload
    def predict(
        self, x: OneId, return_std: Literal[True], *, quantity: str | None = None
    ) -> tuple[float, float]: ...
    @overload  # a tuple is one id, or several
    def predict(
        self, x: tuple[Any, ...], return_std: bool = False, *, quantity: str | None = None
    ) -> Any: ...
    @overload
    def predict(
        self, x: Rows, return_std: Literal[False] = False, *, quantity: str | None = None
    ) -> Array: ...
    @overload
    def predict(
        self, x: Rows, return_std: Literal[True], *, quantity: str | None = None
    ) -> tuple[Array, Array]: ...
    def predict(self, x: Any, return_std: bool = False, *, quantity: str | None = None) -> Any:
        """Predict the mean of f, and optionally its sd, for candidates by id or for rows.

        `predict_interval` has intervals of labels, `model` their quantiles and densities.

        Parameters
        ----------
        x : id, list of ids, array (N, d) or frame
            One id or several ids of candidates (1-d), or rows of inputs (2-d, or a frame).
        return_std : bool
            Whether to return the sd of f too. It does not include the noise of a label.
        quantity : str or None
            Which quantity; if None, the only one.

        Returns
        -------
        float, array (N,), or a pair of them
            The mean, in units of the labels; with `return_std`, the pair (mean, sd). One id gives
            one number. For pass/fail, the probability of a pass and the sd of the label; for
            classes use `predict_proba`.

        Raises
        ------
        RuntimeError
            If there are too few labels for a model.
        UnknownId
            If an id is not in the pool.

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
        told = find_told(self._state, quantity)
        predicted = predict_inputs(self._state, self._beliefs, told, X)
        mean, sd = (float(one[0]) if single else one for one in predicted.moments())
        return (mean, sd) if return_std else mean

    @overload
    def predict_interval(
        self, x: OneId, level: float = 0.9, *, quantity: str | None = None
    ) -> tuple[float, float]: ...
    @overload  # a tuple is one id, or several
    def predict_interval(
        self, x: tuple[Any, ...], level: float = 0.9, *, quantity: str | None = None
    ) -> Any: ...
    @overload
    def predict_interval(
        self, x: Rows, level: float = 0.9, *, quantity: str | None = None
    ) -> tuple[Array, Array]: ...
    def predict_interval(self, x: Any, level: float = 0.9, *, quantity: str | None = None) -> Any:
        """Prediction intervals of a label, noise included, for candidates by id or for rows.

        Parameters
        ----------
        x : id, list of ids, array (N, d) or frame
            As of `predict`.
        level : float
            The probability with which an interval contains a label, between 0 and 1.
        quantity : str or None
            Which quantity, a number or grades; None: the only one.

        Returns
        -------
        low : float, or array (N,)
            Lower ends, in units of the labels. One id gives one number.
        high : float, or array (N,)
            Upper ends.

        Raises
        ------
        RuntimeError
            While labels are too few for a model.
        UnknownId
            Where an id is not in the pool.
        ValueError
            Where the quantity has words without an order: `predict_proba` has their probabilities.

        Examples
        --------
        >>> import numpy as np
        >>> from weal import ActiveLearner
        >>> X = np.linspace(0, 6, 31)[:, None]
        >>> learner = ActiveLearner(X)
        >>> learner.tell(range(0, 31, 3), np.sin(X[::3, 0]))
        >>> low, high = learner.predict_interval(10)
        >>> bool(low < np.sin(2.0) < high)
        True
        """
        X, single = inputs_at(self.candidates, x)
        told = find_told(self._state, quantity)
        found = predict_inputs(self._state, self._beliefs, told, X, check_level(level))
        if found.low is None or found.high is None:
            raise ValueError(
                f"{told.name} has words, and no intervals: predict_proba() gives the probability "
                "of each word"
            )
        low, high = (float(one[0]) if single else one for one in (found.low, found.high))
        return low, high

    def status(
        self, *, until: Until | str | None = None, progress: Progress | None = None
    ) -> "LearnerStatus":
        """The status of the learner: progress towards its goal, and advice on stopping.

        Parameters
        ----------
        until : Until, str or None
            When to stop, such as "error < 6" or "labels = 80"; the advice looks at it.
        progress : function or None
            Called with what is being done, how far it is, and of how much.

        Returns
        -------
        LearnerStatus
            Counts, `headline` (the one number of the goal), `beliefs` (errors, noise, inputs and
            experts), `suspects` and `advice`; it prints as text, of which `lines()` is the list.

        Examples
        --------
        >>> import numpy as np
        >>> from weal import ActiveLearner
        >>> X = np.linspace(0, 6, 31)[:, None]
        >>> learner = ActiveLearner(X)
        >>> learner.tell(range(0, 31, 3), np.sin(X[::3, 0]))
        >>> found = learner.status()
        >>> found.labels, found.candidates, found.headline.kind
        (11, 31, 'error')
        """
        from weal.diagnostics.learner_status import TrendCache, learner_status
        from weal.goals.grammar import parse_until

        self._trends = self._trends or TrendCache()
        stop = parse_until(until) if isinstance(until, str) else until
        return learner_status(self._state, self._beliefs, self._trends, stop, progress)

    def explain(self, name: Hashable, quantity: str | None = None) -> "RowExplanation":
        """Explain a candidate: its prediction, why it was asked, and the labels nearby.

        Parameters
        ----------
        name : id
            Which candidate.
        quantity : str or None
            Which quantity; if None, the first quantity of the goal.

        Returns
        -------
        RowExplanation
            With `row`, `labels`, `mean`, `sd`, `low` and `high` (90 %), `why` in sentences, and
            `near`, the nearest labelled rows; it prints as text.

        Raises
        ------
        UnknownId
            Where the id is not in the pool.

        Examples
        --------
        >>> import numpy as np
        >>> from weal import ActiveLearner
        >>> learner = ActiveLearner(np.linspace(0, 6, 31)[:, None])
        >>> learner.explain(learner.ask()).why
        'Spread over the candidates, before there is a model.'
        """
        from weal.diagnostics.row_explanation import explain_row

        names = [one.name for one in self._state.measured]
        told = find_told(self._state, quantity or self.goal.scored(names)[0])
        return explain_row(self._state, self._beliefs, told, self.candidates.name(name))

    def suspects(self, quantity: str | None = None) -> "Suspects":
        """Labels that are probably wrong, the most surprising first; nothing is changed.

        Labels of rows that were asked together, or told in one call, may be swapped.

        Parameters
        ----------
        quantity : str or None
            Whose labels, those of a number; None: those of the only quantity.

        Returns
        -------
        list of Suspect
            With `id`, `label`, `expected` and `sd` by the other labels, `probability` of being
            wrong, and `words`; none before there is a model. It prints as text.

        Examples
        --------
        >>> import numpy as np
        >>> from weal import ActiveLearner
        >>> X = np.linspace(0, 6, 31)[:, None]
        >>> y = 5.0 + np.sin(X[:, 0])
        >>> y[10] *= 10  # a decimal point was lost
        >>> learner = ActiveLearner(X)
        >>> learner.tell(range(31), y)
        >>> [(one.id, one.factor) for one in learner.suspects()]
        [(10, 10.0)]
        """
        from weal.diagnostics.learner_status import learner_suspects

        return learner_suspects(self._view(quantity), self._beliefs)

    def predict_proba(self, x: Any, quantity: str | None = None) -> Array:
        """Probabilities of the words of a quantity, for candidates by id or for rows.

        Parameters
        ----------
        x : id, list of ids, array (N, d) or frame
            As in `predict`.
        quantity : str or None
            A pass/fail, class or grade quantity, or "worked" for the success of a run. If None, the
            only quantity.

        Returns
        -------
        array (N, K), or (K,) for one id
            One column for each word, in the order of ``learner.words(quantity)``; for pass/fail,
            first fail, then pass.

        Examples
        --------
        >>> import numpy as np
        >>> from weal import ActiveLearner
        >>> X = np.linspace(0, 6, 31)[:, None]
        >>> learner = ActiveLearner(X, target="crystallised", types={"crystallised": "pass"})
        >>> learner.tell(range(0, 31, 2), ["yes" if x > 3 else "no" for x in X[::2, 0]])
        >>> learner.words("crystallised"), learner.predict_proba([1, 29])[:, 1].round(1).tolist()
        (('no', 'yes'), [0.0, 1.0])
        """
        X, single = inputs_at(self.candidates, x)
        told = worked_quantity() if quantity == WORKED else find_told(self._state, quantity)
        found = predict_inputs(self._state, self._beliefs, told, X).probabilities
        if found is None:
            raise ValueError(f"{told.name} is a number: predict() gives its mean and sd")
        return found[0] if single else found

    def words(self, quantity: str | None = None) -> tuple[str, ...]:
        """The words of a quantity, in the order of `predict_proba`.

        Parameters
        ----------
        quantity : str or None
            Which quantity, or "worked"; if None, the only one.

        Returns
        -------
        tuple of str
            Empty for a number.
        """
        told = worked_quantity() if quantity == WORKED else find_told(self._state, quantity)
        return told.words

    def to_frame(self, what: str = "labels", kind: str | None = None) -> Any:
        """The labels, predictions, candidates or history as a frame.

        Parameters
        ----------
        what : {"labels", "predictions", "candidates", "history"}
            Labels: id, label and noise. Predictions: for each candidate, mean and sd of f, the 90 %
            interval of a label, and the label if there is one. Candidates: the pool as it was
            given. History: each query, its reason and its label.
        kind : {"pandas", "polars", "pyarrow"} or None
            The kind of frame; if None, that of the pool. For an array or a pool in files it is
            pandas, or polars if pandas is not installed.

        Returns
        -------
        frame
            The table. Ids keep their type.

        Raises
        ------
        ValueError
            If there is no such table, no library for frames is installed, or the pool is in files
            and too large for one table (use `predict_pool`).

        Examples
        --------
        >>> from weal import ActiveLearner
        >>> learner = ActiveLearner([[0.0], [1.0], [2.0]], ids=["a", "b", "c"])
        >>> learner.tell({"a": 1.5, "c": 0.5})
        >>> learner.to_frame().to_dict("list")
        {'id': ['a', 'c'], 'label': [1.5, 0.5], 'noise': [0.0, 0.0]}
        """
        from weal.learner.frames import frame

        return frame(self._state, self._beliefs, what, kind)

    def rows(self, ids: Sequence[Hashable]) -> Any:
        """The rows of some candidates.

        Parameters
        ----------
        ids : list
            Ids of candidates.

        Returns
        -------
        array (n, d), or frame
            Their rows, in the kind of table that the pool was given as; a pyarrow table if the pool
            is in files.

        Raises
        ------
        UnknownId
            If an id is not in the pool.
        """
        return self.candidates.rows(list(ids))

    def best(self, n: int = 10, *, goal: Goal | str | None = None) -> Any:
        """The rows that most probably meet the goal, measured rows included.

        Parameters
        ----------
        n : int
            How many rows.
        goal : str, goal of `weal.goals`, or None
            A goal to use instead of the learner's own.

        Returns
        -------
        frame
            In the kind of table that the pool was given as (pandas for an array): id, inputs,
            `measured` (the mean of the row's labels; missing if it has none), `mean` and `sd` of f,
            and the `probability` of meeting the goal: of being among the k best, or beyond the
            level. The most probable rows come first.

        Raises
        ------
        ValueError
            If the goal is learn, which selects no rows.
        RuntimeError
            If there are too few labels for a model.

        Examples
        --------
        >>> import numpy as np
        >>> from weal import ActiveLearner
        >>> from weal.goals import Above
        >>> X = np.linspace(0, 6, 31)[:, None]
        >>> learner = ActiveLearner(X, goal=Above(0.9))
        >>> learner.tell(range(0, 31, 3), np.sin(X[::3, 0]))
        >>> sorted(learner.best(4)["id"])
        [6, 7, 8, 9]
        """
        from weal.learner.best_rows import best_table

        measured = self._state.measured
        wanted = self.goal if goal is None else goal_for(self.candidates, goal, measured)
        return best_table(self._state, self._beliefs, check_count(n), wanted)

    def predicted_error(self, quantity: str | None = None) -> float:
        """The expected error: root mean square of the predictive sd over the pool.

        Parameters
        ----------
        quantity : str or None
            Name of a numeric quantity; if None, the only one.

        Returns
        -------
        float
            In units of the labels; infinite before there is a model. For a large pool in files, or
            with thousands of labels, it is estimated from a sample.
        """
        view = self._view(quantity)
        if not view.has_model:
            return float("inf")
        model = self._beliefs.model(view)
        if comparison_size(view, model) is not None:
            _, sd = model.predict(self.candidates.sample(self.seed)[1], return_std=True)
            return float(np.sqrt((sd**2).mean()))
        at = self.candidates.summary_positions(self.seed)
        _, sd = self._beliefs.moments(view, at)
        return float(np.sqrt((sd**2).mean())) if len(sd) else 0.0

    def input_importance(self, quantity: str | None = None) -> dict[str, float]:
        """The posterior probability that each column of the candidates matters, largest first.

        Parameters
        ----------
        quantity : str or None
            Name of a numeric quantity; if None, the only one.

        Returns
        -------
        dict
            Probabilities by column; a category is one column. Empty before there is a model.

        Examples
        --------
        >>> import numpy as np
        >>> from weal import ActiveLearner
        >>> X = np.random.default_rng(0).uniform(-1, 1, (40, 4))
        >>> learner = ActiveLearner(X)
        >>> learner.tell(range(40), np.sin(3 * X[:, 1] + X[:, 2]))
        >>> {name: round(p, 2) for name, p in learner.input_importance().items()}
        {'input 1': 1.0, 'input 2': 1.0, 'input 0': 0.0, 'input 3': 0.0}
        """
        from weal.diagnostics import effects

        view = self._view(quantity)
        if not view.has_model:
            return {}
        columns = effects.columns_of(self.candidates.input_names, self.plan)
        return effects.column_probability(self._beliefs.model(view), columns)

    def predict_pool(
        self, to: str | os.PathLike[str], *, level: float = 0.9, force: bool = False
    ) -> int:
        """Write predictions for every candidate of a pool in files, as a folder of Parquet files.

        Each shard gives one file with id, mean and sd of f, and the interval of a label.

        Parameters
        ----------
        to : path
            The folder.
        level : float
            Probability that the interval contains a label.
        force : bool
            Whether to replace an existing folder.

        Returns
        -------
        int
            Number of candidates.

        Raises
        ------
        ValueError
            If the pool is in memory, or the folder exists.
        RuntimeError
            If there are too few labels for a model.
        """
        executor, progress = self._beliefs.executor, self._beliefs.progress
        found = self.candidates.predict_shards(self.model, level, executor, progress)
        return write_predictions(to, found, force=force)

    def watch(self, X: Any, quantity: str | None = None) -> TrackedPoints:
        """Track the predictions at other points, such as a test set, as labels are added.

        Gives the same as `model.predict(X)` after every label, at a lower cost.

        Parameters
        ----------
        X : array (N, d) or frame
            The points, with the inputs of the pool.
        quantity : str or None
            Name of a numeric quantity; if None, the only one.

        Returns
        -------
        TrackedPoints
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
        return TrackedPoints(self._beliefs, self.candidates.like(X), lambda: self._view(quantity))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learner to one file, without pickle; `load` reads it.

        Parameters
        ----------
        path : path
            The file. An existing file is replaced atomically. Any ending works, such as ``.weal``.
        """
        from weal.formats import learner_file

        # so that loading does not select the experts again
        state = with_selected_experts(self._state, self._beliefs)
        learner_file.save(state, self._beliefs.memory, path)

    def __repr__(self) -> str:
        return frames.line(self._state)

    def _repr_html_(self) -> str:
        return frames.page(self._state)


class ActiveLearner(LearnerView):
    """Active learning on a pool of candidates: `ask` which to label next, and `tell` its label.

    Parameters
    ----------
    pool : array (U, d), frame, or pool of `open_pool`
        The candidates, in any units. An array holds numbers. A pandas, polars or pyarrow frame may
        also hold text, categories, dates and missing values, which are encoded as in a campaign
        (`plan`).
    model : EnsembleGPRegressor or None
        Only its parameters are used, not its labels. If None, the default parameters.
    acquisition : str, function, or list of them
        One of random, wvar, went, qbc, gpm-var, gpm-ent, ivr, mvr, mvr-var, mvr-var-igs,
        mvr-var-misfit, bald, igs, best(k), lowest(k), ei, ei-min, ucb(b), lcb(b), straddle(h),
        straddle(low, high); "auto", the default of the goal (mvr-var-igs for learn); "multi", the
        paper's five functions combined with adaptive weights; a list, for another combination; or
        your own function of a `weal.core.paper.acquisition.Belief` that returns one score for each
        candidate. Set ``f.pointwise = True`` on a function that scores each candidate
        independently: a large pool is then scored in blocks.
    ids : list or None
        Ids of the candidates. If None, the values of `id_column`, else the index of a pandas frame,
        else 0, 1, 2, ... They keep their type (numbers, text, dates, tuples).
    id_column : str or None
        The frame's column that holds the ids.
    target : str, list of str, or None
        Name of the measured quantity, with its unit: "hardness [HV]"; a list if a run measures
        several. A column of that name is not an input; its values are used as labels.
    features : list of str, or "auto"
        Columns of a frame to use as inputs; "auto" uses every suitable column.
    types : dict of column to type, or None
        Types of columns that would be guessed wrong: {"made": "day-first"}. Types of a target are
        "number", "pass" (yes or no), "pass:ja,nein", "classes:fcc,bcc" and
        "ordered:low,medium,high".
    same : dict of column to {spelling: level}, or None
        Other spellings of a category: {"solvent": {"Toluol": "toluene"}}.
    units : dict of column to unit, or None
        The unit of a numeric column; cells in other units are converted: {"volume": "mL"}.
    cost : str, function, or one number for each candidate
        Cost of a label: a column, or a function of the row (in the form that an oracle gets).
        Scores are divided by the cost. This works for the default acquisition of every goal and for
        ivr, mvr, mvr-var, mvr-var-igs, mvr-var-misfit, wvar, qbc, gpm-var and ei, whose scores are
        amounts or logs of amounts; other functions raise ValueError.
    validation : (X, y) or None
        Validation set that determines the weights of several acquisition functions, as in the
        paper. If None, leave-one-out errors of the labels are used instead, which needs no extra
        labels.
    eta : float
        Learning rate of the weights of several acquisition functions, for labels with sd 1.
    score_scaling : {"range", "maximum"}
        How the scores of several functions are normalised: "range" scales them to [0, 1], "maximum"
        divides them by their maximum (the rule in the paper).
    reference : array (N, d) or None
        Points over which `ivr`, `mvr` and the default reduce the predictive variance; if None, the
        pool.
    n_start : int or None
        Number of labels before the first model; if None, d + 3, but at least 5 and at most 10.
    seed : int
        Seed of all random choices.
    goal : str, goal of `weal.goals`, or None
        The goal of the campaign: "learn" (the default: a small error everywhere), "maximise",
        "minimise", "best 10", "lowest 10", "above 7.5", "below 3" or "between 40 and 60", with
        levels in units of the labels; or a value such as ``weal.goals.Above(7.5)``. With several
        quantities, name one: "maximise yield" (the default is the first). A list of two goals, such
        as ["maximise yield", "minimise cost"], searches for the Pareto front.
    subject_to : str, or list of str
        Constraints on other quantities: "purity >= 95", "crystallised is yes". The goal counts only
        rows that satisfy them.
    weights : dict of quantity to number, or None
        Weights of quantities for the goal learn, 1 by default: {"purity": 2}.
    repeats : bool
        Whether a measured row may be asked again if a repeat helps the goal more than a new row:
        because of noise it is uncertain whether the row meets the goal, or its label may be wrong.
    memory : int
        Maximum memory, in bytes, for the cached features of the pool. Blocks that do not fit are
        computed again when needed.
    scheduler : str, distributed.Client or None
        Where a pool in shards (`open_pool`) is scored: "local" starts a Dask cluster on this
        machine ("local:4" with four processes); or give the address of a Dask scheduler, or a
        client with its own security settings. If None, the value of WEAL_SCHEDULER, else the
        threads of this process.
    threads : int or None
        Number of threads for scoring a pool in shards; if None, the number of processors.
    index : path or None
        Folder for the index of the ids of a pool in shards; if None, every process builds its own
        index.

    Raises
    ------
    ValueError
        If an argument is invalid: duplicate ids, inputs that are not finite, or an unknown name.

    See Also
    --------
    open_campaign : The same in a database, for several people and programs.
    box : A pool of candidates for inputs that can be set freely.

    Examples
    --------
    >>> import numpy as np
    >>> from weal import ActiveLearner
    >>> X_pool = np.linspace(0, 6, 61)[:, None]
    >>> learner = ActiveLearner(X_pool)
    >>> for _ in range(12):
    ...     query = learner.ask()
    ...     learner.tell(query, np.sin(X_pool[query, 0]))
    >>> mean, sd = learner.predict(X_pool, return_std=True)
    >>> bool(np.abs(mean - np.sin(X_pool[:, 0])).max() < 0.05)
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
        target: str | Sequence[str] | None = None,
        features: Any = "auto",
        types: Mapping[str, str] | None = None,
        same: Mapping[str, Mapping[str, str]] | None = None,
        units: Mapping[str, str] | None = None,
        cost: Any = None,
        validation: tuple[Any, Any] | None = None,
        eta: float = 20.0,
        score_scaling: str = "range",
        reference: Any = None,
        n_start: int | None = None,
        seed: int = 0,
        goal: Goal | str | Sequence[Goal | str] | None = None,
        subject_to: str | Sequence[str] = (),
        weights: Mapping[str, float] | None = None,
        repeats: bool = True,
        memory: int = POOL_BYTES,
        scheduler: Any = None,
        threads: int | None = None,
        index: str | os.PathLike[str] | None = None,
    ) -> None:
        targets = (target,) if isinstance(target, str) else tuple(target or ())
        of_inputs = {name: one for name, one in (types or {}).items() if name not in targets}
        columns: dict[str, Any] = {"features": features, "types": of_inputs}
        columns |= {"same": dict(same or {}), "units": dict(units or {})}
        executor, progress = choose_executor(scheduler, threads), line_on_stderr()
        folder = None if index is None else Path(index)
        candidates = open_candidates(pool, check_seed(seed), executor, folder, progress)
        if candidates is None:
            candidates = read_candidates(
                pool, ids, id_column, targets=targets, cost=cost, **columns
            )
        else:
            _refuse_columns({"ids": ids, "id_column": id_column, "cost": cost, **columns})
        chosen = (acquisition, eta, score_scaling, n_start, seed, validation)
        wanted = combine_goals(goal, subject_to, weights)
        check_goal_chooses(acquisition, wanted)
        settings = settings_of(candidates, model, *chosen, wanted, repeats)
        points = None if reference is None else candidates.like(reference)
        measured = measured_quantities(candidates.frame, targets, types or {})
        self._state = begin(settings, candidates, points, measured)
        self._beliefs = PosteriorCache(int(memory), None, executor, progress)
        self._tell_known(0)

    @classmethod
    def of(cls, state: State, beliefs: PosteriorCache | None = None) -> Self:
        """A learner with this state.

        Parameters
        ----------
        state : State
            The `state` of a learner.
        beliefs : Beliefs or None
            Cached posteriors for that state; if None, they are computed when needed.

        Returns
        -------
        ActiveLearner
            A new learner that continues from this state.

        Examples
        --------
        >>> from weal import ActiveLearner
        >>> learner = ActiveLearner([[0.0], [1.0], [2.0]])
        >>> twin = ActiveLearner.of(learner.state)
        >>> learner.tell(1, 0.5)
        >>> len(learner.labels), len(twin.labels)
        (1, 0)
        """
        learner = cls.__new__(cls)
        learner._state, learner._beliefs = state, beliefs or PosteriorCache(POOL_BYTES)
        return learner

    @overload
    def ask(
        self,
        n: None = None,
        *,
        more: bool = False,
        same: "SameArgument" = None,
        at_most: "AtMostArgument" = None,
        where: str | None = None,
        instead_of: "RowsArgument" = None,
        rows: "RowsArgument" = None,
    ) -> Any: ...
    @overload
    def ask(
        self,
        n: int,
        *,
        more: bool = False,
        same: "SameArgument" = None,
        at_most: "AtMostArgument" = None,
        where: str | None = None,
        instead_of: "RowsArgument" = None,
        rows: "RowsArgument" = None,
    ) -> list[Any]: ...
    def ask(
        self,
        n: int | None = None,
        *,
        more: bool = False,
        same: "SameArgument" = None,
        at_most: "AtMostArgument" = None,
        where: str | None = None,
        instead_of: "RowsArgument" = None,
        rows: "RowsArgument" = None,
    ) -> Any:
        """The id of the candidate to label next, or the ids of a batch.

        `ask` is idempotent: without a new label the answer is the same, and a longer batch begins
        with the shorter one. (`Campaign.ask` suggests other rows at each call.) With `more`,
        `same`, `at_most`, `where`, `instead_of` or `rows`, each call suggests other points, and
        pending points are not asked again. Either the whole batch is asked or nothing.

        Parameters
        ----------
        n : int or None
            Size of the batch. If None, the number of `rows` or `instead_of`, else a single id is
            returned instead of a list.
        more : bool
            Whether to ask for points beyond the pending ones, even without a new label.
        same : str, list of str, or None
            One or several columns that have the same value in the whole batch: factors that are
            hard to change, such as the temperature of a plate. The value with the best joint batch
            is chosen among the values that at least n free points have. The columns of an array are
            "input 0", ...
        at_most : dict of str to int, or None
            Maximum number of different values of a column in the batch: ``{"solvent": 4}`` allows
            at most four solvents, each with any number of points.
        where : str or None
            A condition that every point of the batch must satisfy, such as ``"solvent is THF and
            temp < 90"``.
        instead_of : id, list of ids, or None
            Pending points to replace by others. A later `ask` may suggest them again, unless you
            `skip` them.
        rows : id, list of ids, or None
            Points to include. They count towards n, come first, and must satisfy the other options
            too.

        Returns
        -------
        id, or list of ids
            One id if `n` is None, otherwise a list of n ids.

        Raises
        ------
        Exhausted
            If too few candidates are left, or too few satisfy the options.
        ValueError
            If an option names an unknown column, value or id.

        Examples
        --------
        >>> from weal import ActiveLearner
        >>> learner = ActiveLearner([[0.0], [1.0], [2.0], [9.0]], ids=["a", "b", "c", "d"])
        >>> first = learner.ask()
        >>> learner.ask() == first  # nothing new was told
        True
        >>> batch = learner.ask(3)
        >>> batch[0] == first, len(set(batch))
        (True, 3)

        >>> import pandas as pd
        >>> plate = pd.DataFrame({"temp": [20, 20, 20, 90, 90, 90], "time": [1, 2, 3, 1, 2, 3]})
        >>> learner = ActiveLearner(plate)
        >>> batch = learner.ask(3, same="temp")
        >>> plate.temp[batch].nunique()
        1
        >>> sorted(ActiveLearner(plate).ask(2, where="time is 2"))
        [1, 4]
        """
        options = (same, at_most, where, instead_of, rows)
        if any(one is not None for one in options):
            return self._ask_batch(n, more, *options)
        wanted, state = 1 if n is None else check_count(n), self._state
        batch = () if more else state.batch
        more_ = max(wanted - len(batch), 0)
        if more_ > 1 or state.candidates.in_shards:  # else `queries` checks first
            state.free(more_)
        for event in queries(state, self._beliefs, more_, opens=not batch):
            state, batch = apply(state, event), (*batch, event.id)
        self._state = state
        return batch[0] if n is None else list(batch[:wanted])

    def _ask_batch(self, n: int | None, more: bool, *given: Any) -> Any:
        """The ids of a batch with options; a single id if neither n nor ids are given."""
        from weal.learner.batch_limits import columns_of, limits_of
        from weal.learner.batch_options import read_options
        from weal.learner.batches import batch_events

        options = read_options(*given)
        if options.is_empty:  # as empty lists are
            return self.ask(n, more=more)
        wanted, state = options.count(None if n is None else check_count(n)), self._state
        limits = limits_of(options, columns_of(state.candidates))
        if options.same and state.candidates.box is not None:
            from weal.learner.local_candidates import with_shared_rows

            state = with_shared_rows(state, options, limits, wanted)
            limits = limits_of(options, columns_of(state.candidates))
        events = batch_events(state, self._beliefs, options, limits, wanted)
        self._state = reduce(apply, events, state)
        ids = [event.id for event in events if isinstance(event, Asked)]
        return ids[0] if n is None and not (options.rows or options.instead_of) else ids

    @overload
    def tell(
        self,
        ids: Mapping[Any, Any],
        labels: None = None,
        *,
        noise: ArrayLike | None = None,
        sure: ArrayLike = False,
        replace: bool = False,
        repeat: bool = False,
        quantity: str | None = None,
    ) -> None: ...
    @overload
    def tell(
        self,
        ids: Hashable | Iterable[Any],
        labels: ArrayLike | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        noise: ArrayLike | None = None,
        sure: ArrayLike = False,
        replace: bool = False,
        repeat: bool = False,
        quantity: str | None = None,
    ) -> None: ...
    def tell(
        self,
        ids: Any,
        labels: Any = None,
        *,
        noise: Any = None,
        sure: Any = False,
        replace: bool = False,
        repeat: bool = False,
        quantity: str | None = None,
    ) -> None:
        """Add the label of a candidate, or the labels of several.

        Telling the same label again changes nothing. Either all labels are added or none.

        Parameters
        ----------
        ids : id, list of ids, or dict of id to label
            The labelled candidates; they need not have been asked.
        labels : float, word, dict, list of them, or None
            One label for each id; None if `ids` is a dict. A dict gives labels by quantity:
            ``tell(id, {"yield": 82.1, "crystallised": "yes"})``; the others can be told later.
        noise : float, list of floats, or None
            Known standard deviation of the noise of a label, in units of the label.
        sure : bool, or list of bools
            Whether the label is certain: it is then never treated as an outlier. Tell an existing
            label again with sure=True to confirm it.
        replace : bool
            Whether the label corrects an existing one.
        repeat : bool
            Whether the label is a repeat measurement, in addition to existing ones.
        quantity : str or None
            The quantity, for labels that are not in a dict; if None, the only one.

        Raises
        ------
        AlreadyLabelled
            If the row has a different label, without `replace` or `repeat`.
        UnknownId
            If an id is not in the pool.
        ValueError
            If a label is not a finite number, or the numbers of ids and labels differ.

        Examples
        --------
        >>> from weal import ActiveLearner
        >>> learner = ActiveLearner([[0.0], [1.0], [2.0]])
        >>> learner.tell(0, 3.5)
        >>> learner.tell([1, 2], [4.0, 4.5], noise=0.1)
        >>> learner.tell({0: 3.6}, repeat=True)  # measured again
        >>> learner.tell(1, 4.1, replace=True)  # it was mistyped
        >>> [(label.name, label.y) for label in learner.labels]
        [(0, 3.5), (2, 4.5), (0, 3.6), (1, 4.1)]
        """
        options = LabelOptions(noise, sure, replace, repeat, quantity)
        self._apply(*label_events(self._state, ids, labels, options))

    def fail(self, name: Hashable, *, accident: bool = False) -> None:
        """Report that the run of a candidate failed; similar rows are then asked less often.

        A later label replaces the failure.

        Parameters
        ----------
        name : id
            Which one.
        accident : bool
            Whether the failure has nothing to do with the inputs. The model then ignores it, and
            the candidate is skipped.

        Raises
        ------
        ValueError
            If the candidate has a label.
        UnknownId
            If the id is not in the pool.

        Examples
        --------
        >>> from weal import ActiveLearner
        >>> learner = ActiveLearner([[0.0], [1.0], [2.0]], n_start=1)
        >>> learner.tell(0, 3.5)
        >>> learner.fail(2)
        >>> learner.ask()
        1
        """
        name = self.candidates.name(name)
        if accident:
            self._apply(Skipped(name))
        elif (event := failure_event(self._state, name)) is not None:
            self._apply(event)

    def tell_points(
        self,
        X: Any,
        y: Any,
        *,
        noise: Any = None,
        sure: Any = False,
        quantity: str | None = None,
    ) -> None:
        """Add labels of points that are not in the pool.

        Parameters
        ----------
        X : array (N, d), frame, or one point (d,)
            The points, with the inputs of the pool.
        y : array (N,), or float
            Their labels.
        noise : float, list of floats, or None
            As in `tell`.
        sure : bool, or list of bools
            As in `tell`.
        quantity : str or None
            As in `tell`.

        Raises
        ------
        ValueError
            If a label is not a finite number, or the inputs differ from those of the pool.

        Examples
        --------
        >>> from weal import ActiveLearner
        >>> learner = ActiveLearner([[0.0, 1.0], [1.0, 1.0]])
        >>> learner.tell_points([[0.5, 2.0], [0.7, 1.0]], [3.5, 4.0])
        >>> len(learner.labels)
        2
        """
        points = self.candidates.like(np.atleast_2d(X) if np.ndim(X) < 2 and not several(y) else X)
        told = find_told(self._state, quantity)
        rows = pairs(told, range(len(points)), y if several(y) else [y], noise, sure)
        new = [Label(None, x, *row[1:]) for x, row in zip(points, rows, strict=True)]
        self._apply(LabelsTold(told.name, tuple(new)))

    def tell_earlier(self, X: Any, y: Any, name: str = "earlier", *, kind: str = "number") -> None:
        """Add labels of an earlier campaign or of a simulation, as a separate quantity.

        They do not count as labels of this campaign. A separate model is trained on them, and its
        predictions become an input of the other models if that helps (`source_of`).

        Parameters
        ----------
        X : array (N, d) or frame
            Their points, with the inputs of the pool.
        y : array (N,)
            Their labels, in any unit.
        name : str
            The name of the new quantity.
        kind : str
            The type, as in `types`: "number", "pass", ...

        Raises
        ------
        ValueError
            If a label is not of that kind, or the inputs differ from those of the pool.

        Examples
        --------
        >>> import numpy as np
        >>> from weal import ActiveLearner
        >>> X = np.random.default_rng(0).uniform(0, 6, (60, 1))
        >>> learner = ActiveLearner(X, target="yield")
        >>> learner.tell_earlier(X[:40], np.sin(X[:40, 0]), "last year")
        >>> learner.tell(range(40, 50), 2.0 * np.sin(X[40:50, 0]) + 0.3)
        >>> learner.source_of("yield")
        'last year'
        """
        quantity = declared_quantity(name, kind, list(y))
        points = self.candidates.like(X)
        rows = pairs(quantity, range(len(points)), y, None)
        new = [Label(None, x, *row[1:]) for x, row in zip(points, rows, strict=True)]
        self._apply(EarlierTold(quantity, tuple(new)))

    def forget(self, name: Hashable, quantity: str | None = None) -> None:
        """Remove the label of a candidate, which may then be asked again.

        Parameters
        ----------
        name : id
            Which candidate.
        quantity : str or None
            Which label to remove; if None, all labels and a failure.

        Raises
        ------
        ValueError
            If the candidate has no such label.
        UnknownId
            If the id is not in the pool.
        """
        name = self.candidates.name(name)
        self._apply(*forget_events(self._state, name, quantity))

    def change_goal(self, goal: Goal | str | Sequence[Goal | str]) -> None:
        """Change the goal; pending rows stay pending.

        An acquisition function given by name stays; "auto" becomes the default of the new goal.

        Parameters
        ----------
        goal : str, goal of `weal.goals`, or list of two
            As in `ActiveLearner`. Write constraints in the text: "maximise yield subject to purity
            >= 95".

        Raises
        ------
        ValueError
            If the goal is unknown, or the pool has too few rows for it.

        Examples
        --------
        >>> from weal import ActiveLearner
        >>> from weal.goals import Above
        >>> learner = ActiveLearner([[0.0], [1.0], [2.0]])
        >>> learner.change_goal(Above(7.5))
        >>> learner.goal, list(learner.acquisition_weights)
        (Above(7.5), ['straddle(7.5)'])
        """
        settings = self._state.settings
        wanted = goal_for(self.candidates, goal, self._state.measured)
        check_goal_chooses("auto" if settings.by_goal else list(settings.functions), wanted)
        functions = settings.functions
        if settings.by_goal:
            functions = functions_for(self.candidates, "auto", wanted, settings.parameters)
        self._apply(FunctionsChanged(functions, wanted, settings.by_goal))

    def skip(self, name: Hashable) -> None:
        """Skip a candidate: it is not asked until `unskip`, or until it gets a label.

        Parameters
        ----------
        name : id
            Which one.

        Raises
        ------
        UnknownId
            If the id is not in the pool.

        Examples
        --------
        >>> from weal import ActiveLearner
        >>> learner = ActiveLearner([[0.0], [1.0], [2.0]])
        >>> learner.skip(1)
        >>> sorted(learner.ask(2))
        [0, 2]
        """
        self._apply(Skipped(self.candidates.name(name)))

    def unskip(self, name: Hashable) -> None:
        """Allow a skipped candidate to be asked again.

        Parameters
        ----------
        name : id
            Which one.

        Raises
        ------
        UnknownId
            If the id is not in the pool.
        """
        self._apply(Skipped(self.candidates.name(name), on=False))

    def release(self, ids: Iterable[Hashable]) -> None:
        """Allow pending candidates to be asked again.

        Parameters
        ----------
        ids : list
            Which candidates; ids that are not pending are ignored.

        Raises
        ------
        UnknownId
            If an id is not in the pool.
        """
        self._apply(Released(tuple(self.candidates.name(given) for given in ids)))

    def add(
        self,
        pool: Any,
        ids: Iterable[Hashable] | None = None,
        *,
        cost: Any = None,
        to_reference: bool = False,
    ) -> None:
        """Add candidates, read like the pool; labels in the target column are added too.

        Parameters
        ----------
        pool : array (n, d) or frame; of a pool in files, more files
            Rows like those of the pool.
        ids : list or None
            Their ids; if None, as for the pool.
        cost : list of floats, or None
            The cost of each, if costs are numbers.
        to_reference : bool
            Whether to add the new rows to the reference points of `ivr`, `mvr` and the default.

        Raises
        ------
        ValueError
            If an id exists already, or the columns differ from those of the pool.

        Examples
        --------
        >>> from weal import ActiveLearner
        >>> learner = ActiveLearner([[0.0], [1.0]])
        >>> learner.add([[2.0], [3.0]])
        >>> len(learner.candidates)
        4
        """
        before = len(self.candidates)
        self._apply(Added(self.candidates.with_more(pool, ids, cost), to_reference))
        self._tell_known(before)

    def refine(self, n: int, *, constraint: "ConstraintArgument" = None) -> list[Hashable]:
        """Add candidates near those with the highest scores, for a continuous domain.

        Candidates of `weal.box` move within the box and satisfy its mixtures and its constraints
        given as text. In another pool, numbers move a little within their range, or among their
        values if these are few; other columns are kept.

        Parameters
        ----------
        n : int
            How many.
        constraint : str, list of str, function or None
            Conditions such as "x1 + x2 <= 1", or a function of a row (in the form that an oracle
            gets) that returns whether it is allowed; in addition to the constraints of the box.

        Returns
        -------
        list of ids
            Ids of the new candidates.

        Raises
        ------
        RuntimeError
            If there are too few labels for a model.
        ValueError
            If almost no row satisfies the constraint, no input can move, or the pool is in files.

        Examples
        --------
        >>> import numpy as np
        >>> from weal import ActiveLearner
        >>> X = np.linspace(0, 6, 31)[:, None]
        >>> learner = ActiveLearner(X)
        >>> learner.tell(range(0, 31, 3), np.sin(X[::3, 0]))
        >>> len(learner.refine(5)), len(learner.candidates)
        (5, 36)
        """
        from weal.learner.local_candidates import local_candidates

        more = local_candidates(self._state, self._beliefs, check_count(n), constraint)
        self.add(more.rows, more.ids)
        return list(more.ids)

    def remove(self, ids: Iterable[Hashable] = (), *, shards: Iterable[Any] = ()) -> None:
        """Remove candidates, or whole files of a pool in files; their labels stay.

        Parameters
        ----------
        ids : list
            Which ones.
        shards : list of paths
            Files of a pool in files.

        Raises
        ------
        UnknownId
            If an id is not in the pool.
        ValueError
            If `shards` names files of a pool in memory, or files that are not in it.
        """
        paths = tuple(map(str, shards))
        self._apply(Removed(tuple(self.candidates.name(given) for given in ids), paths))

    def close(self) -> None:
        """Close the worker processes that read a pool in files."""
        self._beliefs.executor.close()

    def run(
        self,
        oracle: Callable[[Any], Any],
        n: int,
        *,
        batch: int | None = None,
        workers: int = 1,
        timeout: float | None = None,
        by_id: bool = False,
        on_failure: str = "raise",
        max_cost: float | None = None,
        callback: Callable[[Any, Hashable, float], object] | None = None,
        goal: Goal | str | float | Sequence[Goal | str] | None = None,
        until: Until | str | None = None,
        target_error: float | None = None,
        patience: int | None = None,
        least_gain: float = 0.01,
        progress: bool | None = None,
    ) -> "Run":
        """Ask, measure with `oracle`, and tell, up to n times.

        No label is lost if you press Ctrl-C or the oracle raises: the current point stays pending.

        Parameters
        ----------
        oracle : function
            Gets the row of a candidate ((d,) for an array, a dict for a frame) and returns its
            label, or a dict of labels by quantity. With `batch`, gets a list of rows and returns or
            yields their labels.
        n : int
            Maximum number of labels.
        batch : int or None
            Number of points that the oracle gets at once; if None, one point instead of a list.
        workers : int
            Number of points that are measured at the same time, each in its own thread. Labels are
            added as they arrive.
        timeout : float or None
            Time limit of the oracle in seconds; a point that takes longer, or that crashes the
            process, counts as failed. With a time limit the oracle runs in worker processes and
            must be a function at the top level of a module.
        by_id : bool
            Whether the oracle gets ids instead of rows.
        on_failure : {"raise", "skip", "fail"}
            What to do if the oracle raises, returns NaN or exceeds `timeout`: "raise" ends the run
            with the error; "skip" skips the point; "fail" reports it as failed, so that similar
            points are asked less often (`fail`). Skipped and failed points are listed in `failures`
            of the result and count towards n (if a batch raises, all of its points). In a dict of
            labels, NaN or None means that the quantity was not measured. An invalid result, such as
            a label of an unknown quantity, always ends the run.
        max_cost : float or None
            Budget, in units of the `cost` of the pool (each point costs 1 if there is none). The
            run ends with the reason "cost" before it would exceed the budget.
        callback : function or None
            Called as callback(learner, id, label) after every label.
        goal : Goal, str, float or None
            A new goal, as with `change_goal`; a number is the same as until="error < ...".
        until : Until, str or None
            Stopping condition: "error < 6" (predicted error, in units of the labels), "labels = 80"
            or "best > 90".
        target_error : float or None
            The same as until="error < ...".
        patience : int or None
            Stop after this many labels without progress. For the goal learn, progress means that
            the predicted error fell by at least the fraction `least_gain`; for a level, the same
            for the expected number of rows on the wrong side. For the best rows, the largest
            expected improvement must be at least `least_gain` sds of the labels, and for two
            objectives at least that fraction of the hypervolume (a patience of 2 is usual).
        least_gain : float
            Minimum progress; see `patience`.
        progress : bool or None
            Whether to draw a progress bar on standard error; if None, only on a terminal.

        Returns
        -------
        Run
            Why the run ended (`reason`: "budget", "cost", "target", "no gain", "exhausted" or
            "interrupted"), the number of labels, the predicted error, the failures and the cost.

        Raises
        ------
        ValueError
            If an argument is invalid, the oracle returns no finite number, or it cannot be sent to
            a worker process.

        Examples
        --------
        >>> import numpy as np
        >>> from weal import ActiveLearner
        >>> learner = ActiveLearner(np.linspace(0, 6, 61)[:, None])
        >>> run = learner.run(lambda x: np.sin(x[0]), 40, until="error < 0.01")
        >>> run.reason, run.labels < 40
        ('target', True)
        """
        from weal.learner import run
        from weal.learner.oracle import Oracle
        from weal.learner.run_subject import LearnerSubject

        measures = Oracle(oracle, by_id, batch, on_failure, workers, timeout)
        wanted, stop = run.goal_and_condition(goal, until, target_error)
        if wanted is not None:
            self.change_goal(wanted)

        def remaining(learner: ActiveLearner) -> float | None:
            from weal.learner.best_rows import remaining_gain

            return remaining_gain(learner.state, self._beliefs)

        limits = run.RunLimits(stop, patience, least_gain, remaining, max_cost)
        return run.run(LearnerSubject(self), measures, n, callback, limits, progress)

    def widget(self) -> Any:
        """A notebook widget for labelling: ask for rows, type their labels, undo.

        Labels typed into the widget are in `labels` at once, and labels told in other cells appear
        in the widget. Needs the extra: ``pip install 'weal[widget]'``.

        Returns
        -------
        anywidget.AnyWidget
            Always the same widget; a notebook displays it if it is the value of a cell.

        Raises
        ------
        ImportError
            If the extra is not installed.

        Examples
        --------
        >>> from weal import ActiveLearner
        >>> learner = ActiveLearner([[0.0], [1.0], [2.0]])
        >>> learner.widget()  # doctest: +SKIP
        """
        from weal.widget.learner_bench import LearnerBench
        from weal.widget.widget import widget_of

        def restore(state: State) -> None:
            self._state = state

        return widget_of(self, lambda: LearnerBench(self, self._beliefs, restore))

    @classmethod
    def load(cls, path: str | os.PathLike[str], acquisition: Any = None, cost: Any = None) -> Self:
        """Load a learner that `save` wrote.

        Parameters
        ----------
        path : path
            The file.
        acquisition : str, function, list of them, or None
            Required if the learner was saved with your own functions; if None, as in the file.
        cost : function or None
            Required if the learner was saved with your own cost function.

        Returns
        -------
        ActiveLearner
            It asks exactly what the saved learner would have asked.

        Raises
        ------
        UnreadableFile
            If the file is not a learner, is damaged, or was written by a newer version of weal.
        ValueError
            If the learner was saved with your own functions and they are not given.

        Examples
        --------
        >>> import os, tempfile
        >>> from weal import ActiveLearner
        >>> learner = ActiveLearner([[0.0], [1.0], [2.0]])
        >>> learner.tell(1, 0.5)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     learner.save(os.path.join(folder, "l.weal"))
        ...     ActiveLearner.load(os.path.join(folder, "l.weal")).ask() == learner.ask()
        True
        """
        from weal.formats import learner_file

        state, memory = learner_file.load(path, acquisition, cost)
        return cls.of(state, PosteriorCache(memory))

    def _tell_known(self, start: int) -> None:
        for quantity, known in self.candidates.labels_in_table(self._state.measured, start):
            self.tell(known, quantity=quantity)

    def _apply(self, *events: Event) -> None:
        """Apply all events, or none if one of them is invalid."""
        self._state = reduce(apply, events, self._state)


def _refuse_columns(given: Mapping[str, Any]) -> None:
    """Raise ValueError for arguments that a pool in shards takes in `open_pool`."""
    for name, value in given.items():
        if value is not None and value != "auto" and value != {}:
            raise ValueError(
                f"{name} is for a pool in memory; for a pool in shards, give the columns of ids "
                "and inputs to open_pool"
            )
