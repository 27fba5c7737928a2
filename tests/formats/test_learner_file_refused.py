"""Learner files that lie: labels that are no numbers, ids that nobody has; refused when opened.

The files are made from one that `save` wrote: whatever holds the label LABEL, or the id of a row
that was told, asked or skipped, is changed, be it in the header or in an array. Places are found by
what stands there, so that the form of the file may change.
"""

import io
import json
import math
import zipfile

import numpy as np
import pytest

from weal import ActiveLearner, EnsembleGPRegressor, UnreadableFile

IDS = [f"sample-{n}" for n in range(20)]
LABEL, NOISE = 1234.5, 0.8125
HEADER = "header.json"


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A learner that was told, asked and told to skip, as a file; and which rows those were."""
    X = np.random.default_rng(3).normal(size=(20, 3))
    learner = ActiveLearner(X, EnsembleGPRegressor(random_state=1), "wvar", ids=IDS, n_start=4)
    for n, name in enumerate(IDS[:7]):
        learner.tell(name, float(n * n % 5))
    learner.tell(IDS[7], LABEL, noise=NOISE)
    learner.skip(IDS[9])
    path = tmp_path_factory.mktemp("kept") / "learner.weal"
    rows = {"told": IDS[7], "skipped": IDS[9], "asked": learner.ask()}
    learner.save(path)
    return path, rows


def members(path):
    with zipfile.ZipFile(path) as bundle:
        return {name: bundle.read(name) for name in bundle.namelist()}


def written(path, parts):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as bundle:
        for name, data in parts.items():
            bundle.writestr(name, data)
    return path


def with_number(parts, old, new):
    """The file with another number wherever this one stood, and how often that was."""
    count, after = 0, {}
    for name, data in parts.items():
        if name.endswith(".npy"):
            array = np.load(io.BytesIO(data), allow_pickle=False)
            hit = array == old if array.dtype.kind == "f" else np.zeros(array.shape, bool)
            if hit.any():
                count += int(hit.sum())
                file = io.BytesIO()
                np.lib.format.write_array(file, np.where(hit, new, array).astype(array.dtype))
                data = file.getvalue()
        after[name] = data
    header, changed = replaced(json.loads(after[HEADER]), old, new)
    after[HEADER] = json.dumps(header)  # NaN and Infinity as Python writes and reads them
    return after, count + changed


def with_id(parts, old, new):
    """The file with another id wherever this one stood, the list of all ids apart."""
    header, count = replaced(json.loads(parts[HEADER]), old, new)
    return {**parts, HEADER: json.dumps(header)}, count


def replaced(value, old, new):
    if isinstance(value, list) and set(IDS) <= {one for one in value if isinstance(one, str)}:
        return value, 0  # the pool
    if isinstance(value, dict):
        pairs = {key: replaced(one, old, new) for key, one in value.items()}
        return {key: one for key, (one, _) in pairs.items()}, sum(n for _, n in pairs.values())
    if isinstance(value, list):
        some = [replaced(one, old, new) for one in value]
        return [one for one, _ in some], sum(n for _, n in some)
    same = type(value) is type(old) and value == old
    return (new, 1) if same else (value, 0)


def test_the_file_itself_is_read(kept, tmp_path):
    path, rows = kept
    again = written(tmp_path / "again.weal", members(path))
    assert rows["asked"] in ActiveLearner.load(again).pending


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_label_that_is_no_number_is_refused(kept, tmp_path, value):
    parts, count = with_number(members(kept[0]), LABEL, value)
    assert count, "the label was not found in the file: adapt this test"
    with pytest.raises(UnreadableFile, match=r"label|finite|number"):
        ActiveLearner.load(written(tmp_path / "odd.weal", parts))


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0])
def test_a_noise_that_is_none_is_refused(kept, tmp_path, value):
    parts, count = with_number(members(kept[0]), NOISE, value)
    assert count, "the noise was not found in the file: adapt this test"
    with pytest.raises(UnreadableFile, match=r"noise|label|finite|number"):
        ActiveLearner.load(written(tmp_path / "odd.weal", parts))


ROLES = [(role, one) for role in ("told", "asked", "skipped") for one in ("nobody", 5, ["a", "b"])]


# A label without an id is one of a point outside the pool, as `tell_points` keeps it.
@pytest.mark.parametrize(("role", "unknown"), [*ROLES, ("asked", None), ("skipped", None)])
def test_an_id_that_is_not_in_the_pool_is_refused(kept, tmp_path, role, unknown):
    path, rows = kept
    parts, count = with_id(members(path), rows[role], unknown)
    assert count, "the id was not found in the file: adapt this test"
    with pytest.raises(UnreadableFile):
        ActiveLearner.load(written(tmp_path / "odd.weal", parts))
