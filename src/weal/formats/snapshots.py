"""Snapshots in the store of a campaign: the selected experts, and the posterior on the candidates.

Both spare the next process seconds and change no result. Each carries a fingerprint of all that
decides it:

    experts   parameters of the model, scaling, labels of the selection, versions of the programs
    pool      the same, the labels since, and the candidates

A snapshot whose fingerprint differs, or whose bytes cannot be read, is ignored and its content is
computed again. Numbers are kept to the last bit. A pool of more than MAX_POOL_SNAPSHOT_BYTES is not
kept, since every ask would write it.
"""

import json
import platform
from hashlib import blake2b

import numpy as np
import scipy

from weal import __version__
from weal.formats import model_file
from weal.formats.codec import BROKEN, array_from_json, array_to_json, scaling_parts
from weal.learner.pools.protocol import PoolSnapshot
from weal.learner.state import QuantityView
from weal.model.training import TrainedEnsemble

EXPERTS_KIND, POOL_KIND = "experts", "pool"  # of the snapshots in the store
MAX_POOL_SNAPSHOT_BYTES = 4 * 2**20


def experts_fingerprint(view: QuantityView) -> str:
    """A hash of all that the experts of a quantity follow from; empty if it has none."""
    selection = view.selection
    if selection is None:
        return ""
    versions = [__version__, np.__version__, scipy.__version__, platform.python_version()]
    known = [*versions, platform.machine(), repr(view.parameters), selection.n]
    found = blake2b(json.dumps(known).encode(), digest_size=32)
    scaling = [part for _, part in scaling_parts(selection.scaling)]
    for part in (*scaling, *selection.labels, selection.trusted):
        numbers = np.asarray([] if part is None else part, dtype=np.float64)
        found.update(repr(numbers.shape).encode() + np.ascontiguousarray(numbers).tobytes())
    if selection.source is not None:  # whose predictions may be an input of the experts
        other = view.state.view(selection.source.part)
        n_joint = 0 if other.selection is None else other.selection.n_joint
        found.update(labels_fingerprint(other, n_joint).encode())
    return found.hexdigest()


def labels_fingerprint(view: QuantityView, n: int) -> str:
    """A hash of the experts of a part and of its first n labels."""
    found = blake2b(experts_fingerprint(view).encode(), digest_size=32)
    for part in (*view.labels.arrays(0, n), view.labels.sure(0, n)):
        found.update(np.ascontiguousarray(part, dtype="<f8").tobytes())
    return found.hexdigest()


def pack_experts_snapshot(experts: TrainedEnsemble, view: QuantityView) -> bytes:
    """The selected experts of a quantity, before the first label."""
    header, arrays = model_file.pack_experts(experts)
    plain = {
        "of": experts_fingerprint(view),
        "experts": {**header, "n_inputs": experts.X.shape[1]},
        "arrays": {name: array_to_json(array) for name, array in arrays.items()},
    }
    return json.dumps(plain).encode()


def unpack_experts_snapshot(data: bytes | None, view: QuantityView) -> TrainedEnsemble | None:
    """The experts of the snapshot, if they belong to this state."""
    try:
        plain = json.loads(data or b"{}")
        if not plain or plain.get("of") != experts_fingerprint(view):
            return None
        arrays = {name: array_from_json(array) for name, array in plain["arrays"].items()}
        params = view.parameters.to_dict()
        return model_file.unpack_experts(params, plain["experts"], arrays)
    except BROKEN:
        return None


def pool_fingerprint(view: QuantityView, n: int) -> str:
    """A hash of all that the posterior after the first n labels depends on."""
    found = blake2b(experts_fingerprint(view).encode(), digest_size=32)
    together = 0 if view.selection is None else view.selection.n_joint
    X = view.candidates.inputs_at(slice(None))
    found.update(repr((n, together, X.shape)).encode())
    for part in (*view.labels.arrays(0, n), view.labels.sure(0, n), X):
        found.update(np.ascontiguousarray(part, dtype="<f8").tobytes())
    return found.hexdigest()


def pack_pool_snapshot(found: PoolSnapshot, view: QuantityView) -> bytes:
    """The bytes of a pool snapshot: a line of JSON, then the numbers."""
    of, members = pool_fingerprint(view, found.n), found.members.tolist()
    header = json.dumps({"of": of, "n": found.n, "members": members})
    numbers = np.stack([found.mu, found.v]).astype("<f8")
    return header.encode() + b"\n" + numbers.tobytes()


def unpack_pool_snapshot(data: bytes, view: QuantityView) -> PoolSnapshot | None:
    """The posterior that `pack_pool_snapshot` packed, if it belongs to this state."""
    try:
        line, _, rest = data.partition(b"\n")
        header = json.loads(line)
        n, members = int(header["n"]), np.array(header["members"], dtype=np.intp)
        if n > len(view.labels) or header["of"] != pool_fingerprint(view, n):
            return None
        shape = (2, len(members), len(view.candidates))
        mu, v = np.frombuffer(rest, dtype="<f8").reshape(shape).astype(np.float64)
        return PoolSnapshot(n, members, mu, v)
    except BROKEN:
        return None
