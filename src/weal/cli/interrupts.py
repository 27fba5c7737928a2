"""Ctrl-C, heard whatever is under way.

Until `listen`, the handler of the package (`weal.cli`) ends the program. From then on an interrupt
raises KeyboardInterrupt, as ever, and is remembered: an import that it hits may end in another
error, or in none. Where Python would print it and go on, as in the callback of a weak
reference, it is sent again a moment later.
"""

import signal
import sys
import threading
from types import FrameType
from typing import Any

from weal.cli import end_at_once

RESEND_SECONDS = 0.02  # seconds
_heard = False
_words = "stopped"
_repeats: list[threading.Timer] = []  # interrupts that are to be sent again


def listen() -> None:
    """From now on, remember interrupts; where somebody else handles them, they are left alone."""
    global _heard, _words
    _heard, _words = False, "stopped"
    in_main = threading.current_thread() is threading.main_thread()
    if in_main and signal.getsignal(signal.SIGINT) in (signal.default_int_handler, end_at_once):
        signal.signal(signal.SIGINT, _interrupt)
        sys.unraisablehook = _unraisable


def ignore() -> None:
    """The command is over: an interrupt has nothing to stop any more."""
    if signal.getsignal(signal.SIGINT) is _interrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    while _repeats:
        repeat = _repeats.pop()
        repeat.cancel()
        repeat.join()


def was_interrupted() -> bool:
    """Whether there was one."""
    return _heard


def words() -> str:
    """What is said of it at the end."""
    return _words


def explain(words: str) -> None:
    """Say this of it at the end."""
    global _words
    _words = words


def _interrupt(_: int, __: FrameType | None) -> None:
    global _heard
    _heard = True
    raise KeyboardInterrupt


def _unraisable(about: Any) -> None:
    if not issubclass(about.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(about)
        return
    repeat = threading.Timer(RESEND_SECONDS, signal.raise_signal, [signal.SIGINT])
    repeat.start()
    _repeats.append(repeat)
