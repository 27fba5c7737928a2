"""Pools as people have them: text, categories, dates and gaps, by the plan that campaigns have."""

from datetime import date, datetime

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from weal import ActiveLearner, UnknownId, open_campaign
from weal.tables.plan import encode, make_plan
from weal.tables.table import read_table

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

N = 24
KINDS = {"pandas": pandas.DataFrame, "polars": polars.DataFrame, "pyarrow": pyarrow.table}
EVERY = pytest.mark.parametrize("kind", KINDS)


def cells(n=N, seed=0):
    rng = np.random.default_rng([n, seed])
    return {
        "größe <b>": [None if k % 7 == 3 else round(float(x), 3) for k, x in
                      enumerate(rng.normal(size=n))],
        "quench": [("oil", "water", "air & co", None)[k % 4] for k in range(n)],
        "cast_on": [date(2024, 1, 1 + k % 28) for k in range(n)],
        "count": [int(k % 5) for k in range(n)],
        "wet": [bool(k % 3) for k in range(n)],
        "empty": [None] * n,
        "furnace": ["F1"] * n,
    }  # fmt: skip


def messy(kind, n=N, seed=0, **more):
    return KINDS[kind](cells(n, seed) | more)


def taught(kind="pandas", labels=8, **options):
    learner = ActiveLearner(messy(kind), n_start=8, **options)
    for n in range(labels):
        learner.tell(n, float(np.sin(n)))
    return learner


@EVERY
def test_a_frame_is_read_by_the_plan_of_a_campaign(kind):
    learner = ActiveLearner(messy(kind))
    table = read_table(messy(kind))
    plan = make_plan(table, id_column=None, features=list(table.columns))
    assert learner.plan == plan
    assert_array_equal(learner.candidates.X, encode(plan, table))
    campaign = open_campaign("same", "memory:", pool=messy(kind))
    assert_array_equal(campaign.read_learner().candidates.X, learner.candidates.X)
    assert "1 date" in repr(learner)
    assert "2 dropped: empty, constant" in repr(learner)


@EVERY
def test_other_rows_are_read_as_the_first_ones_were(kind):
    learner = taught(kind)
    rows = messy(kind, 5)
    turned = KINDS[kind](dict(reversed(list(cells(5).items()))))
    assert_array_equal(learner.model.predict(rows), learner.predict(turned))
    assert_array_equal(learner.predict([3, 1]), learner.predict(learner.rows([3, 1])))
    learner.tell_points(rows, np.zeros(5))
    assert_array_equal(learner.labels.told[-1].x, learner.candidates.like(rows)[-1])
    row = learner.candidates.row(2)
    assert row["quench"] == "air & co"


def test_levels_never_seen_are_said():
    learner = taught()
    with pytest.warns(
        UserWarning, match=r"quench: 5 of unknown levels \('mud'\), encoded as no level"
    ):
        learner.predict(messy("pandas", 5, quench=["mud"] * 5))
    with pytest.warns(UserWarning, match="mud"):
        learner.add(messy("pandas", 2, quench=["mud"] * 2))
    assert len(learner.candidates) == N + 2


@EVERY
def test_columns_that_are_lost_are_said(kind):
    names = [f"S-{k}" for k in range(N)]
    with pytest.warns(UserWarning, match=r"name: dropped, id-like .*give id_column='name'"):
        ActiveLearner(messy(kind, name=names))
    assert ActiveLearner(messy(kind, name=names), id_column="name").candidates.ids[0] == "S-0"
    ActiveLearner(messy(kind, name=names), types={"name": "drop"})
    with pytest.warns(UserWarning, match=r"made: dropped, ambiguous dates"):
        ActiveLearner(messy(kind, made=[f"0{k % 9 + 1}/0{k % 7 + 1}/2024" for k in range(N)]))


@EVERY
def test_a_file_keeps_frame_and_plan(kind, tmp_path):
    learner = taught(kind)
    learner.ask(2)
    learner.save(tmp_path / "one.weal")
    again = ActiveLearner.load(tmp_path / "one.weal")
    assert again.plan == learner.plan
    assert_array_equal(again.candidates.X, learner.candidates.X)
    assert type(again.rows([0])) is type(learner.rows([0]))
    assert [again.candidates.row(n) for n in range(4, 7)] == [
        learner.candidates.row(n) for n in range(4, 7)
    ]
    assert again.candidates.frame.schema == learner.candidates.frame.schema
    rows = messy(kind, 5)
    assert_array_equal(again.predict(rows), learner.predict(rows))
    for one in (learner, again):
        one.tell(20, 1.0)
    assert again.ask(3) == learner.ask(3)
    again.add(messy(kind, 3))


