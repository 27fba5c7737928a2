"""All that the paper has is computed by a line that cites it, and tested by a test that does."""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "_ext"))

from citations import SOURCES, TESTS, checks_of, citations, computed, in_file, items

ITEMS = items()


@pytest.fixture(scope="module")
def in_sources():
    return citations(SOURCES)


@pytest.fixture(scope="module")
def in_tests():
    return citations(TESTS)


def test_every_item_of_the_paper_has_a_line_that_computes_it(in_sources):
    missing = [item.label for item in ITEMS if not computed(item.label, in_sources)]
    assert missing == [], "no line of src or benchmarks cites these, as in # [1, eq:w_update]"


def test_every_item_of_the_paper_has_a_test(in_tests):
    missing = [item.label for item in ITEMS if not checks_of(item.label, in_tests)]
    assert missing == [], "no test cites these, as in # [1, eq:w_update]"


def test_what_is_cited_is_in_the_paper(in_sources, in_tests):
    there = {item.label for item in ITEMS}
    unknown = [f"{c.file}: {c.label}" for c in [*in_sources, *in_tests] if c.label not in there]
    assert unknown == []


def test_no_item_is_there_twice_and_all_equations_up_to_thirty_are():
    labels = [item.label for item in ITEMS]
    assert len(set(labels)) == len(labels)
    numbers = {int(n) for item in ITEMS for n in re.findall(r"^\((\d+)[ab]?\)$", item.place)}
    assert numbers == set(range(1, 31))


def test_a_citation_stands_for_a_line_a_statement_or_a_function(tmp_path):
    file = tmp_path / "some.py"
    file.write_text(
        '"""Mentions [1, eq:a]."""\n\n\n'
        'def one():\n    """[1, eq:b,\n    eq:c]."""\n    return 1\n\n\n'
        'def two(x=[1, 2]):\n    """[1, eq:d]."""\n    y = x[1, 0]  # (M,) [1, eq:e]\n\n'
        "    # [1, eq:f]\n    # a reason\n    return y\n"
    )
    found = {c.label: (c.line, c.code, c.function, c.exact) for c in in_file(file, "some.py")}
    assert found == {
        "eq:a": (0, "", "", False),
        "eq:b": (7, "return 1", "one", True),
        "eq:c": (7, "return 1", "one", True),
        "eq:d": (10, "def two(x=[1, 2]):", "two", False),
        "eq:e": (12, "y = x[1, 0]", "two", True),
        "eq:f": (16, "return y", "two", True),
    }
