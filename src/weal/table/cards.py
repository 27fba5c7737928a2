"""A few facts as HTML, for notebooks: a title, and a name and a value on each line; all escaped."""

from collections.abc import Mapping
from html import escape

_CELL = 'style="text-align:left;padding:1px 12px 1px 0;vertical-align:top"'


def card(title: str, facts: Mapping[str, object]) -> str:
    """The facts as a small table.

    >>> card("a < b", {"labels": 3})[:27]
    '<div><b>a &lt; b</b><table>'
    """
    rows = "".join(
        f"<tr><th {_CELL}>{escape(name)}</th><td {_CELL}>{escape(str(value))}</td></tr>"
        for name, value in facts.items()
    )
    return f"<div><b>{escape(title)}</b><table>{rows}</table></div>"


def lines(words: list[str]) -> str:
    """Lines as they are, in letters of one width."""
    return f"<pre>{escape(chr(10).join(words))}</pre>"
