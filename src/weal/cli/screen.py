r"""What commands show: data on stdout, talk on stderr.

On a terminal, tables and bars are drawn with rich; elsewhere tables are plain columns that `awk`
and `column` can read, and progress is a line now and then. Nothing is said of work that takes less
than two seconds.

Text is shown as it is, but for control characters: an id may hold a line break or the command that
clears a terminal, and is shown with `\n` and `\x1b` in their place. JSON has every text verbatim.
"""

import json
import re
import sys
import threading
import time
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import date, timedelta
from pathlib import Path
from shutil import get_terminal_size
from typing import Any

import click

from weal.progress import Progress, progress_bar

SECONDS_BEFORE_WORDS = 2.0
SECONDS_BETWEEN_LINES = 10.0
# letters of a password that is looked for everywhere: "a" is in every line
MIN_PASSWORD_LETTERS = 3
_SCHEDULER = re.compile(r"(tcp|tls|ws|wss|ucx|inproc)://[^@]*", re.IGNORECASE)
_hidden: dict[str, str] = {}  # what is not to be said -> what is said instead
_timers: set[threading.Timer] = set()  # of `show_activity`, while it is under way


def say(line: str) -> None:
    """One line of talk; what could be a password among the words that were typed is taken out."""
    for text in sorted(_hidden, key=len, reverse=True):
        line = line.replace(text, _hidden[text])
    click.echo(visible(line), err=True)


def hide(words: Iterable[str]) -> None:
    """Let nothing be said from now on that could be a password in one of these words."""
    _hidden.clear()
    for word in words:
        if _SCHEDULER.fullmatch(word):  # of Dask; it has no password
            continue
        if any(mark in word for mark in "@=:"):
            from weal.store.urls import mask, secrets

            if "://" in word:
                _hidden[word] = _hidden[str(Path(word))] = mask(word)  # or taken for a path
            for one in secrets(word):
                _hidden[one if len(one) >= MIN_PASSWORD_LETTERS else f":{one}@"] = "***"
    _hidden.pop("password", None)  # a word of our own advice


def show(line: object) -> None:
    """One line of data."""
    click.echo(visible(str(line)))


def show_json(value: Any) -> None:
    """Data as JSON; times as ISO writes them."""
    click.echo(json.dumps(value, indent=1, allow_nan=False, default=_to_json_text))


def _to_json_text(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)


def on_a_terminal() -> bool:
    """Whether data go to a terminal."""
    return bool(sys.stdout and sys.stdout.isatty())


def visible(text: str) -> str:
    r"""The text with control characters spelt out.

    >>> print(visible("A-1\nß 😀"))
    A-1\nß 😀
    """
    if text.isprintable():
        return text
    return "".join(map(_visible, text))


def _visible(letter: str) -> str:
    hidden = unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp")
    return letter.encode("unicode_escape").decode() if hidden else letter


def show_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table on stdout; a cell that ends in a star is shown bold on a terminal."""
    lines = [[visible(cell) for cell in row] for row in (header, *rows)]
    if on_a_terminal():
        _show_rich(lines[0], lines[1:])
        return
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def _show_rich(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in header:
        table.add_column(Text(name), overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell, "bold" if cell.endswith("*") else "") for cell in row))
    Console(width=get_terminal_size().columns).print(table)  # of a dumb terminal, too


def in_words(seconds: float) -> str:
    """A duration.

    >>> in_words(3725.2)
    '1:02:05'
    """
    return str(timedelta(seconds=round(seconds)))


@contextmanager
def show_activity(what: str) -> Iterator[None]:
    """Says what is being done, if it takes a while.

    The thread of the timer has ended afterwards. No daemon thread: one that writes to stderr while
    Python shuts down ends the process with SIGABRT.
    """
    timer = threading.Timer(SECONDS_BEFORE_WORDS, _say_if_possible, [f"{what} ..."])
    _timers.add(timer)
    try:
        timer.start()
        yield
    finally:
        _stop(timer)


def stop_timers() -> None:
    """Stop the timers whose `show_activity` was left by a second Ctrl-C before it could do so."""
    for timer in list(_timers):
        _stop(timer)


def _stop(timer: threading.Timer) -> None:
    timer.cancel()
    if timer.ident is not None:  # it was started
        timer.join()
    _timers.discard(timer)


def _say_if_possible(line: str) -> None:
    with suppress(OSError, ValueError):  # stderr is full, closed or read by nobody
        say(line)


@contextmanager
def show_count() -> Iterator[Progress]:
    """A callback that shows how far the work is: a bar on a terminal, else lines."""
    with ExitStack() as stack:
        yield _bar(stack) if sys.stderr and sys.stderr.isatty() else _lines()


def _lines() -> Progress:
    due = time.monotonic() + SECONDS_BEFORE_WORDS

    def tell(what: str, done: int, total: int) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + SECONDS_BETWEEN_LINES
            say(f"{what}: {done} of {total}")

    return tell


def _bar(stack: ExitStack) -> Progress:
    """A bar that comes up when the work turns out to take a while."""
    due, update = time.monotonic() + SECONDS_BEFORE_WORDS, None

    def tell(what: str, done: int, total: int) -> None:
        nonlocal update
        if update is None and time.monotonic() >= due:
            update = stack.enter_context(progress_bar(description=what))
        if update is not None:
            update(description=what, completed=done, total=total)

    return tell


@contextmanager
def show_row_progress() -> Iterator[Progress]:
    """A callback for passes over many rows: rows a second, and the time left."""
    begun: dict[str, float] = {}
    on_line = bool(sys.stderr and sys.stderr.isatty())
    due = time.monotonic() + SECONDS_BEFORE_WORDS

    def tell(what: str, done: int, total: int) -> None:
        nonlocal due
        now = time.monotonic()
        if not done:  # nothing is known yet of how fast it is
            begun[what] = now
        if not done or now < due or done >= total:
            return
        from weal.progress import progress_text

        line = progress_text(what, done, total, now - begun.get(what, now))
        due = now + (1.0 if on_line else SECONDS_BETWEEN_LINES)
        click.echo(f"\r\033[K{line}", err=True, nl=False) if on_line else say(line)
        begun["shown"] = now

    try:
        yield tell
    finally:
        if on_line and "shown" in begun:
            click.echo("\r\033[K", err=True, nl=False)
