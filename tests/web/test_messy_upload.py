"""A messy table on the page: refusals have buttons, questions can be answered, sheets chosen."""

import re
from html import unescape

import pytest

import weal
from tables.messy import CASES
from web.test_request_sizes import shown, upload
from web.visiting import Visitor, plain

BY_NAME = {case.mess: case for case in CASES}
BUTTON = re.compile(r'<button formnovalidate name="option" value="([^"]*)"')


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
    options = [unescape(one) for one in BUTTON.findall(page.text)]
    return {**fields, "option": [options[which]], **more}


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
