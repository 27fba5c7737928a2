"""One number typed by a person, or an error that names the field and says what to write.

Taken: 312.5, " 3.1e2 ", .5, -4, and the typographic minus. Refused, rather than guessed at: blank,
n/a, nan, inf, 1e400 (too large for a float), decimal commas and thousands separators, units,
hexadecimal, 1_000, and whole numbers that a float would round: above 2^53 = 9007199254740992 it
holds every second one at the most.
"""

import math
import re

from weal.table.cells import MINUS, WHOLE, short

MOST_DIGITS = 400  # digits: a float has 309
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+(?:[eE][+-]?[0-9]+)?")
_THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?")
_BASE = re.compile(r"[+-]?0[xXbBoO].*")
_WRITTEN = _NUMBER.replace(r"\.", "[.,]")
_UNIT = re.compile(_WRITTEN + r"(?:\s+\S*[^\W\d_].*|\s*[^\W\d_].*|\s*[%°‰].*)", re.DOTALL)


def number(text: object, field: str) -> float:
    """The finite number that was typed into the field; ValueError where there is none.

    >>> number(" 3.1e2 ", "hardness")
    310.0
    >>> number("12,5", "hardness")
    Traceback (most recent call last):
    ValueError: hardness is '12,5'; write it with a decimal point: 12.5
    """
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise ValueError(f"{field} is {text!r}; write a number, such as 312.5")
    if isinstance(text, int) and abs(text) >= 10**MOST_DIGITS:
        raise ValueError(f"{field} is too large; check its unit")
    written = str(text).strip().replace(MINUS, "-")
    if not re.fullmatch(_NUMBER, written):
        raise ValueError(f"{field} is {_said(text)}; {_advice(written)}")
    value = float(written)
    if not math.isfinite(value):
        raise ValueError(f"{field} is {_said(text)}, which is too large; check its unit")
    if _is_rounded(written, value):
        raise ValueError(
            f"{field} is {_said(text)}, which has more digits than can be kept: it would become "
            f"{short(int(value))}; round it ({value!r}), or write it in a larger unit"
        )
    return value


def _is_rounded(written: str, value: float) -> bool:
    """Whether a whole number, written with all its digits, is another one as a float."""
    whole, _, rest = written.partition(".")
    if abs(value) < WHOLE or rest.strip("0") or not whole.lstrip("+-").isdigit():
        return False
    return int(whole) != int(value)


def _said(text: object) -> str:
    return "empty" if isinstance(text, str) and not text.strip() else short(text)


def _advice(written: str) -> str:
    if _THOUSANDS.fullmatch(written) and ("." in written or written.count(",") > 1):
        return f"write it without thousands separators: {written.replace(',', '')}"
    if _THOUSANDS.fullmatch(written):
        point, plain = written.replace(",", "."), written.replace(",", "")
        return f"write {point} or {plain}, whichever is meant"
    if _COMMA.fullmatch(written):
        return f"write it with a decimal point: {written.replace(',', '.')}"
    if _UNIT.fullmatch(written) and not _BASE.fullmatch(written):
        return "write the number alone, without a unit"
    return "write a finite number, such as 312.5; leave out what was not measured"
