"""The conformance suite of the candidates seam: rows in memory, in shards of memory and in files.

A new kind of candidates joins with one entry in KINDS: a function of a folder, ids and inputs.
"""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import weal
from reference.cases import frozen
from shards.pools import write
from weal.core.hashing import hash_ids, mix_with_seed
from weal.errors import UnknownId
from weal.formats.candidates_file import pack_candidates, unpack_candidates
from weal.learner import memory_candidates, sharded_candidates
from weal.learner.memory_candidates import read_candidates
from weal.learner.pools.protocol import PoolContext
from weal.learner.sharded_candidates import read_shards
from weal.shards import dataset
from weal.shards.executors import ThreadExecutor

U, D, SEED = 60, 3, 7
X = frozen(np.random.default_rng(3).uniform(-1.0, 1.0, (U, D)))
IDS = [f"c{n:05d}" for n in range(U)]
NEW = frozen(np.random.default_rng(4).uniform(-1.0, 1.0, (5, D)))
NEW_IDS = [f"new-{n}" for n in range(5)]


def array(folder, ids, inputs):
    return read_candidates(inputs, ids)


def frame(folder, ids, inputs):
    return read_candidates(pd.DataFrame(inputs, columns=["x0", "x1", "x2"], index=ids))


def shards_of_memory(folder, ids, inputs):
    return read_shards(weal.open_pool(inputs, ids=ids), SEED)


