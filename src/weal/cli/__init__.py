"""The command line.

Ctrl-C while the command is still being imported ends it with one line and exit code 130: nothing
has begun by then, and KeyboardInterrupt would be a traceback. The handler is for the program `weal`
alone, and only until `interrupts.listen` takes over; a program that imports this keeps its own.
Little is imported before it is set, as that takes time.
"""

import os
import signal
import sys

INTERRUPTED = 130  # exit code


def end_at_once(_: int, __: object) -> None:
    """The handler of Ctrl-C before a command has begun."""
    os.write(2, b"weal: stopped\n")
    os._exit(INTERRUPTED)


def _is_the_program() -> bool:
    name = os.path.basename((getattr(sys, "argv", None) or [""])[0])
    return name in ("weal", "weal.exe")


if _is_the_program() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    try:  # noqa: SIM105  contextlib takes time
        signal.signal(signal.SIGINT, end_at_once)
    except ValueError:  # imported by a thread
        pass
