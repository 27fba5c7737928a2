"""Labels that come back in a file: all of them, or none."""

import subprocess
import sys

import openpyxl
import pytest

from weal.tables.result_lines import Result
from weal.tables.results_reader import ResultColumns, read_results, refused_message


@pytest.fixture
def file(tmp_path):
    def write(text, name="results.csv"):
        path = tmp_path / name
        path.write_text(text, "utf-8")
        return path

    return write


def read(source, *, own=(), value=None, **how):
    found = read_results(source, ResultColumns("sample", "hardness", own, value), **how)
    if bad := [f"line {line.line}: {line.error}" for line in found.lines if line.error]:
        raise ValueError(refused_message(found.where, bad))
    return found


def test_labels_come_with_noise_note_and_line(file):
    text = 'sample,hardness,noise,note\nA-1,312.5,2,"fine,\nreally"\n\nA-2,300,,\n007, 3.1e2 ,0,x\n'
    assert read(file(text)).rows == (
        Result("A-1", 312.5, 2.0, "fine,\nreally", 2),
        Result("A-2", 300.0, None, None, 5),
        Result("007", 310.0, 0.0, "x", 6),
    )


@pytest.mark.parametrize(
    "header", ["sample,value", "label,sample", "sample;hardness", "sample\tsd\tvalue"]
)
def test_other_headings_and_separators(file, header):
    separator = next(one for one in ",;\t" if one in header)
    names = header.split(separator)
    row = separator.join({"sample": "A-1", "sd": "0.5"}.get(name, "312.5") for name in names)
    (result,) = read(file(f"{header}\n{row}\n")).rows
    assert (result.id, result.value) == ("A-1", 312.5)
    assert result.noise == (0.5 if "sd" in names else None)


def test_rows_without_a_value_are_left_out_and_counted(file):
    results = read(file("sample,hardness\nA-1,\nA-2,5\nA-3,  \n,\n"))
    assert [row.id for row in results.rows] == ["A-2"]
    assert results.empty_count == 2


def test_decimal_commas_between_semicolons_are_read_when_all_are_written_so(file):
    results = read(file("sample;hardness;sd\nA-1;312,5;0,5\nA-2;300;\n"))
    assert [(row.value, row.noise) for row in results.rows] == [(312.5, 0.5), (300.0, None)]
    with pytest.raises(ValueError, match=r"line 2: hardness is '1,250'; write 1\.250 or 1250"):
        read(file("sample;hardness\nA-1;1,250\nA-2;300.5\n"))


def test_unknown_columns_are_refused_with_the_known_ones(file):
    with pytest.raises(
        ValueError, match="no column 'hardness'; not understood: 'Hardness', 'furnace'; known are"
    ):
        read(file("sample,Hardness,furnace\nA-1,1,2\n"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("hardness\n1\n", "no column 'sample'"),
        ("sample\nA-1\n", "no column 'hardness'"),
        ("sample,value,label\nA-1,1,2\n", "several columns for the value: value, label"),
        ("", "is empty"),
    ],
)
def test_files_without_the_columns_needed_are_refused(file, text, says):
    with pytest.raises(ValueError, match=says):
        read(file(text))


def test_all_bad_lines_are_named_at_once_and_none_is_taken(file):
    bad = ["n.a.", "nan", "inf", '"3,140"', "12 MPa", "1e400", "?"]
    lines = "".join(f"A-{n},{cell},\n" for n, cell in enumerate(bad))
    with pytest.raises(ValueError, match="has 9 bad lines, so nothing was saved") as caught:
        read(file(f"sample,hardness,noise\nA,1,\n{lines},5,\nB,1,-2\n"))
    said = str(caught.value)
    for n in range(5):
        assert f"line {n + 3}: hardness is" in said
    assert said.count("; line ") == 8


@pytest.mark.parametrize(("row", "says"), [(",5,", "the id is empty"), ("A,5,-1", "0 or more")])
def test_an_empty_id_and_a_negative_noise_are_bad(file, row, says):
    with pytest.raises(ValueError, match=f"has 1 bad line, .*line 2: .*{says}"):
        read(file(f"sample,hardness,noise\n{row}\n"))


def test_frames_and_excel_are_read_alike(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"sample": [7, 8, 9], "hardness": [312.5, None, 300.0]})
    assert [row[:2] for row in read(frame).rows] == [("7", 312.5), ("9", 300.0)]
    assert [row.line for row in read(frame).rows] == [1, 3]
    assert read(frame).empty_count == 1
    with pytest.raises(ValueError, match=r"line 1: hardness is 'n\.a\.'"):
        read(pd.DataFrame({"sample": ["a"], "hardness": ["n.a."]}))
    pytest.importorskip("openpyxl")
    frame.to_excel(tmp_path / "results.xlsx", index=False)
    assert [row.line for row in read(tmp_path / "results.xlsx").rows] == [2, 4]


