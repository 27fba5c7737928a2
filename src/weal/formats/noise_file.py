"""Varying noise in the files of a model: a part of the header, and arrays.

    header   noise_field: kernel, variance and log level of the field, and the place that it is a
             function of: the inputs, the predicted level, or the membership of a region
    arrays   field_x, field_beta, field_root and varies; field_alpha of a level; field_low,
             field_high and field_weight of a region

A model whose noise is even has none of them, as those of weal 0.2.
"""

from dataclasses import asdict, dataclass

import numpy as np

from weal.core.arrays import Array
from weal.core.extensions.noise_field import LevelFunction, NoiseField
from weal.core.extensions.noise_regions import NoiseRegion
from weal.core.paper.ensemble import Ensemble
from weal.formats.codec import ArrayFields, Arrays, Header, kernel_from_json

_REGION = ArrayFields(
    NoiseRegion, {"low": "field_low", "high": "field_high", "weight": "field_weight"}
)


@dataclass(frozen=True, slots=True, eq=False)
class VaryingNoise:
    """The field of an ensemble, and its experts that have it."""

    field: NoiseField | None = None
    varies: Array | None = None  # (M,)


def pack_noise(ens: Ensemble) -> tuple[Header, Arrays]:
    """Header and arrays of the varying noise of an ensemble; empty if noise is even."""
    field = ens.field
    if not isinstance(field, NoiseField) or ens.varies is None:
        return {}, {}
    place, arrays = _place_to_arrays(field)
    header = {
        "kernel": asdict(field.kernel),
        "variance": field.variance,
        "log_level": field.log_level,
        "place": place,
    }
    arrays |= {"field_x": field.X, "field_beta": field.beta, "field_root": field.root}
    return {"noise_field": header}, {**arrays, "varies": ens.varies}


def unpack_noise(header: Header, arrays: Arrays) -> VaryingNoise:
    """The varying noise that `pack_noise` encoded."""
    if "noise_field" not in header:
        return VaryingNoise()
    plain = header["noise_field"]
    field = NoiseField(
        arrays["field_x"],
        arrays["field_beta"],
        arrays["field_root"],
        kernel_from_json(plain["kernel"]),
        float(plain["variance"]),
        float(plain["log_level"]),
        _place_from_arrays(plain["place"], arrays),
    )
    if not len(field.X) == len(field.beta) == len(field.root):
        raise ValueError(f"a noise field has {len(field.X)} centres and {len(field.beta)} weights")
    return VaryingNoise(field, np.asarray(arrays["varies"]))


def _place_to_arrays(field: NoiseField) -> tuple[Header | None, Arrays]:
    """Header and arrays of what the field is a function of."""
    place = field.place
    if place is None:
        return None, {}
    if isinstance(place, NoiseRegion):
        return {"region": len(place.weight)}, _REGION.to_arrays(place)
    level = {"kernel": asdict(place.kernel), "mean": place.mean, "sd": place.sd}
    return {"level": level}, {"field_alpha": place.alpha}


def _place_from_arrays(plain: Header | None, arrays: Arrays) -> LevelFunction | NoiseRegion | None:
    if plain is None:
        return None
    if "region" in plain:
        return _REGION.from_arrays(arrays)
    level = plain["level"]
    kernel, alpha = kernel_from_json(level["kernel"]), arrays["field_alpha"]
    return LevelFunction(kernel, alpha, float(level["mean"]), float(level["sd"]))
