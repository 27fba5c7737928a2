"""The results of one row as a person or a program gives them: labels, a failed run, or a bound.

    312.5   yield=82.1   crystallised=yes     labels, one for each quantity that is named
    failed   failed - stirrer stopped         the run failed: a label of the quantity "worked"
    <0.1                                      a bound: the note of a skipped row, not learned from

The shell and the API save them by `tell_row`. No numerics.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from weal.campaign.label_input import entries
from weal.campaign.plausibility import implausible_message, judge_in_ledger, name_where_several
from weal.campaign.quantity_names import find_named, read_failure_of, split_assignment
from weal.campaign.row_rules import fail_rows, skip_rows
from weal.campaign.rules import LabelInput, TellResult
from weal.errors import ImplausibleLabel
from weal.quantities.protocol import Quantity
from weal.store.events import check_id
from weal.tables.result_lines import RUN_FAILED, bound_note, read_failure

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign


class TypedValue(NamedTuple):
    """A value that is given instead of a label, and its quantity."""

    typed: str  # with the name of the quantity, for messages
    text: str
    quantity: Quantity | None  # None if no name was given, and there are several
    is_named: bool


class MissingLabel(NamedTuple):
    """A value that is not a label: the run failed, or it is a bound."""

    what: Literal["failed", "bound"]
    note: str | None


def split_values(quantities: Mapping[str, Quantity], typed: Sequence[str]) -> list[TypedValue]:
    """The values of `NAME=VALUE`; the word of a failed run needs no name."""
    found = list[TypedValue]()
    for one in typed:
        if len(quantities) > 1 and read_failure(one.strip(), None)[0]:
            found.append(TypedValue(one, one, None, is_named=False))
        else:
            quantity, text = split_assignment(quantities, one)
            found.append(TypedValue(one, text, quantity, is_named=text != one))
    return found


def given_values(quantities: Mapping[str, Quantity], given: object) -> list[TypedValue]:
    """The texts among the values of a program: one value, or one for each quantity."""
    if isinstance(given, Mapping):
        named = {find_named(quantities, name): value for name, value in given.items()}
        return [
            TypedValue(f"{one.name}={value}", value, one, is_named=True)
            for one, value in named.items()
            if isinstance(value, str)
        ]
    if not isinstance(given, str):
        return []
    only = next(iter(quantities.values())) if len(quantities) == 1 else None
    return [TypedValue(given, given, only, is_named=False)]


def read_missing_label(
    campaign: str, id_: str, values: Sequence[TypedValue], among: int, note: str | None,
    several: bool,
) -> MissingLabel | None:  # fmt: skip
    """The reason why a row has no label; None if all values are labels.

    `among` is the number of values that were given for the row, numbers included; `several`:
    whether the campaign measures several quantities.
    """
    found = [(one, *_read_word(one)) for one in values]
    missing = [(one, word, because) for one, word, because in found if word]
    if not missing:
        return None
    failed = [(one, word, because) for one, word, because in missing if word.lower() in RUN_FAILED]
    first, word, _ = missing[0]
    if among > 1 and len(failed) < among:
        raise ValueError(
            f"{first.typed!r} means that there is no label, but other labels of {id_} are given "
            "too; leave out what was not measured, and put the reason into --note"
        )
    if failed:
        reasons = dict.fromkeys(because for _, _, because in failed)
        return MissingLabel("failed", "; ".join(filter(None, [*reasons, note])) or None)
    if bound := bound_note(word, note):
        named = f"{first.quantity.name} " if first.is_named and first.quantity else ""
        return MissingLabel("bound", f"{named}{bound}")
    skip = shlex.join(["weal", "skip", campaign, id_, "--note", first.typed.strip()])
    leave_out = "leave out what was not measured, or " * several
    raise ValueError(
        f"{first.typed.strip()!r} is not a label; {leave_out}skip a row without one: `{skip}`"
    )


def _read_word(value: TypedValue) -> tuple[str | None, str | None]:
    """The word instead of a label, and what follows it."""
    if value.quantity is None:
        return read_failure(value.text.strip(), None)
    return read_failure_of(value.quantity, value.text, is_named=value.is_named)


class RowDetails(NamedTuple):
    """The options that a program sends with the values of a row."""

    noise: object = None
    note: str | None = None
    sure: bool = False
    accident: bool = False
    replace: bool = False
    repeat: bool = False
    key: str | None = None
    plausible: bool = False  # refuse a label far from what is expected


def tell_row(
    campaign: "Campaign", id_: object, given: object, how: RowDetails
) -> dict[str, object]:
    """Save the results of one row; the answer to a program, as of `weal tell NAME ID VALUE`."""
    name, quantities = check_id(id_), campaign.read_quantities()
    among = len(given) if isinstance(given, Mapping) else 1
    values = given_values(quantities, given)
    several = len(quantities) > 1
    missing = read_missing_label(campaign.name, name, values, among, how.note, several)
    if missing is not None and missing.what == "failed":
        who, note = campaign.who, missing.note
        done = fail_rows(campaign, [name], who, note, how.accident, how.replace, how.key)
        return {"event": done.seq, "failed": [name], "new": done.new}
    if how.accident:
        raise ValueError('an accident is a failed run: give the value "failed"')
    if missing is not None:
        skip_rows(campaign, [name], True, campaign.who, missing.note, how.key)
        seq = campaign.read_ledger().seq
        return {"event": seq, "labels": 0, "new": 0, "skipped": [name], "note": missing.note}
    labels = entries(quantities, name, given, how.noise, how.note, how.sure)
    if how.plausible:
        check_plausible(campaign, labels)
    kept = campaign.tell_entries(labels, replace=how.replace, repeat=how.repeat, key=how.key)
    return label_answer(labels, kept)


def label_answer(labels: Sequence[LabelInput], kept: TellResult) -> dict[str, object]:
    """The answer to a program that has told the labels of a row."""
    told = {"event": kept.seq, "labels": len(labels), "new": kept.new}
    return {**told, "doubts": list(kept.doubts)}


def check_plausible(campaign: "Campaign", labels: Sequence[LabelInput]) -> None:
    """Raise ImplausibleLabel for a label that is new and far from what is expected."""
    ledger = campaign.read_ledger()
    for one in labels:
        known = ledger.quantity(one.quantity).labels.get(one.id, ())
        reason = None if any(told.y == one.y for told in known) else judge_in_ledger(ledger, one)
        if reason is not None:
            named = name_where_several(ledger, one.quantity)
            message = implausible_message(one.id, reason, named, campaign.name)
            raise ImplausibleLabel(f"{message}; nothing was saved")
