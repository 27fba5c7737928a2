"""Pools in shards against the bare pass: ratios measured in one run.

    python benchmarks/pools.py                      10^6 rows of 8 columns, float32, in files
    python benchmarks/pools.py --rows 10000000      64 files of 10^7 rows; some ten minutes
    python benchmarks/pools.py --memory             a pool in memory too
    python benchmarks/pools.py --workers            one and two Dask workers too
    python benchmarks/pools.py --experts            what each expert costs, and whether fewer do
    python benchmarks/pools.py --batches            what a shortlist costs against the whole pool

The bare pass (`bare_pass`) does what cannot be left out, with the same experts and one BLAS thread
a thread as all passes. Times are CPU times of this process, so that others on the machine do not
count; of a cluster those of client and workers, and wall times that say so. Memory is the largest
sum over this process and its children, sampled. `--to FILE` keeps the table (`record`).
"""

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import pool_batches, pool_experts, record
from benchmarks.bare_pass import bare, experts_held

import weal
from weal.learner.pools.combined_scores import ShardedScores
from weal.learner.state import State

D, LABELS, BATCH = 8, 100, 96
INPUTS = [f"x{j}" for j in range(D)]
TOUCHED = 2 * 10**9  # bytes that are used before a pool in memory is


def write(folder: Path, rows: int, files: int) -> None:
    """Rows in Parquet files, a part at a time."""
    ends = np.linspace(0, rows, files + 1).astype(int)
    for k, (a, b) in enumerate(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)):
        X = np.random.default_rng([7, k]).uniform(-1.0, 1.0, (b - a, D)).astype(np.float32)
        columns = {"id": np.arange(a, b), **{name: X[:, j] for j, name in enumerate(INPUTS)}}
        pq.write_table(pa.table(columns), folder / f"part-{k:03d}.parquet", row_group_size=131_072)


def labelled(pool: Any, labels: int = LABELS, **how: Any) -> weal.ActiveLearner:
    """A learner on the pool with labels of its first rows, and a model."""
    learner = weal.ActiveLearner(pool, **how)
    names = [learner.candidates.ids[n] for n in range(labels)]
    X = learner.candidates.inputs(names)
    noise = 0.05 * np.random.default_rng(1).standard_normal(labels)
    learner.tell(names, pool_batches.five(X) + noise)
    _ = learner.model
    return learner


def cpu(work: Callable[[], object]) -> float:
    """Seconds of CPU that the work takes in this process."""
    start = time.process_time()
    work()
    return time.process_time() - start


@contextmanager
def peak() -> Iterator[list[float]]:
    """The largest memory (GB) of this process and its children meanwhile."""
    found, done = [0.0], threading.Event()
    own = psutil.Process()

    def watch() -> None:
        while not done.wait(0.05):
            total = sum(_of(one, lambda it: it.memory_info().rss) for one in _family(own))
            found[0] = max(found[0], total / 1e9)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        done.set()
        thread.join()


def _family(own: psutil.Process) -> list[psutil.Process]:
    return [own, *own.children(recursive=True)]


def _of(one: psutil.Process, what: Callable[[psutil.Process], float]) -> float:
    try:
        return what(one)
    except psutil.Error:
        return 0.0


def fresh(learner: weal.ActiveLearner, state: State) -> None:
    """The learner as it was, with nothing kept of its passes."""
    learner._state = state
    learner._beliefs.score_cache.clear()


class Table:
    """Rows that are printed as they come, and kept."""

    def __init__(self) -> None:
        self.rows: list[dict[str, str]] = []

    def add(self, what: str, asked: str, measured: str) -> None:
        """One more."""
        if not self.rows:
            print("| what | asked | measured |\n|---|---|---|")
        self.rows.append({"what": what, "asked": asked, "measured": measured})
        print(f"| {what} | {asked} | {measured} |", flush=True)


def passes(table: Table, folder: Path, threads: int) -> None:
    """Passes over files."""
    pool = weal.open_pool(folder, id_column="id")
    rows, files = len(pool), len(pool.files)
    with peak() as memory:
        learner = labelled(pool, threads=threads)
        state = learner.state
        first = cpu(lambda: learner.ask(1))
        scores = next(iter(learner._beliefs.score_cache.values()))
        assert isinstance(scores, ShardedScores)
        largest = scores.found.top[-1].scores[0]
        fresh(learner, state)
        batch = cpu(lambda: learner.ask(BATCH))
    fresh(learner, state)
    found: list[float] = []
    truth = cpu(lambda: found.append(bare(learner, folder, INPUTS, threads)))
    if not np.isclose(found[0], largest, rtol=1e-6):
        raise AssertionError(f"the bare pass found {found[0]}, the pool {largest}")
    held = [one.kernel.family for one in experts_held(learner)[0]]
    kinds = ", ".join(f"{held.count(kind)} {kind}" for kind in dict.fromkeys(held))
    table.add("rows, files, labels, threads; experts held", "",
              f"{rows:,}, {files}, {LABELS}, {threads}; {kinds}")  # fmt: skip
    table.add("bare pass, CPU", "", f"{truth:.1f} s, {truth / rows * 1e6:.2f} us a row")
    table.add("ask(1) / bare", "2", f"{first / truth:.2f}")
    table.add(f"ask({BATCH}) / bare", "2", f"{batch / truth:.2f}")
    table.add(f"ask({BATCH}), CPU a row", "", f"{batch / rows * 1e6:.2f} us")
    table.add("peak memory", "2.5 GB", f"{memory[0]:.2f} GB")


