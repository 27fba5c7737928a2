"""The command line: `weal COMMAND ...`.

    main          the program: groups of commands, exit codes, errors
    options       options that several commands share; stores and campaigns opened for a command
    screen        output: tables and JSON on stdout, messages and progress on stderr
    interrupts    Ctrl-C
    commands      one module for each group of commands

Ctrl-C during the imports ends the program with one line and exit code 130 instead of a traceback:
nothing has begun by then. The handler is set only for the program `weal`, and only until
`interrupts.listen` replaces it; a program that imports this package keeps its own. It is set before
slow imports.
"""

import os
import signal
import sys

INTERRUPTED = 130  # exit code


def end_at_once(_: int, __: object) -> None:
    """Handle Ctrl-C before a command has begun."""
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
