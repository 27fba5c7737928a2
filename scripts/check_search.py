"""Type queries into the built site's search, in Chromium, and look at the first three hits.

    python scripts/check_search.py [FOLDER]     (docs/_build/html; scripts/check_site.py calls it)

`docs/search_queries.toml` has the queries, each with the pages of which one must be among the first
three hits. All of them run in one page, through the functions that a typed query goes through; one
is typed. A line is printed for each query that fails, with the hits that came instead.
"""

import shutil
import sys
import tomllib
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[1]
QUERIES = ROOT / "docs" / "search_queries.toml"
HITS = 3
TYPED = "wrong labels"  # the query that goes through the field, the address and the list
PATIENCE = 120_000  # milliseconds: only what hangs meets it
RUN = """(queries) => queries.map(query => {
    const found = Search._performSearch(...Search._parseQuery(query));
    return found.reverse().slice(0, 3).map(hit => hit[0]);  // the list shows the last one first
})"""


def queries() -> dict[str, list[str]]:
    """The pages that may answer each query."""
    groups: dict[str, dict[str, list[str]]] = tomllib.loads(QUERIES.read_text("utf-8"))
    found = {query: pages for group in groups.values() for query, pages in group.items()}
    if len(found) != sum(map(len, groups.values())):
        raise ValueError(f"a query stands twice in {QUERIES.name}: leave one of them out")
    return found


def failures(page: Page, site: Path) -> list[str]:
    """The queries without an expected page among the first hits, and pages that do not exist."""
    expected = queries()
    wrong = [
        f"{QUERIES.name}: {one}: there is no such page"
        for one in sorted({one for pages in expected.values() for one in pages})
        if not (site / f"{one}.html").is_file()
    ]
    page.goto((site / "search.html").resolve().as_uri())
    page.wait_for_function("typeof Search !== 'undefined' && Search.hasIndex()")
    hits: list[list[str]] = page.evaluate(RUN, list(expected))
    wrong += [
        f"search for {query!r}: {' or '.join(pages)} is not among {', '.join(found) or 'no hits'}"
        for (query, pages), found in zip(expected.items(), hits, strict=True)
        if not set(pages) & set(found)
    ]
    return wrong + typed(page, site, hits[list(expected).index(TYPED)])


def typed(page: Page, site: Path, hits: list[str]) -> list[str]:
    """Whether the list that a reader sees begins with the same hits."""
    page.goto((site / "search.html").resolve().as_uri() + f"?q={quote(TYPED)}")
    links = page.locator("#search-results ul.search > li > a")
    links.nth(HITS - 1).wait_for()
    shown = [str(links.nth(i).get_attribute("href")) for i in range(HITS)]
    seen = [one.partition("#")[0].partition("?")[0].removesuffix(".html") for one in shown]
    same = [one.removeprefix("./") for one in seen] == hits
    return [] if same else [f"search for {TYPED!r} shows {seen}, not {hits}"]


def main(folder: str = "docs/_build/html") -> int:
    """Run all queries; 1 if one fails."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        sys.exit("no Chromium here: install the Debian package chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        wrong = failures(page, Path(folder).resolve())
        browser.close()
    print("\n".join(wrong) or f"{len(queries())} queries, each answered in {HITS} hits")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
