"""Keywords of pages and queries of the search: every page has some, every query has a page."""

import re
import tomllib
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
KEYWORDS = tomllib.loads((DOCS / "keywords.toml").read_text("utf-8"))
QUERIES = tomllib.loads((DOCS / "search_queries.toml").read_text("utf-8"))
FOLDERS = ("learn", "howto", "guide", "understand", "reference", "contribute", "releases")
SCRIPT = (DOCS.parent / "scripts" / "make_results.py").read_text("utf-8")
RESULTS = {f"results/{name}" for name in re.findall(r'^    "([a-z-]+)": \w', SCRIPT, re.MULTILINE)}
PAGES = RESULTS | {
    str(path.relative_to(DOCS).with_suffix(""))
    for path in [DOCS / "index.md", *(one for top in FOLDERS for one in (DOCS / top).glob("*.md"))]
}
QUERY_LIST = [(query, pages) for group in QUERIES.values() for query, pages in group.items()]


def test_every_page_has_keywords_of_its_own():
    assert len(RESULTS) > 5
    assert set(KEYWORDS) == PAGES
    for page, words in KEYWORDS.items():
        assert len(words) >= 3, page
        assert len({word.lower() for word in words}) == len(words), page
        assert all(word == word.strip() and "," not in word for word in words), page


def test_there_are_150_queries_and_each_is_asked_once():
    queries = [query.lower() for query, _ in QUERY_LIST]
    assert len(set(queries)) == len(queries) >= 150


def test_every_query_leads_to_few_pages_that_exist():
    for query, pages in QUERY_LIST:
        assert 1 <= len(pages) <= 5, query
        written = {one for one in pages if not one.startswith("reference/api/")}
        assert written <= PAGES, query


def test_the_words_that_readers_did_not_find_are_asked():
    asked = {query.lower() for query, _ in QUERY_LIST}
    assert asked >= {
        "authentication", "heteroscedastic", "gpu", "nginx", "docker", "license", "licence",
        "migrate", "classification", "cite", "security", "speed", "compare", "limits",
        "wrong labels",
    }  # fmt: skip


def test_every_page_has_links_to_licence_citation_security_changelog_and_api():
    text = (DOCS / "conf.py").read_text("utf-8")
    linked = set(re.findall(r'^ +\("([\w/.-]+)", "', text, re.MULTILINE))
    wanted = {"releases/cite", "releases/licence", "guide/security", "releases/index"}
    assert linked >= wanted | {"reference/index"}
    assert linked <= PAGES
