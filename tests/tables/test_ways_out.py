"""Every refusal of a table, and of what `weal new` is given, ends in a way out.

The first test reads the source: each error that is raised on the way of `weal new` has an option, a
command, or a verb that says what to do. The second makes the mistakes.
"""

import ast
import re
from pathlib import Path

import pytest
from openpyxl import Workbook

import weal
from shell import alone_in, typed

SOURCE = Path(weal.__file__).parent
BOXES = ("design_space", "design_file", "design_inputs", "mixtures")  # `test_boxes`
OTHERS = (*BOXES, "plan_json", "plain_sheet", "table_writer", "workbook_scan")
MODULES = [
    *(one for one in sorted(SOURCE.glob("tables/*.py")) if one.stem not in OTHERS),
    *(SOURCE / "campaign" / f"{one}.py" for one in ("creation", "config", "label_input")),
    *(SOURCE / one for one in ("cli/commands/new.py", "quantities/number.py", "limits.py")),
]  # fmt: skip
VERBS = (
    "write|save|give|name|rename|correct|leave|check|choose|declare|fill|split|upgrade|open|use|"
    "add|delete|shorten|round|encode|call|continue|send|needs|say|reset_index|make|take|raise|lower|keep|draw|drop|Write|Name"
)
COMPUTED = re.compile(r"Remedy\(|\{(hint|_nearby\(.*\))\}")  # ways out that are put together
WAY_OUT = re.compile(rf"--[a-z]|`weal |pip install|\b({VERBS})\b")


def raised_texts(path):
    """Line and text of each error that a module raises with words of its own."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            texts = [one.value for one in ast.walk(node.exc) if isinstance(one, ast.Constant)]
            words = " ".join(one for one in texts if isinstance(one, str))
            if len(words.split()) > 3 and not COMPUTED.search(ast.unparse(node.exc)):
                yield node.lineno, words


@pytest.mark.parametrize("path", MODULES, ids=lambda one: one.stem)
def test_every_error_of_the_source_says_what_to_do(path):
    without = [one for one in raised_texts(path) if not WAY_OUT.search(one[1])]
    assert not without


TABLE = "run,T,solvent,yield\n" + "".join(
    f"R-{n},{60 + n},{('THF', 'DMF')[n % 2]},{'' if n > 4 else 40 + n}\n" for n in range(12)
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    alone_in(tmp_path, monkeypatch)
    Path("runs.csv").write_text(TABLE)
    book = Workbook()
    book.active.title = "Notes"
    book.active.append(["see the other sheet"])
    for line in TABLE.splitlines():
        (book["Runs"] if "Runs" in book.sheetnames else book.create_sheet("Runs")).append(
            line.split(",")
        )
    book.save("runs.xlsx")
    return tmp_path


def change(old, new, name="runs.csv"):
    return lambda: Path(name).write_text(TABLE.replace(old, new))


def nothing():
    """The table as it is."""


MISTAKES = [  # what is done to the table, the options, and a part of the answer
    (nothing, ["--pool", "rums.csv"], "name one of those in its folder: runs.csv"),
    (nothing, ["--pool", "there/runs.csv"], "no folder there either: check the path"),
    (nothing, ["--pool", "runs.doc"], "save it as CSV"),
    (nothing, ["--pool", "runs.csv", "--id", "Run"], "--id run names it"),
    (nothing, ["--pool", "runs.csv", "--id", "sample"], "the rows are numbered"),
    (nothing, ["--pool", "runs.csv", "--target", "Yield"], "--target yield makes it the target"),
    (nothing, ["--pool", "runs.csv", "--features", "T,p"], "correct the name"),
    (nothing, ["--pool", "runs.csv", "--type", "p=number"], "correct the name"),
    (nothing, ["--pool", "runs.csv", "--type", "T=numbr"], "write one of number, flag"),
    (nothing, ["--pool", "runs.csv", "--type", "T"], "write it as COLUMN=TYPE"),
    (nothing, ["--pool", "runs.csv", "--type", "solvent=date"], "leave them blank"),
    (nothing, ["--pool", "runs.csv", "--type", "solvent=flag"], "leave them blank"),
    (nothing, ["--pool", "runs.csv", "--type", "solvent=ordered:THF"], "ordered:low,medium,high"),
    (nothing, ["--pool", "runs.csv", "--same", "solvent:thf=THF"], "before the = of --same"),
    (nothing, ["--pool", "runs.csv", "--same", "solvent"], "COLUMN:SPELLING=LEVEL"),
    (nothing, ["--pool", "runs.csv", "--decimal", "semicolon"], "write it as comma or point"),
    (nothing, ["--pool", "runs.csv", "--missing", "T"], "write it as COLUMN=TEXT"),
    (nothing, ["--pool", "runs.csv", "--range", "T=0..1", "--target", "yield"], "name the target"),
    (nothing, ["--pool", "runs.csv", "--header", "40"], "give the line of the column names"),
    (nothing, ["--pool", "runs.csv", "--sheet", "Runs"], "leave out the sheet"),
    (nothing, ["--pool", "runs.xlsx", "--sheet", "runs"], "name one of them (--sheet)"),
    (nothing, ["--pool", "runs.xlsx", "--id", "sample"], "or choose it (--sheet)"),
    (nothing, ["--pool", "runs.csv", "--lease", "1M"], "write 1m for minutes"),
    (nothing, ["--pool", "runs.csv", "--goal", "higher"], "did you mean highest?"),
    (nothing, ["--pool", "runs.csv", "--acquisition", "mine"], "given in Python"),
    (nothing, ["--pool", "runs.csv", "--cost", "price"], "correct the name"),
    (nothing, ["--pool", "runs.csv", "--cost", "solvent"], "write a number above 0"),
    (change("R-3", ""), ["--pool", "runs.csv"], "leave out --id, and the rows are numbered"),
    (change("R-3", "R-2"), ["--pool", "runs.csv"], "give each row its own id"),
    (change("T,", "solvent,"), ["--pool", "runs.csv"], "rename one"),
    (change("41\n", "good\n"), ["--pool", "runs.csv", "--target", "yield"], "--type yield=number"),
    (change("R-3,63", "R-3,inf"), ["--pool", "runs.csv"], "leave them blank"),
    (change(TABLE, ""), ["--pool", "runs.csv"], "write the column names in its first line"),
    (change(TABLE, "run,T,yield\n"), ["--pool", "runs.csv"], "or add rows"),
    (change("R-3,63", 'R-3,"63'), ["--pool", "runs.csv"], "on line 5; correct its quotes"),
    (change("R-3,63,", "R-3,63,7,8,"), ["--pool", "runs.csv"], "quote cells"),
    (change("60", "6,1", "runs.csv"), ["--pool", "runs.csv"], "quote cells"),
]  # fmt: skip


@pytest.mark.parametrize(("mess", "options", "says"), MISTAKES)
def test_a_mistake_is_answered_with_the_way_out(mess, options, says):
    mess()
    ids = [] if "--id" in options else ["--id", "run"]
    done = typed("new", "runs", *options, *ids)
    assert done.code == 2
    assert says in done.complaint
    assert WAY_OUT.search(done.complaint) or "did you mean" in done.complaint
