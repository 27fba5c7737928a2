"""The next step of a person in a campaign, from its ledger: measure, ask, stop, restore or add.

    measure    the person has rows
    stop       the goal is reached: its stop condition is met, or the model advises to stop
    ask        rows are free
    wait       the rows that are left are reserved for others
    restore    the rows that are left were skipped
    add        every candidate has a label

Every step says whether the goal is reached; only a person without rows is advised to stop. A stop
condition on labels follows from the ledger. A stop condition on an error follows from the model, so
the caller passes the result (`reached`).
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from weal.campaign.ledger import Ledger
from weal.campaign.status import goal_in_force
from weal.goals.until import Until

BATCH_ROWS = 8  # to ask for at once
Kind = Literal["measure", "stop", "ask", "wait", "restore", "add"]


@dataclass(frozen=True, slots=True)
class GoalReached:
    """A goal that is reached, and the number of labels at which it was."""

    labels: int
    text: str = ""  # the stop condition, or the advice; empty if neither is known

    @property
    def sentence(self) -> str:
        """The goal, in a sentence.

        >>> GoalReached(41, "best > 90").sentence
        'The goal is reached at 41 labels (best > 90).'
        """
        why = f" ({self.text})" if self.text else ""
        return f"The goal is reached at {_count(self.labels, 'label')}{why}."


@dataclass(frozen=True, slots=True)
class NextStep:
    """The next step of a person, in words and as numbers."""

    kind: Kind
    text: str
    mine: int  # rows of this person
    free: int  # rows that can be asked for
    skipped: int
    reached: GoalReached | None = None

    @property
    def ask_rows(self) -> int:
        """How many rows to ask for; 0: none is free."""
        return min(self.free, BATCH_ROWS)

    @property
    def ask_text(self) -> str:
        """The button that asks for rows."""
        return ask_text(self.ask_rows, self.free)


def ask_text(rows: int, free: int) -> str:
    """The text of the button that asks for this many of the free rows.

    >>> ask_text(8, 40), ask_text(3, 3), ask_text(1, 1)
    ('Ask for 8 more rows', 'Ask for the 3 that are left', 'Ask for the last row')
    """
    if rows < free:
        return f"Ask for {rows} more rows"
    return "Ask for the last row" if rows == 1 else f"Ask for the {rows:,} that are left"


def free_rows(ledger: Ledger, now: datetime) -> int:
    """The number of rows that can be asked for: no label, not reserved, not skipped."""
    reserved = {lease.id for lease in ledger.open_leases(now)}
    return max(ledger.rows - len(ledger.labelled() | reserved | ledger.skipped.keys()), 0)


def next_step(
    ledger: Ledger, now: datetime, who: str, reached: GoalReached | None = None
) -> NextStep:
    """The next step of this person; `reached` is the result of the model, if there is one."""
    leases = ledger.open_leases(now)
    mine = sum(lease.who == who for lease in leases)
    others, free = len(leases) - mine, free_rows(ledger, now)
    skipped = len(ledger.skipped.keys() - ledger.labelled())
    found = reached_by_labels(ledger) or reached
    if mine:
        kind: Kind = "measure"
        text = f"You have {_count(mine, 'row')} left to measure."
    elif free:
        kind = "stop" if found else "ask"
        text = f"{_count(free, 'row')} {_is(free)} left to ask for."
    elif others:
        kind = "wait"
        text = f"No row is free: {_count(others, 'row')} {_is(others)} reserved for others."
    elif skipped:
        kind = "restore"
        text = f"No row is left: {_count(skipped, 'row')} {_was(skipped)} skipped."
    else:
        kind, text = "add", f"All {_count(ledger.rows, 'candidate')} have a label."
    text = f"{found.sentence} {text}" if found else text
    return NextStep(kind, text, mine, free, skipped, found)


def reached_by_labels(ledger: Ledger) -> GoalReached | None:
    """The stop condition on the labels, if they meet it; None for a condition on an error."""
    goal, until = goal_in_force(ledger)
    if until is None or until.watched == "error":
        return None
    own = ledger.quantity(goal.scored(list(ledger.quantities))[0])
    if until.watched == "labels":
        n = int(until.value)
        return GoalReached(n, until.text) if own.n_labels >= n else None
    if goal.is_joint:  # it counts feasible rows only, which the model determines
        return None
    return _first_met(until, [told.y for told in own.told()])


def _first_met(until: Until, labels: list[float]) -> GoalReached | None:
    for n, y in enumerate(labels, start=1):
        if until.is_met(n, float("inf"), y, y):
            return GoalReached(n, until.text)
    return None


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _is(n: int) -> str:
    return "is" if n == 1 else "are"


def _was(n: int) -> str:
    return "was" if n == 1 else "were"
