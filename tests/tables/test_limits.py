"""Files beyond the limits are refused while they are read; others are read as before."""

import csv
import io
import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pandas as pd
import pytest
from openpyxl import Workbook
from openpyxl.styles import Font

from shell import typed
from tables import hostile
from tables.test_excel_reader import SHEET, rewritten
from weal.errors import TooLarge
from weal.limits import Limits, read_limits, variable
from weal.shards.parquet_file import convert
from weal.tables import text_records as text_records_module
from weal.tables import workbook_scan
from weal.tables.csv_reader import open_csv
from weal.tables.results_reader import ResultColumns, read_results
from weal.tables.table import read_table
from weal.tables.text_records import check_cells

MOST_SECONDS, MOST_BYTES = 3.0, 300 * 2**20
MANY = ("cells.xlsx", "elements.xlsx")  # counted one by one: 1 to 2 s where nothing else runs


@pytest.fixture(scope="module")
def tried(tmp_path_factory):
    """What came of each hostile file, in a process of its own, and the peak of its memory."""
    folder = tmp_path_factory.mktemp("hostile")
    for name, make in hostile.MAKERS.items():
        (folder / name).write_bytes(make())
    words = [sys.executable, hostile.__file__, str(folder)]
    done = subprocess.run(words, check=True, capture_output=True, text=True, cwd=folder)
    return json.loads(done.stdout)


def test_hostile_files_are_refused_soon_and_in_little_memory(tried):
    found, peak = tried
    assert {name for name, *_ in found} == set(hostile.MAKERS)
    assert not [one for one in found if one[2] not in ("TooLarge", "ValueError")]
    slow = {one[0]: one[3] for one in found if one[3] > MOST_SECONDS}
    assert all(name in MANY and seconds < 5 * MOST_SECONDS for name, seconds in slow.items()), slow
    assert peak < MOST_BYTES


def test_the_refusal_names_the_limit_and_the_setting_that_raises_it(tried):
    for name, _, error, _, words in tried[0]:
        assert name in words
        if name in hostile.LIMITS:
            assert error == "TooLarge"
            assert words.endswith(f"raise the limit: set WEAL_MAX_{hostile.LIMITS[name]}")
        else:
            assert hostile.WORDS[name] in words


POOL = "id,a,y\n" + "".join(f"r{k},{k % 7},{k % 5 if k < 14 else ''}\n" for k in range(40))
COMMANDS = {
    "new": ("new", "other", "--pool", "FILE", "--id", "id"),
    "add": ("add", "steel", "FILE"),
    "tell": ("tell", "steel", "--file", "FILE"),
    "tell --dry-run": ("tell", "steel", "--file", "FILE", "--dry-run"),
    "predict": ("predict", "steel", "FILE"),
    "simulate": ("simulate", "FILE", "--target", "y"),
}


