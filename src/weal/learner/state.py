"""The state of a learner: one frozen value that determines every later answer.

The models and the posterior of the pool follow from the state. They are cached beside it, keyed by
it, and can be dropped (`posterior_cache`).

There is a model for each part of a quantity (`Quantity.parts`; most have one, themselves). Its
labels and its selection point (`QuantityState`) determine it: experts are selected by
`selection.labels`, conditioned on the first `selection.n_joint` labels jointly, and on later ones
one by one. So a state costs nothing to make, and an interrupt leaves it either with a new label or
without it. A function of one model takes the state as that part sees it, `state.view(name)`; a
function of all of them takes the state.

The part "worked" appears with the first run that failed (`failures`). It has a model like the
others, but is not a quantity that users measure.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.extensions.acquisition_registry import needs_reduction, needs_targets
from weal.core.paper.acquisition import Acquisition
from weal.core.scaling import Scaling
from weal.errors import Exhausted
from weal.goals.learn import Learn
from weal.goals.protocol import Goal
from weal.learner.candidates import Candidates
from weal.learner.events import Row
from weal.learner.labels import Labels, Told
from weal.model.class_model import grade_parameters, pass_fail_parameters
from weal.model.parameters import Parameters
from weal.model.training import TrainedEnsemble
from weal.quantities.kinds import WORKED, find_quantity, quantity_of_column
from weal.quantities.protocol import Quantity


@dataclass(frozen=True, slots=True, eq=False)
class LearnerConfig:
    """The settings of a learner; `weal.ActiveLearner` documents each."""

    parameters: Parameters  # of the model
    functions: Mapping[str, Acquisition]  # K, by name
    eta: float
    score_scaling: str
    n_start: int
    seed: int
    validation: tuple[Array, Array] | None = None  # (V, d), (V,)
    goal: Goal = Learn()  # noqa: RUF009  (a frozen value)
    by_goal: bool = False  # whether the goal chose the functions ("auto")
    repeats: bool = True  # whether a measured row may be asked again, where a goal gains by it

    @property
    def needs_targets(self) -> bool:
        """Whether one of the functions needs targets."""
        return any([needs_targets(function) for function in self.functions.values()])

    @property
    def even(self) -> Array:  # (K,)
        """Equal log weights of the acquisition functions."""
        K = len(self.functions)
        return np.full(K, -np.log(K))  # [1, alg:2 line 2]


@dataclass(frozen=True, slots=True, eq=False)
class SourcePoint:
    """The part whose predictions are an input of another, at its last selection."""

    part: str
    selection: "SelectionPoint"


@dataclass(frozen=True, slots=True, eq=False)
class SelectionPoint:
    """The last expert selection, which with later labels determines the model."""

    scaling: Scaling  # of the labels and candidates once there were enough labels for a model
    labels: Told  # by which the experts were selected last
    n: int  # their number then: it decides when experts are selected next
    n_joint: int  # first labels that are conditioned on jointly; later ones one by one
    experts: TrainedEnsemble | None = None  # as selected, before the first label, where known
    trusted: Array | None = None  # (n,)  1 for `labels` marked as sure, else 0; None: none is
    source: SourcePoint | None = None  # whose predictions may be an input (`quantity_sources`)


@dataclass(frozen=True, slots=True, eq=False)
class QuantityState:
    """The labels of a quantity, and the selection point of its model."""

    quantity: Quantity
    labels: Labels = field(default_factory=Labels)
    selection: SelectionPoint | None = None  # None if too few labels for a model so far


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """A learner after some events."""

    settings: LearnerConfig
    candidates: Candidates
    quantities: Mapping[str, QuantityState]  # by the name of the part
    log_omega: Array  # (K,)  weights of the acquisition functions
    weighed: bool = False  # whether these account for all present labels
    asked: Mapping[Hashable, int] = field(default_factory=dict)  # id -> its row in the history
    skipped: frozenset[Hashable] = frozenset()
    batch: tuple[Hashable, ...] = ()  # asked since the last change: `ask` returns it again
    reference: Array | None = None  # (N, d)  that `ivr` looks at; None: the pool
    history: tuple[Row, ...] = ()
    measured: tuple[Quantity, ...] = ()  # that users tell labels of
    given: tuple[Quantity, ...] = ()  # with labels from elsewhere, which only inform the others
    # (U,)  rows that the batch being chosen may hold (`batches`); None: all
    allowed: NDArray[np.bool_] | None = None

    def view(self, part: str | None = None) -> "QuantityView":
        """The state as a part sees it; None: the only one. ValueError if there is none."""
        known = self.parts if part is None else self.quantities
        return QuantityView(self, find_quantity(known, part))

    @property
    def parts(self) -> Mapping[str, QuantityState]:
        """The parts of the measured quantities, by name."""
        names = [part.name for one in self.measured for part in one.parts()]
        return {name: self.quantities[name] for name in names}

    def views(self, quantity: str) -> "list[QuantityView]":
        """The state as each part of a measured quantity sees it."""
        return [self.view(part.name) for part in self.find_measured(quantity).parts()]

    def find_measured(self, quantity: str | None = None) -> Quantity:
        """The measured quantity of this name; None: the only one. ValueError if there is none."""
        return find_quantity({one.name: one for one in self.measured}, quantity)

    @property
    def n_labels(self) -> int:
        """The number of labels of all measured quantities."""
        firsts = (one.parts()[0].name for one in self.measured)
        return sum([len(self.quantities[name].labels) for name in firsts])

    @property
    def labelled(self) -> list[Hashable]:
        """Ids with a label of any quantity, failed runs included, each once."""
        return list(dict.fromkeys(chain(*(one.labels.by_name for one in self.quantities.values()))))

    def is_complete(self, name: Hashable) -> bool:
        """Whether a row has a label of every measured quantity."""
        return all(name in one.labels.by_name for one in self.parts.values())

    def has_failed(self, name: Hashable) -> bool:
        """Whether the run of a row failed."""
        outcomes = self.quantities.get(WORKED)
        told = () if outcomes is None else outcomes.labels.by_name.get(name, ())
        return any(label.y < 0.0 for label in told)

    def waits_for(self, name: Hashable, part: str) -> bool:
        """Whether a label of this part is expected of an asked row: the first one, or a repeat."""
        return name not in self.quantities[part].labels.by_name or self.is_complete(name)

    @property
    def taken(self) -> list[Hashable]:
        """Ids that are labelled, asked or skipped."""
        return [*self.labelled, *self.asked, *self.skipped]

    @property
    def omega(self) -> dict[str, float]:
        """Weights of the acquisition functions."""
        return dict(zip(self.settings.functions, np.exp(self.log_omega).tolist(), strict=True))

    def subset(self, at: NDArray[np.intp]) -> "State":
        """The state with only the candidates at these positions, in memory."""
        allowed = None if self.allowed is None else self.allowed[at]
        return replace(self, candidates=self.candidates.subset(at), allowed=allowed)

    def may_hold(self, name: Hashable) -> bool:
        """Whether the batch being chosen may hold a row."""
        return self.allowed is None or bool(self.allowed[self.candidates.index[name]])

    def free(self, wanted: int = 0) -> NDArray[np.bool_]:  # (U,)
        """Candidates not labelled, asked, skipped or removed; Exhausted if fewer than wanted."""
        free = self.candidates.present.copy()
        # [1, alg:1 line 6, alg:2 line 15]
        free[list(map(self.candidates.index.__getitem__, self.taken))] = False
        if self.allowed is not None:
            free &= self.allowed
        left = int(free.sum())
        if wanted > left and self.allowed is not None:
            raise Exhausted(
                f"asked for {wanted} more, and {left} of the rows that the batch may hold are "
                "left; ask for fewer, or for other rows (same, at_most, where)"
            )
        if wanted > left:
            labelled = set(self.labelled)  # a row with some of its labels may be asked too
            raise Exhausted(
                f"asked for {wanted} more, and {left} candidates are left: "
                f"{len(labelled)} of {len(self.candidates)} are labelled, "
                f"{len(self.asked.keys() - labelled)} asked, "
                f"{len(self.skipped - labelled)} skipped. "
                "Add candidates (add), or unskip candidates (unskip; weal skip --undo)."
            )
        return free


@dataclass(frozen=True, slots=True, eq=False)
class QuantityView:
    """A state as one of its quantities sees it: everything that determines its model."""

    state: State
    own: QuantityState

    @property
    def quantity(self) -> Quantity:
        """The measured quantity."""
        return self.own.quantity

    @property
    def labels(self) -> Labels:
        """The labels of the quantity, in the order they were told."""
        return self.own.labels

    @property
    def selection(self) -> SelectionPoint | None:
        """The selection point of its model; None if too few labels so far."""
        return self.own.selection

    @property
    def has_model(self) -> bool:
        """Whether there are enough labels for a model."""
        return self.own.selection is not None

    @property
    def settings(self) -> LearnerConfig:
        """The settings of the learner."""
        return self.state.settings

    @property
    def parameters(self) -> Parameters:
        """The parameters of the model of the part."""
        return part_parameters(self.state.settings.parameters, self.quantity)

    @property
    def needs_reference(self) -> bool:
        """Whether a function that scores rows for the part needs reference points."""
        functions = self.state.settings.functions.values()
        return not self.is_scored_by_information and any(map(needs_reduction, functions))

    @property
    def needs_targets(self) -> bool:
        """Whether a function that scores rows for the part needs targets."""
        return not self.is_scored_by_information and self.state.settings.needs_targets

    @property
    def is_scored_by_information(self) -> bool:
        """Whether rows are scored by the information of a pass/fail result (BALD).

        They are with acquisition "auto"; functions that a user names score every part.
        """
        return self.quantity.is_binary and self.state.settings.by_goal

    @property
    def pending(self) -> list[Hashable]:
        """Ids that were asked and wait for a label of this part, in the order asked."""
        return [id for id in self.state.asked if self.state.waits_for(id, self.quantity.name)]

    @property
    def candidates(self) -> Candidates:
        """The candidates of the learner."""
        return self.state.candidates

    def bounds(self) -> tuple[float | None, float | None]:
        """The bounds of predictions: those of the quantity that no confirmed label lies beyond."""
        low, high = self.quantity.low, self.quantity.high
        if low is None and high is None:
            return None, None
        told = [self.quantity.from_model(label.y) for label in self.labels if label.sure]
        is_below = low is not None and min(told, default=low) < low
        is_above = high is not None and max(told, default=high) > high
        return None if is_below else low, None if is_above else high

    def mean_labels(self) -> dict[Hashable, float]:
        """The mean of the labels of each labelled candidate."""
        shown = self.quantity.from_model
        labels = self.labels.by_name.items()
        return {id: float(np.mean([shown(one.y) for one in several])) for id, several in labels}

    def after(
        self, labels: Labels, selection: SelectionPoint | None
    ) -> Mapping[str, QuantityState]:
        """The quantities of the state, this one with other labels and another selection point."""
        own = QuantityState(self.quantity, labels, selection)
        return {**self.state.quantities, self.quantity.name: own}

    def with_experts(self, experts: TrainedEnsemble) -> State:
        """The state with the selected experts of the quantity."""
        if self.selection is None:
            return self.state
        selected = replace(self.selection, experts=experts)
        return replace(self.state, quantities=self.after(self.labels, selected))


def part_parameters(parameters: Parameters, part: Quantity) -> Parameters:
    """The parameters of the model of a part, from those of the learner."""
    if part.is_binary:
        return pass_fail_parameters(parameters)
    return grade_parameters(parameters) if part.words else parameters


def measure(state: State, quantities: Iterable[Quantity]) -> State:
    """A state without labels that measures these quantities instead."""
    measured = tuple(quantities)
    empty = {part.name: QuantityState(part) for one in measured for part in one.parts()}
    return with_bound_goal(replace(state, quantities=empty, measured=measured))


def with_bound_goal(state: State) -> State:
    """The state with its goal bound to the measured quantities; ValueError: it does not fit."""
    settings, pool = state.settings, state.candidates
    inputs = [one.name for one in pool.plan.columns] if pool.plan else pool.input_names
    goal = settings.goal.bind({one.name: one for one in state.measured}, inputs)
    return replace(state, settings=replace(settings, goal=goal))


def begin(
    settings: LearnerConfig,
    candidates: Candidates,
    reference: Array | None = None,
    quantities: Iterable[Quantity] | None = None,
) -> State:
    """The state before anything has happened; None: the quantity of the target column."""
    measured = [quantity_of_column(candidates.target)] if quantities is None else quantities
    return measure(State(settings, candidates, {}, settings.even, reference=reference), measured)
