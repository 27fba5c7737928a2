"""One line of a results file: its labels, or the reason why it has none.

    312.5 59.4% a label, read alone or with the other cells of its column (`number_columns`)
    yes     fcc         a label of a quantity that has words
    failed  n/a  -      no value will come
    failed - leaked     the same, with a note
    <0.1    >95         a bound: kept as a note, and not learned from

A line with several results gives one `Result` for each label (`join_results`). `failed` in any of
its cells means that the run failed, and excludes labels; n/a beside a label counts as blank.

This module needs the standard library only.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from weal.tables.cells import read_typed_number

FAILED = frozenset(
    {"failed", "fail", "n/a", "na", "skip", "skipped", "-", "--", "\N{EN DASH}", "\N{EM DASH}"}
)
RUN_FAILED = frozenset({"failed", "fail"})  # words for a failed run; the model ignores the others
_FAILED_BECAUSE = re.compile(r"(?i)(failed|fail)\s*[-:;,(\u2013\u2014]+\s*(\S.*)")
BOUND_WORDS = "a bound, not learned from"  # in the note of a row that has one
_BOUND = re.compile(r"[<>\u2264\u2265]=?\s*[+-]?[0-9]+(?:[.,][0-9]+)?\s*[^\s\d]{0,9}")
RESULT_NUMBERS: tuple[str, ...] = ("value", "noise")  # roles of columns of numbers


class Result(NamedTuple):
    """One line of a results file, or one row of a frame."""

    id: str
    value: float | str | None  # a number or a word; None: no value, or the measurement failed
    noise: float | None
    note: str | None
    line: int
    failure: str | None = None  # the word instead of a value
    error: str | None = None  # why the line cannot be saved
    inputs: Mapping[str, str] = {}
    quantity: str | None = None  # its name; None: the only one

    @property
    def is_bound(self) -> bool:
        """Whether the line has a bound instead of a value."""
        return (self.failure or "").startswith(("<", ">", "\u2264", "\u2265"))

    @property
    def has_result(self) -> bool:
        """Whether the line has a value, or a word for a failed measurement."""
        return self.value is not None or bool(self.failure)


def read_line(
    line: int, row: Mapping[str, str], inputs: Mapping[str, str], field: str,
    read: Mapping[str, Mapping[str, float]], words: Sequence[str] = (),
) -> Result:  # fmt: skip
    """The result on a line; `read` has the numbers of its columns, by spelling.

    `words` are those of the labels, where they are not numbers.
    """
    name, note = row["id"], row.get("note", "").strip() or None
    typed, sd = row["value"].strip(), row.get("noise", "").strip()
    is_word = typed.casefold() in [word.casefold() for word in words]
    failure, note = (None, note) if is_word else read_failure(typed, note)
    value: float | str | None = None
    noise, problem = None, None
    try:
        if typed and not name.strip():
            raise ValueError("the id is empty: fill it in, or delete the line")
        if typed and not failure:
            value = typed if words else _read_number(typed, field, read["value"])
        if sd and value is not None:
            noise = _read_number(sd, "noise", read["noise"])
        if noise is not None and noise < 0:
            raise ValueError(f"noise is {sd!r}; write a standard deviation, 0 or more")
    except ValueError as error:
        value, problem = None, str(error)
    return Result(name, value, noise, note, line, failure, problem, inputs)


def join_results(results: Sequence[Result]) -> list[Result]:
    """The results of one line, one for each column of labels: its labels, or one without a label.

    >>> line = [Result("A-1", 312.5, None, None, 2), Result("A-1", None, None, None, 2, "n/a")]
    >>> [(one.value, one.failure) for one in join_results(line)]
    [(312.5, None)]
    """
    wrong = [one for one in results if one.error]
    labels = [one for one in results if one.value is not None]
    failed = [one for one in results if (one.failure or "").lower() in RUN_FAILED]
    if wrong:
        return wrong[:1]
    if failed and labels:
        words = (
            f"{failed[0].quantity} is {failed[0].failure!r} and {labels[0].quantity} has a value: "
            "a run that failed has no labels; write n/a where nothing was measured, and no for a "
            "result that is pass or fail"
        )
        return [failed[0]._replace(failure=None, error=words)]
    bounds = [f"{one.quantity} {one.failure}: {BOUND_WORDS}" for one in results
              if one.is_bound]  # fmt: skip
    if labels and bounds:
        note = "; ".join(filter(None, [labels[0].note, *bounds]))
        labels[0] = labels[0]._replace(note=note)
    missing = [one for one in results if one.failure]
    return labels or [*failed, *missing, *results][:1]


def _read_number(typed: str, field: str, read: Mapping[str, float]) -> float:
    """The number in a cell, read alone or with the other cells of its column."""
    try:
        return read_typed_number(typed, field)
    except ValueError:
        if typed not in read:
            raise
        return read[typed]


def bound_note(typed: str, note: str | None = None) -> str | None:
    """The note of a row with a bound instead of a value; None for any other text.

    >>> bound_note("<0.1", "by HPLC"), bound_note("0.1")
    ('<0.1: a bound, not learned from; by HPLC', None)
    """
    if not _BOUND.fullmatch(typed.strip()):
        return None
    return ": ".join(filter(None, read_failure(typed.strip(), note)))


def read_failure(typed: str, note: str | None) -> tuple[str | None, str | None]:
    """The word for a measurement without a value, and the note with what follows the word.

    >>> read_failure("failed - stirrer stopped", None), read_failure(">95", None)
    (('failed', 'stirrer stopped'), ('>95', 'a bound, not learned from'))
    """
    if typed.lower() in FAILED:
        return typed, note
    found = _FAILED_BECAUSE.fullmatch(typed)
    if found:
        return found[1], "; ".join(filter(None, [found[2].rstrip(") "), note]))
    if _BOUND.fullmatch(typed):
        return typed, "; ".join(filter(None, [BOUND_WORDS, note]))
    return None, note
