"""Paging, sorting and filtering of the catalogue, against plain Python."""

import math
import random

import pytest

from weal.web import candidate_search
from weal.web.candidate_search import PAGE_ROWS, CandidateQuery
from weal.web.svg_axes import axis

COLUMNS = ["temp", "grade", "100% _odd_"]


def made(tmp_path, n=237):
    rng = random.Random(3)
    rows = [
        (f"R-{k}", rng.choice([None, float(k % 7)]), rng.gauss(0, 1), 0.5, -1.0, math.nan,
         rng.choice([None, 3, 4.5, -2.0]), rng.choice(["A", "B'; --", "50%"]), "x_y")
        for k in range(n)
    ]  # fmt: skip
    path = tmp_path / "explore.db"
    candidate_search.write(path, 12, COLUMNS, [list(one) for one in zip(*rows, strict=True)])
    return path, rows


def walked(path, **wish):
    """All rows of a wish, page by page."""
    found, after = [], None
    while True:
        page = candidate_search.read(path, CandidateQuery(**wish, after=after))
        found += page.rows
        after = candidate_search.read_after(candidate_search.write_after(page.last))
        if after is None:
            assert page.count == len(found)
            return found


@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize(("sort", "at"), [("mean", 2), ("y", 1), ("c0", 6), ("c1", 7), ("id", 0)])
def test_pages_follow_one_another_as_a_sorted_list_does(tmp_path, sort, at, down):
    path, rows = made(tmp_path)
    known = [(row[at], n) for n, row in enumerate(rows) if row[at] is not None]
    known.sort(key=lambda pair: pair, reverse=down)
    gone = [n for n, row in enumerate(rows) if row[at] is None]
    expected = [rows[n][0] for _, n in known] + [rows[n][0] for n in gone]
    assert [one["id"] for one in walked(path, sort=sort, down=down)] == expected


def test_filters_are_what_they_say(tmp_path):
    path, rows = made(tmp_path)
    both = walked(path, only="open", bounds=(("c0", 3.0, 4.5),), equal=(("c1", "B'; --"),))
    expected = [r[0] for r in rows if r[1] is None and r[6] in (3, 4.5) and r[7] == "B'; --"]
    assert [one["id"] for one in both] == expected
    assert len(walked(path, text="50%")) == sum(r[7] == "50%" for r in rows)
    assert len(walked(path, text="x_y")) == len(rows)
    assert walked(path, text="x%y") == []
    assert walked(path, bounds=(("c0; DROP TABLE row", 0.0, None),), text="R-10") != []


def test_a_page_is_one_page_and_what_is_not_finite_is_not_there(tmp_path):
    path, _ = made(tmp_path)
    page = candidate_search.read(path, CandidateQuery())
    assert (len(page.rows), page.seq, page.columns) == (PAGE_ROWS, 12, COLUMNS)
    assert page.rows[0]["high"] is None
    assert candidate_search.read_row(path, "R-9")["cells"].keys() == set(COLUMNS)
    assert candidate_search.read_row(path, "nobody") is None
    assert candidate_search.read(tmp_path / "none.db", CandidateQuery()) is None


@pytest.mark.parametrize(
    "text", ["", "[]", "[1]", "[1, true]", "[{}, 1]", "[1, -1]", "[1, 1e9]", "x"]
)
def test_where_to_go_on_is_read_or_left(text):
    assert candidate_search.read_after(text) is None


def test_an_axis_holds_what_it_is_given():
    for values in ([1e-300, 2e-300], [-1e308, 1e308], [5.0, 5.0], [], [math.nan, math.inf], [0.0]):
        found = axis(values, 10, 100)
        places_ = [found.at(one) for one in values if math.isfinite(one)]
        assert all(8 <= one <= 102 for one in places_)
        assert found.at(math.nan) is None
