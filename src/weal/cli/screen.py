r"""Output of commands: data on stdout, messages and progress on stderr.

On a terminal, tables and progress bars are drawn with rich; elsewhere tables are plain columns that
`awk` and `column` can read, and progress is an occasional line. Work of less than two seconds shows
no progress.

Control characters are escaped: an id may contain a line break or the sequence that clears a
terminal, and is shown with `\n` and `\x1b` instead. JSON has every text verbatim.
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

import click

from weal.logs import hide
from weal.progress import Progress, progress_bar

SECONDS_BEFORE_WORDS = 2.0
SECONDS_BETWEEN_LINES = 10.0
MIN_PASSWORD_LETTERS = 3  # a shorter one is masked only inside a URL: "a" is in every line
_SCHEDULER = re.compile(r"(tcp|tls|ws|wss|ucx|inproc)://[^@]*", re.IGNORECASE)
_masked: dict[str, str] = {}  # secret: its replacement
_timers: set[threading.Timer] = set()  # of `show_activity`


def say(line: str) -> None:
    """Print one line on stderr, with the passwords of the command line masked."""
    click.echo(visible(mask_line(line)), err=True)


def mask_line(line: str) -> str:
    """The line with the passwords of the command line masked."""
    for text in sorted(_masked, key=len, reverse=True):
        line = line.replace(text, _masked[text])
    return line


def say_json(value: object) -> None:
    """Print one line of JSON on stderr; its texts are masked already."""
    click.echo(json.dumps(value, allow_nan=False), err=True)


def mask_passwords(words: Iterable[str]) -> None:
    """Mask the passwords in these words in all further messages."""
    _masked.clear()
    for word in words:
        if _SCHEDULER.fullmatch(word):  # of Dask; it has no password
            continue
        if any(mark in word for mark in "@=:"):
            from weal.store.urls import mask, secrets

            if "://" in word:
                _masked[word] = _masked[str(Path(word))] = mask(word)  # or read as a path
            for one in secrets(word):
                _masked[one if len(one) >= MIN_PASSWORD_LETTERS else f":{one}@"] = "***"
    _masked.pop("password", None)  # occurs in our own advice
    hide(text for text, instead in _masked.items() if instead == "***")


def show(line: object) -> None:
    """Print one line of data."""
    click.echo(visible(str(line)))


def show_json(value: object) -> None:
    """Print data as JSON, with times in ISO format."""
    click.echo(json.dumps(value, indent=1, allow_nan=False, default=_to_json_text))


def _to_json_text(value: object) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)


def on_a_terminal() -> bool:
    """Whether stdout is a terminal."""
    return bool(sys.stdout and sys.stdout.isatty())


def visible(text: str) -> str:
    r"""The text with control characters escaped.

    >>> print(visible("A-1\nß 😀"))
    A-1\nß 😀
    """
    if text.isprintable():
        return text
    return "".join(map(_escape, text))


def _escape(letter: str) -> str:
    hidden = unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp")
    return letter.encode("unicode_escape").decode() if hidden else letter


def show_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; on a terminal, a cell that ends in a star is bold."""
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
    size = get_terminal_size()  # with the height, rich takes the width of a dumb terminal too
    Console(width=size.columns, height=size.lines).print(table)


def duration_text(seconds: float) -> str:
    """A duration.

    >>> duration_text(3725.2)
    '1:02:05'
    """
    return str(timedelta(seconds=round(seconds)))


@contextmanager
def show_activity(what: str) -> Iterator[None]:
    """Print what is being done if it takes more than two seconds.

    The timer's thread is joined at the end. It is not a daemon: a daemon thread that writes to
    stderr while Python shuts down ends the process with SIGABRT.
    """
    timer = threading.Timer(SECONDS_BEFORE_WORDS, _say_if_possible, [f"{what} ..."])
    _timers.add(timer)
    try:
        timer.start()
        yield
    finally:
        _stop(timer)


def stop_timers() -> None:
    """Stop the timers that `show_activity` left running because of a second Ctrl-C."""
    for timer in list(_timers):
        _stop(timer)


def _stop(timer: threading.Timer) -> None:
    timer.cancel()
    if timer.ident is not None:  # started
        timer.join()
    _timers.discard(timer)


def _say_if_possible(line: str) -> None:
    with suppress(OSError, ValueError):  # stderr is full or closed
        say(line)


@contextmanager
def show_count() -> Iterator[Progress]:
    """A progress callback: a bar on a terminal, else lines."""
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
    """A bar that appears after two seconds."""
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
    """A progress callback for passes over many rows: rows per second and time left."""
    begun: dict[str, float] = {}
    on_line = bool(sys.stderr and sys.stderr.isatty())
    due = time.monotonic() + SECONDS_BEFORE_WORDS

    def tell(what: str, done: int, total: int) -> None:
        nonlocal due
        now = time.monotonic()
        if not done:  # the speed is not known yet
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
