"""The experts of a campaign as they were last settled: advice that spares seconds at opening.

What is kept carries a fingerprint of all that decides it: the parameters of the model, the scaling,
the labels that settled the experts, and the versions of the programs. Where the fingerprint is not
that of the campaign now, or the bytes cannot be read, it is thrown away and the experts are settled
anew. Numbers are kept to the last bit.
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
from weal.campaign.ledger import Ledger
from weal.core.arrays import Array
from weal.learner.state import State, with_experts
from weal.model import model_file
from weal.model.fold import Fold
from weal.model.model_file import BROKEN
from weal.store.store import Store

KIND = "experts"  # of the snapshot in the store


def resumed(store: Store, ledger: Ledger, state: State) -> State:
    """The state with the experts that were kept, if they are those that it would settle."""
    kept = store.snapshot(ledger.name, KIND) if state.settlement is not None else None
    experts = read(kept[2], state) if kept else None
    return state if experts is None else with_experts(state, experts)


def keep(store: Store, ledger: Ledger, state: State, experts: Fold) -> None:
    """Keep the experts of a state that has a model."""
    data = write(experts, state)
    store.keep_snapshot(ledger.name, KIND, ledger.seq, ledger.hash, data)


def fingerprint(state: State) -> str:
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


def write(experts: Fold, state: State) -> bytes:
    """The experts of a state as they were settled, before the first label."""
    header, arrays = model_file.pack_experts(experts)
    plain = {
        "of": fingerprint(state),
        "experts": {**header, "n_inputs": state.candidates.X.shape[1]},
        "arrays": {name: _to_json(array) for name, array in arrays.items()},
    }
    return json.dumps(plain).encode()


def read(data: bytes | None, state: State) -> Fold | None:
    """The experts that were kept, if they are those of this state."""
    try:
        plain = json.loads(data or b"{}")
        if not plain or plain.get("of") != fingerprint(state):
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
