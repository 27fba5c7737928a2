"""What a query, a command and a page cost, beside scikit-learn's GP and BoTorch's.

    ./scripts/results cost
    python benchmarks/cost.py [--quick] [--large] --runs FOLDER [--to FILE]

    query      with 50, 500 and 2,000 labels and 10^3 to 10^5 candidates: `cost_cases query`
    shards     an ask on 10^6 candidates in Parquet files; on 10^7 with --large
    command    `weal ask` from the shell, a store with labels and candidates (STORE_SIZES); beside
               it, a script with a rival would take its imports, fit and step
    sections   what that ask spends its time on
    page       the labelling page of `weal serve`, by the processor time of the server

All times are of the processor, user and system, one thread; memory is the largest resident set.
Each case is a process of its own. A case is kept in --runs when it is finished: the same command
resumes. A case beside which other processes took more than half a core is marked busy; when none is
missing, the same command measures the busy ones again. BoTorch is left out where it is missing.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import record
from benchmarks.startup import NAME, a_store, a_table, run, tell

LABELS, CANDIDATES = (50, 500, 2000), (1_000, 10_000, 100_000)
QUICK_LABELS, QUICK_CANDIDATES = (50,), (1_000,)
SHARDED_LABELS, SHARDED_ROWS, LARGE_ROWS = 50, 1_000_000, 10_000_000
RIVALS = ("scikit-learn", "BoTorch")
# Of commands and pages; a store of the largest size takes four minutes to make.
STORE_SIZES = ((50, 1_000), (500, 10_000), (2000, 100_000))
REQUESTS = 100  # of a page
CHILD = Path(__file__).with_name("cost_cases.py")
Row = dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class CostCase:
    """A case and the function that measures it."""

    part: str
    about: Row  # method, labels, candidates
    measure: Callable[[], list[Row]]

    def key(self, version: str) -> str:
        """Equal for equal cases of equal code."""
        return json.dumps([version, self.part, self.about])


def in_child(*words: object) -> list[Row]:
    """The rows that a process of its own prints."""
    command = [sys.executable, str(CHILD), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=record.ROOT)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))} failed:\n{done.stderr}")
    return list(json.loads(done.stdout.splitlines()[-1]))


def command_rows(labels: int, candidates: int) -> list[Row]:
    """Processor time and memory of `weal ask`, with no selection due, and its sections."""
    with tempfile.TemporaryDirectory(dir=".") as name:
        store = a_campaign(Path(name), labels, candidates)
        copy = Path(shutil.copy(store, store.with_name("copy.db")))
        used = run("ask", copy)
        sections = in_child("sections", NAME, f"sqlite:///{store}")
    asked = {"part": "command", "what": "weal ask", "seconds": used.processor, "MB": used.memory}
    return [asked, *({"part": "sections", **row} for row in sections)]


def a_campaign(folder: Path, labels: int, candidates: int) -> Path:
    """A store with so many labels, the last one told after an ask, and so many open candidates."""
    store, table = (folder / "weal.db").absolute(), a_table(labels + candidates)
    a_store(store, table, labels - 1)
    tell(store, table, labels - 1, labels)
    return store


def page_rows(labels: int, candidates: int) -> list[Row]:
    """Processor time of the server for the labelling page and for the least request."""
    import httpx
    from benchmarks import serve

    with tempfile.TemporaryDirectory() as name:
        os.environ["XDG_STATE_HOME"] = f"{name}/state"
        url = serve.make(Path(name), labels, candidates)
        serve.keep_results(url, candidates)
        with serve.serving(url) as (address, pid, _):
            base = address.split("/?")[0]
            with httpx.Client(base_url=base, trust_env=False, timeout=600) as client:
                client.get(address)
                client.cookies.set("weal-who", "ann")
                paths = serve.paths_of(candidates)
                wanted = {"labelling page": paths["bench"], "least request": paths["/healthz"]}
                for path in wanted.values():
                    client.get(path).raise_for_status()
                found = {what: _request(client, pid, path) for what, path in wanted.items()}
            most = serve.memory(pid)
    return [{"what": what, "seconds": seconds, "MB": most} for what, seconds in found.items()]


def _request(client: Any, pid: int, path: str) -> float:
    from benchmarks.serve import cpu

    before = cpu(pid)
    for _ in range(REQUESTS):
        client.get(path)
    return (cpu(pid) - before) / REQUESTS


def cases(quick: bool, large: bool) -> Iterator[CostCase]:
    """All cases: queries, files of candidates, then commands and pages, small ones first."""
    sizes, counts = (QUICK_LABELS, QUICK_CANDIDATES) if quick else (LABELS, CANDIDATES)
    rivals = [name for name in RIVALS if name != "BoTorch" or find_spec("botorch")]
    for labels in sizes:
        for method in ("weal", *rivals):
            about = {"method": method, "labels": labels}
            yield CostCase(
                "query", about, partial(in_child, "query", method, labels, *counts)
            )  # fmt: skip
    rows = () if quick else (SHARDED_ROWS, LARGE_ROWS) if large else (SHARDED_ROWS,)
    for count in rows:
        about = {"method": "weal", "labels": SHARDED_LABELS, "candidates": count}
        yield CostCase("shards", about, partial(in_child, "shards", SHARDED_LABELS, count, 1))
    for labels, count in STORE_SIZES[: 1 if quick else None]:
        about = {"method": "weal", "labels": labels, "candidates": count}
        yield CostCase("page", about, partial(page_rows, labels, count))
        yield CostCase("command", about, partial(command_rows, labels, count))


class KeptCases:
    """Rows of finished cases by key, in a file of JSON lines."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path, self.rows = folder / "cases.jsonl", dict[str, list[Row]]()
        for line in self.path.read_text("utf-8").splitlines() if self.path.is_file() else ():
            try:
                key, rows = json.loads(line)
            except ValueError:  # cut off by a kill or a full disk
                continue
            self.rows[key] = rows

    def add(self, key: str, rows: list[Row]) -> None:
        """Keep the rows of a case; of two busy measurements the shorter one."""
        old = self.rows.get(key)
        total = sum(row["seconds"] for row in rows)
        if old and rows[0]["busy"] and sum(row["seconds"] for row in old) < total:
            rows = old
        self.rows[key] = rows
        with self.path.open("a", encoding="utf-8") as file:
            file.write("\n" * (file.tell() > 0) + json.dumps([key, rows]))
            file.flush()
            os.fsync(file.fileno())