def test_kinds_of_pandas_and_polars_survive_a_file(tmp_path):
    table = pandas.DataFrame(
        {
            "cat": pandas.Categorical(["b", None, "a", "b"], categories=["c", "b", "a"]),
            "number": pandas.Categorical([3, 1, 3, None]),
            "when": pandas.to_datetime(
                ["2024-01-01", None, "2024-01-03 10:30", "2024-02-01"], format="ISO8601"
            ),
            "zoned": pandas.date_range("2024-01-01", periods=4, tz="Europe/Berlin"),
            "whole": pandas.array([1, None, 3, 4], dtype="Int64"),
            "flag": pandas.array([True, None, False, True], dtype="boolean"),
            "text": ["x", "y", "x", ""],
        },
        index=pandas.Index(list("wxyz"), name="sample"),
    )
    ActiveLearner(table).save(tmp_path / "one.weal")
    again = ActiveLearner.load(tmp_path / "one.weal")
    pandas.testing.assert_frame_equal(again.rows(list("wxyz")), table)
    other = polars.DataFrame(
        {"e": ["a", "b", None], "when": [datetime(2024, 1, 1), None, datetime(2024, 5, 1, 3)],
         "n": [1, None, 7]},
        schema_overrides={"e": polars.Enum(["b", "a", "c"])},
    )  # fmt: skip
    ActiveLearner(other, types={"e": "category"}).save(tmp_path / "two.weal")
    assert ActiveLearner.load(tmp_path / "two.weal").rows([0, 1, 2]).equals(other)


def test_what_a_file_cannot_keep_is_said(tmp_path):
    table = pandas.DataFrame({"x": [1.0, 2.0], "odd": [{"a": 1}, {"b": 2}]})
    learner = ActiveLearner(table, types={"odd": "drop"})
    with pytest.raises(ValueError, match=r"the column 'odd' is .*cast or drop it first"):
        learner.save(tmp_path / "one.weal")


def test_a_target_column_gives_its_name_and_its_labels():
    y = [float(n) if n % 3 else None for n in range(N)]
    learner = ActiveLearner(messy("pandas", **{"yield [%]": y}), target="yield [%]")
    assert "yield [%]" not in learner.plan.names
    assert learner.to_frame("labels")["id"].tolist() == [n for n in range(N) if n % 3]
    learner.add(messy("pandas", 2, **{"yield [%]": [None, 7.5]}))
    assert learner.labels.values(N + 1) == [7.5]
    assert "of yield [%]" in repr(learner)
    with pytest.raises(ValueError, match=r"the target column 'y' must hold numbers"):
        ActiveLearner(pandas.DataFrame({"x": [1.0, 2], "y": [1.0, "lots"]}), target="y")


def test_a_column_that_looks_like_the_labels_is_no_input():
    y = [1.0, 2.0] + [None] * (N - 2)
    with pytest.raises(ValueError, match=r"'y' is empty in 92% of the rows.*target='y'"):
        ActiveLearner(messy("pandas", y=y))
    assert "y" in ActiveLearner(messy("pandas", y=y), types={"y": "number"}).plan.names


def test_features_and_types_decide():
    learner = ActiveLearner(messy("pandas"), features=["count", "quench"])
    assert learner.plan.names == ["count", "quench=air & co", "quench=oil", "quench=water",
                                  "quench missing"]  # fmt: skip
    dropped = ActiveLearner(messy("pandas"), types={"quench": "drop", "count": "category"})
    assert "count=3" in dropped.plan.names
    with pytest.raises(ValueError, match="the pool is an array"):
        ActiveLearner(np.ones((3, 2)), types={"a": "number"})
    for wrong in ({"nobody": "number"}, {"count": "colour"}):
        with pytest.raises(ValueError, match="declare"):
            ActiveLearner(messy("pandas"), types=wrong)


