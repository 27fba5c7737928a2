"""The status of each quantity, of rows that wait, and of runs that failed, as lines of text.

These are the sections that a campaign with several quantities, with words or with failures has
besides those of `status_text`. Nothing here needs a model: the numbers are in `quantity_status`.
"""

from typing import TYPE_CHECKING

from weal.text import number, percent, shorten, some

if TYPE_CHECKING:
    from weal.campaign.quantity_status import (
        FailureStatus,
        QuantityStatus,
        WaitingRow,
    )
    from weal.diagnostics.word_scores import WordScores

MAX_WORDS_SHOWN = 20  # of a quantity, with the number of their labels


def quantity_lines(one: "QuantityStatus") -> list[str]:
    """The number of labels of a quantity, in words: a line of the first section."""
    name = f"  {shorten(one.name, 16):<16} "
    labels = "1 label" if one.labels == 1 else f"{one.labels:,} labels"
    if one.missing:
        return [f"{name}{one.labels} of {one.labels + one.missing} labels before there is a model"]
    counts = [f"{shorten(word, 20)} {n}" for word, n in one.counts.items()]
    source = f"; the predictions of {shorten(one.source, 40)} are an input" if one.source else ""
    return [f"{name}{labels}{': ' if counts else ''}{', '.join(counts[:MAX_WORDS_SHOWN])}{source}"]


def word_lines(one: "QuantityStatus") -> list[str]:
    """The scores of a quantity of words as a section."""
    if one.scores is None:
        return []
    return [
        f"{one.name}: each label predicted from the others",
        *_score_lines(one.scores, "labels"),
    ]


def _score_lines(scores: "WordScores", what: str) -> list[str]:
    """The scores of predictions of labels or runs, each from the others."""
    shares = f"{number(scores.baseline)} by the shares alone"
    off = number(scores.calibration_error, 2)
    return [
        f"  log loss       {number(scores.log_loss)} ({shares})",
        f"  accuracy       {percent(scores.accuracy)} of {scores.n} {what}",
        f"  calibration    predicted probabilities are off by {off} on average",
    ]


def failure_lines(found: "FailureStatus") -> list[str]:
    """Where runs fail, as a section."""
    share = percent(found.failed / found.runs)
    lines = ["Where runs fail", f"  failed         {found.failed} of {found.runs} runs ({share})"]
    if found.missing:
        more = "1 more run" if found.missing == 1 else f"{found.missing} more runs"
        return [*lines, f"  no model yet   {more} to come before there is one"]
    lines += [f"  where          {one.words}" for one in found.where]
    if not found.where:
        lines.append("  where          unknown: no input separates failed from successful runs")
    if found.scores:
        lines += _score_lines(found.scores, "runs")
    return lines


def waiting_line(rows: "tuple[WaitingRow, ...]") -> str:
    """Rows that wait for labels of some quantities: a line of the first section."""
    each = [
        f"{row.id} (for {some([shorten(one, 40) for one in row.quantities], 3)})" for row in rows
    ]
    return f"  waiting          {len(rows)}: {some(each)}"
