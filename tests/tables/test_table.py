"""Tables as people have them: files and frames, messy ones too."""

import sys
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weal.tables.cells import MISSING_MARKERS
from weal.tables.table import read_table, table_of


@pytest.fixture
def file(tmp_path):
    def write(content, name="mine.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_columns_come_in_order_with_one_type_each(file):
    table = read_table(file("id,n,x,steel\n007,1,1.5,B\n8,2,,A\n"), text=["id"])
    assert list(table.columns) == ["id", "n", "x", "steel"]
    assert table.row(0) == {"id": "007", "n": 1, "x": 1.5, "steel": "B"}
    assert table.row(1) == {"id": "8", "n": 2, "x": None, "steel": "A"}
    assert (table.n, len(table), table.notes) == (2, 2, ())


def test_arrays_of_a_table_cannot_be_written_to(file):
    with pytest.raises(ValueError, match="read-only"):
        read_table(file("a,b\n1,2\n")).columns["a"][0] = 5


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_separator_and_encoding_are_found(file, separator, encoding):
    text = separator.join(["né", "b"]) + "\n" + separator.join(["1", '"x, y; z"']) + "\n"
    table = read_table(file(text.encode(encoding)))
    assert table.row(0) == {"né": 1, "b": "x, y; z"}


def test_latin_1_is_read_with_a_note(file):
    table = read_table(file("größe,b\n1,µ\n".encode("latin-1")))
    assert table.row(0) == {"größe": 1, "b": "µ"}
    assert table.notes[0].startswith("mine.csv is not UTF-8; it was read as Latin-1")


def test_quoted_cells_may_hold_line_breaks_quotes_and_separators(file):
    table = read_table(file('a,b\n"1,\n""2""",x\n\n3,y\n'))
    assert table.cells("a") == ['1,\n"2"', "3"]


def test_column_names_are_kept_verbatim(file):
    names = ['"; DROP TABLE ev;--', "two\nlines", "it's", "  spaced "]
    header = ",".join('"' + name.replace('"', '""') + '"' for name in names)
    assert list(read_table(file(header + "\n1,2,3,4\n")).columns) == names


@pytest.mark.parametrize("name", ["mine.tsv", "mine.txt"])
def test_tabs_are_read_though_there_are_more_commas(file, name):
    table = read_table(file("a\tb\n1,5\t2,5\n", name))
    assert table.row(0) == {"a": 1.5, "b": 2.5}


def test_decimal_commas_are_numbers_where_commas_separate_nothing_and_in_whole_columns(file):
    table = read_table(file("a;b;c\n1,5;1,5;2.5\n-2;2.5;3\n;NA;-\n"))
    assert table.cells("a") == [1.5, -2.0, None]
    assert table.cells("b") == [1.5, 2.5, None]
    assert table.cells("c") == [2.5, 3.0, None]
    assert read_table(file('a,b\n"1,5",2\n')).cells("a") == [1.5]


@pytest.mark.parametrize("marker", sorted(MISSING_MARKERS))
def test_every_marker_of_a_missing_cell_is_one(file, marker):
    table = read_table(file(f"id,a,b\nx,{marker},u\n{marker or ' '},2, {marker} \n"), text=["id"])
    assert table.cells("a") == [None, 2]
    assert table.cells("b") == ["u", None]
    assert table.cells("id") == ["x", marker or None]  # as text only blank is missing


def test_sodium_is_not_missing(file):
    assert read_table(file("salt,b\nNa,1\nnone,2\n")).cells("salt") == ["Na", "none"]


@pytest.mark.parametrize(
    ("cell", "value"),
    [("1e3", 1000.0), (" 2.5 ", 2.5), ("\N{MINUS SIGN}3.5", -3.5), ("1e400", np.inf)],
)
def test_numbers_in_other_spellings(file, cell, value):
    assert read_table(file(f"a,b\n{cell},1\n")).cells("a") == [value]


@pytest.mark.parametrize("cell", ["1_000", "0x1F", "1.2.3", "<0.1"])
def test_what_is_no_number_stays_as_it_is(file, cell):
    assert read_table(file(f"a,b\n{cell},1\n5,1\n")).cells("a") == [cell, "5"]


def test_whole_numbers_beyond_64_bits_are_floats(file):
    assert read_table(file(f"a,b\n{2**70},1\n")).cells("a") == [2.0**70]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty; write the column names"),
        ("\n\n", "is empty"),
        ("a,a,b\n1,2,3\n", "two columns of the same name: 'a'"),
        (",a\n0,1\n", "columns without a name .number 1..*index=False"),
        ("a, \n0,1\n", "line 2 of .* has 2 cells, but its header has 1; name every column"),
        ("a,b\n1,2\n1,2,3\n", "line 3 of .* has 3 cells, but its header has 2"),
        ('a,b\n"x\ny",1\n1\n', "line 4 of .* has 1 cell,"),
        (
            'a,b\n"1,2\n',
            "unexpected end of data in the record that begins on line 2",
        ),
        (b"\x80\x04\x95\0\0\0", "is not a text file"),
        (b"\xff\xfea\0,\0b", "cannot be read|is empty|no column"),
    ],
)
def test_a_file_that_is_no_table_is_refused(file, content, message):
    with pytest.raises(ValueError, match=message):
        read_table(file(content))


