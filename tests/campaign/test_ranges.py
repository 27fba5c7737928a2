"""Bounds of labels: kept in the campaign, checked with every label, and no interval beyond."""

import numpy as np
import pandas as pd
import pytest

import weal
from shell import alone_in, refused, typed
from weal.tables.table_options import TableOptions


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    alone_in(tmp_path, monkeypatch)
    rng = np.random.default_rng([3, 1])
    X = rng.uniform(size=(30, 3))
    y = np.clip(100 * X @ [0.9, 0.4, 0.2], 0, 100).round(1)
    frame = pd.DataFrame(X.round(3), columns=["a", "b", "c"]).assign(y=y)
    frame.loc[12:, "y"] = None
    frame.insert(0, "id", [f"r{n}" for n in range(30)])
    frame.to_csv("pool.csv", index=False)


WORDS = ["--pool", "pool.csv", "--id", "id", "--target", "y"]


def test_intervals_stay_inside_and_labels_outside_are_refused():
    assert typed("new", "yields", *WORDS, "--range", "y=0..100").code == 0
    refused(typed("tell", "yields", "r20", "104"), 2, "y is at most 100; check its unit")
    refused(typed("tell", "yields", "--", "r20", "-1"), 2, "y is at least 0")
    assert typed("tell", "yields", "r20", "99.5").code == 0
    with weal.open_campaign("yields") as campaign:
        inside = campaign.to_frame("predictions")
        rows = campaign.predict(pd.read_csv("pool.csv")[["a", "b", "c"]])
    assert inside[["mean", "low", "high"]].to_numpy().min() >= 0.0
    assert inside[["mean", "low", "high"]].to_numpy().max() <= 100.0
    assert rows["high"].max() <= 100.0
    assert (inside["low"] <= inside["mean"]).all()
    assert (inside["mean"] <= inside["high"]).all()


def test_python_and_the_shell_write_the_same_bounds():
    typed("new", "shell", *WORDS, "--range", "y=..100")
    given = {"pool": "pool.csv", "id_column": "id", "target": "y"}
    weal.open_campaign("python", ranges={"y": (None, 100.0)}, **given).close()
    found = []
    for name in ("shell", "python"):
        with weal.open_campaign(name) as campaign:
            found.append(campaign.read_ledger().quantity().quantity)
    assert found[0] == found[1]
    assert (found[0].low, found[0].high) == (None, 100.0)


@pytest.mark.parametrize(
    ("text", "bounds"),
    [("0..100", (0, 100)), ("-5..5", (-5, 5)), ("0..", (0, None)), ("1e-3..0.5", (0.001, 0.5))],
)
def test_a_range_is_two_ends_with_dots_between(text, bounds):
    assert TableOptions().with_words([("range", f"y={text}")]).ranges == {"y": bounds}


@pytest.mark.parametrize("text", ["y", "y=", "y=..", "y=0-100", "y=low..high", "=0..1"])
def test_other_ranges_are_refused_with_how_to_write_one(text):
    done = typed("new", "yields", *WORDS, "--range", text)
    refused(done, 2, "write it as COLUMN=LOW..HIGH, such as 'yield=0..100'")


def test_a_range_is_for_the_target_and_for_the_labels_that_are_there():
    refused(typed("new", "x", *WORDS, "--range", "a=0..1"), 2, "'a', which is not the target 'y'")
    refused(typed("new", "x", *WORDS, "--range", "y=0..10"), 2, "y is at most 10; check its unit")
    refused(typed("new", "x", *WORDS, "--range", "y=10..1"), 2, "the lower one comes first")
