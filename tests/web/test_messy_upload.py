"""A messy table on the page: refusals have buttons, questions can be answered, sheets chosen."""

import io
import re
from html import unescape

import pytest
from openpyxl import Workbook

import weal
from tables.messy import CASES
from web.test_request_sizes import shown, upload
from web.visiting import Visitor, plain

BY_NAME = {case.mess: case for case in CASES}
BUTTON = re.compile(r'<button formnovalidate name="(option|merge)" value="([^"]*)"')


@pytest.fixture
def ann(servers, steel):
    with Visitor(servers.start(steel, worker="here")) as visitor:
        yield visitor


def plan_page(ann, case, tmp_path):
    path = case.write(tmp_path)
    page = shown(ann, upload(ann, f"runs{path.suffix}", path.read_bytes()))
    fields = ann.form(str(page.url), "/new/plan") | {"id": "run", "target": "yield"}
    return fields, shown(ann, ann.post("/new/plan", fields))


def press(ann, fields, page, which, **more):
    name, value = BUTTON.findall(page.text)[which]
    return {**fields, name: [unescape(value)], **more}


@pytest.mark.parametrize("mess", ["one_comma_two_readings", "mostly_numbers", "flagged_label"])
def test_a_refusal_has_a_button_that_solves_it(ann, steel, tmp_path, mess):
    case = BY_NAME[mess]
    fields, page = plan_page(ann, case, tmp_path)
    assert case.refusals[0] in plain(page.text)
    made = shown(ann, ann.post("/new/plan", press(ann, fields, page, 0, make="true")))
    assert made.url.path == "/c/runs/bench"
    with weal.open_campaign("runs", steel) as campaign:
        table = campaign.read_session().pool.columns()
    assert table["run"] == case.ids
    assert table["V"] == case.inputs["V"]


def test_a_question_is_answered_yes_and_a_sheet_is_chosen(ann, steel, tmp_path):
    fields, page = plan_page(ann, BY_NAME["two_spellings"], tmp_path)
    assert "are they the same?" in plain(page.text)
    made = shown(ann, ann.post("/new/plan", press(ann, fields, page, 0, make="true", name="one")))
    assert made.url.path == "/c/one/bench"
    with weal.open_campaign("one", steel) as campaign:
        levels = [one.levels for one in campaign.read_session().pool.plan.columns if one.levels]
    assert levels == [("DMF", "THF", "toluene")]
    fields, page = plan_page(ann, BY_NAME["several_tables"], tmp_path)
    assert '<option value="Stock"' in page.text
    other = shown(ann, ann.post("/new/plan", {**fields, "sheet": "Stock", "id": "", "target": ""}))
    assert "amount" in plain(other.text)


def workbook(*sheets):
    """A workbook of titled sheets as bytes."""
    book, file = Workbook(), io.BytesIO()
    book.remove(book.active)
    for title, rows in sheets:
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(file)
    return file.getvalue()


NOTES = [["Plan of the runs"], ["see sheet 2"]]


def test_the_page_shows_the_first_rows_and_takes_another_header_line(ann, tmp_path):
    rows = [["a", "b"], ["x", "y"], ["run", "T"], ["R-1", 1.5], ["R-2", 2.25], ["R-3", 7.5]]
    page = shown(ann, upload(ann, "runs.xlsx", workbook(("Notes", NOTES), ("Runs", rows))))
    assert "<bdi>R-1</bdi>" in page.text
    assert "Sheet and line of the column names" in plain(page.text)
    fields = ann.form(str(page.url), "/new/plan") | {"sheet": "Runs", "header": "3"}
    page = shown(ann, ann.post("/new/plan", {**fields, "id": "", "target": ""}))
    assert re.search(r'name="header" value="3" checked', page.text)
    fields = ann.form(str(page.url), "/new/plan") | {"id": "run", "make": "true", "name": "third"}
    fields |= {"sheet": "Runs", "header": "3"}
    assert shown(ann, ann.post("/new/plan", fields)).url.path == "/c/third/bench"


