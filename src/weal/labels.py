"""Labels as they were told: the truth that everything else is folded from."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from weal.core.arrays import Array
from weal.errors import AlreadyLabelled


@dataclass(frozen=True, slots=True, eq=False)
class Label:
    """One label: of a candidate, or of a point outside the pool (name None)."""

    name: Hashable | None
    x: Array  # (d,)  inputs in the user's units
    y: float
    noise: float = 0.0  # sd of what is known of its noise, in units of y


@dataclass(slots=True)
class Labels:
    """Labels in the order they were told, and by id."""

    told: list[Label] = field(default_factory=list)
    by_name: dict[Hashable, list[Label]] = field(default_factory=dict)
    _table: Array | None = (
        None  # (>= t, d + 2)  inputs, label and noise of each, with room to spare
    )

    def __len__(self) -> int:
        return len(self.told)

    def __iter__(self) -> Iterator[Label]:
        return iter(self.told)

    def add(self, label: Label) -> None:
        """One more."""
        self._write(label)
        self.told.append(label)
        if label.name is not None:
            self.by_name.setdefault(label.name, []).append(label)

    def drop(self, name: Hashable) -> None:
        """All labels of this candidate."""
        self.told = [label for label in self.told if label.name != name]
        self.by_name.pop(name, None)
        kept, self.told = self.told, []
        for label in kept:
            self._write(label)
            self.told.append(label)

    def values(self, name: Hashable) -> list[float]:
        """The labels of this candidate; several where it was repeated."""
        return [label.y for label in self.by_name.get(name, [])]

    def arrays(self) -> tuple[Array, Array, Array]:
        """Inputs (t, d), labels (t,) and noise sds (t,), as views."""
        if self._table is None:
            return np.zeros((0, 0)), np.zeros(0), np.zeros(0)
        rows = self._table[: len(self.told)]
        return rows[:, :-2], rows[:, -2], rows[:, -1]

    def _write(self, label: Label) -> None:
        t = len(self.told)
        if self._table is None or t == len(self._table):
            grown = np.zeros((max(16, 2 * t), len(label.x) + 2))
            grown[:t] = self._table
            self._table = grown
        self._table[t] = [*label.x, label.y, label.noise]


def number(value: Any, name: Any) -> float:
    """A label as a float, or an error that names the point and what came."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, str) and value.count(",") == 1 and _is_number(value.replace(",", ".")):
        hint = f"; write {value.replace(',', '.')} with a point, as a number"
    elif isinstance(value, str) and _is_number(value):
        hint = "; it is text: give the number itself"
    else:
        hint = "; to leave a point without a label, call skip(id)"
    real = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    if not real or not np.isfinite(float(value)):
        raise ValueError(f"the label of {name!r} is {value!r}, which is not a finite number{hint}")
    return float(value)


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def pairs(ids: Any, labels: Any, noise: Any) -> list[tuple[Hashable, float, float]]:
    """(id, label, noise sd) for one id and one label, or for as many of each."""
    if np.ndim(labels) == 0:
        return [(ids, number(labels, ids), _noise(0.0 if noise is None else noise, ids))]
    names, values = list(ids), list(labels)
    if len(names) != len(values):
        raise ValueError(
            f"tell() got {len(values)} labels for {len(names)} ids; it needs one label for each "
            "id. To leave a point without a label, call skip(id) instead."
        )
    sds: Sequence[Any] = [0.0 if noise is None else noise] * len(names)
    if noise is not None and np.ndim(noise) == 1:
        sds = list(noise)
    if len(sds) != len(names):
        raise ValueError(f"tell() got {len(sds)} noises for {len(names)} labels")
    rows = zip(names, values, sds, strict=True)
    return [(name, number(y, name), _noise(sd, name)) for name, y, sd in rows]


def _noise(value: Any, name: Any) -> float:
    sd = number(value, name)
    if sd < 0.0:
        raise ValueError(f"the noise of {name!r} is {value!r}; it is a standard deviation, >= 0")
    return sd


def sort(
    labels: Labels, rows: Sequence[Label], replace: bool, repeat: bool
) -> tuple[list[Hashable], list[Label]]:
    """Ids whose labels go and labels that come, when candidates get these labels.

    The same label again is left out; another one is AlreadyLabelled, unless it replaces the old
    or repeats the measurement.
    """
    dropped: list[Hashable] = []
    new: list[Label] = []
    for label in rows:
        name = label.name
        old = [] if name in dropped else labels.values(name)
        old = old + [other.y for other in new if other.name == name]
        if old and not repeat:
            if label.y in old and (len(old) == 1 or not replace):
                continue
            if not replace:
                raise AlreadyLabelled(
                    f"{name!r} has the label {', '.join(map(repr, old))} already, and {label.y!r} "
                    "is another; say replace=True to correct it, or repeat=True to add a second "
                    "measurement"
                )
            dropped.append(name)
            new = [other for other in new if other.name != name]
        new.append(label)
    return dropped, new
