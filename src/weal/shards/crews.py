"""Who does passes over shards, by what the user says."""

import os
from typing import Any

from weal.shards.cluster import Cluster
from weal.shards.crew import Crew, Threads


def crew_of(scheduler: Any = None, threads: int | None = None) -> Crew:
    """Who does passes: threads, or a Dask cluster by name, address or client.

    None: what WEAL_SCHEDULER says, else threads. A cluster is connected to when it is needed;
    ValueError at once for text that names none.
    """
    if scheduler is None and threads is None:
        scheduler = os.environ.get("WEAL_SCHEDULER") or None
    if scheduler is None:
        return Threads(threads)
    if threads is not None:
        raise ValueError("threads are those of this process: leave them out with a scheduler")
    return Cluster(scheduler)
