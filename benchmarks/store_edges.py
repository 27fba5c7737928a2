"""Large counts for the tests of stores: writes, lost writes and waiting times.

    python benchmarks/store_edges.py fuzz [COUNT] [SEED]    damaged files (3000)
    python benchmarks/store_edges.py interrupts [COUNT]     Ctrl-C at every so many imports (200)
    python benchmarks/store_edges.py waiting [CALLS] [sqlite]  24 who tell; 12 tell, 8 ask

"fuzz" counts mutations, those after which the doctor finds nothing broken (every event, label and
candidate is then the same, or it stops with an error), and events that were saved. "waiting" gives
the median, the 99th percentile and the slowest call, asks beside asks and tells beside tells, on
SQLite and, where it is installed, on a PostgreSQL server of its own. Nothing is asserted of times.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from statistics import median, quantiles
from typing import Any

TESTS = Path(__file__).parents[1] / "tests"
FORK = get_context("fork")
ROWS = 6000


def of_tests(name: str) -> Any:
    sys.path[0] = str(TESTS)  # instead of this folder, where `campaign` is another
    return import_module(f"campaign.{name}")


def fuzz(count: str = "3000", seed: str = "0") -> None:
    mutations = of_tests("mutations")
    with tempfile.TemporaryDirectory() as name:
        source, folder = Path(name) / "small.db", Path(name) / "work"
        truth = mutations.small_store(source)
        folder.mkdir()
        events = len(truth[0])
        for kind in mutations.KINDS:
            each = -(-int(count) // len(mutations.KINDS))
            found = mutations.run(source, truth, folder, each, int(seed), [kind])
            share = found["saved"] / (each * events)
            words = "{tried} tried, nothing broken found in {sound}, a label told after {told}"
            print(f"{kind.__name__:15} {words.format(**found)}, {share:.0%} of events saved")


def interrupts(count: str = "200") -> None:
    program: str = of_tests("test_cut_off").INTERRUPTED
    pool = "sample,temp\n" + "".join(f"A-{n},{n * n % 7 + n / 9}\n" for n in range(9))
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "pool.csv").write_text(pool)
        ends: dict[str, int] = {}

        def typed(at: int, words: str) -> None:
            done = subprocess.run(
                [sys.executable, "-c", program, str(at), "import", *words.split()],
                capture_output=True, cwd=name, check=False,
            )  # fmt: skip
            end = f"exit {done.returncode}, {len(done.stderr.splitlines())} lines of talk"
            end += ", a traceback" if b"Traceback" in done.stderr else ""
            ends[end] = ends.get(end, 0) + 1

        typed(0, "new steel --pool pool.csv --id sample")
        ends.clear()
        for n in range(int(count)):
            typed(1 + 5 * n, ("list", "ask steel", "export steel --to -")[n % 3])
        for end, times in sorted(ends.items()):
            print(f"{times:5}  {end}")


def waiting(calls: str = "500", store: str = "") -> None:
    servers = of_tests("postgres_server")
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        urls = [f"sqlite:///{name}/weal.db"]
        if servers.programs():
            urls.append(stack.enter_context(servers.running()).url)
        for url in (url for url in urls if url.startswith(store)):
            kind = url.partition(":")[0]
            for tellers, askers in ((24, 0), (12, 8)):
                told, asked = crowd(url, f"{kind} {tellers}", tellers, askers, int(calls))
                report(f"{kind}, {tellers} tell, {askers} ask: tells", told)
                report(f"{kind}, {tellers} tell, {askers} ask: asks ", asked)


def report(what: str, times: Sequence[float]) -> None:
    if times:
        middle, late = median(times), quantiles(times, n=100)[98]
        print(
            f"{what}  {len(times)} calls, median {1e3 * middle:.1f} ms, p99 {1e3 * late:.0f} ms, "
            f"slowest {1e3 * max(times):.0f} ms: {max(times) / middle:.0f} times the median",
            flush=True,
        )


def crowd(
    url: str, name: str, tellers: int, askers: int, calls: int
) -> tuple[list[float], list[float]]:
    """Seconds of each tell and of each ask, all at once until there were so many of either."""
    subprocess.run([sys.executable, __file__, "begin", url, name], check=True)
    with tempfile.TemporaryDirectory() as folder:
        told, asked = FORK.Value("i", 0), FORK.Value("i", 0)
        ready = FORK.Barrier(tellers + askers)

        def done() -> bool:
            return bool(told.value >= calls and (not askers or asked.value >= calls))

        def work(k: int) -> None:
            from weal import open_campaign

            times = []
            with open_campaign(name, url, by=f"person {k}") as one:
                act = _asking(one) if k >= tellers else _telling(one, k, tellers)
                if k >= tellers:
                    _ = one.read_learner()  # opening is not waiting
                ready.wait()
                count = asked if k >= tellers else told
                while not done():
                    if k < tellers and askers and told.value > asked.value:
                        time.sleep(0.005)  # as many tells as asks, else all is told soon
                        continue
                    begun = time.perf_counter()
                    act()
                    times.append(time.perf_counter() - begun)
                    with count.get_lock():
                        count.value += 1
            (Path(folder) / f"{k}.json").write_text(json.dumps(times))

        people: list[Any] = [FORK.Process(target=work, args=(k,)) for k in range(tellers + askers)]
        for person in people:
            person.start()
        for person in people:
            person.join()
        times = [json.loads((Path(folder) / f"{k}.json").read_text()) for k in range(len(people))]
    flat = [[one for each in some for one in each] for some in (times[:tellers], times[tellers:])]
    return flat[0], flat[1]


def _asking(one: Any) -> Callable[[], object]:
    return lambda: one.ask(lease=5)


def _telling(one: Any, k: int, tellers: int) -> Callable[[], object]:
    """Tells the labels of rows of one's own."""
    rows = iter(range(k, ROWS - 12, tellers))

    def act() -> None:
        n = next(rows)
        one.tell(f"r{n}", (n * 37 % 101) / 50.0)

    return act


def begin(url: str, name: str) -> None:
    import numpy as np
    import pandas as pd

    from weal import open_campaign

    rng = np.random.default_rng(0)
    pool = pd.DataFrame(rng.uniform(size=(ROWS, 2)), columns=["a", "b"])
    pool.insert(0, "name", [f"r{n}" for n in range(ROWS)])
    with open_campaign(name, url, pool=pool, id_column="name", acquisition="wvar") as one:
        one.tell([f"r{n}" for n in range(ROWS - 12, ROWS)], rng.normal(size=12))
        one.ask()


if __name__ == "__main__":
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
    what, *rest = sys.argv[1:] or ["fuzz"]
    deeds: dict[str, Any] = {"fuzz": fuzz, "interrupts": interrupts, "waiting": waiting}
    {**deeds, "begin": begin}[what](*rest)
