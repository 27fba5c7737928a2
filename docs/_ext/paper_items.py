"""The directive {paper-items}: items of the paper, the lines that compute them, and their tests.

    ```{paper-items} equations
    ```

is a table of one kind of item (`understand/paper.toml`), made of the citations in the sources and
tests (`citations`). Files that are cited get a page each, with an anchor at every line.
"""

from collections.abc import Iterator
from typing import Any

from citations import ROOT, SOURCES, TESTS, Citation, Item, checks_of, citations, computed, items
from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer, TOMLLexer
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

FOLDER = "understand/source"  # of the pages of cited files
HEADS = ("in the paper", "computed by", "tested by")


class PaperItems(SphinxDirective):
    """A table of the items of one kind."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        self.env.note_reread()  # sources change without this page
        wanted = [item for item in items() if item.kind == self.arguments[0]]
        if not wanted:
            raise self.error(f"paper.toml has no items of the kind {self.arguments[0]!r}")
        return [_table(wanted, citations(SOURCES), citations(TESTS))]


def _table(wanted: list[Item], sources: list[Citation], tests: list[Citation]) -> nodes.table:
    group = nodes.tgroup("", *(nodes.colspec(colwidth=1) for _ in HEADS), cols=len(HEADS))
    group += nodes.thead("", _row([[nodes.paragraph("", head)] for head in HEADS]))
    rows = [
        _row(
            [
                _named(item),
                [_line(c) for c in computed(item.label, sources)],
                [_test(c) for c in checks_of(item.label, tests)],
            ]
        )
        for item in wanted
    ]
    group += nodes.tbody("", *rows)
    return nodes.table("", group, classes=["paper-items"])


def _row(cells: list[list[nodes.Node]]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", *cell) for cell in cells))


def _named(item: Item) -> list[nodes.Node]:
    place = nodes.strong("", item.place)
    label = nodes.paragraph("", "", nodes.literal("", item.label), classes=["label"])
    return [nodes.paragraph("", "", place, nodes.Text(f" {item.says}")), label]


def _line(c: Citation) -> nodes.paragraph:
    name = c.file.removeprefix("src/weal/")
    return nodes.paragraph("", "", _link(c, f"{name}:{c.line}"), nodes.literal("", c.code))


def _test(c: Citation) -> nodes.paragraph:
    """A test by its sentence."""
    return nodes.paragraph("", "", _link(c, c.function.removeprefix("test_").replace("_", " ")))


def _link(c: Citation, text: str) -> nodes.reference:
    place = f"source/{c.file}.html#line-{c.line}"
    return nodes.reference("", text, refuri=place, internal=True, reftitle=c.file)


def source_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """A page for each file that is cited."""
    if app.builder.format != "html":
        return
    form = HtmlFormatter(lineanchors="line", linenos="inline", wrapcode=True)
    for file in sorted({c.file for c in [*citations(SOURCES), *citations(TESTS)]}):
        lexer = TOMLLexer() if file.endswith(".toml") else PythonLexer()
        code = highlight((ROOT / file).read_text(encoding="utf-8"), lexer, form)
        body = f'<h1>{file}</h1><div class="highlight-python notranslate weal-source">{code}</div>'
        yield f"{FOLDER}/{file}", {"title": file, "body": body}, "page.html"


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx calls this."""
    app.add_directive("paper-items", PaperItems)
    app.connect("html-collect-pages", source_pages)
    app.add_css_file("paper-items.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
