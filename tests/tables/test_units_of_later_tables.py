"""A row of units in a later table: converted to the unit of the campaign, or refused."""

import warnings
from pathlib import Path

import pytest

import weal
from shell import alone_in, refused, typed

FIRST = "run,T,V,yield\n,°C,mL,g\n" + "".join(
    f"R-{n},{60 + 3 * n},{5 + n * n % 7},{'' if n > 6 else 1.5 + n}\n" for n in range(12)
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    alone_in(tmp_path, monkeypatch)
    Path("first.csv").write_text(FIRST)
    words = ["--pool", "first.csv", "--id", "run", "--target", "yield"]
    assert typed("new", "runs", *words).code == 0


def table():
    with weal.open_campaign("runs") as campaign:
        columns = campaign.read_session().pool.columns()
        labels = {
            n: [y.y for y in some] for n, some in campaign.read_ledger().quantity().labels.items()
        }
    return columns, labels


def test_the_units_of_the_first_table_are_those_of_the_campaign():
    with weal.open_campaign("runs") as campaign:
        assert campaign.read_ledger().quantity().quantity.unit == "g"
        units = {one["name"]: one.get("unit") for one in campaign.read_ledger().plan["columns"]}
    assert units == {"T": "°C", "V": "mL"}


@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
def test_further_candidates_in_other_units_are_converted(suffix):
    rows = [
        ["run", "T", "V", "yield"],
        ["", "K", "L", "mg"],
        ["S-1", 353.15, 0.01, 2500],
        ["S-2", 343.15, 0.0075, ""],
    ]
    if suffix == "csv":
        Path("more.csv").write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n")
    else:
        from openpyxl import Workbook

        book = Workbook()
        for row in rows:
            book.active.append([None if cell == "" else cell for cell in row])
        book.save("more.xlsx")
    done = typed("add", "runs", f"more.{suffix}")
    assert done.code == 0
    assert "T: numbers in K were converted to °C, as the row of units says" in done.err
    columns, labels = table()
    assert columns["T"][-2:] == pytest.approx([80.0, 70.0])
    assert columns["V"][-2:] == pytest.approx([10.0, 7.5])
    assert labels["S-1"] == [pytest.approx(2.5)]


@pytest.mark.parametrize(
    ("units", "says"), [("bar,mL,g", "T: the row of units says 'bar'"), ("°C,mL,mol", "yield")]
)
def test_units_that_cannot_be_converted_are_refused(units, says):
    Path("more.csv").write_text(f"run,T,V,yield\n,{units}\nS-1,80,5,3\nS-2,90,7,\n")
    refused(typed("add", "runs", "more.csv"), 2, "correct the row of units, or delete it")
    assert says in typed("add", "runs", "more.csv").complaint
    assert "S-1" not in table()[0]["run"]


def test_the_same_units_or_none_change_nothing():
    Path("more.csv").write_text("run,T,V,yield\n,degC,ml,g\nS-1,80,5,3\nS-2,90,7,\n")
    assert "converted" not in typed("add", "runs", "more.csv").err
    Path("none.csv").write_text("run,T,V,yield\nS-3,80,5,3\nS-4,90,7,\n")
    assert "converted" not in typed("add", "runs", "none.csv").err
    columns, labels = table()
    assert columns["T"][-4:] == [80, 90, 80, 90]
    assert labels["S-3"] == [3.0]


def test_labels_of_a_worksheet_are_converted_or_refused():
    Path("sheet.csv").write_text("run,yield,noise\n,mg,\nR-8,2500,100\nR-9,3.1 g,\n")
    done = typed("tell", "runs", "--file", "sheet.csv")
    assert "yield: numbers in mg were converted to g, as the row of units says" in done.err
    with weal.open_campaign("runs") as campaign:
        told = campaign.read_ledger().quantity().labels
    assert (told["R-8"][0].y, told["R-8"][0].noise) == (2.5, pytest.approx(0.1))
    assert told["R-9"][0].y == pytest.approx(3.1)
    Path("sheet.csv").write_text("run,yield\n,%\nR-10,50\n")
    refused(typed("tell", "runs", "--file", "sheet.csv"), 2, "labels are in 'g'; correct the row")


def test_a_unit_that_is_declared_converts_the_row_of_units():
    words = ["--pool", "first.csv", "--id", "run", "--target", "yield", "--unit", "T=K"]
    assert "converted to K" in typed("new", "kelvin", *words).err
    with weal.open_campaign("kelvin") as campaign:
        assert campaign.read_session().pool.columns()["T"][:2] == pytest.approx([333.15, 336.15])


def test_predictions_read_other_units_too():
    Path("rows.csv").write_text("run,T,V\n,K,L\nx,353.15,0.01\n")
    Path("same.csv").write_text("run,T,V\ny,80,10\n")
    with weal.open_campaign("runs") as campaign, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other, same = campaign.predict("rows.csv"), campaign.predict("same.csv")
    assert other["mean"][0] == pytest.approx(same["mean"][0], rel=1e-9)
