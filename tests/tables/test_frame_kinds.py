"""Frames come back as the kind that went in: from learners, campaigns and predictions."""

import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import weal
from weal import ActiveLearner
from weal.tables.frame_kinds import frame_kind, make_frame

KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}
BOTH = pytest.mark.parametrize("kind", ["polars", "pyarrow"])


def columns(n=24):
    rng = np.random.default_rng(2)
    names = [f"P-{k}" for k in range(n)]
    return {
        "sample": names,
        "temp": rng.uniform(20, 200, n).round(1).tolist(),
        "acid": rng.uniform(0, 1, n).round(3).tolist(),
        "steel": rng.choice(["A", "B"], n).tolist(),
    }


def values(n=24):
    table = columns(n)
    return dict(zip(table["sample"], np.array(table["temp"]) / 10 + table["acid"], strict=True))


def taught(kind, **settings):
    learner = ActiveLearner(make_frame(columns(), kind), id_column="sample", **settings)
    y = values()
    for name in learner.ask(12):
        learner.tell(name, y[name])
    return learner


@BOTH
def test_every_table_of_a_learner_is_of_the_kind_of_its_pool(kind):
    learner = taught(kind, goal="best 3")
    for what in ("labels", "predictions", "candidates", "history"):
        assert isinstance(learner.to_frame(what), KINDS[kind]), what
    assert isinstance(learner.history.to_frame(), KINDS[kind])
    assert isinstance(learner.best(3), KINDS[kind])
    assert isinstance(learner.rows(["P-1"]), KINDS[kind])
    ours = learner.to_frame("predictions", "pandas")
    assert isinstance(ours, pd.DataFrame)
    theirs = learner.to_frame("predictions")
    cells = theirs["label"].to_pylist() if kind == "pyarrow" else theirs["label"].to_list()
    assert [one is None for one in cells] == ours["label"].isna().tolist()
    assert sum(one is not None for one in cells) == 12
    assert learner.predict(learner.to_frame("candidates")).shape == (24,)


def test_a_learner_of_an_array_gives_pandas_or_the_kind_that_is_asked_for():
    learner = ActiveLearner(np.eye(4), ids=[("a", n) for n in range(4)])
    learner.tell(("a", 1), 2.0)
    assert isinstance(learner.to_frame("candidates"), pd.DataFrame)
    found = learner.to_frame("labels", "polars")
    assert found["id"].to_list() == [("a", 1)]  # tuples stay tuples
    assert learner.to_frame("candidates", "pyarrow")["id"].to_pylist()[0] == "('a', 0)"
    with pytest.raises(ValueError, match="pandas, polars, pyarrow"):
        learner.to_frame("labels", "excel")


@BOTH
def test_every_table_of_a_campaign_is_of_the_kind_of_its_pool(kind, tmp_path):
    pool, y = make_frame(columns(), kind), values()
    rows = {name: cells for name, cells in columns().items() if name != "sample"}
    new = make_frame(rows, kind)
    store = f"sqlite:///{tmp_path / 'weal.db'}"
    settings = {"id_column": "sample", "target": "hardness", "goal": "best 3"}
    with weal.open_campaign("demo", store, pool=pool, **settings) as campaign:
        ids = campaign.ask(12)
        campaign.tell(ids, [y[name] for name in ids])
        for what in ("labels", "predictions", "candidates", "events"):
            assert isinstance(campaign.to_frame(what), KINDS[kind]), what
        assert isinstance(campaign.best(3).to_frame(), KINDS[kind])
        assert isinstance(campaign.predict(new), KINDS[kind])
        assert isinstance(campaign.predict(pd.DataFrame(rows)), pd.DataFrame)
    with weal.open_campaign("demo", store) as again:  # the store does not know of frames
        assert isinstance(again.to_frame(), pd.DataFrame)
        assert isinstance(again.to_frame(kind=kind), KINDS[kind])
        assert isinstance(again.predict(new), KINDS[kind])


def test_ids_of_a_campaign_are_text():
    pool = pd.DataFrame({"temp": [20.0, 80.0, 140.0]}, index=[7, 8, 9])
    with weal.open_campaign("demo", "memory:", pool=pool) as campaign:
        assert set(campaign.ask(3)) == {"7", "8", "9"}
        campaign.tell(7, 1.5)  # a number names its row too
        assert campaign.to_frame()["id"].tolist() == ["7"]


@pytest.mark.parametrize("kind", KINDS)
def test_cells_of_any_type_fit_into_a_frame(kind):
    given = {
        "n": np.array([1.5, np.nan]),
        "text": ["a", None],
        "mixed": [1.5, "a"],
        "pair": [(1, "a"), (2, "b")],
        "large": [10**30, 1],
        "none": [None, None],
    }
    found = make_frame(given, kind)
    assert frame_kind(found) == kind
    assert list(found.columns if kind != "pyarrow" else found.column_names) == list(given)
    assert frame_kind(make_frame({"a": []}, kind)) == kind
    assert frame_kind(np.eye(2)) is None


def test_polars_alone_is_enough():
    """Without pandas, learners and campaigns take polars frames and give them back."""
    code = f"""
        import sys
        class Absent:
            def find_spec(name, *_):
                if name.partition(".")[0] == "pandas":
                    raise ModuleNotFoundError(name)
        sys.meta_path.insert(0, Absent)
        import polars, weal
        columns = {columns()!r}
        pool = polars.DataFrame(columns)
        y = dict(zip(columns["sample"], columns["temp"]))
        learner = weal.ActiveLearner(pool, id_column="sample", goal="best 3")
        for name in learner.ask(12):
            learner.tell(name, y[name])
        every = ("labels", "predictions", "candidates", "history")
        tables = [learner.to_frame(one) for one in every]
        tables += [learner.best(2), weal.ActiveLearner([[0.0], [1.0]]).to_frame("candidates")]
        learner.status(), learner.explain("P-1"), learner.plan
        with weal.open_campaign("demo", "memory:", pool=pool, id_column="sample") as campaign:
            ids = campaign.ask(12)
            campaign.tell(ids, [y[name] for name in ids])
            tables += [campaign.to_frame(one) for one in every[:3]]
            tables.append(campaign.predict(pool.drop("sample")))
        assert all(isinstance(one, polars.DataFrame) for one in tables), list(map(type, tables))
        print("fine")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=300
    )
    assert done.stdout == "fine\n", done.stderr
