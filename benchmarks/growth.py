"""Cost of the next label after t labels: random features, exact experts, a refitted GP.

    python benchmarks/growth.py [--quick] [--to FILE] [--draw FOLDER]

The paper remarks that a GP needs all t inputs and a t x t inverse, O(t^3), and that random features
need neither. Here a label is learnt and the belief on U = 500 candidates follows, one kernel (RBF)
with given hyperparameters, one thread, all three in one run and in turn:

    features   D = 50 frequencies, the paper's update         what a label costs does not know t
    exact      a row more of the Cholesky factor (`exact`)    t^2 for the row, U t to follow
    refitted   scikit-learn's GP, fitted again, optimiser off  t^3 for the factor, U t^2 to predict

Times are of the processor, the least of several labels in a row, so that a busy machine counts
little; memory is that of the data kept between labels (candidates included), and the most that is
taken while one is learnt (by numpy). Exponents are slopes of log-log lines over t >= 1000 (all,
with --quick). The factor's buffer doubles when it is full: a label then costs a copy, which is not
in the least. With --to the table is kept as a result file (`record`), with --draw it is drawn as
growth.png. Nothing is asserted.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import record

from weal.benchmark.summary import number
from weal.core.arrays import Array
from weal.core.extensions.embeddings import RandomFeatures, RawInputs
from weal.core.paper import ensemble
from weal.core.paper.ensemble import Ensemble
from weal.core.paper.exact_gp import ExactExperts
from weal.core.paper.feature_gp import FeatureExperts, apply_step
from weal.core.paper.fixed_magnitude import FixedMagnitude
from weal.core.paper.kernels import Kernel
from weal.core.paper.random_features import draw_frequencies
from weal.core.protocols import Embedding

U, D, d = 500, 50, 4
SCALE, NOISE = 1.0, 1e-2
LABELS = (10, 30, 100, 300, 1_000, 3_000, 10_000)
LARGE = 1_000  # labels from which exponents are fitted
CHUNK = 2_500  # labels learnt together on the way


def a_function(X: Array) -> Array:
    """Something smooth with a ripple on it."""
    y: Array = np.sin(3.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * np.cos(5.0 * X.sum(axis=1))
    return y


class Learner(Protocol):
    """One of the three."""

    def skip_to(self, X: Array, y: Array) -> None:
        """Learn labels together, without being timed."""

    def label(self, x: Array, y: float) -> None:
        """Learn one more and move the belief on the candidates."""

    def kept(self) -> int:
        """Bytes kept between labels."""


class Ours:
    """Experts of this package, and their belief on the candidates."""

    def __init__(self, ens: Ensemble, embedding: Embedding, pool: Array) -> None:
        self.ens, self.embedding, self.pool = ens, embedding, pool
        self.look()

    def look(self) -> None:
        """The belief on the candidates, from scratch."""
        self.points = self.embedding.points(self.ens.experts, self.pool)
        self.mu, self.v = self.ens.experts.predict(self.points)

    def skip_to(self, X: Array, y: Array) -> None:
        for start in range(0, len(y), CHUNK):
            part = slice(start, start + CHUNK)
            points = self.embedding.points(self.ens.experts, X[part])
            self.ens = ensemble.update_many(self.ens, points, y[part], np.zeros(len(y[part])))
        self.look()

    def label(self, x: Array, y: float) -> None:
        point = self.embedding.points(self.ens.experts, x[None])
        told = ensemble.step(self.ens, point, y)
        c = told.column(self.points)
        self.mu, self.v = apply_step(self.mu, self.v, c, told)
        self.points = told.extend(self.points, c)
        self.ens = ensemble.advance(self.ens, told)

    def kept(self) -> int:
        experts: Any = self.ens.experts
        if isinstance(experts, FeatureExperts):
            arrays = [experts.theta, experts.root, self.points]
        else:
            arrays = [experts.X, experts.L, experts.z, self.points.V]
        return sum(array.nbytes for array in [*arrays, self.pool, self.mu, self.v])


class Refitted:
    """scikit-learn's GP, fitted again at every label."""

    def __init__(self, pool: Array) -> None:
        self.pool, self.X, self.y = pool, np.zeros((0, d)), np.zeros(0)
        self.gp: Any = None

    def skip_to(self, X: Array, y: Array) -> None:
        self.X, self.y = np.concatenate([self.X, X]), np.append(self.y, y)

    def label(self, x: Array, y: float) -> None:
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import RBF

        self.skip_to(x[None], np.array([y]))
        self.gp = GaussianProcessRegressor(RBF(SCALE, "fixed"), alpha=NOISE, optimizer=None)
        self.mu, self.sd = self.gp.fit(self.X, self.y).predict(self.pool, return_std=True)

    def kept(self) -> int:
        arrays = [self.gp.L_, self.gp.alpha_, self.gp.X_train_, self.gp.y_train_]
        return sum(array.nbytes for array in [*arrays, self.pool, self.mu, self.sd])