@pytest.mark.parametrize("name", ["old.xls", "pickle.pkl", "none", "data.npz"])
def test_other_files_are_refused_before_they_are_opened(file, name):
    with pytest.raises(ValueError, match=r"does not end in one of \.csv"):
        read_table(file(b"\x80\x04", name))


def test_missing_files_and_things_that_are_no_table_are_refused(tmp_path):
    with pytest.raises(ValueError, match="there is no file"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(TypeError, match=r"give a table as a path or a pandas.*; got list"):
        read_table([[1, 2]])


def test_a_table_without_rows_is_read(file):
    table = read_table(file("a,b\n"))
    assert (table.n, list(table.columns)) == (0, ["a", "b"])


def test_a_long_file_is_read_in_blocks(file):
    n = 70_000
    table = read_table(file("id,x\n" + "".join(f"{i:06},{i / 4}\n" for i in range(n))), text=["id"])
    assert table.row(n - 1) == {"id": "069999", "x": (n - 1) / 4}
    np.testing.assert_array_equal(table.columns["x"], np.arange(n) / 4)


COLUMNS = {
    "id": [7, 8, 9],
    "x": [0.5, None, 2.0],
    "n": [1, None, 3],
    "ok": [True, False, True],
    "steel": ["B", "NA", None],
    "text": ["1.5", "2", ""],
    "day": [datetime(2024, 3, 1, 12, 30), None, datetime(2024, 3, 2)],
}


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_of_all_libraries_give_the_same_cells(library):
    native = pytest.importorskip(library)
    make = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}[library]
    table = read_table(getattr(native, make)(COLUMNS), text=["id"])
    assert table.cells("id") == ["7", "8", "9"]
    assert table.cells("steel") == ["B", None, None]
    assert table.cells("text") == [1.5, 2.0, None]
    for name in ("x", "n", "ok", "day"):
        assert table.cells(name) == COLUMNS[name]


def test_ids_of_floats_and_of_mixed_types_are_text():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"id": [7.0, np.nan], "mixed": [1, "1"], "y": [1, 2]})
    table = read_table(frame, text=["id", "mixed"])
    assert table.cells("id") == ["7", None]
    assert table.cells("mixed") == ["1", "1"]


def test_types_of_pandas_with_missing_values():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "n": pd.array([1, None], dtype="Int64"),
            "ok": pd.array([True, None], dtype="boolean"),
            "x": pd.array([1.5, None], dtype="Float64"),
            "c": pd.Categorical(["u", None]),
            "t": pd.to_datetime(["2024-03-01T12:00+01:00", None], utc=True),
        },
        index=pd.Index(["p", "q"], name="sample"),
    )
    table = read_table(frame)
    assert table.row(0) == {
        "sample": "p", "n": 1, "ok": True, "x": 1.5, "c": "u", "t": datetime(2024, 3, 1, 11)
    }  # fmt: skip
    assert set(table.row(1).values()) == {"q", None}


def test_columns_of_strange_types_are_left_out_with_a_note():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"a": [1, 2], "v": [[1.0], [2.0]]})
    table = read_table(frame.lazy())
    assert list(table.columns) == ["a"]
    assert table.notes == ("dropped column 'v' of type List(Float64)",)


