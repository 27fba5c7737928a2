"""A fitted classifier as a file: the models of its classes, slopes, classes and labels.

The header has the parameters, the classes as JSON with the kind of their array, and the header of
each model; the arrays of model k are under the prefix `class<k>_`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.extensions.class_scores import Codes
from weal.errors import UnreadableFile
from weal.files import FilePath
from weal.formats import archive, model_file
from weal.formats.codec import BROKEN, Arrays, Header, add_prefix, with_prefix
from weal.model.model import Model

CLASSIFIER_KIND = "EnsembleGPClassifier"
_KINDS = "biufUO"  # of arrays of classes: booleans, numbers, text


@dataclass(frozen=True, slots=True, eq=False)
class ClassifierParts:
    """What a file of a classifier holds."""

    params: Header
    models: tuple[Model, ...]
    slopes: Array
    classes: NDArray[np.generic]
    codes: Codes
    n_inputs: int
    input_names: tuple[str, ...]


def write(path: FilePath, parts: ClassifierParts) -> None:
    """Write the file of a classifier; ValueError for classes that JSON does not have."""
    plain, kind = parts.classes.tolist(), parts.classes.dtype.kind
    if kind not in _KINDS or not all(isinstance(one, str | int | float) for one in plain):
        raise ValueError(
            f"classes are {plain[:3]!r}; a file holds text, numbers and booleans: fit to those"
        )
    packed = [model_file.pack(model) for model in parts.models]
    arrays: Arrays = {"slopes": parts.slopes, "codes": parts.codes.astype(np.float64)}
    for k, (_, own) in enumerate(packed):
        arrays |= add_prefix(f"class{k}_", own)
    header = {
        "params": model_file.pack_params(_plain_params(parts.params)),
        "classes": plain,
        "classes_kind": kind,
        "n_inputs": parts.n_inputs,
        "input_names": list(parts.input_names),
        "models": [about for about, _ in packed],
    }
    archive.write(path, CLASSIFIER_KIND, header, arrays)


def _plain_params(params: Header) -> Header:
    classes = params["classes"]
    plain = None if classes is None else np.asarray(classes).tolist()
    return {**params, "classes": plain}


def read(path: FilePath) -> ClassifierParts:
    """What the file of a classifier holds; UnreadableFile if it is incomplete."""
    header, arrays = archive.read(path, CLASSIFIER_KIND)
    try:
        params = model_file.unpack_params(header["params"])
        setting = {name: value for name, value in params.items() if name != "classes"}
        setting |= {"warp": None, "outliers": False}
        models = tuple(
            model_file.unpack(setting, about, with_prefix(f"class{k}_", arrays))
            for k, about in enumerate(header["models"])
        )
        is_object = header["classes_kind"] == "O"
        classes = np.array(header["classes"], dtype=object if is_object else None)
        codes = arrays["codes"].astype(np.intp)
        names = tuple(map(str, header["input_names"]))
        n_inputs = int(header["n_inputs"])
        return ClassifierParts(params, models, arrays["slopes"], classes, codes, n_inputs, names)
    except BROKEN as error:
        raise UnreadableFile(
            f"the file is a weal file, but not a complete classifier ({type(error).__name__}: "
            f"{error}); restore it from a copy, or save it again"
        ) from error
