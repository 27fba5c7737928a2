"""Plausibility check of a label: the same for the shell, the page, Python and results files.

`Quantity.judge` has the rules of each kind of quantity: a number is implausible if it is far from
its prediction, or without a prediction from the other labels.

The first MIN_OTHER_LABELS labels have too few others; they are judged again once there are
MIN_LATER_LABELS. The range of the other labels needs all labels, so it is not computed after
MAX_EVENTS_FOR_RANGES events; `weal status` compares labels with the model later. The shell and
Python save an implausible label and warn; the page asks before it saves. Standard library only.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from weal.campaign.events import AskedBody, prediction_of
from weal.campaign.ledger import Ledger, QuantityLedger
from weal.quantities.number import MIN_OTHER_LABELS
from weal.quantities.protocol import ExpectedLabel, Implausible, LabelRange, Quantity

if TYPE_CHECKING:
    from weal.campaign.rules import LabelDecision, LabelInput

Doubt = tuple[str, Implausible, str | None]  # id, reason, and the quantity where there are several
MIN_LATER_LABELS = 5  # other labels for which the first labels are judged again
MAX_EVENTS_FOR_RANGES = 2000  # events of a campaign whose labels are all read for a range


def judge_in_ledger(ledger: Ledger, entry: "LabelInput") -> Implausible | None:
    """The reason why a label to be saved is implausible in this campaign, or None."""
    if entry.sure:
        return None
    others, own = None, ledger.quantity(entry.quantity)
    if needs_range(ledger, entry, ledger.seq):
        others = _LabelRanges(own.quantity, _labels_by_row(own)).without(entry.id)
    expected = expected_label(ledger, entry.quantity, entry.id)
    return own.quantity.judge(entry.y, expected, others, entry.noise)


def needs_range(ledger: Ledger, entry: "LabelInput", events: int) -> bool:
    """Whether a label of this row is compared with the other labels."""
    is_small = events <= MAX_EVENTS_FOR_RANGES
    return is_small and expected_label(ledger, entry.quantity, entry.id) is None


def expected_label(ledger: Ledger, quantity: str, id_: str) -> ExpectedLabel | None:
    """The prediction in the ask of a row; None without an ask, or without a model then."""
    lease, own = ledger.leases.get(id_), ledger.quantity(quantity)
    past = (one.body for one in own.foretold if one.told.id == id_)
    name = own.quantity.name
    body = prediction_of(lease.body, name, ledger.first_quantity) if lease else next(past, None)
    return expected_in_event(body, own.quantity)


def expected_in_event(
    body: AskedBody | None, quantity: Quantity | None = None
) -> ExpectedLabel | None:
    """The prediction in the body of an event `asked`; None if there was no model.

    For further quantities, the body is that of `prediction_of`. Words have no interval.
    """
    if body is None:
        return None
    if (p := body.get("probabilities")) and quantity is not None:
        return ExpectedLabel(0.0, 0.0, 0.0, tuple(p.get(word, 0.0) for word in quantity.words))
    mean, low, high = body["mean"], body["low"], body["high"]
    if mean is not None and quantity is not None and quantity.kind == "pass_fail":
        return ExpectedLabel(mean, 0.0, 1.0)
    return None if mean is None or low is None or high is None else ExpectedLabel(mean, low, high)


def judge_first_labels(
    ledger: Ledger, decisions: Sequence["LabelDecision"]
) -> tuple[list["LabelDecision"], list[Doubt]]:
    """Judge labels without a prediction by the other labels, and the first labels again.

    Returns the decisions, and by id the first labels that are implausible since these labels came.

    The ledger may include the labels of the decisions or not.
    """
    judged, first = list(decisions), list[Doubt]()
    for name in dict.fromkeys(one.entry.quantity for one in decisions if one.needs_range):
        at = [n for n, one in enumerate(decisions) if one.entry.quantity == name]
        own = ledger.quantity(name)
        found, early = _judge_quantity(ledger, own, [decisions[n] for n in at])
        for n, one in zip(at, found, strict=True):
            judged[n] = one
        first += early
    return judged, first


def _judge_quantity(
    ledger: Ledger, own: QuantityLedger, decisions: Sequence["LabelDecision"]
) -> tuple[list["LabelDecision"], list[Doubt]]:
    """As `judge_first_labels`, for the labels of one quantity."""
    quantity, written = own.quantity, {one.entry.id for one in decisions if one.draft}
    before = {id_: ys for id_, ys in _labels_by_row(own).items() if id_ not in written}
    after: dict[str, list[float]] = {**before}
    for one in decisions:
        if one.draft:
            after[one.entry.id] = [*after.get(one.entry.id, ()), one.entry.y]
    ranges, earlier_ranges = _LabelRanges(quantity, after), _LabelRanges(quantity, before)
    judged = [
        replace(one, implausible=quantity.judge(one.entry.y, None, ranges.without(one.entry.id)))
        if one.needs_range
        else one
        for one in decisions
    ]
    first = [
        (told.id, found, name_where_several(ledger, quantity.name))
        for told in own.told()[:MIN_OTHER_LABELS]
        if told.id in before and not told.sure and not quantity.judge(told.y, None, None)
        if expected_label(ledger, quantity.name, told.id) is None
        if (found := ranges.judge_again(told.id, told.y))
        and not earlier_ranges.judge_again(told.id, told.y)
    ]
    return judged, first


def _labels_by_row(own: QuantityLedger) -> dict[str, list[float]]:
    return {id_: [told.y for told in several] for id_, several in own.labels.items()}


class _LabelRanges:
    """The range of the labels of all rows but one, for each row."""

    def __init__(self, quantity: Quantity, labels: Mapping[str, Sequence[float]]) -> None:
        self.quantity = quantity
        self.n = {id_: len(several) for id_, several in labels.items()}
        self.total = sum(self.n.values())
        pairs = sorted((y, id_) for id_, several in labels.items() for y in several)
        self.low, self.high = _first_two_rows(pairs), _first_two_rows(reversed(pairs))

    def without(self, id_: str) -> LabelRange | None:
        """The range of the other rows' labels; None if there are none."""
        n = self.total - self.n.get(id_, 0)
        if not n:
            return None
        low, high = (
            next(y for other, y in ends.items() if other != id_) for ends in (self.low, self.high)
        )
        return LabelRange(n, low, high)

    def judge_again(self, id_: str, y: float) -> Implausible | None:
        """Judge one of the first labels, once there are enough others."""
        others = self.without(id_)
        is_early = others is None or others.n < MIN_LATER_LABELS
        return None if is_early else self.quantity.judge(y, None, others)


