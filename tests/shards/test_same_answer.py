"""A pool in shards asks what the pool in memory asks: any shards, threads and functions."""

import shutil

import numpy as np
import pytest

import weal
from shards.pools import f, inputs, names_of, write
from weal.errors import DiskFull
from weal.learner import memory_candidates, sharded_candidates
from weal.learner.pools import shard_pass
from weal.learner.pools import sharded as sharded_module
from weal.shards import dataset as pools

U = 900


def limit_samples(constants, largest, size):
    """Pools of more than `largest` candidates are sampled, `size` of them."""
    for module in (memory_candidates, sharded_candidates):
        constants(module, MAX_CANDIDATES_WITHOUT_SAMPLE=largest, SAMPLE_CANDIDATES=size)


CUTS = {"one file": [], "three": [7, 500], "row groups": [450], "memory": None}


@pytest.fixture(autouse=True)
def small(constants):
    """Limits so low that 900 candidates are many."""
    constants(shard_pass, MAX_SCORED_BLOCK_ROWS=128, MIN_BLOCK_ROWS=64)
    constants(pools, MIN_SHARD_ROWS=100, MEMORY_SHARD_ROWS=170)


def opened(cut, folder, X):
    if CUTS[cut] is None:
        return weal.open_pool(X, ids=names_of(len(X)))
    write(folder, X, CUTS[cut], groups=60)
    return weal.open_pool(folder, id_column="id")


def both(tmp_path, cut="three", acquisition="auto", **how):
    X = inputs(U)
    memory = weal.ActiveLearner(X, acquisition=acquisition, ids=names_of(U), **how)
    sharded = weal.ActiveLearner(
        opened(cut, tmp_path / "pool", X), acquisition=acquisition, threads=3, **how
    )
    return memory, sharded


def follow(memory, sharded, steps, noise=0.05):
    rng = np.random.default_rng(3)
    for _ in range(steps):
        name = memory.ask()
        assert sharded.ask() == name
        y = float(f(memory.candidates.x(name)) + noise * rng.standard_normal())
        for learner in (memory, sharded):
            learner.tell(name, y)


@pytest.mark.parametrize("cut", CUTS)
def test_the_same_row_is_asked_however_the_pool_is_cut(tmp_path, cut):
    follow(*both(tmp_path, cut, seed=4), 16)


@pytest.mark.parametrize(
    "acquisition", ["multi", "gpm-var", ["ivr", "random"], ["mvr", "igs"], ["bald", "went"]]
)
def test_the_same_row_is_asked_by_every_function(tmp_path, acquisition):
    memory, sharded = both(tmp_path, acquisition=acquisition)
    follow(memory, sharded, 12)
    if len(memory.acquisition_weights) > 1:
        old, new = (list(one.acquisition_weights.values()) for one in (memory, sharded))
        np.testing.assert_allclose(new, old, rtol=1e-6)


def test_the_same_row_is_asked_by_experts_on_features(tmp_path):
    model = weal.EnsembleGPRegressor(approximation="features", n_frequencies=30)
    X = inputs(U)
    memory = weal.ActiveLearner(X, model, "multi", ids=names_of(U))
    write(tmp_path / "pool", X, [300])
    pool = weal.open_pool(tmp_path / "pool", id_column="id")
    follow(memory, weal.ActiveLearner(pool, model, "multi", threads=2), 14)


def test_where_all_is_tied_the_hash_decides_in_shards_too(tmp_path):
    def even(belief):
        return np.ones(belief.mu.shape[1])

    even.pointwise = True
    follow(*both(tmp_path, acquisition=even), 12)


def test_a_large_pool_is_known_by_the_same_sample_in_memory_and_in_shards(tmp_path, constants):
    limit_samples(constants, 200, 150)
    for how in ({"acquisition": "auto"}, {"acquisition": "ivr"}):
        memory, sharded = both(tmp_path, **how)
        follow(memory, sharded, 14)
        scale = [one.model.scaling for one in (memory, sharded)]
        np.testing.assert_array_equal(scale[0].x_sd, scale[1].x_sd)
        assert memory.predicted_error() == pytest.approx(sharded.predicted_error(), rel=0.2)


def test_scores_that_were_not_kept_are_computed_again(tmp_path, monkeypatch):
    memory, sharded = both(tmp_path, acquisition="multi")
    found = shard_pass.find
    lost = iter(range(10**6))
    monkeypatch.setattr(shard_pass, "find", lambda *key: None if next(lost) % 3 else found(*key))
    follow(memory, sharded, 10)


def test_scores_beyond_the_memory_go_to_disk_and_leave_nothing_there(
    tmp_path, monkeypatch, constants
):
    constants(shard_pass, SCORE_CACHE_BYTES=2_000)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    follow(*both(tmp_path, acquisition="multi"), 10)
    assert len(list(tmp_path.glob("weal-scores-*"))) == 1
    shard_pass.forget()
    assert not list(tmp_path.glob("weal-scores-*"))


