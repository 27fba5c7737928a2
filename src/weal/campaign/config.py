"""Settings of a campaign: defaults, checks, and the plain JSON that its events keep."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeGuard, cast

from weal.store.events import check_text
from weal.text import exact

if TYPE_CHECKING:
    from weal.goals.protocol import Goal
    from weal.quantities.protocol import Quantity

WEEK_SECONDS = 7 * 24 * 3600.0
DEFAULTS: dict[str, Any] = {
    "acquisition": "auto",  # a name, or a list of names
    "budget": None,  # maximum cost of all labels, in units of the cost column, else their number
    "cost": None,  # column with the cost of a label: scores are divided by it
    "goal": "learn",  # the goal as text
    "lease": WEEK_SECONDS,  # seconds for which a row is leased
    "outliers": True,  # whether labels may be wrong; False: every label is used
    "model_version": "0.3",  # the version whose model classes experts are selected from
    "n_start": None,  # labels before there is a model
    "repeats": True,  # whether `ask` may suggest a labelled row again
    "seed": 0,  # seed of all random choices
    "title": None,  # shown instead of the name
    "until": None,  # when to stop, as text
    "warp": "auto",  # whether the model warps skewed labels: "auto", "asinh" or None
}
GOAL_PARTS = ("subject_to", "weights")  # that become part of the goal
FIXED_SETTINGS = ("seed", "n_start", "cost")  # earlier queries depend on these
SEED_LIMIT = 2**32  # scikit-learn takes no others
MODEL_VERSIONS = ("0.2", "0.3")
MAX_BUDGET = 1e300
MAX_TITLE = 200  # characters
_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")  # not allowed in titles, except
_JOINERS = "\u200c\u200d"  # these two, which words of some languages need
MAX_N_START = 10**6  # labels before there is a model
_LEASE = re.compile(
    r"(?i)([0-9.eE+]+)\s*(s|m|h|d|w)(?:ec|ecs|in|ins|inutes?|r|rs|ours?|ays?|eeks?)?"
)
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 24 * 3600.0, "w": WEEK_SECONDS}


def check_settings(given: Mapping[str, object]) -> dict[str, object]:
    """Check settings; ValueError if one is unknown or wrong."""
    if unknown := [name for name in given if name not in (*DEFAULTS, *GOAL_PARTS)]:
        known = ", ".join([*DEFAULTS, *GOAL_PARTS])
        raise ValueError(f"no setting {', '.join(unknown)}; name one of {known}")
    given = with_goal_parts(given, "learn")
    given = {**given, **_goal(given)} if "goal" in given else given
    return {name: _CHECKS[name](value) for name, value in given.items()}


def with_goal_parts(given: Mapping[str, object], before: str) -> dict[str, object]:
    """Settings whose goal has the constraints and weights that are given beside it.

    Without a goal among them, they replace those of the goal `before`.

    >>> with_goal_parts({"subject_to": ["purity >= 95"], "seed": 3}, "maximise yield")
    {'seed': 3, 'goal': 'maximise yield subject to purity >= 95'}
    """
    from weal.goals.grammar import combine_goals, parse_goal, revise_goal

    found = {name: value for name, value in given.items() if name not in GOAL_PARTS}
    subject_to, weights = given.get("subject_to"), given.get("weights")
    texts = [subject_to] if isinstance(subject_to, str) else subject_to
    if isinstance(given.get("goal"), list | tuple) or (found.get("goal") and (texts or weights)):
        goal = combine_goals(given["goal"], texts, cast(dict[str, float] | None, weights))
        return {**found, "goal": goal.text if goal else "learn"}
    if texts is None and weights is None:
        return found
    revised = revise_goal(
        parse_goal(before), cast(list[str] | None, texts), cast(dict[str, float] | None, weights)
    )
    return {**found, "goal": revised.text}


def _goal(given: Mapping[str, object]) -> dict[str, object]:
    """Goal and stop condition; as in weal 0.2, the goal may be a number or None."""
    from weal.goals.grammar import goal_and_until

    goal, until = goal_and_until(given["goal"], given.get("until"))
    found: dict[str, object] = {"goal": goal.text if goal else "learn"}
    if goal is None or until is not None or "until" in given:
        found["until"] = until.text if until else None
    return found


def check_typed_goal(goal: str, until: str) -> dict[str, object]:
    """The settings of a goal and a stop condition as typed, also with decimal commas.

    >>> check_typed_goal(" above 7,5 ", "")
    {'goal': 'above 7.5', 'until': None}
    """
    return check_settings({"goal": _with_points(goal) or "learn", "until": _with_points(until)})


def _with_points(text: str) -> str | None:
    """The text with decimal points instead of decimal commas; None if it is empty."""
    from weal.tables.cells import read_typed_number

    def with_point(part: re.Match[str]) -> str:
        return exact(read_typed_number(part[0], "the number"))

    return re.sub(r"\d[\d.,]*,[\d.,]*", with_point, text).strip() or None


def current_settings(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of an event in the current format: in 0.2 a number under "goal" was an error.

    >>> current_settings({"goal": 6.0, "seed": 1})
    {'goal': 'learn', 'seed': 1, 'until': 'error < 6'}
    >>> current_settings({"goal": None, "until": "labels = 80"})
    {'goal': 'learn', 'until': 'labels = 80'}
    """
    goal = stored.get("goal", "")
    if isinstance(goal, str):
        return dict(stored)
    until = stored.get("until") if goal is None else f"error < {exact(goal)}"
    return {**stored, "goal": "learn", "until": until}


