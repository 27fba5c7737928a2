"""The texts of goals and stop conditions; `weal.conditions` reads conditions.

    goal        objective ["and" objective] ["subject to" condition]
                | learn ["weights" name=number ...]
    objective   maximise | minimise | best 10 | lowest 10 | above 7.5 | below 3 |
                between 40 and 60, and behind it the name of the quantity where there are several
    condition   purity >= 95 and crystallised is yes
    until       error < 6 | labels = 80 | best > 90 | best < 3

Words may be written in capitals and with several spaces; names match exactly, and stand in quotes
where they have blanks or signs. A number has a decimal point; a decimal comma is refused, since
1,250 may be two numbers or one.
"""

import difflib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import cast

from weal.conditions import Comparison, parse_condition
from weal.conditions.condition import NAME_PATTERN, quote
from weal.goals.best import Best, Maximise, Minimise
from weal.goals.feasible import Feasible
from weal.goals.learn import Learn
from weal.goals.pareto import Pareto
from weal.goals.protocol import Goal
from weal.goals.requirements import Requirement, read_requirements
from weal.goals.threshold import Above, Below, Between, Threshold
from weal.goals.until import LARGEST, Relation, Until, Watched, until_error
from weal.text import exact, shorten

MAX_TEXT, MAX_UNTIL = 2000, 200  # characters
MAX_SHOWN = 200  # characters of a text that a message shows
GOAL_EXAMPLES = (
    "learn, maximise, minimise, 'best 10', 'lowest 10', 'above 7.5', 'below 3' or "
    "'between 40 and 60'; of several quantities 'maximise yield'"
)
UNTIL_EXAMPLES = "'error < 6', 'labels = 80', 'best > 90' or 'best < 3'"
_TOKEN = re.compile(
    r"\s*(?:(?P<number>[+-]?(?:\d[\d.,]*|[.,]\d+)(?:[eE][+-]?\d+)?)(?![^\W\d_])"
    rf"|(?P<word>{NAME_PATTERN})|(?P<quoted>'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\")"
    r"|(?P<sign><=|>=|==|[<>=])|(?P<other>\S))"
)
_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+")
_SIGNS: dict[str, Relation] = {"<": "<", "<=": "<", "=": "=", ">": ">", ">=": ">"}
_WATCHED: dict[str, Watched] = {
    "error": "error", "labels": "labels", "label": "labels", "best": "best"
}  # fmt: skip


def parse_goal(given: object) -> Goal:
    """The goal of a text, or a goal itself; ValueError, with the way out, for anything else.

    >>> parse_goal("Maximize"), parse_goal("above 7.5 purity"), parse_goal("top 3")
    (Maximise(), Above(7.5, 'purity'), Best(3))
    >>> parse_goal("maximise yield and minimise 'total cost' subject to purity >= 95").text
    "maximise yield and minimise 'total cost' subject to purity >= 95"
    """
    if not isinstance(given, str):
        if hasattr(given, "set_text"):
            return cast(Goal, given)
        raise ValueError(f"goal is {given!r}; it is a text: {GOAL_EXAMPLES}")
    _check_length(given, "goal", GOAL_EXAMPLES)
    tokens, conditions = _Tokens.of(given)
    found = [_read_goal(tokens)]
    while tokens.take("and"):
        found.append(_read_goal(tokens))
    tokens.end()
    return _joined(found, read_requirements([conditions]) if conditions is not None else ())


def combine_goals(
    goals: object, subject_to: object = None, weights: Mapping[str, float] | None = None
) -> Goal | None:
    """The goal of one text or several, with constraints and weights; None if nothing is given.

    Constraints are added to those of the text, and weights to those of learn.

    >>> combine_goals(["maximise yield", "minimise cost"], "purity >= 95").text
    'maximise yield and minimise cost subject to purity >= 95'
    >>> combine_goals(None, weights={"purity": 2}).text
    'learn weights purity=2'
    """
    several = list(goals) if isinstance(goals, list | tuple) else [] if goals is None else [goals]
    given = [subject_to] if isinstance(subject_to, str) else subject_to or ()
    texts = list(cast(Sequence[str], given))
    if not several and not texts and not weights:
        return None
    parsed = [parse_goal(one) for one in several] or [Learn()]
    under = read_requirements([*(one for goal in parsed for one in _conditions_of(goal)), *texts])
    found = _joined([part for goal in parsed for part in _objectives_of(goal)], under)
    if not weights:
        return found
    if not isinstance(found, Learn):
        raise ValueError(
            f"the goal is {found.text!r}, and weights are for the goal learn: leave them out"
        )
    known = dict(found.weights)
    return Learn(tuple({**known, **{k: _weight(k, w) for k, w in weights.items()}}.items()))


