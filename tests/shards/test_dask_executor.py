"""Passes on a real Dask cluster: the same answer, also when a worker is killed in the middle."""

import operator
import os
import resource
import signal

import numpy as np
import pytest

import weal
from shards.pools import f, inputs, names_of, write
from weal.errors import ChangedShard, UnreadableShard, WorkerLost
from weal.shards import dask_executor
from weal.shards import dataset as pools
from weal.shards.shard import FileShard

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
clusters = pytest.importorskip("clusters")

U = 600
DEATHS = {"distributed.scheduler.allowed-failures": 1}  # of workers, that a task may cost
pytestmark = clusters.LEFT


@pytest.fixture(scope="module")
def local():
    with clusters.running(DEATHS, n_workers=2, threads_per_worker=1, processes=True) as made:
        yield made


@pytest.fixture(autouse=True)
def patient(constants):
    """Workers that were killed are waited for however slow the machine is."""
    constants(dask_executor, CONNECT_TIMEOUT_SECONDS=300)


@pytest.fixture
def folder(tmp_path, constants):
    constants(pools, MIN_SHARD_ROWS=40)
    constants(dask_executor, TASKS_PER_WORKER=2)  # so that a task has some shards
    return write(tmp_path / "pool", inputs(U), [200, 250], groups=50)


def first(mark):
    """Whether nobody was here before: one of two workers who come at once is the first."""
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


class Fatal(FileShard):
    """A shard whose first reader is killed."""

    __slots__ = ()

    def check(self):
        if self.start >= 300 and first(f"{self.file.path}.killed"):
            os.kill(os.getpid(), signal.SIGKILL)
        super().check()


class Deadly(FileShard):
    """A shard whose every reader is killed."""

    __slots__ = ()

    def check(self):
        if self.start >= 300:
            os.kill(os.getpid(), signal.SIGKILL)
        super().check()


class Large(FileShard):
    """A shard whose first reader does not have enough memory for it."""

    __slots__ = ()

    def check(self):
        if self.start >= 300 and first(f"{self.file.path}.large"):
            soft, hard = resource.getrlimit(resource.RLIMIT_AS)
            resource.setrlimit(resource.RLIMIT_AS, (2**34, hard))
            try:
                np.ones(2**32)  # 32 GiB
            finally:
                resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        super().check()


def told(source, **how):
    learner = weal.ActiveLearner(weal.open_pool(source, id_column="id"), n_start=5, **how)
    learner.tell(names_of(U)[:9], f(inputs(U)[:9]))
    return learner


def rows_of(shard):
    return shard.rows


def with_shards(learner, kind):
    """The learner, with shards of that kind in the place of its own."""
    pool = learner.candidates.dataset
    parts = tuple(
        kind(one.start, one.file, one.groups, one.id_column, one.as_text) for one in pool.parts
    )
    object.__setattr__(pool, "parts", parts)
    return learner


@pytest.mark.parametrize(
    ("acquisition", "goal"),
    [("auto", "learn"), ("multi", "learn"), ("auto", "minimise"), ("auto", "between 0.1 and 0.4")],
)
def test_a_cluster_asks_what_this_process_asks(local, folder, acquisition, goal):
    here = told(folder, acquisition=acquisition, goal=goal, threads=1)
    there = told(folder, acquisition=acquisition, goal=goal, scheduler=local.scheduler_address)
    for _ in range(3):
        name = here.ask()
        assert there.ask() == name
        for learner in (here, there):
            learner.tell(name, float(f(here.candidates.x(name))))
    assert there.ask(9) == here.ask(9)
    if goal != "learn":
        for name in ("id", "mean", "sd", "probability"):
            assert there.best(5)[name].equals(here.best(5)[name])
    there.close()


def test_a_worker_killed_in_the_middle_of_a_pass_changes_nothing(local, folder):
    here = told(folder, acquisition="multi")
    with distributed.Client(local, set_as_default=False) as client:
        before = set(client.run(os.getpid).values())
        there = with_shards(told(folder, acquisition="multi", scheduler=client), Fatal)
        assert there.ask(5) == here.ask(5)
        client.wait_for_workers(2)
        assert before - set(client.run(os.getpid).values())  # one was killed, and replaced


