"""Goals over several quantities: texts, names, words, contradictions and scores."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from weal.conditions import parse_condition
from weal.core.extensions.goal_acquisitions import log_expected_improvement
from weal.core.extensions.hypervolume import hypervolume
from weal.core.paper.acquisition import Belief
from weal.goals.grammar import combine_goals, parse_goal, read_weight
from weal.goals.protocol import JointBelief
from weal.goals.requirements import read_requirements
from weal.quantities.classes import Classes
from weal.quantities.grades import Grades
from weal.quantities.number import Number
from weal.quantities.pass_fail import PassFail

QUANTITIES = {
    one.name: one
    for one in (
        Number("yield", "%", "yield [%]", 0.0, 100.0),
        Number("purity", "%", "purity [%]"),
        Number("melt temp", "C", "melt temp [C]"),
        PassFail("crystallised"),
        Classes("phase", levels=("alpha", "beta", "gamma")),
        Grades("grade", levels=("low", "medium", "high")),
    )
}


class Linear:
    """Labels that the model sees as (y - 10) / 2."""

    def labels(self, y):
        return (y - 10.0) / 2.0


def a_belief(N=30, seed=4):
    rng = np.random.default_rng(seed)
    mu, var = rng.normal(size=(3, N)), rng.uniform(0.01, 1.0, (3, N))
    X = rng.normal(size=(N, 3))
    known = (np.full(3, 0.1), X, X[:4], rng.normal(size=4), (0, 1))
    return Belief(np.array([0.2, 0.5, 0.3]), mu, var, *known, units=(Linear(),))


def tail(belief, level):
    """P(f > level) of the mixture, for a level in the user's units."""
    z = (level - 10.0) / 2.0
    return belief.w @ stats.norm.sf(z, belief.mu, np.sqrt(belief.var))


