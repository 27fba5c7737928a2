"""The widget of a notebook: an anywidget that shows a bench, in any number of displays.

The traits `view` and `report` are the bench as text (`messages`); displays draw them (bench.js) and
send messages. A message is answered first, and then the view is read again, so that a display knows
that a label is saved before anything else is computed.

The view is read again after each cell, after each message, and when a display gets the focus, if
the version of the bench has changed. Notebooks may deliver messages in another thread while a cell
runs (subshells); they are then done in the thread of the cells, after the cell, because neither a
learner nor a store may be changed by two threads at once.
"""

import asyncio
import sys
import threading
import weakref
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from weal.errors import WealError
from weal.widget.messages import BenchMessages
from weal.widget.protocol import Bench

HERE = Path(__file__).parent
Json = dict[str, Any]
_open_widgets: "weakref.WeakKeyDictionary[object, Any]" = weakref.WeakKeyDictionary()


class DisplayedBench:
    """A bench, kept in step with what its displays show.

    Parameters
    ----------
    bench : Bench
        A learner or a campaign.
    show : function
        Shows values by name, `view` or `report`.
    send : function
        Sends an answer to all displays.
    """

    def __init__(
        self, bench: Bench, show: Callable[[str, Json], None], send: Callable[[Json], None]
    ) -> None:
        self.bench, self.messages = bench, BenchMessages(bench)
        self._show, self._send = show, send
        self._run = _cell_thread()
        self._id = uuid4().hex  # what was typed belongs to it, also where a display is drawn again
        self._revision = self._reported = 0
        self._version: object = None

    def refresh(self) -> None:
        """Show the learner or the campaign as it is now, where it has changed."""
        try:
            version = self.bench.version()
        except (WealError, OSError):  # the view says so
            version = None
        if version is None or version != self._version:
            self._version, self._revision = version, self._revision + 1
            known = {"revision": self._revision, "widget": self._id}
            self._show("view", {**self.messages.read_view(), **known})

    def refresh_after_cell(self) -> None:
        """Refresh in the thread of the cells."""
        self._run(self.refresh)

    def receive(self, message: object) -> None:
        """Do what a display has sent, in the thread of the cells.

        Parameters
        ----------
        message : dict
            As of `messages`; or the action "refresh", or "report", which the displays ask for when
            nobody types.
        """
        self._run(lambda: self._do(message))

    def _do(self, message: object) -> None:
        action = message.get("action") if isinstance(message, dict) else None
        if action == "report":
            self._report()
            return
        if action != "refresh":
            self._send(self.messages.answer(message))
        self.refresh()

    def _report(self) -> None:
        """Show the report of the present view, once, however many displays ask for it."""
        self.refresh()
        if self._reported != self._revision:
            self._reported = self._revision
            self._show("report", {**self.messages.read_report(), "revision": self._revision})


def widget_of(owner: object, make_bench: Callable[[], Bench]) -> Any:
    """The widget of a learner or a campaign; the same one each time, unless it was closed.

    Parameters
    ----------
    owner : object
        The learner or the campaign.
    make_bench : function
        Makes its bench.

    Returns
    -------
    anywidget.AnyWidget
        A notebook shows it where it is the value of a cell.

    Raises
    ------
    ImportError
        If the extra `widget` is not installed.
    """
    make = _widget_class()
    found = _open_widgets.get(owner)
    if found is None or found.comm is None:
        found = _open_widgets[owner] = make()
        shown = DisplayedBench(make_bench(), partial(setattr, found), found.send)
        found.displayed = shown
        found.on_msg(lambda _, message, __: shown.receive(message))
        _after_each_cell(found)
    found.displayed.refresh()
    return found


@cache
def _widget_class() -> Any:
    """The class of the widget; anywidget is imported by the first call."""
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise ImportError(
            "the widget needs anywidget: pip install 'weal[widget]', and restart the kernel",
            name=error.name,
        ) from error

    class BenchWidget(anywidget.AnyWidget):
        """The bench of a learner or a campaign in a notebook."""

        _esm = HERE / "bench.js"
        _css = HERE / "bench.css"
        view = traitlets.Dict(help="What displays show.").tag(sync=True)
        report = traitlets.Dict(help="What the labels have taught.").tag(sync=True)
        displayed: DisplayedBench

    return BenchWidget


def _cell_thread() -> Callable[[Callable[[], None]], None]:
    """A function that runs another in this thread: at once, or after the running cell."""
    own = threading.get_ident()
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # no notebook: there is one thread
        return lambda do: do()

    def run(do: Callable[[], None]) -> None:
        if threading.get_ident() == own:
            do()
        else:
            loop.call_soon_threadsafe(do)

    return run


def _after_each_cell(widget: Any) -> None:
    """Refresh a widget after each cell, until it is closed."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None:
        return
    found = weakref.ref(widget)

    def refresh(*_: object) -> None:
        there = found()
        if there is None or there.comm is None:
            shell.events.unregister("post_run_cell", refresh)
        else:
            there.displayed.refresh_after_cell()

    shell.events.register("post_run_cell", refresh)
