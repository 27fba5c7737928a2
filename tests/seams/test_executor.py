"""The conformance suite of the executor seam: this thread, threads, processes and a Dask cluster.

A new executor joins with one entry in EXECUTORS: a function that makes it.
"""

import operator
import os
from contextlib import closing
from dataclasses import dataclass

import pytest

from weal.errors import WorkerLost
from weal.shards.dask_executor import DaskExecutor
from weal.shards.executors import ProcessExecutor, SerialExecutor, ThreadExecutor

distributed = pytest.importorskip("distributed")
clusters = pytest.importorskip("clusters")
pytestmark = clusters.LEFT

EXECUTORS = {
    "serial": lambda client: SerialExecutor(),
    "threads": lambda client: ThreadExecutor(3),
    "processes": lambda client: ProcessExecutor(2),
    "dask": lambda client: DaskExecutor(client()),
}


@dataclass(frozen=True)
class Square:
    number: int
    rows: int = 10

    @property
    def name(self):
        return f"square {self.number}"


def squared(task):
    if task.number < 0:
        raise ValueError(f"{task.name} is negative")
    return task.number**2


def end_process(task):
    os._exit(1)


@pytest.fixture(scope="module")
def client():
    """Two workers of a cluster, as threads of this process."""
    with (
        clusters.running(n_workers=2, threads_per_worker=1, processes=False) as made,
        distributed.Client(made, set_as_default=False) as found,
    ):
        yield found


@pytest.fixture(params=EXECUTORS)
def executor(request):
    """Each executor; a cluster is started only where one is needed."""
    with closing(EXECUTORS[request.param](lambda: request.getfixturevalue("client"))) as found:
        yield found


def test_every_task_gives_its_result_with_its_number(executor):
    tasks = [Square(n) for n in range(50)]
    found = list(executor.each(squared, tasks))
    assert sorted(found) == [(n, n**2) for n in range(50)]
    assert dict(executor.each(squared, tasks)) == dict(found)
    assert list(executor.each(squared, [])) == []


def test_merged_results_add_up_to_those_of_every_task(executor):
    found = dict(executor.each(squared, [Square(n) for n in range(50)], merge=operator.add))
    assert set(found) <= set(range(50))
    assert sum(found.values()) == sum(n**2 for n in range(50))


def test_progress_counts_the_rows_that_are_done(executor):
    told = []
    tasks = [Square(n) for n in range(5)]
    list(executor.each(squared, tasks, "squaring", lambda *step: told.append(step)))
    assert told[0] == ("squaring", 0, 50)
    assert [done for _, done, _ in told] == [0, 10, 20, 30, 40, 50]


def test_an_error_ends_the_pass_and_the_next_one_works(executor):
    with pytest.raises(ValueError, match="square -1 is negative"):
        list(executor.each(squared, [Square(1), Square(-1), *map(Square, range(30))]))
    assert dict(executor.each(squared, [Square(3)])) == {0: 9}


def test_a_pass_that_is_left_early_leaves_the_executor_ready(executor):
    results = executor.each(squared, [Square(n) for n in range(200)])
    next(results)
    results.close()
    assert dict(executor.each(squared, [Square(2)])) == {0: 4}


def test_a_process_that_dies_is_reported():
    with closing(ProcessExecutor(2)) as executor, pytest.raises(WorkerLost, match="worker process"):
        list(executor.each(end_process, [Square(1)]))