def _first_two_rows(pairs: Iterable[tuple[float, str]]) -> dict[str, float]:
    """The first label of each of the first two rows, by row."""
    found: dict[str, float] = {}
    for y, id_ in pairs:
        found.setdefault(id_, y)
        if len(found) == 2:
            break
    return found


def name_where_several(ledger: Ledger, quantity: str) -> str | None:
    """The name of a quantity; None if it is the only one."""
    return quantity if len(ledger.quantities) > 1 else None


def implausible_message(
    id_: str, reason: Implausible, quantity: str | None = None, campaign: str | None = None
) -> str:
    """The warning for an implausible label: for the shell of a campaign, or for Python (None)."""
    if campaign is None:
        advice = "tell(..., replace=True) corrects it; sure=True confirms it"
    else:
        advice = f"`{correction_command(campaign, id_, quantity)}` corrects it; --sure confirms it"
    of = f"{quantity} " if quantity else ""
    return f"{id_}: {of}{reason}. A typo, or another unit? {advice}"


def correction_command(campaign: str, id_: str, quantity: str | None = None) -> str:
    """The command that corrects a label, to be pasted."""
    from shlex import quote

    dashes = "-- " if campaign.startswith("-") or id_.startswith("-") else ""
    value = f"{quote(quantity)}=VALUE" if quantity else "VALUE"
    return f"weal tell --replace {dashes}{quote(campaign)} {quote(id_)} {value}"