def revise_goal(
    goal: Goal, subject_to: Sequence[str] | None, weights: Mapping[str, float] | None
) -> Goal:
    """The goal with other constraints or weights; None keeps the present ones, empty removes them.

    >>> revise_goal(parse_goal("maximise yield subject to purity >= 95"), ["cost < 3"], None).text
    'maximise yield subject to cost < 3'
    """
    under = _conditions_of(goal) if subject_to is None else subject_to
    known = dict(goal.weights) if isinstance(goal, Learn) and weights is None else weights
    objectives = [Learn()] if isinstance(goal, Learn) else _objectives_of(goal)
    found = combine_goals(objectives, under, known)
    assert found is not None
    return found


def _weight(name: str, weight: object) -> float:
    if isinstance(weight, bool) or not isinstance(weight, Real):
        raise ValueError(f"the weight of {name} is {weight!r}; it needs a number, as in 'purity=2'")
    return float(weight)


def read_weight(text: str) -> tuple[str, float]:
    """The name and the weight of a text such as purity=2; the name may be in quotes.

    >>> read_weight("'a = b'=0.5")
    ('a = b', 0.5)
    """
    name, sign, weight = text.rpartition("=")
    name = name.strip()
    if not sign or not name:
        raise ValueError(f"weight is {text!r}; write a name and a number, as in purity=2")
    if len(name) > 1 and name[0] == name[-1] and name[0] in "'\"":
        name = name[1:-1].replace(name[0] * 2, name[0])
    return name, _number(weight.strip(), "weight", text)


def _objectives_of(goal: Goal) -> list[Goal]:
    """The goals of one quantity that a goal consists of."""
    if isinstance(goal, Pareto):
        return list(goal.objectives)
    return [goal.objective] if isinstance(goal, Feasible) else [goal]


def _conditions_of(goal: Goal) -> list[str]:
    """The constraints of a goal as texts."""
    return [one.text for one in goal.requirements] if isinstance(goal, Feasible | Pareto) else []


def _joined(goals: Sequence[Goal], under: tuple[Requirement, ...]) -> Goal:
    """One goal of one or two objectives and constraints."""
    if len(goals) > 2:
        raise ValueError(
            f"there are {len(goals)} objectives, and weal searches for one or two: make the others "
            "constraints, as in --subject-to 'cost < 20'"
        )
    if len(goals) == 2:
        first, second = goals
        if isinstance(first, Best) and isinstance(second, Best):
            return Pareto((first, second), under)
        level = next((one for one in goals if isinstance(one, Threshold)), None)
        if level is not None and level.quantity:
            sign = {"above": ">", "below": "<"}.get(level.kind)
            bound = f"{quote(level.quantity)} {sign} {exact(level.levels[0])}"
            if sign is None:
                bound = f"{exact(level.low)} < {quote(level.quantity)} < {exact(level.high)}"
            raise ValueError(
                f"the goals are {first.text!r} and {second.text!r}; two objectives are maximised "
                f'or minimised: write the level as a constraint, --subject-to "{bound}"'
            )
        raise ValueError(
            f"the goals are {first.text!r} and {second.text!r}; two objectives are maximised or "
            "minimised: leave one of them out"
        )
    if not under:
        return goals[0]
    if not isinstance(goals[0], Best | Threshold):
        raise ValueError(
            f"the goal is {goals[0].text!r}, which has no constraints; leave out subject-to, or "
            "write a goal of rows, as in --goal 'maximise yield'"
        )
    return Feasible(goals[0], under)


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
    _check_length(given, "until", UNTIL_EXAMPLES, MAX_UNTIL)
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
    """Both, where a number instead of a goal is an error at which to stop, as in 0.2.

    >>> found = goal_and_until(6.0, None)
    >>> found[0].text, found[1].text
    ('learn', 'error < 6')
    """
    error = error_of(goal)
    if error is None:
        return combine_goals(goal), parse_until(until)
    if until is not None:
        raise ValueError(
            f"goal is {goal!r}, an error at which to stop, and until is {until!r}: give the error "
            "with until alone, as in 'error < 6'"
        )
    return Learn(), until_error(error)


def error_of(goal: object) -> float | None:
    """The error that a number instead of a goal means, also as text; None if it is not a number."""
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


def _check_length(given: str, what: str, examples: str, most: int = MAX_TEXT) -> None:
    if len(given) > most:
        raise ValueError(f"{what} has more than {most} characters; write {examples}")


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
        either = f"{point} or {plain}, whichever you mean" if _THOUSANDS.fullmatch(part) else point
        raise ValueError(f"{what} is {given!r}; write the number with a point: {either}")
    if not _PLAIN.fullmatch(part) or not math.isfinite(float(part)):
        raise ValueError(f"{what} is {given!r}; {part!r} is no number such as 7.5")
    return float(part)


