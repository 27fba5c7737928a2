"""Cells that are not quite numbers, units, and ordered categories."""

import json

import numpy as np
import openpyxl
import pandas as pd
import pytest

from weal.tables.plan import TablePlan, encode, make_plan
from weal.tables.table import read_table
from weal.tables.table_options import TableOptions

ODD = ["<0.5", "> 200", "ca. 3", "3 - 4", "12*", "(7)", "2 ± 1", "≤ 8"]
ODD_WITH_COMMAS = [cell.replace(".5", ",5") for cell in ODD]


def write(path, cells, separator=","):
    rows = [f"r{n}{separator}{cell}" for n, cell in enumerate(cells)]
    path.write_text("\n".join([f"id{separator}x", *rows]) + "\n", "utf-8")
    return path


@pytest.mark.parametrize("odd", ODD)
def test_a_few_cells_that_are_not_quite_numbers_are_missing_and_named(tmp_path, odd):
    cells = ["1.5", "2", "-3e1", odd, "4", "NA", "5.25"]
    table = read_table(write(tmp_path / "t.csv", cells), text=["id"])
    np.testing.assert_array_equal(table.columns["x"], [1.5, 2, -30, np.nan, 4, np.nan, 5.25])
    assert table.notes[0].startswith("x: 1 cell is not a number and counts as missing: ")
    assert repr(odd) in table.notes[0]
    plan = make_plan(table, id_column="id")
    assert plan.names == ["x", "x missing"]


@pytest.mark.parametrize("odd", ODD_WITH_COMMAS)
def test_the_same_with_decimal_commas(tmp_path, odd):
    cells = ["1,5", "2", "-3", odd, "4", "NA", "5,25"]
    table = read_table(write(tmp_path / "t.csv", cells, ";"), text=["id"])
    np.testing.assert_array_equal(table.columns["x"], [1.5, 2, -3, np.nan, 4, np.nan, 5.25])


@pytest.mark.parametrize("gap", ["n.a.", "N.A.", "k.A.", " n. a. ", "#NV", "missing"])
def test_a_word_for_a_gap_beside_numbers_makes_no_category_of_them(tmp_path, gap):
    cells = ["0,5", gap, "2,5", "1", gap, "7,5"]
    table = read_table(write(tmp_path / "t.csv", cells, ";"), text=["id"])
    gone = [np.nan]
    np.testing.assert_array_equal(table.columns["x"], [0.5, *gone, 2.5, 1, *gone, 7.5])
    assert f"x: {gap.strip()!r} (2) beside numbers was read as missing" in table.notes


def test_the_same_word_beside_words_is_a_level_and_a_declared_category_keeps_it(tmp_path):
    table = read_table(write(tmp_path / "t.csv", ["THF", "n.a.", "DMF"]), text=["id"])
    assert table.cells("x") == ["THF", "n.a.", "DMF"]
    options = TableOptions(types={"x": "category"})
    found = read_table(write(tmp_path / "t.csv", ["1", "n.a.", "2"]), options=options)
    assert found.cells("x") == ["1", "n.a.", "2"]


@pytest.mark.parametrize("unit", ["%", "°C", "MPa", " %", " °C", " MPa"])
def test_a_column_of_one_unit_throughout_is_of_numbers(tmp_path, unit):
    table = read_table(write(tmp_path / "t.csv", [f"{n}.5{unit}" for n in range(4)]), text=["id"])
    np.testing.assert_array_equal(table.columns["x"], [0.5, 1.5, 2.5, 3.5])
    assert table.notes == (f"x: read as numbers, in {unit.strip()}",)


@pytest.mark.parametrize(
    "cells",
    [
        ["1", "2", "3", "4", "low"],
        ["304", "316", "430", "304", "316L"],
        ["<1", "<2", "<3", "4", "5"],
        ["A1", "B2", "C3", "1"],
        ["2024-03-01", "1", "2", "3", "4"],
        ["1.2.3", "1", "2", "3", "4"],
    ],
)
def test_a_column_that_is_text_stays_text(tmp_path, cells):
    table = read_table(write(tmp_path / "t.csv", cells), text=["id"])
    assert table.columns["x"] == cells
    assert table.notes == ()


def test_declared_columns_and_targets_are_not_guessed_at(tmp_path):
    path = write(tmp_path / "t.csv", ["1", "2", "3", "4", "~5"])
    for how in (TableOptions(target="x"), TableOptions(types={"x": "category"})):
        table = read_table(path, how, text=["id"])
        assert table.columns["x"] == ["1", "2", "3", "4", "~5"]
        assert ("x" in table.refusals) == (how.target == "x")


def test_further_texts_can_mean_missing(tmp_path):
    path = write(tmp_path / "t.csv", ["1,5", "low", "3", "4", "<0,5"], ";")
    table = read_table(path, text=["id"], missing={"x": ["low", "<0,5"]})
    np.testing.assert_array_equal(table.columns["x"], [1.5, np.nan, 3, 4, np.nan])
    assert table.notes == ()


def test_frames_and_excel_alike(tmp_path):
    frame = pd.DataFrame({"id": list("abcde"), "x": [1.5, 2, 3, 4, "<0.5"]})
    np.testing.assert_array_equal(read_table(frame).columns["x"], [1.5, 2, 3, 4, np.nan])
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    np.testing.assert_array_equal(
        read_table(tmp_path / "t.xlsx").columns["x"], [1.5, 2, 3, 4, np.nan]
    )


def test_a_pool_in_excel_with_titles_and_units(tmp_path):
    book = openpyxl.Workbook()
    book.create_sheet("raw")
    head = [["Alloys of 2026"], [], ["id", "T", "steel"], [None, "°C", None]]
    for row in [*head, ["a", 900, "A"], ["b", 950, "B"], ["c", 875, "A"], []]:
        book["raw"].append(row)
    book.save(tmp_path / "t.xlsx")
    table = read_table(tmp_path / "t.xlsx", text=["id"], sheet="raw", leave_out=True)
    assert (table.columns["id"], list(table.columns["T"])) == (["a", "b", "c"], [900, 950, 875])
    assert table.notes == ("t.xlsx: the header was found on line 3",)
    assert table.row_notes == ("the row below the column names was read as units",)
    assert table.units == {"T": "°C"}
    same = read_table(tmp_path / "t.xlsx", text=["id"], sheet="raw", header=3, leave_out=True)
    assert same.columns["id"] == table.columns["id"]


def test_ordered_categories_are_places():
    frame = pd.DataFrame({"id": range(5), "grade": ["low", "high", None, "medium", " low "]})
    table = read_table(frame, text=["id"])
    types = {"grade": "ordered:low,medium,high"}
    plan = make_plan(table, id_column="id", types=types)
    assert plan.describe() == "1 input (1 ordered category)"
    assert plan.lines() == [
        "grade: ordered category: low < medium < high; plus a yes/no input that marks missing "
        "values"
    ]
    np.testing.assert_array_equal(encode(plan, table), [[0, 0], [2, 0], [0.5, 1], [1, 0], [0, 0]])
    again = TablePlan.from_json(json.loads(json.dumps(plan.to_json())))
    assert again == plan
    other = read_table(frame.assign(grade="odd"), text=["id"])
    with pytest.raises(ValueError, match=r"'grade' must hold one of low, medium, high, but 5 rows"):
        encode(plan, other)
    for wrong in ("ordered:low", "ordered:a,a", "ordered:a,,b", "sorted:a,b"):
        with pytest.raises(ValueError, match=r"ordered:low,medium,high"):
            make_plan(table, id_column="id", types={"grade": wrong})
