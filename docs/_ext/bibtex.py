"""The directive `bibtex`: how to cite weal, made from CITATION.cff while the site is built.

```{bibtex}            entries for weal and for the paper whose method it implements
```{cite-sentence}     the same in words
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

CITATION = Path(__file__).parents[2] / "CITATION.cff"


def entries(citation: Mapping[str, Any]) -> Iterator[str]:
    """The entries of BibTeX."""
    [paper] = citation["references"]
    yield entry(
        "software", "weal",
        title=citation["title"],
        author="{" + citation["authors"][0]["name"] + "}",
        version=citation["version"],
        year=citation["date-released"].year,
    )  # fmt: skip
    yield entry(
        "article", "polyzos2022",
        title=paper["title"],
        author=" and\n    ".join(
            f"{one['family-names']}, {one['given-names']}" for one in paper["authors"]
        ),
        journal=paper["identifiers"][0]["value"],
        year=paper["year"],
    )  # fmt: skip


def entry(kind: str, key: str, **fields: object) -> str:
    """One entry."""
    lines = [f"  {name} = {{{value}}}" for name, value in fields.items()]
    return "\n".join([f"@{kind}{{{key},", ",\n".join(lines), "}"])


def sentence(citation: Mapping[str, Any]) -> str:
    """A sentence for a list of references."""
    [paper] = citation["references"]
    names = [f"{one['given-names']} {one['family-names']}" for one in paper["authors"]]
    return (
        f"{citation['authors'][0]['name']}: {citation['title']}, version {citation['version']}, "
        f"{citation['date-released'].year}. It implements {', '.join(names)}: {paper['title']}, "
        f"{paper['identifiers'][0]['value']}, {paper['year']}."
    )


def citation_file() -> Mapping[str, Any]:
    """What CITATION.cff says."""
    found: Mapping[str, Any] = yaml.safe_load(CITATION.read_text("utf-8"))
    return found


class BibTeX(Directive):
    """The entries as code."""

    def run(self) -> list[nodes.Node]:
        """Insert them."""
        self.state.document.settings.env.note_dependency(str(CITATION))
        text = "\n\n".join(entries(citation_file()))
        return [nodes.literal_block(text, text, language="bibtex")]


class CiteSentence(Directive):
    """The citation in words."""

    def run(self) -> list[nodes.Node]:
        """Insert it."""
        self.state.document.settings.env.note_dependency(str(CITATION))
        return [nodes.block_quote("", nodes.paragraph(text=sentence(citation_file())))]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("bibtex", BibTeX)
    app.add_directive("cite-sentence", CiteSentence)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
