"""Pools in shards against the work they cannot do without: ratios measured in one run.

    python benchmarks/pools.py                      10^6 rows of 8 columns, float32, in files
    python benchmarks/pools.py --rows 10000000      64 files of 10^7 rows; some ten minutes
    python benchmarks/pools.py --batches            what a shortlist costs against the whole pool

The bare loop is numpy alone: it reads the same columns, and takes correlations, solves and the
score (the variance of the mixture) of the same experts, in float64 as we do. All passes use the
same number of threads, each with one BLAS thread. Times are CPU times of this process, so that
others on the machine do not count; those of a cluster are wall times, and say so. Memory is the
largest sum over this process and its children, sampled.
"""

import argparse
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.linalg.blas import dtrsm
from threadpoolctl import threadpool_limits

import weal
from weal.learner.state import State

D, LABELS, BATCH = 8, 100, 96
BLOCK = 1024


def f(X: Any) -> Any:
    """A function of five of the inputs."""
    wave = np.sin(3.0 * X[:, 0]) + np.cos(2.0 * X[:, 3]) / 2.0
    return wave + X[:, 1] * X[:, 2] + 0.3 * X[:, 4] ** 2


def write(folder: Path, rows: int, files: int) -> None:
    """Rows in Parquet files, a part at a time."""
    ends = np.linspace(0, rows, files + 1).astype(int)
    for k, (a, b) in enumerate(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)):
        X = np.random.default_rng([7, k]).uniform(-1.0, 1.0, (b - a, D)).astype(np.float32)
        columns = {"id": np.arange(a, b), **{f"x{j}": X[:, j] for j in range(D)}}
        pq.write_table(pa.table(columns), folder / f"part-{k:03d}.parquet", row_group_size=131_072)


def labelled(pool: Any, **how: Any) -> weal.ActiveLearner:
    """A learner on the pool with LABELS labels of its first rows, and a model."""
    learner = weal.ActiveLearner(pool, **how)
    names = [learner.candidates.ids[n] for n in range(LABELS)]
    X = learner.candidates.inputs(names)
    noise = 0.05 * np.random.default_rng(1).standard_normal(LABELS)
    learner.tell(names, f(X) + noise)
    _ = learner.model
    return learner


def bare(learner: weal.ActiveLearner, folder: Path, threads: int) -> float:
    """The largest variance of the mixture, by numpy and pyarrow alone."""
    model = learner.model
    scale, ens = model.scaling, model.ensemble_
    experts: Any = ens.experts
    parts = list(zip(experts.kernels, experts.L, experts.z, ens.w, ens.magnitude, strict=True))
    Z = experts.X

    def block(X: Any) -> float:
        S = (X - scale.x_mean) / scale.x_sd
        mu, var = [], []
        for kernel, L, z, _, sig2 in parts:
            A, B = S / np.asarray(kernel.length_scale), Z / np.asarray(kernel.length_scale)
            r2 = (B * B).sum(axis=1)[:, None] + (A * A).sum(axis=1) - 2.0 * B @ A.T
            np.maximum(r2, 0.0, out=r2)
            if kernel.family == "rbf":
                r2 *= -0.5
                K = np.exp(r2, out=r2)
            else:
                r2 *= 5.0
                r = np.sqrt(r2)
                K = np.exp(-r)
                r2 /= 3.0
                r2 += r
                r2 += 1.0
                K *= r2
            K += kernel.offset
            V = dtrsm(1.0, L.T, K.T, side=1, lower=0, overwrite_b=1).T
            mu.append(z @ V)
            var.append(sig2 * (kernel.variance - np.einsum("tn,tn->n", V, V)))
        w = np.array([part[3] for part in parts])
        mean = w @ np.array(mu)
        return float((w @ (np.array(var) + (np.array(mu) - mean) ** 2)).max())

    def file(path: Path) -> float:
        best = -np.inf
        with pq.ParquetFile(path) as opened:
            names = [f"x{j}" for j in range(D)]
            for batch in opened.iter_batches(32_768, columns=names, use_threads=False):
                X = np.stack([column.to_numpy() for column in batch.columns], axis=1)
                for start in range(0, len(X), BLOCK):
                    best = max(best, block(X[start : start + BLOCK].astype(np.float64)))
        return best

    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        return max(pool.map(file, sorted(folder.glob("*.parquet"))))


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
            total = 0
            for one in [own, *own.children(recursive=True)]:
                try:
                    total += one.memory_info().rss
                except psutil.Error:
                    continue
            found[0] = max(found[0], total / 1e9)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        done.set()
        thread.join()


