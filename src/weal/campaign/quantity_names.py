"""Quantities as people name them: `yield=82.1`, by the name of the quantity or of its column.

    yield=82.1            the name, or the name of its column: 'yield [%]=82.1'
    Yield=82.1            in another case, if only one quantity matches
    'a=b=82.1'            the name ends at the last = before which there is a known one

A campaign with one quantity needs no name. Standard library only: `weal tell` starts no numerics.
"""

from collections.abc import Iterable, Mapping

from weal.quantities.kinds import WORKED, name_and_unit
from weal.quantities.protocol import Quantity
from weal.tables.result_lines import read_failure
from weal.text import shorten

MIN_NAME_SIMILARITY = 0.6  # of two names by difflib, from which one is suggested
RESERVED = (WORKED, "failed")  # names that no quantity can have


def find_named(quantities: Mapping[str, Quantity], given: object) -> Quantity:
    """The quantity with this name; ValueError lists the existing ones.

    >>> from weal.quantities.number import Number
    >>> there = {"yield": Number("yield", "%", "yield [%]"), "purity": Number("purity")}
    >>> find_named(there, " Yield [%]").name
    'yield'
    >>> find_named(there, "yeild")
    Traceback (most recent call last):
    ValueError: there is no quantity 'yeild'; did you mean yield? There are yield and purity
    """
    text = str(given).strip()
    found = _matching(quantities, text)
    if len(found) == 1:
        return found[0]
    if found:
        names = [one.column or one.name for one in found]
        raise ValueError(f"{text!r} could be {_listed(names, 'or')}; name the column")
    raise ValueError(f"there is no quantity {_short(text)}{_near(quantities, text)}")


def split_assignment(quantities: Mapping[str, Quantity], text: str) -> tuple[Quantity, str]:
    """The quantity and the value of `name=value`.

    Without a name the value is of the only quantity; ValueError if there are several.
    """
    ends = [n for n, letter in enumerate(text) if letter == "="]
    for end in reversed(ends):
        if len(found := _matching(quantities, text[:end].strip())) == 1:
            return found[0], text[end + 1 :]
    if ends:
        return find_named(quantities, text[: ends[-1]]), text[ends[-1] + 1 :]
    if len(quantities) == 1:
        return next(iter(quantities.values())), text
    example = " ".join(f"{_quoted(name)}=..." for name in quantities)
    raise ValueError(
        f"{_short(text)} has no name, and several quantities are measured: write {example}"
    )


def check_names(columns: Iterable[str | None], names: Iterable[str]) -> None:
    """ValueError for a target that occurs twice, or whose name has a meaning of its own."""
    seen: set[str | None] = set()
    for column in columns:
        if column in seen:
            raise ValueError(f"the target {column!r} is named twice; name each column once")
        seen.add(column)
    if wrong := [name for name in names if name.strip().casefold() in RESERVED]:
        raise ValueError(
            f"a quantity cannot be named {wrong[0]!r}, under which runs that fail are kept; rename "
            "the column, or leave it out and tell such runs as `weal tell NAME ID failed`"
        )


def label_text(quantity: Quantity, label: float) -> str:
    """A label as it is typed: the number in full, or the word."""
    return quantity.format(label) if quantity.words else str(label)


def describe_quantity(quantity: Quantity) -> str:
    """A quantity and its kind in words, for a list.

    >>> from weal.quantities.pass_fail import PassFail
    >>> describe_quantity(PassFail("crystallised"))
    'crystallised: pass/fail (yes or no)'
    """
    name, words = shorten(quantity.column or quantity.name, 60), quantity.words
    if not words:
        return f"{name}: number"
    kind = {"pass_fail": "pass/fail", "grades": "ordered grades"}.get(quantity.kind, quantity.kind)
    shown = words[::-1] if quantity.kind == "pass_fail" else words
    return f"{name}: {kind} ({_listed([*shown], 'or')})"


def read_failure_of(
    quantity: Quantity, text: str, *, is_named: bool = False
) -> tuple[str | None, str | None]:
    """As `read_failure`, for a quantity whose own words come first: `Na`, `failed`.

    With `is_named`, the quantity was named with the text, so every word that it reads is a label:
    crystallised=failed.

    >>> from weal.quantities.pass_fail import PassFail
    >>> read_failure_of(PassFail("crystallised"), "failed - no crystals")
    ('failed', 'no crystals')
    >>> read_failure_of(PassFail("test", passes=("ok",), fails=("failed",)), "Failed")
    (None, None)
    """
    typed = text.strip()
    if typed.casefold() in [word.casefold() for word in quantity.words]:
        return None, None
    if is_named and quantity.words and _is_read(quantity, typed):
        return None, None
    return read_failure(typed, None)


def _is_read(quantity: Quantity, typed: str) -> bool:
    try:
        quantity.read(typed)
    except ValueError:
        return False
    return True


def assignment(quantities: Mapping[str, object], quantity: str, value: str) -> str:
    """The argument of `weal tell` that gives a quantity this value."""
    return value if len(quantities) == 1 else f"{quantity}={value}"


def _matching(quantities: Mapping[str, Quantity], text: str) -> list[Quantity]:
    """The quantities of this name or column: as typed, else in any case, else without a unit."""
    every = list(quantities.values())
    exact = [one for one in every if text in (one.name, one.column)]
    if exact:
        return exact
    small = text.casefold()
    alike = [one for one in every if small in (one.name.casefold(), (one.column or "").casefold())]
    return alike or [one for one in every if small == name_and_unit(one.column)[0].casefold()]


def _near(quantities: Mapping[str, Quantity], text: str) -> str:
    from difflib import get_close_matches  # takes time to import

    small = {name.casefold(): name for name in quantities}
    like = get_close_matches(text.casefold(), small, 1, MIN_NAME_SIMILARITY)
    hint = f"; did you mean {small[like[0]]}?" if like else ";"
    there = _listed(list(quantities), "and")
    return f"{hint} There {'is' if len(quantities) == 1 else 'are'} {there}"


def _listed(names: list[str], last: str) -> str:
    shown = [shorten(one, 40) for one in names[:10]]
    return f" {last} ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def _short(text: str) -> str:
    return repr(shorten(text, 60))


def _quoted(name: str) -> str:
    from shlex import quote

    return quote(name)
