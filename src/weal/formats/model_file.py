"""A fitted model as a header and arrays, for `weal.formats.archive`.

The header has what a person reads: parameters, kernels, names of the inputs. The arrays have the
state: scaling, experts before the first label, training labels and posterior.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, astuple, dataclass, replace

import numpy as np

from weal.core.arrays import Array
from weal.core.extensions.conjugate_magnitude import ConjugateMagnitude
from weal.core.extensions.embeddings import EncodedFeatures, RandomFeatures, RawInputs
from weal.core.extensions.inducing_gp import InducingExperts, InducingFeatures
from weal.core.extensions.label_warp import LabelWarp
from weal.core.extensions.outliers.prior import NO_OUTLIERS, OutlierPrior, OutlierReport
from weal.core.packed_factors import PackedFactors
from weal.core.paper.ensemble import Ensemble
from weal.core.paper.exact_gp import ExactExperts
from weal.core.paper.feature_gp import FeatureExperts
from weal.core.paper.fixed_magnitude import FixedMagnitude
from weal.core.paper.kernels import Kernel
from weal.core.protocols import Embedding, EmbeddingOfKind, Experts, ExpertsOfKind, Magnitude
from weal.core.scaling import Scaling
from weal.errors import UnreadableFile
from weal.formats.codec import (
    BROKEN,
    ArrayFields,
    Arrays,
    Header,
    add_prefix,
    kernel_from_json,
    kernel_to_json,
    value_from_json,
    value_to_json,
    with_prefix,
)
from weal.formats.noise_file import pack_noise, unpack_noise
from weal.model.checks import OLD_MODEL_VERSION
from weal.model.model import Model
from weal.model.parameters import ModelParameters, encoded_experts, setting_of
from weal.model.training import (
    NO_EXPERTS,
    TrainedEnsemble,
    TrainingLabels,
    add_labels,
    without_labels,
)

MODEL_KIND = "EnsembleGPRegressor"
_BASE_PREFIX = "base_"  # of the arrays of the posterior at the last selection of experts
_MAGNITUDE_PRIORS: dict[type, ArrayFields[Magnitude]] = {
    ConjugateMagnitude: ArrayFields(
        ConjugateMagnitude,
        {"a": "a0", "b": "b0", "unit": "unit", "fitted_freedom": "fitted_freedom"},
        optional=frozenset({"fitted_freedom"}),  # none in files of 0.2
    ),
    FixedMagnitude: ArrayFields(FixedMagnitude, {"variance": "magnitude"}),
}
_ALL_LABELS = ArrayFields(
    TrainingLabels, {"X": "told_x", "y": "told_y", "noise_var": "told_extra", "sure": "told_sure"}
)
_SCALING = ArrayFields(
    Scaling,
    {name: name for name in ("x_mean", "x_sd", "x_median", "x_spread")} | {"widths": "x_widths"},
    optional=frozenset({"x_median", "x_spread", "widths"}),
)
_FEATURES = ArrayFields(RandomFeatures, {"zeta": "zeta", "offset": "offset"}, frozenset({"offset"}))


@dataclass(frozen=True, slots=True)
class KindFormat:
    """The arrays of one kind of expert."""

    embedding_to_arrays: Callable[[EmbeddingOfKind], Arrays]
    embedding_from_arrays: Callable[[ModelParameters, int, tuple[Kernel, ...], Arrays], Embedding]
    posterior: ArrayFields[ExpertsOfKind]  # made with `kernels`


def _inducing_to_arrays(embedding: InducingFeatures) -> Arrays:
    counts = np.array([float(len(Z)) for Z in embedding.Z])
    return {"inducing": np.concatenate(embedding.Z), "inducing_of": counts}


def _inducing_from_arrays(
    setting: ModelParameters, d: int, dictionary: tuple[Kernel, ...], arrays: Arrays
) -> InducingFeatures:
    ends = np.cumsum(arrays["inducing_of"]).astype(np.intp)
    if ends[-1] != len(arrays["inducing"]):
        raise ValueError(f"{len(arrays['inducing'])} inducing points, of {ends[-1]}")
    return InducingFeatures.of(dictionary, np.split(arrays["inducing"], ends[:-1]))


def _feature_experts(kernels: tuple[Kernel, ...], theta: Array, root: Array) -> FeatureExperts:
    return FeatureExperts(theta, root)


def _inducing_experts(kernels: tuple[Kernel, ...], theta: Array, root: Array) -> InducingExperts:
    return InducingExperts(FeatureExperts(theta, root))


def _exact_experts(kernels: tuple[Kernel, ...], X: Array, L: Array, z: Array) -> ExactExperts:
    return ExactExperts(kernels, X, PackedFactors.of(L), z)


_WEIGHT_ARRAYS = {"theta": "theta", "root": "root"}
_KIND_FORMATS = {
    RandomFeatures.tag: KindFormat(
        _FEATURES.to_arrays,
        lambda setting, d, dictionary, arrays: _FEATURES.from_arrays(arrays),
        ArrayFields(_feature_experts, _WEIGHT_ARRAYS),
    ),
    EncodedFeatures.tag: KindFormat(
        lambda embedding: {},
        lambda setting, d, dictionary, arrays: EncodedFeatures.of(
            encoded_experts(setting, d), len(arrays["prior_log_w"])
        ),
        ArrayFields(_feature_experts, _WEIGHT_ARRAYS),
    ),
    InducingFeatures.tag: KindFormat(
        _inducing_to_arrays, _inducing_from_arrays, ArrayFields(_inducing_experts, _WEIGHT_ARRAYS)
    ),
    RawInputs.tag: KindFormat(
        lambda embedding: {},
        lambda setting, d, dictionary, arrays: RawInputs(),
        ArrayFields(_exact_experts, {"X": "X", "L": "L", "z": "z"}),
    ),
}


def pack_params(params: Mapping[str, object]) -> Header:
    """Parameters of a regressor as JSON; those of 0.2 name no version of the model."""
    given = dict(params)
    if given.get("model_version") == OLD_MODEL_VERSION:
        del given["model_version"]
    return {name: value_to_json(value) for name, value in given.items()}


def unpack_params(plain: Header) -> Header:
    """The parameters that `pack_params` encoded."""
    found = {name: value_from_json(value) for name, value in plain.items()}
    return {"model_version": OLD_MODEL_VERSION, **found}


def pack(model: Model) -> tuple[Header, Arrays]:
    """Header and arrays of a model; its parameters are kept beside them (`pack_params`)."""
    trained, ens = model.trained, model.trained.ensemble
    header, arrays = pack_experts(trained)
    arrays |= {
        **scaling_to_arrays(model.scaling),
        "seen_x": trained.X,
        "seen_y": trained.y,
        "seen_extra": trained.noise_var,
        **_told_to_arrays(trained),
        "log_w": ens.log_w,
        **_magnitude_to_arrays(ens.scale),
        **_KIND_FORMATS[trained.embedding.tag].posterior.to_arrays(ens.experts),
        **_base_to_arrays(trained),
    }
    names = [] if model.columns is None else list(model.columns)
    return {**header, "n_inputs": model.n_features_in_, "input_names": names}, arrays


def unpack(params: Header, header: Header, arrays: Arrays) -> Model:
    """The model that `pack` encoded, of a regressor with these parameters."""
    empty = unpack_experts(params, header, arrays)
    names = tuple(str(name) for name in header["input_names"]) or None
    trained = replace(
        empty,
        X=arrays["seen_x"],
        y=arrays["seen_y"],
        noise_var=arrays["seen_extra"],
        all_labels=_told_from_arrays(arrays),
        ensemble=_posterior_from_arrays(empty, arrays),
    )
    trained = replace(trained, base=_base_from_arrays(trained, with_prefix(_BASE_PREFIX, arrays)))
    return Model(trained, scaling_from_arrays(arrays), names)


def unpack_with_params(header: Header, arrays: Arrays) -> tuple[Header, Model]:
    """Parameters and model of a file; UnreadableFile if it is incomplete."""
    try:
        params = unpack_params(header["params"])
        return params, unpack(params, header, arrays)
    except BROKEN as error:
        raise UnreadableFile(
            f"the file is a weal file, but not a complete model ({type(error).__name__}: {error}); "
            "restore it from a copy, or save it again"
        ) from error


def pack_experts(trained: TrainedEnsemble) -> tuple[Header, Arrays]:
    """Header and arrays of the selected experts, before the first label."""
    prior = trained.prior
    header = {
        "dictionary": [kernel_to_json(kernel) for kernel in trained.dictionary],
        "seed": trained.seed,
        "settled": trained.n_selection_labels,
        "bend": asdict(trained.warp),
        "embedding": trained.embedding.tag,
        **({"widths": list(trained.setting.widths)} if trained.setting.widths else {}),
    }
    noise, noise_arrays = pack_noise(prior)
    arrays = {
        "prior_log_w": prior.log_w,
        "ratio": prior.noise,
        **_MAGNITUDE_PRIORS[type(prior.scale)].to_arrays(prior.scale),
        **_KIND_FORMATS[trained.embedding.tag].embedding_to_arrays(trained.embedding),
        **_outliers_to_arrays(trained.outliers),
        **noise_arrays,
    }
    return {**header, **noise}, arrays


def unpack_experts(params: Header, header: Header, arrays: Arrays) -> TrainedEnsemble:
    """The experts that `pack_experts` encoded, before the first label."""
    widths = tuple(int(width) for width in header.get("widths", ()))
    setting = replace(setting_of(params), widths=widths)
    dictionary = tuple(kernel_from_json(plain) for plain in header["dictionary"])
    d = int(header["n_inputs"])
    scale = _MAGNITUDE_PRIORS[ConjugateMagnitude if "a0" in arrays else FixedMagnitude]
    noise = unpack_noise(header, arrays)
    prior = Ensemble(
        NO_EXPERTS,
        arrays["prior_log_w"],
        scale.from_arrays(arrays),
        arrays["ratio"],
        float(setting.temper),
        noise.field,
        noise.varies,
    )
    _check_sizes(prior, dictionary)
    nothing = (np.zeros((0, d)), np.zeros(0), np.zeros(0))
    kind = _KIND_FORMATS[str(header["embedding"])]
    bare = TrainedEnsemble(
        setting,
        int(header["seed"]),
        *nothing,
        dictionary,
        kind.embedding_from_arrays(setting, d, dictionary, arrays),
        prior,
        prior,
        int(header["settled"]),
        LabelWarp(**{name: float(part) for name, part in header["bend"].items()}),
        TrainingLabels(*nothing, np.zeros(0)),
        _outliers_from_arrays(arrays),
    )
    return without_labels(bare)


def _check_sizes(prior: Ensemble, dictionary: tuple[Kernel, ...]) -> None:
    """ValueError if weights, noise, magnitudes and kernels are not of the same M experts."""
    M = (len(prior.log_w),)
    magnitude = _MAGNITUDE_PRIORS[type(prior.scale)].to_arrays(prior.scale)
    varies = () if prior.varies is None else (prior.varies,)
    shapes = {part.shape for part in (prior.log_w, prior.noise, *varies, *magnitude.values())}
    if shapes != {M} or (dictionary and (len(dictionary),) != M):
        raise ValueError(f"it has {M[0]} weights and {len(dictionary)} kernels of experts")


def scaling_to_arrays(scale: Scaling) -> Arrays:
    """A scaling as arrays."""
    return _SCALING.to_arrays(scale) | {"y_mean_sd": np.array([scale.y_mean, scale.y_sd])}


def scaling_from_arrays(arrays: Arrays) -> Scaling:
    """The scaling that `scaling_to_arrays` encoded."""
    y_mean, y_sd = arrays["y_mean_sd"].tolist()
    return _SCALING.from_arrays(arrays, y_mean=y_mean, y_sd=y_sd)


def _told_to_arrays(trained: TrainedEnsemble) -> Arrays:
    """All labels, where they differ from the training labels: some are trusted, or left out."""
    labels = trained.all_labels
    same = np.array_equal(labels.noise_var, trained.noise_var) and not labels.sure.any()
    return {} if same else _ALL_LABELS.to_arrays(labels)


def _told_from_arrays(arrays: Arrays) -> TrainingLabels:
    if "told_y" in arrays:
        return _ALL_LABELS.from_arrays(arrays)
    X, y, noise_var = (arrays[f"seen_{part}"] for part in ("x", "y", "extra"))
    return TrainingLabels(X, y, noise_var, np.zeros(len(y)))


def _outliers_to_arrays(outliers: OutlierReport) -> Arrays:
    """The outlier report of the labels that selected the experts; nothing if it is empty."""
    if not len(outliers):
        return {}
    prior = np.array(astuple(outliers.prior))
    return {
        "doubt": outliers.probability,
        "wrong": outliers.wrong.astype(np.float64),
        "slab": prior,
    }


def _outliers_from_arrays(arrays: Arrays) -> OutlierReport:
    if "doubt" not in arrays:
        return NO_OUTLIERS
    prior = OutlierPrior(*arrays["slab"].tolist())
    return OutlierReport(arrays["doubt"], arrays["wrong"] > 0.0, prior)


def _magnitude_to_arrays(scale: Magnitude) -> Arrays:
    """Belief in a magnitude after labels; a fixed one is in the prior."""
    return {name: getattr(scale, name) for name in ("a", "b") if hasattr(scale, name)}


def _posterior_from_arrays(
    trained: TrainedEnsemble, arrays: Arrays, experts: Experts | None = None
) -> Ensemble:
    """The ensemble after labels; its experts are read too, unless they are given."""
    if experts is None:
        kind = _KIND_FORMATS[trained.embedding.tag]
        experts = kind.posterior.from_arrays(arrays, kernels=trained.dictionary)
    scale = trained.prior.scale
    if isinstance(scale, ConjugateMagnitude):
        scale = replace(scale, a=arrays["a"], b=arrays["b"])
    return replace(trained.prior, experts=experts, log_w=arrays["log_w"], scale=scale)


def _base_to_arrays(trained: TrainedEnsemble) -> Arrays:
    """The posterior at the last selection, where labels have come since.

    Exact experts have it in their present one: the first rows of the factor.
    """
    if trained.base is None:
        return {}
    arrays = {"log_w": trained.base.log_w, **_magnitude_to_arrays(trained.base.scale)}
    if not trained.embedding.points_grow:
        arrays |= _KIND_FORMATS[trained.embedding.tag].posterior.to_arrays(trained.base.experts)
    return add_prefix(_BASE_PREFIX, arrays)


def _base_from_arrays(trained: TrainedEnsemble, arrays: Arrays) -> Ensemble | None:
    if "log_w" not in arrays:
        return None
    experts: ExpertsOfKind = None
    if trained.embedding.points_grow:
        experts = trained.ensemble.experts
        experts = experts.after_first(int((~trained.outliers.wrong).sum()))
    elif "theta" not in arrays:  # weal 0.2 left out those of inducing points
        first = (part[: len(trained.outliers)] for part in trained.all_labels.parts)
        experts = add_labels(without_labels(trained), *first).ensemble.experts
    return _posterior_from_arrays(trained, arrays, experts)
