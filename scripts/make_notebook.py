"""Write the notebook of the first tutorial, from its page, into docs/learn/notebooks.

python scripts/make_notebook.py          (a test says when the committed one is older than the page)

Text and code stay as they are. A shell session (`%%console`) becomes lines with `!`; links to other
pages become their words, since there are no other pages beside a notebook that was downloaded.
"""

import json
import re
from pathlib import Path
from typing import Any

LEARN = Path(__file__).parents[1] / "docs" / "learn"
PAGE = LEARN / "first-campaign.md"
NOTEBOOK = LEARN / "notebooks" / "first-campaign.ipynb"
_CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(?::tags:[^\n]*\n)?(.*?)^```\n", re.M | re.S)
_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)]+\)")


def notebook_text() -> str:
    """The notebook, as it is written to its file."""
    page = PAGE.read_text("utf-8").split("---\n", 2)[2]
    pieces = _CELL.split(page)  # text, code, text, code, ..., text
    cells = []
    for n, piece in enumerate(pieces):
        cells += [_code(piece)] if n % 2 else _text(piece)
    for n, cell in enumerate(cells):
        cell["id"] = f"cell-{n:02d}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    made = {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(made, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _text(piece: str) -> list[dict[str, Any]]:
    kept = [part for part in piece.strip().split("\n\n") if "{download}" not in part]
    text = _LINK.sub(r"\1", "\n\n".join(kept))
    return [{"cell_type": "markdown", "metadata": {}, "source": _lines(text)}] if text else []


def _code(piece: str) -> dict[str, Any]:
    code = piece.strip()
    if code.startswith("%%console\n"):
        code = _commands(code.removeprefix("%%console\n"))
    source = _lines(code)
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": source,
    }


def _commands(session: str) -> str:
    """The commands of a shell session, as a notebook runs them."""
    lines = [line for line in session.splitlines() if not line.startswith("# exit ")]
    return "\n".join(re.sub(r"^\$ ", "!", line) for line in lines)


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    NOTEBOOK.parent.mkdir(exist_ok=True)
    NOTEBOOK.write_text(notebook_text(), "utf-8")
    print(NOTEBOOK)
