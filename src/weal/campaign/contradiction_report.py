"""Labels that the other labels of a campaign contradict, with a snapshot for the next status.

The snapshot carries a fingerprint of the labels, the model, and who told which label when; one that
does not match is ignored.

Labels are grouped by person, by day, and by columns of the candidates that are not inputs
(`--type instrument=drop`): the model learns differences that depend on an input. Columns in which
most rows have different values, and columns of candidates in files, are not used.
"""

import json
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import asdict
from hashlib import blake2b

import numpy as np

from weal.campaign.candidates import CampaignCandidates
from weal.campaign.events import LedgerLabel
from weal.campaign.ledger import Ledger
from weal.campaign.session import Session, is_number, snapshot_kind
from weal.diagnostics.contradictions import Contradiction, contradictions
from weal.errors import WealError
from weal.formats.codec import BROKEN
from weal.learner.labels import Label
from weal.learner.state import QuantityView
from weal.model.model import Model

BY, ON = "told by", "told on"
MOST_LEVELS = 20  # of a column
Groupings = dict[str, list[Hashable | None]]


def groupings(session: Session, view: QuantityView) -> Groupings:
    """For each grouping of the labels, the group of each label of the learner, in order."""
    told = told_of(view, session.ledger)
    found: Groupings = {
        BY: [one.who if one and one.who else None for one in told],
        ON: [f"{one.time:%Y-%m-%d}" if one else None for one in told],
    }
    found |= _columns(session, view)
    return {name: values for name, values in found.items() if len(set(values)) > 1}


def told_of(view: QuantityView, ledger: Ledger) -> list[LedgerLabel | None]:
    """The ledger entry of each label of the learner, in order."""
    left = {
        name: list(several) for name, several in ledger.quantity(view.quantity.name).labels.items()
    }
    return [_matching_label(left.get(str(label.name), []), label) for label in view.labels]


def _matching_label(several: list[LedgerLabel], label: Label) -> LedgerLabel | None:
    """Remove and return the first label of a row with the same value and noise."""
    at = next((n for n, one in enumerate(several) if one.y == label.y), None)
    return several.pop(at) if at is not None else None


def _columns(session: Session, view: QuantityView) -> Groupings:
    """The cells of the labelled rows in columns that are not inputs."""
    pool = session.pool
    if not isinstance(pool, CampaignCandidates):
        return {}
    names = [one.name for one in pool.plan.columns if one.kind == "dropped"]
    if not names:
        return {}
    rows = [pool.row(view.candidates.index[label.name]) for label in view.labels]
    found: Groupings = {name: [_cell(row.get(name)) for row in rows] for name in names}
    return {name: values for name, values in found.items() if len(set(values)) <= MOST_LEVELS}


def _cell(value: object) -> str | None:
    """A cell as text; None if it is empty."""
    return None if value is None or value != value else str(value).strip() or None


CONTRADICTIONS_KIND, CONTRADICTIONS_VERSION = "contradictions", 2  # of the snapshot


def find_contradictions(session: Session, quantity: str | None = None) -> tuple[Contradiction, ...]:
    """Sets of labels of a number that the other labels contradict; empty without a model.

    If `quantity` is None, the first quantity of the goal.
    """
    view, ledger = session.view(quantity), session.ledger
    if not view.has_model or not len(view.labels) or not is_number(view):
        return ()
    groups = groupings(session, view)
    names = [str(label.name) for label in view.labels]
    model = session.beliefs.model(view)
    mark = _fingerprint(model, groups, names)
    kind = snapshot_kind(CONTRADICTIONS_KIND, view)
    known = _read_snapshot(session, kind, mark)
    if known is not None:
        return known
    found = tuple(contradictions(view, model, groups))
    data = {"of": mark, "found": [asdict(one) for one in found]}
    with suppress(WealError):  # the result is complete even if the snapshot cannot be stored
        text = json.dumps(data).encode()
        session.store.write_snapshot(ledger.name, kind, ledger.seq, ledger.hash, text)
    return found


def _read_snapshot(session: Session, kind: str, mark: str) -> tuple[Contradiction, ...] | None:
    """The findings of the snapshot, if it belongs to these labels."""
    kept = session.store.read_snapshot(session.ledger.name, kind)
    if kept is None:
        return None
    try:
        data = json.loads(kept[2])
        return tuple(_read(one) for one in data["found"]) if data["of"] == mark else None
    except BROKEN:  # of another version, or damaged
        return None


def _read(body: dict[str, object]) -> Contradiction:
    """A finding from JSON, which has lists for tuples."""
    plain = {key: tuple(one) if isinstance(one, list) else one for key, one in body.items()}
    return Contradiction(**plain)  # type: ignore[arg-type]


def _fingerprint(model: Model, groups: Groupings, names: list[str]) -> str:
    """A digest of the labels, the model and the groups."""
    trained, scale = model.trained, model.scaling
    known = (trained.setting, trained.seed, scale.y_mean, scale.y_sd, trained.dictionary)
    text = repr((CONTRADICTIONS_VERSION, *known, groups, names))
    found = blake2b(text.encode(), digest_size=16)
    for part in (
        *trained.all_labels.parts,
        trained.all_labels.sure,
        trained.included,
        trained.ensemble.log_w,
    ):
        found.update(np.ascontiguousarray(part).tobytes())
    return found.hexdigest()
