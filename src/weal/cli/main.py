"""The command line: `weal COMMAND ...`.

    stdout     data: tables, paths, JSON
    stderr     talk: progress, notes, and one line that says what went wrong and what to do
    exit code  0 fine, 1 failed, 2 wrong usage or input, 3 no candidate left, 130 Ctrl-C

Commands live in their rooms and are imported when needed, and what they need is imported where it
is used: `weal --help` takes no longer than Python and click take to start.
"""

import os
import re
import shlex
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from types import TracebackType

import click

from weal import __version__
from weal.cli.screen import say
from weal.errors import Exhausted, UnknownCampaign, UnknownId, WealError

_SECTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "Benchmark": {
        "weal.cli.bench": ("bench", "simulate"),
    },
    "Campaign": {
        "weal.cli.new_add": ("new", "add"),
        "weal.cli.ask_tell": ("ask", "tell", "skip", "withdraw"),
        "weal.cli.view": ("status", "plot", "export", "settings", "list"),
    },
    "Other": {
        "weal.cli.doctor": ("doctor",),
        "weal.cli.completion": ("completion",),
    },
}
_HOMES = {
    command: room
    for rooms in _SECTIONS.values()
    for room, commands in rooms.items()
    for command in commands
}
_LOGIN = re.compile(r"(:/+[^\s:/@]*:)[^\s]*@")


class _Rooms(click.Group):
    """The commands of `_SECTIONS`, each imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_HOMES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _HOMES:
            return None
        room = vars(import_module(_HOMES[cmd_name]))
        command: click.Command = room.get(f"{cmd_name}_") or room[cmd_name]
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, rooms in _SECTIONS.items():
            names = [name for commands in rooms.values() for name in commands]
            found = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(f"{title} Commands"):
                formatter.write_dl([(name, one.get_short_help_str()) for name, one in found if one])


@click.group(cls=_Rooms, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="weal %(version)s")
def weal() -> None:
    """Which point to measure next, and how sure we are."""


def main(args: Sequence[str] | None = None) -> None:
    """Run a command and leave with its exit code."""
    words = sys.argv[1:] if args is None else list(args)
    sys.excepthook = _unexpected
    warnings.showwarning = lambda message, *_, **__: _note(message)
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
    except Exhausted as error:
        return _complain(str(error), 3)
    except (ValueError, UnknownId, UnknownCampaign) as error:
        return _complain(str(error), 2)
    except (WealError, OSError) as error:
        return _complain(str(error), 1)


def _complain(message: str, code: int) -> int:
    """One line on stderr; a password that came along in the name of a store is taken out."""
    say(_LOGIN.sub(r"\1***@", f"weal: {' '.join(message.split())}"))
    return code


def _note(message: Warning | str) -> None:
    _complain(f"note: {message}", 0)


def _hint(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f" (see `{context.command_path} --help`)" if context else ""


def _missing(error: ModuleNotFoundError) -> str:
    if error.name is None:  # raised by us, with advice of its own
        return str(error)
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
