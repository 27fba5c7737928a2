"""A number as people type it."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weal.tables.cells import MINUS, read_typed_number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("312.5", 312.5), (" 3.1e2 ", 310.0), (f"{MINUS}4", -4.0), (".5", 0.5), ("5.", 5.0),
        ("+2E-3", 0.002), ("007", 7.0), (3, 3.0), (2.5, 2.5), ("1e308", 1e308), ("-0", 0.0),
        ("12,5", 12.5), (f"{MINUS}3,14", -3.14), (",5", 0.5), ("0,125", 0.125),
        ("1234,567", 1234.567),
    ],
)  # fmt: skip
def test_numbers_are_taken(text, value):
    assert read_typed_number(text, "hardness") == value


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty; write a finite number"),
        ("  ", "is empty"),
        ("n/a", "is 'n/a'; write a finite number, such as 312.5"),
        ("nan", "is 'nan'; write a finite number"),
        ("inf", "is 'inf'; write a finite number"),
        ("-Infinity", "write a finite number"),
        (math.nan, "is 'nan'; write a finite number"),
        (math.inf, "write a finite number"),
        ("1e400", "is '1e400', which is too large"),
        ("007,5", "is '007,5'; write it with a decimal point: 007.5"),
        ("1,234", "write 1.234 or 1234, whichever you mean"),
        ("1,234.5", "without thousands separators: 1234.5"),
        ("1,234,567", "without thousands separators: 1234567"),
        ("12 MPa", "is '12 MPa'; write the number alone, without a unit"),
        ("12MPa", "the number alone"),
        ("12,5 MPa", "is '12,5 MPa'; write the number alone, without a unit"),
        ("12 °C", "the number alone"),
        ("5%", "the number alone"),
        ("0x1F", "is '0x1F'; write a finite number"),
        ("1_000", "is '1_000'; write a finite number"),
        ("1 000", "write a finite number"),
        ("1e", "the number alone"),
        ("٣", "write a finite number"),
        ("high", "write a finite number"),
        (None, "is None; write a number"),
        (True, "is True; write a number"),
        ([1], "write a number"),
    ],
)
def test_everything_else_is_refused_with_the_field_and_what_to_write(text, says):
    with pytest.raises(ValueError, match=r"^hardness is ") as caught:
        read_typed_number(text, "hardness")
    assert says in str(caught.value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_that_python_writes_is_read_back(value):
    assert read_typed_number(repr(value), "y") == value
    assert read_typed_number(repr(value).replace("-", MINUS), "y") == value


@given(st.text())
def test_any_text_gives_a_finite_number_or_an_error_with_the_field(text):
    try:
        value = read_typed_number(text, "the label of A-1")
    except ValueError as error:
        assert str(error).startswith("the label of A-1 is ")  # noqa: PT017
    else:
        assert math.isfinite(value)
        assert value == float(text.replace(MINUS, "-").replace(",", "."))


@given(st.decimals(allow_nan=False, allow_infinity=False, places=2))
def test_two_decimals_after_a_comma_are_read(value):
    assert read_typed_number(f"{value:f}".replace(".", ","), "y") == float(value)


@given(st.integers(1, 999), st.integers(0, 999))
def test_three_digits_after_a_comma_may_be_thousands(thousands, rest):
    with pytest.raises(ValueError, match=f"write {thousands}.{rest:03} or {thousands}{rest:03}"):
        read_typed_number(f"{thousands},{rest:03}", "y")
