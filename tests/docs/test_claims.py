"""Claims of README and the first pages: each is on its page, and what holds it is there."""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

import weal

ROOT = Path(__file__).resolve().parents[2]
PAGES = tomllib.loads((ROOT / "docs/claims.toml").read_text("utf-8"))["page"]
CLAIMS = [(page["file"], *claim) for page in PAGES for claim in page["claims"]]
NUMBERS_WITHOUT_CLAIM = {"2022", "2206.05009", "3", "10^6", weal.__version__}  # of README


def plain(text):
    return " ".join(text.split())


@cache
def names_in(file):
    """Names of the test functions of a file."""
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    return {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


@pytest.mark.parametrize("file", [page["file"] for page in PAGES])
def test_every_claim_is_on_its_page_once(file):
    text = plain((ROOT / file).read_text("utf-8"))
    sentences = [sentence for page, sentence, *_ in CLAIMS if page == file]
    assert len(set(sentences)) == len(sentences)
    assert not [one for one in sentences if one not in text], (
        "change docs/claims.toml with the page"
    )


def missing(held):
    """What is wrong with an entry, if anything is."""
    if held.startswith("none: "):
        return None if len(held) > 30 else "say why nothing holds it"
    file, _, name = held.partition("::")
    if not (ROOT / file).exists():
        return f"there is no {file}"
    if file.startswith("tests/") and file.endswith(".py") and name:
        return None if name in names_in(file) else f"{file} has no {name}"
    return "name a test of that file" if name else None


def test_every_test_and_file_that_holds_a_claim_is_there():
    entries = [(sentence, held) for _, sentence, *some in CLAIMS for held in some]
    assert not [(*one, why) for one in entries if (why := missing(one[1]))]
    assert all(some for _, _, *some in CLAIMS), "a claim without an entry: write none and why"


def test_what_is_wrong_is_noticed():
    assert missing("tests/test_readme.py::test_nothing_of_the_kind")
    assert missing("tests/nothing.py::test_a")
    assert missing("benchmarks/results/nothing.json")
    assert missing("none: because")
    assert not missing("tests/docs/test_claims.py::test_what_is_wrong_is_noticed")


def test_every_number_in_the_prose_of_the_readme_is_in_a_claim():
    text = (ROOT / "README.md").read_text("utf-8")
    prose = re.sub(
        r"```.*?```|<picture>.*?</picture>|\([^()]*\.md[^()]*\)", "", text, flags=re.DOTALL
    )
    claimed = " ".join(sentence for page, sentence, *_ in CLAIMS if page == "README.md")
    numbers = set(re.findall(r"(?<![\w.])\d+(?:[.^]\d+)*(?![\w])", prose))
    known = set(re.findall(r"\d+(?:[.^]\d+)*", claimed)) | NUMBERS_WITHOUT_CLAIM
    assert not numbers - known
