"""Usage, description and options of each command of `weal`, as Markdown made from click."""

import re
from collections.abc import Iterator
from inspect import cleandoc

import click

from weal.cli.main import weal


def commands(
    group: click.Group = weal, words: tuple[str, ...] = ("weal",)
) -> Iterator[tuple[str, click.Command, click.Context]]:
    """All commands, groups left out, by their words: "weal bench run"."""
    context = click.Context(group, info_name=words[-1])
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        path = " ".join((*words, name))
        if isinstance(command, click.Group):
            yield from commands(command, (*words, name))
        elif command is not None:
            yield path, command, click.Context(command, info_name=path)


def text(command: click.Command, context: click.Context) -> str:
    """Usage, description and a table of the options."""
    usage = " ".join(command.get_usage(context).removeprefix("Usage:").split())
    about = cleandoc(command.help or "")
    options = [one for one in command.params if isinstance(one, click.Option)]
    rows = [record for one in options if (record := one.get_help_record(context))]
    table = [f"| `{_cell(names)}` | {_code(_cell(words))} |" for names, words in rows]
    head = ["| option | |", "|---|---|"] if table else []
    return "\n".join(["```text", usage, "```", "", about, "", *head, *table, ""])


def _cell(words: str) -> str:
    return " ".join(words.replace("|", "\\|").replace(" RANGE", "").split())


def _code(words: str) -> str:
    """Options, variables and what is written as URLs in a sentence, as code."""
    parts = words.split("`")  # every second one is code already
    plain = r"(?<![\w-])(--?[a-z][a-z-]*|WEAL_[A-Z]+|\w+:///?[\w.:]+\w)"
    parts[::2] = [re.sub(plain, r"`\1`", part) for part in parts[::2]]
    return "`".join(parts)


def pages() -> dict[str, str]:
    """A file for each command, by its place."""
    return {
        f"_commands/{path.removeprefix('weal ').replace(' ', '-')}.md": text(command, context)
        for path, command, context in commands()
    }
