"""Progress of long work: the type of its callback, and a bar that needs no thread.

Functions that take long accept a callback `progress(what, done, total)` and call it now and then
from the thread that does the work. What is drawn is up to the caller; the library draws nothing.

`progress_bar` is the bar that our commands and `ActiveLearner.run` draw. rich would redraw a bar
from a thread of its own; such a thread may be writing while Python shuts down, which ends the
process with SIGABRT. Here the calls redraw it, at most `REDRAWS_PER_SECOND` times a second.
"""

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