def test_a_file_of_which_no_table_can_be_read_is_shown_for_a_choice(ann):
    page = shown(ann, upload(ann, "runs.csv", b"a,a,a\n1,2,3\nrun,T,V\nR-1,1,5\nR-2,3,4\n"))
    assert "two columns of the same name" in plain(page.text)
    fields = ann.form(str(page.url), "/new/plan") | {"header": "3"}
    page = shown(ann, ann.post("/new/plan", fields))
    assert "two columns" not in plain(page.text)
    assert "2 rows" in plain(page.text)
    assert "<bdi>V</bdi>" in page.text


def test_further_candidates_are_shown_with_a_choice_of_sheet_and_header(ann, steel):
    head = ["sample", "temp", "hours", "hardness"]
    more = [["old names"], ["p", "q", "r", "s"], head, ["B-1", 2, 1, None], ["B-2", 4, 2, None]]
    other = [head, ["C-1", 3, 1, None]]
    file = workbook(("Notes", NOTES), ("More", more), ("Other", other))
    page = shown(ann, upload(ann, "more.xlsx", file, "/c/steel/add"))
    assert "2 candidates in this table. Nothing is saved yet." in plain(page.text)
    fields = ann.form(str(page.url), "/c/steel/add/table")
    page = shown(ann, ann.post("/c/steel/add/table", {**fields, "header": "2", "look": "true"}))
    assert "the table has no column" in plain(page.text)
    assert re.search(r'class="primary" disabled', page.text)
    fields = ann.form(str(page.url), "/c/steel/add/table")
    chosen = {**fields, "sheet": "Other", "header": "", "look": "true"}
    page = shown(ann, ann.post("/c/steel/add/table", chosen))
    assert "1 candidate in this table." in plain(page.text)
    fields = ann.form(str(page.url), "/c/steel/add/table") | {"sheet": "Other", "header": ""}
    page = shown(ann, ann.post("/c/steel/add/table", fields))
    assert "1 candidates added." in plain(page.text)
    with weal.open_campaign("steel", steel) as campaign:
        assert "C-1" in campaign.candidate_ids()
        assert "B-1" not in campaign.candidate_ids()


def test_ids_that_are_there_already_are_named_before_anything_is_added(ann, steel):
    table = b"sample,temp,hours,hardness\nA-1,2,1,\nB-9,4,2,\n"
    page = shown(ann, upload(ann, "more.csv", table, "/c/steel/add"))
    assert "ids that already exist: 'A-1'; delete these rows" in plain(page.text)


def test_a_worksheet_is_read_from_the_sheet_and_line_that_are_chosen(ann, steel):
    rows = [["sample", "hardness"], ["A-1", 9.5], ["sample", "hardness"], ["A-2", 3.5]]
    file = workbook(("First", [["sample", "hardness"], ["A-3", 1.5]]), ("Second", rows))
    page = shown(ann, upload(ann, "back.xlsx", file, "/c/steel/sheet"))
    assert "Save 1 label" in plain(page.text)
    fields = ann.form(str(page.url), "/c/steel/keep")
    chosen = {**fields, "sheet": "Second", "header": "3", "look": "true"}
    page = shown(ann, ann.post("/c/steel/keep", chosen))
    fields = ann.form(str(page.url), "/c/steel/keep") | {"sheet": "Second", "header": "3"}
    assert "1 label saved." in plain(shown(ann, ann.post("/c/steel/keep", fields)).text)
    with weal.open_campaign("steel", steel) as campaign:
        labels = campaign.read_ledger().quantity().labels
    assert [one.y for one in labels["A-2"]] == [3.5]
    assert "A-3" not in labels


def test_a_worksheet_without_the_columns_is_shown_for_a_choice(ann):
    page = shown(ann, upload(ann, "back.csv", b"a,b\n1,2\n", "/c/steel/sheet"))
    assert "has no column 'sample'" in plain(page.text)
    assert 'name="header" value="1"' in page.text


