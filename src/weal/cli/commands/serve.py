"""`weal serve`: the pages of a store in a browser; `weal completion`: shell completion."""

from pathlib import Path

import click
from click.shell_completion import get_completion_class

from weal.cli.options import LOG_OPTIONS, command, store_url
from weal.cli.screen import say, show

_file = click.Path(path_type=Path, exists=True, dir_okay=False)


@command("Label and watch campaigns in a browser.", "weal serve --open")
@click.option(
    "--store", metavar="URL", help="URL of the store [default: WEAL_STORE, else weal.db]."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8765,
    show_default=True,
    help="TCP port.",
)
@click.option("--open", "open_it", is_flag=True, help="Open the page in a browser.")
@click.option("--read-only", is_flag=True, help="Refuse every write; uses a separate token.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--allow-host",
    "allowed",
    multiple=True,
    metavar="NAME",
    help="With --host or --proxy: host name that browsers use.",
)
@click.option(
    "--root-path",
    default="",
    metavar="PATH",
    help="Path below which a proxy serves the pages: /weal.",
)
@click.option(
    "--proxy",
    "proxies",
    multiple=True,
    metavar="ADDRESS",
    help="IP address of a trusted proxy, whose X-Forwarded-For and X-Forwarded-Proto headers are "
    "used.",
)
@click.option(
    "--rate-limit",
    type=click.FloatRange(0.0, 1e6),
    default=20.0,
    show_default=True,
    metavar="NUMBER",
    help="Maximum requests per second of each token and browser, averaged over 50 s; 0 for no "
    "limit.",
)
@click.option(
    "--named-only",
    is_flag=True,
    help="Accept only tokens of `weal token add`, and print no token.",
)
@click.option("--certfile", type=_file, help="TLS certificate (PEM).")
@click.option("--keyfile", type=_file, help="Key of the certificate (PEM).")
@click.option("--new-token", is_flag=True, help="Create new tokens and end all sessions.")
@LOG_OPTIONS[0]
@LOG_OPTIONS[1]
def serve(
    store: str | None,
    port: int,
    open_it: bool,
    read_only: bool,
    host: str,
    allowed: tuple[str, ...],
    root_path: str,
    proxies: tuple[str, ...],
    rate_limit: float,
    named_only: bool,
    certfile: Path | None,
    keyfile: Path | None,
    new_token: bool,
) -> None:
    """Serve the campaigns of a store to browsers on this machine until Ctrl-C."""
    store_url(store)
    from weal.web.server import Address, Server

    address = Address(
        host, port, allowed, certfile, keyfile, root_path.rstrip("/"), proxies, rate_limit,
        named_only,
    )  # fmt: skip
    server = Server(store, address, read_only=read_only, new_token=new_token)
    show(f"weal: {server.url}   (Ctrl-C stops it)")
    if named_only and not server.has_tokens():
        say("weal: nobody can log in yet: create a token with `weal token add NAME --may manage`")
    if not server.address.is_local and certfile is None:
        say(
            "weal: traffic, including the token, is not encrypted: give --certfile and --keyfile, "
            "or use a proxy with TLS"
        )
    if open_it:
        click.launch(server.one_time_url())
    server.run()


SHELLS = ("bash", "zsh", "fish")
COMPLETION_EXAMPLES = """\b
Example:
  $ eval "$(weal completion bash)"        # in ~/.bashrc
  $ eval "$(weal completion zsh)"         # in ~/.zshrc
  $ weal completion fish | source         # in ~/.config/fish/config.fish"""


@click.command(short_help="Set up shell completion.", epilog=COMPLETION_EXAMPLES)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that completes commands, options and campaign names in SHELL."""
    found = get_completion_class(shell)
    if found is None:
        raise ValueError(f"there is no completion for {shell}: choose one of {', '.join(SHELLS)}")
    click.echo(found(context.find_root().command, {}, "weal", "_WEAL_COMPLETE").source())