def files(folder, ids, inputs):
    write(folder, inputs, [len(inputs) // 3], groups=7, names=ids)
    return read_shards(weal.open_pool(folder, id_column="id"), SEED)


KINDS = {
    "array": (array, lambda folder: NEW),
    "frame": (
        frame,
        lambda folder: pd.DataFrame(NEW, columns=["x0", "x1", "x2"], index=NEW_IDS),
    ),
    "shards of memory": (shards_of_memory, lambda folder: weal.open_pool(NEW, ids=NEW_IDS)),
    "files": (
        files,
        lambda folder: weal.open_pool(
            write(folder / "more", NEW, [2], names=NEW_IDS), id_column="id"
        ),
    ),
}


@pytest.fixture(params=KINDS)
def kind(request, constants):
    constants(dataset, MEMORY_SHARD_ROWS=17)
    return KINDS[request.param]


@pytest.fixture
def candidates(kind, tmp_path):
    return kind[0](tmp_path / "pool", IDS, X)


def with_new(candidates, kind, tmp_path):
    ids = None if candidates.in_shards or candidates.frame is not None else NEW_IDS
    return candidates.with_more(kind[1](tmp_path), ids)


def test_ids_positions_and_inputs_agree(candidates):
    assert len(candidates) == U
    assert list(candidates.ids) == IDS
    assert [candidates.index[name] for name in IDS] == list(range(U))
    assert [candidates.position(name) for name in IDS[::7]] == list(range(0, U, 7))
    assert candidates.name("c00003") == "c00003"
    assert candidates.n_inputs == len(candidates.input_names) == D
    at = np.array([5, 59, 0, 5])
    assert list(candidates.ids_at(at)) == [IDS[n] for n in at]
    assert_array_equal(candidates.inputs_at(at), X[at])
    assert_array_equal(candidates.inputs_at(slice(None)), X)
    assert_array_equal(candidates.inputs_at(slice(50, 70)), X[50:])
    assert_array_equal(candidates.inputs([IDS[n] for n in at]), X[at])
    assert_array_equal(candidates.x("c00017"), X[17])


def test_an_id_that_is_not_there_is_named(candidates):
    for name in ("c99999", 3, ["c00001"]):
        with pytest.raises(UnknownId, match="no candidate has the id"):
            candidates.position(name)


def test_rows_come_in_the_order_asked(candidates):
    names = ["c00040", "c00002"]
    one, rows = candidates.row(names[0]), candidates.rows(names)
    cells = list(one.values())[-D:] if isinstance(one, dict) else one
    assert_array_equal(np.array(cells, dtype=float), X[40])
    assert len(rows) == 2


def test_points_outside_are_read_like_the_pool(candidates):
    assert_array_equal(candidates.like(NEW), NEW)
    with pytest.raises(ValueError, match="3 inputs; got 2"):
        candidates.like(NEW[:, :2])


def test_a_sample_is_by_the_hash_of_seed_and_id(candidates, constants):
    at, inputs = candidates.sample(SEED)
    assert_array_equal(at, np.arange(U))
    assert_array_equal(inputs, X)
    for module in (memory_candidates, sharded_candidates):
        constants(module, MAX_CANDIDATES_WITHOUT_SAMPLE=20, SAMPLE_CANDIDATES=11)
    order = np.argsort(mix_with_seed(hash_ids(IDS), 8))
    at, inputs = candidates.sample(8)
    assert_array_equal(at, np.sort(order[:11]))
    assert_array_equal(inputs, X[at])
    assert candidates.sample(8)[1] is inputs
    assert_array_equal(candidates.first_by_hash(8, 4), order[:4])


def test_targets_are_present_candidates_by_hash(candidates):
    order = np.argsort(mix_with_seed(hash_ids(IDS), SEED))
    left = candidates.without([IDS[order[0]], IDS[order[2]]])
    wanted = X[np.sort(order[[1, 3, 4]])]
    found = left.target_inputs(SEED, 3)
    assert_array_equal(found[np.lexsort(found.T)], wanted[np.lexsort(wanted.T)])


def test_removed_candidates_keep_their_positions(candidates):
    left = candidates.without(["c00004", "c00050"])
    assert candidates.present.all()
    assert_array_equal(np.flatnonzero(~left.present), [4, 50])
    assert left.position("c00005") == 5
    assert left.row_identity is candidates.row_identity


def test_new_candidates_come_last(candidates, kind, tmp_path):
    more = with_new(candidates.without(["c00004"]), kind, tmp_path)
    assert (len(candidates), len(more)) == (U, U + 5)
    assert list(more.ids[U:]) == NEW_IDS
    assert_array_equal(more.inputs_at(np.arange(U, U + 5)), NEW)
    assert_array_equal(np.flatnonzero(~more.present), [4])
    assert more.row_identity is not candidates.row_identity
    new = more.new_inputs(U)
    assert new is None or np.array_equal(new, NEW)


def test_an_id_twice_is_refused(candidates, kind, tmp_path):
    more = with_new(candidates, kind, tmp_path)
    with pytest.raises(ValueError, match=r"duplicates|already"):
        with_new(more, kind, tmp_path)


def test_a_subset_is_in_memory(candidates):
    at = np.array([3, 8, 41])
    few = candidates.subset(at)
    assert not few.in_shards
    assert list(few.ids) == [IDS[n] for n in at]
    assert_array_equal(few.inputs_at(slice(None)), X[at])
    assert few.present.all()


def test_shards_that_are_not_there_cannot_be_removed(candidates):
    assert candidates.ids_in_shards((), ["c00001"]) == []
    with pytest.raises(ValueError, match=r"no shards to remove|not a shard of the pool"):
        candidates.without((), ["/nowhere.parquet"])


def test_a_file_brings_the_same_candidates_back(candidates):
    left = candidates.without(["c00004"])
    again = unpack_candidates(*pack_candidates(left))
    assert type(again) is type(left)
    assert list(again.ids) == IDS
    assert_array_equal(again.inputs_at(slice(None)), X)
    assert_array_equal(again.present, left.present)


def test_pools_of_all_kinds_agree_on_every_candidate(candidates):
    def asked(pool):
        learner = weal.ActiveLearner(pool, acquisition="gpm-var", n_start=5, seed=SEED)
        learner.tell(IDS[:9], np.sin(3.0 * X[:9, 0]) + X[:9, 1])
        model = learner.model
        context = PoolContext(1 << 20, ThreadExecutor(2), None, SEED, {})
        return learner.ask(3), candidates.make_pool(model, None, context), model

    batch, pool, model = asked(candidates)
    assert batch == asked(read_candidates(X, IDS))[0]
    at = [0, 33, 59]
    assert_array_equal(pool.inputs_at(at), model.scaling.inputs(X[at]))
    points = model.embedding_.points(model.ensemble_.experts, model.scaling.inputs(X[at]))
    for found, truth in zip(
        pool.predict(model.ensemble_, at), model.ensemble_.experts.predict(points), strict=True
    ):
        np.testing.assert_allclose(found, truth, rtol=1e-9, atol=1e-9)


def test_predictions_by_shard_cover_all_rows_or_are_refused(candidates):
    learner = weal.ActiveLearner(candidates, n_start=5)
    learner.tell(IDS[:9], np.sin(3.0 * X[:9, 0]))
    if not candidates.in_shards:
        with pytest.raises(ValueError, match="the pool is in memory"):
            candidates.predict_shards(learner.model, 0.9, ThreadExecutor(1), None)
        return
    parts = dict(candidates.predict_shards(learner.model, 0.9, ThreadExecutor(2), None))
    found = np.concatenate([parts[n]["mean"] for n in sorted(parts)])
    np.testing.assert_allclose(found, learner.predict(X), rtol=1e-9, atol=1e-9)
