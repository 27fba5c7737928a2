"""What was measured comes from a result file or from a cell that ran: nobody types it in.

A rule of thumb: a table outside of code whose cells are numbers with a fraction, a unit of time,
memory or a per cent, or a pair of numbers; and a paragraph with several numbers with a fraction.
What is no measurement has a reason below.
"""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
MADE = ("_build", "results", "reference/api")  # by scripts
PAGES = sorted(
    path
    for path in [*DOCS.rglob("*.md"), DOCS.parent / "README.md"]
    if not any(path.is_relative_to(DOCS / folder) for folder in MADE)
)

NUMBER = r"[-+~<>=]*\s*\d[\d,]*(?:\.\d+)?(?:e-?\d+)?"
UNIT = r"\s*(?:%|x|times|ns|us|µs|ms|s|min|h|[kMGT]i?B|(?:us|ms|s) a \w+)"
MEASURED = re.compile(
    rf"{NUMBER}{UNIT}(?:\s*\([^)]*\))?"  # 3.6 ms, 5 %, 22.7 us a row (all)
    rf"|[-+~<>=]*\s*\d[\d,]*\.\d+(?:{UNIT})?.*"  # 0.43, -0.019 +- 0.033, 6.0 to 8.8
    rf"|{NUMBER}(?: / {NUMBER})+.*"  # 5 / 0 / 20
)
FRACTION = re.compile(r"(?<![\w.\-/])[-+]?\d+\.\d+(?!\w|\.\d)")
MANY = 2  # numbers with a fraction in a paragraph

REASONS = {
    "README.md: weal": "the numbers of the picture; tests/test_readme.py compares them with it",
    "howto/from-others.md: modAL": "versions of other packages",
}


def without_code(text):
    """The page without what runs, is shown as code, is a formula, or names another page."""
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    text = re.sub(r"^( *)(`{3,}|:{3,}).*?^\1\2 *$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"\$\$.*?\$\$|\$[^$\n]+\$", "", text, flags=re.DOTALL)
    text = re.sub(r"\]\([^)]*\)", "]", text)  # where links lead
    return re.sub(r"`[^`\n]*`", "code", text)


def sections(text):
    """Headings, and what stands below each."""
    heading = ""
    for part in re.split(r"(?m)^(#+ .*)$", without_code(text)):
        if part.startswith("#"):
            heading = part.lstrip("# ")
        else:
            yield heading, part


def typed(text):
    """Lines of tables, and paragraphs, that look as if they told what was measured."""
    for heading, body in sections(text):
        for block in re.split(r"\n\s*\n", body):
            lines = block.strip().splitlines()
            rows = [line for line in lines if line.lstrip().startswith("|")]
            for row in rows[2:]:
                cells = [cell.strip(" *") for cell in row.strip().strip("|").split("|")]
                if any(MEASURED.fullmatch(cell) for cell in cells):
                    yield heading, row
            prose = " ".join(line for line in lines if line not in rows)
            if len(FRACTION.findall(prose)) >= MANY:
                yield heading, prose


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(DOCS.parent).as_posix())
def test_no_page_has_measurements_that_were_typed(path):
    name = path.relative_to(DOCS).as_posix() if path.is_relative_to(DOCS) else path.name
    found = [
        f"{heading}: {text[:100]}"
        for heading, text in typed(path.read_text("utf-8"))
        if f"{name}: {heading}" not in REASONS
    ]
    assert not found, f"{name}: let a cell compute it, or link to a page of results: {found}"


def test_no_reason_is_left_over():
    for place in REASONS:
        name, _, heading = place.partition(": ")
        [page] = [path for path in PAGES if path.as_posix().endswith(f"/{name}")]
        assert any(heading == one for one, _ in typed(page.read_text("utf-8")))


@pytest.mark.parametrize(
    "row",
    [
        "| bench | 8.4 |",
        "| 4 | 3.3 us a row | 15.4 us a row |",
        "| a box of 2000 | 6.0 to 8.8 | 3.9 to 5.3 |",
        "| California | 18 | +0.001 (0.004) | -0.005 (0.004) |",
        "| 128 and 512 | below 0.01 | -0.019 +- 0.033 |",
        "| claim 3 | does not hold | 0 / 5 / 25 | (2 / 15 / 13) |",
        "| normal | 5.0 % | 53 % | 4.9 % |",
        "| 10 | 0.0699 ms | 1.46x | 0.481 MiB |",
    ],
)
def test_tables_that_were_typed_once_would_be_found(row):
    assert list(typed(f"## Costs\n\n| what | measured |\n|---|---|\n{row}\n")) == [("Costs", row)]


@pytest.mark.parametrize(
    "row",
    [
        "| `NAME.npy` | numpy's format 1.0, of numbers |",
        "| date | dates such as 2024-03-01, 1.3.2024, with or without a time |",
        "| `lease` | 7d |",
        "| 130 | Ctrl-C: what was acknowledged is kept |",
    ],
)
def test_tables_of_other_things_are_not(row):
    assert not list(typed(f"## Words\n\n| what | means |\n|---|---|\n{row}\n"))
