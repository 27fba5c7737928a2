"""Quantities that a text declares, or that the values of a column suggest."""

import numpy as np
import pytest

from weal.quantities.classes import Classes
from weal.quantities.declarations import TYPE_TEXTS, declared_quantity, guess_quantity
from weal.quantities.grades import Grades
from weal.quantities.number import Number
from weal.quantities.pass_fail import PassFail


@pytest.mark.parametrize(
    ("declared", "made"),
    [
        ("number", Number("gel", "-", "gel [-]")),
        ("pass", PassFail("gel", "gel [-]")),
        (" Pass : ja , nein", PassFail("gel", "gel [-]", ("ja",), ("nein",))),
        ("ordered:low,medium,high", Grades("gel", "gel [-]", ("low", "medium", "high"))),
        ("ordered: 1, 2,3", Grades("gel", "gel [-]", ("1", "2", "3"))),
        ("classes:a,b", Classes("gel", "gel [-]", ("a", "b"))),
        ("category:a,b", Classes("gel", "gel [-]", ("a", "b"))),
    ],
)
def test_a_text_declares_a_quantity(declared, made):
    assert declared_quantity("gel [-]", declared) == made


@pytest.mark.parametrize(
    "declared",
    [
        *("", "pas", "pass:ja", "pass:a,b,c", "pass:,", "pass:a,A", "ordered", "ordered:"),
        *("ordered:a", "ordered:a,,b", "ordered:a,b,a", "classes:a", "number:1", "classes"),
        *("x\ny", "classes:" + ",".join(map(str, range(51)))),
    ],
)
def test_other_texts_are_refused_with_one_to_write(declared):
    with pytest.raises(ValueError, match=r"gel") as refused:
        declared_quantity("gel", declared)
    assert "--type 'gel=" in str(refused.value) or TYPE_TEXTS in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("values", "kind", "words"),
    [
        ([], "number", ()),
        ([None, "", "n/a"], "number", ()),
        ([0, 1, 1], "number", ()),
        (["1.5", "2"], "number", ()),
        (["12,5", "2,25"], "number", ()),
        (["3 mg", "12"], "number", ()),
        (["yes", "No", "n/a"], "pass_fail", ("No", "yes")),
        (["no"], "pass_fail", ("no", "yes")),
        ([True, False], "pass_fail", ("false", "true")),
        ([np.True_], "pass_fail", ("false", "true")),
        (["OK", "failed", "OK"], "pass_fail", ("failed", "OK")),
        (["pass", "1", "0"], "pass_fail", ("0", "pass")),
        (["yes", "1", "0"], "pass_fail", ("no", "yes")),
        (["fcc", "bcc", "fcc", "bcc"], "classes", ("bcc", "fcc")),
    ],
)
def test_values_suggest_a_kind(values, kind, words):
    found = guess_quantity("gel", values)
    assert found.kind == kind
    assert [word.casefold() for word in found.words] == [word.casefold() for word in words]


@pytest.mark.parametrize(
    "values",
    [["yes", "no", "yess", "no"], ["ja", "nein"], ["THF"] * 5, [f"run {n}" for n in range(30)]],
)
def test_values_of_no_kind_are_refused_with_the_options(values):
    with pytest.raises(ValueError, match="--type 'gel="):
        guess_quantity("gel", values)


def test_every_word_of_a_guessed_column_is_read():
    for values in (["yes", "no", "Y", "TRUE", "0"], ["fcc", "bcc", "bcc", "fcc", "FCC", "FCC"]):
        quantity = guess_quantity("gel", values)
        assert {quantity.read(value, "A") for value in values} <= {0.0, 1.0, 2.0}


def test_words_that_contradict_the_usual_ones_replace_them():
    defect = PassFail("defect", passes=("no",), fails=("yes",))
    assert (defect.read("no", "A"), defect.read("YES", "A")) == (1.0, 0.0)
    for unclear in (True, 1, "0", "pass"):
        with pytest.raises(ValueError, match=r"write no or yes, or .*--type 'defect="):
            defect.read(unclear, "A")
    reverse = PassFail("gel", passes=("0",), fails=("1",))
    assert [reverse.check(value, "A") for value in (0, 0.0, "0", np.int64(1))] == [1.0, 1, 1, 0]


def test_numbers_are_the_words_of_scores_and_no_codes():
    score = Grades("quality", levels=("3", "4", "5"))
    assert [score.check(value, "A") for value in (3, 4.0, "5", np.float32(3))] == [0, 1, 2, 0]
    for code in (0, 1, 2, 3.5):
        with pytest.raises(ValueError, match="not a grade of quality; write 3, 4 or 5"):
            score.check(code, "A")
