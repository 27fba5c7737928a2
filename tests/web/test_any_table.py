"""Any table on the page of a new campaign: odd files, roles of columns, merged spellings."""

import re
from html import unescape

import pytest

import weal
from web.test_messy_upload import NOTES, workbook
from web.test_request_sizes import shown, upload
from web.visiting import Visitor, plain

EMPTY = "is empty; write the column names in its first line"
NO_ROWS = "no rows below its column names; choose another sheet or another line"
ODD_FILES = {
    "header.csv": (b"id,a,b\n", NO_ROWS),
    "header.tsv": (b"id\ta\tb", NO_ROWS),
    "header.xlsx": (workbook(("One", [["id", "a", "b"]])), NO_ROWS),
    "numbers.csv": (b"1,2,3\n", NO_ROWS),
    "word.txt": (b"hello\n", NO_ROWS),
    "one.csv": (b"id,a,b\nx,1,2\n", "The table has one row"),
    "one.tsv": (b"id\ta\tb\nx\t1\t2\n", "The table has one row"),
    "one.xlsx": (workbook(("One", [["id", "a"], ["x", 1]])), "The table has one row"),
    "only ids.csv": (b"id\nx\ny\n", "add a column of inputs that differ between rows"),
    "empty.csv": (b"", EMPTY),
    "empty.tsv": (b"", EMPTY),
    "empty.xlsx": (workbook(("One", [])), EMPTY),
    "no bytes.xlsx": (b"", "save it in a spreadsheet as CSV"),
    "mark.csv": (b"\xef\xbb\xbf", EMPTY),
    "mark.tsv": (b"\xff\xfe", EMPTY),
    "spaces.csv": (b"  \n   \n", EMPTY),
    "spaces.tsv": (b" \t \n", EMPTY),
    "spaces.xlsx": (workbook(("One", [[" ", " "]])), EMPTY),
}
SOLVENTS = ["THF"] * 6 + ["thf "] * 2 + ["T.H.F."] + ["toluene"] * 6 + ["water"] * 3


@pytest.fixture
def ann(servers, steel):
    with Visitor(servers.start(steel, worker="here")) as visitor:
        yield visitor


def solvents():
    told = [n * 1.5 if n < 4 else "" for n in range(len(SOLVENTS))]
    rows = [f"{n + 1},R-{n},{n * 7 % 11},{one},{told[n]}" for n, one in enumerate(SOLVENTS)]
    return ("no,run,T,solvent,yield\n" + "\n".join(rows) + "\n").encode()


def selects(page):
    """The chosen value of each select of a page, in order, by name."""
    found = {}
    for name, body in re.findall(r'<select [^>]*name="(\w+)"[^>]*>(.*?)</select>', page.text, re.S):
        chosen = re.search(r'value="([^"]*)" selected', body)
        found.setdefault(name, []).append(unescape(chosen[1]) if chosen else "")
    return found


def choices(page):
    """All fields of the form of a plan, as a browser sends them."""
    found = {"sheet": "", "header": ""}
    form = re.search(r'<form method="post" action="/new/plan".*?</form>', page.text, re.S)[0]
    for tag in re.findall(r"<input [^>]*>", form):
        name, value = re.search(r'name="(\w+)"', tag), re.search(r'value="([^"]*)"', tag)
        if name and 'type="radio"' not in tag:
            found.setdefault(name[1], []).append(unescape(value[1]) if value else "")
    return found | selects(page)


def send(ann, fields, **more):
    return shown(ann, ann.post("/new/plan", {**fields, **more}))


def with_kinds(page, fields, **kinds):
    kind = [kinds.get(one, was) for one, was in zip(fields["column"], fields["kind"], strict=True)]
    return {**fields, "kind": kind}


@pytest.mark.parametrize("name", ODD_FILES)
def test_an_odd_file_is_answered_with_a_sentence_and_the_way_out(ann, name):
    data, words = ODD_FILES[name]
    page = shown(ann, upload(ann, name, data))
    assert page.status_code == 200
    text = " ".join(plain(page.text).split())
    assert words in text
    assert name in text
    assert "--" not in text
    assert not re.search(r"[0-9a-f]{32}\.(csv|tsv|txt|xlsx)", page.text)
    for address in ("/c/steel/add", "/c/steel/sheet"):
        page = shown(ann, upload(ann, name, data, address))
        assert page.status_code == 200
        assert name in plain(page.text)
        assert not re.search(r"[0-9a-f]{32}\.(csv|tsv|txt|xlsx)", page.text)
        assert "--" not in plain(page.text)


