"""Bodies of the events of a campaign, as they are stored: the JSON format of the event log.

    created     settings, plan of the columns, quantities, target column, column of the ids
    added       a chunk of candidates in the store, or shards that stay in their files
    asked       a row is leased: until when, the prediction at that time, and why this row
    told        a label; with `confirms`, the same label of the row is sure from now on. The label 0
                of the quantity "worked" is a run that failed
    corrected   a label that replaces all labels of the row
    withdrawn   the row has no label of the quantity any more, and no lease; with `labels`, only the
                labels of these events are withdrawn; without any, only the lease
    skipped     the row is not suggested (`on`), or may be suggested again; with `accident`, its run
                failed for a reason that says nothing about its inputs
                Events that undo an action (`campaign.undo`) name its first event as `undoes`; with
                `resumes`, the lease that the action ended is open again. A label that comes back
                has its `origin`: who told it, when, and whether under a prediction
    settings    settings that changed; with `words`, all words of quantities that got new ones. An
                archived campaign is also `hidden`, which weal 0.2 reads

In a copied campaign, `created` names the source under `copied_from`. An event with a label or a
skip names its original under `copied`; a label also has its `origin`.

Every body has the version of its format as `v`: EVENT_BODY_VERSION, or SEVERAL_BODY_VERSION for
bodies that weal 0.2 would misread (several quantities, or one of words; a goal other than learn;
runs that failed; one label of several withdrawn). The store takes its own version from the highest
`v` in it, so that weal 0.2 refuses such a store and opens others (`store.statements`). Keys never
change their meaning: stores of weal 0.2 open for ever. `change_of_labels` gives the meaning of the
three kinds that carry labels. Each of them names its `quantity`; those of weal 0.2 do not: they
mean the only quantity of their campaign.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NotRequired, TypedDict

from weal.learner.batch_options import BatchOptionsBody
from weal.learner.label_changes import CONFIRMED, change_labels
from weal.store.events import Event

EVENT_BODY_VERSION = 1  # of bodies that weal 0.2 reads too
SEVERAL_BODY_VERSION = 2  # of bodies that it would misread
LABELLING = ("told", "corrected")  # kinds of events with a label
REPEATS = ("repeat", "doubted")  # reasons to ask for a row that has a label


class CallBody(TypedDict):
    """The call with an idempotency key that wrote an event."""

    rows: int
    events: int
    digest: str


class OriginBody(TypedDict):
    """The origin of a restored label: author, time (ISO 8601), and whether it was predicted."""

    who: str
    time: str
    predicted: bool


class CopiedBody(TypedDict):
    """The event of another campaign that an event was copied from."""

    seq: int
    time: str


class ToldBody(TypedDict):
    """Body of `told` and `corrected`."""

    v: int
    y: float
    noise: float | None
    note: str | None
    repeat: bool
    quantity: NotRequired[str]  # its name; weal 0.2 wrote none
    sure: NotRequired[bool]
    confirms: NotRequired[bool]
    call: NotRequired[CallBody]
    undoes: NotRequired[int]  # the first event of the action that is undone
    resumes: NotRequired[bool]
    origin: NotRequired[OriginBody]
    copied: NotRequired[CopiedBody]  # of a label of a copied campaign


class ReasonBody(TypedDict):
    """The reason for an ask: "start", "chosen", "check", "by hand", or one of REPEATS."""

    how: str
    scores: NotRequired[dict[str, float]]
    shares: NotRequired[dict[str, float]]
    weights: NotRequired[dict[str, float]]
    goal: NotRequired[str]  # the goal at that time, where it has a set, and
    probability: NotRequired[float]  # of the row to belong to it


class AskBody(TypedDict):
    """The part of the first `asked` event of an ask: weights of the functions, and its options."""

    log_omega: list[float]
    acquisition: str | list[str]
    checks: NotRequired[int]
    options: NotRequired[BatchOptionsBody]  # what the batch may hold; not there: anything


class QuantityPredictionBody(TypedDict, total=False):
    """The prediction of a further quantity: mean, sd and interval, or probabilities of words."""

    mean: float | None
    sd: float | None
    low: float | None
    high: float | None
    probabilities: dict[str, float]  # by level


class PredictionBody(TypedDict):
    """The prediction of a label of the first quantity; None if there was no model."""

    mean: float | None
    sd: float | None
    low: float | None
    high: float | None
    quantities: NotRequired[dict[str, QuantityPredictionBody]]  # of the others, by name


class SuggestionBody(PredictionBody):
    """The part of `asked` that is known before the row is leased."""

    check: bool
    why: ReasonBody


class AskedBody(SuggestionBody):
    """Body of `asked`; mean, sd, low and high are those of the first quantity."""

    v: int
    until: str
    ask: NotRequired[AskBody]
    probabilities: NotRequired[dict[str, float]]  # not stored: see `prediction_of`


@dataclass(frozen=True, slots=True)
class LedgerLabel:
    """A label in use."""

    id: str
    y: float
    noise: float | None  # standard deviation of its noise, if it is known
    seq: int
    time: datetime
    who: str
    note: str | None = None
    sure: bool = False  # never treated as an outlier


@dataclass(frozen=True, slots=True)
class LabelChange:
    """The labels of a row that an event drops, confirms as sure, and adds."""

    dropped: tuple[LedgerLabel, ...]
    confirmed: tuple[LedgerLabel, ...]
    added: tuple[LedgerLabel, ...]

    def after(self, before: Sequence[LedgerLabel]) -> tuple[LedgerLabel, ...]:
        """The labels of the row after the change."""
        kept = [one for one in before if one not in self.dropped]
        sure = [replace(one, sure=True) if one in self.confirmed else one for one in kept]
        return (*sure, *self.added)


def change_of_labels(before: Sequence[LedgerLabel], event: Event) -> LabelChange:
    """The change of the labels of a row by an event `told`, `corrected` or `withdrawn`."""
    if event.kind == "withdrawn" and "labels" in event.body:
        named = event.body["labels"]
        return LabelChange(tuple(one for one in before if one.seq in named), (), ())
    label = label_of_event(event) if event.kind in LABELLING else None
    kind = CONFIRMED if event.body.get("confirms") else event.kind
    return LabelChange(*change_labels(kind, label, before))


def gives_row_back(event: Event) -> bool:
    """Whether `withdrawn` ends the lease of its row; withdrawing single labels does not."""
    return event.kind == "withdrawn" and not event.body.get("labels")


def resumes_lease(event: Event) -> bool:
    """Whether an event that undoes an action reopens the lease that the action ended."""
    return bool(event.body.get("resumes"))


def prediction_of(body: AskedBody, quantity: str, first: str) -> AskedBody:
    """The body of an ask whose mean, sd, low and high are those of this quantity."""
    own = body.get("quantities", {}).get(quantity, {})
    if quantity == first and not own:
        return body
    found: AskedBody = {
        **body,
        "mean": own.get("mean"),
        "sd": own.get("sd"),
        "low": own.get("low"),
        "high": own.get("high"),
    }
    p = own.get("probabilities")
    return {**found, "probabilities": p} if p else found


def label_of_event(event: Event) -> LedgerLabel:
    """The label in an event `told` or `corrected`."""
    body: ToldBody = event.body
    time, who = event.time, event.who
    if origin := body.get("origin"):
        time, who = datetime.fromisoformat(origin["time"]), origin["who"]
    told = (event.seq, time, who)
    sure = bool(body.get("sure", False))
    return LedgerLabel(str(event.id), body["y"], body["noise"], *told, body.get("note"), sure)


WORDS_KEY = "weal words"  # keys of the events `settings` that add words to a quantity
MAX_WORD_EVENTS = 64  # of a campaign


def word_keys() -> list[str]:
    """The keys of all events that add words, by which a transaction finds them."""
    return [f"{WORDS_KEY}/{n}" for n in range(MAX_WORD_EVENTS)]


def settings_body(changes: Mapping[str, object]) -> dict[str, object]:
    """Body of the event `settings`; weal 0.2 has no other goal than to learn (None)."""
    is_plain = changes.get("goal") is None
    version = EVENT_BODY_VERSION if is_plain else SEVERAL_BODY_VERSION
    return {"v": version, "changes": dict(changes)}
