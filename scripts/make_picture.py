"""Draw the picture of the README: the questions of weal, and its error against random choice.

python scripts/make_picture.py [FILE]      (docs/_static/weal-beside-random.svg; half a minute)

The function is Gramacy and Lee's, a bump in one corner of a square and nothing elsewhere, with a
little noise: 400 candidates, the same model for both, and the true error over all candidates.
"""

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from numpy.typing import NDArray

from weal import ActiveLearner

mpl.use("svg")
import matplotlib.pyplot as plt

LABELS, SEEDS, N, NOISE = 60, 10, 400, 0.01
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#666666"
Array = NDArray[np.float64]
WORDS = {"auto": "weal", "random": "random choice"}


def truth(X: Array) -> Array:
    """Gramacy and Lee 2009: x1 exp(-x1^2 - x2^2)."""
    return np.asarray(X[:, 0] * np.exp(-(X**2).sum(axis=1)))


def run(acquisition: str, seed: int) -> tuple[Array, list[int], Array]:
    """Candidates, ids as they were asked, and the error after each label (from the fifth)."""
    rng = np.random.default_rng([seed, 7])
    X = rng.uniform(-2.0, 6.0, (N, 2))
    f = truth(X)
    y = f + NOISE * rng.standard_normal(N)
    learner = ActiveLearner(X, acquisition=acquisition, seed=seed)
    ids, errors = [], []
    for n in range(1, LABELS + 1):
        ids.append(learner.ask())
        learner.tell(ids[-1], y[ids[-1]])
        if n >= 5:
            errors.append(np.sqrt(np.mean((learner.model.predict(X) - f) ** 2)))
    return X, ids, np.array(errors)


def draw(found: dict[str, list[Any]], file: Path) -> None:
    """Where weal measured in the first run; errors of all runs."""
    plt.rcParams.update({"font.size": 11, "svg.hashsalt": "weal", "axes.spines.top": False})
    plt.rcParams.update({"axes.spines.right": False, "font.family": "DejaVu Sans"})
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.9), width_ratios=(1, 1.35))
    X, ids, _ = found["auto"][0]
    side = np.linspace(-2.0, 6.0, 81)
    grid = np.stack(np.meshgrid(side, side), axis=-1)
    shades = truth(grid.reshape(-1, 2)).reshape(81, 81)
    left.contourf(
        side,
        side,
        shades,
        levels=np.linspace(-0.45, 0.45, 20),
        cmap="RdBu_r",
        vmin=-0.6,
        vmax=0.6,
        alpha=0.75,
    )
    left.plot(*X.T, ".", color=GREY, ms=2, alpha=0.6)
    left.plot(*X[ids].T, "o", color="white", mec="black", mew=1.1, ms=6)
    left.set(xlabel="first input", ylabel="second input", xticks=[-2, 2, 6], yticks=[-2, 2, 6])
    left.set_title(f"the {LABELS} of {N} that weal asked for", fontsize=11, loc="left")
    at = np.arange(5, LABELS + 1)
    for name, colour in (("random", ORANGE), ("auto", BLUE)):
        errors = np.array([one[2] for one in found[name]])
        middle = np.median(errors, axis=0)
        right.fill_between(
            at, errors.min(axis=0), errors.max(axis=0), color=colour, alpha=0.15, lw=0
        )
        right.plot(at, middle, color=colour, lw=2.2)
        right.annotate(
            WORDS[name], (LABELS, middle[-1]), (6, 0), textcoords="offset points", color=colour,
            va="center", fontweight="bold",
        )  # fmt: skip
    right.set(xlabel="labels", yscale="log", xlim=(5, LABELS))
    right.set_title(f"error over all candidates, {SEEDS} runs", fontsize=11, loc="left")
    figure.tight_layout()
    figure.subplots_adjust(right=0.86)
    figure.savefig(file, metadata={"Date": None}, facecolor="white")


def main(file: str = "docs/_static/weal-beside-random.svg") -> None:
    """Run both, draw them, and print the numbers of the caption."""
    found = {name: [run(name, seed) for seed in range(SEEDS)] for name in WORDS}
    draw(found, Path(file))
    ends = {name: float(np.median([one[2][-1] for one in runs])) for name, runs in found.items()}
    at = np.median([one[2] for one in found["auto"]], axis=0)
    as_good = 5 + int(np.argmax(at <= ends["random"]))
    print(f"after {LABELS} labels {ends}; weal is as good as random at the end after {as_good}")


if __name__ == "__main__":
    main(*sys.argv[1:])
