"""A small pool with a known function, and campaigns on it, for the tests."""

import numpy as np
import pandas as pd

from weal.campaign.campaign import open_campaign

N = 40


def truth(n):
    """The label of row n."""
    a, b = _inputs(n)
    return float(np.round(np.sin(3.0 * a) + 0.5 * b**2, 6))


def pool(start=0, stop=N):
    """Rows start .. stop of the pool."""
    rows = range(start, stop)
    table = np.array([_inputs(n) for n in rows])
    steel = [("hard", "soft", "odd")[n % 3] for n in rows]
    ids = [f"r{n}" for n in rows]
    return pd.DataFrame({"name": ids, "a": table[:, 0], "b": table[:, 1], "steel": steel})


def number(name):
    """The row's number."""
    return int(name[1:])


def campaign(store="memory:", name="lab", rows=N, **settings):
    """A campaign on the first rows of the pool."""
    return open_campaign(
        name, store, pool=pool(0, rows), id_column="name", by="ann", **{"n_start": 5, **settings}
    )


def _inputs(n):
    return np.random.default_rng([n, 1]).uniform(-1.0, 1.0, 2)