def a_joint(N=30, **measured):
    passes = np.linspace(0.05, 0.95, N)
    classes = np.random.default_rng(1).dirichlet(np.ones(3), N)
    labels = {name: np.array(y, dtype=np.float64) for name, y in measured.items()}
    return JointBelief(
        N,
        {"yield": a_belief(N), "purity": a_belief(N, 5)},
        {"crystallised": np.column_stack([1 - passes, passes]), "phase": classes, "grade": classes},
        labels,
    )


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("MAXIMISE yield", "maximise yield"),
        ("max 'yield [%]'", "maximise 'yield [%]'"),
        ('minimise "melt temp"', "minimise 'melt temp'"),
        ("top 3 yield", "best 3 yield"),
        ("best yield", "best 10 yield"),
        ("above 90 purity", "above 90 purity"),
        ("between 40 and 60 purity", "between 40 and 60 purity"),
        ("maximise  yield  SUBJECT TO purity>=95", "maximise yield subject to purity >= 95"),
        ("maximise subject to 95 <= purity", "maximise subject to purity >= 95"),
        ("maximise y subject to 2*p - 4 >= 6 and p < 9", "maximise y subject to 5 <= p < 9"),
        ("maximise y subject to -p < 0", "maximise y subject to p > 0"),
        ("maximise y and minimise c", "maximise y and minimise c"),
        ("max y and min c subject to d is yes", "maximise y and minimise c subject to d is yes"),
        ("learn weights purity=2 yield=0.5", "learn weights purity=2 yield=0.5"),
        ("learn weight 'a = b'=2", "learn weights 'a = b'=2"),
        ("maximise 'subject to'", "maximise 'subject to'"),
    ],
)  # fmt: skip
def test_texts_are_read_and_have_one_canonical_form(text, canonical):
    found = parse_goal(text)
    assert found.text == canonical
    assert parse_goal(canonical) == found


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("maximise a and maximise b and maximise c", "weal searches for one or two"),
        ("maximise a and minimise a", "contradict each other"),
        ("maximise a and maximise a", "is given twice"),
        ("maximise and minimise b", "each of two objectives names its quantity"),
        ("maximise a and above 5 b", '--subject-to "b > 5"'),
        ("maximise a and between 5 and 6 b", '--subject-to "5 < b < 6"'),
        ("maximise a and learn", "two objectives are maximised or minimised"),
        ("best 5 a and maximise b", "two objectives are maximised or minimised"),
        ("learn subject to b > 5", "has no constraints"),
        ("maximise a subject to", "subject-to is empty"),
        ("maximise a subject to b", "a comparison such as <= or 'is' is expected"),
        ("maximise a subject to b >= 95,5", "write the number with a point: 95.5"),
        ("maximise a subject to b + c > 1", "a condition is about one quantity"),
        ("maximise a subject to b = 5", "write a range"),
        ("maximise a subject to b > 5 and b < 5", "no label meets both"),
        ("maximise a subject to b > 5 and b is yes", "compared with a number and with a word"),
        ("above 5 a subject to a < 3", "contradict each other"),
        ("learn weights purity", "write a name and its weight"),
        ("learn weights purity=-1", "it needs a number from 0"),
        ("learn weights purity=1 purity=2", "one has two"),
        ("maximise melt temp", "put a name of several parts in quotes"),
        ("maximise a and", "write learn, maximise"),
    ],
)  # fmt: skip
def test_texts_with_a_mistake_are_refused_with_the_way_out(text, says):
    with pytest.raises(ValueError, match=re.escape(says)) as error:
        parse_goal(text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("maximise yeild", "there is no quantity 'yeild'; did you mean yield?"),
        ("maximise Melt_temp", "did you mean 'melt temp'?"),
        ("maximise zzz", "there is yield, purity"),
        ("above 90 mm", "(write a level without its unit)"),
        ("maximise temp", "temp is an input, and a goal is about results"),
        ("maximise yield subject to temp < 90", "temp is an input, and a goal is about results"),
        ("maximise yield subject to prity >= 95", "did you mean purity?"),
        ("maximise yield subject to crystallised >= 1", "write 'crystallised is yes'"),
        ("maximise yield subject to purity is yes", "purity is a number, and 'yes' is none"),
        ("maximise yield subject to crystallised is green", "'green' is not a label of cryst"),
        ("maximise yield subject to phase is delta", "it is one of alpha, beta, gamma"),
        ("maximise yield subject to phase >= beta", "has classes without an order"),
        ("maximise yield subject to phase is alpha and phase is beta", "no label meets it"),
        ("maximise yield subject to yield > 120", "no label can meet it"),
        ("maximise crystallised", "--subject-to 'crystallised is yes'"),
        ("above 1 grade", "has no level"),
        ("maximise phase", "has no highest label"),
        ("learn weights prity=2", "did you mean purity?"),
        ("maximise yield and minimise phase", "has no highest label"),
    ],
)
def test_names_and_words_are_checked_against_the_quantities(text, says):
    with pytest.raises(ValueError, match=re.escape(says)) as error:
        parse_goal(text).bind(QUANTITIES, ["temp"])
    assert "\n" not in str(error.value)


def test_a_level_that_the_unnamed_quantity_cannot_meet_is_a_contradiction():
    with pytest.raises(ValueError, match="contradict each other"):
        parse_goal("above 90 subject to yield < 50").bind(QUANTITIES)


def test_weights_of_0_for_all_are_refused():
    with pytest.raises(ValueError, match="all quantities have weight 0"):
        parse_goal("learn weights yield=0").bind({"yield": QUANTITIES["yield"]})


def test_a_goal_without_a_name_is_about_the_first_quantity_or_the_only_one():
    assert parse_goal("maximise").bind(QUANTITIES).text == "maximise yield"
    assert parse_goal("maximise").bind({"yield": QUANTITIES["yield"]}).text == "maximise"
    assert parse_goal("maximise 'purity [%]'").bind(QUANTITIES).text == "maximise purity"
    named = parse_goal("maximise subject to 'purity [%]' >= 95").bind(QUANTITIES)
    assert named.text == "maximise yield subject to purity >= 95"
    assert parse_goal("maximise grade").bind(QUANTITIES).scored(list(QUANTITIES)) == ["grade"]


