"""The events of a learner. `transitions.apply` is the only function that changes a state.

Ids are checked before an event is made; numbers are in the user's units.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from weal.core.arrays import Array
from weal.core.paper.acquisition import Acquisition
from weal.goals.protocol import Goal
from weal.learner.candidates import Candidates
from weal.learner.labels import Label
from weal.quantities.protocol import Quantity

NAN = float("nan")


@dataclass(frozen=True, slots=True, eq=False)
class Reason:
    """The reason for a query, and the prediction at that time."""

    why: str  # the acquisition functions that chose it, "start", "told" or "elsewhere"
    score: float = NAN
    scores: Mapping[str, float] = field(default_factory=dict)  # of each acquisition function
    shares: Mapping[str, float] = field(default_factory=dict)  # of each in the score
    mean: float = NAN  # of f there
    std: float = NAN
    acquisition_weights: Mapping[str, float] = field(default_factory=dict)
    expert_weights: tuple[float, ...] | None = None  # None without a model, or if unknown


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A candidate was asked."""

    id: Hashable
    reason: Reason
    log_omega: Array | None = None  # (K,)  weights of the functions from now on; None: as before
    opens: bool = True  # whether it begins a batch, or continues one


@dataclass(frozen=True, slots=True, eq=False)
class LabelsTold:
    """Labels of a quantity were added, dropped or confirmed.

    A failed run is the label 0 of the quantity "worked"; `dropped` withdraws it.
    """

    quantity: str  # its name
    labels: tuple[Label, ...] = ()  # as users tell them: y is a number, or the code of a word
    dropped: tuple[Hashable, ...] = ()
    confirmed: tuple[Label, ...] = ()  # labels of its first part that are marked as sure now


@dataclass(frozen=True, slots=True, eq=False)
class Skipped:
    """A candidate was skipped, or (`on` False) may be asked again."""

    id: Hashable
    on: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Released:
    """Pending candidates were released, and may be asked again."""

    ids: tuple[Hashable, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Resumed:
    """A candidate that was asked, and is no longer pending, is pending again."""

    id: Hashable


@dataclass(frozen=True, slots=True, eq=False)
class Added:
    """Candidates were added; `to_reference`: to the reference points of `ivr` as well."""

    candidates: Candidates  # all of them, the new ones last
    to_reference: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Removed:
    """Candidates were removed, by id or by shard; their labels stay."""

    ids: tuple[Hashable, ...]
    shards: tuple[str, ...] = ()  # paths


@dataclass(frozen=True, slots=True, eq=False)
class FunctionsChanged:
    """Other acquisition functions, or another goal with its own, were set.

    They start with equal weights. Rows that were asked stay asked.
    """

    functions: Mapping[str, Acquisition]
    goal: Goal | None = None  # None: as before
    by_goal: bool = False  # whether the goal chose the functions


@dataclass(frozen=True, slots=True, eq=False)
class EarlierTold:
    """Labels of an earlier campaign were added, as a quantity that is not measured here."""

    quantity: Quantity
    labels: tuple[Label, ...]  # of points outside the pool


Event = (
    Asked | EarlierTold | LabelsTold | Skipped | Released | Resumed | Added | Removed
    | FunctionsChanged
)  # fmt: skip
Row = dict[str, Any]  # of the history
