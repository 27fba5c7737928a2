"""Files of format 1, as weal 0.1 wrote them, turned into the present format when they are read.

noise, noise_bounds   were variances of the noise, and are standard deviations
magnitude             of encoded experts was fitted to the first labels, whatever it said
next_refresh          the number of labels at which experts are settled next; now `settled`,
the number by which they were settled last
a learner             kept its model whole; now the experts as they were settled, the labels
that settled them, and how many were folded in together
"""

from typing import Any

import numpy as np

from weal.core.arrays import Array
from weal.model.fold import refresh_after

Header = dict[str, Any]
Arrays = dict[str, Array]
OLD = 1  # the format of weal 0.1


def is_old(header: Header) -> bool:
    """Whether a file is of that format."""
    return bool(header["format_version"] == OLD)


def params(old: Header) -> Header:
    """Parameters of a regressor as `pack_params` gives them now."""
    noise, bounds = old.get("noise"), old.get("noise_bounds")
    changed: Header = {}
    if noise is not None:
        changed["noise"] = np.sqrt(noise).tolist()
    if bounds is not None:
        changed["noise_bounds"] = np.sqrt(bounds).tolist()
    if old.get("approximation") == "encoded" and isinstance(old.get("magnitude"), str):
        changed["magnitude"] = None
    return {**old, **changed}


def model(header: Header, arrays: Arrays) -> Header:
    """The header of a model; its arrays have not changed."""
    embedding = "Spectral" if "zeta" in arrays else "Encoded" if "root" in arrays else "Exact"
    return {
        **header,
        "params": params(header["params"]),
        "settled": settled_by(int(header["next_refresh"])),
        "embedding": embedding,
    }


def settled_by(due: int) -> int:
    """The number of labels by which experts that are due for settling at `due` were settled."""
    return next((n for n in range(due) if refresh_after(n) >= due), 0)
