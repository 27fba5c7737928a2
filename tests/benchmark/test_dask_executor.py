"""The same run on a Dask cluster of real processes: the same numbers, also when a worker dies."""

import os
import signal
import threading

import pandas as pd
import pytest

import weal.benchmark
from constants import changed_constants
from weal.errors import WorkerLost
from weal.shards import dask_executor

distributed = pytest.importorskip("distributed")
clusters = pytest.importorskip("clusters")
pytestmark = clusters.LEFT

RUN = (["gramacy", "higdon"], ["random", "gp-var", "egp-wvar"])
SIZES = {"realisations": 3, "T": 8}


def numbers(table):
    return table.drop(columns="seconds")


@pytest.fixture(scope="module")
def address():
    """A cluster that takes its time where others are at work."""
    with (
        changed_constants(dask_executor, CONNECT_TIMEOUT_SECONDS=300),
        clusters.running(n_workers=2, threads_per_worker=2, processes=True) as local,
    ):
        yield local.scheduler_address


@pytest.fixture(scope="module")
def here():
    return weal.benchmark.run(*RUN, jobs=1, **SIZES)


def pids(address):
    with distributed.Client(address, set_as_default=False) as client:
        return list(client.run(os.getpid).values())


def test_a_cluster_gives_the_same_numbers_to_the_last_digit(address, here, tmp_path):
    there = weal.benchmark.run(*RUN, scheduler=address, jobs=1, out=tmp_path, **SIZES)
    pd.testing.assert_frame_equal(numbers(there), numbers(here), check_exact=True)


def test_a_worker_that_is_killed_costs_no_curve(address, here):
    victims = pids(address)[:1]
    done = threading.Event()

    def kill_one(step):
        if step.stage == "curves" and step.done == 2 and not done.is_set():
            done.set()
            os.kill(victims[0], signal.SIGKILL)

    there = weal.benchmark.run(*RUN, scheduler=address, jobs=1, progress=kill_one, **SIZES)
    assert done.is_set()
    pd.testing.assert_frame_equal(numbers(there), numbers(here), check_exact=True)


def test_a_cluster_that_does_not_answer_is_reported(constants):
    constants(dask_executor, CONNECT_TIMEOUT_SECONDS=0.5)
    with pytest.raises(WorkerLost, match="no Dask scheduler answers at tcp:"):
        weal.benchmark.run("higdon", "random", scheduler="tcp://127.0.0.1:9", **SIZES)


def test_an_address_that_is_none_is_reported():
    with pytest.raises(ValueError, match="scheduler is 'nowhere://x'; write the address"):
        weal.benchmark.run("higdon", "random", scheduler="nowhere://x", **SIZES)
