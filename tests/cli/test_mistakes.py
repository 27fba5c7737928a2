"""Plain mistakes at the command line are named, with what to type instead."""

import re

import pytest

from shell import POOL, refused, typed
from weal.campaign.config import seconds
from weal.cli.main import _COMMAND_MODULES, _INSTEAD

pytestmark = pytest.mark.usefixtures("in_a_folder")


@pytest.fixture
def pool(tmp_path, monkeypatch):
    (tmp_path / "pool.csv").write_text(POOL)
    monkeypatch.chdir(tmp_path)
    return ["--pool", "pool.csv", "--id", "sample", "--target", "hardness"]


@pytest.mark.parametrize("command", _INSTEAD)
def test_a_command_that_people_expect_is_answered_with_one_that_is_there(command):
    done = typed(command, "steel")
    refused(done, 2, f"There is no command '{command}': ")
    named = re.findall(r"`weal (\w+)", done.complaint)
    assert named
    assert set(named) - {"--help"} <= set(_COMMAND_MODULES)


def test_no_command_is_both_there_and_not():
    assert not set(_INSTEAD) & set(_COMMAND_MODULES)


@pytest.mark.parametrize(
    ("lease", "length"),
    [("30min", 1800), ("30 min", 1800), ("2 hours", 7200), ("1h", 3600), ("90m", 5400),
     ("3 days", 259200), ("1.5d", 129600), ("2w", 1209600), ("45 s", 45)],
)  # fmt: skip
def test_a_lease_in_the_words_of_people(lease, length):
    assert seconds(lease) == length


@pytest.mark.parametrize("lease", ["1M", " 6 M"])
def test_months_or_minutes_is_asked(pool, lease):
    refused(typed("new", "steel", *pool, "--lease", lease), 2, "months or minutes: write .m for")


@pytest.mark.parametrize("lease", ["min", "3x", "-2d", "1h30", "soon"])
def test_other_leases_are_refused(pool, lease):
    refused(typed("new", "steel", *pool, f"--lease={lease}"), 2, "a lease is a time above 0")


@pytest.mark.parametrize("given", ["mine", "module:score", "lambda belief: belief.sd"])
def test_an_acquisition_that_only_python_can_take(pool, given):
    done = typed("new", "steel", *pool, "--acquisition", given)
    refused(done, 2, "known are random, .*given in Python, ActiveLearner.acquisition=function")


def test_an_id_in_another_spelling(pool):
    assert typed("new", "steel", *pool).code == 0
    refused(typed("tell", "steel", "a 07", "3"), 2, "did you mean 'A-7'?")
