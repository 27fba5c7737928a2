"""Pools in files, and functions to be learnt, for tests of shards."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

D = 3


def inputs(U, seed=0):
    return np.random.default_rng([seed, U]).uniform(-1.0, 1.0, (U, D))


def f(x):
    return np.sin(3.0 * x[..., 0]) + x[..., 1] * x[..., 2]


def names_of(U):
    return [f"c{n:05d}" for n in range(U)]


def write(folder, X, cuts, groups=10_000, names=None, **more):
    """Rows X in files that end at these cuts, with row groups of so many rows."""
    folder.mkdir(parents=True, exist_ok=True)
    names = names_of(len(X)) if names is None else names
    ends = [0, *cuts, len(X)]
    for k, (a, b) in enumerate(pairwise(ends)):
        columns = {"id": names[a:b], **{f"x{j}": X[a:b, j] for j in range(X.shape[1])}}
        columns |= {name: values[a:b] for name, values in more.items()}
        pq.write_table(pa.table(columns), folder / f"part-{k:03d}.parquet", row_group_size=groups)
    return folder
