"""A plain sheet is read as openpyxl reads it, and whatever is not plain is left to it."""

import io
from datetime import datetime
from zipfile import ZipFile

import pytest
from openpyxl import Workbook, load_workbook
from openpyxl.styles import Font

from weal.tables.plain_sheet import read_plain_sheet

PLAIN = [
    ["id", "T (°C)", "", "y", "note"],
    ["P-1", 900, None, 1.5, "ok & <fine>"],
    [],
    ["  P-2 ", -3.25e-7, None, 1e300, " two\nlines "],
    [None, None, None, None, None],
    ["007", 12345678901234567890, True, False, "=not a formula"[1:]],
    [0, 0.1, None, -0.0, "ü\t€"],
]


def book(rows, change=None):
    made = Workbook()
    sheet = made.active
    for row in rows:
        sheet.append(row)
    made.create_sheet("Zweites Blatt").append(["other", 7])
    if change:
        change(sheet)
    file = io.BytesIO()
    made.save(file)
    return file.getvalue()


def by_openpyxl(data, title):
    sheet = load_workbook(io.BytesIO(data), data_only=True)[title]
    rows = enumerate(sheet.iter_rows(values_only=True), start=1)
    return [(n, list(row)) for n, row in rows if any(cell not in (None, "") for cell in row)]


def cut(row):
    while row and row[-1] is None:
        row.pop()
    return [(type(cell), cell) for cell in row]


@pytest.mark.parametrize("title", [None, "Sheet", "Zweites Blatt"])
def test_cells_are_those_of_openpyxl(title):
    data = book(PLAIN, lambda sheet: setattr(sheet["A1"], "font", Font(bold=True)))
    titles, rows = read_plain_sheet(data, title)
    assert titles == ["Sheet", "Zweites Blatt"]
    told = by_openpyxl(data, title or "Sheet")
    assert [(n, cut(row)) for n, row in rows] == [(n, cut(row)) for n, row in told]


def rewritten(data, name, old, new):
    file = io.BytesIO()
    with ZipFile(io.BytesIO(data)) as before, ZipFile(file, "w") as after:
        for one in before.namelist():
            text = before.read(one)
            after.writestr(one, text.replace(old, new) if one == name else text)
    return file.getvalue()


SHEET = "xl/worksheets/sheet1.xml"


@pytest.mark.parametrize(
    "data",
    [
        b"no workbook",
        book(PLAIN)[:-200],
        book([["a"], ["=1+1"]]),
        book([["a"], [datetime(2026, 1, 2)]]),
        book([["a"], [0.5]], lambda sheet: setattr(sheet["A2"], "number_format", "0.00 %")),
        book([["a"], ["#N/A"]]),
        book([["a"], ["x"]], lambda sheet: setattr(sheet["A2"], "value", "_x0041_")),
        rewritten(book([["a"], [5]]), SHEET, b"<v>5</v>", b"<v>five</v>"),
        rewritten(book([["a"], [5]]), SHEET, b'r="A2"', b'r="A2B"'),
        rewritten(book([["a", "b"]]), SHEET, b'r="B1"', b'r="A1"'),
        rewritten(book([["a"]]), SHEET, b"<worksheet", b"<!DOCTYPE x []><worksheet"),
        rewritten(book([["a"]]), "xl/workbook.xml", b"spreadsheetml/2006", b"strict"),
    ],
)
def test_what_is_not_plain_is_left_to_openpyxl(data):
    assert read_plain_sheet(data, None) is None


def test_a_sheet_that_is_not_there_is_left_to_openpyxl():
    assert read_plain_sheet(book(PLAIN), "Tabelle1") is None
