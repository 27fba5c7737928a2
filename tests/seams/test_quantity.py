"""The seam of quantities, on every kind there is."""

import dataclasses
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weal.quantities.classes import Classes
from weal.quantities.grades import Grades
from weal.quantities.kinds import (
    KINDS,
    UNNAMED,
    find_quantity,
    quantity_from_json,
    quantity_of_column,
    with_bounds,
)
from weal.quantities.number import LARGEST_LABEL, Number
from weal.quantities.pass_fail import PassFail
from weal.quantities.protocol import ExpectedLabel, LabelRange

HOSTILE = "x\ny [<b>%s</b>{0}] \N{RIGHT-TO-LEFT OVERRIDE}"
NUMBERS = {
    "a column with a unit": quantity_of_column("hardness [HV]"),
    "without a name": quantity_of_column(None),
    "with bounds": Number("yield", "%", "yield (%)", low=-1e9, high=1e300),
    "a hostile name": quantity_of_column(HOSTILE),
}
WORDS = {
    "pass or fail": PassFail("crystallised", "crystallised"),
    "pass or fail in other words": PassFail("Kristalle", "Kristalle?", ("ja", "j"), ("nein",)),
    "pass or fail the other way round": PassFail("defect", "defect", ("no",), ("yes",)),
    "without a name, pass or fail": PassFail(UNNAMED),
    "classes": Classes("phase", "phase [-]", ("fcc", "bcc", "hcp")),
    "classes that differ in case": Classes("metal", "metal", ("Co", "CO", "co, solid")),
    "classes with hostile names": Classes("a", HOSTILE, (HOSTILE.strip(), "{x}", "%s", "'; --")),
    "grades": Grades("grade", "grade", ("low", "medium", "high")),
    "scores": Grades("quality", "quality (3 to 8)", ("3", "4", "5", "6", "7", "8")),
}
QUANTITIES = NUMBERS | WORDS
every_number = pytest.mark.parametrize("quantity", NUMBERS.values(), ids=NUMBERS)
every_words = pytest.mark.parametrize("quantity", WORDS.values(), ids=WORDS)
every_quantity = pytest.mark.parametrize("quantity", QUANTITIES.values(), ids=QUANTITIES)
LABELS = [0.0, 1.5, 312.4567, 1e-300, 5e-324, 1e299, 0.1 + 0.2, 123456789.0]
WRONG = [math.nan, math.inf, -math.inf, "nan", "inf", "1e400", "yes", "", " ", None, True, [1.0]]


def test_every_kind_is_tried_here():
    assert {quantity.kind for quantity in QUANTITIES.values()} == set(KINDS)


@every_quantity
def test_a_quantity_is_a_frozen_value(quantity):
    assert pickle.loads(pickle.dumps(quantity)) == quantity  # noqa: S301  our own bytes
    assert hash(quantity) == hash(dataclasses.replace(quantity))
    with pytest.raises(dataclasses.FrozenInstanceError):
        quantity.name = "other"
    assert quantity.name.strip()


@every_quantity
def test_json_gives_it_back(quantity):
    body = json.loads(json.dumps(quantity.to_json(), allow_nan=False))
    assert quantity_from_json(body) == quantity
    assert body["kind"] == quantity.kind


@every_number
@pytest.mark.parametrize("label", LABELS)
def test_what_it_formats_in_full_it_reads_again(quantity, label):
    text = quantity.format(label, 17)
    assert quantity.read(text, "A-7") == pytest.approx(label, rel=1e-15, abs=0.0)
    assert quantity.read(label, "A-7") == label
    assert quantity.check(label, "A-7") == label


@every_number
@given(label=st.floats(-1e9, 1e9))
def test_few_digits_stay_near(quantity, label):
    read = quantity.read(quantity.format(label), "A-7")
    assert read == pytest.approx(label, rel=1e-3, abs=5e-324)
    assert quantity.format(read) == quantity.format(label)


@every_number
@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_no_label_is_refused_with_a_way_out(quantity, wrong):
    for read in (quantity.read, quantity.check):
        with pytest.raises(ValueError, match=r"of '?A-7'? is") as refused:
            read(wrong, "A-7")
        assert any(word in str(refused.value) for word in ("; write", "; check", "; to leave"))


@every_number
def test_beyond_the_largest_label_the_unit_is_asked_for(quantity):
    for typed in ("2e300", -2e300, 10**400):
        with pytest.raises(ValueError, match="; check its"):
            quantity.read(typed, "A-7")
    assert LARGEST_LABEL == 1e300


