"""How to: each question has a page, each page is on the list, and begins with the answer."""

import re
from pathlib import Path

HOWTO = Path(__file__).parents[2] / "docs" / "howto"
PAGES = sorted(path for path in HOWTO.glob("*.md") if path.stem != "index")


def test_every_page_is_on_the_list_and_in_the_menu():
    index = (HOWTO / "index.md").read_text("utf-8")
    listed, menus = index.split("```{toctree}", 1)
    names = {path.stem for path in PAGES}
    assert names == set(re.findall(r"\((?!\.\.)([\w-]+)\.md\)", listed))
    assert names == set(re.findall(r"^(?!\.\.)([a-z][\w-]*)$", menus, re.MULTILINE))


def test_every_page_begins_with_its_answer_and_ends_with_where_to_go_on():
    for path in PAGES:
        text = re.sub(r"\A---\n.*?\n---\n", "", path.read_text("utf-8"), flags=re.DOTALL)
        title, answer, *_, last = text.strip().split("\n\n")
        assert title.startswith("# "), path
        assert answer.startswith("**"), path
        assert last.startswith("**See also**"), path
