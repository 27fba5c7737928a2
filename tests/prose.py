"""Prose of the project: pages, templates, and the docstrings, comments and messages of programs.

    .md            text without code cells, diffs, inline code and front matter
    .py            comments, and strings with a space in them (docstrings, messages, text of pages)
    .html, .js     everything outside tags and template expressions; comments and strings
    other          scripts of the shell: comments, and lines that print

Every piece is one line of text, with the number of the line that it begins on.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

Piece = tuple[int, str]

_FENCE = re.compile(r"^( *)(`{3,})(?!\{(?:note|tip|warning)).*?^\1\2 *$", re.M | re.S)
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.S)
_INLINE_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.S)
_LINK_TARGET = re.compile(r"\]\([^)\s]*\)")
_JINJA = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|\{#|#\}", re.S)
_TAG = re.compile(r"<[^<>]*>", re.S)
_MARKUP = re.compile(r"[*_|]+")


def pieces(path: Path) -> Iterator[Piece]:
    """The prose of a file, piece by piece."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from _python(text)
    elif path.suffix == ".md":
        yield from _paragraphs(_without_code(text))
    elif path.suffix == ".html":
        yield from _paragraphs(_TAG.sub(" ", _JINJA.sub("X", text)))
    else:
        yield from _paragraphs(text)


def one_line(text: str) -> str:
    """Text on one line, without marks of emphasis and of comments."""
    return " ".join(_MARKUP.sub("", re.sub(r"(?m)^\s*(?:#+|//|[-*>])\s", "", text)).split())


def _without_code(text: str) -> str:
    for pattern in (_FRONT_MATTER, _FENCE, _LINK_TARGET, _INLINE_CODE):
        text = pattern.sub(_blank, text)
    return text


def _blank(match: re.Match[str]) -> str:
    return "X" + "\n" * match.group().count("\n")


def _paragraphs(text: str) -> Iterator[Piece]:
    """Paragraphs, items of lists and rows of tables."""
    for match in re.finditer(r"(?:(?!^\s*(?:[-*|]|\d+\.)\s).)+|.+?$", text, re.M | re.S):
        line = text.count("\n", 0, match.start()) + 1
        for paragraph in re.split(r"\n\s*\n", match.group()):
            yield line, one_line(paragraph)
            line += paragraph.count("\n") + 2


def _python(text: str) -> Iterator[Piece]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.JoinedStr):
            parts = [getattr(one, "value", None) for one in node.values]
            yield node.lineno, one_line("".join(p if isinstance(p, str) else "X" for p in parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            for paragraph in re.split(r"\n\s*\n", _INLINE_CODE.sub("X", node.value)):
                yield node.lineno, one_line(paragraph)
    yield from _comments(text)


def _comments(text: str) -> Iterator[Piece]:
    """Comments; those on consecutive lines are one piece."""
    start, last, words = 0, -1, ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT:
            continue
        if token.start[0] != last + 1:
            yield start, one_line(words)
            start, words = token.start[0], ""
        last, words = token.start[0], f"{words}\n{token.string}"
    yield start, one_line(words)
