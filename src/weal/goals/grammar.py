"""The texts of goals and stop conditions; `weal.conditions` reads the latter.

    goal    learn | maximise | minimise | best 10 | lowest 10 | above 7.5 | below 3 |
            between 40 and 60
    until   error < 6 | labels = 80 | best > 90 | best < 3

Words may be written in capitals and with several spaces. A number has a decimal point; a decimal
comma is refused, since 1,250 may be two numbers or one.
"""

import difflib
import math
import re
from collections.abc import Callable, Sequence
from numbers import Real
from typing import cast

from weal.conditions import Comparison, parse_condition
from weal.goals.best import Best, Maximise, Minimise
from weal.goals.learn import Learn
from weal.goals.protocol import Goal
from weal.goals.threshold import Above, Below, Between
from weal.goals.until import LARGEST, Relation, Until, Watched, until_error

MAX_TEXT = 200  # characters
GOAL_EXAMPLES = (
    "learn, maximise, minimise, 'best 10', 'lowest 10', 'above 7.5', 'below 3' or "
    "'between 40 and 60'"
)
UNTIL_EXAMPLES = "'error < 6', 'labels = 80', 'best > 90' or 'best < 3'"
_TOKEN = re.compile(
    r"\s*(?:(?P<number>[+-]?(?:\d[\d.,]*|[.,]\d+)(?:[eE][+-]?\d+)?)(?![^\W\d_])"
    r"|(?P<word>[^\W\d_]+)|(?P<sign><=|>=|==|[<>=])|(?P<other>\S))"
)
_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+")
_SIGNS: dict[str, Relation] = {"<": "<", "<=": "<", "=": "=", ">": ">", ">=": ">"}
_WATCHED: dict[str, Watched] = {
    "error": "error", "labels": "labels", "label": "labels", "best": "best"
}  # fmt: skip


def parse_goal(given: object) -> Goal:
    """The goal of a text, or a goal itself; ValueError, with the way out, for anything else.

    >>> parse_goal("Maximize"), parse_goal("above 7.5"), parse_goal("top 3")
    (Maximise(), Above(7.5), Best(3))
    """
    if not isinstance(given, str):
        if hasattr(given, "set_text"):
            return cast(Goal, given)
        raise ValueError(f"goal is {given!r}; it is a text: {GOAL_EXAMPLES}")
    word, rest = _first_word(given, "goal", GOAL_EXAMPLES)
    make = _GOALS.get(word)
    if make is None:
        raise ValueError(_unknown("goal", given, word, list(_GOALS), GOAL_EXAMPLES))
    return make(given, rest)


def parse_until(given: object) -> Until | None:
    """The stop condition of a text, or itself; None for None, an empty text and "never".

    >>> parse_until("Error <= 6").text, parse_until("never")
    ('error < 6', None)
    """
    if given is None or isinstance(given, Until):
        return given
    if not isinstance(given, str):
        raise ValueError(f"until is {given!r}; it is a text: {UNTIL_EXAMPLES}")
    if given.strip().lower() in ("", "never"):
        return None
    _check_length(given, "until", UNTIL_EXAMPLES)
    found = parse_condition(given.lower(), _WATCHED, "until", UNTIL_EXAMPLES)
    part = found.parts[0]
    if len(found.parts) > 1 or not isinstance(part, Comparison):
        raise ValueError(f"until is {given!r}; write one of {UNTIL_EXAMPLES}")
    part = part.flipped() if part.right.names else part
    watched, value, relation = part.left.text, part.right.constant, _SIGNS[part.relation]
    if watched not in _WATCHED or value is None:
        raise ValueError(f"until is {given!r}; write one of {UNTIL_EXAMPLES}")
    if _WATCHED[watched] == "labels" and relation == ">":
        relation = "="
    return Until(_WATCHED[watched], relation, value)


def goal_and_until(goal: object, until: object) -> tuple[Goal | None, Until | None]:
    """Both, where a number in place of a goal is an error at which to stop, as in 0.2.

    >>> found = goal_and_until(6.0, None)
    >>> found[0].text, found[1].text
    ('learn', 'error < 6')
    """
    error = error_of(goal)
    if error is None:
        return None if goal is None else parse_goal(goal), parse_until(until)
    if until is not None:
        raise ValueError(
            f"goal is {goal!r}, an error at which to stop, and until is {until!r}: give the error "
            "with until alone, as in 'error < 6'"
        )
    return Learn(), until_error(error)