def measured(case: CostCase) -> list[Row]:
    """The rows of a case, with a mark where the machine was busy."""
    clock = record.OtherProcesses()
    rows = case.measure()
    busy = record.is_busy(clock.cores())
    return [{"part": case.part, **case.about, **row, "busy": busy} for row in rows]


def main() -> None:
    from weal.benchmark.curve_cache import code

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="50 labels and 1,000 candidates alone")
    parser.add_argument("--large", action="store_true", help="a pool of 10^7 rows in files, too")
    parser.add_argument("--runs", type=Path, required=True, help="folder that keeps finished cases")
    record.add_option(parser)
    given = parser.parse_args()
    version = f"{code()} {record.versions(('botorch',))}"
    wanted, kept = list(cases(given.quick, given.large)), KeptCases(given.runs)
    missing = [case for case in wanted if case.key(version) not in kept.rows]
    busy = [case for case in wanted if case not in missing and _is_busy(kept, case.key(version))]
    begun = time.monotonic()
    for n, case in enumerate(missing or busy, 1):
        what = ", ".join([case.part, *map(str, case.about.values())])
        print(f"{n}/{len(missing or busy)} {what}", file=sys.stderr, flush=True)
        kept.add(case.key(version), measured(case))
        if given.to:
            rows = [row for one in wanted for row in kept.rows.get(one.key(version), ())]
            record.write(given.to, "cost of a query, a command, a page", rows, [1], record.RIVALS)
    print(f"{time.monotonic() - begun:.0f} s", file=sys.stderr)


def _is_busy(kept: KeptCases, key: str) -> bool:
    return any(row["busy"] for row in kept.rows[key])


if __name__ == "__main__":
    main()
