"""Files that are damaged or not ours: nothing is executed, and damage is never read as numbers."""

import io
import json
import os
import pickle
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import weal
from weal import EnsembleGPRegressor, Kernel, UnreadableFile
from weal.formats import archive
from weal.formats.model_file import MODEL_KIND

rng = np.random.default_rng(5)
X = rng.normal(size=(14, 3)) * [1.0, 20.0, 0.1] + [0.0, 5.0, -3.0]
y = 40.0 + 7.0 * np.sin(X[:, 0]) + 0.3 * X[:, 1]
for shared in (X, y):
    shared.flags.writeable = False

THREE = (Kernel("rbf", 0.7), Kernel("matern32", (1.0, 2.0, 3.0)), Kernel("rq", 2.0, alpha=0.5))


def small_model(approximation="features"):
    model = EnsembleGPRegressor(
        THREE,
        approximation=approximation,
        magnitude=None,
        noise=0.1,
        n_frequencies=4,
        random_state=0,
    )
    return model.fit(X, y)


@pytest.fixture(params=["features", "exact", "default"])
def saved(request, tmp_path):
    path = tmp_path / "model.weal"
    model = EnsembleGPRegressor().fit(X, y) if request.param == "default" else None
    (model or small_model(request.param)).save(path)
    return path


def test_a_file_cut_short_anywhere_is_refused(saved):
    whole = saved.read_bytes()
    for length in np.linspace(0, len(whole) - 1, 150).astype(int):
        saved.write_bytes(whole[:length])
        with pytest.raises(UnreadableFile, match="cut short or damaged"):
            EnsembleGPRegressor.load(saved)


def test_a_flipped_byte_is_found_or_changes_nothing(saved):
    whole = saved.read_bytes()
    header, arrays = archive.read(saved, MODEL_KIND)
    draw = np.random.default_rng(0)
    with zipfile.ZipFile(saved) as bundle:
        directory = bundle.start_dir  # the list of members has no checksum: look there too
    spots = [*draw.integers(len(whole), size=150), *draw.integers(directory, len(whole), size=150)]
    refused = 0
    for at in spots:
        damaged = bytearray(whole)
        damaged[at] ^= draw.integers(1, 256)
        saved.write_bytes(damaged)
        try:
            found, numbers = archive.read(saved, MODEL_KIND)
        except UnreadableFile:
            refused += 1
            continue
        assert found == header
        assert numbers.keys() == arrays.keys()
        for name in arrays:
            assert_array_equal(numbers[name], arrays[name])
    assert refused > len(spots) / 3


@pytest.mark.parametrize("content", [b"", b"PK", b"hello, world\n" * 50, bytes(1000)])
def test_a_foreign_file_is_refused(content, tmp_path):
    path = tmp_path / "model.weal"
    path.write_bytes(content)
    with pytest.raises(UnreadableFile, match=r"model\.weal is not a weal file.*save it again"):
        EnsembleGPRegressor.load(path)


def test_paths_without_a_file_raise_what_open_raises(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        EnsembleGPRegressor.load(tmp_path / "nowhere")
    with pytest.raises(OSError, match=r"directory|denied"):
        EnsembleGPRegressor.load(tmp_path)


class Trap:
    """What an attacker would pickle: loading it creates a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_a_pickle_is_refused_and_not_executed(tmp_path):
    (tmp_path / "model.weal").write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
    with pytest.raises(UnreadableFile):
        EnsembleGPRegressor.load(tmp_path / "model.weal")
    assert not (tmp_path / "sprung").exists()


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def bundle_of(path, arrays, compression=zipfile.ZIP_STORED, /, text=None, **changes):
    """A weal file by hand: `arrays` maps names to the bytes of .npy files."""
    version = {"format_version": archive.FORMAT_VERSION, "weal_version": weal.__version__}
    header = {"format": "weal", "kind": MODEL_KIND, **version}
    with zipfile.ZipFile(path, "w", compression) as bundle:
        about = json.dumps({**header, "arrays": sorted(arrays), **changes})
        bundle.writestr("header.json", about if text is None else text)
        for name, content in arrays.items():
            bundle.writestr(f"{name}.npy", content)
    return path


def test_an_array_of_objects_is_refused_and_not_executed(tmp_path):
    trap = np.array([Trap(tmp_path / "sprung")], dtype=object)
    with pytest.raises(UnreadableFile, match=r"'theta\.npy', but not of numbers"):
        archive.read(bundle_of(tmp_path / "f", {"theta": npy(trap)}), MODEL_KIND)
    np.savez(tmp_path / "foreign.npz", theta=trap)
    with pytest.raises(UnreadableFile, match="weal did not write it"):
        EnsembleGPRegressor.load(tmp_path / "foreign.npz")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    "shape",
    ["(1000000000000,)", "(-2, -3)", "(4, 4)", "(6L,)", "(True, 6)", "6", "(" * 200, "9" * 5000],
)
def test_an_array_whose_header_lies_is_refused_before_anything_is_allocated(shape, tmp_path):
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(48)
    with pytest.raises(UnreadableFile, match=r"has an array 'a\.npy', but "):
        archive.read(bundle_of(tmp_path / "f", {"a": content}), MODEL_KIND)


def test_a_compressed_file_is_refused(tmp_path):
    path = bundle_of(tmp_path / "f", {"a": npy(np.zeros(10**6))}, zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 10**5
    with pytest.raises(UnreadableFile, match="compressed"):
        archive.read(path, MODEL_KIND)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"format_version": archive.FORMAT_VERSION + 1, "weal_version": "9.0"},
            "weal 9.0.*upgrade",
        ),
        ({"format_version": "1"}, "upgrade weal"),
        ({"kind": "Pool"}, f"holds a Pool, not a {MODEL_KIND}"),
        ({"format": "leaw"}, "not one of weal's"),
        ({"text": "[1, 2]"}, "not one of weal's"),
        ({"text": "{oops"}, "not JSON"),
        ({"text": b"\xff\xfe\x00"}, "not JSON"),
        ({"text": "[" * 100_000}, "damaged"),
        ({"arrays": ["log_w"]}, "its header names"),
        ({}, "not a complete model.*restore it"),
        ({"format_version": 1}, "open it with weal 0.2.0 and save it again"),
        ({"params": {"colour": "red"}}, "not a complete model.*colour"),
    ],
)
def test_a_header_that_is_not_ours_is_refused_with_the_reason(changes, message, tmp_path):
    path = bundle_of(tmp_path / "f", {"a": npy(np.zeros(3))}, **changes)
    with pytest.raises(UnreadableFile, match=message):
        EnsembleGPRegressor.load(path)


def test_an_interrupted_save_leaves_the_old_file_and_no_draft(saved, monkeypatch):
    before = saved.read_bytes()

    def power_cut(_):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", power_cut)
    with pytest.raises(OSError, match="no space left"):
        small_model().set_params(random_state=1).fit(X, y).save(saved)
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]
    assert saved.read_bytes() == before


def test_saving_replaces_the_old_file_and_leaves_no_draft(saved):
    model = small_model().set_params(random_state=1).fit(X, y)
    model.save(str(saved))
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]
    back = EnsembleGPRegressor.load(str(saved))
    assert_array_equal(back.predict(X, return_std=True), model.predict(X, return_std=True))
