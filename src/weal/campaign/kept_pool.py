"""What the last ask believed of the candidates, kept in the store: the next goes on from there.

It spares the next process a pass over the candidates, and the labels since the experts were
settled one by one. Means and variances of the experts that matter are kept to the last bit, under
a fingerprint of all that decides them: the experts (`checkpoint`), the labels that were folded in,
and the candidates. What does not match, or cannot be read, is thrown away; what is larger than
MOST_BYTES is not kept, for it would be written at every ask.
"""

import json
from hashlib import blake2b

import numpy as np

from weal.campaign import checkpoint
from weal.campaign.ledger import Ledger
from weal.learner.pool import Snapshot
from weal.learner.state import State
from weal.store.store import Store

KIND = "pool"  # of the snapshot in the store
MOST_BYTES = 4 * 2**20  # bytes


def read(store: Store, ledger: Ledger, state: State) -> Snapshot | None:
    """The belief that was kept, if it is one of this state or of one before it."""
    kept = store.snapshot(ledger.name, KIND) if state.settlement is not None else None
    return None if kept is None else unpack(kept[2], state)


def keep(store: Store, ledger: Ledger, state: State, found: Snapshot) -> None:
    """Keep the belief of a state that has a model."""
    if found.mu.nbytes + found.v.nbytes <= MOST_BYTES:
        store.keep_snapshot(ledger.name, KIND, ledger.seq, ledger.hash, pack(found, state))


def fingerprint(state: State, n: int) -> str:
    """A hash of all that the belief after the first n labels follows from."""
    found = blake2b(checkpoint.fingerprint(state).encode(), digest_size=32)
    together = 0 if state.settlement is None else state.settlement.together
    found.update(repr((n, together, state.candidates.X.shape)).encode())
    for part in (*state.labels.arrays(0, n), state.labels.sure(0, n), state.candidates.X):
        found.update(np.ascontiguousarray(part, dtype="<f8").tobytes())
    return found.hexdigest()


def pack(found: Snapshot, state: State) -> bytes:
    """A line of JSON, and the numbers."""
    of, members = fingerprint(state, found.n), found.members.tolist()
    header = json.dumps({"of": of, "n": found.n, "members": members})
    numbers = np.stack([found.mu, found.v]).astype("<f8")
    return header.encode() + b"\n" + numbers.tobytes()


def unpack(data: bytes, state: State) -> Snapshot | None:
    """The belief that `pack` packed, if it serves this state."""
    try:
        line, _, rest = data.partition(b"\n")
        header = json.loads(line)
        n, members = int(header["n"]), np.array(header["members"], dtype=np.intp)
        if n > len(state.labels) or header["of"] != fingerprint(state, n):
            return None
        shape = (2, len(members), len(state.candidates))
        mu, v = np.frombuffer(rest, dtype="<f8").reshape(shape).astype(np.float64)
        return Snapshot(n, members, mu, v)
    except (ValueError, KeyError, TypeError):
        return None