def error_of(goal: object) -> float | None:
    """The error that a number in place of a goal means, also as text; None: it is no number."""
    text = isinstance(goal, str) and bool(_PLAIN.fullmatch(goal.strip()))
    if not text and (isinstance(goal, bool) or not isinstance(goal, Real)):
        return None
    try:
        error = float(cast(float, goal))
    except OverflowError:
        error = math.inf
    if not 0.0 < error <= LARGEST:
        shown = "too large" if math.isfinite(error) or not isinstance(goal, float) else repr(goal)
        shown = repr(goal) if error != error or error <= 0.0 else shown
        raise ValueError(f"goal is {shown}; it needs an error above 0, in units of the label")
    return error


def _first_word(given: str, what: str, examples: str) -> tuple[str, list[str]]:
    """The first word, in small letters, and the other parts of a text."""
    _check_length(given, what, examples)
    found = [match.group().strip() for match in _TOKEN.finditer(given)]
    if not found:
        raise ValueError(f"{what} is empty; write {examples}")
    return found[0].lower(), [part.lower() for part in found[1:]]


def _check_length(given: str, what: str, examples: str) -> None:
    if len(given) > MAX_TEXT:
        raise ValueError(f"{what} has more than {MAX_TEXT} characters; write {examples}")


def _unknown(what: str, given: str, word: str, words: Sequence[str], examples: str) -> str:
    if what == "goal" and word in _WATCHED and any(sign in given for sign in "<=>"):
        return f"goal is {given!r}, a condition to stop: give it as --until, or until="
    near = difflib.get_close_matches(word, words, 1)
    meant = f"; did you mean {near[0]}?" if near else f"; it is {examples}"
    return f"unknown {what} {given!r}{meant}"


def _number(part: str, what: str, given: str) -> float:
    """A finite number with a decimal point."""
    if "," in part and any(letter.isdigit() for letter in part):
        point, plain = part.replace(",", ".", 1), part.replace(",", "")
        either = f"{point} or {plain}, whichever is meant" if _THOUSANDS.fullmatch(part) else point
        raise ValueError(f"{what} is {given!r}; write the number with a point: {either}")
    if not _PLAIN.fullmatch(part) or not math.isfinite(float(part)):
        raise ValueError(f"{what} is {given!r}; {part!r} is no number such as 7.5")
    return float(part)


def _alone(make: Callable[[], Goal]) -> Callable[[str, Sequence[str]], Goal]:
    """A goal of one word."""

    def read(given: str, rest: Sequence[str]) -> Goal:
        _no_more(given, rest)
        return make()

    return read


def _best(lowest: bool) -> Callable[[str, Sequence[str]], Goal]:
    def read(given: str, rest: Sequence[str]) -> Goal:
        if not rest:
            return Best(lowest=lowest)
        _no_more(given, rest[1:])
        k = _number(rest[0], "goal", given)
        return Best(int(k) if k == int(k) else k, lowest=lowest)  # type: ignore[arg-type]

    return read


def _level(word: str, make: Callable[[float], Goal]) -> Callable[[str, Sequence[str]], Goal]:
    def read(given: str, rest: Sequence[str]) -> Goal:
        if not rest:
            raise ValueError(
                f"goal is {given!r}, without a level; write {word} 7.5, a number in units of the "
                "label"
            )
        _no_more(given, rest[1:])
        return make(_number(rest[0], "goal", given))

    return read


def _between(given: str, rest: Sequence[str]) -> Goal:
    if len(rest) < 3 or rest[1] != "and":
        raise ValueError(f"goal is {given!r}; write two levels, as in 'between 40 and 60'")
    _no_more(given, rest[3:])
    return Between(_number(rest[0], "goal", given), _number(rest[2], "goal", given))


def _no_more(given: str, rest: Sequence[str]) -> None:
    """Raise ValueError for parts behind a whole goal."""
    if rest:
        behind = " ".join(rest)
        raise ValueError(
            f"goal is {given!r}; leave out {behind!r} (a level is a number in units of the label, "
            "without the unit)"
        )


_GOALS: dict[str, Callable[[str, Sequence[str]], Goal]] = {
    "learn": _alone(Learn),
    **dict.fromkeys(("maximise", "maximize", "max"), _alone(Maximise)),
    **dict.fromkeys(("minimise", "minimize", "min"), _alone(Minimise)),
    **dict.fromkeys(("best", "highest", "top"), _best(lowest=False)),
    "lowest": _best(lowest=True),
    **dict.fromkeys(("above", "over", ">", ">="), _level("above", Above)),
    **dict.fromkeys(("below", "under", "<", "<="), _level("below", Below)),
    "between": _between,
}
