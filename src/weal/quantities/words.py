"""Words as labels: what pass/fail, classes and grades share.

A label of words is the code of its word: its position among the words of the quantity. Values come
typed (text), from a table (text, numbers, booleans) or from Python (also numpy): each becomes
text first (`as_word`), and the text is looked up.

    as typed              exactly as one of the words, blanks around it aside
    in any case           otherwise, where only one of the words is the same in small letters: `Low`
                          is low, while Co and CO are two classes
    3, 3.0 and "3"        the word 3: scores are often written as numbers

A number is not a code: with the grades 1, 2, 3 the label 1 is the first grade, not the second.
"""

import math
from collections.abc import Sequence
from numbers import Real
from shlex import quote
from typing import Protocol

from weal.tables.cells import short
from weal.text import shorten

MAX_WORDS = 50  # words of a quantity: each class has a model of its own
AXIS_LETTERS = 36  # of a name on an axis
_MAX_WORDS_SHOWN = 8
_LARGEST_NUMBER = 1e15  # as a word: beyond, its digits are not kept


def as_word(value: object) -> str | None:
    """A value as the word that a person would type; None for what is not a word.

    >>> [as_word(value) for value in (" Yes ", True, 3.0, 0.7, None, float("nan"), [1])]
    ['Yes', 'true', '3', '0.7', None, None, None]
    """
    if hasattr(value, "item") and not getattr(value, "ndim", 0):
        value = value.item()  # a value of numpy
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value.strip() or None
    found = as_float(value)
    return f"{found:.15g}" if abs(found) < _LARGEST_NUMBER else None  # None for NaN too


def as_float(value: object) -> float:
    """A real number as a float; NaN for other values, booleans and overflow."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


def find_word(word: str, words: Sequence[str]) -> int | None:
    """The position of a word: as typed, or in any case where that is one word; None: not there.

    >>> find_word("Low", ["low", "high"]), find_word("co", ["Co", "CO"])
    (0, None)
    """
    if word in words:
        return words.index(word)
    alike = [n for n, one in enumerate(words) if one.casefold() == word.casefold()]
    return alike[0] if len(alike) == 1 else None


def check_words(name: str, words: Sequence[str], option: str) -> None:
    """ValueError unless there are at least two words, all different, none blank."""
    if not name.strip():
        raise ValueError("a quantity has no name; give it the name of a column")
    if not all(isinstance(word, str) and word.strip() == word != "" for word in words):
        raise ValueError(f"a word of {name} is blank, or no text; write {option}")
    if len(set(words)) < max(2, len(words)):
        raise ValueError(
            f"{name} has the words {list_words(words) or 'none'}; it needs at least two different "
            f"words, each once: write {option}"
        )
    if len(words) > MAX_WORDS:
        raise ValueError(
            f"{name} has {len(words)} different words, and {MAX_WORDS} are the most; join the rare "
            f"ones, or write the common ones with {option}"
        )


def list_words(words: Sequence[str], last: str = "and") -> str:
    """Words in a sentence; the first ones where there are many.

    >>> list_words(["low", "medium", "high"], "or")
    'low, medium or high'
    """
    shown = [shorten(word, 30) for word in words[:_MAX_WORDS_SHOWN]]
    if len(words) > len(shown):
        return f"{', '.join(shown)}, ... ({len(words)} in all)"
    return f" {last} ".join(part for part in (", ".join(shown[:-1]), *shown[-1:]) if part)


def as_shown(value: object) -> str:
    """A value in a message: quoted and shortened; `empty` for blank text."""
    is_blank = value is None or (isinstance(value, str) and not value.strip())
    return (
        "empty (skip the row to leave it without a label)"
        if is_blank
        else short(value)
        if isinstance(value, str)
        else f"{value!r:.60}"
    )


def label_field(row: object, column: str | None) -> str:
    """The subject of a message: the label of a row, or the field of the quantity (None)."""
    return column or "the value" if row is None else f"the label of {row}"


def option_text(column: str | None, name: str, declared: str) -> str:
    """The option that declares a quantity.

    >>> option_text("grade", "grade", "ordered:low,medium,high")
    "--type 'grade=ordered:low,medium,high'"
    """
    return f"--type '{shorten(column or name, 60)}={shorten(declared, 200)}'"


class _Levels(Protocol):
    """A quantity with levels, as the messages of `read_level` need it."""

    @property
    def name(self) -> str: ...

    @property
    def column(self) -> str | None: ...

    @property
    def levels(self) -> tuple[str, ...]: ...


def read_level(given: object, row: str | None, quantity: _Levels, noun: str, tag: str) -> float:
    """The code of a level that a person typed; ValueError has the option that declares it."""
    word, levels = as_word(given), quantity.levels
    code = None if word is None else find_word(word, levels)
    if code is not None:
        return float(code)
    new = f",{word}" if word and "," not in word else ",..."
    option = option_text(quantity.column, quantity.name, f"{tag}:{','.join(levels)}{new}")
    raise ValueError(
        f"{label_field(row, quantity.column)} is {as_shown(given)}, which is not a {noun} of "
        f"{shorten(quantity.name, 60)}; write {list_words(levels, 'or')}, or declare the {noun}: "
        f"{option}; in a campaign that has begun: `weal settings NAME --add-word "
        f"{quote(f'{shorten(quantity.name, 60)}={word or as_shown(given)}')}`"
    )


def refuse_noise(name: str, row: str) -> float:
    """ValueError: a word has no standard deviation."""
    raise ValueError(
        f"the noise of {row} cannot be told: the labels of {name} are words; leave the noise out"
    )


def axis_of_words(column: str | None, part: str, unit: str) -> str:
    """The text of an axis; `part` is "measured" or "expected", or empty, the unit in words.

    >>> axis_of_words("crystallised", "expected", "P(yes)")
    'expected crystallised, P(yes)'
    """
    name = f"{part} {shorten(column, AXIS_LETTERS) if column else 'label'}".strip()
    return name if part == "measured" else f"{name}, {shorten(unit, AXIS_LETTERS)}"
