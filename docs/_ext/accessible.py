"""Repairs of the HTML that Sphinx, MyST-NB and pandas write, for readers with a screen reader.

    an empty header cell of a table     is a data cell: a header without text names nothing
    the summary of code that is folded  has its own text as its name, not "Toggle hidden content"

`scripts/check_accessibility.py` finds pages that need another repair.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

REPAIRS = [
    (re.compile(r"<th\b([^>]*)>\s*(?:<p>\s*</p>)?\s*</th>"), r"<td\1></td>"),
    (re.compile(r'<summary aria-label="Toggle hidden content">'), "<summary>"),
]


def repaired(html: str) -> str:
    """The HTML of a page with all repairs."""
    for pattern, text in REPAIRS:
        html = pattern.sub(text, html)
    return html


def repair_page(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Repair the body of a page before it is put into the theme's frame."""
    if "body" in context:
        context["body"] = repaired(context["body"])


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("html-page-context", repair_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