def learners(pool: Array) -> dict[str, Learner]:
    """The three, before the first label."""
    kernels = (Kernel("rbf", SCALE),)
    zeta = draw_frequencies(kernels, d, D, seed=1)
    rest = (np.zeros(1), FixedMagnitude(np.ones(1)), np.full(1, NOISE))
    features = Ensemble(FeatureExperts.prior(1, 2 * D), *rest)
    exact = replace(features, experts=ExactExperts.prior(kernels, d))
    return {
        "features": Ours(features, RandomFeatures(zeta), pool),
        "exact": Ours(exact, RawInputs(), pool),
        "refitted": Refitted(pool),
    }


@dataclass(frozen=True)
class Cost:
    """What a label costs."""

    seconds: float
    kept: int  # bytes
    most: int  # bytes, while it is learnt


def cost(learner: Learner, X: Array, y: Array) -> Cost:
    """The least of labels learnt one after the other; the last of them is watched."""
    times = []
    for x, label in zip(X[:-1], y[:-1].tolist(), strict=True):
        start = time.process_time()
        learner.label(x, label)  # [1, claim:cost]
        times.append(time.process_time() - start)
    tracemalloc.start()
    learner.label(X[-1], float(y[-1]))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return Cost(min(times), learner.kept(), most)


def repeats(t: int, kind: str) -> int:
    """Labels to take the least of: fewer where they take seconds, or where there are few."""
    few = 15 if t < 30 else 50
    return few if kind == "features" else min(few, 20) if t <= 300 else 5 if t <= 3_000 else 3


def measured(
    sizes: Sequence[int],
    repeats: Callable[[int, str], int] = repeats,
    say: Callable[[str], None] = print,
) -> pd.DataFrame:
    """One row for each number of labels and kind: seconds, kept, most."""
    rng = np.random.default_rng(0)
    pool = rng.uniform(-1.0, 1.0, (U, d))
    every, rows = learners(pool), []
    at = dict.fromkeys(every, 0)  # labels learnt so far
    most = max(t + repeats(t, kind) for t in sizes for kind in every)
    X = rng.uniform(-1.0, 1.0, (most + 1, d))
    y = a_function(X) + 0.1 * rng.standard_normal(len(X))
    for t in sizes:
        for kind, learner in every.items():
            learner.skip_to(X[at[kind] : t], y[at[kind] : t])
            at[kind] = t + repeats(t, kind) + 1
            found = cost(learner, X[t : at[kind]], y[t : at[kind]])
            rows.append((t, kind, found.seconds, found.kept, found.most))
            say(f"{t:6d} labels, {kind:9} {1e3 * found.seconds:12.3f} ms")
    return pd.DataFrame(rows, columns=["labels", "kind", "seconds", "kept", "most"])


def exponents(table: pd.DataFrame, column: str, least: int) -> dict[str, float]:
    """Slopes of log-log lines of a column over labels, by kind.

    >>> rows = [(t, "a", 3.0 * t**2) for t in (1000, 3000, 10000)]
    >>> round(exponents(pd.DataFrame(rows, columns=["labels", "kind", "s"]), "s", 1)["a"], 6)
    2.0
    """
    large = table[table["labels"] >= least]
    return {
        str(kind): float(np.polyfit(np.log(rows["labels"]), np.log(rows[column]), 1)[0])
        for kind, rows in large.groupby("kind", sort=False)
    }


