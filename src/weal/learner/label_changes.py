"""Classify a further label of a row: repeat, correction, confirmation, or already known.

    TOLD        the label counts beside the labels that the row has
    CORRECTED   the label replaces all labels of the row
    CONFIRMED   the labels of the row with the same value and noise become sure
    WITHDRAWN   the row has no label any more

`classify_label` decides which of them a new label is, and `change_labels` which labels it drops,
confirms and adds. The learner and the rules of a campaign use the first; the ledger and the replay
of its events use the second. Standard library only: `weal tell` starts no numerics.
"""

from collections.abc import Sequence
from typing import Protocol, TypeVar

TOLD, CORRECTED, CONFIRMED, WITHDRAWN = "told", "corrected", "confirmed", "withdrawn"


class RowLabel(Protocol):
    """A label of one row."""

    @property
    def y(self) -> float:
        """Its value."""

    @property
    def noise(self) -> float | None:
        """Standard deviation of its noise, as far as it is known."""

    @property
    def sure(self) -> bool:
        """Whether the label must never be treated as an outlier."""


L = TypeVar("L", bound=RowLabel)


class OtherLabel(Exception):
    """The row has another label, and the new one is neither a correction nor a repeat."""


def same_labels(label: RowLabel, before: Sequence[L]) -> list[L]:
    """The labels with the value and the noise of `label`."""
    return [one for one in before if (one.y, one.noise) == (label.y, label.noise)]


def classify_label(
    label: RowLabel, before: Sequence[RowLabel], replace: bool, repeat: bool
) -> str | None:
    """The change that a new label makes to a row with these labels; None if it is there already.

    Raises OtherLabel where the row has another label, without `replace` or `repeat`.
    """
    if not before or repeat:
        return TOLD
    same = same_labels(label, before)
    is_sure = any(one.sure for one in same)
    takes_back_sure = replace and is_sure and not label.sure
    if same and not takes_back_sure and (len(before) == 1 or not replace):
        return CONFIRMED if label.sure and not is_sure else None
    if not replace:
        raise OtherLabel
    return CORRECTED


def change_labels(
    change: str, label: L | None, before: Sequence[L]
) -> tuple[tuple[L, ...], tuple[L, ...], tuple[L, ...]]:
    """Labels that a change drops, confirms and adds; a row without labels has none to confirm."""
    if label is None or change == WITHDRAWN:
        return tuple(before), (), ()
    if change == CONFIRMED and before:
        return (), tuple(same_labels(label, before)), ()
    return (tuple(before) if change == CORRECTED else ()), (), (label,)
