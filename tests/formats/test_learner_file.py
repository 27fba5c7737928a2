"""Files of learners: what they keep, what they cannot keep, strangers and damage."""

import json
import zipfile
from contextlib import suppress

import numpy as np
import pytest

from learning import (
    POOL,
    Y,
    a_learner,
    everything,
    teach,
)
from weal import ActiveLearner, EnsembleGPRegressor, Kernel, UnreadableFile
from weal.core.paper import acquisition as ours

KINDS = pytest.mark.parametrize("approximation", ["features", "exact", "inducing"])


def reopened(learner, folder, **options):
    learner.save(folder / "learner.weal")
    return ActiveLearner.load(folder / "learner.weal", **options)


# Acquisition functions


def qbc(belief):
    """A user's own, called as one of ours."""
    return -(belief.w @ belief.var)


def test_functions_of_the_users_own_must_be_given_again(tmp_path):
    learner = a_learner(["wvar", qbc])
    teach(learner, 2)
    learner.save(tmp_path / "learner.weal")
    with pytest.raises(
        ValueError, match=r"your own acquisition functions \(qbc\).*acquisition="
    ) as caught:
        ActiveLearner.load(tmp_path / "learner.weal")
    assert not isinstance(caught.value, UnreadableFile)
    with pytest.raises(ValueError, match="same functions in the same order"):
        ActiveLearner.load(tmp_path / "learner.weal", [qbc, "wvar"])
    with pytest.raises(TypeError, match="it needs a name, a function, or a list"):
        ActiveLearner.load(tmp_path / "learner.weal", 5)
    other = ActiveLearner.load(tmp_path / "learner.weal", ["wvar", qbc])
    assert other.acquisition_weights == learner.acquisition_weights
    assert teach(other, 4) == teach(learner, 4)


def test_our_functions_need_not_be_given_again_even_when_given_as_functions(tmp_path):
    learner = a_learner(ours.gpm_var)
    assert teach(reopened(learner, tmp_path), 3) == teach(learner, 3)


# Frames


def frames():
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    names = [f"sample {n}" for n in range(60)]
    data = {
        "heat": POOL[:, 0].astype(np.float32),
        "id": names,
        "on": np.arange(60) % 2 == 0,
        "n": np.arange(60, dtype=np.int16),
    }
    table = pandas.DataFrame(data)
    index = pandas.Index(names, name="sample")
    pairs = pandas.MultiIndex.from_product([np.arange(6), list("abcdefghij")], names=["i", None])
    nullable = table.astype({"heat": "Float32", "on": "boolean", "n": "UInt8"})
    return {
        "pandas": (table, "id"),
        "pandas half": (table.astype({"heat": np.float16}), "id"),
        "pandas nullable": (nullable, "id"),
        "pandas index": (table.set_index(index)[["heat", "n"]], None),
        "pandas pairs": (table.set_index(pairs)[["heat", "n"]], None),
        "pandas numbers": (pandas.DataFrame(POOL), None),
        "pandas strange index": (table.set_index(index), "id"),
        "polars": (polars.DataFrame(data), "id"),
        "polars numbers": (polars.DataFrame({**data, "id": np.arange(60, dtype=np.uint8)}), "id"),
        "polars plain": (polars.DataFrame(data).drop("id"), None),
        "pyarrow": (pyarrow.table(data), "id"),
    }


@pytest.mark.parametrize("name", frames())
def test_a_frame_comes_back_as_it_was(name, tmp_path):
    table, column = frames()[name]
    learner = ActiveLearner(table, EnsembleGPRegressor(), id_column=column)
    other = reopened(learner, tmp_path)
    assert other.candidates.ids == learner.candidates.ids
    rows, expected = (
        other.rows(learner.candidates.ids[:7]),
        learner.rows(learner.candidates.ids[:7]),
    )
    assert type(rows) is type(expected)
    if name.startswith("pandas"):
        from pandas.testing import assert_frame_equal

        assert_frame_equal(rows, expected)
    else:
        assert rows.equals(expected)
        assert rows.schema == expected.schema
    assert other.ask(4) == learner.ask(4)


