"""The page on moving from 0.2 shows what weal prints, and names what exists."""

import json
import re
from pathlib import Path

import weal
from shell import typed
from weal.goals.grammar import parse_goal, parse_until

PAGE = (Path(__file__).parents[2] / "docs" / "releases" / "from-0.2.md").read_text("utf-8")
OLD, NEW = (
    json.loads(one) for one in re.findall(r"```\{code-block\} json\n.*?\n\n(.*?)```", PAGE, re.S)
)
COLUMN = [line.split("|")[2] for line in PAGE.splitlines() if line.count("|") == 3]


def test_the_json_of_a_goal_and_of_a_stop_condition_is_what_weal_prints():
    assert OLD == {"goal": 6.0}
    assert NEW["goal"] == parse_goal("learn").to_dict()
    assert NEW["until"] == parse_until("error < 6").to_dict()


def test_commands_that_are_to_be_written_exist():
    named = set(re.findall(r"(?<![.\w])weal ([a-z]+) (?:NAME|before)", PAGE)) - {"remove"}
    assert named == {"archive", "settings", "backup", "export", "tell"}
    assert all(typed(name, "--help").code == 0 for name in named)
    assert "weal archive" in typed("remove", "x").complaint


def test_methods_that_are_to_be_written_exist():
    methods = set(re.findall(r"(read_\w+|existing_ids)\(", "\n".join(COLUMN)))
    assert len(methods) == 5
    assert all(hasattr(weal.Campaign, name) for name in methods)
