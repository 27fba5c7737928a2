"""Ctrl-C: raise KeyboardInterrupt, and remember it.

Until `listen`, the handler of the package (`weal.cli`) ends the program. After that an interrupt
raises KeyboardInterrupt and is remembered, because an import that it hits may end in another error
or in none. Where Python would print the exception and continue, as in the callback of a weak
reference, the signal is sent again a moment later.
"""

import signal
import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING

from weal.cli import end_at_once

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

RESEND_SECONDS = 0.02
_interrupted = False
_message = "stopped"
_repeats: list[threading.Timer] = []  # that send a signal again


def listen() -> None:
    """Install the handler, unless the program has one of its own."""
    global _interrupted, _message
    _interrupted, _message = False, "stopped"
    in_main = threading.current_thread() is threading.main_thread()
    if in_main and signal.getsignal(signal.SIGINT) in (signal.default_int_handler, end_at_once):
        signal.signal(signal.SIGINT, _interrupt)
        sys.unraisablehook = _unraisable


def ignore() -> None:
    """Ignore further interrupts at the end of a command."""
    if signal.getsignal(signal.SIGINT) is _interrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    while _repeats:
        repeat = _repeats.pop()
        repeat.cancel()
        repeat.join()


def was_interrupted() -> bool:
    """Whether Ctrl-C was pressed."""
    return _interrupted


def message() -> str:
    """The line to print at the end of an interrupted command."""
    return _message


def explain(message: str) -> None:
    """Set the line to print at the end of an interrupted command."""
    global _message
    _message = message


def _interrupt(_: int, __: FrameType | None) -> None:
    global _interrupted
    _interrupted = True
    raise KeyboardInterrupt


def _unraisable(about: "UnraisableHookArgs") -> None:
    if not issubclass(about.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(about)
        return
    repeat = threading.Timer(RESEND_SECONDS, signal.raise_signal, [signal.SIGINT])
    repeat.start()
    _repeats.append(repeat)
