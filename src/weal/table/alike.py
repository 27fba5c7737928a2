"""Levels of a category that are perhaps one: written in another case, or a typo of another.

    'Alkyd' and 'alkyd', 'grade  A' and 'grade a'     the same but for case and blanks
    'acrylc' and 'acrylic'                            a letter wrong, missing, too many or two
                                                      swapped, in a word that came only now and then

Digits never count as typos (S235 and S355 are two steels), nor do letters of short words. It is a
question, not a repair: ethanol and methanol may both be meant.
"""

from collections import Counter

from weal.table.cells import short
from weal.table.columns import level
from weal.table.plan import Plan
from weal.table.reading import Table

SHORTEST = 5  # letters of a word that may have a typo
RARE = 5.0  # times as often comes the word that is right
MOST = 200  # levels that are compared


def alike_levels(plan: Plan, table: Table) -> list[str]:
    """A sentence for each two levels of a category that may be one.

    >>> from weal.table.plan import make_plan
    >>> from weal.table.reading import table_of
    >>> table = table_of({"id": list("abcdefgh"), "binder": ["alkyd"] * 6 + ["Alkyd", "alkdy"]})
    >>> for words in alike_levels(make_plan(table, id_column="id"), table):
    ...     print(words)
    binder: 'Alkyd' (1 row) and 'alkyd' (6 rows) are taken for two levels: are they one?
    binder: 'alkdy' (1 row) and 'alkyd' (6 rows) are taken for two levels: are they one?
    """
    found = []
    for column in plan.columns:
        if column.kind == "category":
            cells = table.cells(column.name)
            found += _of_column(column.name, Counter(level(c) for c in cells if c is not None))
    return found


def _of_column(name: str, counts: Counter[str]) -> list[str]:
    if len(counts) > MOST:
        return []
    often = sorted(counts, key=lambda one: (-counts[one], one))
    said = []
    for n, rare in enumerate(often):
        like = [one for one in often[:n] if _alike(rare, one, counts)]
        if like:
            two = " and ".join(f"{short(one)} ({_rows(counts[one])})" for one in (rare, like[0]))
            said.append(f"{name}: {two} are taken for two levels: are they one?")
    return said


def _alike(rare: str, other: str, counts: Counter[str]) -> bool:
    a, b = (one.casefold().split() for one in (rare, other))
    if a == b:
        return True
    x, y = _differing(a, b)
    long = min(len(x), len(y)) >= SHORTEST
    return long and counts[other] >= RARE * counts[rare] and _one_slip(x, y)


def _differing(a: list[str], b: list[str]) -> tuple[str, str]:
    """The word in which two levels differ; all of them, where there is not just one."""
    differ = [(x, y) for x, y in zip(a, b, strict=False) if x != y]
    return differ[0] if len(a) == len(b) and len(differ) == 1 else (" ".join(a), " ".join(b))


def _one_slip(a: str, b: str) -> bool:
    """Whether one letter is wrong, missing or too many, or two beside each other are swapped."""
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
