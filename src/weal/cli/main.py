"""The program `weal`: groups of commands, exit codes, errors.

    stdout     data: tables, paths, JSON
    stderr     progress, notes, and one line for an error that ends in advice; with --json it is
               {"error": {"code": ..., "message": ..., "exit_code": ...}}
    exit code  0 success, 1 failure, 2 wrong usage or input, 3 no candidate left, 130 Ctrl-C,
               141 stdout is closed (as for programs that SIGPIPE ends)

Commands are imported on demand, and import slow packages only where they use them, so that `weal
--help` starts as fast as Python and click.
"""

import io
import os
import shlex
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from types import TracebackType
from typing import TextIO

import click

from weal import __version__
from weal.cli import interrupts
from weal.cli.screen import mask_line, mask_passwords, say, say_json, stop_timers
from weal.errors import Exhausted, UnknownCampaign, UnknownId, WealError, error_code
from weal.logs import record

_SECTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "Benchmark": {
        "weal.cli.commands.bench": ("bench", "simulate"),
    },
    "Campaign": {
        "weal.cli.commands.new": ("new", "add", "refine"),
        "weal.cli.commands.ask": ("ask",),
        "weal.cli.commands.tell": ("tell", "skip", "withdraw"),
        "weal.cli.commands.status": ("status", "plot", "export", "settings"),
        "weal.cli.commands.campaigns": ("list", "copy", "archive"),
        "weal.cli.commands.best": ("best",),
        "weal.cli.commands.predict": ("predict",),
        "weal.cli.commands.show": ("show", "log"),
        "weal.cli.commands.serve": ("serve",),
        "weal.cli.commands.mcp": ("mcp",),
        "weal.cli.commands.token": ("token",),
    },
    "Other": {
        "weal.cli.commands.doctor": ("doctor", "backup"),
        "weal.cli.commands.samples": ("samples",),
        "weal.cli.commands.serve": ("completion",),
    },
}
_INSTEAD = {  # of commands that people expect
    "delete": "`weal archive NAME` takes a campaign out of lists; nothing is deleted",
    "remove": "`weal archive NAME` takes a campaign out of lists; nothing is deleted",
    "rm": "`weal archive NAME` takes a campaign out of lists; nothing is deleted",
    "undo": "`weal withdraw NAME ID` withdraws a label, `weal skip NAME ID --undo` undoes a skip, "
    "and `weal tell NAME ID VALUE --replace` corrects a label",
    "rename": "the name of a campaign cannot change, because it is part of its log; "
    "`weal settings NAME --title TEXT` changes the displayed title",
    "import": "`weal tell NAME --file FILE` reads labels, `weal add NAME FILE` candidates",
    "suggest": "`weal ask NAME` suggests rows",
    "create": "`weal new NAME --pool FILE` creates a campaign",
    "label": "`weal tell NAME ID VALUE` saves a label",
    "edit": "`weal tell NAME ID VALUE --replace` corrects a label",
    "history": "`weal log NAME` lists all events",
    "web": "`weal serve` opens the page",
}
_EXTRAS = {"bench": "bench", "simulate": "bench", "plot": "campaign", "serve": "web", "mcp": "mcp"}
BROKEN_PIPE_EXIT_CODE = 141
_CODES: tuple[tuple[type[BaseException], int], ...] = (  # the first that fits
    (click.ClickException, 2),
    (Exhausted, 3),
    (ValueError, 2),
    (UnknownId, 2),
    (UnknownCampaign, 2),
    (WealError, 1),
    (OSError, 1),
    (ModuleNotFoundError, 1),
)
_COMMAND_MODULES = {
    command: module
    for modules in _SECTIONS.values()
    for module, commands in modules.items()
    for command in commands
}


