"""Pages, README, CONTRIBUTING and scripts name only modules, functions and files that exist."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOT_KEPT = {"releases", "_build", "results"}  # history, and pages that a build makes
PAGES = sorted(
    [
        *(path for path in ROOT.glob("docs/**/*.md") if not NOT_KEPT & {*path.parts}),
        *ROOT.glob("docs/contribute/way.toml"),
        *ROOT.glob("docs/_ext/*.py"),
        *(path for path in ROOT.glob("scripts/*") if path.is_file()),
        *ROOT.glob("benchmarks/**/*.py"),
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
    ]
)
DOTTED = re.compile(r"(?<![\w./-])weal(?:\.[A-Za-z_]\w*)+(?:(?<=\w):[A-Za-z_][\w.]*)?")
# Names of files and of a group of entry points, not of modules.
FILES = re.compile(r"weal\.(db|css|js|toml|csv|exe|pools|acquisitions)\b")
IMPORT = re.compile(r"^\s*from (weal[\w.]*) import \(?([\w, ]+)", re.MULTILINE)
PATH = re.compile(r"(?<![\w/.*{}-])(?:src/weal|tests|benchmarks|scripts|docs)/[\w/.-]*\w")
# Made by a command that the page tells of, or a pattern of names.
NOT_THERE = re.compile(r"docs/_build|docs/results|/KIND\.py|/NAME\.json")


def is_name(dotted):
    """Whether this is a module, or a name in one."""
    module, attributes = "weal", dotted.replace(":", ".").split(".")[1:]
    thing = importlib.import_module(module)
    for attribute in attributes:
        module = f"{module}.{attribute}"
        try:
            thing = importlib.import_module(module)
        except ModuleNotFoundError:
            if not hasattr(thing, attribute):
                return False
            thing = getattr(thing, attribute)
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_names_only_what_exists(page):
    text = page.read_text(encoding="utf-8")
    names = {name for name in DOTTED.findall(text) if not FILES.match(name)}
    for module, imported in IMPORT.findall(text):
        names |= {f"{module}.{one.split()[0]}" for one in imported.split(",") if one.strip()}
    assert not {name for name in names if not is_name(name)}
    paths = {path for path in PATH.findall(text) if not NOT_THERE.search(path)}
    assert not {path for path in paths if not (ROOT / path).exists()}


def test_a_name_is_a_module_or_an_attribute_of_one():
    assert is_name("weal.core.paper.ensemble:step")
    assert is_name("weal.Campaign.tell")
    assert not is_name("weal.core.gone")
    assert not is_name("weal.core.paper.ensemble.gone")
