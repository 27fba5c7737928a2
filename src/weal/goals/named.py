"""The quantity of a goal by its name: `maximise yield`, in a campaign that measures several.

A name with blanks or signs stands in quotes, as in conditions (`weal.conditions`). The column of a
quantity names it too: 'yield [%]'. A goal without a name is about the only quantity, or the first.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from weal.conditions.condition import quote
from weal.text import some

if TYPE_CHECKING:
    from weal.goals.best import Best
    from weal.goals.threshold import Threshold
    from weal.quantities.protocol import Quantity

KINDS_IN_WORDS = {
    "pass_fail": "passes or fails",
    "classes": "has classes",
    "grades": "has grades",
}


def named(text: str, quantity: str | None) -> str:
    """The text of a goal with the name of its quantity.

    >>> named("above 90", "melt temp"), named("maximise", None)
    ("above 90 'melt temp'", 'maximise')
    """
    return f"{text} {quote(quantity)}" if quantity else text


def find_named(
    quantities: "Mapping[str, Quantity]", name: str, where: str, inputs: Sequence[str] = ()
) -> "Quantity":
    """The quantity of this name or column; ValueError with the near names where there is none."""
    for one in quantities.values():
        if name in (one.name, one.column):
            return one
    if name in [*inputs, *(re.split(r"\s*[\[(]", one)[0] for one in inputs)]:  # temp of temp [C]
        raise ValueError(
            f"{where}: {name} is an input, and a goal is about results; leave the rows out that "
            "are not wanted (weal skip, learner.remove)"
        )
    from difflib import get_close_matches

    like = {one.casefold(): one for one in quantities}
    near = get_close_matches(name.casefold(), like, 1)
    meant = f"did you mean {quote(like[near[0]])}?" if near else f"there is {some(quantities, 10)}"
    meant += "" if near or not where.startswith("goal") else " (write a level without its unit)"
    raise ValueError(f"{where}: there is no quantity {name!r}; {meant}")


def bind_level(
    goal: "Best | Threshold", quantities: "Mapping[str, Quantity]", inputs: Sequence[str]
) -> str | None:
    """The name of the quantity of a goal of numbers; None if there is one, and none is named.

    ValueError if its labels have no order, or are not numbers to compare a level with.
    """
    where = f"goal {goal.text!r}"
    if not quantities:
        return goal.quantity
    first = next(iter(quantities.values()))
    of = first if goal.quantity is None else find_named(quantities, goal.quantity, where, inputs)
    has_level = goal.kind in ("above", "below", "between")
    if of.kind in ("pass_fail", "classes") or (of.words and has_level):
        none = "level" if has_level else "highest label"
        raise ValueError(
            f"{where}: {of.name} {KINDS_IN_WORDS[of.kind]}, and has no {none}; write it as a "
            f"constraint, --subject-to '{quote(of.name)} is {quote(of.words[-1])}', or the goal "
            "learn"
        )
    return of.name if goal.quantity or len(quantities) > 1 else None
