"""Rows that are no candidates: predicted by the campaign's plan, and what is said of them."""

import csv
import json
import warnings
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pytest

from campaign.alloys import begin_alloys, begin_bare
from campaign.lab import pool
from campaign.taught import taught
from shell import refused, typed
from weal.campaign import predict
from weal.campaign.campaign import open_campaign
from weal.cli.commands import predict as predict_module
from weal.errors import WealError

NUMBERS = ["mean", "sd", "low", "high"]
LEVELS = ["hard", "odd", "soft"]


@pytest.fixture(scope="module")
def one():
    return taught(12, rows=50)


def new(n=9, first=100):
    return pool(first, first + n)


def quietly(one, table, **how):
    """The predictions, where there is nothing to be said."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return one.predict(table, **how)


def said(one, table, **how):
    """The predictions, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = one.predict(table, **how)
    assert all(one.filename == __file__ for one in caught)
    return found, [str(one.message) for one in caught]


def test_new_rows_are_what_the_model_says_of_their_inputs(one):
    table = new()
    steel = [[float(level == one_of) for one_of in LEVELS] for level in table["steel"]]
    X = np.column_stack([table[["a", "b"]], steel])
    found = quietly(one, table, level=0.6)
    assert found["id"].tolist() == table["name"].tolist()
    mean, sd = one.read_model().predict(X, return_std=True)
    low, high = one.read_model().predict_interval(X, 0.6)
    np.testing.assert_array_equal(found[NUMBERS].to_numpy().T, [mean, sd, low, high])


def test_candidates_are_predicted_as_the_export_has_them(one):
    found, notes = said(one, pool(0, 50))
    whole = one.to_frame("predictions")
    pd.testing.assert_frame_equal(found, whole[found.columns.tolist()])
    assert notes == [
        "name: of candidates (r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, ...); predicted from "
        "the inputs in this table, not from the inputs in the campaign"
    ]


def test_neither_order_nor_blocks_nor_other_columns_matter(one, constants):
    table = new(17)
    found = quietly(one, table).set_index("id")
    mixed = table.sample(frac=1.0, random_state=3)[["steel", "b", "name", "a"]]
    constants(predict, PREDICTION_BLOCK_ROWS=5)
    in_blocks = quietly(one, mixed.reset_index(drop=True)).set_index("id")
    assert in_blocks.index.tolist() == mixed["name"].tolist()
    np.testing.assert_allclose(in_blocks.loc[found.index], found, rtol=1e-9, atol=1e-12)


def test_nothing_is_written(one):
    before = [event.hash for event in one.events()]
    quietly(one, new())
    assert [event.hash for event in one.events()] == before


def test_rows_need_no_ids_and_an_index_gives_them(one):
    table = new(2).drop(columns="name")
    assert quietly(one, table)["id"].tolist() == ["row 1", "row 2"]
    assert quietly(one, table.set_axis(["x", "y"]))["id"].tolist() == ["x", "y"]
    named = table.assign(code=["p", "q"])
    assert quietly(one, named, id_column="code")["id"].tolist() == ["p", "q"]
    with pytest.raises(ValueError, match="no column 'cod'"):
        one.predict(named, id_column="cod")


def test_ids_may_be_missing_and_shared_which_is_said(one):
    table = new(4).assign(name=["n", None, "n", "m"])
    found, notes = said(one, table)
    assert found["id"].tolist() == ["n", "row 2", "n", "m"]
    assert notes == [
        "name: 1 row has no id, and is named by row number",
        "name: n more than once; rows keep their order",
    ]


def test_what_may_not_be_meant_is_said(one):
    table = new(3).assign(
        steel=["hard", "wood", None], a=[0.1, 250.0, np.nan], colour="red", day="Monday"
    )
    low, high = pool(0, 50)["a"].agg(["min", "max"])
    _, notes = said(one, table)
    assert notes == [
        "colour, day: ignored, the campaign has no such columns",
        "a: 1 missing, encoded as the median; the first table had no gaps",
        "steel: 1 missing, encoded as no level; the first table had no gaps",
        "steel: 1 of unknown levels ('wood'), encoded as no level",
        f"a: 1 of 3 are far outside the range of the existing candidates ({low:.6g} to "
        f"{high:.6g}), such as 250; another "
        "unit?",
    ]


def test_columns_that_the_campaign_knows_and_labels_are_passed_over():
    table = pool(0, 20).assign(y=[0.5 * n for n in range(20)], lab="north", odd=range(5, 25))
    how = {"id_column": "name", "target": "y", "features": ["a", "b"], "n_start": 3}
    one = open_campaign("lab", "memory:", pool=table, **how)
    _, notes = said(one, table.assign(name=[f"n{k}" for k in range(20)]))
    assert notes == ["y: 20 values ignored, because it is the predicted quantity"]
    quietly(one, new().assign(y=np.nan))