def test_frames_with_double_or_numbered_names():
    pd = pytest.importorskip("pandas")
    assert list(read_table(pd.DataFrame(np.zeros((2, 2)))).columns) == ["0", "1"]
    with pytest.raises(ValueError, match=r"same name|unique"):
        read_table(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_cells_of_other_types_become_ours():
    cells = [Decimal("1.5"), np.float32(2.0), np.int8(3)]
    assert table_of({"a": cells}).cells("a") == [1.5, 2.0, 3.0]
    moments = [date(2024, 3, 1), datetime(2024, 3, 1, 1, tzinfo=UTC)]
    assert table_of({"a": moments}).cells("a") == [datetime(2024, 3, 1), datetime(2024, 3, 1, 1)]
    assert table_of({"a": [1, "b", True]}).cells("a") == ["1", "b", "true"]


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="different lengths"):
        table_of({"a": [1], "b": [1, 2]})


def test_a_sheet_of_excel_is_read(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [
        ["id", "x", None, "day", "stored as text"],
        [7, 1.5, None, datetime(2024, 3, 1), "3"],
        [None] * 5,
        [8, "n/a", None, None, 4],
    ]:
        book.active.append(row)
    book.create_sheet("more")
    book.save(tmp_path / "mine.xlsx")
    table = read_table(tmp_path / "mine.xlsx", text=["id"])
    assert table.row(0) == {"id": "7", "x": 1.5, "day": datetime(2024, 3, 1), "stored as text": 3}
    assert table.row(1) == {"id": "8", "x": None, "day": None, "stored as text": 4}
    assert table.notes == ("read the sheet 'Sheet' of mine.xlsx; it also has 'more'",)


def test_damaged_files_are_refused(file):
    pytest.importorskip("openpyxl")
    with pytest.raises(ValueError, match="cannot be read as Excel"):
        read_table(file(b"no zip", "mine.xlsx"))
    with pytest.raises(ValueError, match="cannot be read as Parquet"):
        read_table(file(b"PAR1 but not quite", "mine.parquet"))


def test_a_missing_library_is_named(file, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ValueError, match=r'pip install "weal\[campaign\]"'):
        read_table(file(b"", "a.xlsx"))


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0"), min_size=1)


@settings(max_examples=60, deadline=None)
@given(
    cells=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=8),
    separator=st.sampled_from(",;\t|"),
)
def test_text_columns_come_back_as_written(tmp_path_factory, cells, separator):
    quoted = [[f'"{c.replace(chr(34), 2 * chr(34))}"' for c in row] for row in [("a", "b"), *cells]]
    path = tmp_path_factory.mktemp("csv") / "mine.csv"
    path.write_bytes("\n".join(separator.join(row) for row in quoted).encode())
    table = read_table(path, text=["a", "b"])
    written = [[None if c.isspace() else c for c in column] for column in zip(*cells, strict=True)]
    assert [table.cells("a"), table.cells("b")] == written


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Our pool\n2026;;\n\nid;T;steel\nA;900,5;x\nB;950;y\n;;\n", "found on line 4"),
        ("id;T;steel\n;°C;-\nA;900,5;x\nB;950;y\n", "read as units"),
        ("Pool, of May\n\nid\tT\tsteel\n\t[°C]\t\nA\t900.5\tx\nB\t950\ty\n\t\t\n", "read as units"),
    ],
)
def test_titles_units_and_blank_rows_of_text_files_are_passed_over(tmp_path, text, said):
    file = tmp_path / "pool.csv"
    file.write_text(text, encoding="utf-8-sig")
    table = read_table(file, text=["id"], leave_out=True)
    assert {name: list(table.cells(name)) for name in table.columns} == {
        "id": ["A", "B"],
        "T": [900.5, 950.0],
        "steel": ["x", "y"],
    }
    assert said in " ".join((*table.notes, *table.row_notes))


def test_the_line_of_the_header_can_be_given_of_text_files(tmp_path):
    file = tmp_path / "pool.csv"
    file.write_text("a,b,c\nid,T,steel\nA,1,x\nB,2,y\n")
    assert list(read_table(file, header=2).columns) == ["id", "T", "steel"]
    assert list(read_table(file).columns) == ["a", "b", "c"]
    with pytest.raises(ValueError, match=r"line 9 of .* is blank or missing"):
        read_table(file, header=9)
    with pytest.raises(ValueError, match="it has no sheet 'S'"):
        read_table(file, sheet="S")


def test_a_first_row_of_words_is_no_title(tmp_path):
    file = tmp_path / "pool.csv"
    file.write_text(",a,b\nx,y,z\nu,v,w\n")
    with pytest.raises(ValueError, match="columns without a name"):
        read_table(file)
