"""Varying noise in a campaign: status, replay from the checkpoint, pools in shards, asking."""

import sqlite3

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from weal import ActiveLearner, open_campaign, open_pool
from weal.diagnostics.model_text import varying_noise_text
from weal.diagnostics.noise_difference import Factor, noise_difference

ROWS, LABELS = 160, 70


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    temp, pressure = rng.uniform(20, 140, ROWS), rng.uniform(1, 9, ROWS)
    ids = [f"r{n}" for n in range(ROWS)]
    return pd.DataFrame({"id": ids, "temp": temp, "pressure": pressure})


@pytest.fixture(scope="module")
def labels(table):
    f = 10.0 * np.sin(table["temp"] / 40.0) + table["pressure"] ** 2 / 8.0
    sd = np.where(table["temp"] > 90.0, 1.5, 0.08)
    return (f + sd * np.random.default_rng(6).standard_normal(ROWS)).to_numpy()[:LABELS]


@pytest.fixture(scope="module")
def place(table, labels, tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "s.db"
    campaign = open_campaign(
        "a", model_version="0.3", pool=table, target="yield", store=f"sqlite:///{path}"
    )
    campaign.tell(table["id"][:LABELS].tolist(), labels)
    return path


def test_status_says_where_labels_scatter_more(place):
    status = open_campaign("a", store=f"sqlite:///{place}").status()
    found = status.beliefs.varying_noise
    assert found.where.startswith("temp is above ")
    assert 70.0 < float(found.where.split()[-1]) < 110.0
    assert 0.9 < found.there < 2.5
    assert found.elsewhere < 0.3
    sentence = varying_noise_text(found.where, found.there, found.elsewhere)
    assert sentence in str(status)
    assert status.to_dict()["beliefs"]["varying_noise"]["where"] == found.where


def test_the_checkpoint_and_a_replay_without_it_agree_to_the_last_bit(place, table):
    first = open_campaign("a", store=f"sqlite:///{place}").predict(table.drop(columns="id"))
    with sqlite3.connect(place) as connection:
        connection.execute("DELETE FROM weal_snapshot")
    second = open_campaign("a", store=f"sqlite:///{place}").predict(table.drop(columns="id"))
    third = open_campaign("a", store=f"sqlite:///{place}").predict(table.drop(columns="id"))
    for name in first.select_dtypes("number"):
        assert_array_equal(first[name], second[name])
        assert_array_equal(first[name], third[name])


def test_intervals_of_candidates_are_wide_where_labels_scatter(place, table):
    found = open_campaign("a", store=f"sqlite:///{place}").predict(table.drop(columns="id"))
    width = (found["high"] - found["low"]).to_numpy()
    hot = (table["temp"] > 100).to_numpy()
    assert np.median(width[hot]) > 5.0 * np.median(width[~hot])


def test_a_pool_in_shards_is_asked_as_one_in_memory(table, labels, tmp_path):
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    for n, rows in enumerate((slice(0, 90), slice(90, None))):
        parquet.write_table(arrow.Table.from_pandas(table[rows]), tmp_path / f"part-{n}.parquet")
    asked = []
    for pool in (table.set_index("id"), open_pool(tmp_path, id_column="id")):
        learner = ActiveLearner(pool, {"model_version": "0.3"})
        learner.tell(table["id"][:LABELS].tolist(), labels)
        assert learner.model.ensemble_.field is not None
        asked.append(learner.ask(3))
    assert asked[0] == asked[1]


class Fake:
    """A model with a given noise at each row."""

    def __init__(self, sd, probability=1.0):
        self.sd, self.weights_ = sd, np.array([1.0 - probability, probability])

    @property
    def ensemble_(self):
        return type("Ensemble", (), {"varies": np.array([0.0, 1.0])})

    def predict_noise(self, X):
        return self.sd


def test_two_conditions_are_said_where_both_matter():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(200, 2))
    sd = np.where((X[:, 0] > 0.7) & (X[:, 1] < 0.4), 2.0, 0.1)
    found = noise_difference(Fake(sd), X, [Factor("a", X[:, 0]), Factor("b", X[:, 1])])
    first, second = found.where.split(" and ")
    assert {first.split(" is ")[0], second.split(" is ")[0]} == {"a", "b"}
    assert_allclose([found.there, found.elsewhere], [2.0, 0.1], rtol=0.5)


def test_categories_are_said_by_their_level():
    level = np.repeat([0.0, 1.0], 20)
    factors = [Factor("solvent is THF", level, True)]
    quiet = noise_difference(Fake(np.where(level > 0, 0.1, 1.0)), level[:, None], factors)
    loud = noise_difference(Fake(np.where(level > 0, 1.0, 0.1)), level[:, None], factors)
    assert (quiet.where, loud.where) == ("solvent is not THF", "solvent is THF")


@pytest.mark.parametrize(
    ("sd", "probability"),
    [(np.full(30, 0.7), 1.0), (np.linspace(1.0, 1.2, 30), 1.0), (np.linspace(0.1, 5, 30), 0.4)],
)
def test_nothing_is_said_of_even_or_unlikely_differences(sd, probability):
    x = np.arange(30.0)
    assert noise_difference(Fake(sd, probability), x[:, None], [Factor("x", x)]) is None
