"""Stationary kernels k(x, x') as correlations, and their spectral densities.

A correlation is a function of r2 = sum_i ((x_i - x'_i) / l_i)^2, with k = 1 at r2 = 0:

    rbf        exp(-r2 / 2)
    matern12   exp(-r)
    matern32   (1 + sqrt(3) r) exp(-sqrt(3) r)
    matern52   (1 + sqrt(5) r + 5 r2 / 3) exp(-sqrt(5) r)
    rq         (1 + r2 / (2 alpha))^-alpha

By Bochner's theorem k(x - x') = E cos(zeta'(x - x')) for a frequency vector zeta drawn from the
spectral density. Every family above is a mixture of RBFs over their scale, so its frequency is

    zeta = sqrt(h) n / l,     n ~ N(0, I_d),   h = 1                                rbf
                                               h = 2 nu / chi2(2 nu)                Matern nu
                                               h ~ Gamma(alpha, rate alpha)         rq

with ONE h for the whole vector: the coordinates of zeta are uncorrelated but not independent,
and one h per coordinate would give the product of one-dimensional kernels instead.

One more correlation is not a function of r2 and has no such frequencies: `anova_kernel`
(`weal.core.extensions.anova_kernel`), which only exact experts can use.

Orthogonal draws replace the directions n / |n| of d frequencies at a time by the columns of a
random rotation and keep the lengths: the same expectation, less variance.
[2] Yu et al.: Orthogonal random features, 2016.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from weal.core.arrays import Array
from weal.core.distances import squared_distances
from weal.core.one_hot import Widths, by_column, input_distances

LEAST_DISTANCE = 1e-300  # squared
Draw = Callable[[np.random.Generator, int, float], Array]


@dataclass(frozen=True, slots=True)
class Family:
    """A kernel family: correlation at the scaled squared distance r2, and its spectral scale h."""

    correlation: Callable[[Array, float], Array]  # (r2, alpha) -> k, elementwise
    slope: Callable[[Array, float], Array]  # (r2, alpha) -> dk / dr2, elementwise
    mixing: Draw  # (rng, D, alpha) -> h (D,)
    has_alpha: bool = False  # whether alpha is a parameter of it


def _rbf(r2: Array, alpha: float) -> Array:
    return np.exp(-0.5 * r2)


def _rbf_slope(r2: Array, alpha: float) -> Array:
    return -0.5 * np.exp(-0.5 * r2)


def _matern12(r2: Array, alpha: float) -> Array:
    return np.exp(-np.sqrt(r2))


def _matern12_slope(r2: Array, alpha: float) -> Array:
    r = np.sqrt(np.maximum(r2, LEAST_DISTANCE))  # infinite at 0, where it is only met times 0
    return -0.5 * np.exp(-r) / r


def _matern32(r2: Array, alpha: float) -> Array:
    a = np.sqrt(3.0 * r2)
    return (1.0 + a) * np.exp(-a)


def _matern32_slope(r2: Array, alpha: float) -> Array:
    return -1.5 * np.exp(-np.sqrt(3.0 * r2))


def _matern52(r2: Array, alpha: float) -> Array:
    a = np.sqrt(5.0 * r2)
    return (1.0 + a + a * a / 3.0) * np.exp(-a)


def _matern52_slope(r2: Array, alpha: float) -> Array:
    a = np.sqrt(5.0 * r2)
    return -5.0 / 6.0 * (1.0 + a) * np.exp(-a)


def _rational_quadratic(r2: Array, alpha: float) -> Array:
    return np.exp(-alpha * np.log1p(r2 / (2.0 * alpha)))


def _rational_quadratic_slope(r2: Array, alpha: float) -> Array:
    return -0.5 * np.exp(-(alpha + 1.0) * np.log1p(r2 / (2.0 * alpha)))


def _student(two_nu: int) -> Draw:
    return lambda rng, D, alpha: two_nu / rng.chisquare(two_nu, D)


FAMILIES = {
    "rbf": Family(_rbf, _rbf_slope, lambda rng, D, alpha: np.ones(D)),
    "matern12": Family(_matern12, _matern12_slope, _student(1)),
    "matern32": Family(_matern32, _matern32_slope, _student(3)),
    "matern52": Family(_matern52, _matern52_slope, _student(5)),
    "rq": Family(
        _rational_quadratic,
        _rational_quadratic_slope,
        lambda rng, D, alpha: rng.gamma(alpha, 1.0 / alpha, D),
        has_alpha=True,
    ),
}


# Families that are not functions of a distance, by name: correlations (N, N') of points that are
# divided by their lengthscales, at an alpha. Modules beyond the paper add theirs
# (`register_family`), which `weal.core` imports; they have no random features.
PAIRWISE_FAMILIES: dict[str, Callable[[Array, Array, float], Array]] = {}
# Those of them that can be computed from squared distances (N, N') by input, over the squared
# lengthscales, at an alpha and a number of inputs: for categories (`core.one_hot`).
FAMILIES_BY_INPUT: dict[str, Callable[[Iterable[Array], float, int], Array]] = {}


def register_family(
    name: str,
    function: Callable[[Array, Array, float], Array],
    by_input: Callable[[Iterable[Array], float, int], Array] | None = None,
) -> None:
    """Make `function(X, Y, alpha)` the correlation of kernels of that family.

    `by_input(distances, alpha, n_inputs)` is the same from squared distances by input; without it
    the columns of a category are inputs of their own.
    """
    PAIRWISE_FAMILIES[name] = function
    if by_input is not None:
        FAMILIES_BY_INPUT[name] = by_input


def register_stationary(name: str, family: Family) -> None:
    """Register a family of stationary kernels; modules beyond the paper register theirs."""
    FAMILIES[name] = family


@dataclass(frozen=True, slots=True)
class Kernel:
    """A correlation: a family, its lengthscale (one, or one for each input), and its alpha.

    Parameters
    ----------
    family : {"rbf", "matern12", "matern32", "matern52", "rq", "trend", "anova"}
        The covariance function. "trend" is a linear trend with deviations from it, and "anova" a
        sum of main effects and interactions; both need exact experts.
    length_scale : float, or tuple of d floats
        Lengthscale, one or one for each input, in units of the scaled inputs (sd 1).
    alpha : float
        Shape parameter of rq; for anova the strength of the interactions, for trend that of the
        linear trend.
    offset : float
        Prior variance, in units of the magnitude, of a constant added to the function, so that
        labels need not be centred.
    widths : tuple of int
        The number of columns of each input: 1 for a number, and the number of levels for a one-hot
        encoded category. There is then one lengthscale for each input. If empty, every column is an
        input.

    Raises
    ------
    ValueError
        If the family is unknown, or a number is out of range.

    Examples
    --------
    >>> from weal import Kernel
    >>> Kernel("matern52", 0.5)
    Kernel('matern52', 0.5)
    >>> Kernel("rq", (0.5, 2.0), alpha=3.0)
    Kernel('rq', (0.5, 2.0), alpha=3.0)
    """

    family: str = "rbf"
    length_scale: float | tuple[float, ...] = 1.0
    alpha: float = 1.0
    offset: float = 0.0
    widths: Widths = ()

    def __post_init__(self) -> None:
        if self.family not in (*FAMILIES, *PAIRWISE_FAMILIES):
            known = ", ".join([*FAMILIES, *PAIRWISE_FAMILIES])
            raise ValueError(f"unknown kernel family {self.family!r}; there are {known}")
        scales = np.asarray(self.length_scale, dtype=np.float64)
        if scales.ndim > 1 or scales.size == 0 or not (np.isfinite(scales) & (scales > 0)).all():
            raise ValueError(
                "length_scale must be a positive number, or one for each input; "
                f"got {self.length_scale!r}"
            )
        if not (np.isfinite(self.alpha) and self.alpha > 0):
            raise ValueError(f"alpha must be a positive number; got {self.alpha!r}")
        if not (np.isfinite(self.offset) and self.offset >= 0):
            raise ValueError(f"offset must be a number of at least 0; got {self.offset!r}")
        if self.widths and (min(self.widths) < 1 or scales.shape not in ((), (len(self.widths),))):
            raise ValueError(
                "widths must be the number of columns of each input, and length_scale one number "
                f"or one for each input; got {self.widths!r} and {self.length_scale!r}"
            )
        plain = float(scales) if scales.ndim == 0 else tuple(scales.tolist())
        object.__setattr__(self, "length_scale", plain)
        object.__setattr__(self, "alpha", float(self.alpha))
        object.__setattr__(self, "offset", float(self.offset))
        object.__setattr__(self, "widths", tuple(int(width) for width in self.widths))

    @property
    def variance(self) -> float:
        """Prior variance of a point: 1 plus the variance of the offset."""
        return 1.0 + self.offset

    def n_inputs(self, d: int) -> int:
        """Number of inputs of d columns: of lengthscales, where there is one for each.

        Parameters
        ----------
        d : int
            Number of columns; a category has one for each level.

        Returns
        -------
        int
            A category counts as one.
        """
        return len(self.widths) or d

    def column_scales(self, d: int) -> Array:  # (d,)
        """The lengthscale of each column.

        Parameters
        ----------
        d : int
            Number of columns.

        Returns
        -------
        ndarray of shape (d,)
            Columns of one category have one lengthscale.
        """
        if self.widths:
            return by_column(self.length_scale, self.widths)
        return np.broadcast_to(np.asarray(self.length_scale, dtype=np.float64), (d,))

    def __repr__(self) -> str:
        scale = self.length_scale
        text = f"{scale:g}" if isinstance(scale, float) else f"({', '.join(f'{s}' for s in scale)})"
        alone = self.family in FAMILIES and not FAMILIES[self.family].has_alpha
        tail = "" if alone else f", alpha={self.alpha}"
        tail += f", offset={self.offset:g}" if self.offset else ""
        tail += f", widths={self.widths}" if self.widths else ""
        return f"Kernel({self.family!r}, {text}{tail})"


def correlation(kernel: Kernel, X: Array, Y: Array) -> Array:
    """Correlations (N, N') of the rows of X (N, d) and Y (N', d)."""
    ell = np.asarray(kernel.length_scale)
    if kernel.widths:
        k = _with_categories(kernel, X, Y)
    elif kernel.family in PAIRWISE_FAMILIES:
        k = PAIRWISE_FAMILIES[kernel.family](X / ell, Y / ell, kernel.alpha)
    else:
        r2 = squared_distances(X / ell, Y / ell)
        k = FAMILIES[kernel.family].correlation(r2, kernel.alpha)
    return k + kernel.offset if kernel.offset else k


def _with_categories(kernel: Kernel, X: Array, Y: Array) -> Array:
    """Correlations (N, N') by input, without the offset, where some inputs are categories."""
    family, G = kernel.family, len(kernel.widths)
    if family in PAIRWISE_FAMILIES and family not in FAMILIES_BY_INPUT:
        ell = kernel.column_scales(X.shape[1])
        return PAIRWISE_FAMILIES[family](X / ell, Y / ell, kernel.alpha)
    scales = np.broadcast_to(kernel.length_scale, (G,)).tolist()
    each = (
        D2 / ell**2 for D2, ell in zip(input_distances(X, Y, kernel.widths), scales, strict=True)
    )
    if family in FAMILIES_BY_INPUT:
        return FAMILIES_BY_INPUT[family](each, kernel.alpha, G)
    return FAMILIES[family].correlation(sum(each, np.zeros((len(X), len(Y)))), kernel.alpha)


def dictionary(families: Iterable[str], length_scales: Iterable[float]) -> tuple[Kernel, ...]:
    """The kernels of every family at every lengthscale.

    >>> dictionary(["rbf"], [0.1, 1.0])
    (Kernel('rbf', 0.1), Kernel('rbf', 1))
    """
    scales = tuple(length_scales)
    return tuple(Kernel(family, scale) for family in families for scale in scales)


def default_dictionary(d: int) -> tuple[Kernel, ...]:
    """RBF and Matern 5/2 at lengthscales 10^-1 .. 10^1 times sqrt(d), in half decades.

    Two random points of d standardised inputs are about sqrt(2 d) apart.
    """
    return dictionary(["rbf", "matern52"], [d**0.5 * 10.0 ** (c / 2) for c in range(-2, 3)])


def paper_dictionary(squared: bool = False) -> tuple[Kernel, ...]:
    """The 11 RBFs of [1, set:dictionary], lengthscales 10^-4 .. 10^6.

    `squared` reads the grid as the squared lengthscale, as earlier code of its first author does.
    """
    return dictionary(["rbf"], [10.0 ** (c / 2 if squared else c) for c in range(-4, 7)])
