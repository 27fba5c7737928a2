"""A model as a header and arrays, for `weal.formats.archive`.

The header holds what a person would want to read (parameters, dictionary, names of the inputs); the
arrays hold the state: scaling, experts as they were settled, the labels seen and the posterior.
"""

from collections.abc import Mapping
from dataclasses import asdict, astuple, replace
from typing import Any

import numpy as np

from weal.core.arrays import Array, GrowingRows
from weal.core.extensions.conjugate_magnitude import ConjugateMagnitude
from weal.core.extensions.embeddings import EncodedFeatures, RandomFeatures, RawInputs
from weal.core.extensions.inducing_gp import InducingExperts, InducingFeatures
from weal.core.extensions.label_warp import LabelWarp
from weal.core.extensions.outliers.prior import NO_DOUBT, OutlierPrior, OutlierReport
from weal.core.paper.ensemble import Ensemble
from weal.core.paper.exact_gp import ExactExperts
from weal.core.paper.feature_gp import FeatureExperts
from weal.core.paper.fixed_magnitude import FixedMagnitude
from weal.core.paper.kernels import Kernel
from weal.core.protocols import Embedding
from weal.core.scaling import Scaling
from weal.errors import UnreadableFile
from weal.model.model import Model
from weal.model.parameters import ModelParameters, encoded_experts, setting_of
from weal.model.training import NO_EXPERTS, TrainedEnsemble, TrainingLabels, without_labels

MODEL_KIND = "EnsembleGPRegressor"
Header = dict[str, Any]
Arrays = dict[str, Array]
BROKEN = (KeyError, TypeError, IndexError, AttributeError, ValueError)  # by what is not in a file


def pack_params(params: Mapping[str, Any]) -> Header:
    """Parameters of a regressor as JSON can say them."""
    return {name: _to_json(value) for name, value in params.items()}


