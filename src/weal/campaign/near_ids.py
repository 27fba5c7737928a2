"""Which id somebody may have meant: another case, other zeros, other signs, or a letter wrong."""

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher, get_close_matches
from shlex import quote

from weal.errors import UnknownId

LOOKED_AT = 20_000  # ids among which a letter that is wrong is looked for: it takes long
CLOSE, CLEAR = 0.75, 0.1  # likeness, as difflib has it, and by how much more than the next
MOST_DIGITS = 10
_LAST = re.compile(r"(.*?)([-_ ]?)([0-9]+)([^0-9]*)", re.DOTALL)
_PART = re.compile(r"[0-9]+|[^\W\d_]+")


def meant(names: Sequence[str], ids: Iterable[str]) -> dict[str, str]:
    """For each of these names, the one id that is like it; none where there are several.

    >>> meant(["P-740", "p 0739", "P-07401", "Q"], ["P-0739", "P-0740"])
    {'P-740': 'P-0740', 'p 0739': 'P-0739', 'P-07401': 'P-0740'}
    """
    there = list(ids)
    alike: dict[tuple[str, ...], list[str]] = {}
    for one in there:
        alike.setdefault(_plain(one), []).append(one)
    found = {}
    for name in names:
        same = alike.get(_plain(name), [])
        if not same and len(there) <= LOOKED_AT:
            same = _closest(name, there)
        if len(same) == 1:
            found[name] = same[0]
    return found


def explained(
    campaign: str, error: UnknownId, known: Callable[[Sequence[str]], set[str]]
) -> UnknownId:
    """The error on ids that are not there, with those that may be meant and what to do."""
    unknown = error.args[1][:5] if len(error.args) > 1 else []
    found = meant(unknown, sorted(known([way for name in unknown for way in spellings(name)])))
    if found:
        of = {name: f" for {name!r}" if len(unknown) > 1 else "" for name in found}
        hints = ", ".join(f"{one!r}{of[name]}" for name, one in found.items())
        return UnknownId(f"{error}; did you mean {hints}?")
    dashes = "-- " if campaign.startswith("-") else ""
    return UnknownId(
        f"{error}; `weal export --what candidates {dashes}{quote(campaign)}` lists them, and "
        f"`weal add {dashes}{quote(campaign)} FILE` brings new ones"
    )


def spellings(name: str) -> list[str]:
    """Other ways to write an id: by case, by zeros before its last number, by the sign before it.

    >>> "P-0740" in spellings("p 740"), "P0740" in spellings("P-740"), "740" in spellings("00740")
    (True, True, True)
    """
    found = _LAST.fullmatch(name.strip())
    heads, tails = [name.strip()], [""]
    if found:
        letters, digits, rest = found[1], found[3].lstrip("0") or "0", found[4]
        heads = [letters + sign for sign in (found[2], "-", "_", " ", "")]
        tails = [digits.zfill(width) + rest for width in range(len(digits), MOST_DIGITS)]
    every = [head + tail for head in heads for tail in tails]
    return list(dict.fromkeys(way(one) for one in every for way in (str, str.upper, str.lower)))


def _closest(name: str, there: Sequence[str]) -> list[str]:
    """The id that is much like it, where no other is nearly as much."""
    best = get_close_matches(name, there, 2, CLOSE)
    alike = [SequenceMatcher(None, one, name).ratio() for one in best]
    return best[:1] if len(best) < 2 or alike[0] > alike[1] + CLEAR else []


def _plain(name: str) -> tuple[str, ...]:
    """Letters and numbers of an id, without case, signs and leading zeros."""
    return tuple(part.lstrip("0") or "0" for part in _PART.findall(name.casefold()))
