"""Runs of a comparison: each is kept in a file when it is finished, and never made twice.

A job has the key (code, goal, task, method, realisation, settings) and a function that returns
label counts and scores. The code of a method of weal is all of weal that can change a score; that
of another method is what shares rows out and scores predictions, so a new model of weal does not
make the runs of others again. `carry_out` reads the finished runs of the folder, makes the
missing ones in the order given, and appends each as a line of JSON to `runs.jsonl`, flushed to
disk before the next begins: a killed process loses the run it was at. A line that was cut off is
skipped. Runs of other code or settings stay in the file and are not read.
"""

import hashlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from benchmarks import record
from benchmarks.comparison import ComparedRun, method_of

import weal
from weal.benchmark.curve_cache import code

WRITE_SECONDS = 60.0  # between two writes of a result file

RUNS = record.ROOT / "benchmarks" / ".runs"  # ignored by git
Measured = tuple[Sequence[int], Sequence[float]]  # label counts, and the score at each
# What decides the scores of other packages: tasks and splits, the protocol, scores, scaling.
MODULES_OF_RIVALS = ("benchmark/*.py", "core/scaling.py", "core/arrays.py", "samples/*.py")
Progress = Callable[[int, int, "ComparisonJob"], None]


@dataclass(frozen=True, slots=True, eq=False)
class ComparisonJob:
    """A run that is wanted."""

    goal: str
    task: str
    group: str
    method: str
    realisation: int
    settings: str  # everything else that decides the scores: seed, queries, sizes, versions
    measure: Callable[[], Measured]

    @property
    def key(self) -> str:
        """Equal for equal runs of equal code."""
        source = code() if method_of(self.goal, self.method).ours else code_of_rivals()
        parts = (source, self.goal, self.task, self.method, self.realisation, self.settings)
        return json.dumps(parts)


@cache
def code_of_rivals() -> str:
    """A hash of the source of weal that can change a score of another package."""
    home = Path(str(weal.__file__)).parent
    paths = sorted(path for pattern in MODULES_OF_RIVALS for path in home.glob(pattern))
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:16]


def carry_out(
    jobs: Sequence[ComparisonJob], folder: Path, progress: Progress | None = None
) -> Iterator[list[ComparedRun]]:
    """Make the missing runs; yields all finished runs so far, after each new one and at the end."""
    folder.mkdir(parents=True, exist_ok=True)
    path, done = folder / "runs.jsonl", finished(folder)
    missing = [job for job in jobs if job.key not in done]
    for n, job in enumerate(missing):
        if progress:
            progress(n, len(missing), job)
        done[job.key] = make(job)
        _append(path, job.key, done[job.key])
        yield [done[one.key] for one in jobs if one.key in done]
    yield [done[one.key] for one in jobs if one.key in done]


def write_results(
    jobs: Sequence[ComparisonJob], folder: Path, write: Callable[[list[ComparedRun]], None]
) -> None:
    """Make the missing runs and write the result file, now and then and at the end or Ctrl-C."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    written, runs = time.monotonic(), list[ComparedRun]()
    try:
        for runs in carry_out(jobs, folder, show):
            if time.monotonic() - written > WRITE_SECONDS:
                write(runs)
                written = time.monotonic()
    except KeyboardInterrupt:
        print("stopped: finished runs are kept, the same command goes on", file=sys.stderr)
    write(runs)


def make(job: ComparisonJob) -> ComparedRun:
    """The run of a job."""
    labels, curve = job.measure()
    about = (job.goal, job.task, job.group, job.method, job.realisation)
    return ComparedRun(*about, tuple(map(int, labels)), tuple(map(float, curve)))


def finished(folder: Path) -> dict[str, ComparedRun]:
    """The runs of a folder by key."""
    path = folder / "runs.jsonl"
    found = {}
    for line in path.read_text("utf-8").splitlines() if path.is_file() else ():
        try:
            key, run = json.loads(line)
        except ValueError:  # cut off by a kill or a full disk
            continue
        found[key] = ComparedRun(
            **{**run, "labels": tuple(run["labels"]), "curve": tuple(run["curve"])}
        )
    return found


def show(n: int, total: int, job: ComparisonJob) -> None:
    """Progress on standard error, a line for each run."""
    what = f"{job.task}, {job.method}, realisation {job.realisation}"
    print(f"{time.strftime('%H:%M:%S')} {n + 1}/{total} {what}", file=sys.stderr, flush=True)


def _append(path: Path, key: str, run: ComparedRun) -> None:
    with path.open("ab+") as file:
        if file.tell():  # a line that a kill cut off is ended first
            file.seek(-1, os.SEEK_END)
        whole = file.read() in (b"", b"\n")
        line = json.dumps([key, asdict(run)]) + "\n"
        file.write((line if whole else "\n" + line).encode())
        file.flush()
        os.fsync(file.fileno())
