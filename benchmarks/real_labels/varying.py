"""Noise that varies: errors, densities and intervals with and without varying noise.

Four cases of three inputs and 80 labels: noise of 1.0 in a corner and 0.05 elsewhere, a ramp, noise
in proportion to the level, even noise; then laboratory tables with 40 and 80 labels. "Without" is
the same model with even noise only, on the same labels. log10 NMSE is that of f in the cases, of
labels in the tables. Seeds from 100 on and the tables agnp, hplc, p3ht and suzuki were tuned on;
others were not. Nothing is asserted. Tables are read from ../shared/data/lab, if that is there.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from weal import EnsembleGPRegressor
from weal.model import noise_selection

Array = NDArray[np.float64]
Row = tuple[str, str, str]
LABELS, NEW, LEVEL = 80, 1000, 0.9
CASES = ("corner", "ramp", "level", "even")
LAB = Path(__file__).resolve().parents[3] / "shared" / "data" / "lab"
TABLES = {"fullerenes": 1, "oer_plate_3496": 1, "photo_pce10": 1, "lnp3": 3}  # and their results
TABLE_LABELS, TABLE_SEEDS, TABLE_NEW = (40, 80), 3, 400
USUAL_LABELS = noise_selection.MIN_LABELS


def truth(X: Array) -> Array:
    """A smooth function of three inputs in [0, 1]."""
    bent = 1.5 * np.sin(3.0 * X[:, 0]) + 4.0 * (X[:, 1] - 0.5) ** 2
    return np.asarray(1.7 * (bent + 1.5 * X[:, 0] * X[:, 2]))


def noise_sd(case: str, X: Array) -> Array:
    """The sd of the noise of a label."""
    if case == "corner":
        return np.where((X[:, 0] > 0.5) & (X[:, 1] > 0.5), 1.0, 0.05)
    if case == "ramp":
        return np.asarray(0.05 + 0.75 * X[:, 0])
    return 0.03 + 0.15 * np.maximum(truth(X), 0.0) if case == "level" else np.full(len(X), 0.2)


def fit(X: Array, y: Array, with_varying: bool) -> EnsembleGPRegressor:
    """The default model; without varying noise it is never tested for."""
    noise_selection.MIN_LABELS = USUAL_LABELS if with_varying else 10**9
    try:
        return EnsembleGPRegressor(random_state=0).fit(X, y)
    finally:
        noise_selection.MIN_LABELS = USUAL_LABELS


def judged(model: EnsembleGPRegressor, X: Array, y: Array, f: Array, part: Array) -> list[float]:
    """log10 NMSE, log density, and shares of labels inside intervals, within a part and outside."""
    low, high = model.predict_interval(X, LEVEL)
    inside = (y >= low) & (y <= high)
    error = float(np.log10(np.mean((model.predict(X) - f) ** 2) / f.var()))
    density = float(np.mean(model.log_predictive_density(X, y)))
    return [error, density, float(inside[part > 0].mean()), float(inside[part <= 0].mean())]


def of_case(case: str, seed: int) -> tuple[list[float], list[float]]:
    """One seed of a case, without and with varying noise."""
    rng = np.random.default_rng([seed, CASES.index(case)])
    X, new = rng.random((LABELS, 3)), rng.random((NEW, 3))
    y, f = truth(X) + noise_sd(case, X) * rng.standard_normal(LABELS), truth(new)
    sd = noise_sd(case, new)
    labels = f + sd * rng.standard_normal(NEW)
    loud = sd - (0.5 if case == "corner" else np.median(sd))
    part = loud if case != "even" else new[:, 0] - 0.5
    without, now = (judged(fit(X, y, one), new, labels, f, part) for one in (False, True))
    return without, now


def of_tables() -> Iterator[tuple[str, list[float], list[float]]]:
    """The laboratory tables, without and with varying noise; parts are halves by the label."""
    for name, results in TABLES.items():
        if not (LAB / f"{name}.csv").exists():
            continue
        frame = pd.read_csv(LAB / f"{name}.csv").drop(columns="id")
        X = pd.get_dummies(frame.iloc[:, :-results]).to_numpy(float)
        for column in frame.columns[-results:]:
            y = frame[column].to_numpy(float)
            for n in TABLE_LABELS:
                for seed in range(TABLE_SEEDS):
                    order = np.random.default_rng([seed, n]).permutation(len(y))
                    a, b = order[:n], order[n : n + TABLE_NEW]
                    part = y[b] - np.median(y[b])
                    at = (X[b], y[b], y[b], part)
                    without, now = (judged(fit(X[a], y[a], one), *at) for one in (False, True))
                    yield f"{name}.{column}, {n} labels", without, now


def rows(seeds: Sequence[int]) -> Iterator[Row]:
    """The rows of the section."""
    for case in CASES:
        both = np.array([of_case(case, seed) for seed in seeds])  # (seeds, 2, 4)
        yield f"{case}, {len(seeds)} seeds", "85 to 95 %", _words(both)
    tables = list(of_tables())
    if tables:
        both = np.array([[without, now] for _, without, now in tables])
        gain = both[:, 1, 1] - both[:, 0, 1]
        se = gain.std() / len(gain) ** 0.5
        yield f"{len(tables)} fits of tables", "gain > -0.005", _words(both)
        yield "  log density, with minus without", "", f"{gain.mean():+.4f} (se {se:.4f})"


def _words(both: Array) -> str:
    """Means without -> with."""
    (e0, d0, in0, out0), (e1, d1, in1, out1) = both.mean(axis=0)
    errors = f"log10 NMSE {e0:.2f} -> {e1:.2f}, log density {d0:.3f} -> {d1:.3f}"
    return f"{errors}, inside {in0:.0%}, {out0:.0%} -> {in1:.0%}, {out1:.0%}"
