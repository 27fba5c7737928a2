"""Check the built documentation from its files: links, anchors, widths.

    python scripts/check_site.py [FOLDER]     (docs/_build/html; scripts/docs calls it)

Every link leads to a file and an anchor that are there, in the Markdown files at the root too.
Every page has one title, and loads nothing from another host. In Chromium, from the file system: no
page is wider than a phone, and nothing is missing or fails. What is wrong is printed, a line for
each, and the exit code is 1. `scripts/check_search.py` looks at the search.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from playwright.sync_api import Request, ViewportSize, sync_playwright

ROOT = Path(__file__).parents[1]
LOADED = {  # tag and attribute of what a browser loads automatically
    ("img", "src"),
    ("script", "src"),
    ("source", "src"),
    ("video", "src"),
    ("audio", "src"),
    ("iframe", "src"),
    ("embed", "src"),
    ("object", "data"),
    ("image", "href"),
    ("image", "xlink:href"),
    ("use", "href"),
    ("input", "src"),
}
SHEETS = {"stylesheet", "preload", "modulepreload", "icon", "shortcut icon", "prefetch"}
SOURCES = "/understand/source/"  # pages that show a file of the repository
PHONE = ViewportSize(width=390, height=844)
PATIENCE = 120_000  # milliseconds: only what hangs meets it
Link = tuple[str, bool]  # where to, and whether a browser loads it automatically


class Page(HTMLParser):
    """The anchors and links of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[Link] = []
        self.titles = 0
        self._style = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what it is called and where it leads."""
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[key] for key in ("id", "name") if key in found}
        self.titles += tag == "h1"
        self._style = tag == "style"
        if tag in ("a", "area") and "href" in found:
            self.links.append((found["href"], False))
        if tag == "link":
            self.links.append((found.get("href", ""), found.get("rel") in SHEETS))
        self.links += [(found[key], True) for one, key in LOADED if one == tag and key in found]
        for part in found.get("srcset", "").split(","):
            self.links += [(part.split()[0], True)] if part.split() else []
        self.links += [(one, True) for one in in_css(found.get("style", ""))]

    def handle_data(self, data: str) -> None:
        """Style sheets within the page."""
        if self._style:
            self.links += [(one, True) for one in in_css(data)]


def in_css(text: str) -> list[str]:
    """What a style sheet loads."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    named = re.findall(r"url\(\s*['\"]?(.*?)['\"]?\s*\)", text)
    return named + re.findall(r"@import\s+['\"](.*?)['\"]", text)


def in_markdown(text: str) -> Page:
    """Anchors (as GitHub makes them of headings) and links of a Markdown file."""
    plain = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.DOTALL | re.MULTILINE)
    page = Page("\n".join(re.findall(r"<(?:img|a)\b[^>]*>", plain)))
    for title in re.findall(r"^#+ (.*)$", plain, re.MULTILINE):
        page.anchors.add(re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-"))
    page.links += [(one, False) for one in re.findall(r"\]\(([^)\s]+)[^)]*\)", plain)]
    return page


@cache
def page_of(path: Path) -> Page:
    """What is in a file; of a style sheet what it loads, of other files nothing."""
    if path.suffix not in (".html", ".md", ".css", ".svg"):
        return Page("")
    text = path.read_text("utf-8")
    if path.suffix == ".md":
        return in_markdown(text)
    page = Page("" if path.suffix == ".css" else text)
    page.links += [(one, True) for one in in_css(text)] if path.suffix == ".css" else []
    return page


def wrong(path: Path, top: Path) -> Iterator[str]:
    """What is wrong with the links of a file."""
    for link, loaded in dict.fromkeys(page_of(path).links):
        trouble = look(path, link, loaded, top)
        if trouble:
            yield f"{path.relative_to(top)}: {link[:120]}: {trouble}"


def look(path: Path, link: str, loaded: bool, top: Path) -> str | None:
    """What is wrong with a link."""
    if link.startswith("data:") or link in ("", "#"):
        return None
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return "is loaded from another host" if loaded else None
    if link.startswith("/"):
        return "begins at the root of a server"
    aim = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
    if not aim.is_relative_to(top.resolve()) or not aim.exists():
        return "is not there"
    if aim.is_dir() and path.suffix != ".md":
        return "is a folder, which only a server turns into a page"
    anchor = unquote(parts.fragment)
    if anchor and aim.suffix in (".html", ".md") and anchor not in page_of(aim).anchors:
        return "has no such anchor"
    return None


def static(site: Path) -> list[str]:
    """What is wrong with links and titles, on all pages and in the Markdown files at the root."""
    files = [*pages(site), *sorted(site.rglob("*.css")), *sorted(site.rglob("*.svg"))]
    found = [line for path in files for line in wrong(path, site)]
    found += [
        f"{path.relative_to(site)}: {page_of(path).titles} headings of the first level, not one"
        for path in pages(site)
        if page_of(path).titles != 1
    ]
    return found + [line for path in sorted(ROOT.glob("*.md")) for line in wrong(path, ROOT)]


def in_browser(site: Path, program: str) -> list[str]:
    """What is wrong with pages as Chromium shows them from the file system."""
    trouble: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        context = browser.new_context(viewport=PHONE)
        context.set_default_timeout(PATIENCE)
        context.on("request", lambda one: trouble.extend(elsewhere(one.url)))
        page = context.new_page()
        page.on("pageerror", lambda error: trouble.append(f"{page.url}: {error}"))
        page.on("requestfailed", lambda one: trouble.extend(missing(page.url, one)))
        for path in layouts(site):
            page.goto(path.resolve().as_uri())
            wide = page.evaluate("document.documentElement.scrollWidth")
            if wide > PHONE["width"]:
                name = path.relative_to(site)
                trouble.append(f"{name}: {wide} wide on a phone of {PHONE['width']}")
        browser.close()
    return trouble


def layouts(site: Path) -> list[Path]:
    """All pages; of the sources, which one template lays out, the first and the longest alone."""
    sources = [path for path in pages(site) if SOURCES in path.as_posix()]
    kept = {*sources[:1], *sorted(sources, key=lambda path: path.stat().st_size)[-1:]}
    return [path for path in pages(site) if path not in sources or path in kept]


def missing(url: str, request: Request) -> Iterable[str]:
    """What a page asked for in vain; what was on its way when the page was left is not meant."""
    left = request.failure == "net::ERR_ABORTED"
    return [] if left else [f"{url}: {request.url} is missing"]


def elsewhere(asked: str) -> Iterable[str]:
    """A request that leaves the machine."""
    local = asked.startswith(("file:", "data:", "blob:"))
    return [] if local else [f"a page asks for {asked}"]


def main(folder: str = "docs/_build/html") -> int:
    """Look at everything; 1 if something is wrong."""
    site = Path(folder).resolve()
    if not (site / "index.html").exists():
        sys.exit(f"there is no site in {folder}: run ./scripts/docs")
    trouble = static(site)
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program:
        trouble += in_browser(site, program)
    elif os.environ.get("WEAL_CHROMIUM") == "required":
        trouble.append("no Chromium here: install the Debian package chromium")
    print("\n".join(dict.fromkeys(trouble)) or f"{len(pages(site))} pages, nothing wrong")
    return 1 if trouble else 0


def pages(site: Path) -> list[Path]:
    """All pages; templates of the theme, which lie among its files, are none."""
    return sorted(one for one in site.rglob("*.html") if "_static" not in one.parts)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
