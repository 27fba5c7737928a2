"""The command line: `weal COMMAND ...`.

    stdout     data: tables, paths, JSON
    stderr     talk: progress, notes, and one line that says what went wrong and what to do
    exit code  0 fine, 1 failed, 2 wrong usage or input, 130 stopped by Ctrl-C

Commands live in their rooms and are imported when needed, and what they need is imported where it
is used: `weal --help` takes no longer than Python and click take to start.
"""

import os
import shlex
import sys
from collections.abc import Sequence
from importlib import import_module
from types import TracebackType

import click

from weal import __version__
from weal.errors import WealError

_COMMANDS = {
    "bench": "weal.bench.commands:bench",
    "simulate": "weal.bench.commands:simulate",
}


class _Rooms(click.Group):
    """The commands of `_COMMANDS`, each imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, _, name = _COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command


@click.group(cls=_Rooms, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="weal %(version)s")
def weal() -> None:
    """Which point to measure next, and how sure we are."""


def main(args: Sequence[str] | None = None) -> None:
    """Run a command and leave with its exit code."""
    words = sys.argv[1:] if args is None else list(args)
    sys.excepthook = _unexpected
    sys.exit(_exit_code(words))


def _exit_code(words: Sequence[str]) -> int:
    try:
        done = weal.main(words, "weal", standalone_mode=False, obj=shlex.join(["weal", *words]))
        return done if isinstance(done, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        return _complain(error.format_message() + _hint(error), error.exit_code)
    except click.Abort:
        return _complain("stopped", 130)
    except ModuleNotFoundError as error:
        return _complain(_missing(error), 1)
    except ValueError as error:
        return _complain(str(error), 2)
    except (WealError, OSError) as error:
        return _complain(str(error), 1)


def _complain(message: str, code: int) -> int:
    click.echo(f"weal: {' '.join(message.split())}", err=True)
    return code


def _hint(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f" (see `{context.command_path} --help`)" if context else ""


def _missing(error: ModuleNotFoundError) -> str:
    return f'this needs the package {error.name}: pip install "weal[all]"'


def _unexpected(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """One line for a mistake of ours; WEAL_TRACEBACK=1 shows all of it."""
    if os.environ.get("WEAL_TRACEBACK"):
        sys.__excepthook__(kind, error, trace)
        return
    _complain(
        f"a mistake in weal: {kind.__name__}: {error}. "
        "Please report it with what WEAL_TRACEBACK=1 shows when it is set",
        1,
    )
