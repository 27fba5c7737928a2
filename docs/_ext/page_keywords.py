"""Keywords of pages, for the search of the site and for search engines.

`docs/keywords.toml` lists the keywords of each page. They go into `<meta name="keywords">` of the
page and into `_static/page_keywords.js`, which the search page loads with `search_ranking.js`: that
script ranks pages by keywords and titles before words of their text. (Sphinx's own search indexes
the meta element as words of the text, a phrase as a single word that no query matches.)

A page without keywords, or keywords of a page that does not exist, are a warning. Pages that
are made of code (the names of the package, sources that formulas link to) have their name instead.
"""

import json
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

NAMES = "reference/api/"
SOURCES = "understand/source/"
RESULTS = "results/"
SCRIPTS = ("page_keywords.js", "search_ranking.js")
log = logging.getLogger(__name__)


def keywords_of(app: Sphinx, page: str) -> list[str]:
    """The keywords of a page."""
    if page.startswith(NAMES):
        name = page.removeprefix(NAMES)
        return list(dict.fromkeys([name, name.rpartition(".")[2], "python API"]))
    if page.startswith(SOURCES):
        return [page.removeprefix(SOURCES), "source code"]
    found: dict[str, list[str]] = app.config.page_keywords
    return found.get(page, [])


def check(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn of pages without keywords and of keywords without a page."""
    for page in sorted(env.found_docs):
        if not keywords_of(app, page):
            log.warning("no keywords: add %r to docs/keywords.toml", page, location=page)
    for page in sorted(set(app.config.page_keywords) - set(env.found_docs)):
        if page.startswith(RESULTS):  # left out where its result files are missing
            continue
        log.warning("docs/keywords.toml: there is no page %r", page)


def add_to_page(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Write the meta element; load the scripts of the ranking on the search page."""
    if page == "search":
        for script in SCRIPTS:  # after Sphinx's own, which have no defer, and before the query
            app.add_js_file(script, loading_method="defer")
    words = ", ".join(keywords_of(app, page))
    if words:
        meta = f'<meta name="keywords" content="{escape(words)}" />\n'
        context["metatags"] = context.get("metatags", "") + meta


def write_script(app: Sphinx, exception: Exception | None) -> None:
    """Write the keywords of all pages for the search page."""
    if exception is None and app.builder.format == "html":
        pages = sorted(app.env.found_docs)
        text = json.dumps({page: keywords_of(app, page) for page in pages}, ensure_ascii=True)
        path = Path(app.outdir) / "_static" / SCRIPTS[0]
        path.write_text(f"const pageKeywords = {text};\n", "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.add_config_value("page_keywords", {}, "html", types=(dict,))
    app.connect("env-check-consistency", check)
    app.connect("html-page-context", add_to_page)
    app.connect("build-finished", write_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
