"""The parameters of the estimator, checked, and the kernels that they stand for."""

from collections.abc import Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from weal.core.constants import RATIOS
from weal.core.extensions import model_selection
from weal.core.paper import kernels
from weal.core.paper.kernels import Kernel
from weal.model.checks import (
    check_bounds,
    check_dictionary,
    check_kind,
    check_n_frequencies,
    check_outliers,
    check_ratios,
    check_temper,
    check_warp,
)

INTEGRATED = "integrated"
# Of what is fitted, in units of the scaled labels: of the magnitude, and of the sd of the noise.
MAGNITUDE_BOUNDS = (1e-5, 1e5)
NOISE_BOUNDS = (1e-4, 1e5**0.5)


@dataclass(frozen=True, slots=True)
class Setting:
    """The parameters of the estimator, checked; see there for what each means."""

    kernels: Sequence[Kernel] | None = None
    approximation: str = "auto"
    n_frequencies: int = 200
    orthogonal: bool = False
    magnitude: ArrayLike | str | None = INTEGRATED
    noise: ArrayLike | None = None  # sd
    noise_ratios: Sequence[float] = RATIOS
    fit_length_scale: bool = False
    magnitude_bounds: tuple[float, float] = MAGNITUDE_BOUNDS
    noise_bounds: tuple[float, float] = NOISE_BOUNDS  # of the sd
    prior_weights: ArrayLike | None = None
    temper: float = 1.0
    warp: str | None = "auto"
    outliers: bool = True

    def __post_init__(self) -> None:
        check_kind(self.approximation)
        check_n_frequencies(self.n_frequencies)
        check_bounds("magnitude_bounds", self.magnitude_bounds)
        check_bounds("noise_bounds", self.noise_bounds)
        check_ratios(self.noise_ratios)
        check_temper(self.temper)
        check_warp(self.warp)
        check_outliers(self.outliers)
        if self.integrated and (self.noise is not None or self.fit_length_scale):
            raise ValueError(
                "noise and fit_length_scale go with a magnitude that is fitted (magnitude=None) or "
                "given; with magnitude='integrated' give noise_ratios, and lengthscales are fitted "
                "as labels come unless kernels are given"
            )

    @property
    def integrated(self) -> bool:
        """Whether magnitudes are integrated out."""
        if isinstance(self.magnitude, str) and self.magnitude != INTEGRATED:
            raise ValueError(
                f"magnitude is {self.magnitude!r}; it must be {INTEGRATED!r}, None or numbers"
            )
        return isinstance(self.magnitude, str)

    @property
    def adaptive(self) -> bool:
        """Whether the experts themselves follow the labels; encoded ones are what they are."""
        return self.integrated and self.kernels is None and self.approximation != "encoded"

    @property
    def doubting(self) -> bool:
        """Whether labels may be taken for outliers: where experts follow the labels."""
        return self.outliers and self.adaptive

    @property
    def noise_variance_bounds(self) -> tuple[float, float]:
        """Bounds of the noise as evidence sees it, a variance."""
        low, high = self.noise_bounds
        return low**2, high**2


def given_magnitudes(setting: Setting) -> ArrayLike | None:
    """The magnitudes that the user gave."""
    return None if isinstance(setting.magnitude, str) else setting.magnitude


def kernels_of(setting: Setting, d: int) -> tuple[Kernel, ...]:
    """The kernels that experts may have for d inputs; none where the inputs come encoded."""
    if setting.approximation == "encoded":
        return ()
    if setting.kernels is not None:
        return check_dictionary(setting.kernels, d)
    return model_selection.grid(d) if setting.integrated else kernels.default_dictionary(d)


def encoded_experts(setting: Setting, d: int) -> int:
    """Experts that rows of d columns hold the features of."""
    F = 2 * setting.n_frequencies
    if d % F:
        raise ValueError(
            f"encoded inputs have 2 x n_frequencies = {F} columns for each expert; "
            f"{d} columns are no multiple of that: give the encoder's n_frequencies"
        )
    return d // F
