"""Labels from the arguments of `ActiveLearner.tell`, as events of the learner.

    tell(id, 3.5)                                  one quantity
    tell([id, id], [3.5, 4.0])                     the same, several ids
    tell({id: 3.5})
    tell(id, {"yield": 82.1, "crystallised": "yes"})     by quantity
    tell([id, id], [{...}, {...}])   tell({id: {...}})

A row may have labels of some quantities, and get others later. All labels of a call are taken, or
none.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from weal.learner.events import LabelsTold
from weal.learner.labels import Label, Labels, Row, changes_by_labels, pairs, several
from weal.learner.part_labels import FAIL
from weal.learner.state import State
from weal.quantities.kinds import WORKED
from weal.quantities.protocol import Quantity
from weal.tables.frames import split_labels


@dataclass(frozen=True, slots=True)
class LabelOptions:
    """The options of `tell`."""

    noise: Any = None
    sure: Any = False
    replace: bool = False
    repeat: bool = False
    quantity: str | None = None  # the quantity of plain labels; None: the only one

    def __post_init__(self) -> None:
        if self.replace and self.repeat:
            raise ValueError("replace corrects a label and repeat adds to it: not both at once")


def label_events(state: State, ids: Any, labels: Any, options: LabelOptions) -> list[LabelsTold]:
    """The events of labels that are told; ValueError and AlreadyLabelled if one is refused."""
    if isinstance(ids, Mapping) and labels is None:
        ids, labels = list(ids), list(ids.values())
    ids, labels = split_labels(ids, labels)
    if isinstance(labels, Mapping):
        ids, labels = [ids], [labels]
    if several(labels) and any(isinstance(one, Mapping) for one in labels):
        return _events_by_quantity(state, ids, list(labels), options)
    return _events(state, find_told(state, options.quantity), ids, labels, options)


def find_told(state: State, name: str | None) -> Quantity:
    """The measured quantity of this name; None: the only one."""
    if name is None and len(state.measured) > 1:
        names = ", ".join(repr(one.name) for one in state.measured)
        first = state.measured[0].name
        raise ValueError(
            f"there are several quantities ({names}); say which one: quantity={first!r}, or to "
            f"tell labels tell(id, {{{first!r}: ...}})"
        )
    columns = {one.column: one.name for one in state.measured if one.column is not None}
    return state.find_measured(None if name is None else columns.get(name, name))


def _events_by_quantity(
    state: State, ids: Any, labels: Sequence[Any], options: LabelOptions
) -> list[LabelsTold]:
    """The events of labels given as one mapping for each id; the quantities in their order."""
    ids = list(ids)
    if len(ids) != len(labels) or not all(isinstance(one, Mapping) for one in labels):
        raise ValueError(
            f"tell() got {len(labels)} labels for {len(ids)} ids; give one dict of labels by "
            "quantity for each id"
        )
    told: dict[str, tuple[list[Any], list[Any]]] = {one.name: ([], []) for one in state.measured}
    for name, of_row in zip(ids, labels, strict=True):
        if not of_row:
            raise ValueError(
                f"the label of {name!r} is {of_row!r}, which is not a finite number; to leave a "
                "point without a label, call skip(id)"
            )
        for key, label in of_row.items():
            names, values = told[find_told(state, key).name]
            names.append(name)
            values.append(label)
    found = []
    for quantity, (names, values) in told.items():
        if names:
            found += _events(state, state.find_measured(quantity), names, values, options)
    return found


def _events(
    state: State, quantity: Quantity, ids: Any, labels: Any, options: LabelOptions
) -> list[LabelsTold]:
    """The event of labels of one quantity; none if nothing changes."""
    pool, there = state.candidates, told_labels(state, quantity)
    rows = [
        Label(pool.name(given), pool.x(given), y, sd, known)
        for given, y, sd, known in _read(state, quantity, ids, labels, options)
    ]
    asked_again = [id for id in state.asked if id in there.by_name and state.is_complete(id)]
    dropped, new, confirmed = changes_by_labels(
        there, rows, options.replace, options.repeat, asked_again
    )
    if not (new or confirmed):
        return []
    sure = _of_first_part(state, quantity, there, confirmed) if confirmed else ()
    return [LabelsTold(quantity.name, tuple(new), tuple(dropped), sure)]


def _of_first_part(
    state: State, quantity: Quantity, told: Labels, some: Sequence[Label]
) -> tuple[Label, ...]:
    """The labels of the first part in the places of some labels as told."""
    own = state.quantities[quantity.parts()[0].name].labels.told
    places = [n for n, one in enumerate(told.told) if any(one is other for other in some)]
    return tuple(own[n] for n in places)


def _read(
    state: State, quantity: Quantity, ids: Any, labels: Any, options: LabelOptions
) -> list[Row]:
    """The labels as given, checked; an error names the quantity where there are several."""
    try:
        return pairs(quantity, ids, labels, options.noise, options.sure)
    except ValueError as error:
        if len(state.measured) == 1:
            raise
        raise ValueError(f"{quantity.name}: {error}") from None


def told_labels(state: State, quantity: Quantity) -> Labels:
    """The labels of a measured quantity as users told them: numbers, or codes of words."""
    parts = [state.quantities[part.name] for part in quantity.parts()]
    first = parts[0]
    if not (first.quantity.label_noise or len(parts) > 1):
        return first.labels  # the model sees them as they are
    rows = zip(*(part.labels.told for part in parts), strict=True)
    told = [replace(row[0], y=_told_label(quantity, row), noise=0.0) for row in rows]
    return Labels().after([], told)


def _told_label(quantity: Quantity, row: Sequence[Label]) -> float:
    """The label of a quantity whose parts have these labels."""
    parts = quantity.parts()
    if parts[0] == quantity:
        return quantity.from_model(row[0].y)
    found = tuple(part.from_model(one.y) for part, one in zip(parts, row, strict=True))
    return next(float(code) for code in range(len(parts)) if quantity.part_labels(code) == found)


def failure_event(state: State, name: Hashable) -> LabelsTold | None:
    """The event of a run that failed; None: that is known. ValueError if it has labels."""
    if state.has_failed(name):
        return None
    if any(name in one.labels.by_name for one in state.parts.values()):
        raise ValueError(
            f"{name!r} has a label, so its run did not fail; forget({name!r}) drops the label"
        )
    return LabelsTold(WORKED, (Label(name, state.candidates.x(name), FAIL),))


def forget_events(state: State, name: Hashable, quantity: str | None) -> list[LabelsTold]:
    """The events that drop the labels of a row: of one quantity, or of all, a failure included."""
    chosen = state.measured if quantity is None else (find_told(state, quantity),)
    firsts = [(one.name, one.parts()[0].name) for one in chosen]
    names = [told for told, part in firsts if name in state.quantities[part].labels.by_name]
    if quantity is None and state.has_failed(name):
        names.append(WORKED)
    if not names:
        of_what = "" if quantity is None else f" of {quantity}"
        raise ValueError(f"{name!r} has no label{of_what} to forget")
    return [LabelsTold(told, dropped=(name,)) for told in names]
