"""The reference is the docstrings: every public name and method is described, whole and in form."""

import builtins
import inspect

import pytest
from numpydoc.docscrape import NumpyDocString

import weal
from weal import errors

NAMES = [getattr(weal, name) for name in weal.__all__]
CLASSES = [one for one in NAMES if inspect.isclass(one)]


def _members():
    """Public methods and properties of the public classes that are ours, with their names."""
    for owner in CLASSES:
        for name, found in inspect.getmembers_static(owner):
            function = getattr(found, "__func__", getattr(found, "fget", found))
            ours = inspect.isfunction(function) and function.__module__.startswith("weal.")
            if ours and not name.startswith("_"):
                yield pytest.param(owner, name, found, id=f"{owner.__name__}.{name}")


MEMBERS = list(_members())
METHODS = [one for one in MEMBERS if not isinstance(one.values[2], property)]


def described(text):
    """The docstring, read; its summary is a sentence on one line."""
    assert text, "no docstring"
    found = NumpyDocString(inspect.cleandoc(text))
    summary = found["Summary"]
    assert summary
    assert summary[-1].rstrip().endswith("."), summary
    return found


def check_parameters(found, function):
    """Every parameter of the signature is described, in order, with its type."""
    signature = inspect.signature(function).parameters.values()
    stars = {inspect.Parameter.VAR_KEYWORD: "**", inspect.Parameter.VAR_POSITIONAL: "*"}
    wanted = [f"{stars.get(one.kind, '')}{one.name}" for one in signature if one.name != "self"]
    assert [one.name for one in found["Parameters"]] == wanted
    for one in found["Parameters"]:
        assert one.desc, one.name
        assert one.type or one.name.startswith("*"), one.name


def check_errors(found):
    """Errors that are named are errors that there are."""
    for one in found["Raises"]:
        name = one.type
        kind = getattr(errors, name, getattr(builtins, name, None))
        assert name.startswith("sklearn.exceptions.") or issubclass(kind, Exception), name
        assert one.desc, name


@pytest.mark.parametrize("thing", NAMES, ids=weal.__all__)
def test_a_public_name_has_a_summary_its_parameters_and_an_example(thing):
    found = described(thing.__doc__)
    if not (inspect.isclass(thing) and issubclass(thing, Exception)):
        check_parameters(found, thing)
    if inspect.isfunction(thing):
        assert found["Returns"]
    check_errors(found)
    assert any(">>>" in line for line in found["Examples"])


@pytest.mark.parametrize(("owner", "name", "member"), METHODS)
def test_a_public_method_says_what_it_takes_and_what_comes_back(owner, name, member):
    function = getattr(owner, name)
    found = described(function.__doc__)
    check_parameters(found, function)
    returns = inspect.signature(function).return_annotation
    assert bool(found["Returns"]) == (returns is not None)
    for one in found["Returns"]:
        assert one.type
        assert one.desc, name
    check_errors(found)


@pytest.mark.parametrize(("owner", "name", "member"), MEMBERS)
def test_a_public_member_has_a_summary(owner, name, member):
    assert (member.__doc__ or getattr(owner, name).__doc__).strip()
