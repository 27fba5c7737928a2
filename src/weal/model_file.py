"""A fitted regressor as a header and arrays, for `weal.files`.

The header holds what a person would want to read (parameters, dictionary, feature names); the
arrays hold the state: scaling, frequencies, weights and posterior.
"""

from dataclasses import asdict
from typing import Any

import numpy as np

from weal.core.arrays import Array, Rows
from weal.core.embedding import Embedding, Encoded, Exact, Spectral
from weal.core.ensemble import Ensemble
from weal.core.exact import ExactExperts
from weal.core.experts import FeatureExperts
from weal.core.kernels import Kernel
from weal.core.scaling import Scaling
from weal.errors import UnreadableFile

KIND = "EnsembleGPRegressor"


def pack_params(model: Any) -> dict[str, Any]:
    """The parameters of a regressor as JSON can say them."""
    return {name: _to_json(value) for name, value in model.get_params(deep=False).items()}


def unpack_params(plain: dict[str, Any]) -> dict[str, Any]:
    """Parameters that `pack_params` took apart."""
    return {name: _from_json(value) for name, value in plain.items()}


def pack(model: Any) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays of a fitted regressor."""
    ens: Ensemble = model.ensemble_
    header = {
        "params": pack_params(model),
        "dictionary": [asdict(kernel) for kernel in model.dictionary_],
        "seed": model.seed_,
        "n_labels": model.n_labels_,
        "n_inputs": model.n_features_in_,
        "input_names": [str(name) for name in getattr(model, "feature_names_in_", [])],
    }
    arrays = {
        "x_mean": model.scaling_.x_mean,
        "x_sd": model.scaling_.x_sd,
        "y_mean_sd": np.array([model.scaling_.y_mean, model.scaling_.y_sd]),
        "log_w": ens.log_w,
        "magnitude": model.magnitude_,
        "noise": model.noise_,
        "ratio": ens.noise,
        **_experts_to_arrays(ens.experts),
    }
    if isinstance(model.embedding_, Spectral):
        arrays["zeta"] = model.embedding_.zeta
    return header, arrays


def unpack(cls: Any, header: dict[str, Any], arrays: dict[str, Array]) -> Any:
    """The regressor of class `cls` that `pack` took apart."""
    try:
        model = cls(**unpack_params(header["params"]))
        model.dictionary_ = tuple(_kernel(plain) for plain in header["dictionary"])
        model.seed_, model.n_labels_ = int(header["seed"]), int(header["n_labels"])
        model.n_features_in_ = int(header["n_inputs"])
        if header["input_names"]:
            model.feature_names_in_ = np.array(header["input_names"], dtype=object)
        y_mean, y_sd = arrays["y_mean_sd"]
        model.scaling_ = Scaling(arrays["x_mean"], arrays["x_sd"], float(y_mean), float(y_sd))
        model.magnitude_, model.noise_ = arrays["magnitude"], arrays["noise"]
        model.embedding_ = _embedding(arrays)
        experts = _experts_from_arrays(model.dictionary_, arrays)
        model.ensemble_ = Ensemble(experts, arrays["log_w"], arrays["magnitude"], arrays["ratio"])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UnreadableFile(
            f"the file is one of weal's, but not a whole model ({type(error).__name__}: {error}); "
            "restore it from a copy, or save it again"
        ) from error
    return model


def _embedding(arrays: dict[str, Array]) -> Embedding:
    if "zeta" in arrays:
        return Spectral(arrays["zeta"])
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
    if isinstance(value, np.random.RandomState):
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
        return _kernel(value["Kernel"])
    if isinstance(value, dict) and "Scaling" in value:
        plain = dict(value["Scaling"])
        x_mean, x_sd = np.array(plain.pop("x_mean")), np.array(plain.pop("x_sd"))
        return Scaling(x_mean, x_sd, **plain)
    return value


def _kernel(plain: dict[str, Any]) -> Kernel:
    return Kernel(**{name: _from_json(part) for name, part in plain.items()})
