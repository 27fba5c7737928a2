"""Labels in the order they were told, and checks of new labels."""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from weal.core.arrays import Array, GrowingRows
from weal.errors import AlreadyLabelled
from weal.learner.label_changes import (
    CONFIRMED,
    CORRECTED,
    OtherLabel,
    classify_label,
    same_labels,
)
from weal.quantities.number import finite_number
from weal.quantities.protocol import Quantity

Told = tuple[Array, Array, Array]  # inputs (t, d), labels (t,), noise sds (t,); the user's units


@dataclass(frozen=True, slots=True, eq=False)
class Label:
    """One label: of a candidate, or of a point outside the pool (name None)."""

    name: Hashable | None
    x: Array  # (d,)  inputs in the user's units
    y: float  # as the model of its part sees it; in an event, as users tell it
    noise: float = 0.0  # sd of its known noise, in units of y
    sure: bool = False  # whether it is marked as sure: then it is never treated as an outlier


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Labels in the order they were told, and by id; a value."""

    told: tuple[Label, ...] = ()
    by_name: Mapping[Hashable, tuple[Label, ...]] = field(default_factory=dict)
    table: GrowingRows | None = None  # (1, t, d + 3)  inputs, label, noise and sure of each

    def __len__(self) -> int:
        return len(self.told)

    def __iter__(self) -> Iterator[Label]:
        return iter(self.told)

    def after(
        self, dropped: Sequence[Hashable], new: Sequence[Label], confirmed: Sequence[Label] = ()
    ) -> "Labels":
        """The labels without those of dropped candidates, with new ones.

        Confirmed labels are marked as sure, and keep their places.
        """
        gone = set(dropped)
        if gone or confirmed:
            kept = [one for one in self.told if one.name is None or one.name not in gone]
            kept = [replace(one, sure=True) if one in confirmed else one for one in kept]
            return Labels().after([], [*kept, *new])
        by_name, table = dict(self.by_name), self.table
        for label in new:
            row = np.array([[*label.x, label.y, label.noise, label.sure]])
            table = GrowingRows(row[:, None]) if table is None else table.append(row)
            if label.name is not None:
                by_name[label.name] = (*by_name.get(label.name, ()), label)
        return Labels((*self.told, *new), by_name, table)

    def values(self, name: Hashable) -> list[float]:
        """The labels of this candidate; several where it was repeated."""
        return [label.y for label in self.by_name.get(name, ())]

    def arrays(self, start: int = 0, end: int | None = None) -> Told:
        """Inputs (t, d), labels (t,) and noise sds (t,) from `start` to `end`, as views."""
        if self.table is None:
            return np.zeros((0, 0)), np.zeros(0), np.zeros(0)
        rows = self.table.array[0, start:end]
        return rows[:, :-3], rows[:, -3], rows[:, -2]

    def sure(self, start: int = 0, end: int | None = None) -> Array:
        """1 for labels (t,) that are sure, 0 for others."""
        return np.zeros(0) if self.table is None else self.table.array[0, start:end, -1]


def _plain(value: object) -> object:
    """The value of an array without dimensions; a masked one is left as it is."""
    single = isinstance(value, np.ndarray) and value.ndim == 0 and not np.ma.is_masked(value)
    return value.item() if single else value  # type: ignore[attr-defined]


def several(value: Any) -> bool:
    """Whether this is a list of labels, and not one."""
    return isinstance(value, list | tuple) or np.ndim(value) > 0


Row = tuple[Hashable, float, float, bool]  # id, label, noise sd, sure


def pairs(quantity: Quantity, ids: Any, labels: Any, noise: Any, sure: Any = False) -> list[Row]:
    """(id, label, noise sd, sure) for one id and one label, or for as many of each.

    A label is a number, or the code of a word.
    """
    if not several(labels):
        sd = _noise(0.0 if noise is None else noise, ids)
        return [(ids, _label(quantity, labels, ids), sd, _truth(sure, ids))]
    values = list(labels)
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        raise ValueError(
            f"tell() got {len(values)} labels in a list for the one id {ids!r}; give the number "
            "itself, or a list of ids too"
        )
    names = list(ids)
    if len(names) != len(values):
        raise ValueError(
            f"tell() got {len(values)} labels for {len(names)} ids; it needs one label for each "
            "id. To leave a point without a label, call skip(id) instead."
        )
    sds = list(noise) if several(noise) else [0.0 if noise is None else noise] * len(names)
    known = list(sure) if several(sure) else [sure] * len(names)
    for what, some in (("noises", sds), ("sure", known)):
        if len(some) != len(names):
            raise ValueError(f"tell() got {len(some)} {what} for {len(names)} labels")
    rows = zip(names, values, sds, known, strict=True)
    return [
        (name, _label(quantity, y, name), _noise(sd, name), _truth(of, name))
        for name, y, sd, of in rows
    ]


def _label(quantity: Quantity, value: object, name: object) -> float:
    return quantity.check(_plain(value), name)


def _truth(value: object, name: object) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"sure of {name!r} is {value!r}; it is True or False")
    return bool(value)


def _noise(value: object, name: object) -> float:
    sd = finite_number(_plain(value), f"the noise of {name!r}")
    if sd < 0.0:
        raise ValueError(f"the noise of {name!r} is {value!r}; it is a standard deviation, >= 0")
    return sd


def changes_by_labels(
    labels: Labels,
    rows: Sequence[Label],
    replace: bool,
    repeat: bool,
    asked_again: Collection[Hashable] = (),
) -> tuple[list[Hashable], list[Label], list[Label]]:
    """Ids whose labels are dropped, new labels, and confirmed labels, for labels that are told.

    The same label (and noise) again is left out, unless it is now marked as sure; another one
    raises AlreadyLabelled, unless it replaces the old one or repeats the measurement. The first
    label of an id that was asked again is a repeat, equal or not.
    """
    dropped: list[Hashable] = []
    new: list[Label] = []
    confirmed: list[Label] = []
    for label in rows:
        name = label.name
        old = [] if name in dropped else list(labels.by_name.get(name, ()))
        old += [other for other in new if other.name == name]
        answers = name in asked_again and not replace and not any(o.name == name for o in new)
        if old and not repeat and not answers:
            try:
                change = classify_label(label, old, replace, repeat)
            except OtherLabel:
                raise AlreadyLabelled(
                    f"{name!r} has the label {', '.join(map(_text, old))} already, and "
                    f"{_text(label)} is another; use replace=True to correct it, or repeat=True to "
                    "add a second measurement"
                ) from None
            if change == CONFIRMED:
                same = same_labels(label, old)
                confirmed += [other for other in same if other not in new]
                new = [label if other in same else other for other in new]
            if change != CORRECTED:
                continue
            dropped.append(name)
            new = [other for other in new if other.name != name]
        new.append(label)
    return dropped, new, confirmed


def _text(label: Label) -> str:
    return repr(label.y) if label.noise == 0.0 else f"{label.y!r} (noise {label.noise!r})"
