"""Levels of a category that may be the same: a question, and the option that joins them.

    'Alkyd' and 'alkyd', 'grade  A' and 'grade a'     they differ in case and blanks only
    'T.H.F.' and 'THF', 'n-BuOH' and 'nBuOH'          or in marks between letters
    'acrylc' and 'acrylic'                            one letter is wrong, missing or too many, or
                                                      two are swapped, in a rare word

Digits never count as typos (S235 and S355 are two steels), and neither do letters of short words.
Nothing is changed automatically: ethanol and methanol can both be correct.
"""

import re
from collections import Counter
from dataclasses import dataclass

from weal.tables.cells import short
from weal.tables.columns import level
from weal.tables.plan import TablePlan
from weal.tables.table import Table
from weal.tables.table_error import Remedy

MIN_WORD_LETTERS = 5  # of a word that may have a typo
MIN_FREQUENCY_RATIO = 5.0  # of the right spelling to the typo
MAX_LEVELS_COMPARED = 200


@dataclass(frozen=True, slots=True)
class SimilarLevels:
    """Two levels of a category that may be the same."""

    column: str
    rare: str
    usual: str
    rows: tuple[int, int]  # with each of them

    @property
    def question(self) -> str:
        """The question whether they are the same."""
        two = zip((self.rare, self.usual), self.rows, strict=True)
        shown = " and ".join(f"{short(one)} ({_rows(n)})" for one, n in two)
        return f"{self.column}: {shown} are two levels: are they the same?"

    @property
    def remedy(self) -> Remedy:
        """The option that joins them."""
        return Remedy("same", f"{self.column}:{self.rare}={self.usual}", "makes them one")


def similar_levels(plan: TablePlan, table: Table) -> list[SimilarLevels]:
    """Each pair of levels that may be the same.

    >>> from weal.tables.table import table_of
    >>> table = table_of({"id": list("abcdefgh"), "binder": ["alkyd"] * 6 + ["Alkyd", "alkdy"]})
    >>> from weal.tables.plan import make_plan
    >>> for pair in similar_levels(make_plan(table, id_column="id"), table):
    ...     print(pair.question)
    binder: 'Alkyd' (1 row) and 'alkyd' (6 rows) are two levels: are they the same?
    binder: 'alkdy' (1 row) and 'alkyd' (6 rows) are two levels: are they the same?
    """
    found = []
    for column in plan.columns:
        if column.kind == "category":
            same = dict(column.same)
            cells = (level(cell) for cell in table.cells(column.name) if cell is not None)
            found += _similar_in_column(column.name, Counter(same.get(c, c) for c in cells))
    return found


def _similar_in_column(name: str, counts: Counter[str]) -> list[SimilarLevels]:
    if len(counts) > MAX_LEVELS_COMPARED:
        return []
    often = sorted(counts, key=lambda one: (-counts[one], one))
    found = []
    for n, rare in enumerate(often):
        like = [one for one in often[:n] if _is_similar(rare, one, counts)]
        if like:
            found.append(SimilarLevels(name, rare, like[0], (counts[rare], counts[like[0]])))
    return found


def _is_similar(rare: str, other: str, counts: Counter[str]) -> bool:
    a, b = (one.casefold().split() for one in (rare, other))
    if a == b or _letters(rare) == _letters(other) != "":
        return True
    x, y = _different_words(a, b)
    long = min(len(x), len(y)) >= MIN_WORD_LETTERS
    return long and counts[other] >= MIN_FREQUENCY_RATIO * counts[rare] and _is_typo(x, y)


def _letters(text: str) -> str:
    """The text in lower case without blanks and marks, except those beside a digit.

    >>> _letters("T.H.F. "), _letters("grade 1.5")
    ('thf', 'grade 1.5')
    """
    return re.sub(r"(?<!\d)[\s.,;:'_-]+(?!\d)", "", text.casefold())


def _different_words(a: list[str], b: list[str]) -> tuple[str, str]:
    """The one word in which two levels differ, otherwise all words."""
    differ = [(x, y) for x, y in zip(a, b, strict=False) if x != y]
    return differ[0] if len(a) == len(b) and len(differ) == 1 else (" ".join(a), " ".join(b))


def _is_typo(a: str, b: str) -> bool:
    """Whether one letter is wrong, missing or too many, or two neighbours are swapped."""
    if abs(len(a) - len(b)) > 1:
        return False
    start = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), None)
    start = min(len(a), len(b)) if start is None else start
    end = 0
    while end < min(len(a), len(b)) - start and a[-1 - end] == b[-1 - end]:
        end += 1
    one, other = a[start : len(a) - end], b[start : len(b) - end]
    letters = not any(map(str.isdigit, one + other))
    return letters and (max(len(one), len(other)) == 1 or (len(one) == 2 and one == other[::-1]))


def _rows(n: int) -> str:
    return "1 row" if n == 1 else f"{n:,} rows"
