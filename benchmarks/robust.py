"""How robust the default model is: tempering, acquisition, coverage, and the table against rivals.

    python benchmarks/robust.py --what temper        temper 1, 0.7, 0.5, 0.3 of the default
    python benchmarks/robust.py --what acquisition   what to ask by, with and without validation
    python benchmarks/robust.py --what coverage      90 % intervals after 30 and 100 queries
    python benchmarks/robust.py --what cost          CPU against rivals refitted at each step
    python benchmarks/robust.py --what table FOLDER ..   results of `weal bench run`, side by side

All but `table` play the tasks themselves, with seed 3 unless told otherwise: the seed of reports is
never used to choose anything. Progress goes to standard error. Ctrl-C prints what is finished; with
`--out FOLDER` the same call goes on from there. Columns: area is the mean over queries of
log10 max(NMSE, 1e-5), npll as in `weal.bench.protocol`; lower is better.
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

import weal.bench
from weal import ActiveLearner, EnsembleGPRegressor
from weal.bench import peers_botorch, peers_sklearn
from weal.bench.methods import Method, with_learner
from weal.bench.paired import interval
from weal.bench.peers_loop import FIT, Known, igs, play, variance
from weal.bench.summary import by_run
from weal.bench.tasks import TASKS, draw
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
            tables.append(weal.bench.run(task, methods, progress=show, **settings))
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


def compare(results: pd.DataFrame, T: int) -> None:
    """Areas, ranks and NPLL of methods of our own."""
    table = wide(areas(results))
    print_table(f"area over {T} queries", table)
    print(f"mean rank\n{table.rank(axis=1).mean().round(2).to_string()}\n")
    for t in sorted({min(60, T), T}):
        print_table(f"NPLL after {t} queries", wide(at(results, t, "npll")))


def print_table(title: str, table: pd.DataFrame) -> None:
    """A table and the means of its columns."""
    print(f"{title}\n{table.round(3).to_string()}\nmean {table.mean().round(4).to_dict()}\n")


def each_step() -> list[Method]:
    """The default, and rivals whose hyperparameters are fitted after every label."""
    ours = Method(OURS, OURS, partial(with_learner, model, "auto"))
    rivals: dict[str, Any] = {"sklearn-std": peers_sklearn.fit}
    if find_spec("botorch") is not None:
        rivals["botorch-var"] = peers_botorch.fit
    plays = {name: partial(play, fit, variance, 1) for name, fit in rivals.items()}
    return [ours, *(Method(f"{name}-each", name, one) for name, one in plays.items())]


def cost(options: Any) -> None:
    """Processor time of a query, and what it is of ours."""
    taken = wide(1e3 * by_run(played(each_step(), options))["seconds_query"])
    print_table("CPU ms per query, rivals refitted at each step", taken)
    print_table("CPU, times ours", taken.div(taken[OURS], axis=0))


# The table against rivals


def read(folders: list[str]) -> pd.DataFrame:
    """Results of several folders of `weal bench run`, as one table."""
    files = [Path(folder) / "results.csv" for folder in folders]
    if missing := [str(file) for file in files if not file.exists()]:
        raise SystemExit(f"no results yet: {', '.join(missing)}; finish `weal bench run` there")
    parts = [pd.read_csv(file) for file in files]
    keys = ["task", "method", "realisation", "t"]
    return pd.concat(parts, ignore_index=True).drop_duplicates(keys, ignore_index=True)


def against(title: str, values: pd.Series, seed: int) -> pd.DataFrame:
    """Ours, the best rival by its mean, and the 95 % interval of the paired difference."""
    values = values.sort_index()
    means, rows = wide(values), {}
    for task in means.index:
        rivals = means.loc[task].drop(OURS).dropna()
        if not len(rivals) or not np.isfinite(means.loc[task, OURS]):
            continue
        best = str(rivals.idxmin())
        pair = (values.loc[task, OURS] - values.loc[task, best]).dropna()
        found = interval(pair.to_numpy(), seed)
        verdict = "lower" if found.high < 0 else "higher" if found.low > 0 else "as good"
        row = (means.loc[task, OURS], best, rivals.min(), found.mean, found.low, found.high)
        rows[task] = (*row, found.n, verdict)
    columns = ["ours", "best rival", "its", "difference", "low", "high", "n", "verdict"]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    good = ((table["difference"] < 0) | (table["verdict"] != "higher")).sum()
    print(f"{title}\n{table.round(3).to_string()}")
    print(f"lower, or the interval holds 0: {good} of {len(table)} tasks")
    print(f"mean rank {means.rank(axis=1).mean().round(2).sort_values().to_dict()}\n")
    return table


def table(options: Any) -> None:
    """The table of the issue, from folders of results."""
    results = read(options.folders)
    if OURS not in set(results["method"]):
        raise SystemExit(f"none of the folders has results of {OURS}")
    against("area", areas(results), options.seed)
    for t in (60, 100):
        nplls = at(results, t, "npll")
        against(f"NPLL after {t} queries", nplls, options.seed)
        print(f"largest of ours, mean over realisations: {wide(nplls)[OURS].max():.3f}\n")
    early = results[(results["method"] == OURS) & results["t"].between(1, 10)]
    mean = early.groupby(["task", "t"])["nmse"].mean().groupby("task").max()
    tenth = early[early["t"] == 10].groupby("task")["nmse"].max()
    found = {"mean, worst of 10": mean, "single": early.groupby("task")["nmse"].max()}
    found |= {"single after 10": tenth}
    print(f"NMSE of ours in the first 10 queries\n{pd.DataFrame(found).round(3).to_string()}\n")
    taken = wide(1e3 * by_run(results)["seconds_query"])
    print_table("CPU ms per query", taken)
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
    gp = peers_sklearn.fit(X, y, np.random.default_rng([seed, 0, FIT]))
    for t in range(T + 1):
        if t:
            rng = np.random.default_rng([seed, t, FIT])
            best = left[int(np.argmax(igs(gp, Known(X, y, Xu[left], rng))))]
            X, y, left = np.vstack([X, Xu[best]]), np.append(y, yu[best]), left[left != best]
            gp = peers_sklearn.fit(X, y, rng) if t % 5 == 0 else gp.told(X, y)
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
    means = found.groupby(["queries", "task", "who"], sort=False).mean().unstack("who")
    worst = found.groupby(["queries", "task", "who"], sort=False)["coverage"].min().unstack("who")
    print(f"means over realisations\n{means.round(3).to_string()}\n")
    print(f"least coverage of one realisation\n{worst.round(3).to_string()}\n")
    print(f"means over tasks\n{means.groupby(level='queries').mean().round(3).to_string()}")


def options_of(arguments: list[str] | None = None) -> Any:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--what", choices=list(WHAT), required=True)
    parser.add_argument("folders", nargs="*", help="of results, for --what table")
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--realisations", type=int, default=3)
    parser.add_argument("--queries", type=int, help="60; 100 for coverage and cost")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--data", help="folder of the tables")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", help="folder that keeps finished curves")
    found = parser.parse_args(arguments)
    found.queries = found.queries or (100 if found.what in ("coverage", "cost") else 60)
    return found


WHAT: dict[str, Any] = {
    "temper": lambda options: compare(played(tempered(), options), options.queries),
    "acquisition": lambda options: compare(played(asking(), options), options.queries),
    "coverage": coverage,
    "cost": cost,
    "table": table,
}


if __name__ == "__main__":
    chosen = options_of()
    WHAT[chosen.what](chosen)
