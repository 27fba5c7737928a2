"""The blocks of a self-contained HTML page: nothing is fetched, every text is escaped.

A block is `Html`; any other text that goes into one is escaped on the way. Pictures are inside the
page as data. Wide tables and pictures scroll sideways on a phone and shrink in print.
"""

import base64
from collections.abc import Iterable, Sequence
from html import escape

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; color: #1a1a1a;
  background: #fff; max-width: 64rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.6rem; line-height: 1.2; } h2 { font-size: 1.25rem; margin-top: 2.5rem;
  border-bottom: 2px solid #1a1a1a; } h3 { font-size: 1rem; margin: 1.5rem 0 .4rem; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .2rem 0; }
th, td { border-bottom: 1px solid #ccc; padding: .2rem .6rem; text-align: right;
  vertical-align: top; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: #fff; }
thead th { border-bottom: 1.5px solid #1a1a1a; vertical-align: bottom; }
td small { display: block; color: #555; }
.words td, .words th { text-align: left; white-space: normal; position: static; }
.tasks td:last-child, .tasks th:last-child { text-align: left; white-space: normal; }
.claims td:nth-child(2) { width: 25%; } .claims td:nth-child(4) { width: 60%; }
.wide { overflow-x: auto; margin: .5rem 0 1rem; }
.side { display: flex; flex-wrap: wrap; gap: 0 2rem; align-items: flex-start; }
.side .wide { max-width: 100%; }
figure { margin: 1rem 0; } figcaption, .note { color: #444; font-size: .85rem; }
td .note { font-size: inherit; }
.verdict { font-weight: 700; white-space: nowrap; }
.holds { color: #00563f; } .not { color: #9c2a00; } .partly { color: #6a4a00; }
code { font-size: .9em; overflow-wrap: anywhere; } ul { padding-left: 1.2rem; margin: .3rem 0; }
@media (max-width: 44rem) { .stack thead { display: none; } .stack tr { display: block;
  border-bottom: 2px solid #1a1a1a; padding: .5rem 0; } .stack td { display: block; border: 0;
  padding: .1rem 0; } .claims td:nth-child(n) { width: auto; } .tasks td:last-child {
  min-width: 16rem; } }
@media print { body { max-width: none; padding: 0; font-size: 10pt; } .wide { overflow: visible; }
  .wide img { min-width: 0 !important; } table { font-size: 7.5pt; }
  th, td { padding: .1rem .3rem; }
  figure, tr, table { break-inside: avoid; } .claims, .claims tr { break-inside: auto; }
  h2, h3, caption { break-after: avoid; } .side { display: block; } }
"""


class Html(str):
    """A piece of HTML, which is put into a page as it is."""

    __slots__ = ()


def html(part: str) -> Html:
    """The part itself when it is HTML, escaped when it is text.

    >>> html("a < b"), html(Html("<b>a</b>"))
    ('a &lt; b', '<b>a</b>')
    """
    return part if isinstance(part, Html) else Html(escape(part))


def tag(name: str, *parts: str, kind: str = "") -> Html:
    """An element around its parts.

    >>> tag("p", "1 < 2 ", tag("b", "true"), kind="note")
    '<p class="note">1 &lt; 2 <b>true</b></p>'
    """
    shape = f' class="{escape(kind)}"' if kind else ""
    return Html(f"<{name}{shape}>{''.join(map(html, parts))}</{name}>")


def items(texts: Iterable[str], kind: str = "") -> Html:
    """A list with dots; nothing when there is nothing in it."""
    found = [tag("li", text) for text in texts]
    return tag("ul", *found, kind=kind) if found else Html()


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "", kind: str = ""
) -> Html:
    """A table that scrolls sideways where it is too wide."""
    head = tag("thead", tag("tr", *(tag("th", cell) for cell in header)))
    body = tag("tbody", *(tag("tr", *(tag("td", cell) for cell in row)) for row in rows))
    title = tag("caption", caption) if caption else ""
    return tag("div", tag("table", title, head, body, kind=kind), kind="wide")


def picture(svg: bytes, caption: str, share: float = 1.0) -> Html:
    """A picture inside the page that takes a share of its width."""
    size = f"width: {share:.0%}; min-width: {46 * share:.0f}rem"
    data = base64.b64encode(svg).decode()
    image = Html(
        f'<img alt="{escape(caption)}" style="{size}" src="data:image/svg+xml;base64,{data}">'
    )
    return tag("figure", tag("div", image, kind="wide"), tag("figcaption", caption))


def fold(title: str, *parts: str) -> Html:
    """Parts that show when the title is clicked."""
    return tag("details", tag("summary", title), *parts)


def page(title: str, *parts: str) -> str:
    """The whole document."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n<body>"
        + "\n".join(map(html, parts))
        + "</body></html>\n"
    )
