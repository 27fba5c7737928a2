"""Errors under --json: one object on stderr, with the code that Python's error and the API have."""

import json

import pytest

from shell import POOL, typed
from weal import errors
from weal.cli import main


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pool.csv").write_text(POOL)
    url = f"sqlite:///{tmp_path}/weal.db"
    done = typed(
        *("new", "steel", "--pool", "pool.csv", "--id", "sample"),
        *("--target", "hardness", "--store", url),
    )
    assert done.code == 0
    return url


def complaint(*words):
    """The object on stderr; nothing is on stdout."""
    done = typed(*words, "--json")
    assert done.code not in (0, None)
    assert done.out == ""
    found = json.loads(done.err.splitlines()[-1])["error"]
    assert found["exit_code"] == done.code
    return found


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("tell", "steel", "A-77", "5"), "unknown_id"),
        (("tell", "steel", "A-0", "99"), "already_labelled"),
        (("tell", "steel", "A-5", "soft"), "invalid_value"),
        (("tell", "steel", "A-5", "5", "--replace", "--repeat"), "invalid_value"),
        (("tell", "steel"), "wrong_usage"),
        (("ask", "steel", "-n", "0"), "wrong_usage"),
        (("ask", "steel", "-n", "99"), "exhausted"),
        (("ask", "bronze"), "unknown_campaign"),
        (("best", "steel", "--goal", "maximise"), "no_model"),
        (("new", "steel", "--pool", "pool.csv"), "campaign_exists"),
        (("new", "iron", "--pool", "none.csv"), "invalid_value"),
    ],
)
def test_an_error_has_its_code(store, words, code):
    assert complaint(*words, "--store", store)["code"] == code


def test_a_key_used_twice_has_its_code(store):
    assert typed("tell", "steel", "A-4", "5", "--key", "k", "--store", store).code == 0
    found = complaint("tell", "steel", "A-5", "5", "--key", "k", "--store", store)
    assert found["code"] == "reused_key"
    assert "Nothing was written" in found["message"]


def test_without_json_the_line_is_as_it_was(store):
    assert typed("ask", "bronze", "--store", store).complaint.startswith(
        "weal: there is no campaign"
    )


def test_an_id_that_is_called_json_is_no_option(store):
    done = typed("tell", "--store", store, "--", "steel", "--json", "5")
    assert done.complaint.startswith("weal: ")


def test_a_password_is_masked_in_the_object(store):
    url = 'postgresql://ann:geheim"1@127.0.0.1:1/none'
    done = typed("list", "--store", url, "--json")
    assert "geheim" not in done.err
    assert json.loads(done.err.splitlines()[-1])["error"]["code"] == "failed"


def test_a_bug_has_a_code_too(store, monkeypatch):
    monkeypatch.setattr(main, "_run", lambda words: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        typed("list", "--store", store, "--json")
    assert errors.error_code(ZeroDivisionError()) == "bug"


def test_an_instance_may_have_a_more_precise_code():
    found = errors.Conflict("taken")
    found.code = "row_taken"
    assert errors.error_code(found) == "row_taken"
    assert errors.error_code(errors.Conflict("taken")) == "conflict"
