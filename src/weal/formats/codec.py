"""The encoding of dataclasses in files: a JSON header, and arrays by name.

    ArrayFields     fields of a dataclass <-> arrays; the names of the arrays are the format
    value_to_json   parameters <-> JSON; kernels and scalings as {"Kernel": fields}, {"Scaling": ..}
    id_to_json      ids of candidates <-> JSON; a tuple as a list
    array_to_json   an array <-> JSON, to the last bit, for snapshots in a store
    add_prefix      arrays of a part, under names of their own

A field that is None has no array. A missing array raises KeyError: the readers of files turn the
errors in BROKEN into UnreadableFile.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array
from weal.core.paper.kernels import Kernel
from weal.core.scaling import Scaling

Json = Any  # a value of `json.loads`, and a parameter that was made of one
Header = dict[str, Json]
Arrays = dict[str, NDArray[Any]]  # numbers of any type
# from an incomplete or a foreign file: int(Infinity) overflows, and nested JSON recurses
BROKEN = (
    KeyError, TypeError, IndexError, AttributeError, ValueError, OverflowError, RecursionError
)  # fmt: skip
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ArrayFields(Generic[T]):
    """A dataclass whose fields are arrays."""

    make: Callable[..., T]
    names: Mapping[str, str]  # field: array
    optional: frozenset[str] = frozenset()  # fields that may be None

    def to_arrays(self, value: T) -> Arrays:
        """Arrays of the fields that are not None."""
        parts = {array: getattr(value, field) for field, array in self.names.items()}
        return {array: np.asarray(part) for array, part in parts.items() if part is not None}

    def from_arrays(self, arrays: Mapping[str, Array], **others: object) -> T:
        """The dataclass that `to_arrays` encoded, with its fields that are not arrays."""
        parts = {
            field: arrays.get(array) if field in self.optional else arrays[array]
            for field, array in self.names.items()
        }
        return self.make(**others, **parts)


def add_prefix(prefix: str, arrays: Mapping[str, Array]) -> Arrays:
    """The arrays under names with a prefix."""
    return {prefix + name: array for name, array in arrays.items()}


def with_prefix(prefix: str, arrays: Mapping[str, Array]) -> Arrays:
    """The arrays whose names have that prefix, without it."""
    own = {name: array for name, array in arrays.items() if name.startswith(prefix)}
    return {name.removeprefix(prefix): array for name, array in own.items()}


def scaling_parts(scaling: Scaling) -> list[tuple[str, object]]:
    """The numbers of a scaling by name; a source is not a part of a file.

    Without categories there are no widths, as in files of 0.2.
    """
    left_out = {"source", *(["widths"] if scaling.widths is None else [])}
    numbers = asdict(replace(scaling, source=None))
    return [(name, part) for name, part in numbers.items() if name not in left_out]


def value_to_json(value: object) -> Json:
    """A parameter as JSON; a random generator is None, since its seed is kept."""
    if isinstance(value, Kernel):
        return {"Kernel": kernel_to_json(value)}
    if isinstance(value, Scaling):
        return {"Scaling": {name: np.asarray(part).tolist() for name, part in scaling_parts(value)}}
    if value is np.random or isinstance(value, np.random.RandomState):
        return None
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [value_to_json(part) for part in value]
    return value


def value_from_json(plain: Json) -> Json:
    """The parameter that `value_to_json` encoded; a list becomes a tuple."""
    if isinstance(plain, list):
        return tuple(value_from_json(part) for part in plain)
    if isinstance(plain, dict) and "Kernel" in plain:
        return kernel_from_json(plain["Kernel"])
    if isinstance(plain, dict) and "Scaling" in plain:
        parts = plain["Scaling"].items()
        return Scaling(**{name: _list_to_array(part) for name, part in parts})
    return plain


def _list_to_array(part: Json) -> Json:
    return np.array(part) if isinstance(part, list) else part


def kernel_to_json(kernel: Kernel) -> Header:
    """The fields of a kernel; without categories it has no widths, as in files of 0.2."""
    return {name: part for name, part in asdict(kernel).items() if name != "widths" or part}


def kernel_from_json(plain: dict[str, Json]) -> Kernel:
    """The kernel with these fields."""
    return Kernel(**{name: value_from_json(part) for name, part in plain.items()})


def id_to_json(name: Hashable) -> Json:
    """An id as JSON; a tuple as a list."""
    if name is None or isinstance(name, str | bool | int | float):
        return name
    if isinstance(name, tuple):
        return [id_to_json(part) for part in name]
    raise ValueError(
        f"the id {name!r} is a {type(name).__name__}; a file keeps ids that are text, numbers or "
        "tuples of them: turn the ids into text first"
    )


def id_from_json(plain: Json) -> Json:
    """The id that `id_to_json` encoded."""
    return tuple(id_from_json(part) for part in plain) if isinstance(plain, list) else plain


def array_to_json(array: Array) -> dict[str, Json]:
    """Shape and bytes of an array of floats."""
    data = np.ascontiguousarray(array, dtype="<f8").tobytes()
    return {"shape": list(array.shape), "data": b64encode(data).decode()}


def array_from_json(plain: dict[str, Json]) -> Array:
    """The array that `array_to_json` encoded; ValueError if its bytes have another shape."""
    flat = np.frombuffer(b64decode(plain["data"], validate=True), dtype="<f8")
    found = flat.reshape(plain["shape"])
    if list(found.shape) != plain["shape"]:  # numpy takes -1 for whatever is left
        raise ValueError(f"an array has the shape {list(found.shape)}, not {plain['shape']}")
    return found.astype(np.float64)
