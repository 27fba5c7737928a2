"""Predictions for every candidate of a pool in shards, written as a folder of Parquet files.

    predictions/part-00000.parquet    id, mean, sd, low, high; one file for each shard, in order

The folder is written beside its place and then moved there, so it is complete or absent. `force`
replaces a folder of predictions that weal wrote, and no other (`weal.files`).
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from weal import files
from weal.errors import UnreadableFile
from weal.model.model import Model
from weal.progress import Progress
from weal.shards.encoding import InputEncoder, Later
from weal.shards.executors import Executor
from weal.shards.parquet_file import metadata, pyarrow
from weal.shards.shard import Shard

PREDICTED_BLOCK_ROWS = 8192  # rows
PREDICTIONS_MARK = {b"weal": b"predictions"}  # metadata of each file

Columns = dict[str, Any]
More = Callable[[Columns], Mapping[str, Any]]  # further columns of a shard


@dataclass(frozen=True, slots=True, eq=False)
class ShardPrediction:
    """The predictions for a shard: a pure function of the model and the shard."""

    model: Model
    encoder: InputEncoder
    level: float
    of: int  # rows of all shards

    def __call__(self, shard: Shard) -> Columns:
        """Ids, means, sds and the ends of intervals."""
        shard.check()
        parts = [
            self.model.summary(X[start : start + PREDICTED_BLOCK_ROWS], self.level, self.of)
            for X in shard.blocks(self.encoder, Later())
            for start in range(0, len(X), PREDICTED_BLOCK_ROWS)
        ]
        mean, sd, low, high = np.concatenate(parts, axis=1)
        ids = shard.ids(np.arange(shard.rows))
        return {"id": ids, "mean": mean, "sd": sd, "low": low, "high": high}


def predictions(
    shards: Sequence[Shard],
    encoder: InputEncoder,
    total: int,
    model: Model,
    level: float,
    executor: Executor,
    progress: Progress | None,
) -> Iterator[tuple[int, Columns]]:
    """Predictions for every shard, as they come, each with its number; `total` counts all rows."""
    plain = replace(model, columns=None, plan=None)  # rows come as arrays
    work = ShardPrediction(plain, encoder, level, total)
    return executor.each(work, shards, "predicting", progress)


def write_predictions(
    folder: str | os.PathLike[str],
    found: Iterator[tuple[int, Columns]],
    *,
    more: More | None = None,
    force: bool = False,
) -> int:
    """Write predictions into a folder, a file for each shard; returns how many rows."""
    arrow, parquet = pyarrow()
    place, rows = check_folder(folder, force), 0
    with files.atomic_folder(place, PREDICTIONS_FOLDER) as draft:
        for n, columns in found:
            table = arrow.table(
                {**columns, **(more(columns) if more else {})}, metadata=PREDICTIONS_MARK
            )
            parquet.write_table(table, draft / f"part-{n:05d}.parquet", compression="zstd")
            rows += table.num_rows
    return rows


def _carries_mark(path: Path) -> bool:
    try:
        return (metadata(path).metadata or {}).get(b"weal") == PREDICTIONS_MARK[b"weal"]
    except UnreadableFile:
        return False


PREDICTIONS_FOLDER = files.FolderKind(
    "folder of predictions",
    re.compile(r"part-\d{5,}\.parquet"),
    fills_empty=True,
    carries_mark=_carries_mark,
)


def check_folder(folder: str | os.PathLike[str], force: bool) -> Path:
    """The folder, checked; an error if nothing can be written there."""
    place = Path(folder).expanduser().absolute()
    if not place.parent.is_dir():
        raise ValueError(f"there is no folder {place.parent} to make {place.name} in")
    if files.check_folder(place, PREDICTIONS_FOLDER) and not force:
        raise ValueError(f"the folder {place} is not empty; choose another, or use force (--force)")
    return place
