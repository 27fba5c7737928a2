"""Curves as tables: one row a reading, one row a weight.

    results    task, method, realisation, t, labels, nmse, npll, joint, seconds
    weights    task, method, realisation, t, kind ("expert" or "acquisition"), name, weight

t counts queries, 0 is before the first; labels counts all that were spent, validation included;
joint is NaN where it was not read.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from weal.bench.protocol import Curve

_RUN = ("task", "method", "realisation")
RESULTS = (*_RUN, "t", "labels", "nmse", "npll", "joint", "seconds")
WEIGHTS = (*_RUN, "t", "kind", "name", "weight")


def results_of(curves: Iterable[Curve]) -> pd.DataFrame:
    """The table of results of some curves, in their order."""
    return _stacked(RESULTS, map(_readings, curves))


def weights_of(curves: Iterable[Curve]) -> pd.DataFrame:
    """The table of weights of some curves, in their order."""
    return _stacked(WEIGHTS, (part for curve in curves for part in _weights(curve)))


def _readings(curve: Curve) -> dict[str, Any]:
    return {
        **_run(curve),
        "t": np.arange(len(curve.labels)),
        "labels": np.rint(curve.labels).astype(np.int64),
        "nmse": curve.nmse,
        "npll": curve.npll,
        "joint": curve.joint,
        "seconds": curve.seconds,
    }


def _weights(curve: Curve) -> Iterator[dict[str, Any]]:
    for kind, weights in (("expert", curve.experts), ("acquisition", curve.acquisitions)):
        for name, weight in weights.items():
            t = np.arange(len(weight))
            yield {**_run(curve), "t": t, "kind": kind, "name": name, "weight": weight}


def _run(curve: Curve) -> dict[str, Any]:
    return {"task": curve.task, "method": curve.method, "realisation": curve.realisation}


def _stacked(names: tuple[str, ...], parts: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """The parts one below the other; a single value in a part stands for all its rows."""
    rows = list(parts)
    lengths = [len(part["t"]) for part in rows]
    return pd.DataFrame({name: _column([part[name] for part in rows], lengths) for name in names})


def _column(values: list[Any], lengths: list[int]) -> Any:
    if not values:
        return []
    if isinstance(values[0], str):  # a text is kept once and counted, not copied to every row
        codes, texts = pd.factorize(np.array(values, dtype=object))
        return pd.Categorical.from_codes(np.repeat(codes, lengths), texts).astype(str)
    if isinstance(values[0], int):
        return np.repeat(values, lengths)
    return np.concatenate([np.asarray(value) for value in values])
