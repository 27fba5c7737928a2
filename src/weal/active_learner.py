"""`ActiveLearner`: ask which candidate of a pool to label next, and tell its label.

An `ActiveLearner` holds one frozen state (`weal.learner.state`). Every change is an event, and
`apply(state, event)` gives the next state: an interruption anywhere leaves the old state or the new
one. The model and its posterior on the pool follow from the state; they are computed on demand and
cached (`weal.learner.posterior_cache`).

Before `n_start` labels there is no model, and `ask` fills space. The scaling of pool and labels is
fixed with the `n_start`-th label. Everything random comes from (seed, step), ties are broken by
(seed, id).

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
from weal.model.checks import check_count, check_seed
from weal.model.model import Model, in_units, log_density_in_units
from weal.progress import line_on_stderr
from weal.quantities.declarations import declared_quantity
from weal.quantities.kinds import WORKED, worked_quantity
from weal.shards.dask_executor import choose_executor
from weal.tables.plan import TablePlan

if TYPE_CHECKING:
    import pandas

    from weal.diagnostics.contradictions import Contradiction
    from weal.learner.batch_options import AtMostArgument, RowsArgument, SameArgument
    from weal.learner.run import Run
    from weal.plots.axes import Plots
    from weal.tables.design_file import ConstraintArgument

OneId = str | bytes | float | np.generic  # of a candidate; ids may be other hashable values too
Rows = Iterable[Any]  # several ids (1-d), rows (2-d), or a frame


class TrackedPoints:
    """Predictions at some points, updated with each label."""

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
        """The plan that encodes a frame as inputs; None: numbers are used unchanged."""
        return self.candidates.plan

    @property
    def labels(self) -> Labels:
        """The labels, in the order told; `labels_of` where there are several quantities."""
        return self.labels_of()

    def labels_of(self, quantity: str | None = None) -> Labels:
        """The labels of a quantity, in the order told.

        Parameters
        ----------
        quantity : str or None
            Which quantity; None: the only one.

        Returns
        -------
        Labels
            Numbers, or codes of words: 0 and 1 of fail and pass, 0, 1, 2, ... of classes.
        """
        return told_labels(self._state, find_told(self._state, quantity))

    def _view(self, quantity: str | None = None) -> QuantityView:
        """The state as the first part of a quantity sees it; None: the only one."""
        return self._state.view(find_told(self._state, quantity).parts()[0].name)

    @property
    def pending(self) -> Mapping[Hashable, int]:
        """Ids that were asked and have no label yet, each with its row in the history."""
        return dict(self._state.asked)

    @property
    def skipped(self) -> frozenset[Hashable]:
        """Ids that are skipped."""
        return self._state.skipped

    @property
    def history(self) -> History:
        """Every query with its reason and its label; a list with `to_frame()`."""
        return History(dict(row) for row in self._state.history)

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
        """The reference points (N, d) of `ivr`; None: the pool."""
        return self._state.reference

    @property
    def n_start(self) -> int:
        """Number of labels before the first model."""
        return self._state.settings.n_start

    @property
    def seed(self) -> int:
        """The seed of everything random."""
        return self._state.settings.seed

    @property
    def fitted(self) -> bool:
        """Whether there are enough labels for a model, of any quantity."""
        return any(one.selection is not None for one in self._state.parts.values())

    @property
    def model(self) -> Model:
        """The model trained on all labels; RuntimeError if they are too few.

        For a frame as pool it predicts on frames with the same columns.
        """
        return self._beliefs.model(self._view())

    def model_of(self, part: str) -> Model:
        """The model of a quantity, of one of its classes, or of whether runs work.

        Parameters
        ----------
        part : str
            The name of the quantity; of a class "phase is fcc"; "worked" once a run has failed.

        Returns
        -------
        Model
            Trained on all labels. Of pass/fail results and classes it sees +1 and -1.
        """
        return self._beliefs.model(self._state.view(part))

    def source_of(self, quantity: str | None = None) -> str | None:
        """The quantity whose predictions are an input of the model of another; None: none helps.

        A quantity with at least twice as many labels is tried, and kept where it improves the
        leave-one-out predictions of the other.

        Parameters
        ----------
        quantity : str or None
            Whose model; None: that of the only quantity, which has no source.

        Returns
        -------
        str or None
            The name of the source.

        Raises
        ------
        RuntimeError
            While labels are too few for a model.
        """
        view = self._view(quantity)
        source = None if view.selection is None else view.selection.source
        used = self._beliefs.model(view).scaling.source is not None
        return source.part if source is not None and used else None

    @property
    def notes(self) -> list[str]:
        """Notes on the pool: inputs that are a mixture, and values that its plan did not know.

        The latter are those of the last pass over shards, which were not in the sample of the plan.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> from weal import ActiveLearner
        >>> shares = np.random.default_rng(0).dirichlet([1, 1, 1], 30)
        >>> learner = ActiveLearner(pd.DataFrame(shares, columns=["a", "b", "c"]))
        >>> learner.notes
        ['a, b and c sum to 1 in every row: a mixture. The model uses them as they are.']
        """
        from weal.tables.fixed_sums import fixed_sums, plan_fixed_sums

        pool = self.candidates
        X = pool.sample(self.seed)[1]
        found = plan_fixed_sums(pool.plan, X) if pool.plan else fixed_sums(X, pool.input_names)
        return [*(one.words() for one in found), *self._beliefs.notes]

    @property
    def plot(self) -> "Plots":
        """Figures on matplotlib axes, such as ``learner.plot.predicted()``.

        There are learning_curve, predicted, inputs, experts, effect(name) and map(a, b), and for
        a goal with two objectives pareto; save(folder) writes files.
        """
        return self.plots()

    def plots(self, quantity: str | None = None) -> "Plots":
        """The figures of `plot` for one quantity.

        Parameters
        ----------
        quantity : str or None
            Which quantity; None: the only one, or the one that the goal looks at.

        Returns
        -------
        Plots
            As `plot`.
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
        """Labels in use that the other labels contradict; nothing is changed.

        These are labels told as sure, runs of equal labels in a row, and labels of one group.

        Parameters
        ----------
        groups : mapping of mappings, optional
            For each way to group labels, such as "measured by", the group of each id.
        quantity : str or None
            Whose labels; None: those of the only quantity.

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

        `model` has intervals, quantiles and densities of labels.

        Parameters
        ----------
        x : id, list of ids, array (N, d) or frame
            An id, or several (1-d), of candidates; or rows (2-d, or a frame) of any inputs.
        return_std : bool
            Whether the sd of f is wanted too. It is that of f, not of a noisy label.
        quantity : str or None
            Which quantity; None: the only one.

        Returns
        -------
        float, array (N,), or a pair of them
            The mean, in units of the labels; with `return_std` the pair (mean, sd). One id gives
            one number. Of pass/fail, the probability of a pass, and the sd of the label; of classes
            ask `predict_proba`.

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
        told = find_told(self._state, quantity)
        predicted = predict_inputs(self._state, self._beliefs, told, X)
        mean, sd = (float(one[0]) if single else one for one in predicted.moments())
        return (mean, sd) if return_std else mean

    def predict_proba(self, x: Any, quantity: str | None = None) -> Array:
        """Probabilities of the words of a quantity, for candidates by id or for rows.

        Parameters
        ----------
        x : id, list of ids, array (N, d) or frame
            As of `predict`.
        quantity : str or None
            A quantity of words: pass/fail, classes or grades; "worked": whether a run works. None:
            the only quantity.

        Returns
        -------
        array (N, K), or (K,) for one id
            Of each word, in the order that ``learner.words(quantity)`` gives: of pass/fail, first
            fail and then pass.

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
            Which quantity, or "worked"; None: the only one.

        Returns
        -------
        tuple of str
            None for a number.
        """
        told = worked_quantity() if quantity == WORKED else find_told(self._state, quantity)
        return told.words

    def to_frame(self, what: str = "labels") -> "pandas.DataFrame":
        """The labels, predictions, candidates or history as a pandas frame.

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
        from weal.learner.frames import frame

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

    def best(self, n: int = 10, *, goal: Goal | str | None = None) -> Any:
        """The rows that most probably belong to the set of the goal, measured ones included.

        Parameters
        ----------
        n : int
            How many rows.
        goal : str, goal of `weal.goals`, or None
            Another goal than that of the learner.

        Returns
        -------
        frame
            As the kind of table that the pool was (of an array, pandas): id, inputs, `measured`
            (the mean of the row's labels; missing: it has none), `mean` and `sd` of f, and the
            `probability` of belonging to the set: of being among the k best, or beyond the level.
            The likeliest rows come first.

        Raises
        ------
        ValueError
            Where the goal is learn, which has no set.
        RuntimeError
            While labels are too few for a model.

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
        """The expected error: root mean square of the predicted sds over the pool.

        Parameters
        ----------
        quantity : str or None
            Which quantity, a number; None: the only one.

        Returns
        -------
        float
            In units of the labels; infinite before there is a model. Of a large pool in files, or
            of one with thousands of labels, that of a sample.
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
            Which quantity, a number; None: the only one.

        Returns
        -------
        dict
            By column; a category is one. Empty before there is a model.

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
        executor, progress = self._beliefs.executor, self._beliefs.progress
        found = self.candidates.predict_shards(self.model, level, executor, progress)
        return write_predictions(to, found, force=force)

    def watch(self, X: Any, quantity: str | None = None) -> TrackedPoints:
        """Keep the predictions at other points up to date, such as those of a test set.

        The same as `model.predict(X)` after every label, without computing it anew.

        Parameters
        ----------
        X : array (N, d) or frame
            The points, with the inputs of the pool.
        quantity : str or None
            Which quantity, a number; None: the only one.

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
            The file; one that is there is replaced, whole or not at all. Its ending is yours to
            choose, such as ``.weal``.
        """
        from weal.formats import learner_file

        # the experts are not selected again when it is opened
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
        The candidates, in any units. An array holds numbers; so may a pandas, polars or pyarrow
        frame, or it has text, categories, dates and gaps, which are read by the plan that campaigns
        have (`plan`).
    model : EnsembleGPRegressor or None
        Its parameters are taken, not its labels. None: the default ones.
    acquisition : str, function, or list of them
        One of random, wvar, went, qbc, gpm-var, gpm-ent, ivr, mvr, mvr-var, mvr-var-igs,
        mvr-var-misfit, bald, igs, best(k), lowest(k), ei, ei-min, ucb(b), lcb(b), straddle(h),
        straddle(low, high);
        "auto", the default, which is the one of the goal (mvr-var-igs to learn); "multi" for the
        paper's five together, weighed as labels come; a list for others together; or your own
        function of a `weal.core.paper.acquisition.Belief` that returns one score for each
        candidate. One that looks at each candidate by itself may say so (``f.pointwise = True``):
        large pools are then given to it in blocks.
    ids : list or None
        Ids of the candidates. None: those of `id_column`, else the index of a pandas frame, else
        0, 1, 2, ...
    id_column : str or None
        The frame's column that holds the ids.
    target : str, list of str, or None
        Name of what is measured, with its unit: "hardness [HV]"; several for several results of a
        run. A column of that name is no input; labels in it are told.
    features : list of str, or "auto"
        Columns of a frame to use; "auto": all that can be.
    types : dict of column to type, or None
        What a column is, where we would guess wrong: {"made": "day-first"}. Of a target: "number",
        "pass" (yes or no), "pass:ja,nein", "classes:fcc,bcc", "ordered:low,medium,high".
    same : dict of column to {spelling: level}, or None
        Other spellings of a category: {"solvent": {"Toluol": "toluene"}}.
    units : dict of column to unit, or None
        The unit of a column of numbers; cells in other units are converted: {"volume": "mL"}.
    cost : str, function, or one number for each candidate
        What a label costs: a column, or a function of the row (as an oracle gets it). Scores
        that are an amount or the log of one (those of goals, ivr, mvr, mvr-var, mvr-var-igs,
        mvr-var-misfit, wvar, qbc, gpm-var, ei) are divided by it; others refuse.
    validation : (X, y) or None
        Labels kept apart, on which several acquisition functions are judged. None: they are
        judged by leave-one-out on the labels told (ours; needs no labels to spare).
    eta : float
        Learning rate of the weights of several functions, for labels of sd 1.
    score_scaling : {"range", "maximum"}
        How scores of several functions are made comparable: shifted and scaled to [0, 1], or
        divided by their maximum (the paper's literal rule).
    reference : array (N, d) or None
        Where `ivr`, `mvr` and the default want to be sure; None: the pool.
    n_start : int or None
        Labels before there is a model; None: d + 3, but 5 at the least and 10 at the most.
    seed : int
        Decides all that is random.
    goal : str, goal of `weal.goals`, or None
        What the labels are for: "learn" (the default: a small error everywhere), "maximise",
        "minimise", "best 10", "lowest 10", "above 7.5", "below 3" or "between 40 and 60", with
        levels in units of the labels; or a value such as ``weal.goals.Above(7.5)``. Of several
        quantities one is named, "maximise yield" (else it is the first). A list of two, such as
        ["maximise yield", "minimise cost"], looks for the Pareto rows of both.
    subject_to : str, or list of str
        Constraints on other quantities: "purity >= 95", "crystallised is yes". Rows that meet them
        are looked for.
    weights : dict of quantity to number, or None
        Weights of quantities for the goal learn, 1 by default: {"purity": 2}.
    repeats : bool
        Whether a measured row may be asked again, where the goal gains more by it than by a new
        row: noise hides whether it belongs to the set, or its label is doubted and would change it.
    memory : int
        Bytes that the pool in the form of the experts may take; what does not fit is computed
        anew block by block.
    scheduler : str, distributed.Client or None
        Who does the passes over a pool in shards (`open_pool`): None: what WEAL_SCHEDULER
        says, else the threads of this process; "local" for a Dask cluster on this machine
        ("local:4": of four processes); the address of a Dask scheduler; or a client of yours,
        with its security.
    threads : int or None
        Threads of this process for such passes; None: as many as it has processors.
    index : path or None
        Folder where the index of the ids of such a pool is kept; None: made by every process.

    Raises
    ------
    ValueError
        Where an argument is wrong: ids that come twice, inputs that are not finite, a name that is
        not known.

    See Also
    --------
    open_campaign : The same for many people and programs, kept in a store.
    box : Candidates for those who can choose their inputs freely.

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
        """The learner of a state, with its posterior cache.

        Parameters
        ----------
        state : State
            As `state` of a learner gives it.
        beliefs : Beliefs or None
            What is kept beside that state for speed; None: it is computed when needed.

        Returns
        -------
        ActiveLearner
            Another learner that goes on from there.

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

        Without news since the last `ask` the answer is the same (and a longer batch begins with
        the shorter one); a `Campaign` differs there, and offers others at each ask. With one of the
        options below, other points are asked each time. Points asked before and still without a
        label are not asked again. All of a batch is asked, or none.

        Parameters
        ----------
        n : int or None
            How many; None: as many as `rows`, or as `instead_of`; else one, and its id is returned
            by itself.
        more : bool
            Whether points beyond all that were asked are wanted, even without news.
        same : str, list of str, or None
            A column with one value in the whole batch, or several: a factor that is hard to change,
            such as the temperature of a plate. The value is that of the best joint batch. Only
            values that n free points have are compared. An array has the columns "input 0", ...
        at_most : dict of str to int, or None
            By column, how many different values the batch may hold: ``{"solvent": 4}`` is a batch
            with four solvents at the most, and any number of points of each.
        where : str or None
            A condition that every point of the batch satisfies, such as
            ``"solvent is THF and temp < 90"``.
        instead_of : id, list of ids, or None
            Points that are out and come back: others are asked in their place. A later `ask` may
            ask them again; `skip` prevents it.
        rows : id, list of ids, or None
            Points to include. They count among n, come first, and satisfy the other options too.

        Returns
        -------
        id, or list of ids
            One id without `n`; a list of n ids with it.

        Raises
        ------
        Exhausted
            Where fewer candidates are left than are wanted, or than the options allow.
        ValueError
            Where an option names a column, value or id that is none.

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
        state.free(wanted - len(batch))
        more_ = max(wanted - len(batch), 0)
        for event in queries(state, self._beliefs, more_, opens=not batch):
            state, batch = apply(state, event), (*batch, event.id)
        self._state = state
        return batch[0] if n is None else list(batch[:wanted])

    def _ask_batch(self, n: int | None, more: bool, *given: Any) -> Any:
        """The ids of a batch with options; one id by itself where neither n nor ids are given."""
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

        The same label again changes nothing. Either all is taken or nothing.

        Parameters
        ----------
        ids : id, list of ids, or dict of id to label
            Whose labels they are; ids need not have been asked.
        labels : float, word, dict, list of them, or None
            As many as ids; None where `ids` is a dict. A dict has labels by quantity:
            ``tell(id, {"yield": 82.1, "crystallised": "yes"})``; some may come later.
        noise : float, list of floats, or None
            Standard deviation of what is known of a label's noise, in its units.
        sure : bool, or list of bools
            A label that is sure is never taken for an outlier; the same label told again as sure is
            confirmed.
        replace : bool
            Whether it corrects the label that is there.
        repeat : bool
            Whether it is a second measurement, beside the label that is there.
        quantity : str or None
            The quantity of labels that are not in a dict; None: the only one.

        Raises
        ------
        AlreadyLabelled
            Where another label is there, without `replace` or `repeat`.
        UnknownId
            Where an id is not in the pool.
        ValueError
            Where a label is not a finite number, or numbers of ids and labels differ.

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
        """Say that the run of a candidate failed: similar rows are asked less from then on.

        A label that is told later replaces the failure.

        Parameters
        ----------
        name : id
            Which one.
        accident : bool
            Whether the failure has nothing to do with the inputs: it teaches nothing, and the
            candidate is skipped.

        Raises
        ------
        ValueError
            Where the candidate has a label.
        UnknownId
            Where the id is not in the pool.

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
            Where a label is not a finite number, or inputs are not those of the pool.

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
        """Add labels of an earlier campaign or of a simulation, as a quantity of their own.

        They are not taken for labels of this campaign: a model of their own predicts them, and its
        predictions are an input of the others where that helps (`source_of`).

        Parameters
        ----------
        X : array (N, d) or frame
            Their points, with the inputs of the pool.
        y : array (N,)
            Their labels, in any unit.
        name : str
            The name of the quantity, which no other has.
        kind : str
            As a value of `types`: "number", "pass", ...

        Raises
        ------
        ValueError
            Where a label is not of that kind, or inputs are not those of the pool.

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
        """Drop the label of a candidate, as if it had never been told; it may be asked again.

        Parameters
        ----------
        name : id
            Whose label.
        quantity : str or None
            Which label; None: all, a failure included.

        Raises
        ------
        ValueError
            Where it has none.
        UnknownId
            Where the id is not in the pool.
        """
        name = self.candidates.name(name)
        self._apply(*forget_events(self._state, name, quantity))

    def change_goal(self, goal: Goal | str | Sequence[Goal | str]) -> None:
        """Give the labels another goal; rows that were asked stay asked.

        An acquisition function that was given by name stays; "auto" becomes that of the goal.

        Parameters
        ----------
        goal : str, goal of `weal.goals`, or list of two
            As of `ActiveLearner`; constraints stand in the text, "maximise yield subject to
            purity >= 95".

        Raises
        ------
        ValueError
            Where there is no such goal, or the pool has too few rows for it.

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
        """Skip a candidate: it is not asked until `unskip`, or until its label is told.

        Parameters
        ----------
        name : id
            Which one.

        Raises
        ------
        UnknownId
            Where the id is not in the pool.

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
            Where the id is not in the pool.
        """
        self._apply(Skipped(self.candidates.name(name), on=False))

    def release(self, ids: Iterable[Hashable]) -> None:
        """Allow pending candidates to be asked again.

        Parameters
        ----------
        ids : list
            Which ones; those that are not out are passed over.

        Raises
        ------
        UnknownId
            Where an id is not in the pool.
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
        """Add candidates, read like the pool; labels in the target column are told.

        Parameters
        ----------
        pool : array (n, d) or frame; of a pool in files, more files
            Rows like those of the pool.
        ids : list or None
            Their ids; None: as the pool has them.
        cost : list of floats, or None
            What each costs, where costs are numbers.
        to_reference : bool
            Whether `ivr`, `mvr` and the default want to be sure there too; if not, their reference
            stays the pool that was there before.

        Raises
        ------
        ValueError
            Where an id is there already, or columns are not those of the pool.

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
        """Add candidates near the best ones, so that the pool covers a continuous domain.

        Candidates of `weal.box` move within the box, its mixtures and its constraints as text.
        Numbers of another pool move a little, within the range that each has in the pool and among
        its values where these are few; all else is kept.

        Parameters
        ----------
        n : int
            How many.
        constraint : str, list of str, function or None
            Conditions such as "x1 + x2 <= 1", or a function that gets a row as an oracle does and
            says whether it may be asked; in addition to the constraints of the box.

        Returns
        -------
        list of ids
            Of the candidates that were added.

        Raises
        ------
        RuntimeError
            While labels are too few for a model.
        ValueError
            Where next to no row satisfies the constraint, no input moves, or the pool is in files.

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
            Where an id is not in the pool.
        ValueError
            Where `shards` names files of a pool in memory, or files that are not in it.
        """
        paths = tuple(map(str, shards))
        self._apply(Removed(tuple(self.candidates.name(given) for given in ids), paths))

    def close(self) -> None:
        """Close the processes that read a pool in files."""
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

        Ctrl-C, or an oracle that raises, loses no label: the point in question stays asked.

        Parameters
        ----------
        oracle : function
            Gets the row of the candidate ((d,) for an array, a dict for a frame), and returns its
            label, or a dict of labels by quantity; with `batch`, gets a list of so many, and
            returns or yields their labels.
        n : int
            How many labels at the most.
        batch : int or None
            How many points the oracle gets at once; None: one, by itself.
        workers : int
            How many points are measured at the same time, each by a call of the oracle in a thread
            of its own. Labels are told as they come.
        timeout : float or None
            Seconds within which the oracle gives a label; a point that takes longer, or that ends
            the process, has failed. The oracle then runs in processes, and must be a function at
            the top of a module.
        by_id : bool
            Whether the oracle gets ids in place of rows.
        on_failure : {"raise", "skip", "fail"}
            What happens where the oracle raises, gives NaN or exceeds `timeout`: the run ends with
            the error; the point is skipped; or it is told as failed, so that points like it are
            asked less (`fail`). The last two list it in `failures` of what is returned, and count
            it among the n (of a batch that raises, all are). Of a dict, quantities that are NaN or
            None were not measured, and the others are told. A result that cannot be read, such as
            a label of an unknown quantity, always ends the run.
        max_cost : float or None
            The run ends for "cost" before a point whose cost no longer fits; in units of the `cost`
            of the pool, else each point costs 1.
        callback : function or None
            Called with learner, id and label after every label.
        goal : Goal, str, float or None
            Another goal for the labels from now on, as with `change_goal`; a number is an error at
            which to end, as until="error < ...".
        until : Until, str or None
            The run ends when this is met: "error < 6" (predicted, in units of the labels),
            "labels = 80" or "best > 90".
        target_error : float or None
            The same as until="error < ...".
        patience : int or None
            The run ends when the predicted error fell by less than `least_gain` of itself over so
            many labels; for the best rows, when the largest expected improvement was below
            `least_gain` sds of the labels so many times running (2 is usual), for two objectives
            below that share of the hypervolume; for a level, as the error, of the expected number
            of rows on the wrong side.
        least_gain : float
            As said there.
        progress : bool or None
            Whether a bar is drawn on standard error; None: where that is a terminal.

        Returns
        -------
        Run
            Why it ended (`reason`: "budget", "cost", "target", "no gain", "exhausted" or
            "interrupted"), how many labels were told, the predicted error, what failed, and the
            cost.

        Raises
        ------
        ValueError
            Where an argument is wrong, the oracle gives no finite number, or it cannot be sent to
            a process.

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
        """The bench of the learner in a notebook: ask for rows, type their labels, undo.

        Labels typed there are in `labels` at once, and labels told in other cells appear there.
        Needs the extra: ``pip install 'weal[widget]'``.

        Returns
        -------
        anywidget.AnyWidget
            The same one each time; a notebook shows it where it is the value of a cell.

        Raises
        ------
        ImportError
            Where the extra is not installed.

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
        """The learner that `save` wrote.

        Parameters
        ----------
        path : path
            The file.
        acquisition : str, function, list of them, or None
            Functions of your own are given again; None: those in the file.
        cost : function or None
            Likewise.

        Returns
        -------
        ActiveLearner
            It asks what the one that was saved would have asked.

        Raises
        ------
        UnreadableFile
            Where the file is none of a learner, was damaged, or is of a newer weal.
        ValueError
            Where a function of your own is in the file and was not given.

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
        """Apply all events, or none where one of them cannot be."""
        self._state = reduce(apply, events, self._state)


def _refuse_columns(given: Mapping[str, Any]) -> None:
    """Refuse arguments that belong to `open_pool`, for a pool in shards."""
    for name, value in given.items():
        if value is not None and value != "auto" and value != {}:
            raise ValueError(
                f"{name} is for a pool in memory; of a pool in shards, open_pool is told which "
                "columns hold ids and inputs"
            )
