"""Pages, docstrings, comments and messages use the words of the field: `banned_words.toml`."""

import re
import tomllib
from pathlib import Path

import pytest

from prose import pieces

ROOT = Path(__file__).parents[2]
DATA = tomllib.loads(Path(__file__).with_name("banned_words.toml").read_text(encoding="utf-8"))
BANNED = [{**one, "regex": re.compile(one["pattern"], re.I)} for one in DATA["banned"]]
PLACES = [
    "*.md",
    "docs/**/*.md",
    "docs/**/*.py",
    "docs/**/*.toml",
    "src/weal/**/*.py",
    "src/weal/web/templates/**/*.html",
    "src/weal/web/static/*.js",
    "scripts/*",
    "benchmarks/**/*.py",
]
FILES = sorted(
    path
    for place in PLACES
    for path in ROOT.glob(place)
    if path.is_file()
    and not {"_build", "results"} & {*path.parts}
    and not path.is_relative_to(ROOT / "docs/reference/api")  # made of docstrings that are read
)
MARKS = str.maketrans(dict.fromkeys("\"'#*_/", " "))  # of strings, comments and emphasis


def findings(path):
    """Banned phrases of a file, each with its line and the words to use instead."""
    name = path.relative_to(ROOT).as_posix()
    text = path.read_text(encoding="utf-8").lower()
    text = f" {' '.join(text.translate(MARKS).split())} "
    banned = [
        one
        for one in BANNED
        if any(part in text for part in one["parts"])
        and name not in one.get("not_in", [])
        and one["regex"].search(text)
    ]
    if not banned:
        return []
    return [
        f"{name}:{line}: {piece[max(0, hit.start() - 40) : hit.end() + 30]!r}; say: {one['say']}"
        for line, piece in pieces(path)
        for one in banned
        for hit in one["regex"].finditer(piece)
    ]


def test_no_file_uses_a_banned_phrase():
    found = [line for path in FILES for line in findings(path)]
    assert not found, "\n".join(found[:40])


@pytest.mark.parametrize("one", BANNED, ids=lambda one: one["hit"])
def test_a_pattern_finds_its_example_and_leaves_the_other(one):
    assert one["regex"].search(one["hit"])
    assert any(part in f" {one['hit'].lower()} " for part in one["parts"])
    assert not one["regex"].search(one["miss"])
