"""The posterior cache: the model of a state, and its posterior on the candidates.

`PosteriorCache` answers for any state. An entry serves later states: each new label updates it at
the cost of one covariance column over the pool. The answer is a function of the state alone, to the
last bit (to rounding from MIN_PENDING_FOR_JOINT_UPDATE pending candidates on), because it is always
computed in the same way:

    experts    selected by `selection.labels`, unless the state has them
    model      these experts, conditioned on the first `selection.n_joint` labels jointly
    pool       the posterior of that model on the candidates
    then       model and pool updated by each later label in turn

The cache entry is detached while it is updated in place, so an interrupt discards it, and the next
call starts from the state. Two parts can be saved to open a state faster: the experts
(`selected_experts`) and the posterior of the pool (`snapshot`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import is_
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.extensions import pass_fail
from weal.core.paper.adaptive_acquisition import ValidationLabels
from weal.core.paper.feature_gp import apply_step
from weal.core.protocols import Targets
from weal.core.scaling import Scaling
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
from weal.learner.quantity_sources import choose_inputs
from weal.learner.state import QuantityView, SelectionPoint, State
from weal.learner.tracked_points import (
    TargetPoints,
    sample_labels,
    target_points,
    validation_labels,
)
from weal.model import scaled_data, training
from weal.model.class_model import pass_probability, slope_of
from weal.model.model import Model, in_units
from weal.model.parameters import Parameters, with_widths
from weal.model.scaled_data import check_distance
from weal.model.training import TrainedEnsemble
from weal.progress import Progress
from weal.shards.executors import Executor, ThreadExecutor


@dataclass(frozen=True, slots=True, eq=False)
class CacheEntry:
    """A model after some labels, and the posteriors that follow from it."""

    selection: SelectionPoint
    initial: TrainedEnsemble  # after the first selection.n_joint labels
    told: tuple[Label, ...]
    model: Model
    pool: Pool | None = None
    pool_of: tuple[Any, Array | None] = (None, None)  # candidates and reference
    validation: ValidationLabels | None = None
    targets: Targets | None = None
    targets_of: Array | None = None  # their inputs
    tracked: Mapping[int, MemoryPool] = field(default_factory=dict)

    def serves(self, view: QuantityView) -> bool:
        """Whether the state came after this one, without another expert selection."""
        told = view.labels.told
        if self.selection is not view.selection or len(self.told) > len(told):
            return False
        return self.told is told or all(map(is_, self.told, told))

    @property
    def initial_entry(self) -> "CacheEntry":
        """The entry with only the initial model."""
        model, told = replace(self.model, trained=self.initial), self.told[: self.selection.n_joint]
        return CacheEntry(self.selection, self.initial, told, model)

    def merge(self, late: "CacheEntry") -> "CacheEntry":
        """The entry with the parts that were computed later."""
        validation, tracked = late.validation or self.validation, {**self.tracked, **late.tracked}
        both = replace(self, validation=validation, tracked=tracked)
        return both if late.pool is None else replace(both, pool=late.pool, pool_of=late.pool_of)


def train_initial(
    view: QuantityView,
    selection: SelectionPoint,
    last: CacheEntry | None,
    source: Model | None = None,
) -> CacheEntry:
    """The model, conditioned on the first labels jointly; `source`: model of a further input."""
    told = view.labels.told[: selection.n_joint]

    def train(scale: Scaling, by: SelectionPoint) -> TrainedEnsemble:
        experts = _experts(view.parameters, by, scale, last)
        if not told:
            return experts
        first = view.labels.arrays(0, selection.n_joint)
        sure = view.labels.sure(0, selection.n_joint)
        return training.add_labels(experts, *scaled_data.scale_data(scale, *first), sure)

    initial, scale = choose_inputs(selection, source, train)
    pool = view.candidates
    columns = None if pool.plan is not None else pool.columns
    return CacheEntry(selection, initial, told, Model(initial, scale, columns, pool.plan))


def _experts(
    parameters: Parameters, selection: SelectionPoint, scale: Scaling, last: CacheEntry | None
) -> TrainedEnsemble:
    """The experts before the first label: those of the state, or newly selected ones."""
    if selection.experts is not None:
        return selection.experts
    same = last is not None and last.selection.labels is selection.labels
    if last is not None and same and scale.source is None and last.model.scaling.source is None:
        return training.without_labels(last.initial)
    by = scaled_data.scale_data(scale, *selection.labels)
    sure, label_zero = selection.trusted, scaled_data.label_zero(selection.scaling)
    setting = with_widths(parameters.setting, scale)
    return training.select_experts(setting, *by, parameters.seed, sure=sure, label_zero=label_zero)


def update(entry: CacheEntry, told: tuple[Label, ...]) -> CacheEntry:
    """The entry, updated by the labels that it has not seen."""
    for n in range(len(entry.told), len(told)):
        entry = _after(entry, told[: n + 1])  # the last slice is `told` itself, found at once
    return entry


def _after(entry: CacheEntry, told: tuple[Label, ...]) -> CacheEntry:
    """The entry after one more label, the last one told."""
    label = told[-1]
    scale, before = entry.model.scaling, entry.model.trained
    x = scale.inputs(label.x)
    y, noise_var = (label.y - scale.y_mean) / scale.y_sd, (label.noise / scale.y_sd) ** 2
    one = (x[None], np.array([y]), np.array([noise_var]), np.array([float(label.sure)]))
    noise = float(training.inflated_noise(before, *one)[0])
    step = training.step(before, x, y, noise)
    after = training.advance(before, step, x, y, noise, noise_var, label.sure)
    for pool in (entry.pool, *entry.tracked.values()):
        if pool is not None:
            pool.follow(before.ensemble, step, after.ensemble)
    validation = entry.validation
    if validation is not None:
        c = step.column(validation.points)
        mu, v = apply_step(validation.mu, validation.v, c, step)
        validation = replace(validation, points=step.extend(validation.points, c), mu=mu, v=v)
    model = replace(entry.model, trained=after)
    return replace(entry, told=told, model=model, validation=validation)


class PosteriorCache:
    """The model of each quantity, and the belief on the pool, for any state.

    The cache of a quantity is separate from the others, under its name.
    """

    def __init__(
        self,
        memory: int,
        snapshots: Mapping[str, PoolSnapshot] | None = None,
        executor: Executor | None = None,
        progress: Progress | None = None,
        eager: int | None = None,
    ) -> None:
        self.memory, self.eager = memory, eager
        self.executor = executor or ThreadExecutor()  # reads a pool in shards
        self.progress = progress
        self.score_cache: dict[str, PoolScores] = {}  # of the last passes, by their state
        # of the pool, after the first labels of later states
        self._snapshots = dict(snapshots or {})
        self._entries: dict[str, CacheEntry] = {}
        self._pending: dict[str, tuple[tuple[int, ...], PendingPosterior]] = {}
        self._slopes: dict[str, tuple[TrainedEnsemble, float]] = {}
        self._tracked: list[Array] = []
        self._target_points: TargetPoints | None = None

    @property
    def notes(self) -> list[str]:
        """Notes of the last pass over shards: values that the plan did not know."""
        last = next(reversed(self.score_cache.values()), None)
        found = sorted(last.new_values.items()) if last is not None else []
        return [f"{what} ({n:,} rows)" for what, n in found]

    def model(self, view: QuantityView) -> Model:
        """The model of a state that has one; its predictions stay inside the bounds of labels."""
        model, bounds = self._entry_of(view).model, view.bounds()
        noise = view.quantity.label_noise
        if (model.bounds, model.label_noise) == (bounds, noise):
            return model
        return replace(model, bounds=bounds, label_noise=noise)

    def selected_experts(self, view: QuantityView) -> TrainedEnsemble:
        """The selected experts, before the first label."""
        return training.without_labels(self._entry_of(view).initial)

    def snapshot(self, view: QuantityView) -> PoolSnapshot | None:
        """The posterior of the pool, from which another cache can restart."""
        return self._pool(view).snapshot(len(view.labels))

    def posterior(self, view: QuantityView) -> PendingPosterior:
        """Ensemble and pool of a state that has a model."""
        pool, model = self._pool(view), self.model(view)
        trained, units = model.trained, (model.scaling, model.trained.warp)
        y = trained.warp.labels(trained.y)
        posterior = PendingPosterior(
            trained.ensemble, trained.embedding, pool, trained.X, y, units=units
        )
        if not view.needs_targets:
            return posterior
        targets, order = self._targets(view)
        return replace(posterior, targets=targets, order=order)

    def _targets(self, view: QuantityView) -> tuple[Targets, NDArray[np.intp] | None]:
        """The targets of `mvr`, and the candidates by hash."""
        if self._target_points is None or not self._target_points.serves(view.state):
            self._target_points = target_points(view.state, self._target_points)
        points, entry = self._target_points, self._entry_of(view)
        if entry.targets is None or entry.targets_of is not points.X:
            model = entry.model
            X = check_distance("the reference", model.scaling.inputs(points.X))
            targets = model.embedding_.targets(model.ensemble_.experts, X)
            entry = replace(entry, targets=targets, targets_of=points.X)
            self._entries[view.quantity.name] = entry
        assert entry.targets is not None
        return entry.targets, points.order

    def pending_posterior(self, view: QuantityView) -> PendingPosterior:
        """The posterior as if every pending candidate had been labelled with its predicted mean.

        Expert weights stay, and the order of pending candidates does not matter.
        """
        now = self.posterior(view)
        at = tuple(view.candidates.index[name] for name in view.pending)
        if not at:
            return now
        # detached while it is updated in place
        done, posterior = self._pending.pop(view.quantity.name, ((), None))
        if posterior is None or at[: len(done)] != done:
            done, posterior = (), replace(now, pool=now.pool.fork())
        new = at[len(done) :]
        sd = view.quantity.label_noise
        posterior = with_pseudo_labels(posterior, new, now.means(new), sd) if new else posterior
        self._pending[view.quantity.name] = (at, posterior)
        return posterior

    def validation(self, view: QuantityView) -> ValidationLabels:
        """The labels that evaluate pseudo labels: the validation set, or all labels."""
        if view.settings.validation is None:
            model = self.model(view)
            X, y, _ = (part[model.trained.included] for part in view.labels.arrays())
            return validation_labels(model, *sample_labels(X, y, model.trained.noise_var))
        X, y = view.settings.validation

        def start(entry: CacheEntry) -> CacheEntry:
            return replace(entry, validation=validation_labels(entry.model, X, y, np.zeros(len(y))))

        entry = self._find_entry(view)
        missing = entry is None or entry.validation is None
        return cast(ValidationLabels, self._entry_of(view, start if missing else None).validation)

    def slope(self, view: QuantityView) -> float:
        """The slope of the probabilities of a pass/fail part (`core.extensions.pass_fail`)."""
        trained = self.model(view).trained
        kept = self._slopes.get(view.quantity.name)
        if kept is None or kept[0] is not trained:
            kept = self._slopes[view.quantity.name] = (trained, slope_of(trained))
        return kept[1]

    def pass_probability(self, view: QuantityView, X: Array) -> Array:  # (N,)
        """P(pass) of a pass/fail part at inputs X (N, d), in the user's units."""
        if not len(X):
            return np.zeros(0)
        return pass_probability(self.model(view), X, self.slope(view))

    def pool_pass_probability(self, view: QuantityView, pending: bool) -> Array:  # (U,)
        """P(pass) of all candidates; `pending`: as if those pending had their labels."""
        return self.pass_probability_at(view, np.arange(len(view.candidates)), pending)

    def pass_probability_at(
        self, view: QuantityView, at: NDArray[np.intp], pending: bool = False
    ) -> Array:  # (n,)
        """P(pass) of the candidates `at`; `pending`: as if those pending had their labels."""
        posterior = self.pending_posterior(view) if pending else self.posterior(view)
        held, mu, v = posterior.pool.predict_kept(at)
        ens = posterior.ens
        w = ens.w[held] / ens.w[held].sum()
        var = ens.magnitude[held, None] * v
        return pass_fail.pass_probability(w, mu, var, self.slope(view))

    def moments(
        self, view: QuantityView, at: Sequence[int] | NDArray[np.intp]
    ) -> tuple[Array, Array]:
        """Mean and sd (n,) of f at candidates, in the user's units."""
        pool, model = self._pool(view), self.model(view)
        kept, mu, v = pool.predict_kept(at)
        var = model.magnitude_[kept][:, None] * v
        lam = None
        if model.trained.warp.spread:  # else noise does not move the mean
            lam = model.trained.noise_at(pool.inputs_at(np.asarray(at).tolist()))
        mean, sd = in_units(model.trained, model.scaling, mu, var, kept, lam)
        return model.clip(mean), sd

    def has_pool(self, view: QuantityView) -> bool:
        """Whether the posterior on candidates in memory is cached, so that `moments` is fast."""
        entry = self._find_entry(view)
        if entry is None or entry.pool is None or view.candidates.in_shards:
            return False
        return entry.pool_of[0] is view.candidates.row_identity

    def watch(self, X: Array) -> int:
        """Track other points X (N, d) too; `predict_tracked` gives their posterior."""
        self._tracked.append(X)
        return len(self._tracked) - 1

    def predict_tracked(self, view: QuantityView, n: int) -> tuple[Model, Array, Array]:
        """The model, and means and variances (M, N) of f at the n-th points tracked."""
        X, kept = self._tracked[n], self._find_entry(view)

        def start(entry: CacheEntry) -> CacheEntry:
            pool = self._make_tracked_pool(entry.model, X, "the tracked points")
            return replace(entry, tracked={**entry.tracked, n: pool})

        entry = self._entry_of(view, start if kept is None or n not in kept.tracked else None)
        pool, model = entry.tracked[n], entry.model
        return model, pool.mu, model.magnitude_[:, None] * pool.v

    def _make_tracked_pool(self, model: Model, X: Array, what: str) -> MemoryPool:
        inputs = check_distance(what, model.scaling.inputs(X))
        state = (model.ensemble_, model.embedding_, inputs)
        return MemoryPool(*state, memory=self.memory, everyone=True)

    def _pool(self, view: QuantityView) -> Pool:
        """The posterior on the candidates, from the cache, a snapshot, or computed."""
        wanted, kept = (
            (view.candidates.row_identity, _reference(view)),
            self._find_entry(view),
        )

        def start(entry: CacheEntry) -> CacheEntry:
            # a snapshot is used once
            snapshot = self._snapshots.pop(view.quantity.name, None)
            if snapshot is not None and _serves(snapshot, view, entry):
                entry = update(entry, view.labels.told[: snapshot.n])
            else:
                snapshot = None
            pool = self._make_pool(entry.model, view.state, wanted[1], snapshot)
            return replace(entry, pool=pool, pool_of=wanted)

        there = (None, None) if kept is None else kept.pool_of
        same = there[0] is wanted[0] and there[1] is wanted[1]
        return cast(Pool, self._entry_of(view, None if same else start).pool)

    def _make_pool(
        self, model: Model, for_: State, reference: Array | None, entry: PoolSnapshot | None
    ) -> Pool:
        if reference is not None:
            reference = check_distance("the reference", model.scaling.inputs(reference))
        context = PoolContext(
            self.memory, self.executor, self.progress, for_.settings.seed, self.score_cache, entry,
            self.eager,
        )  # fmt: skip
        return for_.candidates.make_pool(model, reference, context)

    def _source(self, view: QuantityView, selection: SelectionPoint) -> Model | None:
        """The model of the source of a part, after the labels that selected its experts."""
        if selection.source is None:
            return None
        entry = self._entry_of(view.state.view(selection.source.part))
        return replace(entry.model, trained=entry.initial)

    def _find_entry(self, view: QuantityView) -> CacheEntry | None:
        """The cached entry of this state or of one before it."""
        entry = self._entries.get(view.quantity.name)
        return entry if entry is not None and entry.serves(view) else None

    def _entry_of(
        self, view: QuantityView, start: Callable[[CacheEntry], CacheEntry] | None = None
    ) -> CacheEntry:
        """The entry of a state.

        `start` adds a missing part to the initial entry. That part is updated by all labels since
        then: its numbers are the same as if it had been there from the start.
        """
        selection, kept, told = view.selection, self._find_entry(view), view.labels.told
        if selection is None:
            raise RuntimeError("there is no model yet: there are fewer labels than n_start")
        name = view.quantity.name
        entry = kept or train_initial(
            view, selection, self._entries.get(name), self._source(view, selection)
        )
        late = entry if start is None else update(start(entry.initial_entry), entry.told)
        if late is kept and len(late.told) == len(told):
            return late
        self._entries.pop(name, None)  # detached while it is updated
        self._pending.pop(name, None)
        if kept is not None and late is not kept:
            late = update(kept, late.told).merge(late)
        self._entries[name] = found = update(late, told)
        return found


def _serves(snapshot: PoolSnapshot, view: QuantityView, beginning: CacheEntry) -> bool:
    """Whether a pool snapshot belongs to this state or to an earlier one."""
    fits = snapshot.mu.shape == (len(snapshot.members), len(view.candidates))
    inside = (snapshot.members < len(beginning.model.weights_)).all()
    plain = not view.needs_reference
    return bool(fits and inside and plain and len(beginning.told) <= snapshot.n <= len(view.labels))


def _reference(view: QuantityView) -> Array | None:
    """The reference points of `ivr`, if one of the functions needs them."""
    state = view.state
    if not view.needs_reference:
        return None
    if state.reference is not None:
        return state.reference
    return state.candidates.sample(state.settings.seed)[1]