@every_number
def test_a_decimal_comma_is_read_where_it_can_be_nothing_else(quantity):
    assert quantity.read("12,5", decimal_comma=True) == 12.5
    with pytest.raises(ValueError, match=r"write it with a decimal point: 12\.5"):
        quantity.read("12,5", "A-7")
    with pytest.raises(ValueError, match=r"write 1\.250 or 1250, whichever you mean"):
        quantity.read("1,250", decimal_comma=True)
    with pytest.raises(ValueError, match=r"write 1\.5 with a point"):
        quantity.check("1,5", "A-7")


@every_number
def test_numbers_of_numpy_and_others_are_numbers(quantity):
    for value in (np.float32(0.5), np.int64(3), np.array(2.5), Fraction(1, 2)):
        if not isinstance(value, Fraction):
            assert quantity.read(value, "A-7") == float(value)
        if not isinstance(value, np.ndarray):
            assert quantity.check(value, "A-7") == float(value)


@every_number
def test_noise_is_a_standard_deviation(quantity):
    assert quantity.read_noise("0.5", "A-7") == 0.5
    for wrong in ("-1", "nan", "1e301", "much"):
        with pytest.raises(ValueError, match="the noise of A-7"):
            quantity.read_noise(wrong, "A-7")


@every_number
@pytest.mark.parametrize("label", [*LABELS, -1e9])
def test_the_model_gives_back_what_it_was_given(quantity, label):
    value = quantity.to_model(label)
    assert isinstance(value, float)
    assert quantity.from_model(value) == label


@every_quantity
def test_texts_of_figures_are_one_short_line(quantity):
    texts = [quantity.axis_label(part) for part in ("", "measured", "expected")]
    for text in [*texts, quantity.error_axis_label()]:
        assert text == " ".join(text.split())
        assert 0 < len(text) < 100
    assert quantity.axis_label("measured").startswith("measured")


@every_quantity
def test_predictions_are_one_short_line(quantity):
    for mean, sd in ((312.4567, 18.23), (0.0, 0.0), (1e-300, 1e-301), (-1e299, 1e298)):
        text = quantity.format_prediction(mean, sd)
        assert "nan" not in text
        assert text == " ".join(text.split())
        assert len(text) < 60


@every_number
def test_judging_needs_others_or_a_prediction_and_says_why(quantity):
    assert quantity.judge(1e5, None, None) is None
    assert quantity.judge(1e5, None, LabelRange(2, 1.0, 2.0)) is None
    assert quantity.judge(311.0, ExpectedLabel(312.0, 300.0, 324.0), None) is None
    for found in (
        quantity.judge(31.2, ExpectedLabel(312.0, 300.0, 324.0), LabelRange(3, 1.0, 99.0)),
        quantity.judge(31.2, None, LabelRange(3, 300.0, 320.0)),
    ):
        assert str(found).startswith("31.2 is far from")
        assert (found.y, found.mean) in ((31.2, 312.0), (31.2, None))


@every_words
def test_a_word_is_read_as_its_code_and_shown_again(quantity):
    assert len(quantity.words) >= 2
    for code, word in enumerate(quantity.words):
        assert quantity.read(word, "A-7") == quantity.check(f" {word} ", "A-7") == code
        assert quantity.format(float(code), 17) == word
        model = quantity.to_model(float(code))
        assert isinstance(model, float)
        assert quantity.from_model(model) == code


@every_words
@pytest.mark.parametrize("wrong", [math.nan, math.inf, "maybe", "", " ", None, [1.0], 0.7, 1e300])
def test_what_is_no_word_is_refused_with_the_words_and_the_option(quantity, wrong):
    for read in (quantity.read, quantity.check):
        with pytest.raises(ValueError, match=r"of '?A-7'? is") as refused:
            read(wrong, "A-7")
        assert "; write" in str(refused.value)
        assert "--type '" in str(refused.value)
        assert "\n" not in str(refused.value)
    with pytest.raises(ValueError, match="; write"):
        quantity.read(wrong)


@every_words
def test_words_have_neither_noise_nor_bounds(quantity):
    assert quantity.low is quantity.high is None
    with pytest.raises(ValueError, match=r"the noise of A-7 .* leave the noise out"):
        quantity.read_noise("0.5", "A-7")
    with pytest.raises(ValueError, match="leave the bounds out"):
        with_bounds(quantity, 0.0, None)
    assert with_bounds(quantity, None, None) == quantity


