"""Where the paper is cited in the sources: `[1, eq:w_update]`, `[1, alg:1 line 4, data:currin]`.

A citation in a comment stands for the line of code that it is on, or for the next one where the
comment has a line of its own. In the docstring of a function it stands for the statement that the
function consists of, or for the function where there are several; in that of a class, for the
class. In the docstring of a module it only mentions. In a test it says what the test is about.
Data in TOML cites by comments alone.
"""

import ast
import io
import re
import tokenize
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
ITEMS = ROOT / "docs" / "understand" / "paper.toml"
SOURCES, TESTS = ("src/weal", "benchmarks"), ("tests",)
CITATION = re.compile(r"\[1,\s*((?:eq|alg|data|metric|set|claim):[^\]]*)\]")
WIDEST = 110  # characters of a line of code that are shown


@dataclass(frozen=True, slots=True)
class Item:
    """Something that the paper has."""

    kind: str  # equations, algorithms, data, metrics, setting, claims
    label: str
    place: str  # in the paper
    says: str


@dataclass(frozen=True, slots=True)
class Citation:
    """A label, and where it is cited."""

    label: str
    file: str  # from the root of the project
    line: int
    code: str  # its text; "" where the paper is only mentioned
    function: str  # that it is in; "" for none
    exact: bool  # whether it cites this line, not a whole function or class


def items(path: Path = ITEMS) -> list[Item]:
    """All that the paper has, in its order."""
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    return [Item(kind, label, *words) for kind in found for label, words in found[kind].items()]


def citations(folders: tuple[str, ...], root: Path = ROOT) -> list[Citation]:
    """Every citation in the Python and TOML files of these folders, by file and line."""
    files = sorted(
        file
        for folder in folders
        for ending in ("*.py", "*.toml")
        for file in (root / folder).rglob(ending)
    )
    return [c for file in files for c in in_file(file, str(file.relative_to(root)))]


def in_file(path: Path, name: str) -> list[Citation]:
    """The citations in one file, by line."""
    text = path.read_text(encoding="utf-8")
    if not CITATION.search(text):
        return []
    lines = text.splitlines()
    if path.suffix == ".toml":
        comments = [(n, line.partition(" # ")[2]) for n, line in enumerate(lines, 1)]
        return [
            Citation(label, name, n, _shown(lines, n), "", True)
            for n, comment in comments
            for label in labels(comment)
        ]
    tree = ast.parse(text)
    found = [*_in_comments(text, lines), *_in_docstrings(tree)]
    return [
        Citation(label, name, line, _shown(lines, line), _function(tree, near), exact)
        for label, line, near, exact in sorted(found, key=lambda one: one[2])
    ]


def labels(text: str) -> list[str]:
    """The labels that a comment or docstring cites.

    >>> labels("eps, as in [1, eq:error_k, alg:2 line 9]; x[1, 0]")
    ['eq:error_k', 'alg:2 line 9']
    """
    return [" ".join(one.split()) for found in CITATION.findall(text) for one in found.split(",")]


Found = tuple[str, int, int, bool]  # label, line meant (0: none), line of the citation, exact


def _in_comments(text: str, lines: list[str]) -> Iterator[Found]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            line = token.start[0]
            meant = _next_code(lines, line) if token.line.lstrip().startswith("#") else line
            yield from ((label, meant, line, True) for label in labels(token.string))


def _next_code(lines: list[str], line: int) -> int:
    """The number of the first line of code after a line."""
    while line < len(lines) and (not lines[line].strip() or lines[line].lstrip()[0] == "#"):
        line += 1
    return line + 1


def _in_docstrings(tree: ast.Module) -> Iterator[Found]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            continue
        for label in labels(ast.get_docstring(node, clean=False) or ""):
            yield label, _meant(node), node.body[0].lineno, _alone(node)


def _meant(node: ast.Module | ast.ClassDef | ast.FunctionDef) -> int:
    if isinstance(node, ast.Module):
        return 0
    return node.body[1].lineno if _alone(node) else node.lineno


def _alone(node: ast.AST) -> bool:
    """Whether a function is one statement and its docstring."""
    return isinstance(node, ast.FunctionDef) and len(node.body) == 2


def _function(tree: ast.Module, line: int) -> str:
    """The innermost function that a line is in, or the outermost test."""
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    tests = [node.name for node in around if node.name.startswith("test_")]
    return (tests or [node.name for node in around[-1:]] or [""])[0]


def _shown(lines: list[str], line: int) -> str:
    """A line of code without its comment."""
    code = re.sub(r"\s+#\s.*$", "", lines[line - 1]).strip() if line else ""
    return code if len(code) <= WIDEST else code[: WIDEST - 1] + "…"


def computed(label: str, found: list[Citation]) -> list[Citation]:
    """Where an item is computed: very lines before whole functions."""
    there = [c for c in found if c.label == label and c.code]
    return [c for c in there if c.exact] or there


def checks_of(label: str, found: list[Citation]) -> list[Citation]:
    """The tests that cite an item, each once."""
    there = {(c.file, c.function): c for c in reversed(found) if c.label == label}
    return [c for c in reversed(there.values()) if c.function.startswith("test_")]
