"""Time of a query against another commit, over the ten tasks of the benchmark.

    python benchmarks/real.py budget --against ../before        # a checkout of the other commit

One curve of the default learner for each task and realisation: processor time of all its queries,
expert selection included, metrics left out. Both commits take turns, task by task, in processes of
their own with one BLAS thread, so that the ratio is of one run. Beside it, what became of the
error.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parents[2]
TASKS = ("ackley", "branin", "currin", "gramacy", "higdon", "california", "malaria-standin",
         "diabetes", "robot3d", "robot4d")  # fmt: skip
FLOOR = 1e-5  # of NMSE: what lies below is rounding

PLAY = """
import json, sys, time
from importlib import import_module
from importlib.util import find_spec
import numpy as np
from weal import ActiveLearner
room = "benchmark" if find_spec("weal.benchmark") else "bench"  # bench: a checkout of 0.2
tasks = import_module(f"weal.{room}.tasks")
name, realisation, T, data = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] or None
split = tasks.draw(tasks.find_task(name), realisation, 0, data)
learner = ActiveLearner(split.Xu, n_start=1, seed=realisation)
learner.tell_points(split.X0, split.y0)
took, errors, densities = 0.0, [], []
for t in range(min(T, len(split.yu))):
    start = time.process_time()
    query = learner.ask()
    learner.tell(query, split.yu[query])
    took += time.process_time() - start
    if t % 10 == 9:
        mean, _ = learner.model.predict(split.Xt, return_std=True)
        log_p = learner.model.log_predictive_density(split.Xt, split.yt)
        errors.append(float(np.mean((mean - split.yt) ** 2) / np.var(split.yt)))
        densities.append(float(-np.mean(log_p) - np.log(np.std(split.yt))))
print(json.dumps([took / (t + 1), errors, densities]))
"""


def played(checkout: Path, task: str, realisation: int, queries: int, data: str) -> list[Any]:
    """Seconds of a query, NMSE and NPLL after every tenth, of the weal in that checkout."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    found = subprocess.run(
        [sys.executable, "-c", PLAY, task, str(realisation), str(queries), data],
        env={**os.environ, **threads, "PYTHONPATH": str(checkout / "src")},
        check=True,
        capture_output=True,
        text=True,
    )
    return list(json.loads(found.stdout))


def rows(against: Path, realisations: int = 2, queries: int = 50) -> list[tuple[str, str, str]]:
    """What, asked, measured: a row for each task and one for all."""
    data = str(HERE.parent / "shared" / "data")
    found, out = [], []
    for task in TASKS:
        pairs = []
        for realisation in range(realisations):
            now, before = (played(place, task, realisation, queries, data)
                           for place in (HERE, against))  # fmt: skip
            pairs.append((now, before))
        found += pairs
        out.append((f"CPU of a query, {task}", "", _said(pairs)))
        print("  ", *out[-1], file=sys.stderr, flush=True)
    return [*out, ("CPU of a query, mean over the ten tasks", "2.0x", _said(found))]


def _said(pairs: list[tuple[list[Any], list[Any]]]) -> str:
    now, before = (np.array([pair[n][0] for pair in pairs], dtype=float) for n in (0, 1))
    floor = [[np.log10(np.maximum(side[1], FLOOR)) for side in pair] for pair in pairs]
    error = np.array([np.mean(a) - np.mean(b) for a, b in floor])
    density = np.array([np.mean(pair[0][2]) - np.mean(pair[1][2]) for pair in pairs])
    return (
        f"{np.mean(now) / np.mean(before):.2f}x ({1e3 * np.mean(now):.0f} ms); "
        f"log10 NMSE {np.mean(error):+.3f}, NPLL {np.mean(density):+.3f}"
    )
