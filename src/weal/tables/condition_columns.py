"""Columns of a table for conditions: numbers, or words.

    Numbers   (N,)  NaN if a cell is missing
    Words     (N,)  the number of a cell's word among all words of the column, -1 where missing

`rows_where` gives the rows of a table that satisfy a condition (`weal.conditions`); `levels_of` the
levels of a column, or the combinations of several columns. Two numbers are one level where they are
equal up to ROUNDING. A word that no row has and a comparison of words raise an error with the
correction: a typo would otherwise select no row, or all rows.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from weal.conditions import Comparison, Condition, Membership
from weal.conditions.condition import MAX_SHOWN, MIN_NAME_SIMILARITY, ROUNDING, quote
from weal.tables.columns import as_numbers, level
from weal.tables.design_space import satisfied
from weal.tables.plan_columns import PlanColumn, encode_column
from weal.tables.table import Table
from weal.text import exact, shorten, some

MAX_WORDS_SHOWN = 8  # in a message
Mask = NDArray[np.bool_]
Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """A column of words."""

    codes: Codes  # (N,)  -1: missing
    words: tuple[str, ...]  # in alphabetical order


Column = NDArray[np.float64] | Words


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """The different values of a column, or the combinations of values of several columns."""

    columns: tuple[str, ...]
    names: tuple[str, ...]  # a text for each level, numbers ascending, words by alphabet
    codes: Codes  # (N,)  -1: a cell is missing
    is_ordered: bool  # whether levels are numbers of one column, so neighbours are similar


def column_of(parts: Iterable[Table], name: str, plan: PlanColumn | None = None) -> Column:
    """One column of several tables, concatenated; missing values for a table without it.

    >>> from weal.tables.table import table_of
    >>> column_of([table_of({"T": [80, 90, None]})], "T").tolist()
    [80.0, 90.0, nan]
    >>> column_of([table_of({"solvent": ["THF", "DMF", "THF"]})], "solvent")
    Words(codes=array([1, 0, 1], dtype=int32), words=('DMF', 'THF'))
    """
    tables = list(parts)
    raw = [part.columns.get(name, [None] * len(part)) for part in tables]
    if plan is not None and plan.kind == "number":
        return np.concatenate([np.zeros(0), *(_planned(plan, part) for part in tables)])
    if plan is None or plan.kind == "dropped":
        read = [as_numbers(cells) for cells in raw]
        if not any(bad for _, bad in read):
            return np.concatenate([np.zeros(0), *(x for x, _ in read)])
    same = dict(plan.same) if plan is not None else {}
    return join_words([_coded(cells, same) for cells in raw])


def _planned(plan: PlanColumn, table: Table) -> NDArray[np.float64]:
    """Numbers (N,) as the plan reads them, NaN if a cell is missing."""
    if plan.name not in table.columns:
        return np.full(len(table), np.nan)
    x = encode_column(plan, table, [str(n) for n in range(len(table))])[:, 0] * plan.scale
    missing = [cell is None for cell in table.cells(plan.name)]
    return np.where(missing, np.nan, x)


def _coded(cells: Iterable[object], same: Mapping[str, str]) -> tuple[Codes, list[str]]:
    """The codes of cells as words in the order in which they come."""
    seen: dict[str, int] = {}
    codes = []
    for cell in cells:
        word = "" if cell is None or cell != cell else level(cell)
        word = same.get(word, word)
        codes.append(seen.setdefault(word, len(seen)) if word else -1)
    return np.array(codes, dtype=np.int32), list(seen)


def join_words(parts: Sequence[tuple[Codes, Sequence[str]]]) -> Words:
    """One column of several, each with codes of its own."""
    words = tuple(sorted({word for _, own in parts for word in own}))
    place = {word: n for n, word in enumerate(words)}
    found = [np.zeros(0, np.int32)]
    for codes, own in parts:
        new = np.array([*(place[word] for word in own), -1], dtype=np.int32)
        found.append(new[codes])
    return Words(np.concatenate(found), words)


Lookup = Callable[[str], Column]


def rows_where(condition: Condition, column: Lookup, what: str = "where") -> Mask:  # (N,)
    """Which rows satisfy the condition; ValueError, with the correction, if it makes no sense.

    `column` gives a column by name. Errors call the condition `what`.
    """
    columns = {name: column(name) for name in condition.names}
    found: Mask | None = None
    for part in condition.parts:
        if isinstance(part, Membership):
            mask = _is_member(part, columns[part.name], what)
        else:
            mask = _compare(part, columns, what)
        found = mask if found is None else found & mask
    assert found is not None
    return found


def _compare(part: Comparison, columns: Mapping[str, Column], what: str) -> Mask:
    numbers: dict[str, NDArray[np.float64]] = {}
    for name in part.names:
        one = columns[name]
        if isinstance(one, Words):
            word = quote(one.words[0]) if one.words else "WORD"
            raise ValueError(
                f"{name!r} in {what} {_shown(part.text)} is a column of words, which have no order "
                f"and no sum; write '{quote(name)} is {word}'"
            )
        numbers[name] = one
    with np.errstate(invalid="ignore", over="ignore"):
        return satisfied(Condition((part,)), cast(Mapping[str, Sequence[object]], numbers))


def _is_member(part: Membership, column: Column, what: str) -> Mask:
    if isinstance(column, Words):
        wanted = [_find_word(part, word, column.words, what) for word in part.words]
        there = np.isin(column.codes, wanted)
        return np.asarray((column.codes >= 0) & (there != part.negated))
    values = np.array([_number(part, word, column, what) for word in part.words])
    near = np.abs(column[None] - values[:, None]) <= ROUNDING * np.abs(values[:, None])
    return np.asarray(~np.isnan(column) & (near.any(axis=0) != part.negated))


def _find_word(part: Membership, word: str, words: Sequence[str], what: str) -> int:
    if word in words:
        return words.index(word)
    raise ValueError(
        f"no row has the {part.name} {_shown(word)} that {what} {_shown(part.text)} names; "
        f"write an existing one: {did_you_mean(word, words)}"
    )


def _number(part: Membership, word: str, column: NDArray[np.float64], what: str) -> float:
    try:
        found = float(word)
    except ValueError:
        raise ValueError(
            f"{part.name!r} in {what} {_shown(part.text)} is a column of numbers, and "
            f"{_shown(word)} is none; write a number without its unit, as in '{quote(part.name)} < "
            f"{exact(_example(column))}'"
        ) from None
    if not (np.abs(column - found) <= ROUNDING * abs(found)).any():
        known = np.unique(column[~np.isnan(column)])
        near = known[np.argsort(np.abs(known - found), kind="stable")[:3]]
        there = ", ".join(exact(float(one)) for one in np.sort(near))
        raise ValueError(
            f"no row has the {part.name} {word} that {what} {_shown(part.text)} names; write an "
            f"existing one; the nearest are {there}"
        )
    return found


def _example(column: NDArray[np.float64]) -> float:
    known = column[~np.isnan(column)]
    return float(known[0]) if len(known) else 1.0


def _shown(text: str) -> str:
    return repr(shorten(text, MAX_SHOWN))


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """The similar names among the known ones, or some of these; the end of a message."""
    from difflib import get_close_matches  # takes time to import

    like = {one.casefold(): one for one in known}
    near = get_close_matches(name.casefold(), like, 3, MIN_NAME_SIMILARITY)
    if near:
        return f"did you mean {' or '.join(quote(like[one]) for one in near)}?"
    if not known:
        return "there is none to choose from"
    return f"write one of {some(map(quote, known), MAX_WORDS_SHOWN)}"


def levels_of(names: Sequence[str], column: Lookup) -> Levels:
    """The levels of a column, or the combinations of several that rows have."""
    each = [_levels(name, column(name)) for name in names]
    if len(each) == 1:
        return each[0]
    table = np.stack([one.codes for one in each], axis=1)  # (N, C)
    whole = (table >= 0).all(axis=1)
    combined = np.full(len(table), -1, dtype=np.int32)
    found, inverse = np.unique(table[whole], axis=0, return_inverse=True)
    combined[whole] = inverse.reshape(-1)
    texts = [
        ", ".join(one.names[code] for one, code in zip(each, row, strict=True))
        for row in found.tolist()
    ]
    return Levels(tuple(names), tuple(texts), combined, False)


def _levels(name: str, column: Column) -> Levels:
    if isinstance(column, Words):
        texts = tuple(f"{name} {quote(word)}" for word in column.words)
        return Levels((name,), texts, column.codes, False)
    there = ~np.isnan(column)
    values, inverse = np.unique(column[there], return_inverse=True)
    gaps = np.diff(values) > ROUNDING * np.maximum(np.abs(values[1:]), np.abs(values[:-1]))
    group = np.concatenate([[0], np.cumsum(gaps)]).astype(np.int32)[: len(values)]
    codes = np.full(len(column), -1, dtype=np.int32)
    codes[there] = group[inverse.reshape(-1)]
    firsts = values[np.unique(group, return_index=True)[1]]
    texts = tuple(f"{name} {exact(float(value))}" for value in firsts)
    return Levels((name,), texts, codes, True)
