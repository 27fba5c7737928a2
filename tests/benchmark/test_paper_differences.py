"""The table of differences is the same in the code, in the docs and in a report."""

from pathlib import Path

from reference.made_up import SETTING, run, table, weights
from weal.benchmark.paper_claims import DIFFERENCES, in_markdown
from weal.benchmark.report import write

DOCS = Path(__file__).parents[2] / "docs" / "understand" / "paper.md"


def test_the_docs_have_the_table_as_it_is():
    assert in_markdown() in DOCS.read_text(encoding="utf-8")


def test_no_line_is_there_twice_and_none_breaks_the_table():
    lines = [(d.where, d.printed) for d in DIFFERENCES]
    assert len(set(lines)) == len(lines)
    assert {line.count("|") for line in in_markdown().splitlines()} == {5}


def test_a_report_on_tasks_of_the_paper_has_it_too(tmp_path):
    few = table(*(run("higdon", "random", r, [0.5, 0.4]) for r in range(2)))
    page = write(tmp_path, few, weights(["higdon"])[:0], SETTING).read_text(encoding="utf-8")
    assert "Where this differs from the print" in page
    assert all(d.printed.replace("'", "&#x27;") in page for d in DIFFERENCES)
