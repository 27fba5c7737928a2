"""The last status of a campaign, cached in its store until there are new events.

A status depends on the events, the goal and the stop condition, and, for leased rows, on the clock.
The snapshot carries the hash of the last event, both texts and the versions of the programs; one
that does not match is ignored. Leased rows are counted again. Campaigns in files keep no status,
since the files are not among the events, and campaigns of fewer than KEPT_FROM labels need none.
"""

import json
import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, fields, is_dataclass, replace
from datetime import datetime
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
import scipy

from weal import __version__
from weal.campaign.ledger import Ledger
from weal.campaign.status import Status, goal_in_force, rows_out
from weal.errors import WealError
from weal.formats.codec import BROKEN
from weal.store.protocol import Store

STATUS_KIND, STATUS_VERSION = "status", 3  # of the snapshot in the store
KEPT_FROM = 200  # labels


def read(store: Store, ledger: Ledger, goal: object, until: object, now: datetime) -> Status | None:
    """The status in the store, if it belongs to the last event."""
    kept = store.read_snapshot(ledger.name, STATUS_KIND) if serves(ledger) else None
    if kept is None or kept[:2] != (ledger.seq, ledger.hash):
        return None
    try:
        data = json.loads(kept[2])
        if data["of"] != _key(ledger, goal, until):
            return None
        found: Status = from_plain(Status, data["status"])
    except (*BROKEN, StopIteration):  # of another version, or damaged
        return None
    out, lapsed = rows_out(ledger, now)
    return replace(found, out=out, lapsed=lapsed)


def keep(store: Store, ledger: Ledger, goal: object, until: object, found: Status) -> None:
    """Write a status that survives JSON; a failure is ignored."""
    if not serves(ledger):
        return
    with suppress(WealError, TypeError):
        text = json.dumps({"of": _key(ledger, goal, until), "status": asdict(found)}, default=_iso)
        if from_plain(Status, json.loads(text)["status"]) == found:
            store.write_snapshot(ledger.name, STATUS_KIND, ledger.seq, ledger.hash, text.encode())


def serves(ledger: Ledger) -> bool:
    """Whether the status of this campaign is cached."""
    return ledger.n_labels >= KEPT_FROM and not ledger.shards


def _key(ledger: Ledger, goal: object, until: object) -> list[Any]:
    aim, stop = goal_in_force(ledger, goal, until)
    versions = [__version__, np.__version__, scipy.__version__, platform.python_version()]
    return [STATUS_VERSION, *versions, platform.machine(), aim.text, stop.text if stop else None]


def _iso(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{value!r} cannot be kept as JSON")


def from_plain(kind: Any, value: Any) -> Any:
    """The inverse of `asdict` and JSON for a value of this type."""
    if get_origin(kind) is UnionType:
        kind = next(one for one in get_args(kind) if (one is NoneType) == (value is None))
    if is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        names = [one.name for one in fields(kind)]
        return kind(**{name: from_plain(hints[name], value[name]) for name in names})
    if kind is datetime:
        return datetime.fromisoformat(value)
    return _collection(kind, value)


def _collection(kind: Any, value: Any) -> Any:
    inner = get_args(kind)
    if get_origin(kind) is tuple:
        kinds = [inner[0]] * len(value) if inner[-1] is ... else inner
        return tuple(from_plain(one, each) for one, each in zip(kinds, value, strict=True))
    if get_origin(kind) in (dict, Mapping):
        return {name: from_plain(inner[1], each) for name, each in value.items()}
    return value
