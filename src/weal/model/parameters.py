"""Parameters of the estimator, checked, and the kernels that follow from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from weal.core.arrays import Array
from weal.core.constants import MAX_SDS_FOR_SCALING, NOISE_RATIO_GRID
from weal.core.extensions import model_selection
from weal.core.extensions.outliers import prior
from weal.core.one_hot import Widths, find_widths
from weal.core.paper import kernels
from weal.core.paper.kernels import Kernel
from weal.core.scaling import Scaling
from weal.model import scaled_data
from weal.model.checks import (
    MODEL_VERSION,
    OLD_MODEL_VERSION,
    check_bounds,
    check_dictionary,
    check_fixed,
    check_kind,
    check_model_version,
    check_n_frequencies,
    check_outliers,
    check_prior_weights,
    check_ratios,
    check_temper,
    check_warp,
)
from weal.model.scaled_data import check_scaling

INTEGRATED = "integrated"
# Of what is fitted, in units of the scaled labels: of the magnitude, and of the sd of the noise.
MAGNITUDE_BOUNDS = (1e-5, 1e5)
NOISE_BOUNDS = (1e-4, 1e5**0.5)


@dataclass(frozen=True, slots=True)
class ModelParameters:
    """The parameters of the estimator, checked; see there for what each means."""

    kernels: Sequence[Kernel] | None = None
    approximation: str = "auto"
    n_frequencies: int = 200
    orthogonal: bool = False
    magnitude: ArrayLike | str | None = INTEGRATED
    noise: ArrayLike | None = None  # sd
    noise_ratios: Sequence[float] = NOISE_RATIO_GRID
    fit_length_scale: bool = False
    magnitude_bounds: tuple[float, float] = MAGNITUDE_BOUNDS
    noise_bounds: tuple[float, float] = NOISE_BOUNDS  # of the sd
    prior_weights: ArrayLike | None = None
    temper: float = 1.0
    warp: str | None = "auto"
    outliers: bool = True
    model_version: str = MODEL_VERSION
    # Columns of each input, from the scaling (`with_widths`): no parameter of the estimator.
    widths: Widths = ()

    def __post_init__(self) -> None:
        check_kind(self.approximation)
        check_n_frequencies(self.n_frequencies)
        check_bounds("magnitude_bounds", self.magnitude_bounds)
        check_bounds("noise_bounds", self.noise_bounds)
        check_ratios(self.noise_ratios)
        check_temper(self.temper)
        check_warp(self.warp)
        check_outliers(self.outliers)
        check_model_version(self.model_version)
        if self.integrates_magnitude and (self.noise is not None or self.fit_length_scale):
            raise ValueError(
                "noise and fit_length_scale go with a magnitude that is fitted (magnitude=None) or "
                "given; with magnitude='integrated' give noise_ratios, and lengthscales are fitted "
                "as labels come unless kernels are given"
            )

    @property
    def integrates_magnitude(self) -> bool:
        """Whether magnitudes are integrated out."""
        if isinstance(self.magnitude, str) and self.magnitude != INTEGRATED:
            raise ValueError(
                f"magnitude is {self.magnitude!r}; it must be {INTEGRATED!r}, None or numbers"
            )
        return isinstance(self.magnitude, str)

    @property
    def adaptive(self) -> bool:
        """Whether experts are selected by the labels; encoded features are fixed."""
        return (
            self.integrates_magnitude and self.kernels is None and self.approximation != "encoded"
        )

    @property
    def finds_outliers(self) -> bool:
        """Whether outliers are searched: only if experts are selected by the labels."""
        return self.outliers and self.adaptive

    @property
    def is_of_0_2(self) -> bool:
        """Whether experts are selected as weal 0.2 did: its classes of models, and no others."""
        return self.model_version == OLD_MODEL_VERSION

    @property
    def groups_columns(self) -> bool:
        """Whether the columns of a category are one input: only if the labels select experts."""
        return self.adaptive and not self.is_of_0_2

    @property
    def noise_variance_bounds(self) -> tuple[float, float]:
        """Bounds of the noise variance."""
        low, high = self.noise_bounds
        return low**2, high**2


def given_magnitudes(setting: ModelParameters) -> ArrayLike | None:
    """The magnitudes that the user gave."""
    return None if isinstance(setting.magnitude, str) else setting.magnitude


def kernels_of(setting: ModelParameters, d: int) -> tuple[Kernel, ...]:
    """The candidate kernels for d inputs; none for encoded inputs."""
    if setting.approximation == "encoded":
        return ()
    if setting.kernels is not None:
        return check_dictionary(setting.kernels, d)
    return (
        model_selection.candidate_grid(d, columns_of_inputs(setting, d))
        if setting.integrates_magnitude
        else kernels.default_dictionary(d)
    )


def with_widths(setting: ModelParameters, scaling: Scaling) -> ModelParameters:
    """The parameters for inputs that are scaled so: categories are inputs of several columns."""
    if scaling.widths is None or not setting.groups_columns:
        return setting
    return replace(setting, widths=tuple(scaling.widths.tolist()))


def columns_of_inputs(setting: ModelParameters, d: int) -> Widths:
    """Widths of d columns; those of a source come last and are inputs of their own."""
    return setting.widths and setting.widths + (1,) * (d - sum(setting.widths))


def encoded_experts(setting: ModelParameters, d: int) -> int:
    """Number of experts in encoded inputs of d columns."""
    F = 2 * setting.n_frequencies
    if d % F:
        raise ValueError(
            f"encoded inputs have 2 x n_frequencies = {F} columns for each expert; "
            f"{d} columns are not a multiple of that: give the encoder's n_frequencies"
        )
    return d // F


def check(setting: ModelParameters, d: int) -> None:
    """Refuse parameters that contradict one another or the number of inputs d."""
    M = len(kernels_of(setting, d)) or encoded_experts(setting, d)
    if setting.integrates_magnitude:
        M *= len(setting.noise_ratios)
    else:
        check_fixed("magnitude", given_magnitudes(setting), M)
        check_fixed("noise", setting.noise, M)
    if not setting.adaptive:
        check_prior_weights(setting.prior_weights, M)


_SETTING_NAMES = tuple(field.name for field in fields(ModelParameters) if field.name != "widths")
_OTHER_PARAMETERS = ("condition", "scaling", "random_state")


@dataclass(frozen=True, slots=True, eq=False)
class Parameters:
    """The parameters of the experts, the scaling, and the seed."""

    setting: ModelParameters
    condition: bool = True  # warp input columns with heavy tails
    scaling: Scaling | None = None  # given; None: from the data of the first fit
    random_state: int = 0
    scales_labels: bool = True  # False: labels stay as they are, as those of pass/fail results

    @property
    def seed(self) -> int:
        """Seed of the random features, drawn from random_state as scikit-learn does."""
        return int(np.random.RandomState(self.random_state).randint(2**31 - 1))

    def scaling_of(
        self, X: Array, y: Array, sure: Array | None = None, widths: Widths | None = None
    ) -> Scaling:
        """The given scaling, or the scaling of inputs X (N, d) and labels y (t,).

        Where labels may be wrong, those far from all others have no say unless they are `sure`.
        `widths` are the columns of each input; None: as X shows them (`core.one_hot.find_widths`).
        Categories are inputs of several columns only for experts that the labels select.
        """
        if self.setting.finds_outliers:
            known = np.zeros(len(y)) if sure is None else sure
            y = y[~prior.gross_outliers(y, known, MAX_SDS_FOR_SCALING)]
        encoded = self.setting.approximation == "encoded"
        if not self.setting.groups_columns:
            widths = ()
        elif widths is None:
            widths = find_widths(X)
        found = scaled_data.find_scaling(X, y, self.scaling, self.condition, encoded, widths)
        return found if self.scales_labels else replace(found, y_mean=0.0, y_sd=1.0)

    def to_dict(self) -> dict[str, Any]:
        """The parameters by their names in the estimator."""
        setting = {name: getattr(self.setting, name) for name in _SETTING_NAMES}
        others = {"condition": self.condition, "scaling": self.scaling}
        return {**setting, **others, "random_state": self.random_state}


def setting_of(given: Mapping[str, Any]) -> ModelParameters:
    """The model parameters from a dict by estimator names, with defaults."""
    if unknown := sorted(given.keys() - {*_SETTING_NAMES, *_OTHER_PARAMETERS}):
        raise TypeError(f"there is no parameter {unknown[0]!r}")
    return ModelParameters(**{name: given[name] for name in _SETTING_NAMES if name in given})


def parameters_of(given: Mapping[str, Any], d: int) -> Parameters:
    """Parameters from a dict by estimator names; ValueError if `fit` on d inputs would raise."""
    setting = setting_of(given)
    check(setting, d)
    scaling = check_scaling(given.get("scaling"), d)
    random_state = given.get("random_state") or 0
    return Parameters(setting, bool(given.get("condition", True)), scaling, int(random_state))
