"""The experts of a campaign as they were last settled: advice that spares seconds at opening.

What is kept carries a fingerprint of all that decides it: the parameters of the model, the scaling,
the labels that settled the experts, and the versions of the programs. Where the fingerprint is not
that of the campaign now, or the bytes cannot be read, it is thrown away and the experts are settled
anew. Numbers are kept to the last bit.

What the last ask believed of the candidates, kept in the store: the next goes on from there.

It spares the next process a pass over the candidates, and the labels since the experts were
settled one by one. Means and variances of the experts that matter are kept to the last bit, under
a fingerprint of all that decides them: the experts (`checkpoint`), the labels that were folded in,
and the candidates. What does not match, or cannot be read, is thrown away; what is larger than
MOST_BYTES is not kept, for it would be written at every ask.
"""

import json
import platform
from base64 import b64decode, b64encode
from dataclasses import asdict
from hashlib import blake2b
from typing import Any

import numpy as np
import scipy

from weal import __version__
from weal.core.arrays import Array
from weal.formats import model_file
from weal.formats.model_file import BROKEN
from weal.learner.pools.protocol import PoolSnapshot
from weal.learner.state import State
from weal.model.training import TrainedEnsemble

EXPERTS_KIND = "experts"  # of the snapshot in the store


def experts_fingerprint(state: State) -> str:
    """A hash of all that the experts of a state follow from; empty where it has none."""
    settlement = state.settlement
    if settlement is None:
        return ""
    versions = [__version__, np.__version__, scipy.__version__, platform.python_version()]
    known = [*versions, platform.machine(), repr(state.settings.parameters), settlement.n]
    found = blake2b(json.dumps(known).encode(), digest_size=32)
    for part in (*asdict(settlement.scaling).values(), *settlement.by, settlement.sure):
        numbers = np.asarray([] if part is None else part, dtype=np.float64)
        found.update(repr(numbers.shape).encode() + np.ascontiguousarray(numbers).tobytes())
    return found.hexdigest()


def pack_experts_snapshot(experts: TrainedEnsemble, state: State) -> bytes:
    """The experts of a state as they were settled, before the first label."""
    header, arrays = model_file.pack_experts(experts)
    plain = {
        "of": experts_fingerprint(state),
        "experts": {**header, "n_inputs": state.candidates.X.shape[1]},
        "arrays": {name: _to_json(array) for name, array in arrays.items()},
    }
    return json.dumps(plain).encode()


def unpack_experts_snapshot(data: bytes | None, state: State) -> TrainedEnsemble | None:
    """The experts that were kept, if they are those of this state."""
    try:
        plain = json.loads(data or b"{}")
        if not plain or plain.get("of") != experts_fingerprint(state):
            return None
        arrays = {name: _from_json(array) for name, array in plain["arrays"].items()}
        params = state.settings.parameters.to_dict()
        return model_file.unpack_experts(params, plain["experts"], arrays)
    except BROKEN:
        return None


def _to_json(array: Array) -> dict[str, Any]:
    data = np.ascontiguousarray(array, dtype="<f8").tobytes()
    return {"shape": list(array.shape), "data": b64encode(data).decode()}


def _from_json(plain: dict[str, Any]) -> Array:
    flat = np.frombuffer(b64decode(plain["data"], validate=True), dtype="<f8")
    return flat.reshape(plain["shape"]).astype(np.float64)


POOL_KIND = "pool"  # of the snapshot in the store
MAX_POOL_SNAPSHOT_BYTES = 4 * 2**20  # bytes


def pool_fingerprint(state: State, n: int) -> str:
    """A hash of all that the belief after the first n labels follows from."""
    found = blake2b(experts_fingerprint(state).encode(), digest_size=32)
    together = 0 if state.settlement is None else state.settlement.together
    found.update(repr((n, together, state.candidates.X.shape)).encode())
    for part in (*state.labels.arrays(0, n), state.labels.sure(0, n), state.candidates.X):
        found.update(np.ascontiguousarray(part, dtype="<f8").tobytes())
    return found.hexdigest()


def pack_pool_snapshot(found: PoolSnapshot, state: State) -> bytes:
    """A line of JSON, and the numbers."""
    of, members = pool_fingerprint(state, found.n), found.members.tolist()
    header = json.dumps({"of": of, "n": found.n, "members": members})
    numbers = np.stack([found.mu, found.v]).astype("<f8")
    return header.encode() + b"\n" + numbers.tobytes()


def unpack_pool_snapshot(data: bytes, state: State) -> PoolSnapshot | None:
    """The belief that `pack_pool_snapshot` packed, if it serves this state."""
    try:
        line, _, rest = data.partition(b"\n")
        header = json.loads(line)
        n, members = int(header["n"]), np.array(header["members"], dtype=np.intp)
        if n > len(state.labels) or header["of"] != pool_fingerprint(state, n):
            return None
        shape = (2, len(members), len(state.candidates))
        mu, v = np.frombuffer(rest, dtype="<f8").reshape(shape).astype(np.float64)
        return PoolSnapshot(n, members, mu, v)
    except (ValueError, KeyError, TypeError):
        return None
