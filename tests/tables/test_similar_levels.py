"""Levels of a category that may be one, and others that are two."""

import itertools
import string

import pytest

from weal.tables.plan import encode, make_plan
from weal.tables.similar_levels import _is_typo, similar_levels
from weal.tables.table import table_of
from weal.tables.table_options import TableOptions


def said(*levels):
    cells = [level for level, n in levels for _ in range(n)]
    table = table_of({"id": [f"r{n}" for n in range(len(cells))], "x": cells})
    found = similar_levels(make_plan(table, id_column="id"), table)
    return [one.question for one in found]


@pytest.mark.parametrize("typo", ["acrylc", "acryylic", "acrilic", "arcylic", "crylic", "acrylics"])
def test_a_rare_word_with_one_letter_wrong_is_asked_about(typo):
    (words,) = said(("acrylic", 20), ("alkyd", 20), (typo, 2))
    assert words.startswith(f"x: {typo!r} (2 rows) and 'acrylic' (20 rows)")


@pytest.mark.parametrize("typo", ["acrylc resin", "acrylicresin", "acrylic  resni"])
def test_a_slip_in_one_of_several_words_is_asked_about(typo):
    assert len(said(("acrylic resin", 20), ("alkyd resin", 20), (typo, 2))) == 1


@pytest.mark.parametrize("same", ["Acrylic", "ACRYLIC", "acryliC"])
def test_another_case_is_asked_about_however_often_it_comes(same):
    assert len(said(("acrylic", 8), (same, 8), ("b", 4))) == 1


@pytest.mark.parametrize(
    "levels",
    [
        [("S235J", 20), ("S355J", 2)],  # digits
        [("NaOH", 20), ("KOH", 2)],  # short
        [("supplier A", 20), ("supplier B", 2)],  # short, beside a word that is the same
        [("ethanol", 20), ("methanol", 15)],  # both often
        [("acrylic", 20), ("acrlyci", 2)],  # two slips
    ],
)
def test_words_that_may_well_be_two_are_left_in_peace(levels):
    assert said(*levels) == []


def test_is_typo_is_what_trying_all_of_them_says():
    letters, word = string.ascii_lowercase[:4], "abca"
    tried = {word[:n] + word[n + 1 :] for n in range(4)}
    tried |= {word[:n] + x + word[n:] for n in range(5) for x in letters}
    tried |= {word[:n] + x + word[n + 1 :] for n in range(4) for x in letters}
    tried |= {word[:n] + word[n + 1] + word[n] + word[n + 2 :] for n in range(3)}
    for length in (3, 4, 5):
        for other in map("".join, itertools.product(letters, repeat=length)):
            if other != word:
                assert _is_typo(word, other) == (other in tried) == _is_typo(other, word), other


@pytest.mark.parametrize("same", ["T.H.F.", "t h f", "T-H-F", "thf."])
def test_marks_between_letters_are_asked_about(same):
    assert len(said(("THF", 8), (same, 2), ("water", 4))) == 1


@pytest.mark.parametrize(
    "two", [("1.5 %", "15 %"), ("C-4", "C4"), ("grade 1", "grade-11"), (".", "-")]
)
def test_marks_beside_digits_are_no_spelling(two):
    assert said((two[0], 8), (two[1], 2), ("water", 4)) == []


def test_a_level_may_be_a_spelling_of_another_spelling():
    cells = ["THF"] * 4 + ["thf"] * 2 + ["T.H.F."] + ["water"] * 3
    table = table_of({"id": [f"r{n}" for n in range(len(cells))], "x": cells})
    chain = {"x": {"T.H.F.": "thf", "thf": "THF"}}
    [column] = make_plan(table, TableOptions("id", same=chain)).columns
    assert column.levels == ("THF", "water")
    assert encode(make_plan(table, TableOptions("id", same=chain)), table)[:, 0].sum() == 7
    circle = {"x": {"THF": "thf", "thf": "THF"}}
    with pytest.raises(ValueError, match="leave one of them as it is"):
        make_plan(table, TableOptions("id", same=circle))