class _LazyGroup(click.Group):
    """The commands of `_SECTIONS`, each imported when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMAND_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMAND_MODULES:
            return None
        names = vars(import_module(_COMMAND_MODULES[cmd_name]))
        command: click.Command = names.get(f"{cmd_name}_") or names[cmd_name]
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] in _INSTEAD and args[0] not in _COMMAND_MODULES:
            ctx.fail(f"There is no command {args[0]!r}: {_INSTEAD[args[0]]}.")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, modules in _SECTIONS.items():
            names = [name for commands in modules.values() for name in commands]
            found = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(f"{title} Commands"):
                formatter.write_dl([(name, one.get_short_help_str()) for name, one in found if one])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="weal %(version)s")
def weal() -> None:
    """Active learning for expensive measurements: suggests which row to measure next, and why."""


def main(args: Sequence[str] | None = None) -> None:
    """Run a command and exit with its code."""
    words = sys.argv[1:] if args is None else list(args)
    code = 0
    try:
        interrupts.listen()
        mask_passwords([*words, os.environ.get("WEAL_STORE", "")])
        sys.excepthook = partial(_report_bug, words)
        warnings.showwarning = lambda message, *_, **__: _note(message)
        code = _run_and_flush(words)
    except BaseException:
        if not interrupts.was_interrupted():
            raise  # a bug; but Ctrl-C during an import may raise another error
        code = 130
    finally:
        interrupts.ignore()
        stop_timers()
    if code == 130:
        _print_failure(words, KeyboardInterrupt(), interrupts.message(), code)
    sys.exit(code)


def _run_and_flush(words: Sequence[str]) -> int:
    """Run the command and flush stdout; the exit code."""
    if sys.stdout is None:
        return _print_error("stdout is closed, so nothing was done: use >/dev/null instead", 1)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # escape characters it cannot encode
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _exit_code(words)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # as of `| head`
        _discard_output(sys.stdout)
        return BROKEN_PIPE_EXIT_CODE
    except OSError as error:
        _discard_output(sys.stdout)
        return _print_error(f"stdout cannot be written: {error.strerror}", 1)


def _discard_output(stream: TextIO) -> None:
    """Discard buffered output: Python would try to write it again at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _exit_code(words: Sequence[str]) -> int:
    try:
        return _run(words)
    except click.exceptions.Exit as error:  # of --help and --version
        return error.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except BrokenPipeError:
        raise
    except (Exception, KeyboardInterrupt) as error:
        if interrupts.was_interrupted() or isinstance(error, KeyboardInterrupt | click.Abort):
            return 130
        code = next((code for kind, code in _CODES if isinstance(error, kind)), None)
        if code is None:
            raise
        code = getattr(error, "exit_code", code)
        record(
            "cli",
            "WARNING",
            "command failed",
            command=next(iter(words), ""),
            code=error_code(error),
        )
        return _print_failure(words, error, _error_text(error, words), code)


def _error_text(error: BaseException, words: Sequence[str]) -> str:
    if isinstance(error, click.ClickException):
        return error.format_message() + _hint(error)
    if isinstance(error, ModuleNotFoundError):
        return _missing_package(error, next(iter(words), ""))
    for_shell = getattr(error, "for_shell", None)  # of a TableError, whose module loads later
    return str(error if for_shell is None else for_shell())


def _run(words: Sequence[str]) -> int:
    """Invoke the command; click's own `main` treats pipes and Ctrl-C differently."""
    if "_WEAL_COMPLETE" in os.environ:
        weal.main(words, "weal")
    with weal.make_context("weal", list(words), obj=shlex.join(["weal", *words])) as context:
        done = weal.invoke(context)
    code = done if isinstance(done, int) else 0
    record("cli", "INFO", "command ended", command=next(iter(words), ""), exit_code=code)
    return code


def _print_error(message: str, code: int) -> int:
    """One line on stderr."""
    say(f"weal: {' '.join(message.split())}")
    return code


def _print_failure(words: Sequence[str], error: BaseException, message: str, code: int) -> int:
    """Print one line on stderr that says why the command failed; for --json, as JSON."""
    options = words[: words.index("--")] if "--" in words else words
    if "--json" not in options:
        return _print_error(message, code)
    name = "wrong_usage" if isinstance(error, click.ClickException) else error_code(error)
    said = mask_line(" ".join(message.split()))
    say_json({"error": {"code": name, "message": said, "exit_code": code}})
    return code


def _note(message: Warning | str) -> None:
    _print_error(f"note: {message}", 0)


def _hint(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f" (see `{context.command_path} --help`)" if context else ""


def _missing_package(error: ModuleNotFoundError, command: str) -> str:
    if error.name is None:  # raised by weal, with advice of its own
        return str(error)
    from weal.cli.commands.doctor import extra_of

    package = error.name.partition(".")[0]
    extra = _EXTRAS.get(command) or extra_of(package)
    return f'this command needs the package {package}: pip install "weal[{extra}]"'


def _report_bug(
    words: Sequence[str],
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType | None,
) -> None:
    """Print one line for a bug; with WEAL_TRACEBACK=1 the whole traceback."""
    if os.environ.get("WEAL_TRACEBACK"):
        sys.__excepthook__(kind, error, trace)
        return
    message = (
        f"a bug in weal: {kind.__name__}: {error}. "
        "Please report it with the traceback, which WEAL_TRACEBACK=1 shows"
    )
    _print_failure(words, error, message, 1)