@pytest.fixture
def steel(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WEAL_STORE", f"sqlite:///{tmp_path}/weal.db")
    Path("pool.csv").write_text(POOL)
    assert typed("new", "steel", "--pool", "pool.csv", "--id", "id", "--target", "y").code == 0


def test_every_command_that_reads_a_table_keeps_within_the_limits(steel, monkeypatch):
    monkeypatch.setenv("WEAL_MAX_ROWS", "1000")
    Path("far-row.xlsx").write_bytes(hostile.MAKERS["far-row.xlsx"]())
    Path("rows.csv").write_text("id,a,y\n" + "r1,1,2\n" * 1001)
    for words in COMMANDS.values():
        for name in ("far-row.xlsx", "rows.csv"):
            done = typed(*(name if word == "FILE" else word for word in words))
            assert done.code == 2
            expected = f"weal: {name} has more than 1,000 rows, the most that are read into memory"
            assert done.complaint.startswith(expected)
            assert done.complaint.endswith("raise the limit: set WEAL_MAX_ROWS")


def test_honest_large_tables_are_within_the_defaults():
    limits = Limits()
    assert limits.rows > 10**6
    check_cells("a.csv", 10**6 + 1, 20, limits.cells)
    check_cells("a.xlsx", 10**5 + 1, 20, limits.sheet_cells, "sheet_cells")
    assert limits.bytes > 10**6 * 20 * 21  # numbers of 20 digits
    assert limits.workbook_bytes > 10**5 * 20 * 60


@pytest.mark.parametrize("name", [one.name for one in fields(Limits)])
def test_each_limit_is_set_by_its_variable(name, monkeypatch):
    monkeypatch.setenv(variable(name), " 12_000 ")
    assert getattr(read_limits(), name) == 12_000
    for wrong in ("many", "-1", "0", "1e6"):
        monkeypatch.setenv(variable(name), wrong)
        with pytest.raises(ValueError, match=f"{variable(name)} is '{wrong}'; write a whole"):
            read_limits()


@pytest.mark.parametrize(
    ("name", "most", "text"),
    [
        ("rows", 3, "id,a\n1,2\n2,3\n3,4\n"),
        ("columns", 2, "id,a,b\n1,2,3\n"),
        ("cells", 11, "id,a,b\n1,2,3\n2,3,4\n3,4,5\n"),
        ("cell_length", 4, "id,a\nlonger,2\n"),
        ("cell_length", 4, 'id,a\n"1\n2\n3\n4",2\n'),
        ("bytes", 10, "id,a\n1,2\n2,3\n"),
    ],
)
def test_a_limit_that_is_raised_lets_the_table_in(name, most, text, tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text(text)
    rows = read_table(path).n
    monkeypatch.setenv(variable(name), str(most))
    with pytest.raises(TooLarge, match=f"a.csv has .*: set {variable(name)}$"):
        read_table(path)
    monkeypatch.setenv(variable(name), str(10 * most))
    assert read_table(path).n == rows
    assert csv.field_size_limit() == 131_072


def test_a_cell_may_be_longer_than_the_csv_module_has_it(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("id,note\n1," + "x" * 200_000 + "\n")
    with pytest.raises(TooLarge, match=r"more than 131,072 characters \(line 2\)"):
        read_table(path)
    monkeypatch.setenv("WEAL_MAX_CELL_LENGTH", "300000")
    assert len(read_table(path).cells("note")[0]) == 200_000


def test_a_row_that_is_too_long_is_told_from_a_cell_that_is(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,a\n" + ",".join(["x" * 90_000] * 30) + "\n")
    with pytest.raises(TooLarge, match=r"a row of more than 2,097,152 characters, 128 for each of"):
        read_table(path)


def test_lines_are_counted_in_every_encoding_and_with_every_end(tmp_path):
    lines = ["id,名", "上,1", "ਅ,2", "x,3", ""]
    for n, end in enumerate(("\n", "\r\n", "\r")):
        for encoding in ("utf-8", "utf-8-sig", "utf-16"):
            path = tmp_path / f"{n}-{encoding}.csv"
            path.write_bytes(end.join(lines).encode(encoding))
            assert open_csv(path).lines == 4
            assert read_table(path).n == 3


def test_the_end_of_a_line_may_fall_between_two_blocks(tmp_path, constants):
    constants(text_records_module, READ_BLOCK_BYTES=5)
    path = tmp_path / "a.csv"
    path.write_bytes(b"id,a\r\n1,2\r\n3,4\r\n")
    assert open_csv(path).lines == 3


def test_a_pool_that_stays_on_disk_has_no_limit_of_rows(tmp_path, monkeypatch):
    monkeypatch.setenv("WEAL_MAX_ROWS", "2")
    path = tmp_path / "a.csv"
    path.write_text("id,a\n1,2\n2,3\n3,4\n")
    assert len(convert(path)) == 1


def test_parquet_is_refused_by_what_it_says_of_its_cells(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    pd.DataFrame({"id": range(10), "y": range(10)}).to_parquet(path)
    monkeypatch.setenv("WEAL_MAX_CELLS", "19")
    for read in (read_table, lambda one: read_results(one, ResultColumns("id", "y"))):
        with pytest.raises(TooLarge, match=r"\(10 rows of 2 columns\).*set WEAL_MAX_CELLS$"):
            read(path)


def saved(path, change=None):
    book = Workbook()
    sheet = book.active
    for row in (["id", "y"], ["a", 1.5], ["b", 2.5], ["c", None]):
        sheet.append(row)
    if change:
        change(sheet)
    book.save(path)
    return path


def test_cells_without_content_far_to_the_right_are_no_columns(tmp_path, monkeypatch):
    """Whoever makes the first row bold has 16,384 cells in it."""
    monkeypatch.setenv("WEAL_MAX_SHEET_CELLS", "20000")
    bold = lambda sheet: setattr(sheet["XFD1"], "font", Font(bold=True))  # noqa: E731
    path = saved(tmp_path / "a.xlsx", bold)
    assert list(read_table(path).columns) == ["id", "y"]
    assert len(read_results(path, ResultColumns("id", "y")).rows) == 2


def test_a_sheet_that_is_wrong_about_its_size_is_read_whole(tmp_path):
    """Some programs write A1; a hostile one, more cells than there are atoms."""
    percent = lambda sheet: setattr(sheet["B2"], "number_format", "0 %")  # noqa: E731
    data = saved(tmp_path / "a.xlsx", percent).read_bytes()
    for said in (b"A1", b"A1:XFD1048576"):
        path = tmp_path / "b.xlsx"
        path.write_bytes(rewritten(data, SHEET, b"A1:B4", said))
        assert read_table(path).n == 3
        assert len(read_results(path, ResultColumns("id", "y")).lines) == 3


def test_a_cell_of_a_sheet_in_many_pieces_is_counted_as_one(tmp_path, monkeypatch, constants):
    constants(workbook_scan, HARMLESS_BYTES=1000)
    monkeypatch.setenv("WEAL_MAX_CELL_LENGTH", "100000")
    piece = b"<r><t>" + b"x" * 50_000 + b"</t></r>"
    cell = b'<row r="2"><c r="A2" t="inlineStr"><is>', b"</is></c></row>"
    path = tmp_path / "a.xlsx"
    path.write_bytes(hostile.workbook((hostile.TITLES + cell[0], 1), (piece, 60), (cell[1], 1)))
    with pytest.raises(TooLarge, match=r"100,000 characters \(in the workbook\)"):
        read_table(path)


def test_a_text_that_is_too_long_is_found_by_its_line(tmp_path, monkeypatch):
    monkeypatch.setenv("WEAL_MAX_CELL_LENGTH", "10")
    path = saved(tmp_path / "a.xlsx", lambda sheet: setattr(sheet["A3"], "value", "x" * 11))
    with pytest.raises(TooLarge, match=r"10 characters \(line 3\).*set WEAL_MAX_CELL_LENGTH$"):
        read_table(path)


def test_bytes_of_results_are_within_the_limits_too(monkeypatch):
    monkeypatch.setenv("WEAL_MAX_RESULT_BYTES", "20")
    with pytest.raises(TooLarge, match=r"set WEAL_MAX_RESULT_BYTES$"):
        read_results(b"id,y\n" + b"a,1\n" * 5, ResultColumns("id", "y"), name="a.csv")
    data = io.BytesIO(b"id,y\na,1\nb,2\n").getvalue()
    assert len(read_results(data, ResultColumns("id", "y"), name="a.csv").rows) == 2
