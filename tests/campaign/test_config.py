"""Settings are checked when they are given: what is taken can be used."""

import json

import pytest

from campaign.lab import campaign
from shell import typed

HUGE = int("9" * 26)


@pytest.mark.parametrize(
    ("setting", "value", "says"),
    [
        ("seed", HUGE, "from 0 to 4294967295"),
        ("seed", 2**32, "from 0 to 4294967295"),
        ("seed", -1, "from 0"),
        ("seed", True, "seed is True"),
        ("seed", 10**400, "more than 40 digits"),
        ("seed", 1.0, "seed is 1.0"),
        ("n_start", HUGE, "from 1 to 1000000"),
        ("n_start", 0, "from 1"),
        ("goal", 10**400, "goal is"),
        ("goal", float("nan"), "goal is nan"),
        ("goal", float("inf"), "goal is inf"),
        ("goal", True, "goal is True"),
        ("lease", 10**400, "a lease is a time"),
        ("lease", "1e300d", "a lease is a time"),
        ("lease", "nand", "a lease is a time"),
        ("lease", True, "a lease is a time"),
        ("acquisition", "no such", "no such"),
        ("warp", "cosh", "warp is 'cosh'"),
    ],
)
def test_a_setting_that_cannot_be_used_is_refused(setting, value, says):
    with pytest.raises(ValueError, match=says):
        campaign(**{setting: value})


@pytest.mark.parametrize(
    "given", [{"seed": 2**32 - 1}, {"n_start": 10**6}, {"goal": 1e300}, {"lease": 1e9}]
)
def test_the_largest_that_is_taken_can_be_used(given):
    with campaign(rows=12, **given) as one:
        for name in one.ask(6):
            one.tell(name, float(len(name)) + float(name[1:]))
        assert one.ask()
        assert one.status()


@pytest.mark.usefixtures("in_a_folder")
def test_a_seed_that_no_model_takes_makes_no_campaign():
    from campaign.alloys import write_pool

    write_pool("bare.csv", told=0)
    words = ["new", "bare", "--pool", "bare.csv", "--id", "sample"]
    done = typed(*words, "--seed", str(HUGE))
    assert done.code == 2
    assert "seed is 99999999999999999999999999; it needs a whole number" in done.complaint
    assert typed(*words, "--seed", "4294967295").code == 0
    assert typed("ask", "bare").code == 0


@pytest.mark.usefixtures("in_a_folder")
def test_labels_are_bent_and_unbent_by_a_word():
    from campaign.alloys import write_pool

    write_pool("bare.csv", told=0)
    made = typed("new", "bare", "--pool", "bare.csv", "--id", "sample", "--warp", "auto", "--json")
    assert json.loads(made.out)["settings"]["warp"] == "auto"
    assert json.loads(typed("settings", "bare", "--warp", "asinh", "--json").out)["warp"] == "asinh"
    assert json.loads(typed("settings", "bare", "--warp", "off", "--json").out)["warp"] is None
    refused = typed("settings", "bare", "--warp", "log")
    assert refused.code == 2
    assert "'off', 'auto', 'asinh'" in refused.complaint
