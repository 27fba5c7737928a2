"""Bounds of labels: kept in the campaign, checked with every label, and no interval beyond."""

from pathlib import Path

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


def test_intervals_stay_inside_and_labels_outside_are_doubted():
    assert typed("new", "yields", *WORDS, "--range", "y=0..100").code == 0
    assert "104 is above 100, the upper bound of y" in typed("tell", "yields", "r20", "104").err
    assert "-1 is below 0" in typed("tell", "yields", "--", "r21", "-1").err
    assert "bound" not in typed("tell", "yields", "--replace", "r20", "99.5").err
    typed("withdraw", "yields", "r21")
    with weal.open_campaign("yields") as campaign:
        inside = campaign.to_frame("predictions")
        rows = campaign.predict(pd.read_csv("pool.csv")[["a", "b", "c"]])
    assert inside[["mean", "low", "high"]].to_numpy().min() >= 0.0
    assert inside[["mean", "low", "high"]].to_numpy().max() <= 100.0
    assert rows["high"].max() <= 100.0
    assert (inside["low"] <= inside["mean"]).all()
    assert (inside["mean"] <= inside["high"]).all()


def inside_everywhere(campaign, low, high):
    """Whether all predictions of a campaign lie inside: frames, tables, asks, cards, the model."""
    campaign.ask(2)
    frame = pd.read_csv("pool.csv")[["a", "b", "c"]]
    model = campaign.read_session().model()
    found = [
        campaign.to_frame("predictions")[["mean", "low", "high"]].to_numpy(),
        campaign.predict(frame)[["mean", "low", "high"]].to_numpy(),
        model.predict(frame)[:, None],
        model.predict_quantiles(frame, [0.001, 0.999]),
        np.array([[row.mean, row.low, row.high] for row in campaign.asked()]),
        np.array([[campaign.card("r25").low, campaign.card("r25").high]]),
    ]
    return min(one.min() for one in found) >= low and max(one.max() for one in found) <= high


def test_no_prediction_is_beyond_the_bounds_until_a_label_is_confirmed_there():
    typed("new", "yields", *WORDS, "--range", "y=20..70")  # labels reach from 12 to 100
    with weal.open_campaign("yields") as campaign:
        assert inside_everywhere(campaign, 20.0, 70.0)
    typed("tell", "yields", "r20", "88")
    with weal.open_campaign("yields") as campaign:
        assert inside_everywhere(campaign, 20.0, 70.0)
    typed("tell", "yields", "r20", "88", "--sure")
    with weal.open_campaign("yields") as campaign:
        assert not inside_everywhere(campaign, 20.0, 70.0)
        assert inside_everywhere(campaign, 20.0, 200.0)


@pytest.mark.parametrize(
    ("column", "bounds"),
    [
        ("yield [%]", (0.0, 100.0)),
        ("Ausbeute / %", (0.0, 100.0)),
        ("yield percent", (0.0, 100.0)),
        ("conversion (%)", (0.0, 100.0)),
        ("yield", (None, None)),
        ("percent yield [g]", (None, None)),
        ("change [%]", (None, None)),
        ("ee [%]", (None, None)),
        ("Dehnung [%]", (None, None)),
    ],
)
def test_a_percentage_has_bounds_by_itself(column, bounds):
    frame = pd.read_csv("pool.csv").rename(columns={"y": column})
    frame.to_csv("pool.csv", index=False)
    words = ["--pool", "pool.csv", "--id", "id", "--target", column]
    said = typed("new", "own", *words).err
    typed("new", "none", *words, "--range", f"{column}=..")
    assert ("a percentage, so labels from 0 to 100" in said) == (bounds != (None, None))
    assert (f"{column}: the target, labels from 0 to 100" in said) == (bounds != (None, None))
    for name, wanted in (("own", bounds), ("none", (None, None))):
        with weal.open_campaign(name) as campaign:
            quantity = campaign.read_ledger().quantity().quantity
        assert (quantity.low, quantity.high) == wanted


def test_a_percentage_with_labels_outside_has_no_bounds():
    frame = pd.read_csv("pool.csv").rename(columns={"y": "y [%]"})
    frame.loc[3, "y [%]"] = 104
    frame.to_csv("pool.csv", index=False)
    said = typed("new", "own", "--pool", "pool.csv", "--id", "id", "--target", "y [%]").err
    assert "1 label lies outside 0 to 100: r3 (104), so no bounds are set" in said
    with weal.open_campaign("own") as campaign:
        assert campaign.read_ledger().quantity().quantity.high is None


def test_a_bound_is_kept_as_a_note_in_the_shell_in_a_file_and_in_a_table():
    text = Path("pool.csv").read_text().splitlines()
    text[-1] = text[-1] + ">95"
    Path("pool.csv").write_text("\n".join(text) + "\n")
    said = typed("new", "yields", *WORDS).err
    assert "1 row has a bound, which is kept as a note" in said
    done = typed("tell", "yields", "r20", "<0.1", "--note", "by HPLC")
    assert "r20: kept as <0.1: a bound, not learned from; by HPLC" in done.err
    Path("sheet.csv").write_text("id,y\nr21,> 99 %\n")
    done = typed("tell", "yields", "--file", "sheet.csv")
    assert "is kept as a note, and the model ignores it" in done.err
    with weal.open_campaign("yields") as campaign:
        ledger = campaign.read_ledger()
    assert ledger.n_labels == 12
    assert ledger.skipped == {
        "r29": ">95: a bound, not learned from",
        "r20": "<0.1: a bound, not learned from; by HPLC",
        "r21": "> 99 %: a bound, not learned from",
    }
    assert "<0.1: a bound" in typed("show", "yields", "r20").out
    refused(typed("tell", "yields", "r1", ">95"), 2, "labelled already")


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
    [
        ("..", (None, None)),
        ("0..100", (0, 100)),
        ("-5..5", (-5, 5)),
        ("0..", (0, None)),
        ("1e-3..0.5", (0.001, 0.5)),
    ],
)
def test_a_range_is_two_ends_with_dots_between(text, bounds):
    assert TableOptions().with_words([("range", f"y={text}")]).ranges == {"y": bounds}


@pytest.mark.parametrize("text", ["y", "y=", "y=0-100", "y=low..high", "=0..1"])
def test_other_ranges_are_refused_with_how_to_write_one(text):
    done = typed("new", "yields", *WORDS, "--range", text)
    refused(done, 2, "write it as COLUMN=LOW..HIGH, such as 'yield=0..100'")


def test_a_range_is_for_the_target_and_for_the_labels_that_are_there():
    refused(typed("new", "x", *WORDS, "--range", "a=0..1"), 2, "'a', which is not the target 'y'")
    refused(typed("new", "x", *WORDS, "--range", "y=10..1"), 2, "the lower one first")
    said = typed("new", "x", *WORDS, "--range", "y=0..40").err
    assert "labels lie outside 0..40: r" in said