def test_a_bound_goal_is_the_goal_that_its_text_says():
    goal = parse_goal("maximise yield subject to crystallised is YES and grade >= medium")
    bound = goal.bind(QUANTITIES)
    assert bound == goal
    assert hash(bound) == hash(goal)
    assert [one.codes for one in bound.requirements] == [(1,), (1, 2)]
    assert bound.bind(QUANTITIES) == bound


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("phase is beta", (1,)),
        ("phase is not beta", (0, 2)),
        ("phase in beta, gamma", (1, 2)),
        ("phase not in beta, gamma", (0,)),
        ("phase is not beta and phase is not alpha", (2,)),
        ("grade > low", (1, 2)),
        ("grade <= medium", (0, 1)),
        ("grade < medium", (0,)),
        ("high > grade", (0, 1)),
        ("crystallised is not no", (1,)),
        ("crystallised is 1", (1,)),
    ],
)
def test_words_are_those_of_the_quantity(text, codes):
    if text == "high > grade":  # the first name is taken for the quantity
        with pytest.raises(ValueError, match="there is no quantity 'high'"):
            read_requirements([text])[0].bind(QUANTITIES, ())
        return
    (one,) = read_requirements([text])
    bound = one.bind(QUANTITIES, ())
    assert bound.codes == codes
    assert [bound.holds(float(n)) for n in range(3)] == [n in codes for n in range(3)]
    assert not bound.holds(float("nan"))


numbers = st.floats(-1e6, 1e6).map(lambda x: round(x, 3))
relations = st.sampled_from(["<", "<=", ">", ">="])


@given(st.lists(st.tuples(relations, numbers), min_size=1, max_size=3), numbers)
def test_bounds_hold_as_the_condition_does(parts, label):
    text = " and ".join(f"q {how} {level!r}" for how, level in parts)
    try:
        (one,) = read_requirements([text])
    except ValueError as error:
        assert "no label meets both" in str(error)  # noqa: PT017
        assert not parse_condition(text).holds({"q": label})
        return
    assert read_requirements([one.text]) == (one,)
    near = any(0.0 < abs(label - level) <= 1e-8 * abs(level) for _, level in parts)
    assert near or one.holds(label) == parse_condition(text).holds({"q": label})


def test_several_goals_constraints_and_weights_are_one_text():
    assert combine_goals(None) is None
    assert combine_goals("maximise yield", ["purity >= 95", "crystallised is yes"]).text == (
        "maximise yield subject to purity >= 95 and crystallised is yes"
    )
    both = combine_goals(["maximise a subject to p > 1", "minimise b"], "p < 3")
    assert both.text == "maximise a and minimise b subject to 1 < p < 3"
    assert combine_goals(both, "q > 0").text.endswith("1 < p < 3 and q > 0")
    with pytest.raises(ValueError, match="weights are for the goal learn"):
        combine_goals("maximise a", weights={"a": 2.0})
    with pytest.raises(ValueError, match="it needs a number, as in"):
        combine_goals(None, weights={"a": "2"})
    with pytest.raises(ValueError, match="has no constraints"):
        combine_goals(None, "p > 1")
    with pytest.raises(ValueError, match="3 objectives"):
        combine_goals(["maximise a", "minimise b", "maximise c"])


@pytest.mark.parametrize(
    ("text", "found"), [("purity=2", ("purity", 2.0)), ("'a=b' = 0.5", ("a=b", 0.5))]
)
def test_a_weight_is_a_name_and_a_number(text, found):
    assert read_weight(text) == found


@pytest.mark.parametrize("text", ["purity", "=2", "purity=two", "purity=1,5", ""])
def test_a_weight_that_is_none_is_refused(text):
    with pytest.raises(ValueError, match="weight is"):
        read_weight(text)


def test_weights_multiply_and_zero_leaves_a_quantity_out():
    goal = parse_goal("learn weights purity=2 yield=0")
    assert goal.scored(list(QUANTITIES)[:2]) == ["purity"]
    assert [goal.weight(name) for name in ("purity", "yield", "melt temp")] == [2.0, 0.0, 1.0]


def test_the_score_is_improvement_on_the_best_feasible_row_times_probabilities():
    goal = parse_goal("maximise yield subject to purity >= 11 and crystallised is yes")
    goal = goal.bind(QUANTITIES)
    labels = {"yield": [14.0, 12.0, 9.0, 13.0], "purity": [9.0, 11.0, 12.0, np.nan]}
    joint = a_joint(**labels, crystallised=[1.0, 1.0, 1.0, 1.0])
    p = tail(joint.numbers["purity"], 11.0) * joint.probabilities["crystallised"][:, 1]
    belief = joint.numbers["yield"]
    sd = np.sqrt(belief.var)
    z = (belief.mu - 1.0) / sd  # the best feasible label is 12
    gain = belief.w @ (sd * (z * stats.norm.cdf(z) + stats.norm.pdf(z)))
    assert np.exp(goal.joint_scores(joint)) == pytest.approx(gain * p, rel=1e-6)
    nothing = a_joint(**labels, crystallised=[0.0, 0.0, 0.0, 0.0])
    assert np.exp(goal.joint_scores(nothing)) == pytest.approx(p, rel=1e-6)
    assert goal.joint_membership(joint).sum() == pytest.approx(min(10.0, p.sum()), rel=1e-5)


