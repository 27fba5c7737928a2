"""Robustness of the default model: tempering, acquisition, coverage, and time of a query.

    python benchmarks/robust.py --what temper        temper 1, 0.7, 0.5, 0.3 of the default
    python benchmarks/robust.py --what acquisition   what to ask by, with and without validation
    python benchmarks/robust.py --what coverage      90 % intervals after 30 and 100 queries
    python benchmarks/robust.py --what cost          CPU against rivals refitted at each step

They run the tasks themselves, with seed 3 by default: the seed of reports is
never used to choose anything. Progress goes to standard error. Ctrl-C prints what is finished; with
`--out FOLDER` the same call goes on from there, and with `--to FILE` what is found is kept
(`record`). Columns: area is the mean over queries of
log10 max(NMSE, 1e-5), npll as in `weal.benchmark.protocol`; lower is better.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import sys
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import record

import weal.benchmark
from weal import ActiveLearner, EnsembleGPRegressor
from weal.benchmark import peers
from weal.benchmark.methods import Method, with_learner
from weal.benchmark.peers import FIT_RNG_KEY, PeerData, igs, run_peer, variance
from weal.benchmark.summary import by_run
from weal.benchmark.tasks import TASKS, draw
from weal.core.arrays import Array
from weal.core.scaling import from_data

TEMPERS = (1.0, 0.7, 0.5, 0.3)
ASKING = ("auto", "ivr", "igs", "multi", "wvar", "qbc", "gpm-var", "went", "gpm-ent", "random")
LEVEL, TAIL = 0.9, 0.1
AFTER = (30, 100)  # queries at which intervals are looked at
OURS = "weal-auto"


def say(text: str, end: str = "\n") -> None:
    """A line on standard error."""
    print(text, end=end, file=sys.stderr, flush=True)


def model(seed: int, **changes: Any) -> EnsembleGPRegressor:
    """The default model but for some changes."""
    return EnsembleGPRegressor(random_state=seed, **changes)


def tempered() -> list[Method]:
    plays = {t: partial(with_learner, partial(model, temper=t), "auto") for t in TEMPERS}
    return [Method(f"temper-{t}", f"temper {t}", play) for t, play in plays.items()]


def asking() -> list[Method]:
    ours = [Method(f"ask-{name}", name, partial(with_learner, model, name)) for name in ASKING]
    for name in ("multi", "auto"):
        play = partial(with_learner, model, name, validate=True)
        ours.append(Method(f"ask-{name}-v", f"{name}, validation set", play))
    return ours


def played(methods: list[Method], options: Any) -> pd.DataFrame:
    """Results of these methods; what is finished of them after Ctrl-C."""
    tables: list[pd.DataFrame] = []
    settings = {"T": options.queries, "seed": options.seed, "data": options.data}
    settings |= {"realisations": options.realisations, "jobs": options.jobs, "out": options.out}
    try:
        for n, task in enumerate(options.tasks):
            say(f"{task} ({n + 1} of {len(options.tasks)})")
            tables.append(weal.benchmark.run(task, methods, progress=show, **settings))
    except KeyboardInterrupt:
        say("\nstopped: this is what is finished")
        if not tables:
            raise SystemExit(130) from None
    return pd.concat(tables)


def show(step: Any) -> None:
    """How far a task is."""
    if step.stage == "curves":
        say(f"\r  {step.done} of {step.total} curves", "\n" if step.done == step.total else "")


def at(results: pd.DataFrame, t: int, column: str) -> pd.Series:
    """A column after t queries, or at the end of a shorter run, by task, method, realisation."""
    last = results.groupby(["task", "method", "realisation"])["t"].transform("max")
    rows = results[results["t"] == np.minimum(last, t)]
    return rows.set_index(["task", "method", "realisation"])[column].sort_index()


def areas(results: pd.DataFrame) -> pd.Series:
    """Area of every run."""
    return by_run(results)["nmse_area"].sort_index()


def wide(values: pd.Series) -> pd.DataFrame:
    """Means over realisations, a row for each task and a column for each method."""
    means = values.groupby(level=["task", "method"]).mean().unstack("method")
    order = [task for task in TASKS if task in means.index]
    return means.reindex([*order, *sorted(set(means.index) - set(order))])


def compare(methods: list[Method], options: Any) -> None:
    """Areas, ranks and NPLL of methods of our own."""
    results, T = played(methods, options), options.queries
    keep(options, methods, results)
    table = wide(areas(results))
    print_table(f"area over {T} queries", table)
    print(f"mean rank\n{table.rank(axis=1).mean().round(2).to_string()}\n")
    for t in sorted({min(60, T), T}):
        print_table(f"NPLL after {t} queries", wide(at(results, t, "npll")))


def keep(options: Any, methods: list[Method], results: pd.DataFrame) -> None:
    """The runs of these methods in a result file, where one is asked for."""
    if options.to:
        titles = {one.name: one.title for one in methods}
        rows = [{**row, "title": titles[row["method"]]} for row in runs_of(results)]
        what = f"{options.what}, {options.queries} queries"
        record.write(options.to, what, rows, seeds_of(options), record.RIVALS)


def seeds_of(options: Any) -> str:
    """Seed and realisations in words."""
    return f"seed {options.seed}, realisations 0:{options.realisations}"


def runs_of(results: pd.DataFrame) -> list[dict[str, Any]]:
    """A row for each run: its area, NPLL half way and in the end, errors, seconds."""
    runs = by_run(results)
    half = int(results["t"].max()) // 2
    early = results[results["t"].between(1, 10)].groupby(["task", "method", "realisation"])["nmse"]
    found = {
        "area": runs["nmse_area"],
        "npll half": at(results, half, "npll"),
        "npll": runs["npll"],
        "nmse": runs["nmse"],
        "nmse 10": at(results, 10, "nmse"),
        "worst of first 10": early.max(),
        "seconds": runs["seconds_query"],
    }
    return [dict(row) for row in pd.DataFrame(found).reset_index().to_dict("records")]


def print_table(title: str, table: pd.DataFrame) -> None:
    """A table and the means of its columns."""
    print(f"{title}\n{table.round(3).to_string()}\nmean {table.mean().round(4).to_dict()}\n")


def each_step() -> list[Method]:
    """The default, and rivals whose hyperparameters are fitted after every label."""
    ours = Method(OURS, OURS, partial(with_learner, model, "auto"))
    rivals: dict[str, Any] = {"sklearn-std": peers.fit_sklearn}
    if find_spec("botorch") is not None:
        rivals["botorch-var"] = peers.fit_botorch
    plays = {name: partial(run_peer, fit, variance, 1) for name, fit in rivals.items()}
    return [ours, *(Method(f"{name}-each", name, one) for name, one in plays.items())]


def cost(options: Any) -> None:
    """Processor time of a query, and its ratio to ours."""
    methods = each_step()
    results = played(methods, options)
    keep(options, methods, results)
    taken = wide(1e3 * by_run(results)["seconds_query"])
    print_table("CPU ms per query, rivals refitted at each step", taken)
    print_table("CPU, times ours", taken.div(taken[OURS], axis=0))


# Coverage

Ends = tuple[Array, Array]


def our_ends(split: Any, eta: float, seed: int, T: int) -> Iterator[Ends]:
    """Intervals of the default at the test points, after every query."""
    learner = ActiveLearner(split.Xu, model(seed), "auto", eta=eta, n_start=1, seed=seed)
    learner.tell_points(split.X0, split.y0)
    for t in range(T + 1):
        if t:
            query = learner.ask()
            learner.tell(query, split.yu[query])
        yield learner.model.predict_interval(split.Xt, LEVEL) if t in AFTER else (split.yt,) * 2


def sklearn_ends(split: Any, eta: float, seed: int, T: int) -> Iterator[Ends]:
    """The same of scikit-learn's GP, refitted every 5 labels, which asks by iGS."""
    scale = from_data(np.concatenate([split.X0, split.Xu]), split.y0)
    Xu, yu = scale.inputs(split.Xu), scale.labels(split.yu)
    X, y, left = scale.inputs(split.X0), scale.labels(split.y0), np.arange(len(yu))
    gp = peers.fit_sklearn(X, y, np.random.default_rng([seed, 0, FIT_RNG_KEY]))
    for t in range(T + 1):
        if t:
            rng = np.random.default_rng([seed, t, FIT_RNG_KEY])
            best = left[int(np.argmax(igs(gp, PeerData(X, y, Xu[left], rng))))]
            X, y, left = np.vstack([X, Xu[best]]), np.append(y, yu[best]), left[left != best]
            gp = peers.fit_sklearn(X, y, rng) if t % 5 == 0 else gp.condition(X, y)
        mean, v = gp.predict(scale.inputs(split.Xt))
        half = norm.ppf(1.0 - TAIL / 2.0) * np.sqrt(v)
        yield scale.means(mean - half), scale.means(mean + half)


