"""How wrong the model is, by three estimates, and how that went as labels came.

    left out      root mean square of label minus its prediction from all the others (`left_out`).
                  Optimistic or pessimistic: the labelled rows were picked for being uncertain, and
                  the experts have seen all labels.
    prequential   each label predicted from those before it, over the last WINDOW labels. Nothing
                  is seen twice; rows picked for being uncertain are harder than most.
    expected      root mean square, over the candidates, of the sd of f: what the model itself says

The first two include the noise of the labels; the third does not. A campaign's past is a function
of its labels in their order: they are folded once more from the beginning, experts settled anew
when the engine would (`fold`). Each label is predicted on the way; the other two estimates are
taken after every label at first, later after every twentieth part more, and after the last. From
FINE labels on the steps are longer, and not every label is predicted.

That costs some t^3 log t for t labels, so that the course is kept in the store, with a fingerprint
of all it depends on. It goes on from the last time that the experts were settled, or from the
beginning where a label was changed since.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from weal.campaign.campaign import Campaign, Progress
from weal.campaign.mind import LEVEL, Mind
from weal.core.arrays import Array
from weal.core.scaling import Scaling
from weal.diagnostics.explain import sample
from weal.diagnostics.leave_one_out import left_out_means
from weal.errors import WealError
from weal.model.fold import Fold, begin, learn, refresh_after
from weal.model.prediction import mean_sd, quantiles
from weal.model.regressor import EnsembleGPRegressor

KIND, VERSION = "trend", 1  # of the snapshot
WINDOW = 10  # labels that the prequential error looks back on
STEP, LONG_STEP = 0.05, 0.15  # shares of the labels after which estimates are taken again
FINE = 400  # labels up to which each is predicted; of twice as many every second, and so on
POOL = 500  # candidates, at most, that the expected error is taken over
_DRAWN = 11  # part of the random key of these candidates
_NORMAL = 1.6449  # half the width of the interval at LEVEL, in sds of a normal


@dataclass(frozen=True, slots=True)
class Mark:
    """Estimates after so many labels."""

    labels: int
    left_out: float
    expected: float
    experts: dict[str, float]  # weights of the kinds of experts


@dataclass(frozen=True, slots=True)
class Surprise:
    """A label beside what those before it made the model expect."""

    labels: int  # how many came before
    error: float  # label minus expectation
    sd: float  # of a label, as expected: half the width of its interval over that of a normal
    inside: bool  # whether the label was in its interval


@dataclass(frozen=True, slots=True)
class Trend:
    """The course of the estimates."""

    marks: tuple[Mark, ...]
    surprises: tuple[Surprise, ...]
    candidates: int  # that the expected error is taken over

    @property
    def now(self) -> Mark:
        """Estimates after the last label."""
        return self.marks[-1]

    def prequential(self, labels: int | None = None) -> float | None:
        """The prequential error after so many labels, or after all."""
        before = [one for one in self.surprises if labels is None or one.labels < labels]
        errors = np.array([one.error for one in before[-WINDOW:]])
        return float(np.sqrt((errors**2).mean())) if len(errors) else None


def trend(campaign: Campaign, progress: Progress | None = None) -> Trend | None:
    """The course of the estimates; None while there is no model, or no label."""
    mind, ledger = campaign.mind, campaign.ledger
    if not mind.learner.fitted or not len(mind.learner.labels):
        return None
    X = sample(mind, POOL, _DRAWN)
    known = _kept(campaign, mind, X)
    t = len(mind.learner.labels)
    if known is not None and known.now.labels == t:
        return known
    found = course(mind.learner.model, mind.learner.n_start, X, known, progress)
    data = {"v": VERSION, "of": fingerprint(mind.learner.model, X, t), **asdict(found)}
    with suppress(WealError):  # advice only: a store that cannot keep it still has a trend
        text = json.dumps(data).encode()
        campaign.store.keep_snapshot(campaign.name, KIND, ledger.seq, ledger.hash, text)
    return found


def course(
    model: EnsembleGPRegressor,
    n_start: int,
    X: Array,
    known: Trend | None = None,
    progress: Progress | None = None,
) -> Trend:
    """The course of a model's estimates; the expected error over candidates X (N, d).

    `known` is the course of the same labels up to some time: it goes on from there.
    """
    fold, scale, t = model.fold_, model.scaling_, model.n_labels_
    X, y = scale.inputs(X), scale.means(fold.y)
    first = min(n_start, t)
    start = _last_settled(first, known.now.labels if known else first)
    wanted = set(_wanted(first, t))
    marks = [one for one in known.marks if one.labels < start] if known else []
    marks = [one for one in marks if one.labels in wanted]
    surprises = [one for one in known.surprises if one.labels < start] if known else []
    now = fold_of(fold, start)
    for i in range(start, t + 1):
        predicted = i < t and i % (1 + i // FINE) == 0
        if predicted or i in wanted:
            now = learn(now, *_rows(fold, len(now.y), i))
        if i in wanted:
            marks.append(_mark(now, scale, X, y[:i]))
        if predicted:
            surprises.append(_surprise(now, scale, fold.X[i : i + 1], float(y[i]), i))
        if progress:
            progress("error estimates", i, t)
    return Trend(tuple(marks), tuple(surprises), len(X))


def fold_after(model: EnsembleGPRegressor, n_start: int, k: int) -> Fold:
    """The fold of the first k labels, its experts settled when they would have been."""
    start = _last_settled(min(n_start, k), k)
    return learn(fold_of(model.fold_, start), *_rows(model.fold_, start, k))


def fold_of(fold: Fold, k: int) -> Fold:
    """The fold of the first k labels, its experts settled by these."""
    return begin(fold.setting, *_rows(fold, 0, k), fold.seed)


def fingerprint(model: EnsembleGPRegressor, X: Array, t: int) -> str:
    """What the course of the first t labels depends on."""
    fold, scale = model.fold_, model.scaling_
    text = repr((fold.setting, fold.seed, scale.y_mean, scale.y_sd, X.shape))
    found = blake2b(text.encode(), digest_size=16)
    for part in (*_rows(fold, 0, t), scale.inputs(X)):
        found.update(np.ascontiguousarray(part).tobytes())
    return found.hexdigest()


def kinds(fold: Fold) -> dict[str, float]:
    """Weights of the experts by family, and by whether each input has a lengthscale of its own."""
    found: dict[str, float] = {}
    for kernel, w in zip(fold.dictionary, fold.ensemble.w.tolist(), strict=True):
        single = isinstance(kernel.length_scale, float)
        name = f"{kernel.family}, {'one lengthscale' if single else 'one for each input'}"
        found[name] = found.get(name, 0.0) + w
    return found


def _kept(campaign: Campaign, mind: Mind, X: Array) -> Trend | None:
    """The course that was kept, if it belongs to this campaign and its labels have not changed."""
    kept = campaign.store.snapshot(campaign.name, KIND)
    if kept is None or not _on_chain(campaign, *kept[:2]):
        return None
    try:
        data = json.loads(kept[2])
        if data["v"] != VERSION:
            return None
        found = _from_json(data)
    except (ValueError, KeyError, TypeError):  # of another version, or damaged
        return None
    t, model = found.now.labels, mind.learner.model
    same = t <= model.n_labels_ and data["of"] == fingerprint(model, X, t)
    return found if same else None


def _on_chain(campaign: Campaign, seq: int, hash: str) -> bool:
    events = campaign.store.read(campaign.name, seq - 1)
    return bool(events) and (events[0].seq, events[0].hash) == (seq, hash)


def _from_json(data: dict[str, Any]) -> Trend:
    marks = tuple(Mark(**one) for one in data["marks"])
    return Trend(marks, tuple(Surprise(**one) for one in data["surprises"]), data["candidates"])


def _last_settled(first: int, t: int) -> int:
    """Number of labels at which experts were last settled, of t."""
    while (later := refresh_after(first)) <= t:
        first = later
    return first


def _wanted(first: int, t: int) -> Iterator[int]:
    """Numbers of labels after which estimates are taken."""
    while first < t:
        yield first
        step = STEP if first < FINE else LONG_STEP
        first = max(first + 1, int(first * (1.0 + step)))
    yield t


def _rows(fold: Fold, start: int, end: int) -> tuple[Array, Array, Array]:
    return fold.X[start:end], fold.y[start:end], fold.extra[start:end]


def _mark(fold: Fold, scale: Scaling, X: Array, y: Array) -> Mark:
    errors = y - left_out_means(fold, scale)
    _, sd = mean_sd(fold, scale, X)
    rms = [float(np.sqrt((part**2).mean())) for part in (errors, sd)]
    return Mark(len(y), rms[0], rms[1], kinds(fold))


def _surprise(fold: Fold, scale: Scaling, x: Array, y: float, before: int) -> Surprise:
    mean, _ = mean_sd(fold, scale, x)
    levels = np.array([0.5 - 0.5 * LEVEL, 0.5 + 0.5 * LEVEL])
    low, high = quantiles(fold, scale, x, levels)[:, 0].tolist()
    return Surprise(before, y - float(mean[0]), (high - low) / (2.0 * _NORMAL), low <= y <= high)
