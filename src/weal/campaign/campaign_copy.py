"""A copy of a campaign under another name, with or without its labels.

    created               the same body, and `copied_from`: campaign, number and hash of the event
                          after which it was copied
    added                 the same candidates: chunks of the store, or files, which stay in place
    settings              the same changes, except the title and the archived state
    told, corrected,      with labels only: the same, and `copied`: number and time of the original;
    withdrawn, skipped    a label has its `origin`: who told it, and when
    asked                 not copied: a row is leased in one campaign only

The copy replays the same candidates, settings and labels in the same order, so its predictions are
those of the source. One transaction writes it, or nothing.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from weal.campaign.events import LABELLING, WORDS_KEY
from weal.campaign.idempotency import content_change, was_called, with_key
from weal.errors import campaign_exists
from weal.store.events import Draft, Event, check_name, timestamp
from weal.store.protocol import Chunk, Store
from weal.tables.parquet_io import parquet_to_table

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign

OWN_SETTINGS = ("archived", "hidden", "title")  # which are not copied
_NOT_COPIED = ("call", "undoes", "resumes")  # keys about calls and leases of the source
_LABELS = ("told", "corrected", "withdrawn", "skipped")


def copy_campaign(
    source: "Campaign", name: str, who: str, labels: bool = True, key: str | None = None
) -> bool:
    """Copy a campaign in its present state; False if a call with this key did so before.

    CampaignExists if there is a campaign of that name.
    """
    check_name(name)
    events = source.events()
    ledger = source.read_ledger()
    origin = {"campaign": source.name, "seq": events[-1].seq, "hash": events[-1].hash}
    content = [content_change("copy", [source.name, labels])]
    drafts = with_key(_drafts(events, origin, labels, who), key, content)
    chunks = [] if ledger.shards else _chunks(source.store, source.name, ledger.id_column)
    if source.store.create(name, drafts, chunks):
        return True
    if was_called(source.store, name, key, content):
        return False
    raise campaign_exists(name)


def _chunks(store: Store, name: str, id_column: str) -> list[Chunk]:
    return [
        Chunk.of(data, [str(one) for one in parquet_to_table(data).cells(id_column)])
        for data in store.read_chunks(name)
    ]


def _drafts(
    events: Iterable[Event], origin: Mapping[str, object], labels: bool, who: str
) -> list[Draft]:
    """The events of the copy; labels that an event withdraws are named by their new numbers."""
    drafts, numbers = list[Draft](), dict[int, int]()
    for event in events:
        draft = _copied(event, origin, labels, who, numbers)
        if draft is not None:
            drafts.append(draft)
            numbers[event.seq] = len(drafts)
    return drafts


def _copied(
    event: Event, origin: Mapping[str, object], labels: bool, who: str, numbers: Mapping[int, int]
) -> Draft | None:
    """The event as it is in the copy; None if it is left out."""
    body = {key: one for key, one in event.body.items() if key not in _NOT_COPIED}
    if event.kind == "created":
        own = {key: one for key, one in body["settings"].items() if key not in OWN_SETTINGS}
        return Draft("created", {**body, "settings": own, "copied_from": origin}, who=who)
    if event.kind == "added":
        return Draft("added", body, who=who)
    if event.kind == "settings":
        return _copied_settings(event, body, who)
    return _copied_label(event, body, who, numbers) if labels and event.kind in _LABELS else None


def _copied_settings(event: Event, body: dict[str, Any], who: str) -> Draft | None:
    """Changed settings; events that add words are found by their keys."""
    changes = {key: one for key, one in body["changes"].items() if key not in OWN_SETTINGS}
    if not changes and "words" not in body:
        return None
    is_words = event.key is not None and event.key.startswith(WORDS_KEY)
    key = event.key if is_words else None
    return Draft("settings", {**body, "changes": changes}, who=who, key=key)


def _copied_label(
    event: Event, body: dict[str, Any], who: str, numbers: Mapping[int, int]
) -> Draft | None:
    """A label, a withdrawal or a skip; None if the event only ended a lease."""
    if "labels" in body:
        body["labels"] = [numbers[seq] for seq in body["labels"] if seq in numbers]
        if not body["labels"]:
            return None
    copied = {"seq": event.seq, "time": timestamp(event.time)}
    if event.kind in LABELLING:
        told = {"who": event.who, "time": timestamp(event.time), **body.get("origin", {})}
        body["origin"] = {**told, "predicted": False}  # no lease is copied
    return Draft(event.kind, {**body, "copied": copied}, event.id, who)