def test_a_disk_that_is_full_ends_the_pass_and_keeps_nothing(tmp_path, monkeypatch, constants):
    resource = pytest.importorskip("resource")
    constants(shard_pass, SCORE_CACHE_BYTES=500)
    memory, sharded = both(tmp_path, acquisition="multi")
    follow(memory, sharded, 9)
    shard_pass.forget()
    spilled = tmp_path / "spilled"
    spilled.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spilled))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, hard))  # no file may be longer
    try:
        with pytest.raises(DiskFull, match=r"spilled cannot take the scores of a pass: File too"):
            sharded.ask()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not sharded.pending
    assert not list(spilled.iterdir())
    follow(memory, sharded, 2)
    shard_pass.forget()


def test_scores_whose_folder_is_gone_are_computed_again(tmp_path, monkeypatch, constants):
    """Whoever cleans up temporary files, or another campaign's pass in the same process."""
    constants(shard_pass, SCORE_CACHE_BYTES=0)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    shard_pass.keep("a", 0, np.zeros((2, 3), np.float32))
    [folder] = tmp_path.glob("weal-scores-*")
    shutil.rmtree(folder)
    shard_pass.keep("a", 3, np.zeros((2, 3), np.float32))
    assert shard_pass.find("a", 0) is shard_pass.find("a", 3) is None
    shard_pass.forget()


def test_a_batch_begins_with_the_best_and_with_every_shorter_one(tmp_path):
    memory, sharded = both(tmp_path)
    follow(memory, sharded, 12)
    first = sharded.ask()
    batch = sharded.ask(7)
    assert batch[0] == first == memory.ask()
    assert sharded.ask(3) == batch[:3]
    other = both(tmp_path / "again")[1]
    for label in sharded.labels:
        other.tell(label.name, label.y)
    assert other.ask(7) == batch
    assert len({*batch, *sharded.ask(4, more=True)}) == 11


def test_a_batch_longer_than_the_shortlist_goes_on(tmp_path, constants):
    constants(shard_pass, BATCH_SHORTLIST=3)
    constants(sharded_module, BATCH_SHORTLIST=3)
    limit_samples(constants, 200, 6)
    X = inputs(U)
    write(tmp_path / "pool", X, [300])
    pool = weal.open_pool(tmp_path / "pool", id_column="id")
    learner = weal.ActiveLearner(pool, acquisition="gpm-var", n_start=5)
    learner.tell(names_of(U)[:8], f(X[:8]))
    batch = learner.ask(14)
    assert len(set(batch)) == 14


def test_skipped_removed_and_labelled_rows_are_not_asked(tmp_path):
    memory, sharded = both(tmp_path, "row groups")
    follow(memory, sharded, 9)
    for learner in (memory, sharded):
        learner.skip("c00010")
        learner.remove(["c00011", "c00700"])
    follow(memory, sharded, 4)
    sharded.remove(shards=[tmp_path / "pool" / "part-000.parquet"])
    assert all(name >= "c00450" for name in sharded.ask(12))


def test_shards_that_are_added_are_asked_too(tmp_path):
    memory, sharded = both(tmp_path, n_start=5)
    follow(memory, sharded, 8)
    more, names = 5.0 * inputs(60, seed=9), [f"new{n}" for n in range(60)]
    sharded.add(write(tmp_path / "more", more, [], names=names))
    memory.add(more, names)
    assert len(sharded.candidates) == U + 60
    follow(memory, sharded, 5)
    assert any(str(label.name).startswith("new") for label in sharded.labels)


def test_a_learner_on_shards_is_saved_without_its_rows_and_goes_on(tmp_path):
    memory, sharded = both(tmp_path)
    follow(memory, sharded, 9)
    sharded.save(tmp_path / "learner.weal")
    assert (tmp_path / "learner.weal").stat().st_size < 40_000
    again = weal.ActiveLearner.load(tmp_path / "learner.weal")
    follow(memory, again, 4)


def test_predictions_are_written_shard_by_shard(tmp_path):
    import pyarrow.dataset as ds

    memory, sharded = both(tmp_path, "row groups")
    follow(memory, sharded, 10)
    assert sharded.predict_pool(tmp_path / "predictions") == U
    table = ds.dataset(tmp_path / "predictions").to_table()
    mean, sd = memory.model.predict(inputs(U), return_std=True)
    low, high = memory.model.predict_interval(inputs(U), 0.9)
    assert table.column("id").to_pylist() == names_of(U)
    for name, truth in (("mean", mean), ("sd", sd), ("low", low), ("high", high)):
        np.testing.assert_allclose(table.column(name).to_numpy(), truth, rtol=1e-6, atol=1e-9)
    with pytest.raises(ValueError, match="is not empty"):
        sharded.predict_pool(tmp_path / "predictions")