def on_workers(table: Table, folder: Path) -> None:
    """One and two workers of one thread each: seconds of CPU of client and workers, wall times.

    If all that the client does is done while workers wait, two workers take the client's seconds
    and half of the workers' (Amdahl).
    """
    own, wall = psutil.Process(), {}
    for n in (1, 2):
        learner = labelled(weal.open_pool(folder, id_column="id"), scheduler=f"local:{n}")
        before, start = _children(own), time.perf_counter()
        client = cpu(lambda: learner.ask(1))  # noqa: B023
        wall[n] = time.perf_counter() - start
        workers = _children(own) - before
        learner.close()
        table.add(f"{n} Dask worker{'s' if n > 1 else ''}: CPU of client, of workers; wall time",
                  "", f"{client:.1f} s, {workers:.1f} s; {wall[n]:.1f} s")  # fmt: skip
    bound = (client + workers) / (client + workers / 2.0)
    table.add("two Dask workers / one, by CPU (Amdahl)", "1.6", f"{bound:.2f}")
    load = os.getloadavg()[0]
    table.add(f"two Dask workers / one, wall time, {psutil.cpu_count()} cores, load {load:.1f}",
              "1.6", f"{wall[1] / wall[2]:.2f}")  # fmt: skip


def _children(own: psutil.Process) -> float:
    """Seconds of CPU of all processes that this one started."""
    return sum(_of(one, lambda it: sum(it.cpu_times()[:2])) for one in _family(own)[1:])


def in_memory(table: Table, folder: Path) -> None:
    """A pool in memory: the first ask after an expert selection, and the steps after it."""
    tables = [pq.read_table(path) for path in sorted(folder.glob("*.parquet"))]
    X = np.concatenate([np.stack([t[name].to_numpy() for name in INPUTS], 1) for t in tables])
    np.ones(TOUCHED // 8)  # where a virtual machine has memory at first use only, others pay too
    learner = labelled(X)
    first = cpu(lambda: learner.ask(1))
    truth = cpu(lambda: bare(learner, folder, INPUTS, 1))
    table.add(f"in memory, {len(X):,} rows: ask(1) / bare pass", "2", f"{first / truth:.2f}")
    for _ in range(2):
        name = learner.ask()
        y = float(pool_batches.five(X[[name]])[0])
        step = cpu(partial(learner.tell, name, y)) + cpu(learner.ask)
        table.add("in memory: tell and ask / bare pass", "", f"{step / truth:.2f}")


def shortlists(table: Table, rows: int, seeds: int) -> None:
    """Error after batches chosen from a shortlist, against batches over the whole pool."""
    found = pool_batches.differences(rows, seeds, (128, 512, 1024))
    tasks = len(pool_batches.TASKS_USED)
    for n, values in found.items():
        mean, half = pool_batches.interval(values)
        table.add(f"batches from the {n} best and {4 * n} by hash of {rows:,}, minus the whole "
                  f"pool: log10 NMSE, {tasks} tasks, {seeds} seeds", "0.01",
                  f"{mean:+.3f} +- {half:.3f}")  # fmt: skip


def experts(table: Table, seeds: int) -> None:
    """What each expert costs, and whether fewer choose as well."""
    X = np.random.default_rng(5).uniform(-1.0, 1.0, (65_536, D)).astype(np.float32)
    for labels in (24, LABELS):
        for held, each in pool_experts.costs(labelled(weal.open_pool(X), labels, threads=1)):
            table.add(f"a pass by {held} experts, {labels} labels", "", f"{each:.2f} us a row")
    for line in pool_experts.fewer(seeds):
        table.add(line.what, "", line.measured)


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--rows", type=int)
    given.add_argument("--files", type=int, default=64)
    given.add_argument("--threads", type=int, default=1)
    given.add_argument("--workers", action="store_true", help="Dask workers, one and two.")
    given.add_argument("--memory", action="store_true", help="A pool in memory too.")
    given.add_argument("--experts", action="store_true", help="What each expert costs.")
    given.add_argument("--batches", action="store_true", help="What a shortlist costs.")
    given.add_argument("--seeds", type=int, default=10, help="Of --batches and --experts.")
    record.add_option(given)
    chosen, table = given.parse_args(), Table()
    if chosen.batches:
        shortlists(table, chosen.rows or 20_000, chosen.seeds)
    elif chosen.experts:
        experts(table, chosen.seeds)
    else:
        over_files(table, chosen)
    if chosen.to:
        seeds = range(chosen.seeds) if chosen.batches or chosen.experts else [1, 7]
        what = "batches from a shortlist" if chosen.batches else "pools beyond memory"
        what = "experts that a pass is by" if chosen.experts else what
        packages = ("pyarrow", "dask", "distributed")
        record.write(chosen.to, what, table.rows, list(seeds), packages)


def over_files(table: Table, chosen: Any) -> None:
    """All that is measured on files."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as place:
        write(Path(place), chosen.rows or 1_000_000, chosen.files)
        passes(table, Path(place), chosen.threads)
        if chosen.memory:
            in_memory(table, Path(place))
        if chosen.workers:
            on_workers(table, Path(place))


if __name__ == "__main__":
    main()
