"""What choosing saves: labels that random choice would have needed on top, to reach the same error.

For each realisation, with e_c(t) and e_r(t) the best errors within t queries by choosing and at
random, and e the error that both reach in the end,

    e = max(e_c(T), e_r(T)),    saved = first t with e_r(t) <= e  -  first t with e_c(t) <= e

so that a realisation counts in one way whoever wins. The mean over the realisations comes with the
interval of Student's t. It is undecided when that holds 0, or when there are fewer than FEWEST.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import t as student

from weal.core.arrays import Array

if TYPE_CHECKING:
    import pandas as pd

LEVEL = 0.9
FEWEST = 3  # realisations: of fewer, nothing is said


@dataclass(frozen=True, slots=True)
class Saved:
    """Labels saved, over the realisations."""

    method: str
    other: str
    queries: int
    realisations: int
    mean: float
    low: float
    high: float

    @property
    def decided(self) -> bool:
        """Whether the interval is on one side of 0."""
        return self.realisations >= FEWEST and (self.low > 0.0 or self.high < 0.0)

    @property
    def words(self) -> str:
        """The answer in a sentence."""
        over = f"over {self.realisations} realisations"
        ends = f"90 %: {self.low:.0f} to {self.high:.0f}"
        if self.realisations < FEWEST:
            return f"Undecided: {self.realisations} realisations say nothing; ask for 10 or more."
        if not self.decided:
            return (
                f"Undecided: choosing ({self.method}) saved {self.mean:.0f} of {self.queries} "
                f"labels on average ({ends}) against random choice, {over}; more realisations may "
                "tell."
            )
        if self.low > 0.0:
            return (
                f"Yes: choosing ({self.method}) reached the error of random choice with "
                f"{self.mean:.0f} fewer of {self.queries} labels ({ends}), {over}."
            )
        return (
            f"No: random choice reached the error of choosing ({self.method}) with "
            f"{-self.mean:.0f} fewer of {self.queries} labels "
            f"(90 %: {-self.high:.0f} to {-self.low:.0f}), {over}."
        )


def labels_saved(chosen: Array, drawn: Array) -> Array:  # (R,)
    """Labels saved in each realisation, for errors (R, T + 1) by choosing and at random.

    >>> labels_saved(np.array([[5.0, 2.0, 1.0]]), np.array([[5.0, 3.0, 2.0]]))
    array([1.])
    """
    best, other = (np.minimum.accumulate(part, axis=1) for part in (chosen, drawn))
    both = np.maximum(best[:, -1:], other[:, -1:])
    found: Array = (other <= both).argmax(axis=1) - (best <= both).argmax(axis=1).astype(float)
    return found


def saved(results: "pd.DataFrame", method: str, other: str) -> Saved | None:
    """What `method` saved against `other` on the one task of these results; None without both."""
    tables = [
        results[results["method"] == name]
        .pivot(index="realisation", columns="t", values="nmse")
        .to_numpy()
        for name in (method, other)
    ]
    if not all(part.size for part in tables):
        return None
    found = labels_saved(*tables)
    n, mean = len(found), float(found.mean())
    half = np.inf
    if n > 1:
        half = float(student.ppf(0.5 + LEVEL / 2.0, n - 1) * found.std(ddof=1) / np.sqrt(n))
    return Saved(method, other, tables[0].shape[1] - 1, n, mean, mean - half, mean + half)
