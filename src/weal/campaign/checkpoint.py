"""The experts of a campaign as they were last settled: advice that spares seconds at opening.

What is kept carries a fingerprint of all that decides it: the labels that settled the experts,
those of the first fit, the settings, and the versions of the programs. Where the fingerprint is not
that of the campaign now, or the bytes cannot be read, it is thrown away and the experts are settled
anew.
"""

import json
import platform
from dataclasses import asdict
from hashlib import blake2b
from typing import Any

import numpy as np
import scipy

from weal import __version__
from weal.core.bend import Bend
from weal.learner.resuming import Past
from weal.model.fold import Fold, picked_by, refresh_after
from weal.model.model_file import kernel_of
from weal.model.settling import Settled

KIND = "experts"  # of the snapshot in the store
DECIDE = ("acquisition", "n_start", "seed", "warp")  # settings that a learner follows from


def fingerprint(past: Past, settings: dict[str, Any]) -> str:
    """A hash of all that the experts follow from."""
    versions = [__version__, np.__version__, scipy.__version__, platform.python_version()]
    chosen = [settings[name] for name in DECIDE]
    known = [versions, platform.machine(), chosen, past.first, past.rows, past.labels]
    return blake2b(json.dumps(known, sort_keys=True).encode(), digest_size=32).hexdigest()


def write(fold: Fold, past: Past, settings: dict[str, Any]) -> bytes | None:
    """The experts of a fold with that past; None where they are not what the past says."""
    if not fold.setting.adaptive or fold.next_refresh != refresh_after(len(past.labels)):
        return None
    picked = picked_by(fold)
    plain = {
        "of": fingerprint(past, settings),
        "kernels": [asdict(kernel) for kernel in picked.dictionary],
        "noise": picked.noise.tolist(),
        "log_w": picked.log_w.tolist(),
        "unit": picked.unit,
        "bend": asdict(picked.bend),
    }
    return json.dumps(plain).encode()


def read(data: bytes | None, past: Past, settings: dict[str, Any]) -> Settled | None:
    """The experts that were kept, if they are those of this past."""
    try:
        plain = json.loads(data or b"{}")
        if plain.get("of") != fingerprint(past, settings):
            return None
        kernels = tuple(kernel_of(kernel) for kernel in plain["kernels"])
        numbers = (np.array(plain["noise"], float), np.array(plain["log_w"], float))
        return Settled(kernels, *numbers, float(plain["unit"]), Bend(**plain["bend"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