def in_markdown(table: pd.DataFrame, least: int) -> str:
    """Times, ratios and memory, labels down; exponents below."""
    columns = {name: table.pivot(index="labels", columns="kind", values=name) for name in table}
    ms, kept, most = 1e3 * columns["seconds"], columns["kept"] / 2**20, columns["most"] / 2**20
    lines = [
        "| labels | features | exact | refitted GP | exact / features | refitted / features "
        "| kept: features | exact | refitted | most: features | exact | refitted |",
        "|" + "---|" * 12,
    ]
    kinds = ("features", "exact", "refitted")
    for t in ms.index:
        times = [f"{number(ms.loc[t, kind])} ms" for kind in kinds]
        ratios = [f"{number(ms.loc[t, kind] / ms.loc[t, 'features'])}x" for kind in kinds[1:]]
        memory = [f"{number(frame.loc[t, kind])} MiB" for frame in (kept, most) for kind in kinds]
        lines.append(f"| {t:,} | {' | '.join([*times, *ratios, *memory])} |")
    slopes = {name: exponents(table, name, least) for name in ("seconds", "kept", "most")}
    powers = {name: [f"t^{abs(slopes[name][kind]):.2f}" for kind in kinds] for name in slopes}
    cells = [*powers["seconds"], "", "", *powers["kept"], *powers["most"]]
    return "\n".join([*lines, f"| grows as (t >= {least:,}) | {' | '.join(cells)} |"])


def drawn(table: pd.DataFrame, least: int) -> bytes:
    """The figure as PNG: time and memory of a label against labels, both logarithmic."""
    from matplotlib.lines import Line2D

    from weal.plots.canvas import BLACK, BLUE, RED, TEXT_STYLE, as_bytes, figure, legend

    looks: dict[str, dict[str, Any]] = {
        "features": {"color": BLUE, "marker": "o", "linestyle": "-"},
        "exact": {"color": RED, "marker": "s", "linestyle": "--"},
        "refitted": {"color": BLACK, "marker": "^", "linestyle": "-."},
    }
    fig = figure(2, 3.0)
    panels = {"seconds": "processor time of a label, s", "kept": "kept between labels, bytes"}
    for ax, (column, title) in zip(fig.subplots(1, 2), panels.items(), strict=True):
        slopes = exponents(table, column, least)
        for kind, rows in table.groupby("kind", sort=False):
            ax.plot(rows["labels"], rows[column], markersize=4, linewidth=1.2, **looks[str(kind)])
            end = rows.iloc[-1]
            note = f"$t^{{{abs(slopes[str(kind)]):.1f}}}$"
            beside = 5, {"exact": 5, "refitted": -5}.get(str(kind), 0)
            ax.annotate(
                note, (end["labels"], end[column]), beside, textcoords="offset points",
                fontsize=7, va="center", color=looks[str(kind)]["color"],
            )  # fmt: skip
        ax.set(xscale="log", yscale="log", xlim=(7, 2.2 * table["labels"].max()))
        ax.set_ylim(top=5.0 * table[column].max())
        ax.set_xlabel("labels so far, t", **TEXT_STYLE)
        ax.set_ylabel(title, **TEXT_STYLE)
        ax.tick_params(labelsize=6, length=2)
        ax.grid(True, linewidth=0.3, color="0.85")
    names = {"features": "random features", "exact": "exact expert", "refitted": "GP, refitted"}
    lines = [Line2D([], [], linewidth=1.2, markersize=4, **looks[kind]) for kind in names]
    legend(fig, lines, list(names.values()))
    return as_bytes(fig, "png")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="up to 1,000 labels")
    parser.add_argument("--draw", type=Path, help="folder for growth.png")
    record.add_option(parser)
    options = parser.parse_args(arguments)
    sizes = [t for t in LABELS if t <= LARGE] if options.quick else list(LABELS)
    least = min(sizes) if options.quick else LARGE
    table = measured(sizes)
    print(in_markdown(table, least))
    if options.to:
        record.write(options.to, "what a label costs", table.to_dict("records"), [0, 1])
    if options.draw:
        options.draw.mkdir(parents=True, exist_ok=True)
        (options.draw / "growth.png").write_bytes(drawn(table, least))


if __name__ == "__main__":
    main()