def test_what_cannot_be_predicted_is_refused_and_named(one):
    for table, says in (
        (new().drop(columns="b"), "the table has no column 'b'; it has name, a, steel"),
        (new(2).head(0), "no rows"),
        (new(2).assign(a=["x", 0.5]), r"'a' must hold numbers, but 1 row does not: 'x' \(r100\)"),
        (new(2).assign(a=[0.1, np.inf]), r"finite numbers, but 1 row does not: 'inf' \(r101"),
        (new(2).assign(a=[0.1, 1e60]), "1 row has a value more than 1e.50 .* such as 'r101'"),
        ("r3", "'r3' is a candidate, and this takes a table"),
        ("rows.doc", "does not end in one of"),
        (".", "a folder or a pattern"),
    ):
        with pytest.raises(ValueError, match=says):
            one.predict(table)
    with pytest.raises(TypeError, match="give a table as a path or a"):
        one.predict(["r3", "r4"])
    for level in (0.0, 1.0, float("nan"), 90):
        with pytest.raises(ValueError, match="level is"):
            one.predict(new(), level=level)


def test_a_model_is_needed():
    with pytest.raises(WealError, match=r"before there is a model: 1 more label$"):
        taught(4).predict(new())


ROWS = [["sample", "temp", "hours", "steel"], ["N-1", 905.5, 2.5, "A"], ["N-2", 840, 7, "C"]]


def write(name="new.csv", rows=ROWS, **how):
    with Path(name).open("w", newline="") as file:
        csv.writer(file, **how).writerows(rows)
    return name


@pytest.mark.usefixtures("in_a_folder")
def test_it_shows_writes_and_prints_the_same():
    begin_alloys()
    file = write()
    found = json.loads(typed("predict", "alloys", file, "--json").out)
    assert (found["rows"], found["file"], found["notes"]) == (2, None, [])
    frame = pd.DataFrame(found["predictions"])
    assert frame["id"].tolist() == ["N-1", "N-2"]
    assert (frame["low"] < frame["mean"]).all()
    shown = [line.split() for line in typed("predict", "alloys", file).out.splitlines()]
    assert shown[0] == ["id", *NUMBERS]
    assert [float(one) for one in shown[1][1:]] == pytest.approx(frame.loc[0, NUMBERS], rel=1e-5)
    for name in ("p.csv", "p.xlsx", "p.parquet"):
        assert typed("predict", "alloys", file, "--to", name) == (
            0, "", f"2 rows predicted, in {name}\n",
        )  # fmt: skip
    pd.testing.assert_frame_equal(pd.read_csv("p.csv"), frame)
    pd.testing.assert_frame_equal(pd.read_parquet("p.parquet"), frame, check_dtype=False)
    assert typed("predict", "alloys", file, "--to", "-").out == Path("p.csv").read_text()


@pytest.mark.usefixtures("in_a_folder")
def test_tables_come_as_people_have_them():
    begin_alloys()
    whole = typed("predict", "alloys", write()).out
    comma = [[str(cell).replace(".", ",") for cell in row] for row in ROWS]
    assert typed("predict", "alloys", write("c.csv", comma, delimiter=";")).out == whole
    book = openpyxl.Workbook()
    for row in (["Alloys, November"], [], *ROWS):
        book.active.append(row)
    book.save("title.xlsx")
    done = typed("predict", "alloys", "title.xlsx")
    assert done == (0, whole, "title.xlsx: the header was found on line 3\n")
    assert typed("predict", "alloys", "title.xlsx", "--header", "3").out == whole


@pytest.mark.usefixtures("in_a_folder")
def test_what_it_refuses(constants):
    begin_alloys()
    begin_bare()
    file = write()
    bare = typed("predict", "bare", file)
    refused(bare, 1, "no predictions before there is a model: 8 more labels")
    Path("there.csv").write_text("mine")
    constants(predict_module, MAX_ROWS_SHOWN=1)
    for words, says in (
        (["alloys", "no.csv"], "there is no file no.csv"),
        (["alloys", file], "2 rows are too many to be shown: --to FILE"),
        (["alloys", file, "--to", "there.csv"], "already"),
        (["alloys", file, "--to", "-", "--json"], "leave out one"),
        (["alloys", file, "--level", "90"], "--level"),
        (["nobody", file], "nobody"),
        (["alloys", write("h.csv", ROWS[:1])], "no rows"),
    ):
        refused(typed("predict", *words), 2, says)
    assert Path("there.csv").read_text() == "mine"