def test_a_model_of_a_frame_knows_its_columns_when_it_comes_back(tmp_path):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(POOL, columns=["heat", "length", "größe"])
    other = reopened(a_learner(pool=table), tmp_path)
    assert other.model.predict(table).shape == (60,)


# What a file cannot keep, strangers, and damage


@pytest.mark.parametrize("odd", [frozenset({1}), b"bytes", ("a", b"b"), 1j])
def test_ids_that_a_file_cannot_keep_are_refused_and_the_old_file_stays(odd, tmp_path):
    path = tmp_path / "learner.weal"
    a_learner().save(path)
    old = path.read_bytes()
    learner = a_learner(ids=[odd, *range(1, 60)])
    before = everything(learner)
    with pytest.raises(ValueError, match="a file keeps ids that are text, numbers or tuples"):
        learner.save(path)
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]
    assert everything(learner) == before


def test_columns_and_ids_of_strange_types_are_refused(tmp_path):
    polars = pytest.importorskip("polars")
    money = polars.DataFrame({"a": polars.Series([1.0, 2.0]).cast(polars.Decimal(10, 2))})
    enum = polars.Series(["a", "b"], dtype=polars.Enum(["a", "b"]))
    for pool, column in ((money, None), (polars.DataFrame({"a": [1.0, 2.0], "id": enum}), "id")):
        with pytest.raises(ValueError, match=r"a file (cannot )?keep"):
            ActiveLearner(pool=pool, id_column=column).save(tmp_path / "learner.weal")
    assert not list(tmp_path.iterdir())


@pytest.fixture
def path(tmp_path):
    learner = a_learner("multi")
    learner.ask(2)
    learner.save(tmp_path / "learner.weal")
    return tmp_path / "learner.weal"


def test_a_learner_cut_short_anywhere_is_refused(path):
    whole = path.read_bytes()
    for length in np.linspace(0, len(whole) - 1, 60).astype(int):
        path.write_bytes(whole[:length])
        with pytest.raises(UnreadableFile, match="cut short or damaged"):
            ActiveLearner.load(path)


def test_a_flipped_byte_is_found_or_changes_nothing(path):
    whole, expected = path.read_bytes(), everything(ActiveLearner.load(path))
    for n in np.random.default_rng(0).integers(0, len(whole), 60):
        damaged = bytearray(whole)
        damaged[n] ^= 0x10
        path.write_bytes(bytes(damaged))
        with suppress(UnreadableFile):
            assert everything(ActiveLearner.load(path)) == expected


def test_a_model_is_not_a_learner_and_a_learner_is_no_model(path, tmp_path):
    EnsembleGPRegressor((Kernel("rbf", 1.0),)).fit(POOL, Y).save(tmp_path / "model.weal")
    with pytest.raises(UnreadableFile, match="holds a EnsembleGPRegressor, not a ActiveLearner"):
        ActiveLearner.load(tmp_path / "model.weal")
    with pytest.raises(UnreadableFile, match="holds a ActiveLearner, not a EnsembleGPRegressor"):
        EnsembleGPRegressor.load(path)
    (tmp_path / "other.txt").write_text("id,label\n1,2\n")
    with pytest.raises(UnreadableFile, match="not a weal file"):
        ActiveLearner.load(tmp_path / "other.txt")
    with pytest.raises(FileNotFoundError):
        ActiveLearner.load(tmp_path / "nowhere.weal")


def rewritten(path, change):
    with zipfile.ZipFile(path) as bundle:
        members = {name: bundle.read(name) for name in bundle.namelist()}
    header = json.loads(members["header.json"])
    change(header)
    members["header.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as bundle:
        for name, content in members.items():
            bundle.writestr(name, content)


@pytest.mark.parametrize("key", ["pool", "acquisition", "label_ids", "asked", "weighed", "params"])
@pytest.mark.parametrize("value", ["gone", 5, []])
def test_a_header_that_lacks_something_is_refused(path, key, value):
    def change(header):
        header.pop(key)
        if value != "gone":
            header[key] = value

    if key == "asked" and value == []:
        return  # a learner that waits for nothing is whole
    rewritten(path, change)
    with pytest.raises(UnreadableFile, match="not a complete"):
        ActiveLearner.load(path)
