"""The state of a learner: one frozen value that determines every later answer.

The model and the posterior of the pool follow from the state. They are cached beside it, keyed by
it, and can be dropped (`posterior_cache`).

The state determines the model: experts are selected by `selection.labels`, conditioned on the first
`selection.n_joint` labels jointly, and on later ones one by one. So a state costs nothing to make,
and an interrupt leaves a new label either in it or not.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.extensions.acquisition_registry import needs_reduction, needs_targets
from weal.core.paper.acquisition import Acquisition
from weal.core.scaling import Scaling
from weal.errors import Exhausted
from weal.learner.candidates import Candidates
from weal.learner.events import Row
from weal.learner.labels import Labels, Told
from weal.model.parameters import Parameters
from weal.model.training import TrainedEnsemble


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

    @property
    def needs_reference(self) -> bool:
        """Whether one of the functions needs reference points."""
        return any([needs_reduction(function) for function in self.functions.values()])

    @property
    def needs_targets(self) -> bool:
        """Whether one of the functions needs targets."""
        return bool([name for name, f in self.functions.items() if needs_targets(f)])

    @property
    def even(self) -> Array:  # (K,)
        """Equal log weights of the acquisition functions."""
        K = len(self.functions)
        return np.full(K, -np.log(K))  # [1, alg:2 line 2]


@dataclass(frozen=True, slots=True, eq=False)
class SelectionPoint:
    """The last expert selection, which with later labels determines the model."""

    scaling: Scaling  # of the labels and candidates when there were labels enough for a model
    labels: Told  # by which the experts were selected last
    n: int  # how many there were then: it decides when experts are selected next
    n_joint: int  # first labels that are conditioned on jointly; later ones one by one
    experts: TrainedEnsemble | None = None  # as selected, before the first label, where known
    trusted: Array | None = None  # (n,)  which of `labels` are called sure, as 1 and 0; None: none


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """A learner after some events."""

    settings: LearnerConfig
    candidates: Candidates
    log_omega: Array  # (K,)  weights of the acquisition functions
    weighed: bool = False  # whether these followed the labels as they are now
    labels: Labels = field(default_factory=Labels)
    selection: SelectionPoint | None = None  # None: too few labels for a model so far
    asked: Mapping[Hashable, int] = field(default_factory=dict)  # id -> its row in the history
    skipped: frozenset[Hashable] = frozenset()
    batch: tuple[Hashable, ...] = ()  # asked since the last news: what `ask` says again
    reference: Array | None = None  # (N, d)  that `ivr` looks at; None: the pool
    history: tuple[Row, ...] = ()

    @property
    def has_model(self) -> bool:
        """Whether there are enough labels for a model."""
        return self.selection is not None

    @property
    def omega(self) -> dict[str, float]:
        """Weights of the acquisition functions."""
        return dict(zip(self.settings.functions, np.exp(self.log_omega).tolist(), strict=True))

    def free(self, wanted: int = 0) -> NDArray[np.bool_]:  # (U,)
        """Candidates not labelled, asked, skipped or removed; Exhausted if fewer than wanted."""
        free = self.candidates.present.copy()
        taken = [*self.labels.by_name, *self.asked, *self.skipped]
        # [1, alg:1 line 6, alg:2 line 15]
        free[[self.candidates.index[name] for name in taken]] = False
        left = int(free.sum())
        if wanted > left:
            raise Exhausted(
                f"asked for {wanted} more, and {left} candidates are left: "
                f"{len(self.labels.by_name)} of {len(self.candidates)} are labelled, "
                f"{len(self.asked)} asked, {len(self.skipped)} skipped. "
                "Add candidates (add), or bring skipped ones back (unskip; weal skip --undo)."
            )
        return free


def begin(settings: LearnerConfig, candidates: Candidates, reference: Array | None = None) -> State:
    """The state before anything has happened."""
    return State(settings, candidates, settings.even, reference=reference)


def with_experts(state: State, experts: TrainedEnsemble) -> State:
    """The state with its selected experts."""
    if state.selection is None:
        return state
    return replace(state, selection=replace(state.selection, experts=experts))