@every_words
def test_words_are_judged_by_a_prediction_only(quantity):
    last = float(len(quantity.words) - 1)
    assert quantity.judge(last, None, LabelRange(9, 0.0, 0.0)) is None
    unsure = tuple([1.0 / len(quantity.words)] * len(quantity.words))
    assert quantity.judge(last, ExpectedLabel(0.5 * last, 0.0, last, unsure), None) is None
    sure = (0.999, *[0.001 / last] * int(last))
    found = quantity.judge(last, ExpectedLabel(0.001, 0.0, 0.002, sure), None)
    assert (found is None) == (quantity.kind == "grades" and last < 2)
    assert str(found).startswith(quantity.words[-1])
    assert found.y == last


@every_quantity
def test_each_part_has_a_label_for_each_label(quantity):
    parts = quantity.parts()
    assert len({part.name for part in parts}) == len(parts)
    assert parts[0] == quantity or all(part.is_binary for part in parts)
    assert all(part.is_binary for part in parts[1:])
    for code in range(len(quantity.words)):
        labels = quantity.part_labels(float(code))
        assert len(labels) == len(parts)
        binary = [y for part, y in zip(parts, labels, strict=True) if part.is_binary]
        assert len(parts) == 1 or binary == [float(n == code) for n in range(len(binary))]
        assert parts[0] != quantity or labels[0] == code
    assert all(part.label_noise > 0.0 for part in parts) == bool(quantity.words)


def test_bounds_are_kept():
    share = Number("yield", "%", "yield [%]", low=0.0, high=100.0)
    assert [share.read(text, "A") for text in ("0", "100", "99.5")] == [0.0, 100.0, 99.5]
    assert share.read("-0.001", "A") == -0.001
    assert share.check(100.0000001, "A") == 100.0000001
    assert str(share.judge(-0.001, None, None)) == "-0.001 is below 0, the lower bound of yield [%]"
    assert str(share.judge(100.0000001, ExpectedLabel(99.0, 0.0, 100.0), LabelRange(9, 0.0, 99.0))
               ).startswith("100.0000001 is above 100, the upper bound")  # fmt: skip
    assert share.judge(100.0, None, None) is None


def test_an_interval_that_a_bound_cut_off_doubts_no_more_labels():
    share = Number("yield", "%", "yield [%]", low=0.0, high=100.0)
    cut, whole = ExpectedLabel(100.0, 80.0, 100.0), ExpectedLabel(100.0, 80.0, 120.0)
    for y in (15.0, 25.0, 99.0):
        assert (share.judge(y, cut, None) is None) == (share.judge(y, whole, None) is None)


def test_bounds_are_finite_and_in_order():
    for low, high in ((1.0, 1.0), (2.0, 1.0), (math.nan, None), (None, math.inf)):
        with pytest.raises(ValueError, match="bounds"):
            Number("yield", low=low, high=high)


@pytest.mark.parametrize(
    ("column", "name", "unit", "error"),
    [
        ("hardness [HV]", "hardness", "HV", "error of hardness, HV"),
        ("hardness (HV)", "hardness", "HV", "error of hardness, HV"),
        ("yield", "yield", "", "error of yield"),
        ("[%]", "[%]", "", "error of [%]"),
        ("yield [%] [g]", "yield [%]", "g", "error of yield [%], g"),
        (None, UNNAMED, "", "error, in units of the label"),
    ],
)
def test_the_unit_is_what_the_column_ends_in(column, name, unit, error):
    quantity = quantity_of_column(column)
    assert (quantity.name, quantity.unit, quantity.column) == (name, unit, column)
    assert quantity.error_axis_label() == error


def test_a_quantity_is_found_by_its_name():
    assert find_quantity({"yield": 1}) == find_quantity({"yield": 1, "purity": 2}, "yield") == 1
    with pytest.raises(ValueError, match="there is no quantity 'purty'; there is 'purity'"):
        find_quantity({"purity": 2}, "purty")
    with pytest.raises(ValueError, match=r"several quantities \('a', 'b'\); name one of them"):
        find_quantity({"a": 1, "b": 2})


def test_a_kind_of_a_later_version_is_refused_with_words():
    body = {**Number("crystallised").to_json(), "kind": "curve"}
    with pytest.raises(ValueError, match=r"'curve', which this version .* install a newer"):
        quantity_from_json(body)
