"""The round of a worksheet: asked into a file, filled in, told; and files as people have them."""

import csv
import json
import re
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

import weal
from campaign.lab import N, pool, truth
from shell import events, typed
from weal.errors import AlreadyLabelled, UnknownId

pytestmark = pytest.mark.usefixtures("in_a_folder")


def lab(store="memory:", **settings):
    given = {"pool": pool(), "id_column": "name", "target": "y", "by": "ann", "n_start": 5}
    return weal.open_campaign("lab", store, **{**given, **settings})


def sheet(path):
    return [list(row) for row in openpyxl.load_workbook(path).active.iter_rows(values_only=True)]


def save(path, rows, title="Sheet"):
    book = openpyxl.Workbook()
    book.active.title = title
    for row in rows:
        book.active.append(row)
    book.save(path)


@pytest.fixture
def one():
    with lab(pool=pool().assign(y=[truth(n) if n < 6 else None for n in range(N)])) as campaign:
        yield campaign


def actions(found):
    return [(row.id, row.action) for row in found.rows]


@pytest.mark.parametrize("name", ["batch.xlsx", "batch.csv", "batch.tsv"])
def test_a_worksheet_goes_round(one, name):
    ids = one.ask(3)
    path, separator = one.worksheet(ids, name), "\t" if name.endswith("tsv") else ","
    if name.endswith("xlsx"):
        read = sheet(path)
    else:
        read = list(csv.reader(path.read_text().splitlines(), delimiter=separator))
    header, *rows = read
    assert header == ["name", "a", "b", "steel", "expected", "expected sd", "y", "note"]
    asked = {row.id: row for row in one.asked()}
    assert [row[0] for row in rows] == ids
    for row in rows:
        assert float(row[1]) == pytest.approx(asked[row[0]].row["a"], rel=1e-14)
        assert float(row[4]) == pytest.approx(asked[row[0]].mean, abs=asked[row[0]].sd / 10)
        assert row[6] in (None, "")
    for row, value in zip(rows, ["1.25", "failed - stirrer stopped", ""], strict=True):
        row[6] = value
    rows[0][7] = "fine"
    filled = Path(f"filled-{name}")
    if name.endswith("xlsx"):
        save(filled, [header, *rows])
    else:
        with filled.open("w", newline="") as file:
            csv.writer(file, delimiter=separator).writerows(read)
    before = one.read_ledger().seq
    looked = one.preview(filled)
    assert one.read_ledger().seq == before
    found = one.tell_file(filled)
    assert looked.rows == found.rows
    assert actions(found) == [(ids[0], "told"), (ids[1], "failed"), (ids[2], "empty")]
    assert found.event == one.read_ledger().seq == before + 2
    assert one.read_ledger().quantity().labels[ids[0]][0].note == "fine"
    [failure] = one.read_ledger().failures.labels[ids[1]]
    assert (failure.y, failure.note) == (0.0, "stirrer stopped")
    assert [actions(one.tell_file(filled, repeat=again))[0] for again in (False, True)] == [
        (ids[0], "same")
    ] * 2
    assert one.read_ledger().seq == before + 2


def test_a_failure_beside_a_label_changes_nothing_unless_the_label_is_replaced(one):
    done, other = one.ask(2)
    one.tell(done, 1.5)
    lines = f"name,y\n{done},failed\n{other},2.5\n{other},failed: leaked\n"
    found = one.tell_file(lines.encode(), name="r.csv")
    assert [row.action for row in found.rows] == ["same", "told", "same"]
    assert "so its run worked; use replace" in found.rows[0].message
    assert "has a label in this file" in found.rows[2].message
    assert not one.read_ledger().failures.labels
    found = one.tell_file(f"name,y\n{done},failed\n".encode(), name="r.csv", replace=True)
    assert [row.action for row in found.rows] == ["failed"]
    ledger = one.read_ledger()
    assert list(ledger.failures.labels) == [done]
    assert done not in ledger.quantity().labels


