"""Conditions on a row: comparisons of sums, and words, which must all hold.

    Comparison   x1 + 2*x2 <= 1       two sums of terms, a term being a number times names
    Membership   solvent in A, B      also `is A`, `is not A`, `not in A, B`
    Condition    parts joined by `and`

Two numbers are equal up to ROUNDING of the terms that are compared, so that 0.1 + 0.2 <= 0.3 holds
and 0.7 + 0.1 < 0.8 does not. A missing value (None, NaN) satisfies no part. Every class has
`names`, its canonical `text`, and `holds(row)`. Standard library only.
"""

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from weal.text import exact, shorten, some

Cell = float | str | None
Relation = Literal["<", "<=", ">", ">=", "="]
ROUNDING = 1e-9  # share of the terms by which two equal numbers may differ
MAX_SHOWN = 60  # characters of a text that a message shows
MIN_NAME_SIMILARITY = 0.6
KEYWORDS = ("and", "or", "not", "is", "in")
NAME_PATTERN = r"[^\W\d]\w*(?:\.\w+)*"
_FLIPPED: dict[Relation, Relation] = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


@dataclass(frozen=True, slots=True)
class Term:
    """A number, or a number times one or more names."""

    coefficient: float
    names: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The term without its sign, as in 2*x."""
        parts = [quote(name) for name in self.names]
        if abs(self.coefficient) != 1.0 or not parts:
            parts.insert(0, exact(abs(self.coefficient)))
        return "*".join(parts)


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum of terms, no two with the same names; an empty one is 0."""

    terms: tuple[Term, ...]

    @property
    def text(self) -> str:
        """The sum as text, as in x1 + 2*x2 - 1."""
        if not self.terms:
            return "0"
        found = "-" * (self.terms[0].coefficient < 0.0) + self.terms[0].text
        for term in self.terms[1:]:
            found += f" {'-' if term.coefficient < 0.0 else '+'} {term.text}"
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """Every name, in order."""
        return tuple(name for term in self.terms for name in term.names)

    @property
    def constant(self) -> float | None:
        """The value of a sum without names; None if there are names."""
        return None if self.names else sum(t.coefficient for t in self.terms)

    def values(self, row: Mapping[str, Cell]) -> list[float]:
        """The value of each term; NaN if a cell is missing."""
        return [t.coefficient * math.prod(_number(row, n) for n in t.names) for t in self.terms]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sums and the relation of the first to the second."""

    left: Sum
    relation: Relation
    right: Sum

    @property
    def names(self) -> tuple[str, ...]:
        """Every name, in order."""
        return self.left.names + self.right.names

    @property
    def text(self) -> str:
        """The canonical text."""
        return f"{self.left.text} {self.relation} {self.right.text}"

    def flipped(self) -> "Comparison":
        """The same with its sides exchanged."""
        return Comparison(self.right, _FLIPPED[self.relation], self.left)

    def holds(self, row: Mapping[str, Cell]) -> bool:
        """Whether the row satisfies it."""
        left, right = self.left.values(row), self.right.values(row)
        tolerance = ROUNDING * sum(map(abs, left + right))
        return _holds(self.relation, sum(left) - sum(right), tolerance)


@dataclass(frozen=True, slots=True)
class Membership:
    """A name, and words of which its value is one, or is none."""

    name: str
    words: tuple[str, ...]
    negated: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The name."""
        return (self.name,)

    @property
    def text(self) -> str:
        """The canonical text."""
        is_in = ("is", "is not") if len(self.words) == 1 else ("in", "not in")
        return f"{quote(self.name)} {is_in[self.negated]} {', '.join(map(quote, self.words))}"

    def holds(self, row: Mapping[str, Cell]) -> bool:
        """Whether the row satisfies it."""
        cell = _cell(row, self.name)
        if cell is None or cell != cell:
            return False
        return any(_is_word(cell, word) for word in self.words) != self.negated


@dataclass(frozen=True, slots=True)
class Condition:
    """Comparisons and words that must all hold; `parse_condition` makes it from text."""

    parts: tuple[Comparison | Membership, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Every name once, in order."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.names))

    @property
    def text(self) -> str:
        """The canonical text, which `parse_condition` reads as the same condition."""
        return " and ".join(part.text for part in self.parts)

    def holds(self, row: Mapping[str, Cell]) -> bool:
        """Whether a row, a cell for each name, satisfies every part."""
        return all(part.holds(row) for part in self.parts)

    def check_names(self, known: Collection[str], what: str = "the condition") -> None:
        """Raise ValueError, with the near ones, for a name that is not known."""
        for name in self.names:
            if name not in known:
                raise ValueError(
                    f"{shorten(name, MAX_SHOWN)!r} in {what} {shorten(self.text, MAX_SHOWN)!r} is "
                    f"unknown; {self._meant(name, known)}"
                )

    def _meant(self, name: str, known: Collection[str]) -> str:
        from difflib import get_close_matches  # takes time to import

        like = {one.casefold(): one for one in known}
        near = get_close_matches(name.casefold(), like, 3, MIN_NAME_SIMILARITY)
        if near:
            return f"did you mean {' or '.join(quote(like[one]) for one in near)}?"
        for part in self.parts:  # solvent = THF
            if isinstance(part, Comparison) and part.relation == "=" and part.names[-1] == name:
                return f"for a word write '{quote(part.names[0])} is {quote(name)}'"
        return f"write a number or one of {some(map(quote, known), 10)}"


def quote(name: str) -> str:
    """A name or word as a condition is written: in quotes where it is not one plain word.

    >>> quote("x1"), quote("melt temp"), quote("is"), quote("5'-end")
    ('x1', "'melt temp'", "'is'", "'5''-end'")
    """
    plain = re.fullmatch(NAME_PATTERN, name) and name.lower() not in KEYWORDS
    return name if plain else "'" + name.replace("'", "''") + "'"


def _holds(relation: Relation, gap: float, tolerance: float) -> bool:
    """Whether left - right satisfies the relation; False for NaN."""
    if relation == "=":
        return abs(gap) <= tolerance
    gap = gap if relation[0] == "<" else -gap
    return gap <= tolerance if relation[-1] == "=" else gap < -tolerance


def _cell(row: Mapping[str, Cell], name: str) -> Cell:
    if name not in row:
        raise ValueError(f"the row has no value of {name!r}; it has {some(map(quote, row), 10)}")
    return row[name]


def _number(row: Mapping[str, Cell], name: str) -> float:
    cell = _cell(row, name)
    if isinstance(cell, str):
        shown = shorten(cell, MAX_SHOWN)
        raise ValueError(
            f"{name!r} is {shown!r} and no number; for a word write '{quote(name)} is "
            f"{quote(shown)}'"
        )
    return math.nan if cell is None else float(cell)


def _is_word(cell: float | str, word: str) -> bool:
    """Whether a cell is this word; a number is compared as a number."""
    if isinstance(cell, str):
        return cell == word
    if isinstance(cell, bool):
        return str(cell).lower() == word.lower()
    try:
        return float(cell) == float(word)
    except ValueError:
        return False
