"""What follows from a state and is kept for speed: the model, and what it believes of the pool.

`PosteriorCache` answers for any state. What it has kept for a state serves the ones after it: the
labels that came since are followed one by one, at the cost of one column over the pool each. The
answer is a function of the state alone, to the last bit, for it always comes about in the same way
(while fewer than TOGETHER_FROM candidates are out; from then on to rounding):

    experts    settled by the labels `settlement.by`, where it is not known what they were
    model      these experts, the first `settlement.together` labels folded in together
    pool       what that model believes of the candidates
    then       model and pool moved by each of the other labels, one after the other

What is kept is moved in place, and is out of reach while that happens: an interruption leaves
nothing behind, and the next question starts from the state. Two things may be saved, to spare time
when a state is opened again: the experts (`settled`) and the belief on the pool (`snapshot`).

A model and what follows it after some labels, and the same after one label more (`beliefs`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.paper.adaptive_acquisition import ValidationLabels
from weal.core.paper.feature_gp import apply_step
from weal.core.protocols import Targets
from weal.learner.labels import Label
from weal.learner.pools.memory import MemoryPool
from weal.learner.pools.protocol import (
    PendingPosterior,
    Pool,
    PoolContext,
    PoolScores,
    PoolSnapshot,
    with_pseudo_labels,
)
from weal.learner.state import SelectionPoint, State
from weal.learner.tracked_points import (
    TargetPoints,
    sample_labels,
    target_points,
    validation_labels,
)
from weal.model import scaled_data
from weal.model import training as folds
from weal.model.checks import check_distance
from weal.model.model import Model, in_units
from weal.model.training import TrainedEnsemble
from weal.progress import Progress
from weal.shards.executors import Executor, ThreadExecutor


@dataclass(frozen=True, slots=True, eq=False)
class CacheEntry:
    """A model and what follows it, after the labels told."""

    settlement: SelectionPoint
    begun: TrainedEnsemble  # after the first settlement.together labels
    told: tuple[Label, ...]
    model: Model
    pool: Pool | None = None
    pool_of: tuple[Any, Array | None] = (None, None)  # candidates and reference
    judged: ValidationLabels | None = None
    targets: Targets | None = None
    targets_of: Array | None = None  # their inputs
    watched: Mapping[int, MemoryPool] = field(default_factory=dict)

    def serves(self, state: State) -> bool:
        """Whether the state came after this one, with no settling between."""
        told = state.labels.told
        same = self.settlement is state.settlement and len(self.told) <= len(told)
        return same and all(a is b for a, b in zip(self.told, told, strict=False))

    @property
    def beginning(self) -> "CacheEntry":
        """The model as it began, and nothing else."""
        model, told = replace(self.model, fold=self.begun), self.told[: self.settlement.together]
        return CacheEntry(self.settlement, self.begun, told, model)

    def joined(self, late: "CacheEntry") -> "CacheEntry":
        """The same with the parts that came late."""
        judged, watched = late.judged or self.judged, {**self.watched, **late.watched}
        both = replace(self, judged=judged, watched=watched)
        if late.targets is not None:
            both = replace(both, targets=late.targets, targets_of=late.targets_of)
        return both if late.pool is None else replace(both, pool=late.pool, pool_of=late.pool_of)


def train_initial(state: State, settlement: SelectionPoint, last: CacheEntry | None) -> CacheEntry:
    """The model with the labels that are folded in together."""
    scale, told = settlement.scaling, state.labels.told[: settlement.together]
    begun = _experts(state, settlement, last)
    if told:
        first = state.labels.arrays(0, settlement.together)
        sure = state.labels.sure(0, settlement.together)
        begun = folds.add_labels(begun, *scaled_data.scale_data(scale, *first), sure)
    pool = state.candidates
    columns = None if pool.plan is not None else pool.columns
    return CacheEntry(settlement, begun, told, Model(begun, scale, columns, pool.plan))


def _experts(state: State, settlement: SelectionPoint, last: CacheEntry | None) -> TrainedEnsemble:
    """The experts before the first label: as they are known to be, or settled."""
    if settlement.experts is not None:
        return settlement.experts
    if last is not None and last.settlement.by is settlement.by:
        return folds.without_labels(last.begun)
    by, parameters = (
        scaled_data.scale_data(settlement.scaling, *settlement.by),
        state.settings.parameters,
    )
    sure, zero = settlement.sure, scaled_data.label_zero(settlement.scaling)
    return folds.select_experts(parameters.setting, *by, parameters.seed, sure=sure, zero=zero)


def update(known: CacheEntry, told: tuple[Label, ...]) -> CacheEntry:
    """What is known, after those of the labels that it has not seen."""
    for label in told[len(known.told) :]:
        known = _after(known, label)
    return known


def _after(known: CacheEntry, label: Label) -> CacheEntry:
    """One label more."""
    scale, before = known.model.scaling, known.model.fold
    x = scale.inputs(label.x)
    y, extra = (label.y - scale.y_mean) / scale.y_sd, (label.noise / scale.y_sd) ** 2
    one = (x[None], np.array([y]), np.array([extra]), np.array([float(label.sure)]))
    noise = float(folds.inflated_noise(before, *one)[0])
    told = folds.step(before, x, y, noise)
    after = folds.advance(before, told, x, y, noise, extra, label.sure)
    for pool in (known.pool, *known.watched.values()):
        if pool is not None:
            pool.follow(before.ensemble, told, after.ensemble)
    judged = known.judged
    if judged is not None:
        c = told.column(judged.points)
        mu, v = apply_step(judged.mu, judged.v, c, told)
        judged = replace(judged, points=told.extend(judged.points, c), mu=mu, v=v)
    model = replace(known.model, fold=after)
    targets = None if known.targets is None else known.targets.after(told)
    told_now = (*known.told, label)
    return replace(known, told=told_now, model=model, judged=judged, targets=targets)


class PosteriorCache:
    """The model and the belief on the pool for whatever state one asks about."""

    def __init__(
        self,
        memory: int,
        snapshot: PoolSnapshot | None = None,
        executor: Executor | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.memory = memory
        self.executor = executor or ThreadExecutor()  # who reads a pool in shards
        self.progress = progress
        self._memo: dict[str, PoolScores] = {}  # of the last passes, by their state
        self._snapshot = snapshot  # of the pool, after the first labels of the states to come
        self._known: CacheEntry | None = None
        self._ahead: tuple[tuple[int, ...], PendingPosterior] | None = None
        self._watched: list[Array] = []
        self._aim: TargetPoints | None = None

    @property
    def notes(self) -> list[str]:
        """What the last pass over shards met that the plan of their columns did not know."""
        last = next(reversed(self._memo.values()), None)
        found = sorted(last.new_values.items()) if last is not None else []
        return [f"{what} ({n:,} rows)" for what, n in found]

    def model(self, state: State) -> Model:
        """The model of a state that has one."""
        return self._of(state).model

    def settled(self, state: State) -> TrainedEnsemble:
        """The experts as they were settled, before the first label."""
        return folds.without_labels(self._of(state).begun)

    def snapshot(self, state: State) -> PoolSnapshot | None:
        """What is believed of the pool, for `PosteriorCache` that are to go on from here."""
        return self._pool(state).snapshot(len(state.labels))

    def now(self, state: State) -> PendingPosterior:
        """Ensemble and pool of a state that has a model."""
        pool, model = self._pool(state), self.model(state)
        fold, units = model.fold, (model.scaling, model.fold.bend)
        y = fold.bend.labels(fold.y)
        outlook = PendingPosterior(fold.ensemble, fold.embedding, pool, fold.X, y, units=units)
        if not state.settings.needs_targets:
            return outlook
        targets, order = self._targets(state)
        return replace(outlook, targets=targets, order=order)

    def _targets(self, state: State) -> tuple[Targets, NDArray[np.intp] | None]:
        """The targets of `mvr`, and the candidates by hash."""
        if self._aim is None or not self._aim.serves(state):
            self._aim = target_points(state, self._aim)
        aim, kept = self._aim, self._kept(state)

        def start(known: CacheEntry) -> CacheEntry:
            model = known.model
            X = check_distance("the reference", model.scaling.inputs(aim.X))
            targets = model.embedding_.targets(model.ensemble_.experts, X)
            return replace(known, targets=targets, targets_of=aim.X)

        missing = kept is None or kept.targets_of is not aim.X
        return cast(Targets, self._of(state, start if missing else None).targets), aim.order

    def ahead(self, state: State) -> PendingPosterior:
        """The outlook with every candidate that is out given the mean that the labels let expect.

        Weights stay. The order in which they were asked does not matter.
        """
        now = self.now(state)
        at = tuple(state.candidates.index[name] for name in state.asked)
        if not at:
            return now
        (done, outlook), self._ahead = self._ahead or ((), None), None  # out of reach, as above
        if outlook is None or at[: len(done)] != done:
            done, outlook = (), replace(now, pool=now.pool.fork())
        new = at[len(done) :]
        outlook = with_pseudo_labels(outlook, new, now.means(new)) if new else outlook
        self._ahead = (at, outlook)
        return outlook

    def judged(self, state: State) -> ValidationLabels:
        """Labels that pseudo labels are judged by: those kept apart, or all that were told."""
        if state.settings.validation is None:
            model = self.model(state)
            X, y, _ = (part[model.fold.right] for part in state.labels.arrays())
            return validation_labels(model, *sample_labels(X, y, model.fold.extra))
        X, y = state.settings.validation

        def start(known: CacheEntry) -> CacheEntry:
            return replace(known, judged=validation_labels(known.model, X, y, np.zeros(len(y))))

        known = self._kept(state)
        missing = known is None or known.judged is None
        return cast(ValidationLabels, self._of(state, start if missing else None).judged)

    def moments(self, state: State, at: Sequence[int] | NDArray[np.intp]) -> tuple[Array, Array]:
        """Mean and sd (n,) of f at candidates, in the user's units."""
        pool, model = self._pool(state), self.model(state)
        held, mu, v = pool.held(at)
        var = model.magnitude_[held][:, None] * v
        return in_units(model.fold, model.scaling, mu, var, held)

    def watch(self, X: Array) -> int:
        """Follow other points X (N, d) too; `watched` gives what is believed of them."""
        self._watched.append(X)
        return len(self._watched) - 1

    def watched(self, state: State, n: int) -> tuple[Model, Array, Array]:
        """The model, and means and variances (M, N) of f at the n-th points watched."""
        X, kept = self._watched[n], self._kept(state)

        def start(known: CacheEntry) -> CacheEntry:
            pool = self._started(known.model, X, "the watched points")
            return replace(known, watched={**known.watched, n: pool})

        known = self._of(state, start if kept is None or n not in kept.watched else None)
        pool, model = known.watched[n], known.model
        return model, pool.mu, model.magnitude_[:, None] * pool.v

    def _started(self, model: Model, X: Array, what: str) -> MemoryPool:
        inputs = check_distance(what, model.scaling.inputs(X))
        state = (model.ensemble_, model.embedding_, inputs)
        return MemoryPool(*state, memory=self.memory, everyone=True)

    def _pool(self, state: State) -> Pool:
        """The belief on the candidates; started where the model was, and brought along."""
        wanted, kept = (state.candidates.row_identity, _reference(state)), self._kept(state)

        def start(known: CacheEntry) -> CacheEntry:
            snapshot, self._snapshot = self._snapshot, None  # serves once, when it is opened
            if snapshot is not None and _serves(snapshot, state, known):
                known = update(known, state.labels.told[: snapshot.n])
            else:
                snapshot = None
            pool = self._make_pool(known.model, state, wanted[1], snapshot)
            return replace(known, pool=pool, pool_of=wanted)

        there = (None, None) if kept is None else kept.pool_of
        same = there[0] is wanted[0] and there[1] is wanted[1]
        return cast(Pool, self._of(state, None if same else start).pool)

    def _make_pool(
        self, model: Model, for_: State, reference: Array | None, known: PoolSnapshot | None
    ) -> Pool:
        if reference is not None:
            reference = check_distance("the reference", model.scaling.inputs(reference))
        context = PoolContext(
            self.memory, self.executor, self.progress, for_.settings.seed, self._memo, known
        )
        return for_.candidates.make_pool(model, reference, context)

    def _kept(self, state: State) -> CacheEntry | None:
        """What is at hand for a state or for one before it."""
        known = self._known
        return known if known is not None and known.serves(state) else None

    def _of(
        self, state: State, start: Callable[[CacheEntry], CacheEntry] | None = None
    ) -> CacheEntry:
        """What is known of a state.

        `start` gives to what began with the model a part that is wanted too. Where labels have
        come since, that part catches up: the same numbers as if it had been there all along.
        """
        settlement, kept, told = state.settlement, self._kept(state), state.labels.told
        if settlement is None:
            raise RuntimeError("there is no model yet: fewer labels were told than n_start")
        known = kept or train_initial(state, settlement, self._known)
        late = known if start is None else update(start(known.beginning), known.told)
        if late is kept and len(late.told) == len(told):
            return late
        self._known = self._ahead = None  # out of reach while it moves
        if kept is not None and late is not kept:
            late = update(kept, late.told).joined(late)
        self._known = update(late, told)
        return self._known


def _serves(snapshot: PoolSnapshot, state: State, beginning: CacheEntry) -> bool:
    """Whether the belief of a pool on the way to this state was kept."""
    fits = snapshot.mu.shape == (len(snapshot.members), len(state.candidates))
    inside = (snapshot.members < len(beginning.model.weights_)).all()
    plain = not state.settings.needs_reference
    return bool(
        fits and inside and plain and len(beginning.told) <= snapshot.n <= len(state.labels)
    )


def _reference(state: State) -> Array | None:
    """The points that `ivr` looks at, where a function does."""
    if not state.settings.needs_reference:
        return None
    if state.reference is not None:
        return state.reference
    return state.candidates.sample(state.settings.seed)[1]
