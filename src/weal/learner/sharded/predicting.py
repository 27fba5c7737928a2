"""What a model expects of every candidate of a pool in shards: shard by shard, as a folder.

    predictions/part-00000.parquet    id, mean, sd, low, high; one file for each shard, in order

Written beside its place and then moved there: there is a whole folder, or none.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from weal.learner.sharded.candidates import ShardedCandidates
from weal.model.model import Model
from weal.shards.crew import Crew, Progress
from weal.shards.encoding import Encoder, Later
from weal.shards.files import pyarrow
from weal.shards.shard import Shard

AT_A_TIME = 8192  # rows

Columns = dict[str, Any]
More = Callable[[Columns], Mapping[str, Any]]  # further columns of a shard


@dataclass(frozen=True, slots=True, eq=False)
class Predicting:
    """The predictions for a shard: a pure function of the model and the shard."""

    model: Model
    encoder: Encoder
    level: float
    of: int  # rows of all shards

    def __call__(self, shard: Shard) -> Columns:
        """Ids, means, sds and the ends of intervals."""
        shard.check()
        parts = [
            self.model.summary(X[start : start + AT_A_TIME], self.level, self.of)
            for X in shard.blocks(self.encoder, Later())
            for start in range(0, len(X), AT_A_TIME)
        ]
        mean, sd, low, high = np.concatenate(parts, axis=1)
        ids = shard.ids(np.arange(shard.rows))
        return {"id": ids, "mean": mean, "sd": sd, "low": low, "high": high}


def predictions(
    candidates: ShardedCandidates, model: Model, level: float, crew: Crew, progress: Progress | None
) -> Iterator[tuple[int, Columns]]:
    """Predictions for every shard, as they come, each with its number."""
    plain = _unnamed(model)
    work = Predicting(plain, candidates.encoder, level, len(candidates))
    return crew.each(work, candidates.parts, "predicting", progress)


def write_predictions(
    folder: str | os.PathLike[str],
    found: Iterator[tuple[int, Columns]],
    *,
    more: More | None = None,
    force: bool = False,
) -> int:
    """Write predictions into a folder, a file for each shard; returns how many rows."""
    arrow, parquet = pyarrow()
    place = check_folder(folder, force)
    making = place.with_name(f"{place.name}.{os.getpid()}")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir()
    rows = 0
    try:
        for n, columns in found:
            table = arrow.table({**columns, **(more(columns) if more else {})})
            parquet.write_table(table, making / f"part-{n:05d}.parquet", compression="zstd")
            rows += table.num_rows
        if place.exists():
            shutil.rmtree(place)
        making.rename(place)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return rows


def check_folder(folder: str | os.PathLike[str], force: bool) -> Path:
    """The folder, or an error that says why nothing can be written there."""
    place = Path(folder).expanduser().absolute()
    if not place.parent.is_dir():
        raise ValueError(f"there is no folder {place.parent} to make {place.name} in")
    if place.is_dir() and not force and any(place.iterdir()):
        raise ValueError(f"the folder {place} is not empty; choose another, or say force (--force)")
    others = [one for one in place.iterdir() if one.suffix != ".parquet"] if place.is_dir() else []
    if others or (place.exists() and not place.is_dir()):
        what = others[0] if others else place
        raise ValueError(f"{what} is there, and is no prediction: it is not replaced")
    return place


def _unnamed(model: Model) -> Model:
    """The model for rows that come as arrays."""
    return replace(model, columns=None, plan=None)