def test_bytes_are_taken_as_the_file_that_they_are_named(one):
    Path("r.csv").write_text("name,y\nr30,1\n")
    save("r.xlsx", [["name", "y"], ["r31", 2]])
    assert actions(one.tell_file(Path("r.csv").read_bytes(), name="r.csv")) == [("r30", "told")]
    assert actions(one.preview(Path("r.xlsx").read_bytes(), name="r.xlsx")) == [("r31", "told")]


def test_the_same_content_with_repeat_is_written_once_and_put_back_if_it_was_withdrawn(one):
    Path("r.csv").write_text("name,y\nr30,1\nr31,2\n")
    assert one.tell_file("r.csv", repeat=True).new == 2
    Path("again.csv").write_text("y;name\n1,0;r30\n2,0;r31\n")
    assert one.tell_file("again.csv", repeat=True).new == 0
    one.tell("r30", 1.0, repeat=True)
    Path("r.csv").write_text("name,y\nr30,1\nr31,2.5\n")
    assert one.tell_file("r.csv", repeat=True).new == 2
    one.withdraw("r31")
    assert one.tell_file("r.csv", repeat=True).counts == {"told": 1, "same": 1}
    assert [told.y for told in one.read_ledger().quantity().labels["r31"]] == [2.5]


def test_an_input_that_differs_is_pointed_out_and_a_file_of_others_refused(one):
    rows = pool(30, 36)[["name", "a", "steel"]].assign(y=1.0)
    rows.loc[1, "a"] += 0.5
    found = one.tell_file(rows)
    assert found.new == 6
    assert [bool(row.message) for row in found.rows] == [False, True, False, False, False, False]
    assert "in the campaign. Is it the right row?" in found.rows[1].message
    before = one.read_ledger().seq
    with pytest.raises(ValueError, match=r"6 of 6 rows .* other inputs .*another campaign"):
        one.tell_file(rows.assign(a=rows["a"] + 1, y=2.0), replace=True)
    assert one.read_ledger().seq == before
    rounded = rows.assign(a=[f"{x:.6f}".replace(".", ",") for x in pool(30, 36)["a"]])
    rounded.to_csv("r.csv", sep=";", index=False)
    assert not any(row.message for row in one.tell_file("r.csv").rows)


def test_ids_are_stripped_and_near_misses_are_suggested(one):
    Path("r.csv").write_text("name,y\n r30 ,1\n")
    assert actions(one.tell_file("r.csv")) == [("r30", "told")]
    Path("r.csv").write_text("name,y\nr31,1\nR 032,2\nzzz,3\n")
    with pytest.raises(
        UnknownId, match=r"2 bad lines.*line 3: .*'R 032'; did you mean 'r32'\?.*line 4: .*'zzz'$"
    ):
        one.tell_file("r.csv")
    with pytest.raises(UnknownId, match=r"'R032'; did you mean 'r32'\?"):
        one.tell("R032", 1.0)
    assert [row.action for row in one.preview("r.csv").rows] == ["told", "refused", "refused"]


def test_ids_that_a_spreadsheet_would_run_go_round(tmp_path):
    odd = ["=1+1", "+A", "-3", "@x", "'=q", "é µ", "a,b", 'q"q', "007"]
    table = pd.DataFrame({"id": odd, "x": range(5, 14), "note": [f"-x{n % 3}" for n in range(9)]})
    for name in ("sheet.csv", "sheet.xlsx"):
        with weal.open_campaign(
            "odd", "memory:", pool=table, id_column="id", features=["x", "note"]
        ) as one:
            ids = one.ask(9)
            path = one.worksheet(ids, name)
            if name.endswith("csv"):
                text = path.read_text("utf-8-sig")
                cells = [cell for row in csv.reader(text.splitlines()) for cell in row]
                assert not [cell for cell in cells if cell[:1] in "=+-@" and cell]
                rows = list(csv.reader(text.splitlines()))
                at = rows[0].index("value")
                for n, row in enumerate(rows[1:]):
                    row[at] = n
                with path.open("w", newline="", encoding="utf-8") as file:
                    csv.writer(file).writerows(rows)
            else:
                book = openpyxl.load_workbook(path)
                assert all(c.data_type != "f" for row in book.active for c in row)
                at = [c.value for c in book.active[1]].index("value") + 1
                for n in range(9):
                    book.active.cell(n + 2, at).value = n
                book.save(path)
            found = one.tell_file(path)
            assert [row.id for row in found.rows] == ids
            assert not any(row.message for row in found.rows)
            assert one.read_ledger().n_labels == 9