def test_a_constraint_on_a_quantity_that_nobody_measured_counts_for_nothing_yet():
    goal = parse_goal("maximise yield subject to 'melt temp' > 3").bind(QUANTITIES)
    joint = a_joint(**{"yield": [14.0, 12.0]})
    plain = log_expected_improvement(joint.numbers["yield"], 2.0)  # on the label 14
    assert goal.joint_scores(joint) == pytest.approx(plain)
    assert goal.log_feasible(joint).tolist() == [0.0] * 30


def test_levels_and_best_rows_under_constraints_prefer_feasible_rows():
    joint = a_joint(**{"yield": [14.0, 12.0], "crystallised": [1.0, 0.0]})
    p = joint.probabilities["crystallised"][:, 1]
    for text in ("above 11 yield", "best 3 yield", "lowest 3 yield"):
        goal = parse_goal(f"{text} subject to crystallised is yes").bind(QUANTITIES)
        plain = parse_goal(text).membership(joint.numbers["yield"])
        found = goal.joint_membership(joint)
        assert (found <= p + 1e-9).all()
        assert np.isfinite(goal.joint_scores(joint)).all()
        if text.startswith("above"):
            assert found == pytest.approx(plain * p)


@pytest.mark.parametrize(
    "text", ["maximise yield and minimise purity", "minimise yield and minimise purity"]
)
def test_two_objectives_score_by_the_mean_of_added_area(text):
    goal = parse_goal(text).bind(QUANTITIES)
    signs = np.array([-1.0 if low else 1.0 for _, low in goal.directions])
    Y = np.array([[12.0, 9.0], [11.0, 13.0], [8.0, 8.0], [np.nan, 7.0]])
    joint = a_joint(**{"yield": Y[:, 0], "purity": Y[:, 1]})
    found, beyond = np.exp(goal.joint_scores(joint)), goal.joint_membership(joint)
    scaled = (Y[:3] - 10.0) / 2.0 * signs
    every = (Y - 10.0) / 2.0 * signs
    low, high = np.nanmin(every, axis=0), np.nanmax(every, axis=0)
    r, draws, rng = low - 0.1 * (high - low), 3000, np.random.default_rng(0)
    for n in range(3):
        which = rng.choice(3, (2, draws), p=[0.2, 0.5, 0.3])
        pair = [joint.numbers[name] for name in ("yield", "purity")]
        f = (
            np.column_stack(
                [
                    rng.normal(b.mu[m, n], np.sqrt(b.var[m, n]))
                    for b, m in zip(pair, which, strict=True)
                ]
            )
            * signs
        )
        gains = np.array([hypervolume(np.vstack([scaled, one]), r) for one in f])
        gains -= hypervolume(scaled, r)
        assert found[n] == pytest.approx(gains.mean(), abs=4 * gains.std() / draws**0.5 + 1e-9)
        free = ~(scaled[None] >= f[:, None]).all(axis=2).any(axis=1)
        assert beyond[n] == pytest.approx(free.mean(), abs=4 * 0.5 / draws**0.5)


def test_two_objectives_under_constraints_have_the_front_of_feasible_rows():
    goal = parse_goal("maximise yield and maximise purity subject to crystallised is yes")
    goal = goal.bind(QUANTITIES)
    labels = {"yield": [20.0, 8.0], "purity": [20.0, 8.0]}
    none = a_joint(**labels, crystallised=[0.0, np.nan])
    p = none.probabilities["crystallised"][:, 1]
    assert np.exp(goal.joint_scores(none)) == pytest.approx(p)
    second = a_joint(**labels, crystallised=[0.0, 1.0])
    both = a_joint(**labels, crystallised=[1.0, 1.0])
    assert (goal.joint_scores(second) > goal.joint_scores(both)).all()


def test_two_objectives_before_the_second_has_a_label_are_all_alike():
    goal = parse_goal("maximise yield and minimise 'melt temp'").bind(QUANTITIES)
    assert (goal.joint_scores(a_joint(**{"yield": [14.0]})) == 0.0).all()