def test_frames_of_one_column_and_of_truth_values():
    one = ActiveLearner(pandas.DataFrame({"x": [1.0, None, 3.0]}))
    assert one.plan.names == ["x", "x missing"]
    flags = ActiveLearner(pandas.DataFrame({"on": [True, False, True]}))
    assert flags.plan is None
    with pytest.raises(ValueError, match="no column is left to learn from"):
        ActiveLearner(pandas.DataFrame({"x": ["a", "b", "c", "d", "e"]}))
    with pytest.raises(ValueError, match=r"empty|no rows"):
        ActiveLearner(pandas.DataFrame({"x": pandas.Series([], dtype=str)}))
    with pytest.raises(ValueError, match="are duplicates"):
        ActiveLearner(pandas.DataFrame({"x": list("abab")}, index=[1, 1, 2, 3]))


# Predictions and tables


def test_predictions_of_ids_and_of_rows():
    X = np.random.default_rng(0).normal(size=(12, 2))
    ids = ["a", ("b", 1), (0.0, 0.0), *range(9)]
    learner = ActiveLearner(X, ids=ids)
    with pytest.raises(RuntimeError, match="no model yet"):
        learner.predict(["a"])
    learner.tell({"a": 1.0, ("b", 1): 2.0, 0: 3.0, 1: 2.5, 2: 0.5})
    mean, sd = learner.model.predict(X, return_std=True)
    assert_array_equal(learner.predict(ids), mean)
    assert_array_equal(learner.predict(X), mean)
    assert_array_equal(learner.predict(X.tolist()), mean)
    assert_array_equal(learner.predict([tuple(x) for x in X]), mean)
    assert_allclose(learner.predict(np.array([4, 5])), mean[[7, 8]], rtol=1e-9)
    assert learner.predict(("b", 1), return_std=True) == pytest.approx((mean[1], sd[1]), rel=1e-9)
    assert_allclose(
        learner.predict([(0.0, 0.0), "a"]), mean[[2, 0]], rtol=1e-9
    )  # an id before a row
    assert learner.predict(np.int64(0)) == pytest.approx(mean[3], rel=1e-9)
    for nobody in (["a", "z"], [0.5], 0.25, "z"):
        with pytest.raises(UnknownId):
            learner.predict(nobody)
    with pytest.raises(UnknownId, match=r"such as \[\[1.0, 2.0\]\]"):
        learner.predict([0.5, 0.5])
    with pytest.raises(ValueError, match="the pool has 2 inputs; got 3"):
        learner.predict(np.ones((2, 3)))
    assert learner.predict([]).shape == (0,)


def test_tables_of_a_learner():
    learner = taught(target="hardness [HV]", acquisition="multi")
    learner.remove([9])
    learner.ask()
    labels, found = learner.to_frame(), learner.to_frame("predictions")
    assert labels.columns.tolist() == ["id", "label", "noise"]
    assert labels["label"].tolist() == [float(np.sin(n)) for n in range(8)]
    assert 9 not in found["id"].tolist()
    assert_array_equal(found["mean"], learner.predict(found["id"].tolist()))
    assert (found["low"] < found["high"]).all()
    assert found["labelled"].sum() == 8
    assert learner.to_frame("candidates").equals(learner.rows([n for n in range(N) if n != 9]))
    history = learner.history.to_frame()
    assert len(history) == len(learner.history) == 9
    assert history["label"].tolist()[:8] == labels["label"].tolist()
    assert history["share qbc"].notna().sum() == 1
    assert learner.to_frame("history").equals(history)
    with pytest.raises(ValueError, match="labels, predictions, candidates, history"):
        learner.to_frame("events")
    plain = ActiveLearner(np.ones((3, 2)) * np.arange(3)[:, None], ids=["a", ("b", 1), 2])
    assert plain.to_frame("labels").empty
    assert plain.history.to_frame().empty
    assert plain.to_frame("candidates").columns.tolist() == ["input 0", "input 1"]
    assert plain.to_frame("candidates").index.tolist() == ["a", ("b", 1), 2]
    with pytest.raises(RuntimeError, match="no model yet"):
        plain.to_frame("predictions")


def test_what_is_said_of_a_learner_is_escaped():
    evil = "<script>alert(1)</script>"
    table = pandas.DataFrame({evil: [1.0, 2.0], "b": [3.0, None], "c": [0, 1]})
    learner = ActiveLearner(table, target=evil)
    assert evil in repr(learner)
    assert "<script>" not in learner._repr_html_()
    learner = ActiveLearner(pandas.DataFrame({evil: [1.0, 2.0]}))
    assert "&lt;script&gt;" in learner._repr_html_()