def fresh(learner: weal.ActiveLearner, state: State) -> None:
    """The learner as it was, with nothing kept of its passes."""
    learner._state = state
    learner._beliefs._memo.clear()


def row(name: str, asked: str, found: str) -> None:
    print(f"| {name} | {asked} | {found} |", flush=True)


def passes(rows: int, files: int, threads: int, workers: bool) -> None:
    """The table of passes."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as place:
        folder = Path(place)
        write(folder, rows, files)
        pool = weal.open_pool(folder, id_column="id")
        print("| what | asked | measured |\n|---|---|---|")
        with peak() as memory:
            learner = labelled(pool, threads=threads)
            state, held = learner.state, len(learner.model.weights_)
            first = cpu(lambda: learner.ask(1))
            fresh(learner, state)
            batch = cpu(lambda: learner.ask(BATCH))
        truth = cpu(lambda: bare(learner, folder, threads))
        each = truth / rows * 1e6
        row(f"rows, files, labels, experts, threads: {rows:,}, {files}, {LABELS}, {held}, "
            f"{threads}", "", "")  # fmt: skip
        row("bare loop, CPU", "", f"{truth:.1f} s, {each:.2f} us a row")
        row("ask(1) / bare", "2", f"{first / truth:.2f}")
        row(f"ask({BATCH}) / bare", "2", f"{batch / truth:.2f}")
        row(f"ask({BATCH}), CPU a row", "", f"{batch / rows * 1e6:.2f} us")
        row("peak memory", "2.5 GB", f"{memory[0]:.2f} GB")
        if workers:
            on_workers(pool)


def on_workers(pool: Any) -> None:
    """Wall times of one and of two workers of one thread each."""
    times = {}
    for n in (1, 2):
        learner = labelled(pool, scheduler=f"local:{n}")
        start = time.perf_counter()
        learner.ask(1)
        times[n] = time.perf_counter() - start
        learner.close()
    row("two Dask workers / one, wall time", "1.6", f"{times[1] / times[2]:.2f} times as fast")


def in_memory(rows: int, threads: int) -> None:
    """A pool in memory: the first ask after a settling, against a bare pass over the same rows."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write(folder, rows, 4)
        tables = [pq.read_table(path) for path in sorted(folder.glob("*.parquet"))]
        X = np.concatenate([np.stack([t[f"x{j}"].to_numpy() for j in range(D)], 1) for t in tables])
        learner = labelled(X)
        first = cpu(lambda: learner.ask(1))
        truth = cpu(lambda: bare(learner, folder, 1))
        row(f"in memory, {rows:,} rows: ask(1) / bare pass", "2", f"{first / truth:.2f}")


def batches(rows: int, tasks: int) -> None:
    """Error after batches chosen from a shortlist, against batches over the whole pool."""
    differences = []
    for seed in range(tasks):
        X = np.random.default_rng([3, seed]).uniform(-1.0, 1.0, (rows, 5))
        test = np.random.default_rng([4, seed]).uniform(-1.0, 1.0, (2000, 5))
        curves = []
        for pool in (X, weal.open_pool(X)):
            learner, errors = weal.ActiveLearner(pool, seed=seed), []
            for _ in range(5):
                names = learner.ask(16)
                learner.tell(names, f(X[names]))
                errors.append(np.log10(((learner.model.predict(test) - f(test)) ** 2).mean()))
            curves.append(np.mean(errors))
        differences.append(curves[1] - curves[0])
    half = 1.96 * np.std(differences, ddof=1) / np.sqrt(tasks)
    row(f"batches of 16, {rows:,} rows, {tasks} seeds: log10 MSE, shortlist minus whole pool",
        "0.01", f"{np.mean(differences):+.4f} +- {half:.4f}")  # fmt: skip


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--rows", type=int, default=1_000_000)
    given.add_argument("--files", type=int, default=64)
    given.add_argument("--threads", type=int, default=1)
    given.add_argument("--workers", action="store_true", help="Dask workers, one and two.")
    given.add_argument("--memory", action="store_true", help="A pool in memory too.")
    given.add_argument("--batches", action="store_true", help="What a shortlist costs.")
    given.add_argument("--tasks", type=int, default=8)
    chosen = given.parse_args()
    if chosen.batches:
        batches(chosen.rows, chosen.tasks)
        return
    passes(chosen.rows, chosen.files, chosen.threads, chosen.workers)
    if chosen.memory:
        in_memory(chosen.rows, chosen.threads)


if __name__ == "__main__":
    main()
