"""What a column is found to be."""

from datetime import datetime

import numpy as np
import pytest

from weal.tables.cells import find_date_form, read_date
from weal.tables.columns import detect_kind
from weal.tables.table import table_of


def found(cells, **options):
    return detect_kind(table_of({"a": cells}).columns["a"], **options)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([1.5, 2, None], "number"),
        (["1", "2.5", "?"], "number"),
        ([5, 3, None], "number"),
        ([0, 1, 1, 0], "number"),
        ([True, False], "flag"),
        ([True, None, False], "flag"),
        (["yes", "No", "", "no"], "flag"),
        (["on", "off"], "flag"),
        ([datetime(2024, 3, 1), None, datetime(2024, 3, 2)], "date"),
        (["2024-03-01", "2024-03-02 12:30"], "date"),
        (["31/12/2024", "1/2/2024"], "date"),
        (["A", "B", "A", " B"], "category"),
        (["low", "1", "low", "1"], "category"),
        (["yes", "no", "maybe"] * 2, "category"),
        (["only"], "category"),
        ([5], "number"),
    ],
)
def test_kinds_of_columns(cells, kind):
    assert found(cells).kind == kind


@pytest.mark.parametrize(
    ("cells", "why", "detail"),
    [
        ([None, "NA", ""], "empty", "no cell has a value"),
        ([np.nan, np.nan], "empty", "no cell has a value"),
        ([3, 3], "constant", "'3' in every row"),
        (["B", " B "], "constant", "'B' in every row"),
        ([2.5, None, 2.5], "constant", "'2.5' wherever there is a value"),
        ([datetime(2024, 3, 1)] * 2, "constant", "'2024-03-01 00:00:00' in every row"),
        (range(10), "row counter", "counts the rows from 0"),
        (range(1, 11), "row counter", "counts the rows from 1"),
        ([f"A-{n}" for n in range(30)], "id-like", "30 different values, such as 'A-0'"),
        ([f"A-{n % 60}" for n in range(99)], "free text", "60 different values, such as 'A-0'"),
        (["a", "b", "c", "c"], "free text", "3 different values, such as 'a'"),
        (["1.5", "2.5", "<0.1"], "id-like", "all are numbers but 1, such as '<0.1'"),
        (["1/2/2024", "3/4/2024"], "ambiguous dates", "Declare it day-first or month-first"),
    ],
)  # fmt: skip
def test_columns_of_no_use_and_why(cells, why, detail):
    column = found(list(cells))
    assert (column.kind, column.why) == ("dropped", why)
    assert detail in column.detail


@pytest.mark.parametrize(
    "cells", [[2, 3, 4, 5], [1, 3, 2, 4], [1, 2, 3, 5], [1.0, 2.5, 3.0], [0, 1]]
)
def test_other_whole_numbers_are_no_counter(cells):
    assert found(cells).kind == "number"


def test_numbers_that_are_kept_as_text_are_no_numbers():
    cells = table_of({"code": [f"{n:03}" for n in range(30)]}, text=["code"]).columns["code"]
    assert detect_kind(cells).why == "id-like"
    assert detect_kind(cells).detail == "30 different values, such as '000'"


def test_a_counter_that_was_asked_for_is_a_number():
    assert found(list(range(10)), may_count=False).kind == "number"


@pytest.mark.parametrize(
    ("text", "form", "moment"),
    [
        ("2024-03-01", "year-first", (2024, 3, 1)),
        ("2024/3/1", "year-first", (2024, 3, 1)),
        ("2024-03-01T12:30:15.25Z", "year-first", (2024, 3, 1, 12, 30, 15, 250_000)),
        ("2024-03-01 00:30+01:00", "year-first", (2024, 2, 29, 23, 30)),
        ("1.3.2024", "day-first", (2024, 3, 1)),
        ("31/12/2024 9:05", "day-first", (2024, 12, 31, 9, 5)),
        ("12/31/2024", "month-first", (2024, 12, 31)),
        ("1-Mar-2024", "named", (2024, 3, 1)),
        ("1. March 2024", "named", (2024, 3, 1)),
    ],
)
def test_dates_as_people_write_them(text, form, moment):
    assert find_date_form([text]) == form
    assert read_date(text, form) == datetime(*moment)


@pytest.mark.parametrize(
    "text", ["2024-02-30", "31/11/2024", "2024-03", "1/2/24", "12:30", "1-Foo-2024", "1.2.3",
             "2024-03-01 25:00", "20240301", "2024-03/01", "0000-01-01", "0001-01-01 00:00+05:00"],
)  # fmt: skip
def test_what_is_no_date(text):
    assert find_date_form([text]) is None


def test_dates_that_read_both_ways_are_ambiguous_until_one_does_not():
    assert find_date_form(["1/2/2024", "5/5/2024"]) == "ambiguous"
    assert find_date_form(["1/2/2024", "5/13/2024"]) == "month-first"
    assert find_date_form(["1/2/2024", "2024-03-01"]) is None
    assert find_date_form([]) is None