def test_a_campaign_is_created_with_the_goal_that_was_typed(ann, steel, tmp_path):
    fields, _ = plan_page(ann, BY_NAME["two_spellings"], tmp_path)
    assert (fields["goal"], fields["until"]) == ("learn", "")
    typed = {**fields, "goal": "above 20,5", "until": "labels = 40", "make": "true"}
    made = shown(ann, ann.post("/new/plan", typed))
    assert made.url.path == "/c/runs/bench"
    with weal.open_campaign("runs", steel) as campaign:
        settings = campaign.read_ledger().settings
    assert (settings["goal"], settings["until"]) == ("above 20.5", "labels = 40")


@pytest.mark.parametrize("make", [{}, {"make": "true"}])
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"goal": "above"}, "without a level"),
        ({"goal": "between 60 and 40"}, "between 40 and 60"),
        ({"goal": "best 1000"}, "needs a pool of more than 1000 rows"),
        ({"goal": "above 1,5,5"}, "1,5,5"),
        ({"until": "error 6<script>"}, "error < 6"),
    ],
)
def test_a_wrong_goal_is_refused_on_the_page_and_stays_in_its_field(
    ann, steel, tmp_path, wrong, said, make
):
    fields, _ = plan_page(ann, BY_NAME["two_spellings"], tmp_path)
    page = shown(ann, ann.post("/new/plan", {**fields, **wrong, **make}))
    assert said in plain(page.text)
    assert "<script>" not in page.text.split("<main", 1)[1]
    kept = ann.form(str(page.url), "/new/plan")
    assert {name: kept[name] for name in wrong} == wrong
    made = shown(ann, ann.post("/new/plan", {**kept, "goal": "", "until": "", "make": "true"}))
    assert made.url.path == "/c/runs/bench"
    with weal.open_campaign("runs", steel) as campaign:
        assert campaign.read_ledger().settings["goal"] == "learn"


def test_columns_are_marked_as_further_results(ann, steel):
    lines = [f"R-{n},{20 + n},{'' if n > 8 else 40 + n},{'' if n > 8 else 95},," for n in range(20)]
    table = "run,temp,yield [%],purity [%],crystallised,note\n" + "\n".join(lines)
    page = shown(ann, upload(ann, "salts.csv", table.encode()))
    fields = ann.form(str(page.url), "/new/plan") | {"id": "run", "target": "yield [%]"}
    names = ["run", "temp", "yield [%]", "purity [%]", "crystallised", "note"]
    kinds = ["", "", "", "result", "result-pass", "drop"]
    fields |= {"column": names, "kind": kinds}
    page = shown(ann, ann.post("/new/plan", fields))
    assert '<option value="result-pass" selected>' in page.text
    made = shown(ann, ann.post("/new/plan", {**fields, "make": "true", "name": "salts"}))
    assert made.url.path == "/c/salts/bench"
    with weal.open_campaign("salts", steel) as campaign:
        ledger = campaign.read_ledger()
        kinds = {name: own.quantity.kind for name, own in ledger.quantities.items()}
        inputs = campaign.read_session().pool.plan.names
    assert kinds == {"yield": "number", "purity": "number", "crystallised": "pass_fail"}
    assert list(inputs) == ["temp"]


def test_a_button_says_in_words_what_it_does_to_the_table():
    from weal.tables.table_error import Remedy

    every = {
        ("type", "V=drop"): "Do not use 'V': x", ("unit", "V=%"): "Unit % of 'V': x",
        ("missing", "V=a=b"): "'a=b' in 'V' is missing: x",
        ("decimal", "comma"): "Decimal comma: x",
        ("same", "s:Toluol=toluol"): "One level: Toluol and toluol: x",
        ("also-input", "V"): "Use 'V' as an input: x", ("id", "run"): "Ids are in 'run': x",
        ("target", "y"): "Measure 'y': x", ("header", "3"): "header 3: x",
    }  # fmt: skip
    assert {one: Remedy(*one, "x").for_page() for one in every} == every
