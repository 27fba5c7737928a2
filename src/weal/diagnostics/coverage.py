"""How many labels were in their intervals, and what that says of the share that will be."""

from dataclasses import dataclass

from scipy.special import betaincinv

LEVEL = 0.9  # of the intervals that are shown
SURE = 0.95  # of the interval for the share


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many labels were in their intervals; `low` and `high` bound the share that will be."""

    inside: int
    n: int
    level: float
    low: float
    high: float


def coverage(inside: int, n: int) -> Coverage:
    """So many of n inside their intervals, with the shares that go with that (Jeffreys).

    >>> found = coverage(9, 10)
    >>> round(found.low, 2), round(found.high, 2)
    (0.62, 0.99)
    """
    tail = 0.5 * (1.0 - SURE)
    low, high = betaincinv(inside + 0.5, n - inside + 0.5, [tail, 1.0 - tail]).tolist()
    return Coverage(inside, n, LEVEL, low if inside else 0.0, high if inside < n else 1.0)
