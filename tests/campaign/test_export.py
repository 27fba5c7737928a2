import json
from datetime import datetime

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from campaign.lab import campaign, pool
from campaign.taught import measured, taught
from weal.campaign import export as export_module
from weal.campaign.campaign import open_campaign
from weal.campaign.export import EXPORT_TABLES, export, frame
from weal.errors import WealError
from weal.tables import table_writer
from weal.tables.text_records import unescape

ODD = ["=1+1", "+x", "-2", "@sum", "007", "NA", "a,b", 'say "so"', "two\nlines", "\u00e9\U0001f600"]


@pytest.fixture(scope="module")
def one():
    return taught(12, rows=50)


@pytest.fixture(scope="module")
def odd():
    table = pd.DataFrame(
        {"name": ODD, "x": range(10), "formula": ["=HYPERLINK(1)"] * 5 + ["b"] * 5}
    )
    found = open_campaign("odd", "memory:", pool=table, id_column="name", n_start=3)
    for n, name in enumerate(ODD[:5]):
        found.tell(name, float(n), note="=note")
    return found


def test_labels_are_listed_in_the_order_they_came(one):
    table = frame(one)
    told = one.read_ledger().quantity().told()
    assert table["id"].tolist() == [label.id for label in told]
    assert table["label"].tolist() == [label.y for label in told]
    assert table["event"].is_monotonic_increasing


def test_every_candidate_is_predicted(one, constants):
    table = frame(one, "predictions")
    constants(export_module, PREDICTED_AT_A_TIME=7)
    in_blocks = frame(one, "predictions")
    mean, sd = one.read_model().predict(one.read_session().pool.X, return_std=True)
    low, high = one.read_model().predict_interval(one.read_session().pool.X, 0.9)
    assert table["id"].tolist() == one.read_session().pool.ids
    for name, values in {"mean": mean, "sd": sd, "low": low, "high": high}.items():
        np.testing.assert_array_equal(table[name], values)
        np.testing.assert_allclose(in_blocks[name], values, rtol=1e-9, atol=1e-12)
    known = table[table["labelled"]].set_index("id")["label"]
    assert known.to_dict() == {label.id: label.y for label in one.read_ledger().quantity().told()}
    assert table["label"].notna().sum() == 12


def test_nothing_is_predicted_before_there_is_a_model():
    table = frame(taught(2), "predictions")
    assert table["mean"].isna().all()
    assert table["labelled"].sum() == 2


def test_a_file_of_predictions_needs_a_model(tmp_path):
    with pytest.raises(WealError, match="no predictions before there is a model: 3 more labels"):
        export(taught(2), "predictions", tmp_path / "p.csv")
    assert not (tmp_path / "p.csv").exists()


def test_candidates_are_as_they_came_and_those_added_follow():
    one = campaign(rows=10)
    one.add(pool(10, 14))
    table = frame(one, "candidates")
    pd.testing.assert_frame_equal(table, pool(0, 14), check_dtype=False)


def test_events_are_all_there(one):
    table = frame(one, "events")
    events = one.events()
    assert table["hash"].tolist() == [event.hash for event in events]
    assert [json.loads(body) for body in table["body"]] == [event.body for event in events]


def read(path):
    text = {"dtype": {"id": str, "name": str}, "keep_default_na": False, "na_values": [""]}
    if path.suffix in (".csv", ".tsv"):
        found = pd.read_csv(path, sep="\t" if path.suffix == ".tsv" else ",", **text)
        return found.map(lambda cell: unescape(cell) if isinstance(cell, str) else cell)
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    if path.suffix == ".xlsx":
        return pd.read_excel(path, **text)
    text = path.read_text(encoding="utf-8")
    return pd.DataFrame(
        json.loads(text) if path.suffix == ".json" else map(json.loads, text.splitlines())
    )


@pytest.mark.filterwarnings("ignore:.*a spreadsheet runs nothing")
@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".json", ".jsonl", ".xlsx"])
def test_what_was_written_is_read_back(odd, tmp_path, ending):
    for what in EXPORT_TABLES:
        path = tmp_path / f"{what}{ending}"
        table = frame(odd, what)
        assert export(odd, what, path) == len(table)
        back = read(path)
        assert list(back.columns) == list(table.columns)
        key = "name" if what == "candidates" else "id"
        assert back[key].dropna().tolist() == table[key].dropna().tolist()
        for name in {"formula", "note"} & set(table.columns):
            assert back[name].tolist() == table[name].tolist()
        for name in {"mean", "low", "label"} & set(table.columns):
            loss = 1e-15 if ending == ".xlsx" else 0.0  # openpyxl writes 16 digits
            np.testing.assert_allclose(
                back[name].to_numpy(float), table[name].to_numpy(float), rtol=loss
            )
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        f"{w}{ending}" for w in EXPORT_TABLES
    )


