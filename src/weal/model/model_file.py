"""A fitted regressor as a header and arrays, for `weal.model.archive`.

The header holds what a person would want to read (parameters, dictionary, feature names); the
arrays hold the state: scaling, frequencies, weights and posterior.
"""

from dataclasses import asdict
from typing import Any

import numpy as np

from weal.core.arrays import Array, Rows
from weal.core.bend import Bend
from weal.core.embedding import Embedding, Encoded, Exact, Spectral
from weal.core.ensemble import Ensemble
from weal.core.exact import ExactExperts
from weal.core.experts import FeatureExperts
from weal.core.kernels import Kernel
from weal.core.magnitude import Conjugate, Fixed
from weal.core.scaling import Scaling
from weal.errors import UnreadableFile
from weal.model.fold import NO_EXPERTS, Fold
from weal.model.settling import setting_of

KIND = "EnsembleGPRegressor"


def pack_params(model: Any) -> dict[str, Any]:
    """The parameters of a regressor as JSON can say them."""
    return {name: _to_json(value) for name, value in model.get_params(deep=False).items()}


def unpack_params(plain: dict[str, Any]) -> dict[str, Any]:
    """Parameters that `pack_params` took apart."""
    return {name: _from_json(value) for name, value in plain.items()}


def pack(model: Any) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays of a fitted regressor."""
    fold: Fold = model.fold_
    ens = fold.ensemble
    header = {
        "params": pack_params(model),
        "dictionary": [asdict(kernel) for kernel in fold.dictionary],
        "seed": fold.seed,
        "next_refresh": fold.next_refresh,
        "bend": asdict(fold.bend),
        "n_inputs": model.n_features_in_,
        "input_names": [str(name) for name in getattr(model, "feature_names_in_", [])],
    }
    arrays = {
        **_scaling_to_arrays(model.scaling_),
        "seen_x": fold.X,
        "seen_y": fold.y,
        "seen_extra": fold.extra,
        "log_w": ens.log_w,
        "prior_log_w": fold.prior.log_w,
        "ratio": ens.noise,
        **_scale_to_arrays(ens.scale, fold.prior.scale),
        **_experts_to_arrays(ens.experts),
    }
    if isinstance(fold.embedding, Spectral):
        arrays["zeta"] = fold.embedding.zeta
        if fold.embedding.offset is not None:
            arrays["offset"] = fold.embedding.offset
    return header, arrays


def unpack(cls: Any, header: dict[str, Any], arrays: dict[str, Array]) -> Any:
    """The regressor of class `cls` that `pack` took apart."""
    try:
        model = cls(**unpack_params(header["params"]))
        model.n_features_in_ = int(header["n_inputs"])
        if header["input_names"]:
            model.feature_names_in_ = np.array(header["input_names"], dtype=object)
        model.scaling_ = _scaling_from_arrays(arrays)
        dictionary = tuple(kernel_of(plain) for plain in header["dictionary"])
        scale, temper = _scale_from_arrays(arrays), float(model.temper)
        first = scale
        if isinstance(scale, Conjugate):
            first = Conjugate(arrays["a0"], arrays["b0"], scale.unit)
        experts = _experts_from_arrays(dictionary, arrays)
        model.fold_ = Fold(
            setting_of(model),
            int(header["seed"]),
            arrays["seen_x"],
            arrays["seen_y"],
            arrays["seen_extra"],
            dictionary,
            _embedding(arrays),
            Ensemble(NO_EXPERTS, arrays["prior_log_w"], first, arrays["ratio"], temper),
            Ensemble(experts, arrays["log_w"], scale, arrays["ratio"], temper),
            int(header["next_refresh"]),
            Bend(**{name: float(part) for name, part in header["bend"].items()}),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UnreadableFile(
            f"the file is one of weal's, but not a whole model ({type(error).__name__}: {error}); "
            "restore it from a copy, or save it again"
        ) from error
    return model


def _scaling_to_arrays(scale: Scaling) -> dict[str, Array]:
    arrays = {
        "x_mean": scale.x_mean,
        "x_sd": scale.x_sd,
        "y_mean_sd": np.array([scale.y_mean, scale.y_sd]),
    }
    if scale.x_median is not None and scale.x_spread is not None:
        arrays |= {"x_median": scale.x_median, "x_spread": scale.x_spread}
    return arrays


def _scaling_from_arrays(arrays: dict[str, Array]) -> Scaling:
    y_mean, y_sd = arrays["y_mean_sd"]
    bend = arrays.get("x_median"), arrays.get("x_spread")
    return Scaling(arrays["x_mean"], arrays["x_sd"], float(y_mean), float(y_sd), *bend)


def _scale_to_arrays(scale: Any, first: Any) -> dict[str, Array]:
    if isinstance(scale, Conjugate):
        return {"a": scale.a, "b": scale.b, "unit": scale.unit, "a0": first.a, "b0": first.b}
    return {"magnitude": scale.variance}


def _scale_from_arrays(arrays: dict[str, Array]) -> Conjugate | Fixed:
    if "a" in arrays:
        return Conjugate(arrays["a"], arrays["b"], arrays["unit"])
    return Fixed(arrays["magnitude"])


def _embedding(arrays: dict[str, Array]) -> Embedding:
    if "zeta" in arrays:
        return Spectral(arrays["zeta"], arrays.get("offset"))
    return Encoded(len(arrays["log_w"])) if "root" in arrays else Exact()


def _experts_to_arrays(experts: Any) -> dict[str, Array]:
    if isinstance(experts, FeatureExperts):
        return {"theta": experts.theta, "root": experts.root}
    return {"X": experts.X, "L": experts.L, "z": experts.z}


def _experts_from_arrays(
    dictionary: tuple[Kernel, ...], arrays: dict[str, Array]
) -> FeatureExperts | ExactExperts:
    if "root" in arrays:
        return FeatureExperts(arrays["theta"], arrays["root"])
    return ExactExperts(dictionary, arrays["X"], Rows(arrays["L"]), arrays["z"])


def _to_json(value: Any) -> Any:
    """A parameter as JSON; a random generator is left out, since its seed is kept."""
    if isinstance(value, Kernel):
        return {"Kernel": asdict(value)}
    if isinstance(value, Scaling):
        return {
            "Scaling": {name: np.asarray(part).tolist() for name, part in asdict(value).items()}
        }
    if value is np.random or isinstance(value, np.random.RandomState):
        return None
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_to_json(part) for part in value]
    return value


def _from_json(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_from_json(part) for part in value)
    if isinstance(value, dict) and "Kernel" in value:
        return kernel_of(value["Kernel"])
    if isinstance(value, dict) and "Scaling" in value:
        plain = value["Scaling"]
        return Scaling(**{name: _array(part) for name, part in plain.items()})
    return value


def _array(plain: Any) -> Any:
    return np.array(plain) if isinstance(plain, list) else plain


def kernel_of(plain: dict[str, Any]) -> Kernel:
    """The kernel whose fields JSON has kept."""
    return Kernel(**{name: _from_json(part) for name, part in plain.items()})
