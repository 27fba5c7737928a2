"""What the usual run leaves to --long: no value of a parameter, and no test of a law."""

from itertools import combinations, product
from types import SimpleNamespace

import pytest

from soak import covering, left_out

FACTORS = {"kind": ("exact", "features", "inducing"), "noise": (0.0, 0.3), "d": (1, 3, 7, 20)}
GRID = [dict(zip(FACTORS, values, strict=True)) for values in product(*FACTORS.values())]


def tuples(cases, size):
    return {group for case in cases for group in combinations(case.items(), size)}


@pytest.mark.parametrize(("strength", "most"), [(1, 4), (2, 14), (3, 24)])
def test_few_cases_have_every_tuple_of_values(strength, most):
    kept = [GRID[i] for i in covering(GRID, strength)]
    assert tuples(kept, strength) == tuples(GRID, strength)
    assert len(kept) <= most


def test_values_need_not_be_hashable_and_a_case_that_lacks_a_parameter_is_kept():
    first, second = [0], [0]
    cases = [{"a": first, "b": 1}, {"a": second, "b": 1}, {"a": first}, {"c": 2}]
    assert sorted(covering(cases)) == [0, 1, 3]


class Item(SimpleNamespace):
    """A collected test, as far as `left_out` looks at it."""

    __hash__ = object.__hash__

    def get_closest_marker(self, name):
        return self.marks.get(name)


def item(name, params=None, **marks):
    return Item(
        nodeid=f"{name}{params}",
        originalname=name,
        parent="file.py",
        callspec=SimpleNamespace(params=params),
        marks={key: SimpleNamespace(kwargs=kwargs) for key, kwargs in marks.items()},
    )


def test_each_law_keeps_cases_of_its_own_and_what_has_no_marker_stays():
    thin = [item(name, case, covering={}) for name in ("one", "two") for case in GRID]
    full = [item("three", case) for case in GRID]
    alone = item("four", long={})
    out = left_out([alone, *full, *reversed(thin)])
    assert alone in out
    assert not out & set(full)
    for name in ("one", "two"):
        kept = [one.callspec.params for one in thin if one not in out and one.originalname == name]
        assert tuples(kept, 1) == tuples(GRID, 1)
        assert len(kept) < len(GRID) / 4


def test_the_same_cases_run_in_whatever_order_tests_are_collected():
    items = [item("one", case, covering={"strength": 2}) for case in GRID]
    assert left_out(items) == left_out(items[::-1])