def judged(ends: Ends, y: Array) -> tuple[float, float, float]:
    """Coverage, mean width and interval score [Gneiting and Raftery 2007], in sds of y."""
    low, high = ends
    missed = np.maximum(low - y, 0.0) + np.maximum(y - high, 0.0)
    inside, sd = (low <= y) & (y <= high), np.std(y)
    score = np.mean(high - low + 2.0 / TAIL * missed) / sd
    return float(inside.mean()), float(np.mean(high - low) / sd), float(score)


def coverage(options: Any) -> None:
    """Coverage, width and score of both, over tasks."""
    rows, T = [], options.queries
    try:
        for name in options.tasks:
            task = TASKS[name]
            for r in range(options.realisations):
                say(f"\r{name} {r + 1} of {options.realisations}   ", "")
                split = draw(task, r, options.seed, options.data)
                for who, play in (("weal", our_ends), ("sklearn", sklearn_ends)):
                    for t, ends in enumerate(play(split, task.eta, options.seed + r, T)):
                        if t in AFTER:
                            rows.append((name, who, t, *judged(ends, split.yt)))
    except KeyboardInterrupt:
        say("\nstopped: this is what is finished")
    say("")
    columns = ["task", "who", "queries", "coverage", "width", "score"]
    found = pd.DataFrame(rows, columns=columns)
    if options.to:
        what = f"coverage of {LEVEL:.0%} intervals"
        record.write(options.to, what, found.to_dict("records"), seeds_of(options))
    means = found.groupby(["queries", "task", "who"], sort=False).mean().unstack("who")
    worst = found.groupby(["queries", "task", "who"], sort=False)["coverage"].min().unstack("who")
    print(f"means over realisations\n{means.round(3).to_string()}\n")
    print(f"least coverage of one realisation\n{worst.round(3).to_string()}\n")
    print(f"means over tasks\n{means.groupby(level='queries').mean().round(3).to_string()}")


def options_of(arguments: list[str] | None = None) -> Any:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--what", choices=list(WHAT), required=True)
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--realisations", type=int, default=3)
    parser.add_argument("--queries", type=int, help="60; 100 for coverage and cost")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--data", help="folder of the tables")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", help="folder that keeps finished curves")
    record.add_option(parser)
    found = parser.parse_args(arguments)
    found.queries = found.queries or (100 if found.what in ("coverage", "cost") else 60)
    return found


WHAT: dict[str, Any] = {
    "temper": lambda options: compare(tempered(), options),
    "acquisition": lambda options: compare(asking(), options),
    "coverage": coverage,
    "cost": cost,
}


if __name__ == "__main__":
    chosen = options_of()
    WHAT[chosen.what](chosen)