def stored_settings(settings: Mapping[str, Any], until: str | None = None) -> dict[str, Any]:
    """Settings as an event stores them: the goal learn in the form that weal 0.2 reads.

    `until` is the stop condition in force, for changes that have none.
    """
    if settings.get("goal") != "learn":
        return dict(settings)
    return {"until": until, **settings, "goal": None}


def settings_to_json(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with the goal and the stop condition as objects."""
    from weal.goals.grammar import parse_goal, parse_until

    goal, until = parse_goal(settings["goal"]), parse_until(settings["until"])
    objects = {"goal": goal.to_dict(), "until": until.to_dict() if until else None}
    return {**settings, **objects}


def chosen_goal(
    goal: str | list[str] | None, subject_to: Sequence[str], stored: Callable[[], str]
) -> "Goal | str | None":
    """The goal of a call that changes no setting; None stands for the goal in the settings.

    Constraints without a goal replace those of the settings, which `stored` reads; "none" alone
    removes them.
    """
    from weal.goals.grammar import combine_goals, parse_goal, revise_goal

    if not subject_to:
        return goal if goal is None or isinstance(goal, str) else combine_goals(goal, ())
    if goal is not None:
        return combine_goals(goal, tuple(subject_to))
    texts = [] if tuple(subject_to) == ("none",) else list(subject_to)
    return revise_goal(parse_goal(stored()), texts, None)


def check_changes(given: Mapping[str, object]) -> dict[str, object]:
    """Check changes of settings in an existing campaign."""
    if fixed := [name for name in given if name in FIXED_SETTINGS]:
        raise ValueError(
            f"{', '.join(fixed)} cannot change once a campaign has begun; create another campaign "
            "(`weal new`)"
        )
    return check_settings(given)


def check_together(settings: Mapping[str, Any]) -> None:
    """Raise ValueError for settings that exclude each other; old campaigns have no `cost`."""
    if settings["acquisition"] != "auto" and settings["goal"] != "learn":
        from weal.goals.grammar import parse_goal
        from weal.learner.config import check_goal_chooses

        check_goal_chooses(settings["acquisition"], parse_goal(settings["goal"]))
    if settings.get("cost") is not None:
        from weal.goals.grammar import parse_goal
        from weal.learner.config import (  # numerics, for this alone
            check_amounts,
            resolve_acquisition,
        )

        goal = parse_goal(settings["goal"])
        check_amounts(resolve_acquisition(settings["acquisition"], goal))


def check_goal(
    settings: Mapping[str, Any],
    rows: int,
    quantities: "Iterable[Quantity]" = (),
    inputs: Iterable[str] = (),
) -> None:
    """Raise ValueError if a goal does not fit the number of candidates or the quantities."""
    if settings.get("goal", "learn") != "learn":
        from weal.goals.grammar import parse_goal

        goal = parse_goal(settings["goal"])
        goal.check_rows(rows)
        goal.bind({one.name: one for one in quantities}, list(inputs))


def split_names(text: str) -> list[str]:
    """Names of acquisition functions between commas; a comma in brackets is part of a name.

    >>> split_names("igs, ucb(2), own(1, 2)")
    ['igs', 'ucb(2)', 'own(1, 2)']
    """
    parts = re.split(r",(?![^()]*\))", text)
    return [part.strip() for part in parts if part.strip()]


def seconds(lease: object) -> float:
    """A lease in seconds: a number of them, a timedelta, or text as 3d, 12h, 30min, 2w.

    >>> seconds("12h"), seconds("30 min")
    (43200.0, 1800.0)
    """
    if isinstance(lease, timedelta):
        lease = lease.total_seconds()
    if isinstance(lease, str) and lease.strip().endswith("M"):
        number = lease.strip()[:-1].strip()
        raise ValueError(
            f"a lease of {lease!r} could be months or minutes: write {number}m for minutes, or "
            "days, such as 30d"
        )
    if isinstance(lease, str):
        lease = _from_text(lease)
    if not _is_positive(lease, 1e9):
        raise ValueError(
            f"a lease is a time above 0 and at most 31 years, not {str(lease)[:40]!r}: write 3d, "
            "12h, 90m or 2w"
        )
    return float(lease)


def seconds_left(text: str, now: datetime) -> float:
    """The seconds until an end as typed: 30d, or a date.

    >>> seconds_left("2027-01-31", datetime(2027, 1, 30, tzinfo=UTC))
    86400.0
    """
    try:
        day = datetime.combine(date.fromisoformat(text.strip()), time(), UTC)
    except ValueError:
        day = None
    try:
        return seconds(text if day is None else day - now)
    except ValueError:
        raise ValueError(
            f"an end is a time above 0 or a date in the future, not {text!r}: write 12h, 30d, 2w "
            "or 2027-01-31"
        ) from None


def _from_text(text: str) -> float | str:
    """Seconds of 3d, 90m, 30min, 2 weeks; other text as it is."""
    found = _LEASE.fullmatch(text.strip())
    try:
        return float(found[1]) * _UNITS[found[2].lower()] if found else text
    except ValueError:
        return text


def _acquisition(value: object) -> str | list[str]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not names:
        raise ValueError(f"acquisition is {value!r}; it needs a name, or a list of names")
    from weal.learner.config import resolve_acquisition  # numerics, for this alone

    resolve_acquisition(list(names))
    return value if isinstance(value, str) else list(names)


def _cost(value: object) -> str | None:
    if value is not None and (not isinstance(value, str) or not value):
        raise ValueError(f"cost is {value!r}; it needs the name of a column")
    return value


def _budget(value: object) -> float | None:
    if isinstance(value, str):
        from weal.tables.cells import read_typed_number

        if value.strip().lower() in ("", "none"):
            return None
        value = read_typed_number(value, "budget", decimal_comma=False)
    if value is not None and not _is_positive(value, MAX_BUDGET):
        raise ValueError(
            f"budget is {_format_value(value)}; write a number above 0, in units of the cost "
            "column, or none"
        )
    return None if value is None else float(value)


def _until(value: object) -> str | None:
    from weal.goals.grammar import parse_until

    found = parse_until(value)
    return found.text if found else None


def _as_it_is(value: object) -> object:
    return value


def _seed(value: object) -> int:
    if not _is_whole(value) or not 0 <= value < SEED_LIMIT:
        raise ValueError(
            f"seed is {_format_value(value)}; it needs a whole number from 0 to {SEED_LIMIT - 1}"
        )
    return int(value)


def _n_start(value: object) -> int | None:
    if value is not None and (not _is_whole(value) or not 1 <= value <= MAX_N_START):
        raise ValueError(
            f"n_start is {_format_value(value)}; it needs a whole number from 1 to {MAX_N_START}"
        )
    return None if value is None else int(value)


def _is_positive(value: object, most: float) -> TypeGuard[float]:
    """Whether this is a number above 0 and at most `most`."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return 0.0 < float(value) <= most
    except OverflowError:  # a whole number of 400 digits
        return False


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _format_value(value: object) -> str:
    """The value for a message; very long numbers are not printed."""
    huge = isinstance(value, Integral) and abs(int(value)) > 10**40
    return "a number of more than 40 digits" if huge else repr(value)


def _warp(value: object) -> object:
    if value not in (None, "off", "auto", "asinh"):
        raise ValueError(f"warp is {value!r}; it needs 'auto', 'asinh', or 'off' (None)")
    return None if value == "off" else value


def check_title(value: object) -> str | None:
    r"""A title on one line; None if it is empty, so that the name is shown.

    >>> check_title("  Alloys,\n round 2 "), check_title(" ")
    ('Alloys, round 2', None)
    """
    if value is None:
        return None
    text = " ".join(check_text(value, "a title", MAX_TITLE, empty=True).split())
    if any(unicodedata.category(one) in _UNSEEN and one not in _JOINERS for one in text):
        raise ValueError(
            f"a title has no invisible or control characters: {text[:40]!r} does; delete them"
        )
    return text or None


def _model_version(value: object) -> object:
    if value not in MODEL_VERSIONS:
        raise ValueError(f"model_version is {value!r}; it needs '0.3' or '0.2'")
    return value


def _truth(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{name} is {value!r}; it needs True or False")
    return value


_CHECKS: dict[str, Callable[[object], object]] = {
    "acquisition": _acquisition,
    "budget": _budget,
    "cost": _cost,
    "goal": _as_it_is,  # `_goal` has checked it
    "lease": seconds,
    "model_version": _model_version,
    "outliers": partial(_truth, "outliers"),
    "n_start": _n_start,
    "repeats": partial(_truth, "repeats"),
    "seed": _seed,
    "title": check_title,
    "until": _until,
    "warp": _warp,
}
