"""The goals that look for the highest or the lowest rows: maximise, minimise, best k, lowest k.

The set of the goal is the k highest rows of the pool, in the truth. A row belongs to it with the
probability p_i of lying above the level tau_k that k rows are expected to exceed
(`core.extensions.level_probability`); p_i sums to k. `maximise` looks for the highest row, and its
set is the MAXIMISE_ROWS highest ones: rows that are nearly as good are found on the way, and the
highest is found no later than with k = 1.

The default score is log p_i; for a pool in files, whose rows are scored one by one, mean + 2 sd.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from weal.core.extensions.level_probability import best_level, negated

if TYPE_CHECKING:
    from weal.core.arrays import Array
    from weal.core.paper.acquisition import Belief

MAXIMISE_ROWS = 10
CONFIDENCE_BOUND = 2  # sds, of the score for pools in files


@dataclass(frozen=True, slots=True, repr=False)
class Best:
    """Find the k highest rows, or (`lowest`) the k lowest; `extreme`: above all the first of them.

    >>> Best(10).text, Best(3, lowest=True).acquisition(in_shards=False)
    ('best 10', 'lowest(3)')
    """

    k: int = MAXIMISE_ROWS
    lowest: bool = False
    extreme: bool = False  # maximise, minimise: k is ours, and gives way to a smaller pool

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int | np.integer) or self.k < 1:
            raise ValueError(
                f"the goal is the best {self.k!r} rows; it needs a whole number of 1 or more, as "
                "in 'best 10'"
            )
        object.__setattr__(self, "k", int(self.k))

    def __repr__(self) -> str:
        if self.extreme:
            return f"{self.text.capitalize()}()"
        return f"Best({self.k}, lowest=True)" if self.lowest else f"Best({self.k})"

    @property
    def text(self) -> str:
        """The goal as users write it."""
        if self.extreme:
            return "minimise" if self.lowest else "maximise"
        return f"{'lowest' if self.lowest else 'best'} {self.k}"

    def to_dict(self) -> dict[str, object]:
        """The goal as JSON."""
        if self.extreme:
            return {"kind": self.text, "text": self.text}
        return {"kind": "lowest" if self.lowest else "best", "text": self.text, "k": self.k}

    def acquisition(self, in_shards: bool) -> str:
        """The acquisition function that "auto" stands for."""
        if in_shards:
            return f"{'lcb' if self.lowest else 'ucb'}({CONFIDENCE_BOUND})"
        return f"{'lowest' if self.lowest else 'best'}({self.k})"

    def membership(self, belief: "Belief") -> "Array":  # (N,)
        """The probability of each row of being among the k best; they sum to k."""
        return np.exp(best_level(negated(belief) if self.lowest else belief, self.k).log_p)

    def check_rows(self, n: int) -> None:
        """ValueError where a pool of n rows has no k best."""
        if self.k >= n and not self.extreme:
            raise ValueError(
                f"the goal {self.text!r} needs a pool of more than {self.k} rows, and there are "
                f"{n}: choose a smaller number, or the goal "
                f"{'minimise' if self.lowest else 'maximise'!r}"
            )


def Maximise() -> Best:
    """Find the highest row.

    >>> Maximise().text
    'maximise'
    """
    return Best(extreme=True)


def Minimise() -> Best:
    """Find the lowest row.

    >>> Minimise().acquisition(in_shards=True)
    'lcb(2)'
    """
    return Best(lowest=True, extreme=True)
