"""Dask clusters for tests: patient, on ports that are free, and without traces in later tests."""

import gc
from contextlib import contextmanager

import dask
import distributed
import pytest

PATIENT = {f"distributed.comm.timeouts.{what}": "300s" for what in ("connect", "tcp")}
# Asyncio leaves a socket of a worker that was killed to the collector.
LEFT = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


@contextmanager
def running(config=(), **how):
    """A cluster of this machine, which takes its time where others are at work.

    What it leaves to the collector is collected here, where the mark `LEFT` is, and not in
    whichever test comes next.
    """
    with (
        dask.config.set({**PATIENT, **dict(config)}),
        distributed.LocalCluster(
            dashboard_address="127.0.0.1:0",  # None is one port, that another run may have
            worker_dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            **how,
        ) as made,
    ):
        yield made
    gc.collect()