def test_a_shard_that_kills_every_worker_is_named(local, folder):
    with distributed.Client(local, set_as_default=False) as client:
        learner = with_shards(told(folder, scheduler=client), Deadly)
        with pytest.raises(WorkerLost, match=r"workers died repeatedly.*part-002.parquet"):
            learner.ask()
        assert not learner.pending
        client.wait_for_workers(2)


def test_a_shard_that_a_worker_has_no_memory_for_is_named(local, folder):
    with distributed.Client(local, set_as_default=False) as client:
        learner = with_shards(told(folder, scheduler=client), Large)
        with pytest.raises(
            UnreadableShard, match=r"part-002.parquet.*does not have enough memory for it"
        ):
            learner.ask()
        assert not learner.pending
        assert learner.ask() == told(folder).ask()


def test_a_worker_sends_one_summary_for_each_of_its_tasks(local, folder):
    learner = told(folder, scheduler=local.scheduler_address)
    executor, parts = learner._beliefs.executor, learner.candidates.parts
    every = list(executor.each(rows_of, parts))
    merged = list(executor.each(rows_of, parts, "", None, operator.add))
    assert len(every) == len(parts) > len(merged)
    assert sum(rows for _, rows in merged) == sum(rows for _, rows in every) == U
    learner.close()


def test_what_is_wrong_with_a_shard_is_said_by_whoever_reads_it(local, folder):
    learner = told(folder, scheduler=local.scheduler_address)
    (folder / "part-001.parquet").unlink()
    with pytest.raises(ChangedShard, match=r"part-001.parquet was a shard of this pool"):
        learner.ask()
    learner.close()


def test_another_weal_on_the_workers_is_refused(local, folder, monkeypatch):
    learner = told(folder, threads=1)
    monkeypatch.setattr(dask_executor, "__version__", "9.9.9")
    with pytest.raises(WorkerLost, match=r"this is weal 9.9.9, and the workers at tcp:.* have"):
        told(folder, scheduler=local.scheduler_address)
    assert not learner.pending


def test_a_scheduler_that_does_not_answer_is_named(folder, monkeypatch, constants):
    constants(dask_executor, CONNECT_TIMEOUT_SECONDS=1)
    with pytest.raises(WorkerLost, match=r"no Dask scheduler answers at tcp://127.0.0.1:9"):
        told(folder, scheduler="tcp://127.0.0.1:9")
    monkeypatch.setenv("WEAL_SCHEDULER", "tcp://127.0.0.1:9")
    with pytest.raises(WorkerLost, match=r"no Dask scheduler answers at tcp://127.0.0.1:9"):
        told(folder)
    with pytest.raises(WorkerLost, match=r"no Dask scheduler answers at tcp://no-such.invalid:9"):
        told(folder, scheduler="tcp://no-such.invalid:9")


def test_a_cluster_of_our_own_listens_here_alone_and_ends_with_the_learner(folder):
    with dask.config.set(clusters.PATIENT):
        learner = told(folder, scheduler="local:1")
    own = learner._beliefs.executor._own
    made = next(one for one in own if isinstance(one, distributed.LocalCluster))
    assert made.scheduler_address.startswith("tcp://127.0.0.1:")
    server = made.scheduler.http_server
    assert {one.getsockname()[0] for one in server._sockets.values()} == {"127.0.0.1"}
    assert learner.ask() == told(folder).ask()
    learner.close()
    assert made.status == distributed.Status.closed


def test_waves_give_every_shard_once_and_back_to_whoever_had_it():
    class Some:
        def __init__(self, name):
            self.name, self.rows = name, 10

    shards = [Some(f"shard {n}") for n in range(37)]
    had = {f"shard {n}": "b" for n in range(5)} | {"shard 10": "gone"}
    waves = dask_executor._waves(shards, ["a", "b", "c"], had)
    each = [n for own in waves.values() for wave in own for n in wave]
    assert sorted(each) == list(range(37))
    assert {0, 1, 2, 3, 4} <= {n for wave in waves["b"] for n in wave}
    assert max(len(own) for own in waves.values()) <= 37
    assert np.mean([len(wave) for own in waves.values() for wave in own]) >= 1