def unpack_params(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters that `pack_params` took apart."""
    return {name: _from_json(value) for name, value in plain.items()}


def pack(model: Model) -> tuple[Header, Arrays]:
    """Header and arrays of a model; its parameters are kept beside them (`pack_params`)."""
    fold, ens = model.fold, model.fold.ensemble
    header, arrays = pack_experts(fold)
    arrays |= {
        **scaling_to_arrays(model.scaling),
        "seen_x": fold.X,
        "seen_y": fold.y,
        "seen_extra": fold.extra,
        **_seen_to_arrays(fold),
        "log_w": ens.log_w,
        **_scale_to_arrays(ens.scale),
        **_posterior_to_arrays(ens.experts),
        **_base_to_arrays(fold),
    }
    names = [] if model.columns is None else list(model.columns)
    return {**header, "n_inputs": model.n_features_in_, "input_names": names}, arrays


def unpack(params: Mapping[str, Any], header: Header, arrays: Arrays) -> Model:
    """The model that `pack` took apart, of a regressor with these parameters."""
    empty = unpack_experts(params, header, arrays)
    scale = _scale_from_arrays(arrays, empty.prior.scale)
    experts = _posterior_from_arrays(empty, arrays)
    names = tuple(str(name) for name in header["input_names"]) or None
    fold = replace(
        empty,
        X=arrays["seen_x"],
        y=arrays["seen_y"],
        extra=arrays["seen_extra"],
        seen=_seen_from_arrays(arrays),
        ensemble=replace(empty.prior, experts=experts, log_w=arrays["log_w"], scale=scale),
    )
    fold = replace(fold, base=_base_from_arrays(fold, arrays))
    return Model(fold, scaling_from_arrays(arrays), names)


def unpack_with_params(header: Header, arrays: Arrays) -> tuple[dict[str, Any], Model]:
    """Parameters and model of a file; UnreadableFile where it is not whole."""
    try:
        params = unpack_params(header["params"])
        return params, unpack(params, header, arrays)
    except BROKEN as error:
        raise UnreadableFile(
            f"the file is one of weal's, but not a whole model ({type(error).__name__}: {error}); "
            "restore it from a copy, or save it again"
        ) from error


def pack_experts(fold: TrainedEnsemble) -> tuple[Header, Arrays]:
    """Header and arrays of the experts of a fold as they were settled, before the first label."""
    header = {
        "dictionary": [asdict(kernel) for kernel in fold.dictionary],
        "seed": fold.seed,
        "settled": fold.settled,
        "bend": asdict(fold.bend),
    }
    prior = fold.prior
    arrays = {"prior_log_w": prior.log_w, "ratio": prior.noise, **_prior_to_arrays(prior.scale)}
    if isinstance(fold.embedding, RandomFeatures):
        arrays["zeta"] = fold.embedding.zeta
        if fold.embedding.offset is not None:
            arrays["offset"] = fold.embedding.offset
    if isinstance(fold.embedding, InducingFeatures):
        arrays["inducing"] = np.concatenate(fold.embedding.Z)
        arrays["inducing_of"] = np.array([float(len(Z)) for Z in fold.embedding.Z])
    return header | {"embedding": fold.embedding.tag}, arrays | _doubt_to_arrays(fold)


def unpack_experts(params: Mapping[str, Any], header: Header, arrays: Arrays) -> TrainedEnsemble:
    """The experts that `pack_experts` took apart, in a fold of no label."""
    setting = setting_of(params)
    dictionary = tuple(kernel_of(plain) for plain in header["dictionary"])
    log_w, d = arrays["prior_log_w"], int(header["n_inputs"])
    prior = Ensemble(
        NO_EXPERTS, log_w, _prior_from_arrays(arrays), arrays["ratio"], float(setting.temper)
    )
    nothing = (np.zeros((0, d)), np.zeros(0), np.zeros(0))
    embedding = _embedding(setting, d, str(header["embedding"]), dictionary, arrays)
    bend = LabelWarp(**{name: float(part) for name, part in header["bend"].items()})
    seed, settled = int(header["seed"]), int(header["settled"])
    seen = TrainingLabels(*nothing, np.zeros(0))
    known, both = (dictionary, embedding), (prior, prior)
    doubt = _doubt_from_arrays(arrays)
    bare = TrainedEnsemble(setting, seed, *nothing, *known, *both, settled, bend, seen, doubt)
    return without_labels(bare)


def _seen_to_arrays(fold: TrainedEnsemble) -> Arrays:
    """The labels told, where they are more than those folded in: some are sure, or set aside."""
    seen = fold.seen
    if np.array_equal(seen.extra, fold.extra) and not seen.sure.any():
        return {}
    return {"told_x": seen.X, "told_y": seen.y, "told_extra": seen.extra, "told_sure": seen.sure}


def _seen_from_arrays(arrays: Arrays) -> TrainingLabels:
    if "told_y" in arrays:
        return TrainingLabels(*(arrays[f"told_{part}"] for part in ("x", "y", "extra", "sure")))
    X, y, extra = (arrays[f"seen_{part}"] for part in ("x", "y", "extra"))
    return TrainingLabels(X, y, extra, np.zeros(len(y)))


def _doubt_to_arrays(fold: TrainedEnsemble) -> Arrays:
    """What was found of the labels that experts were settled by; nothing where none is doubted."""
    doubt = fold.doubt
    if not len(doubt):
        return {}
    slab = np.array(astuple(doubt.slab))
    return {"doubt": doubt.probability, "wrong": doubt.wrong.astype(np.float64), "slab": slab}


def _doubt_from_arrays(arrays: Arrays) -> OutlierReport:
    if "doubt" not in arrays:
        return NO_DOUBT
    slab = OutlierPrior(*arrays["slab"].tolist())
    return OutlierReport(arrays["doubt"], arrays["wrong"] > 0.0, slab)


def _base_to_arrays(fold: TrainedEnsemble) -> Arrays:
    """What was believed when experts were settled, where labels have come since."""
    if fold.base is None:
        return {}
    scale: Any = fold.base.scale
    arrays = {"log_w": fold.base.log_w, "a": scale.a, "b": scale.b}
    if isinstance(fold.base.experts, FeatureExperts):
        arrays |= _posterior_to_arrays(fold.base.experts)
    return {f"base_{name}": array for name, array in arrays.items()}


def _base_from_arrays(fold: TrainedEnsemble, arrays: Arrays) -> Ensemble | None:
    if "base_log_w" not in arrays:
        return None
    own = {n.removeprefix("base_"): a for n, a in arrays.items() if n.startswith("base_")}
    experts: Any = fold.ensemble.experts
    if isinstance(experts, ExactExperts):  # the first rows of what is believed now
        n = int((~fold.doubt.wrong).sum())
        L = GrowingRows(experts.L[:, :n, :n].copy())
        experts = ExactExperts(experts.kernels, experts.X[:n], L, experts.z[:, :n])
    else:
        experts = FeatureExperts(own["theta"], own["root"])
    scale = _scale_from_arrays(own, fold.prior.scale)
    return replace(fold.prior, experts=experts, log_w=own["log_w"], scale=scale)


def scaling_to_arrays(scale: Scaling) -> Arrays:
    """A scaling as arrays."""
    arrays = {
        "x_mean": scale.x_mean,
        "x_sd": scale.x_sd,
        "y_mean_sd": np.array([scale.y_mean, scale.y_sd]),
    }
    if scale.x_median is not None and scale.x_spread is not None:
        arrays |= {"x_median": scale.x_median, "x_spread": scale.x_spread}
    return arrays


def scaling_from_arrays(arrays: Arrays) -> Scaling:
    """The scaling that `scaling_to_arrays` took apart."""
    y_mean, y_sd = arrays["y_mean_sd"]
    bend = arrays.get("x_median"), arrays.get("x_spread")
    return Scaling(arrays["x_mean"], arrays["x_sd"], float(y_mean), float(y_sd), *bend)


def _prior_to_arrays(scale: Any) -> Arrays:
    if isinstance(scale, ConjugateMagnitude):
        return {"a0": scale.a, "b0": scale.b, "unit": scale.unit}
    return {"magnitude": scale.variance}


def _prior_from_arrays(arrays: Arrays) -> ConjugateMagnitude | FixedMagnitude:
    if "a0" in arrays:
        return ConjugateMagnitude(arrays["a0"], arrays["b0"], arrays["unit"])
    return FixedMagnitude(arrays["magnitude"])


def _scale_to_arrays(scale: Any) -> Arrays:
    return {"a": scale.a, "b": scale.b} if isinstance(scale, ConjugateMagnitude) else {}


def _scale_from_arrays(arrays: Arrays, prior: Any) -> ConjugateMagnitude | FixedMagnitude:
    if isinstance(prior, ConjugateMagnitude):
        return replace(prior, a=arrays["a"], b=arrays["b"])
    return FixedMagnitude(arrays["magnitude"])


def _embedding(
    setting: ModelParameters, d: int, kind: str, dictionary: tuple[Kernel, ...], arrays: Arrays
) -> Embedding:
    if kind == "Encoded":
        return EncodedFeatures.of(encoded_experts(setting, d), len(arrays["prior_log_w"]))
    if kind == "Spectral":
        return RandomFeatures(arrays["zeta"], arrays.get("offset"))
    if kind == "Inducing":
        ends = np.cumsum(arrays["inducing_of"]).astype(np.intp)
        if ends[-1] != len(arrays["inducing"]):
            raise ValueError(f"{len(arrays['inducing'])} inducing points, of {ends[-1]}")
        return InducingFeatures.of(dictionary, np.split(arrays["inducing"], ends[:-1]))
    return RawInputs()


def _posterior_to_arrays(experts: Any) -> Arrays:
    if isinstance(experts, FeatureExperts | InducingExperts):
        return {"theta": experts.theta, "root": experts.root}
    return {"X": experts.X, "L": experts.L, "z": experts.z}


def _posterior_from_arrays(
    empty: TrainedEnsemble, arrays: Arrays
) -> FeatureExperts | InducingExperts | ExactExperts:
    if "root" in arrays:
        weights = FeatureExperts(arrays["theta"], arrays["root"])
        return InducingExperts(weights) if empty.embedding.tag == "Inducing" else weights
    return ExactExperts(empty.dictionary, arrays["X"], GrowingRows(arrays["L"]), arrays["z"])


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
