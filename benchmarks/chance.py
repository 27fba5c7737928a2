"""How often chance decides a comparison of the paper's claims: `python benchmarks/chance.py`.

    python benchmarks/chance.py [--quick] [--to FILE]

Methods that are equally good, in ten realisations: a part that the realisation gives to all, and a
part of their own, drawn alike for all. Rows are the share of simulations in which a comparison is
decided at 5 % all the same (`weal.benchmark.statistics`): one alone, any of thirty with one
baseline uncorrected, and any of the thirty corrected. Rows without the last two are differences
that are themselves skewed around a mean of 0, which the test does not promise to withstand.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import record

from weal.benchmark.statistics import ERROR_RATE, p_values
from weal.core.arrays import Array

N, C = 10, 30  # realisations as in the paper, comparisons as of a claim
ALONE, FAMILIES = 20_000, 4_000  # simulations
SEED = 5
Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]

ALIKE: dict[str, Draw] = {
    "normal": lambda rng, size: rng.standard_normal(size),
    "lognormal (sd of logs 1)": lambda rng, size: rng.lognormal(0.0, 1.0, size),
    "very skewed (lognormal, sd of logs 3)": lambda rng, size: rng.lognormal(0.0, 3.0, size),
}
SKEWED: dict[str, Draw] = {
    "differences lognormal around 0": lambda rng, size: rng.lognormal(0.0, 1.0, size) - np.exp(0.5),
    "differences exponential around 0": lambda rng, size: rng.exponential(1.0, size) - 1.0,
}


def beside_one(rng: np.random.Generator, draw: Draw, others: int) -> Array:
    """Differences (N, others) of methods to one baseline, which they all share."""
    own = draw(rng, (N, others + 1)) + rng.standard_normal((N, 1))
    return own[:, :others] - own[:, others:]


def rows(alone: int, families: int) -> list[dict[str, Any]]:
    """A row for each distribution."""
    found: list[dict[str, Any]] = []
    for k, (name, draw) in enumerate(ALIKE.items()):
        rng = np.random.default_rng([SEED, k])
        single = [p_values(beside_one(rng, draw, 1))[0] for _ in range(alone)]
        many = [p_values(beside_one(rng, draw, C)) for _ in range(families)]
        each, corrected = (
            np.mean([(p[which] <= ERROR_RATE).any() for p in many]) for which in (0, 1)
        )
        found.append({"kind": name, "one": _share(single), "any": each, "corrected": corrected})
    for k, (name, draw) in enumerate(SKEWED.items()):
        rng = np.random.default_rng([SEED, len(ALIKE) + k])
        single = [p_values(draw(rng, (N, 1)))[0] for _ in range(alone)]
        found.append({"kind": name, "one": _share(single)})
    return found


def _share(p: list[Array]) -> float:
    return float(np.mean(np.concatenate(p) <= ERROR_RATE))


def main() -> None:
    given = record.options(__doc__)
    part = 10 if given.quick else 1
    found = rows(ALONE // part, FAMILIES // part)
    for row in found:
        print(*row.values(), sep="  ")
    if given.to:
        what = (
            f"how often chance decides, of {ALONE // part:,} comparisons "
            f"and {FAMILIES // part:,} claims"
        )
        record.write(given.to, what, found, [SEED])


if __name__ == "__main__":
    main()
