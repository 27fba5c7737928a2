"""Labels of a quantity as labels of its parts, and the outcome of every run as a label of "worked".

A label of a quantity goes to each of its parts (`Quantity.part_labels`), as the model of the part
sees it and with the noise that the part states.

The part "worked" (pass/fail) begins with the first run that failed. From then on

    a row with a label of any measured quantity   worked: an implied pass
    a row that failed                             did not; a label that comes later replaces that
    a row whose labels are all withdrawn          has no outcome

so that runs that were measured before the first failure count as well.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from weal.learner.labels import Label, Labels
from weal.quantities.kinds import WORKED, worked_quantity
from weal.quantities.protocol import Quantity

PASS, FAIL = 1.0, 0.0  # labels of "worked"


@dataclass(frozen=True, slots=True, eq=False)
class LabelUpdate:
    """Labels of a part that are dropped by id, added, and confirmed as sure."""

    dropped: tuple[Hashable, ...] = ()
    added: tuple[Label, ...] = ()
    confirmed: tuple[Label, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes."""
        return not (self.dropped or self.added or self.confirmed)


def part_label(quantity: Quantity, k: int, label: Label) -> Label:
    """A label of a quantity as a label of its k-th part."""
    part = quantity.parts()[k]
    y = part.to_model(quantity.part_labels(label.y)[k])
    noise = part.label_noise or label.noise
    same = y == label.y and noise == label.noise
    return label if same else replace(label, y=y, noise=noise)


def updates_of_parts(
    quantity: Quantity, update: LabelUpdate, before: Mapping[str, Labels]
) -> dict[str, LabelUpdate]:
    """The updates of the parts of a quantity, by part; `confirmed` are labels of the first part."""
    found, parts = {}, quantity.parts()
    for k, part in enumerate(parts):
        added = tuple(part_label(quantity, k, label) for label in update.added)
        confirmed = update.confirmed
        if k:
            confirmed = _same_places(confirmed, before[parts[0].name], before[part.name])
        found[part.name] = LabelUpdate(update.dropped, added, confirmed)
    return found


def _same_places(some: Sequence[Label], first: Labels, other: Labels) -> tuple[Label, ...]:
    """The labels of another part in the places of some labels of the first part."""
    places = [n for n, label in enumerate(first.told) if any(label is one for one in some)]
    return tuple(other.told[n] for n in places)


def update_of_outcomes(
    before: Mapping[str, Labels], after: Mapping[str, Labels], update: LabelUpdate
) -> LabelUpdate | None:
    """The update of "worked" that follows from the labels of the measured parts.

    `before` and `after` are the labels of all parts, `update` the new labels of a quantity; None:
    no run has failed, or nothing follows.
    """
    outcomes = before.get(WORKED)
    if outcomes is None:
        return None
    passes = _first_of_each(update.added)
    failed = [name for name in passes if _failed(outcomes, name)]
    gone = [name for name in update.dropped if name in outcomes.by_name and name not in passes]
    gone = [name for name in gone if not _is_measured(after, name) and not _failed(outcomes, name)]
    new = [x for name, x in passes.items() if name in failed or name not in outcomes.by_name]
    outside = [label for label in update.added if label.name is None]
    found = LabelUpdate((*failed, *gone), tuple(outcome(one, PASS) for one in (*new, *outside)))
    return None if found.is_empty else found


def first_outcomes(labels: Mapping[str, Labels]) -> Labels:
    """The implied passes of all rows with a label, when the first run fails; in the order they were
    told.
    """
    every = [label for part in labels.values() for label in part.told]
    named = _first_of_each(every).values()
    outside = [label for part in list(labels.values())[:1] for label in part if label.name is None]
    return Labels().after([], [outcome(label, PASS) for label in (*named, *outside)])


def outcome(label: Label, result: float) -> Label:
    """The outcome of the run at the inputs of a label, as the model of "worked" sees it."""
    worked = worked_quantity()
    return Label(label.name, label.x, worked.to_model(result), worked.label_noise)


def _first_of_each(labels: Sequence[Label]) -> dict[Hashable, Label]:
    """One label of each id, in order; points outside the pool left out."""
    found: dict[Hashable, Label] = {}
    for label in labels:
        if label.name is not None:
            found.setdefault(label.name, label)
    return found


def _failed(outcomes: Labels, name: Hashable) -> bool:
    return any(label.y < 0.0 for label in outcomes.by_name.get(name, ()))


def _is_measured(labels: Mapping[str, Labels], name: Hashable) -> bool:
    return any(name in one.by_name for part, one in labels.items() if part != WORKED)