def test_a_column_taken_as_the_id_or_as_a_row_counter_becomes_an_input(ann, steel):
    page = shown(ann, upload(ann, "runs.csv", solvents()))
    fields = choices(page)
    assert (fields["id"], fields["target"]) == (["run"], ["yield"])
    assert dict(zip(fields["column"], fields["kind"], strict=True)) == {
        "no": "", "run": "id", "T": "", "solvent": "", "yield": "target",
    }  # fmt: skip
    assert "row counter" in plain(page.text)
    button = re.search(r'name="option" value="([^"]*)" aria-label="Use as an input: no"', page.text)
    page = send(ann, fields, option=[unescape(button[1])])
    fields = choices(page)
    assert fields["kind"][0] == "number"
    page = send(ann, with_kinds(page, fields, run="category", no="id"))
    fields = choices(page)
    assert fields["id"] == ["no"]
    assert fields["kind"][:2] == ["id", "category"]
    page = send(ann, with_kinds(page, fields, run="drop", no="number"))
    fields = choices(page)
    assert fields["id"] == [""]
    page = send(ann, fields, id="run", make="true", name="runs")
    assert page.url.path == "/c/runs/bench"
    with weal.open_campaign("runs", steel) as campaign:
        ledger = campaign.read_ledger()
    assert ledger.id_column == "run"
    assert [one["name"] for one in ledger.plan["columns"] if one["kind"] != "dropped"] == [
        "no", "T", "solvent",
    ]  # fmt: skip


def test_roles_can_be_given_in_the_lines_of_the_columns(ann):
    page = shown(ann, upload(ann, "runs.csv", solvents()))
    fields = choices(page)
    fields = choices(send(ann, with_kinds(page, fields, T="target", **{"yield": ""})))
    assert fields["target"] == ["T"]
    fields = choices(send(ann, fields, target="yield"))
    assert fields["target"] == ["yield"]
    fields = choices(send(ann, with_kinds(page, fields, run="target")))
    assert (fields["id"], fields["target"]) == ([""], ["run"])


def test_spellings_are_merged_shown_and_separated_again(ann, steel):
    page = shown(ann, upload(ann, "runs.csv", solvents()))
    text = " ".join(plain(page.text).split())
    assert text.count("are they the same?") == 2
    pairs = re.findall(r'name="merge" value="([^"]*)">Yes', page.text)
    page = send(ann, choices(page), merge=[unescape(pairs[0])])
    assert plain(page.text).count("is merged with") == 1
    page = send(ann, choices(page), merge=[*choices(page)["merge"], unescape(pairs[1])])
    text = " ".join(plain(page.text).split())
    assert "are they the same?" not in text
    assert "solvent : thf (2 rows) is merged with THF" in text
    assert "solvent : T.H.F. (1 row) is merged with THF" in text
    fields = choices(page)
    split = next(one for one in fields["merge"] if "T.H.F." in one)
    page = send(ann, fields, split=split)
    assert plain(page.text).count("is merged with") == 1
    fields = choices(page)
    at = fields["same_level"].index("T.H.F.")
    typed = [*fields["same_as"][:at], "thf", *fields["same_as"][at + 1 :]]  # itself a spelling
    fields = choices(send(ann, fields, same_as=typed))
    page = send(ann, fields, make="true", name="merged")
    assert page.url.path == "/c/merged/bench"
    with weal.open_campaign("merged", steel) as campaign:
        plan = campaign.read_session().pool.plan
        [levels] = [one.levels for one in plan.columns if one.levels]
        X = campaign.read_session().pool.X
    assert levels == ("THF", "toluene", "water")
    assert X[:, -3].sum() == 9


def test_hostile_names_of_files_columns_and_levels_are_shown_as_text(ann):
    odd = "<script>alert(1)</script>"
    table = f"id,x,{odd}\n" + "".join(f"a{n},{n},{odd if n % 2 else 'b'}\n" for n in range(8))
    page = shown(ann, upload(ann, f"{odd[:7]} \u202e.csv", table.encode()))
    assert "<script>alert" not in page.text
    assert odd in plain(page.text)
    page = send(ann, choices(page), merge=[f"{odd}\n{odd}\nb", "nonsense", "no such\na\nb"])
    assert page.status_code == 200
    assert "<script>alert" not in page.text


def test_a_title_line_and_several_sheets_are_chosen_with_a_preview(ann):
    rows = [["Runs of May"], [], ["run", "T", "p"], ["R-1", 1.5, 2], ["R-2", 2.5, 1], ["R-3", 0, 4]]
    page = shown(ann, upload(ann, "May.xlsx", workbook(("Notes", NOTES), ("Runs", rows))))
    text = plain(page.text)
    assert "May.xlsx" in text
    assert "3 rows, 3 columns" in text
    assert "Runs , line 3" in " ".join(text.split()).replace("Runs, line", "Runs , line")
    page = send(ann, choices(page), sheet="Notes")
    assert "see sheet 2" in plain(page.text)
    page = send(ann, choices(page), sheet="Runs", header="4")
    assert re.search(r'name="header" value="4" checked', page.text)
    page = send(ann, choices(page), sheet="Runs", header="")
    assert "3 rows, 3 columns" in plain(page.text)
    text = "Runs of May;;\n;;\nrun;T;p\nR-1;1,5;2\nR-2;2,5;1\nR-3;0,5;4\n"
    page = shown(ann, upload(ann, "May.csv", text.encode()))
    assert "3 rows, 3 columns" in plain(page.text)
