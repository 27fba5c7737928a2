"""The conformance suite of the executor seam: threads of this process, and a Dask cluster.

A new executor joins with one entry in EXECUTORS: a function that makes it.
"""

import operator

import numpy as np
import pytest

import weal
from weal.errors import ChangedShard
from weal.shards import dask_executor, dataset
from weal.shards.dask_executor import DaskExecutor
from weal.shards.executors import ThreadExecutor

distributed = pytest.importorskip("distributed")
clusters = pytest.importorskip("clusters")
pytestmark = clusters.LEFT

U = 45
EXECUTORS = {
    "one thread": lambda client: ThreadExecutor(1),
    "three threads": lambda client: ThreadExecutor(3),
    "dask": DaskExecutor,
}


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
    client = request.getfixturevalue("client") if request.param == "dask" else None
    made = EXECUTORS[request.param](client)
    yield made
    made.close()


@pytest.fixture
def shards(constants):
    """Seven shards of unequal numbers of rows."""
    constants(dataset, MEMORY_SHARD_ROWS=7)
    constants(dask_executor, TASKS_PER_WORKER=2)  # so that a task has some shards
    return weal.open_pool(np.arange(3.0 * U).reshape(U, 3), ids=[f"r{n}" for n in range(U)]).parts


def first_and_rows(shard):
    return shard.start, shard.rows


def rows_of(shard):
    return shard.rows


def refuse_the_third(shard):
    if shard.start == 14:
        raise ChangedShard("the third shard has changed")
    return shard.rows


def test_every_shard_is_done_once(executor, shards):
    found = list(executor.each(first_and_rows, shards))
    assert sorted(found) == [(n, first_and_rows(shard)) for n, shard in enumerate(shards)]
    assert len(shards) == 7


def test_a_second_pass_finds_the_same(executor, shards):
    passes = [dict(executor.each(first_and_rows, shards)) for _ in range(2)]
    assert passes[0] == passes[1]


def test_merged_results_add_up_to_those_of_every_shard(executor, shards):
    found = dict(executor.each(rows_of, shards, merge=operator.add))
    assert set(found) <= set(range(len(shards)))
    assert sum(found.values()) == U


def test_no_shards_give_no_results(executor):
    assert list(executor.each(rows_of, [])) == []


def test_progress_counts_rows_up_to_all_of_them(executor, shards):
    calls = []
    list(executor.each(rows_of, shards, "reading", lambda *call: calls.append(call)))
    assert {(what, total) for what, _, total in calls} == {("reading", U)}
    done = [rows for _, rows, _ in calls]
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0, U)


def test_an_error_of_a_shard_ends_the_pass_and_the_executor_goes_on(executor, shards):
    with pytest.raises(ChangedShard, match="the third shard has changed"):
        list(executor.each(refuse_the_third, shards))
    assert sum(dict(executor.each(rows_of, shards)).values()) == U


def test_a_pass_that_is_not_read_to_its_end_leaves_the_executor_usable(executor, shards):
    results = executor.each(rows_of, shards)
    next(results)
    results.close()
    assert sum(dict(executor.each(rows_of, shards)).values()) == U
