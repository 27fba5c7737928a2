"""`weal serve`: the pages of a store's campaigns, for a browser.

`weal completion SHELL`: the script that makes a shell complete our words.
"""

from pathlib import Path

import click
from click.shell_completion import get_completion_class

from weal.cli.options import command, store_named
from weal.cli.screen import say, show

_file = click.Path(path_type=Path, exists=True, dir_okay=False)


@command("Label and watch campaigns in a browser.", "weal serve --open")
@click.option("--store", metavar="URL", help="Campaigns [default: WEAL_STORE, else weal.db].")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8765,
    show_default=True,
    help="Port of the pages.",
)
@click.option("--open", "open_it", is_flag=True, help="Open the page in a browser.")
@click.option(
    "--read-only", is_flag=True, help="Show, with a token of its own; refuse every write."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--allow-host", "allowed", multiple=True, metavar="NAME", help="With --host: names.")
@click.option("--certfile", type=_file, help="TLS certificate.")
@click.option("--keyfile", type=_file, help="Its key.")
@click.option("--new-token", is_flag=True, help="Make new tokens and end all sessions.")
def serve(
    store: str | None,
    port: int,
    open_it: bool,
    read_only: bool,
    host: str,
    allowed: tuple[str, ...],
    certfile: Path | None,
    keyfile: Path | None,
    new_token: bool,
) -> None:
    """Serve every campaign of a store to browsers on this machine, until Ctrl-C."""
    store_named(store)
    from weal.web.server import Address, Server

    address = Address(host, port, allowed, certfile, keyfile)
    server = Server(store, address, read_only=read_only, new_token=new_token)
    show(f"weal: {server.url}   (Ctrl-C ends it)")
    if not server.address.is_local and certfile is None:
        say(
            "weal: nothing is encrypted: give --certfile and --keyfile, or put a proxy with TLS "
            "before it; the token goes over the wire as it is"
        )
    if open_it:
        click.launch(server.one_time_url())
    server.run()


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
