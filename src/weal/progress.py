"""Progress of long work: the callback type, and a progress bar without a thread.

Long functions accept a callback `progress(what, done, total)` and call it now and then from the
thread that does the work. The library itself draws nothing.

`progress_bar` is the bar of the commands and of `ActiveLearner.run`. rich redraws a bar from its
own thread, which may be writing while Python shuts down and so end the process with SIGABRT. Here
the calls redraw it, at most REDRAWS_PER_SECOND times a second.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import ProgressColumn


REDRAWS_PER_SECOND = 10
Progress = Callable[[str, int, int], object]  # what is being done, how much is done, of how much


@contextmanager
def progress_bar(
    *columns: "str | ProgressColumn",
    description: str = "",
    total: float | None = None,
    **fields: Any,
) -> Iterator[Callable[..., None]]:
    """A bar on stderr; yields its `update`, with the arguments of rich's `Progress.update`."""
    from rich.console import Console
    from rich.progress import Progress as Bar

    redraw_at = 0.0
    with Bar(*columns, console=Console(stderr=True), auto_refresh=False) as bar:
        task = bar.add_task(description, total=total, **fields)

        def update(**changes: Any) -> None:
            nonlocal redraw_at
            due = time.monotonic() >= redraw_at
            bar.update(task, refresh=due, **changes)
            if due:
                redraw_at = time.monotonic() + 1.0 / REDRAWS_PER_SECOND

        yield update


def progress_text(what: str, done: int, total: int, seconds: float) -> str:
    """The progress of a pass as text.

    >>> progress_text("scoring", 2_000_000, 10_000_000, 5.0)
    'scoring: 2,000,000 of 10,000,000 rows, 400,000 rows/s, 20 s left'
    """
    rate = done / max(seconds, 1e-9)
    left = (total - done) / max(rate, 1e-9)
    return f"{what}: {done:,} of {total:,} rows, {rate:,.0f} rows/s, {left:,.0f} s left"


class ProgressLine:
    """Progress on one line of a terminal, shown once a pass takes a while."""

    def __init__(self, write: Callable[[str], object], after: float = 2.0) -> None:
        self.write, self.after = write, after
        self.what, self.start, self.last = "", 0.0, 0.0

    def __call__(self, what: str, done: int, total: int) -> None:
        """Update the line, at most once a second."""
        now = time.monotonic()
        if what != self.what or done == 0:
            self.what, self.start, self.last = what, now, now + self.after - 1.0
        if done >= total:
            self.write("\r\033[K" if now - self.start > self.after else "")
            self.what = ""
        elif now - self.last > 1.0:
            self.last = now
            self.write(f"\r\033[K{progress_text(what, done, total, now - self.start)}")


def line_on_stderr() -> Progress | None:
    """A progress line if standard error is a terminal, else None."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None

    def write(text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()

    return ProgressLine(write)
