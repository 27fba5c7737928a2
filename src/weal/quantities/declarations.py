"""Quantities from `--type` texts, and from the values of a column.

    number                    a number
    pass   flag               passes or fails: yes no, true false, 1 0, pass fail, ok failed
    pass:ja,nein              the same in other words, that of a pass first
    ordered:low,medium,high   grades, the lowest first
    classes:fcc,bcc,hcp       classes without an order
    classes   category        classes, those among the values of the column

Without a declaration the values decide (`guess_quantity`)

    words of pass/fail        pass/fail, where not all are 0 or 1
    no values, or a number    a number, also where all are 0 or 1: counts start like that, and
    among them                `pass` declares it pass/fail. Its messages say what is no number.
    words that repeat         classes: at most half as many as values, none a word of pass/fail
    other text                refused, with the options
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from weal.quantities.classes import Classes
from weal.quantities.grades import Grades
from weal.quantities.kinds import name_and_unit, quantity_of_column
from weal.quantities.pass_fail import FAIL_WORDS, PASS_WORDS, PassFail
from weal.quantities.protocol import Quantity
from weal.quantities.words import MAX_WORDS, as_word, list_words, option_text
from weal.tables.cells import MISSING_MARKERS, has_decimal_comma, read_number
from weal.text import shorten

TYPE_TEXTS = "number, pass, pass:ja,nein, ordered:low,medium,high, classes:a,b,c, category"


def declared_quantity(column: str | None, declared: str, values: Iterable[object] = ()) -> Quantity:
    """The quantity of a column that a `--type` text declares; the values are those known so far.

    >>> declared_quantity("crystallised", "pass:ja,nein").words
    ('nein', 'ja')
    >>> declared_quantity("phase", "category", ["fcc", "bcc", "fcc"]).words
    ('bcc', 'fcc')
    """
    tag, colon, rest = (part.strip() for part in declared.partition(":"))
    name = name_and_unit(column)[0]
    words = tuple(word.strip() for word in rest.split(",")) if colon else ()
    match tag.casefold():
        case "number" if not words:
            return quantity_of_column(column)
        case "pass" | "flag" if not words:
            return PassFail(name, column, *_shown_words(_words(values)))
        case "pass" | "flag" if len(words) == 2:
            return PassFail(name, column, words[:1], words[1:])
        case "ordered" if words:
            return Grades(name, column, words)
        case "classes" | "category":
            return Classes(name, column, words or _levels(name, column, _words(values)))
    raise ValueError(f"{shorten(name, 60)} is declared {declared!r:.60}; write one of {TYPE_TEXTS}")


def declaration(quantity: Quantity) -> str:
    """The `--type` text of a quantity, which `declared_quantity` reads.

    >>> declaration(declared_quantity("crystallised", "pass:ja,nein"))
    'pass:ja,nein'
    """
    tags = {"pass_fail": "pass", "grades": "ordered", "classes": "classes"}
    words = reversed(quantity.words) if quantity.is_binary else quantity.words
    return f"{tags[quantity.kind]}:{','.join(words)}" if quantity.words else "number"


def guess_quantity(column: str | None, values: Iterable[object]) -> Quantity:
    """The quantity of a column, by its values; ValueError if they are neither of all kinds.

    >>> guess_quantity("crystallised", ["Yes", "no", None]).kind, guess_quantity("n", [0, 1]).kind
    ('pass_fail', 'number')
    """
    words = _words(values)
    odd = [word for word in words if word.casefold() not in (*PASS_WORDS, *FAIL_WORDS)]
    numbers = [word for word in words if read_number(word) is not None or has_decimal_comma(word)]
    name = name_and_unit(column)[0]
    if not odd and len(numbers) < len(words):
        return PassFail(name, column, *_shown_words(words))
    if numbers or not words:
        return quantity_of_column(column)
    if len(odd) == len(words) and 2 * len(set(words)) <= len(words):
        return Classes(name, column, _levels(name, column, words))
    raise ValueError(_no_kind(name, column, words, odd))


def _no_kind(name: str, column: str | None, words: Sequence[str], odd: Sequence[str]) -> str:
    """Why values have no kind, and the options."""
    rare = [word for word, _ in reversed(Counter(odd).most_common())]
    some = list_words(list(dict.fromkeys(rare))[:3])
    options = [option_text(column, name, text) for text in ("pass:ja,nein", "category")]
    return (
        f"the values of {shorten(name, 60)} are neither all numbers, nor pass or fail, nor words "
        f"that repeat (such as {some}); correct them, or write {' or '.join(options)}"
    )


def _words(values: Iterable[object]) -> list[str]:
    """The values that are not missing, as words."""
    words = (as_word(value) for value in values)
    return [word for word in words if word is not None and word not in MISSING_MARKERS]


def _levels(name: str, column: str | None, words: Sequence[str]) -> tuple[str, ...]:
    """The classes among the words, in the order of the alphabet."""
    levels = tuple(sorted(set(words)))
    if 2 <= len(levels) <= MAX_WORDS:
        return levels
    raise ValueError(
        f"{shorten(name, 60)} has {len(levels)} different values so far, and classes are 2 to "
        f"{MAX_WORDS}; name them: {option_text(column, name, 'classes:a,b,c')}"
    )


def _shown_words(words: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of pass and fail as this column writes them; empty for yes, no and numbers."""
    used = [word for word, _ in Counter(words).most_common()]
    passes = [word for word in used if word.casefold() in PASS_WORDS]
    fails = [word for word in used if word.casefold() in FAIL_WORDS]
    if not passes and not fails:
        return (), ()
    first = passes[0] if passes else _opposite(fails[0], FAIL_WORDS, PASS_WORDS)
    second = fails[0] if fails else _opposite(passes[0], PASS_WORDS, FAIL_WORDS)
    return ((), ()) if first in ("yes", "1") else ((first,), (second,))


def _opposite(word: str, words: Sequence[str], others: Sequence[str]) -> str:
    return others[words.index(word.casefold())]
