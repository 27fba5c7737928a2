"""`weal completion SHELL`: the script that makes a shell complete our words."""

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


EXAMPLES = """\b
Example:
  $ eval "$(weal completion bash)"        # in ~/.bashrc
  $ eval "$(weal completion zsh)"         # in ~/.zshrc
  $ weal completion fish | source         # in ~/.config/fish/config.fish"""


@click.command(short_help="Let the shell complete words.", epilog=EXAMPLES)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that lets SHELL complete commands, options and names of campaigns."""
    found = get_completion_class(shell)
    if found is None:
        raise ValueError(f"click knows no completion for {shell}; there are {', '.join(SHELLS)}")
    click.echo(found(context.find_root().command, {}, "weal", "_WEAL_COMPLETE").source())
