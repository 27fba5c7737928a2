"""Sentences, numbers and tables in MyST, and the note under a table that says how to repeat it."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks import record
from benchmarks.comparison import GOALS, METHODS
from benchmarks.pages.result_files import ResultFile

from weal.benchmark.statistics import Interval

DASH = "-"
BUSY = ": busy, timings should be repeated"
OLDER = "; the code that decides scores has changed since"


def signed(value: float, digits: int = 3) -> str:
    """A difference, in three decimals.

    >>> signed(-0.1264), signed(0.0), signed(float("nan"))
    ('-0.126', '+0.000', '-')
    """
    return f"{value:+.{digits}f}" if math.isfinite(value) else DASH


def plain(value: float | None, digits: int = 2) -> str:
    """A number, or a dash where there is none."""
    return DASH if value is None or not math.isfinite(value) else f"{value:.{digits}f}"


def ends(found: Interval, count: bool = False, digits: int = 3) -> str:
    """A mean with its interval, and of how many.

    >>> ends(Interval(-0.126, -0.2, -0.05, 7)), ends(Interval(0.1, float("nan"), 1.0, 1))
    ('-0.126 (-0.200 to -0.050)', '+0.100')
    """
    if not (math.isfinite(found.low) and math.isfinite(found.high)):
        return signed(found.mean, digits)
    mean, low, high = (signed(end, digits) for end in (found.mean, found.low, found.high))
    text = f"{mean} ({low} to {high})"
    return text + (f"; {found.n}" if count else "")


def whole(text: str) -> str:
    """The text as a cell that is never broken into lines.

    >>> whole("-0.126 (-0.200 to -0.050)").count(" ")
    0
    """
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def milliseconds(value: float | None) -> str:
    """A time in milliseconds in three digits, or in seconds or minutes where there are many.

    >>> [milliseconds(x) for x in (0.0669, 6.8, 36.64, 775.0, 21000.0, 1006690.0, None)]
    ['0.0669 ms', '6.8 ms', '36.6 ms', '775 ms', '21 s', '17 min', '-']
    """
    if value is None:
        return DASH
    if value >= 6e5:
        return f"{value / 6e4:.0f} min"
    return f"{value / 1e3:.3g} s" if value >= 1e3 else f"{value:.3g} ms"


def share(count: int, of: int) -> str:
    """How many of how many.

    >>> share(3, 10), share(10, 10)
    ('3 of 10', 'all 10')
    """
    return f"all {of}" if count == of else f"{count} of {of}"


def table(header: Sequence[str], rows: Iterable[Sequence[Any]], figures: str = "") -> str:
    r"""A table; the columns from the second on are set right where `figures` has an r for them.

    >>> print(table(["a", "b"], [["x|y", 1]], "lr"))
    | a | b |
    |:---|---:|
    | x\|y | 1 |
    """
    sides = (figures or "l" * len(header)).ljust(len(header), "l")
    rule = "".join(f"{'---:' if side == 'r' else ':---'}|" for side in sides)
    lines = [f"| {' | '.join(header)} |", f"|{rule}"]
    return "\n".join([*lines, *(f"| {' | '.join(map(_cell, row))} |" for row in rows)])


def _cell(value: Any) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def bold(text: str, really: bool = True) -> str:
    """The text in bold."""
    return f"**{text}**" if really else text


def repeat(*files: ResultFile) -> str:
    """How the numbers above were made: command, seeds, date, commit, versions, machine."""
    dates = sorted({file.about["date"].split()[0] for file in files})
    commits = list(dict.fromkeys(file.about["commit"] for file in files))
    marks = [
        *(["older code"] if any(map(is_outdated, files)) else []),
        *(["busy machine"] if any(is_busy(file) for file in files) else []),
    ]
    known = f"Measured {' and '.join(dates)}, commit {', '.join(commits)}"
    title = f"{', '.join([known, *marks])}: how to repeat it"
    parts = [_made(file) for file in files]
    return ":::{dropdown} " + title + "\n" + "\n\n".join(parts) + "\n:::"


def is_busy(file: ResultFile) -> bool:
    """Whether other processes took more than half a core while a file with times was made."""
    return record.has_busy_times({**file.about, "rows": file.rows})


def is_outdated(file: ResultFile) -> bool:
    """Whether code that decides scores of weal has changed since; other packages' do not change."""
    others = {method.name for own in METHODS.values() for method in own if not method.ours}
    if all(row.get("goal") in GOALS and row.get("method") in others for row in file.rows):
        return False
    return record.is_outdated(file.about["commit"])


def _made(file: ResultFile) -> str:
    about, seeds = file.about, file.about["seeds"]
    said = seeds if isinstance(seeds, str) else ", ".join(map(str, seeds))
    lines = [
        f"```console\n$ {about['command']}\n```\n",
        f"- seeds: {said}",
        f"- date: {about['date']}",
        f"- commit: `{about['commit']}`" + (OLDER if is_outdated(file) else ""),
        f"- versions: {_listed(about['versions'])}",
        f"- machine: {_machine(about['machine'])}" + (BUSY if is_busy(file) else ""),
        f"- result file: `benchmarks/results/{file.name}.json`",
    ]
    return "\n".join(lines)


def _machine(about: Mapping[str, Any]) -> str:
    """The machine and its load; what other processes took, where that was measured."""
    text = f"{about['system']}, cores {about['cores']}, load {about['load']}"
    if about.get("others") is not None:
        text += f"; other processes took {about['others']} cores"
    return text


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def figure(name: str, says: str) -> str:
    """A figure that follows the colours of the page; `says` is what it shows, in words."""
    return f"![{says}]({name}-light.svg){{.only-light}}\n![{says}]({name}-dark.svg){{.only-dark}}\n"
