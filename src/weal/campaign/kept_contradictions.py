"""The labels of a campaign that the others contradict, kept in its store for the next status.

What is kept carries a fingerprint of all that it depends on: the labels, the model, and who told
which label when. Where that differs, or the bytes cannot be read, it is found anew.
"""

import json
from contextlib import suppress
from dataclasses import asdict
from hashlib import blake2b

import numpy as np

from weal.campaign.groupings import Groupings, groupings
from weal.campaign.session import Session
from weal.diagnostics.contradictions import Contradiction, contradictions
from weal.errors import WealError
from weal.model.model import Model

KIND, VERSION = "contradictions", 2  # of the snapshot


def contradicted(session: Session) -> tuple[Contradiction, ...]:
    """Sets of labels that the others contradict; none before there is a model."""
    state, ledger = session.state, session.ledger
    if not state.fitted or not len(state.labels):
        return ()
    groups = groupings(session)
    names = [str(label.name) for label in state.labels]
    mark = _fingerprint(session.model, groups, names)
    known = _kept(session, mark)
    if known is not None:
        return known
    found = tuple(contradictions(state, session.model, groups))
    data = {"of": mark, "found": [asdict(one) for one in found]}
    with suppress(WealError):  # advice only: a store that cannot keep it still has it
        text = json.dumps(data).encode()
        session.store.keep_snapshot(ledger.name, KIND, ledger.seq, ledger.hash, text)
    return found


def _kept(session: Session, mark: str) -> tuple[Contradiction, ...] | None:
    """What was kept, if it is of these labels."""
    kept = session.store.snapshot(session.ledger.name, KIND)
    if kept is None:
        return None
    try:
        data = json.loads(kept[2])
        return tuple(_read(one) for one in data["found"]) if data["of"] == mark else None
    except (ValueError, KeyError, TypeError):  # of another version, or damaged
        return None


def _read(body: dict[str, object]) -> Contradiction:
    """A finding from JSON, which has lists for tuples."""
    plain = {key: tuple(one) if isinstance(one, list) else one for key, one in body.items()}
    return Contradiction(**plain)  # type: ignore[arg-type]


def _fingerprint(model: Model, groups: Groupings, names: list[str]) -> str:
    """What the findings depend on."""
    fold, scale = model.fold, model.scaling
    known = (fold.setting, fold.seed, scale.y_mean, scale.y_sd, fold.dictionary)
    text = repr((VERSION, *known, groups, names))
    found = blake2b(text.encode(), digest_size=16)
    for part in (*fold.seen.parts, fold.seen.sure, fold.right, fold.ensemble.log_w):
        found.update(np.ascontiguousarray(part).tobytes())
    return found.hexdigest()
