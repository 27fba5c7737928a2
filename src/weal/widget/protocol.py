"""The seam of the widget: what it shows, and what a learner or a campaign does for it.

A `Bench` has the rows that wait for a result and does what the buttons say. Everything it shows is
text (`BenchView`), which a display sets as text nodes. Ids are any hashable values in Python; a
display never gets them but tokens (`messages`).

Each change takes a key, unique to the form that was sent: a bench whose store keeps keys writes
once even after a restart of the kernel.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from weal.learner.batch_options import BatchOptionsBody
from weal.tables.cells import cell_text

MAX_SHOWN_ROWS = 200
MAX_SHOWN_LETTERS = 300  # of an id or a cell
NONE_LEFT = "No rows are left to ask. Add candidates, or unskip rows."
UNDONE_ALREADY = "Nothing was undone: another action came after it. Look at the row, and try again."


@dataclass(frozen=True, slots=True)
class BenchField:
    """The field of a quantity in the form of a row."""

    quantity: str
    title: str
    words: tuple[str, ...] = ()  # to choose from; empty: a number


@dataclass(frozen=True, slots=True)
class BenchRow:
    """A row that waits for a result."""

    id: Hashable
    cells: tuple[tuple[str, str], ...]  # inputs, by column
    predicted: tuple[str, ...]  # of each field, in words; empty if not known yet
    why: str = ""
    saved: tuple[str, ...] = ()  # labels that it has of each field; empty: none
    repeat: bool = False


@dataclass(frozen=True, slots=True)
class Undoable:
    """The last action that can be undone."""

    number: int  # by which a display names it
    text: str


@dataclass(frozen=True, slots=True)
class BenchView:
    """The bench as text: all that a display shows but the report."""

    title: str
    counts: str
    next_step: str
    fields: tuple[BenchField, ...]
    rows: tuple[BenchRow, ...]
    waiting: int  # rows in all, where only the first are shown
    free: int  # rows that could be asked
    columns: tuple[str, ...]
    storage: str  # where labels are kept, in words
    reasons: tuple[str, ...] = ()  # to choose from when a row is skipped
    keeps_notes: bool = False
    undo: Undoable | None = None


@dataclass(frozen=True, slots=True)
class LearningReport:
    """What the labels have taught: one number, advice, and a small learning curve."""

    headline: str = ""
    advice: str = ""
    curve: tuple[tuple[int, float], ...] = ()  # labels, and error or value of the goal
    curve_label: str = ""


@dataclass(frozen=True, slots=True)
class TypedLabel:
    """The labels of a row as they were typed."""

    id: Hashable
    values: Mapping[str, str]  # by quantity
    note: str = ""
    sure: bool = False  # whether a question was answered with yes


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a message: done, or refused, or a question."""

    notice: str = ""
    wrong: str = ""  # nothing was done; how to go on
    wrong_fields: Mapping[str, str] = field(default_factory=dict)  # by quantity
    question: str = ""  # nothing was done; the same labels with `sure` are saved
    left: int | None = None  # rows that could be asked, where too many were asked for
    row: Hashable = None  # to show next

    @property
    def is_done(self) -> bool:
        """Whether it was done."""
        return not (self.wrong or self.wrong_fields or self.question)


class Bench(Protocol):
    """A learner or a campaign, as the widget sees it.

    Methods that change something raise ValueError, RuntimeError or WealError if they refuse.
    """

    def version(self) -> object:
        """A value that is equal as long as nothing has happened."""

    def view(self) -> BenchView:
        """What is shown."""

    def report(self) -> LearningReport:
        """What the labels have taught; it may take seconds."""

    def ask(self, n: int, options: BatchOptionsBody, key: str) -> Answer:
        """Ask for n more rows."""

    def tell(self, typed: TypedLabel, key: str) -> Answer:
        """Save the labels of a row, all or none; a question where one is implausible."""

    def skip(self, id_: Hashable, reason: str, key: str) -> Answer:
        """Skip a row."""

    def fail(self, id_: Hashable, note: str, accident: bool, key: str) -> Answer:
        """Say that the run of a row failed."""

    def undo(self, number: int) -> Answer:
        """Undo the action of this number, if it is the last one."""


def plural(n: int, noun: str, nouns: str = "") -> str:
    """A number and its noun.

    >>> plural(1, "row"), plural(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{n:,} {noun if n == 1 else nouns or f'{noun}s'}"


def next_step(waiting: int, free: int, missing: int) -> str:
    """What to do next, in a sentence.

    Parameters
    ----------
    waiting : int
        Rows that wait for a result.
    free : int
        Rows that could be asked.
    missing : int
        Labels to come before there is a model.

    Returns
    -------
    str
        One or two sentences.

    Examples
    --------
    >>> next_step(3, 40, 0)
    '3 rows wait for a result. 40 more can be asked.'
    >>> next_step(0, 40, 5)
    'Ask for rows to measure. 5 more labels are needed before there is a model.'
    """
    early = "" if not missing else (
        f" {plural(missing, 'more label is', 'more labels are')} needed before there is a model."
    )  # fmt: skip
    if waiting:
        more = f" {free:,} more can be asked." if free else " They are the last."
        waits = f"{plural(waiting, 'row waits', 'rows wait')} for a result."
        return waits + (early or more)
    if free:
        return f"Ask for rows to measure.{early}"
    return "All rows are measured or skipped. Add candidates to continue."


def shown(value: object) -> str:
    """A value as a short text; a date without the time of midnight.

    >>> shown(0.30000000000000004), shown(None), len(shown("x" * 10_000))
    ('0.3', '', 300)
    >>> from datetime import datetime
    >>> shown(datetime(2026, 11, 18)), shown(7.0)
    ('2026-11-18', '7')
    """
    if value is None or value != value:  # a missing cell
        return ""
    if isinstance(value, float):
        text = f"{value:.6g}" if abs(value) < 1e5 else f"{value:.12g}"
    else:
        text = cell_text(value).removesuffix(" 00:00:00")
    return text if len(text) <= MAX_SHOWN_LETTERS else f"{text[: MAX_SHOWN_LETTERS - 3]}..."
