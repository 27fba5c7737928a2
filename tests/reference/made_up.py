"""Tables of results and weights as a benchmark would give them, with numbers of our choice."""

import numpy as np
import pandas as pd

SETTING = {
    "seed": 3,
    "T": 2,
    "realisations": 8,
    "versions": {"weal": "0.0", "python": "3.x", "processor": "a <small> one"},
    "wall_seconds": 75.0,
    "command": "weal bench paper --out <here>",
    "skipped": {},
}


def run(task, method, realisation, nmse, npll=None, labels=10, seconds=None, joint=np.nan):
    """The readings of one run: nmse, npll and joint are lists over t."""
    t = np.arange(len(nmse))
    return pd.DataFrame(
        {
            "task": task,
            "method": method,
            "realisation": realisation,
            "t": t,
            "labels": labels + t,
            "nmse": np.asarray(nmse, float),
            "npll": np.asarray(nmse if npll is None else npll, float),
            "joint": joint,
            "seconds": 0.5 + 0.25 * t if seconds is None else seconds,
        }
    )


def table(*runs):
    return pd.concat(runs, ignore_index=True)


def ends(levels, realisations=8, start=None, spread=0.05, metric=None):
    """Runs of two queries that end near a level: {(task, method): level}.

    Realisations differ by a part that methods share and a small part of their own. `start` is the
    level at t = 0; `metric` leaves the other metric at 1.
    """
    rows = []
    for (task, method), level in levels.items():
        for r in range(realisations):
            rng = np.random.default_rng([r, len(task), sum(map(ord, method))])
            end = level * (1 + spread * (r - realisations / 2) / realisations)
            end += 0.01 * level * spread * rng.standard_normal()
            curve = [level if start is None else start, end, end]
            flat = [1.0] * 3
            nmse, npll = (curve if metric in (None, m) else flat for m in ("nmse", "npll"))
            rows.append(run(task, method, r, nmse, npll))
    return table(*rows)


def weights(tasks, method="egp-multiafs", realisations=2, T=3):
    """Weights of four experts and two acquisition functions that sum to 1."""
    rows = []
    experts = [f"Kernel('rbf', {scale})" for scale in ("0.01", "1", "10", "2.5")]
    for task in tasks:
        for r in range(realisations):
            for kind, names in (("expert", experts), ("acquisition", ["wvar", "qbc"])):
                w = np.random.default_rng([r, len(names)]).dirichlet(np.ones(len(names)), T + 1)
                rows += [
                    pd.DataFrame(
                        {
                            "task": task,
                            "method": method,
                            "realisation": r,
                            "t": np.arange(T + 1),
                            "kind": kind,
                            "name": name,
                            "weight": w[:, i],
                        }
                    )
                    for i, name in enumerate(names)
                ]
    return pd.concat(rows, ignore_index=True)