def test_a_sheet_has_no_formulas(odd, tmp_path):
    import openpyxl

    export(odd, "candidates", tmp_path / "c.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "c.xlsx").active
    assert {cell.data_type for row in sheet.iter_rows() for cell in row} == {"s", "n"}


def test_a_file_is_written_whole_or_not_at_all(one, tmp_path, monkeypatch):
    path = tmp_path / "labels.csv"
    path.write_text("old")

    def fails(table, draft):
        draft.write_text("half")
        raise OSError("disk full")

    monkeypatch.setitem(table_writer.WRITERS, ".csv", fails)
    with pytest.raises(OSError, match=r"disk full; it was not written: '.*labels\.csv'"):
        export(one, "labels", path, force=True)
    assert path.read_text() == "old"
    assert [other.name for other in tmp_path.iterdir()] == ["labels.csv"]


def test_what_cannot_be_written_is_refused(one, tmp_path):
    with pytest.raises(ValueError, match="does not end in one of"):
        export(one, "labels", tmp_path / "labels.doc")
    with pytest.raises(ValueError, match="no folder"):
        export(one, "labels", tmp_path / "nowhere" / "labels.csv")
    with pytest.raises(ValueError, match="there are labels, predictions"):
        export(one, "secrets", tmp_path / "labels.csv")
    assert not list(tmp_path.iterdir())


def test_excel_has_control_characters_spelt_and_refuses_a_cell_that_is_too_long(tmp_path):
    one = taught(5)
    name = one.read_ledger().quantity().told()[0].id
    one.tell(name, measured(name) + 1.0, replace=True, note="bell \x07")
    export(one, "labels", tmp_path / "labels.xlsx")
    assert "bell \\u{7}" in pd.read_excel(tmp_path / "labels.xlsx")["note"].tolist()
    table = pd.DataFrame(
        {"name": ["a", "b", "c"], "x": [0.5, 3, 1], "text": ["x" * 40_000, "y", "z"]}
    )
    one = open_campaign("long", "memory:", pool=table, id_column="name", n_start=3)
    with pytest.raises(ValueError, match=r"32,767 characters, not 40,000: write \.csv"):
        export(one, "candidates", tmp_path / "long.xlsx")


def test_a_dash_is_standard_output(one, capsys):
    assert export(one, "labels", "-") == 12
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("id,label,noise")
    assert len(out) == 13


def test_exported_labels_can_be_told_again(tmp_path):
    with campaign() as one:
        one.tell(["r1", "r2"], [0.5, -0.25], noise=[0.1, None], note="batch 7")
        assert export(one, "labels", tmp_path / "labels.csv") == 2
        seq = one.read_ledger().seq
        assert one.tell_file(tmp_path / "labels.csv").labels == 2
        assert one.read_ledger().seq == seq
    with campaign() as other:
        other.tell_file(tmp_path / "labels.csv")
        told = [
            (one.id, one.y, one.noise, one.note) for one in other.read_ledger().quantity().told()
        ]
        assert told == [("r1", 0.5, 0.1, "batch 7"), ("r2", -0.25, None, "batch 7")]


def test_cells_of_every_type_are_written_as_a_spreadsheet_and_arrow_want_them(tmp_path):
    day, hour = datetime(2026, 5, 1), datetime(2026, 5, 1, 7, 30)
    table = {
        "day": [day, None, day], "hour": [hour, day, None], "whole": [1, None, 2**70],
        "mixed": ["a, b", 2.5, None], "number": np.array([1.5, np.nan, np.inf]),
        "yes": np.array([True, False, True]), "none": [None, None, None],
    }  # fmt: skip
    for suffix in (".csv", ".tsv", ".parquet", ".json"):
        table_writer.write(table, tmp_path / f"t{suffix}")
    assert (tmp_path / "t.csv").read_text() == (
        "day,hour,whole,mixed,number,yes,none\n"
        '2026-05-01,2026-05-01 07:30:00,1,"a, b",1.5,True,\n'
        ",2026-05-01 00:00:00,,2.5,,False,\n"
        "2026-05-01,,1180591620717411303424,,inf,True,\n"
    )
    assert (tmp_path / "t.tsv").read_text().startswith("day\thour\twhole\tmixed")
    back = pq.read_table(tmp_path / "t.parquet").to_pydict()
    assert back["mixed"] == ["a, b", "2.5", None]
    assert back["whole"] == ["1", None, str(2**70)]
    assert back["hour"] == [hour, day, None]
    assert json.loads((tmp_path / "t.json").read_text())[1]["number"] is None


def test_a_table_without_rows_has_its_header(tmp_path):
    for suffix in (".csv", ".parquet", ".json"):
        table_writer.write({"id": [], "label": np.zeros(0)}, tmp_path / f"t{suffix}")
    assert (tmp_path / "t.csv").read_text() == "id,label\n"
    assert list(pd.read_parquet(tmp_path / "t.parquet").columns) == ["id", "label"]
