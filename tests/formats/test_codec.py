"""The encoding of dataclasses in files: nothing is lost, and a file of 0.2 is written as it was."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from weal import EnsembleGPRegressor, Kernel, Scaling
from weal.formats import archive, codec
from weal.formats.codec import ArrayFields
from weal.formats.model_file import MODEL_KIND

GOLDEN = Path(__file__).parents[1] / "golden_0_2"
MODELS = sorted(path.name for path in GOLDEN.glob("model-*.weal-0.2"))


@dataclass
class Part:
    X: np.ndarray
    y: np.ndarray | None = None
    count: int = 0


FIELDS = ArrayFields(Part, {"X": "part_x", "y": "part_y"}, optional=frozenset({"y"}))


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_0_2_is_written_with_the_same_header_and_arrays(name, tmp_path):
    before = archive.read(GOLDEN / name, MODEL_KIND)
    EnsembleGPRegressor.load(GOLDEN / name).save(tmp_path / "again.weal")
    header, arrays = archive.read(tmp_path / "again.weal", MODEL_KIND)
    assert header == before[0] | {"weal_version": header["weal_version"]}
    assert {key: array.dtype for key, array in arrays.items()} == {
        key: array.dtype for key, array in before[1].items()
    }
    for key, array in before[1].items():
        np.testing.assert_array_equal(arrays[key], array)


def test_fields_that_are_none_have_no_array_and_come_back_as_none():
    part = Part(np.ones((2, 3)), None, 4)
    arrays = FIELDS.to_arrays(part)
    assert list(arrays) == ["part_x"]
    again = FIELDS.from_arrays(arrays, count=4)
    assert again.y is None
    assert again.count == 4
    np.testing.assert_array_equal(again.X, part.X)


def test_a_missing_array_is_an_error_that_readers_of_files_expect():
    with pytest.raises(codec.BROKEN):
        FIELDS.from_arrays({"part_y": np.zeros(2)})


def test_prefixes_keep_parts_apart():
    arrays = codec.add_prefix("own_", {"a": np.zeros(1)}) | {"a": np.ones(1)}
    assert codec.with_prefix("own_", arrays) == {"a": np.zeros(1)}


@pytest.mark.parametrize("value", [
    Kernel("rq", (0.1, 2.0), alpha=0.7), (Kernel("rbf", 3.0), Kernel("anova", 1.0)), None, "auto",
    (1e-300, 0.1 + 0.2), True,
])  # fmt: skip
def test_parameters_survive_json(value):
    assert codec.value_from_json(json.loads(json.dumps(codec.value_to_json(value)))) == value


def test_a_scaling_survives_json():
    scaling = Scaling(np.array([1.0, 0.1]), np.array([2.0, 3.0]), 0.5, 1.5)
    plain = json.loads(json.dumps(codec.value_to_json(scaling)))
    again = codec.value_from_json(plain)
    np.testing.assert_array_equal(again.x_mean, scaling.x_mean)
    assert (again.y_mean, again.y_sd, again.x_median) == (0.5, 1.5, None)


@pytest.mark.parametrize("name", ["a", 3, 2.5, True, None, ("a", (1, 2))])
def test_ids_survive_json(name):
    assert codec.id_from_json(json.loads(json.dumps(codec.id_to_json(name)))) == name


def test_arrays_survive_json_to_the_last_bit():
    array = np.array([[0.1, -0.0, 1e-310], [np.nextafter(1.0, 2.0), 1e300, np.pi]])
    again = codec.array_from_json(json.loads(json.dumps(codec.array_to_json(array))))
    assert again.tobytes() == array.tobytes()


@pytest.mark.parametrize("left_out", [(), ("base_theta", "base_root")], ids=["now", "0.2"])
def test_experts_on_inducing_points_go_on_after_labels_since_their_selection(left_out, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((45, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(45)
    model = EnsembleGPRegressor(approximation="inducing").fit(X[:40], y[:40])
    model.partial_fit(X[40:42], y[40:42]).save(tmp_path / "model.weal")
    header, arrays = archive.read(tmp_path / "model.weal", MODEL_KIND)
    own = ("format", "format_version", "weal_version", "kind", "arrays")
    header = {key: value for key, value in header.items() if key not in own}
    fewer = {key: array for key, array in arrays.items() if key not in left_out}
    archive.write(tmp_path / "fewer.weal", MODEL_KIND, header, fewer)
    again = EnsembleGPRegressor.load(tmp_path / "fewer.weal").partial_fit(X[42:], y[42:])
    model.partial_fit(X[42:], y[42:])
    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-9)
