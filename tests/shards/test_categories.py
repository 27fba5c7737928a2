"""Pools of categories in files ask what the same table in memory asks."""

import numpy as np
import pandas as pd
import pytest

import weal
from shards.pools import inputs, names_of, write
from weal.shards import dataset as pools

U = 400


@pytest.fixture(autouse=True)
def small(constants):
    constants(pools, MIN_SHARD_ROWS=40)


def table():
    rng = np.random.default_rng(1)
    solvent = [f"solvent {n}" for n in rng.integers(0, 40, U)]
    base = [f"base {n}" for n in rng.integers(0, 5, U)]
    effect = {name: rng.standard_normal() for name in sorted({*solvent, *base})}
    y = np.array([effect[a] + effect[b] for a, b in zip(solvent, base, strict=True)])
    return solvent, base, y + 0.1 * rng.standard_normal(U)


def follow(learners, y, steps=6):
    at = {name: n for n, name in enumerate(names_of(U))}
    for learner in learners:
        learner.tell(names_of(U)[:8], y[:8])
    for _ in range(steps):
        name = learners[0].ask()
        for learner in learners:
            assert learner is learners[0] or learner.ask() == name
            learner.tell(name, float(y[at[name]]))
    batches = [learner.ask(5) for learner in learners]
    assert all(batch == batches[0] for batch in batches)


def in_files(folder, solvent, base):
    write(folder, inputs(U)[:, :1], [150, 260], groups=50, solvent=solvent, base=base)
    return weal.open_pool(folder, id_column="id")


def test_a_pool_of_categories_in_files_asks_what_memory_asks(tmp_path):
    solvent, base, y = table()
    frame = pd.DataFrame(
        {"id": names_of(U), "x0": inputs(U)[:, 0], "solvent": solvent, "base": base}
    )
    memory = weal.ActiveLearner(frame, {"model_version": "0.3"}, id_column="id", n_start=5)
    sharded = weal.ActiveLearner(
        in_files(tmp_path / "pool", solvent, base), {"model_version": "0.3"}, n_start=5, threads=2
    )
    follow([memory, sharded], y)
    for learner in (memory, sharded):
        (one,) = learner.state.quantities.values()
        assert sorted(one.selection.scaling.widths.tolist()) == [1, 5, 40]


def test_a_cluster_asks_the_same_of_categories(tmp_path):
    pytest.importorskip("distributed")
    clusters = pytest.importorskip("clusters")
    solvent, base, y = table()
    here, there = (in_files(tmp_path / name, solvent, base) for name in ("here", "there"))
    with clusters.running({}, n_workers=1, threads_per_worker=1, processes=True) as local:
        one = weal.ActiveLearner(here, {"model_version": "0.3"}, n_start=5, threads=1)
        other = weal.ActiveLearner(
            there, {"model_version": "0.3"}, n_start=5, scheduler=local.scheduler_address
        )
        follow([one, other], y, steps=2)
        other.close()
