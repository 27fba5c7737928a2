"""A model and what follows it after some labels, and the same after one label more (`beliefs`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from weal.core.arrays import Array
from weal.core.extensions.target_covariance import Targets
from weal.core.paper.adaptive_acquisition import Judged
from weal.core.paper.feature_gp import moved
from weal.learner.labels import Label
from weal.learner.memory_pool import MemoryPool
from weal.learner.pool import Pool
from weal.learner.state import Settlement, State
from weal.model import fold as folds
from weal.model import units
from weal.model.fold import Fold
from weal.model.model import Model


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """A model and what follows it, after the labels told."""

    settlement: Settlement
    begun: Fold  # after the first settlement.together labels
    told: tuple[Label, ...]
    model: Model
    pool: Pool | None = None
    pool_of: tuple[Any, Array | None] = (None, None)  # candidates and reference
    judged: Judged | None = None
    targets: Targets | None = None
    targets_of: Array | None = None  # their inputs
    watched: Mapping[int, MemoryPool] = field(default_factory=dict)

    def serves(self, state: State) -> bool:
        """Whether the state came after this one, with no settling between."""
        told = state.labels.told
        same = self.settlement is state.settlement and len(self.told) <= len(told)
        return same and all(a is b for a, b in zip(self.told, told, strict=False))

    @property
    def beginning(self) -> "Known":
        """The model as it began, and nothing else."""
        model, told = replace(self.model, fold=self.begun), self.told[: self.settlement.together]
        return Known(self.settlement, self.begun, told, model)

    def joined(self, late: "Known") -> "Known":
        """The same with the parts that came late."""
        judged, watched = late.judged or self.judged, {**self.watched, **late.watched}
        both = replace(self, judged=judged, watched=watched)
        if late.targets is not None:
            both = replace(both, targets=late.targets, targets_of=late.targets_of)
        return both if late.pool is None else replace(both, pool=late.pool, pool_of=late.pool_of)


def begun(state: State, settlement: Settlement, last: Known | None) -> Known:
    """The model with the labels that are folded in together."""
    scale, told = settlement.scaling, state.labels.told[: settlement.together]
    begun = _experts(state, settlement, last)
    if told:
        first = state.labels.arrays(0, settlement.together)
        sure = state.labels.sure(0, settlement.together)
        begun = folds.absorb(begun, *units.scaled(scale, *first), sure)
    pool = state.candidates
    columns = None if pool.plan is not None else pool.columns
    return Known(settlement, begun, told, Model(begun, scale, columns, pool.plan))


def _experts(state: State, settlement: Settlement, last: Known | None) -> Fold:
    """The experts before the first label: as they are known to be, or settled."""
    if settlement.experts is not None:
        return settlement.experts
    if last is not None and last.settlement.by is settlement.by:
        return folds.emptied(last.begun)
    by, parameters = units.scaled(settlement.scaling, *settlement.by), state.settings.parameters
    sure, zero = settlement.sure, units.zero(settlement.scaling)
    return folds.settle(parameters.setting, *by, parameters.seed, sure=sure, zero=zero)


def followed(known: Known, told: tuple[Label, ...]) -> Known:
    """What is known, after those of the labels that it has not seen."""
    for label in told[len(known.told) :]:
        known = _after(known, label)
    return known


def _after(known: Known, label: Label) -> Known:
    """One label more."""
    scale, before = known.model.scaling, known.model.fold
    x = scale.inputs(label.x)
    y, extra = (label.y - scale.y_mean) / scale.y_sd, (label.noise / scale.y_sd) ** 2
    one = (x[None], np.array([y]), np.array([extra]), np.array([float(label.sure)]))
    noise = float(folds.held(before, *one)[0])
    told = folds.step(before, x, y, noise)
    after = folds.advance(before, told, x, y, noise, extra, label.sure)
    for pool in (known.pool, *known.watched.values()):
        if pool is not None:
            pool.follow(before.ensemble, told, after.ensemble)
    judged = known.judged
    if judged is not None:
        c = told.column(judged.points)
        mu, v = moved(judged.mu, judged.v, c, told)
        judged = replace(judged, points=told.extend(judged.points, c), mu=mu, v=v)
    model = replace(known.model, fold=after)
    targets = None if known.targets is None else known.targets.after(told)
    told_now = (*known.told, label)
    return replace(known, told=told_now, model=model, judged=judged, targets=targets)
