"""Module constants are changed in one way, which fails where the constant does not exist."""

import ast
from pathlib import Path

import pytest

from constants import CONSTANT, changed_constants, constants_json, set_constants
from weal.model import expert_kind

TESTS = Path(__file__).parent


@pytest.mark.parametrize("change", [set_constants, constants_json])
def test_a_constant_that_does_not_exist_is_an_error(change):
    with pytest.raises(AttributeError, match="expert_kind has no constant MOST_LABELS"):
        change(expert_kind, MOST_LABELS=3)
    with pytest.raises(AttributeError, match="no constant most_points"):
        change(expert_kind, most_points=3)


def test_a_constant_is_what_it_was_after_the_test():
    usual = expert_kind.MAX_INDUCING_POINTS
    with changed_constants(expert_kind, MAX_INDUCING_POINTS=7):
        assert expert_kind.MAX_INDUCING_POINTS == 7
    assert usual == expert_kind.MAX_INDUCING_POINTS


def patched_constants(tree):
    """Line numbers where a constant is set by setattr or by assignment to an attribute."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "setattr":
            texts = [one.value for one in node.args[:2] if isinstance(one, ast.Constant)]
            if any(CONSTANT.fullmatch(str(text).rpartition(".")[2]) for text in texts):
                yield node.lineno
        is_set = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        if is_set and CONSTANT.fullmatch(node.attr):
            yield node.lineno


def test_tests_change_constants_in_no_other_way():
    found = [
        f"{path.relative_to(TESTS)}:{line}"
        for path in TESTS.rglob("*.py")
        for line in patched_constants(ast.parse(path.read_text()))
    ]
    assert found == []