def test_excel_as_people_have_it(one):
    rows = [
        ["Hardness of batch 7"], ["measured by ann", None, "room 3"], [],
        ["name", "y", "a", None], [None, "HV", "mm", None], ["r30", 1.5, None, None], [],
        ["r31", "n/a", None, None], [None, None, None, None], [None, None, None],
    ]  # fmt: skip
    save("r.xlsx", rows, title="raw")
    found = one.preview("r.xlsx")
    assert [(row.line, row.id, row.action) for row in found.rows] == [
        (6, "r30", "told"),
        (8, "r31", "skipped"),
    ]
    assert found.notes == (
        "r.xlsx: the header was found on line 4",
        "r.xlsx: line 5 was read as a row of units",
    )
    assert one.preview("r.xlsx", header=4, sheet="raw").rows == found.rows
    with pytest.raises(ValueError, match=r"no sheet 'Raw'; it has 'raw'"):
        one.preview("r.xlsx", sheet="Raw")
    with pytest.raises(ValueError, match=r"line 3 .* blank or missing"):
        one.preview("r.xlsx", header=3)


def test_text_with_title_lines_marks_commas_and_other_letters(one):
    text = "Härte;;\nvon Anna;;\nname;y;sd\n;HV;HV\nr30;1,5;0,25\nr31;failed;\n"
    for encoding in ("utf-8-sig", "latin-1", "utf-16"):
        Path("r.csv").write_text(text, encoding)
        found = one.preview("r.csv")
        assert [(row.id, row.value, row.noise) for row in found.rows] == [
            ("r30", 1.5, 0.25),
            ("r31", None, None),
        ]
        assert any("Latin-1" in note for note in found.notes) == (encoding == "latin-1")


def test_other_headings_are_named(one):
    Path("r.csv").write_text("name,Ausbeute (%),who\nr30,3,ann\n")
    with pytest.raises(ValueError, match=r"no column 'y'; not understood: 'Ausbeute .*--value"):
        one.tell_file("r.csv")
    found = one.tell_file("r.csv", value="Ausbeute (%)")
    assert (found.new, found.notes) == (1, ("r.csv: ignored 'who'",))


def test_columns_of_the_pool_that_nothing_is_learnt_from_are_understood():
    table = pool().assign(shelf=[f"shelf {n}" for n in range(N)])
    with lab(pool=table.assign(y=None), features=["a", "b"]) as one:
        Path("r.csv").write_text("name,shelf,y\nr3,shelf 3,1\nr4,shelf 9,2\n")
        found = one.tell_file("r.csv")
        assert [bool(row.message) for row in found.rows] == [False, True]


