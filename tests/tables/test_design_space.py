"""A box of inputs: even, balanced, within bounds and constraints; and what cannot be one."""

from collections import Counter

import numpy as np
import pytest

import weal
from weal.tables import design_space as made

BOX = {"temp": (20, 200), "time": (1, 60, "log"), "catalyst": ["A", "B", "C"]}


def test_a_box_is_what_was_asked_for_and_the_same_again():
    found = weal.box(BOX, n=500, seed=3)
    assert list(found.columns) == list(BOX)
    assert len(found) == 500
    assert found["temp"].between(20, 200).all()
    assert found["time"].between(1, 60).all()
    assert found.equals(weal.box(BOX, n=500, seed=3))
    assert not found.equals(weal.box(BOX, n=500, seed=4))
    assert len(weal.box(BOX)) == 2000


@pytest.mark.parametrize("n", [3, 7, 100, 1000])
def test_categories_come_equally_often(n):
    counts = Counter(weal.box(BOX, n=n, seed=1)["catalyst"])
    assert len(counts) == 3
    assert max(counts.values()) - min(counts.values()) <= 1


def test_numbers_are_spread_more_evenly_than_random_ones_on_the_scale_that_was_given():
    found = weal.box(BOX, n=512)
    u = np.stack([(found["temp"] - 20) / 180, np.log(found["time"]) / np.log(60)])
    for axis in u:  # the one-dimensional discrepancy of an even sequence is far below 1 / sqrt(n)
        gap = np.abs(np.sort(axis) - (np.arange(512) + 0.5) / 512).max()
        assert gap < 2.0 / 512
    cells = Counter(zip(*(np.floor(u * 8).astype(int).tolist()), strict=True))
    assert set(cells.values()) == {8}  # a Sobol net: each of the 64 squares holds as many
    for level in "ABC":
        part = np.sort(found["temp"][found["catalyst"] == level])
        assert np.diff(part).max() < 10.0


def test_steps_whole_numbers_and_values():
    found = weal.box(
        {"p": (1, 10, 0.1), "cycles": range(1, 9), "n": (0, 100, 10), "on": [True, False],
         "x": (0.0, 1.0)},
        n=800,
    )  # fmt: skip
    assert set(found["cycles"]) == set(range(1, 9))
    assert set(found["n"]) == set(range(0, 101, 10))
    assert found["n"].dtype.kind == found["cycles"].dtype.kind == "i"
    assert set(found["p"]) == {round(1 + 0.1 * k, 1) for k in range(91)}
    assert found["on"].sum() == 400


def test_only_rows_that_satisfy_the_constraint():
    found = weal.box(BOX, n=300, constraint=lambda row: row["temp"] * row["time"] < 600)
    assert len(found) == 300
    assert (found["temp"] * found["time"] < 600).all()
    rare = weal.box({"x": (0, 1)}, n=20, constraint=lambda row: np.bool_(row["x"] < 0.01))
    assert len(rare) == 20
    assert rare["x"].max() < 0.01


def test_where_nothing_is_continuous_no_row_comes_twice():
    every = {"a": ["x", "y"], "b": range(3), "c": [0.5, 1.0]}
    assert len(weal.box(every, n=12).drop_duplicates()) == 12
    assert len(weal.box(every, n=7).drop_duplicates()) == 7
    with pytest.raises(ValueError, match="12 different rows, and n is 13; use n=12"):
        weal.box(every, n=13)
    with pytest.raises(ValueError, match="4 of 12 rows satisfy the constraint, and n is 5"):
        weal.box(every, n=5, constraint=lambda row: row["b"] == 1)
    many = {"a": range(300), "b": range(300), "c": ["x", "y"]}
    assert len(weal.box(many, n=3000).drop_duplicates()) == 3000


def test_a_constraint_that_next_to_nothing_satisfies_is_said():
    with pytest.raises(ValueError, match=r"0 of 8192 rows satisfy the constraint"):
        weal.box(BOX, constraint=lambda row: False)
    with pytest.raises(ValueError, match=r"KeyError\('tmp'\).*'temp'"):
        weal.box(BOX, constraint=lambda row: row["tmp"] < 3)
    for wrong in (None, "yes", 1.0, np.array([True, False])):
        with pytest.raises(ValueError, match="it must return True or False"):
            weal.box(BOX, constraint=lambda row, wrong=wrong: wrong)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((200, 20), r"lower bound comes first.*write \(20, 200\)"),
        ((5, 5), "lower bound comes first"),
        ((0, 10, "log"), "bounds above 0"),
        ((-1, 10, "log"), "bounds above 0"),
        ((1, 10, "lin"), '"log" as the third, or a step'),
        ((1, 10, 20), "no longer than the interval"),
        ((1, 10, -1), "a step above 0"),
        ((0, 1, 1e-9), "leave the step out"),
        ((float("nan"), 1), "two finite numbers"),
        ((0, float("inf")), "two finite numbers"),
        ((-1e308, 1e308), "too far apart"),
        (("1", "2"), "two finite numbers"),
        ((True, 3), "two finite numbers"),
        ((1,), r"needs \(low, high\)"),
        ("AB", r"needs \(low, high\)"),
        (7, r"needs \(low, high\)"),
        ([], "no values"),
        (range(0), "no values"),
        (["A", "A"], "twice"),
        (["A", None], "text or numbers"),
        ([float("nan")], "text or numbers"),
        ([["A"]], "text or numbers"),
    ],
)
def test_what_is_no_axis_is_said(given, words):
    with pytest.raises(ValueError, match=words):
        weal.box({"größe": given, "x": (0, 1)}, n=30)


def test_what_is_no_box_is_said():
    for wrong in ({}, [("x", (0, 1))], None):
        with pytest.raises(ValueError, match="inputs by name"):
            weal.box(wrong)
    for n in (0, -3, 2.5, True, "7", 10**9):
        with pytest.raises(ValueError, match="n is"):
            weal.box(BOX, n=n)
    with pytest.raises(ValueError, match="'catalyst' has 3 values, and n is 2"):
        weal.box(BOX, n=2)
    with pytest.raises(ValueError, match="seed is"):
        weal.box(BOX, seed=-1)
    with pytest.raises(ValueError, match="name that is text"):
        weal.box({3: (0, 1)})


def test_a_box_of_many_inputs_and_one_row():
    assert weal.box({f"x{k}": (0, 1) for k in range(60)}, n=10).shape == (10, 60)
    assert weal.box({"x": (0, 1)}, n=1).shape == (1, 1)
    assert made.MAX_ROWS >= 10**6
