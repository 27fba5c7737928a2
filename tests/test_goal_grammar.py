"""Texts of goals and stop conditions: what is read, and what is refused with the way out."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weal.goals import Above, Between
from weal.goals.grammar import error_of, goal_and_until, parse_goal, parse_until
from weal.goals.until import Until


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("error < 6", "error < 6"),
        ("ERROR<=0.5", "error < 0.5"),
        ("labels = 80", "labels = 80"),
        ("labels >= 80", "labels = 80"),
        ("label == 80", "labels = 80"),
        ("best > 90", "best > 90"),
        ("best>-3.5e2", "best > -350"),
        ("best < 3", "best < 3"),
        ("90 < best", "best > 90"),
        ("never", None),
        ("  ", None),
        (None, None),
    ],
)
def test_a_stop_condition_is_read(text, canonical):
    found = parse_until(text)
    assert (found.text if found else None) == canonical


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("error < 6,5", "write the number with a point: 6.5"),
        ("error 6", "as in 'error < 6'"),
        ("error <", "write 'error < 6'"),
        ("error < six", "'six' in until 'error < six' is unknown; write a number"),
        ("error < nan", "write a number"),
        ("error < 1e999", "too large"),
        ("error < 1,250", "1.250 or 1250, whichever you mean"),
        ("2*error < 12", "write one of 'error < 6'"),
        ("error < best", "write one of 'error < 6'"),
        ("error < 6 and labels = 80", "write one of 'error < 6'"),
        ("best is yes", "write one of 'error < 6'"),
        ("error < -1", "it needs an error above 0"),
        ("errors < 6", "did you mean error"),
        ("labels = 2.5", "a whole number of at least 1"),
        ("labels = 0", "a whole number of at least 1"),
        ("labels < 80", "write 'error < 6'"),
        ("best = 3", "write 'error < 6'"),
        ("best > 90 %", "at '%' (character 11): leave the unit out"),
        ("__import__('os')", "as in 'error < 6'"),
        ("x" * 1000, "more than 200 characters"),
        (6, "it is a text"),
    ],
)
def test_a_wrong_stop_condition_is_refused_with_the_way_out(text, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        parse_until(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("lern", "did you mean learn?"),
        ("learn 6", "leave out '6'"),
        ("", "goal is empty"),
        ("error < 6", "--until"),
        ("x" * 3000, "more than 2000 characters"),
        (object(), "it is a text"),
        (True, "it is a text"),
    ],
)
def test_a_wrong_goal_is_refused_with_the_way_out(text, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        parse_goal(text)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("maximize", "maximise"), ("MAX", "maximise"), ("min", "minimise"),
        ("best", "best 10"), ("top 3", "best 3"), ("lowest  2", "lowest 2"),
        ("above 7.5", "above 7.5"), ("> 1e3", "above 1000"), ("below -3", "below -3"),
        ("between -1 AND 60.25", "between -1 and 60.25"),
    ],
)  # fmt: skip
def test_spellings_of_goals(text, canonical):
    assert parse_goal(text).text == canonical


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("above", "without a level; write above 7.5"),
        ("above 7,5", "write the number with a point: 7.5"),
        ("above 1,250", "1.250 or 1250, whichever you mean"),
        ("above 90 %", "leave out '%'"),
        ("above 90 mm deep", "leave out 'deep', or put a name of several parts in quotes"),
        ("above inf", "no number"),
        ("between 60 and 40", "the lower level comes first, as in 'between 40 and 60'"),
        ("between 40", "write two levels"),
        ("between 40, 60", "write two levels"),
        ("best 2.5", "a whole number of 1 or more"),
        ("best 0", "a whole number of 1 or more"),
        ("maximise yield [%]", "leave out '[ % ]', or put a name of several parts in quotes"),
        ("maximum", "did you mean"),
        ("abvoe 3", "did you mean above?"),
        ("smallest", "it is learn, maximise"),
    ],
)
def test_goals_with_a_mistake_are_refused_with_the_way_out(text, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        parse_goal(text)


@given(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300))
def test_no_digit_of_a_level_is_lost_in_its_text(a, b):
    assert parse_goal(Above(a).text) == Above(a)
    if a < b:
        assert parse_goal(Between(a, b).text) == Between(a, b)


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused_with_a_sentence(text):
    for parse in (parse_goal, parse_until):
        try:
            found = parse(text)
        except ValueError as error:
            assert len(str(error)) > 20  # noqa: PT017
        else:
            assert found is None or parse(found.text) == found


@given(st.floats(min_value=1e-300, max_value=1e300))
def test_no_digit_of_an_error_is_lost_in_its_text(error):
    until = Until("error", "<", error)
    assert parse_until(until.text) == until


def test_a_number_in_place_of_a_goal_is_an_error_at_which_to_stop():
    for given_goal in (6, 6.0, "6", " 6.0 "):
        goal, until = goal_and_until(given_goal, None)
        assert (goal.text, until.text) == ("learn", "error < 6")
    assert goal_and_until(None, "labels = 3") == (None, Until("labels", "=", 3.0))
    with pytest.raises(ValueError, match="give the error with until alone"):
        goal_and_until(6, "labels = 80")


@pytest.mark.parametrize("bad", [0, -1.0, float("nan"), float("inf"), 10**400, "-1", "0"])
def test_a_number_that_is_no_error_is_refused(bad):
    with pytest.raises(ValueError, match="goal is"):
        error_of(bad)