class _Tokens:
    """The parts of the text of a goal, and the position of the next one."""

    def __init__(self, given: str, parts: Sequence[tuple[str, str]]) -> None:
        self.given, self.parts, self.at = given.strip(), parts, 0
        if len(given) > MAX_SHOWN:
            self.given = shorten(given, MAX_SHOWN)

    @classmethod
    def of(cls, given: str) -> "tuple[_Tokens, str | None]":
        """The parts, and the condition behind "subject to", or None."""
        matches = list(_TOKEN.finditer(given))
        parts = [(str(m.lastgroup), m.group().strip()) for m in matches]
        for n in range(len(parts) - 1):
            pair = [(kind, text.lower()) for kind, text in parts[n : n + 2]]
            if pair == [("word", "subject"), ("word", "to")]:
                return cls(given, parts[:n]), given[matches[n + 1].end() :]
        return cls(given, parts), None

    @property
    def part(self) -> str:
        """The next part in small letters; empty at the end."""
        return self.parts[self.at][1].lower() if self.at < len(self.parts) else ""

    def next(self) -> str:
        """The next part in small letters, and go on."""
        found, self.at = self.part, self.at + 1
        return found

    def take(self, word: str) -> bool:
        """Whether the next part is this word; if so, go on."""
        found = self.part == word
        self.at += found
        return found

    def name(self) -> str | None:
        """The name of a quantity, if that comes next."""
        kind, text = self.parts[self.at] if self.at < len(self.parts) else ("", "")
        if kind not in ("word", "quoted") or text.lower() == "and":
            return None
        self.at += 1
        return text if kind == "word" else text[1:-1].replace(text[0] * 2, text[0])

    def end(self) -> None:
        """Raise ValueError for parts behind a whole goal."""
        rest = [text for _, text in self.parts[self.at :]]
        if not rest:
            return
        kind, before = self.parts[self.at - 1]
        if kind == "word" and before.lower() not in _GOALS:
            raise ValueError(
                f"goal is {self.given!r}; leave out {' '.join(rest)!r}, or put a name of several "
                "parts in quotes, as in maximise 'melt temp'"
            )
        raise ValueError(
            f"goal is {self.given!r}; leave out {' '.join(rest)!r} (a level is a number in units "
            "of the label, without the unit)"
        )


def _read_goal(tokens: _Tokens) -> Goal:
    """The next objective."""
    if not tokens.part:
        shown = repr(tokens.given) if tokens.given else "empty"
        raise ValueError(f"goal is {shown}; write {GOAL_EXAMPLES}")
    word = tokens.next()
    make = _GOALS.get(word)
    if make is None:
        raise ValueError(_unknown("goal", tokens.given, word, list(_GOALS), GOAL_EXAMPLES))
    return make(tokens)


def _learn(tokens: _Tokens) -> Goal:
    weights: list[tuple[str, float]] = []
    if tokens.take("weights") or tokens.take("weight"):
        while name := tokens.name():
            if not tokens.take("="):
                raise ValueError(
                    f"goal is {tokens.given!r}; write a name and its weight, as in "
                    "'learn weights purity=2'"
                )
            weights.append((name, _number(tokens.next(), "goal", tokens.given)))
    return Learn(tuple(weights))


def _best(lowest: bool) -> Callable[[_Tokens], Goal]:
    def read(tokens: _Tokens) -> Goal:
        name = tokens.name()
        if name is not None or tokens.part in ("", "and"):
            return Best(lowest=lowest, quantity=name)
        k = _number(tokens.next(), "goal", tokens.given)
        count = int(k) if k == int(k) else k
        return Best(count, lowest=lowest, quantity=tokens.name())  # type: ignore[arg-type]

    return read


def _level(word: str, make: Callable[[float, str | None], Goal]) -> Callable[[_Tokens], Goal]:
    def read(tokens: _Tokens) -> Goal:
        if not tokens.part:
            raise ValueError(
                f"goal is {tokens.given!r}, without a level; write {word} 7.5, a number in units "
                "of the label"
            )
        level = _number(tokens.next(), "goal", tokens.given)
        return make(level, tokens.name())

    return read


def _between(tokens: _Tokens) -> Goal:
    parts = [tokens.next(), tokens.next(), tokens.next()]
    if not parts[2] or parts[1] != "and":
        raise ValueError(f"goal is {tokens.given!r}; write two levels, as in 'between 40 and 60'")
    low, _, high = parts
    levels = [_number(part, "goal", tokens.given) for part in (low, high)]
    return Between(levels[0], levels[1], tokens.name())


_GOALS: dict[str, Callable[[_Tokens], Goal]] = {
    "learn": _learn,
    **dict.fromkeys(("maximise", "maximize", "max"), lambda tokens: Maximise(tokens.name())),
    **dict.fromkeys(("minimise", "minimize", "min"), lambda tokens: Minimise(tokens.name())),
    **dict.fromkeys(("best", "highest", "top"), _best(lowest=False)),
    "lowest": _best(lowest=True),
    **dict.fromkeys(("above", "over", ">", ">="), _level("above", Above)),
    **dict.fromkeys(("below", "under", "<", "<="), _level("below", Below)),
    "between": _between,
}