def test_formulas_give_their_values_and_one_without_is_named(one):
    save("r.xlsx", [["name", "y"], ["r30", "=1+1"]])
    with pytest.raises(ValueError, match=r"the formula in column B, line 2, has no value yet"):
        one.tell_file("r.xlsx")
    from zipfile import ZipFile

    with ZipFile("r.xlsx") as old, ZipFile("computed.xlsx", "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("sheet1.xml"):
                assert b"<v" in data
                data = (
                    data.replace(b"<v />", b"<v>2</v>")
                    .replace(b"<v/>", b"<v>2</v>")
                    .replace(b"<v></v>", b"<v>2</v>")
                )
            new.writestr(name, data)
    assert one.tell_file("computed.xlsx").rows[0].value == 2.0


BAD = {
    "no rows": ("name,y\n", "no rows below its header"),
    "no value": ("name,y\nr30,\n", "no value in any row"),
    "400 digits": (f"name,y\nr30,{'9' * 400}\n", "too large; check its unit"),
    "two targets": ("name,y,value\nr30,1,2\n", "several columns for the value: y, value; name"),
    "twice": ("name,y\nr30,1\nr30,2\n", "line 3: 'r30' has the label 1.0 already"),
    "other ids": ("name,y\nB-1,1\nB-2,2\n", "2 bad lines.*no candidate has the id 'B-1'"),
    "broken": ('name,y\n"r30,1\n', "that begins on line"),
    "NUL": ("name,y\nr3\0,1\n", "not a text file"),
    "half": ("name,note,y\nr30,x\n", "line 2 of .* has 2 cells, but its header has 3"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_files_are_answered_with_one_line_and_nothing_is_stored(kind):
    lab("weal.db").close()
    text, says = BAD[kind]
    Path("r.csv").write_text(text)
    before = events("lab")
    done = typed("tell", "lab", "--file", "r.csv")
    assert done.code == 2
    assert re.search(says, done.complaint)
    assert len(done.err.splitlines()) == 1
    assert events("lab") == before


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"name,y\nr30,1\n"])
def test_damaged_workbooks_are_refused(one, data):
    Path("r.xlsx").write_bytes(data)
    with pytest.raises(ValueError, match=r"cannot be read as Excel"):
        one.tell_file("r.xlsx")


def test_a_label_that_is_there_and_another_in_the_file(one):
    Path("r.csv").write_text("name,y\nr30,1\nr1,99\n")
    with pytest.raises(AlreadyLabelled, match=r"line 3: 'r1' has the label"):
        one.tell_file("r.csv")
    assert actions(one.tell_file("r.csv", replace=True)) == [("r30", "told"), ("r1", "corrected")]


def test_the_place_of_a_worksheet_is_checked_before_rows_are_out():
    lab("weal.db").close()
    Path("there.csv").write_text("mine")
    before = events("lab")
    for words in (["there.csv"], ["nowhere/x.csv"], ["x.parquet"], ["x"]):
        assert typed("ask", "lab", "--to", *words).code == 2
    assert events("lab") == before
    assert Path("there.csv").read_text() == "mine"
    done = typed("ask", "lab", "-n", "2", "--to", "there.csv", "--force")
    assert done.code == 0
    assert "then `weal tell lab --file there.csv`" in done.err
    assert len(Path("there.csv").read_text().splitlines()) == 3
    assert typed("ask", "lab", "--again", "--to", "again.csv").code == 0
    assert Path("again.csv").read_text() == Path("there.csv").read_text()


def test_a_dry_run_shows_what_would_happen():
    lab("weal.db").close()
    Path("r.csv").write_text("name,y\nr30,1\nr31,-\nr32,\n")
    before = events("lab")
    done = typed("tell", "lab", "--file", "r.csv", "--dry-run")
    assert done.out.split() == [
        "line",
        "id",
        "action",
        "value",
        "2",
        "r30",
        "told",
        "1",
        "3",
        "r31",
        "skipped",
        "4",
        "r32",
        "empty",
    ]
    assert events("lab") == before
    found = json.loads(typed("tell", "lab", "--file", "r.csv", "--json").out)
    assert (found["event"], found["new"], found["skipped"], found["empty"]) == (4, 1, 1, 1)
    assert [row["action"] for row in found["rows"]] == ["told", "skipped", "empty"]


def test_a_campaign_begins_with_nothing_measured():
    pool().to_csv("pool.csv", index=False)
    words = ["--pool", "pool.csv", "--id", "name"]
    done = typed("new", "cold", *words, "--target", "Steal")
    assert re.search("no column 'Steal', but one named 'steel': did you mean", done.complaint)
    assert typed("new", "cold", *words, "--target", "hardness").code == 0
    assert typed("ask", "cold", "-n", "2", "--to", "batch.csv").code == 0
    header, *rows = csv.reader(Path("batch.csv").read_text().splitlines())
    assert header[-4:] == ["expected", "expected sd", "hardness", "note"]
    Path("r.csv").write_text(f"name,hardness\n{rows[0][0]},1\n")
    assert typed("tell", "cold", "--file", "r.csv").code == 0
    done = typed("new", "other", *words[:2], "--id", "name", "--target", "B")
    assert "one named 'b'" in done.complaint
