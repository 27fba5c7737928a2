"""Run axe-core on pages of the built site, in Chromium.

    python scripts/check_accessibility.py [FOLDER] [PAGE ...]     (scripts/docs calls it)

Each page is looked at on a phone (390 px) and on a desktop (1440 px), in light colours by all rules
of axe and in dark ones by the rules that depend on colours. Without pages it takes SAMPLE, which
has a page of every layout: landing page, cards, running code, figures, wide tables, formulas,
pictures, names of the package, results, search. `scripts/check_site.py` looks at the headings of
every page.
"""

import shutil
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, ViewportSize, sync_playwright

ROOT = Path(__file__).parents[1]
AXE = ROOT / "tests" / "web" / "vendor" / "axe.min.js"
SAMPLE = (
    "index", "search", "learn/first-campaign", "learn/is-it-for-me", "howto/from-others",
    "howto/limits", "guide/security", "guide/serve", "understand/model", "reference/index",
    "reference/api/weal.Kernel", "results/index", "results/cost", "results/goals", "releases/cite",
)  # fmt: skip
SIZES = (ViewportSize(width=390, height=844), ViewportSize(width=1440, height=900))
THEMES = {"light": {}, "dark": {"runOnly": ["color-contrast", "link-in-text-block"]}}
RUN = """(rules) => axe.run(document, {resultTypes: ["violations"], ...rules})
    .then(found => found.violations)"""
SET = "theme => Object.assign(document.documentElement.dataset, {theme, mode: theme})"
SETTLED = """() => [...document.querySelectorAll("pre, .pst-scrollable-table-container")].every(
    one => one.scrollWidth <= one.clientWidth || one.tabIndex === 0)"""
SETTLING = 2_000  # milliseconds: the theme waits 300 before it makes what scrolls reachable by keys
PATIENCE = 120_000  # milliseconds: only what hangs meets it


def violations(page: Page, site: Path, name: str) -> list[str]:
    """The rules that a page breaks, with the element and the repair."""
    page.set_viewport_size(SIZES[0])
    page.goto((site / f"{name}.html").resolve().as_uri())
    page.evaluate(AXE.read_text("utf-8"))
    found: list[str] = []
    for size in SIZES:
        page.set_viewport_size(size)
        settle(page)
        for theme, rules in THEMES.items():
            page.evaluate(SET, theme)
            where = f"{name}, {theme}, {size['width']} px"
            found += [f"{where}: {one}" for one in described(page.evaluate(RUN, rules))]
    return found


def settle(page: Page) -> None:
    """Wait until everything that scrolls can be reached with the keyboard, or was given time to."""
    waited = "window.settlingSince ??= Date.now()"
    page.evaluate("window.settlingSince = undefined")
    page.wait_for_function(f"(({SETTLED})()) || Date.now() - ({waited}) > {SETTLING}")


def described(rules: list[dict[str, Any]]) -> list[str]:
    """A line for each element that breaks a rule."""
    return [
        f"{rule['id']}: {node['html'][:200]} {' '.join(node['failureSummary'].split())[:200]}"
        for rule in rules
        for node in rule["nodes"]
    ]


def main(folder: str = "docs/_build/html", *names: str) -> int:
    """Look at the pages; 1 if a rule is broken."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        sys.exit("no Chromium here: install the Debian package chromium")
    pages = names or SAMPLE
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_context(reduced_motion="reduce").new_page()
        page.set_default_timeout(PATIENCE)
        wrong = [line for name in pages for line in violations(page, Path(folder), name)]
        browser.close()
    print("\n".join(wrong) or f"axe finds nothing wrong on {len(pages)} pages")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