def test_reading_csv_loads_no_heavy_library(file):
    code = (
        "import sys; from weal.tables.results_reader import ResultColumns, read_results;"
        f"path = {str(file('sample,value' + chr(10) + 'A,1'))!r};"
        "read_results(path, ResultColumns('sample', None));"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "pyarrow", "pandas", "narwhals", "sklearn"} & set(done.stdout.split())


def test_a_column_has_one_role(tmp_path):
    file = tmp_path / "results.csv"
    file.write_text("id,noise\nk1,55.5\n")
    assert read_results(file, ResultColumns("id", "noise")).rows[0][:3] == ("k1", 55.5, None)
    file.write_text("label,hardness,sd\nk1,55.5,0.5\n")
    assert read_results(file, ResultColumns("label", "hardness")).rows[0][:3] == ("k1", 55.5, 0.5)
    file.write_text("id,time\nk1,12\n")
    assert read_results(file, ResultColumns("id", "time")).rows[0][:2] == ("k1", 12.0)


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["59.4%", "60 %", "61"], [59.4, 60.0, 61.0]),
        (["12,5 HV", "1,250"], [12.5, 1.25]),
        (["1,234.5", "1,250"], [1234.5, 1250.0]),
        (["1 234,5", "7"], [1234.5, 7.0]),
        (["80 °C", "353.15 K"], [80.0, 80.0]),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "semicolons", "tabs", "excel"])
def test_units_and_separators_are_read_by_the_column_in_files_of_every_kind(
    tmp_path, kind, cells, values
):
    rows = [["sample", "hardness"], *([f"A-{n}", cell] for n, cell in enumerate(cells))]
    if kind == "excel":
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        path = tmp_path / "r.xlsx"
        book.save(path)
    else:
        separator = {"csv": ",", "semicolons": ";", "tabs": "\t"}[kind]
        quoted = [[f'"{cell}"' if separator in cell else cell for cell in row] for row in rows]
        path = tmp_path / "r.txt"
        path.write_text("\n".join(map(separator.join, quoted)) + "\n", "utf-8")
    assert [row.value for row in read(path).rows] == values


def test_a_column_with_cells_in_doubt_is_refused_cell_by_cell(file):
    for cell, advice in {
        "12.3*": "write a finite number",
        "~12": "write a finite number",
        "1,250": "write 1.250 or 1250",
        "3 bar": "without a unit",
    }.items():
        with pytest.raises(ValueError, match=advice):
            read(file(f'sample,hardness\nA-1,5 mL\nA-2,"{cell}"\n'))


@pytest.mark.parametrize(
    ("cell", "failure", "note"),
    [
        ("failed - stirrer stopped", "failed", "stirrer stopped"),
        ("Failed: leaked", "Failed", "leaked"),
        ("failed (no signal)", "failed", "no signal"),
        ("fail; see p. 7", "fail", "see p. 7"),
        (">95", ">95", "a bound, not learned from"),
        ("< 0,1", "< 0,1", "a bound, not learned from"),
    ],
)
def test_a_failure_with_its_reason_and_a_bound_are_kept_with_a_note(file, cell, failure, note):
    (line,) = read(file(f'sample;hardness\nA-1;"{cell}"\n')).lines
    assert (line.value, line.failure, line.note) == (None, failure, note)
    assert line.is_bound == (cell[0] in "<>")


def test_footnotes_and_headers_again_are_no_results(file):
    text = "sample,hardness\nA-1,5\nsample,hardness\nA-2,6\n* by hand\n"
    found = read(file(text))
    assert [(row.id, row.value) for row in found.rows] == [("A-1", 5.0), ("A-2", 6.0)]


def test_the_sheet_with_the_columns_of_the_campaign_is_read(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["Notes"])
    book.create_sheet("Stock").append(["item", "amount"])
    sheet = book.create_sheet("Results of May")
    for row in [["Results"], ["sample", "hardness"], ["A-1", 5]]:
        sheet.append(row)
    book.save(tmp_path / "r.xlsx")
    found = read(tmp_path / "r.xlsx")
    assert [(row.id, row.value) for row in found.rows] == [("A-1", 5.0)]
    assert "read the sheet 'Results of May'" in found.notes[0]


def test_percent_cells_of_a_spreadsheet_are_read_as_shown_beside_percent_signs(tmp_path):
    for name, second, values in (("yield [%]", 0.6, [59.4, 60.0]), ("yield", "60%", [59.4, 60.0]),
                                 ("yield", 0.6, [0.594, 0.6])):  # fmt: skip
        book = openpyxl.Workbook()
        for row in [["sample", name], ["A-1", 0.594], ["A-2", second]]:
            book.active.append(row)
        for n in (2, 3):
            book.active[f"B{n}"].number_format = "0.0%"
        book.save(tmp_path / "r.xlsx")
        found = read_results(tmp_path / "r.xlsx", ResultColumns("sample", name))
        assert [row.value for row in found.rows] == values
