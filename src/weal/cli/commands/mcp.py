"""`weal mcp`: the campaigns of a store as tools of an assistant (Model Context Protocol)."""

import click

from weal.cli.options import command, open_store_url


@command(
    "Give an assistant tools to ask, tell and explain.",
    "weal mcp --store sqlite:///weal.db --may measure",
)
@click.option(
    "--store", metavar="URL", help="URL of the store [default: WEAL_STORE, else weal.db]."
)
@click.option(
    "--may",
    metavar="WORDS",
    default="measure",
    show_default=True,
    help="Permissions of the assistant: read, ask, tell, skip, or measure for all of these.",
)
@click.option(
    "--campaign",
    "campaigns",
    multiple=True,
    metavar="NAME",
    help="Only this campaign; repeatable [default: all].",
)
@click.option(
    "--by",
    default="assistant",
    show_default=True,
    metavar="NAME",
    help="Name of the assistant in the history.",
)
def mcp(store: str | None, may: str, campaigns: tuple[str, ...], by: str) -> None:
    """Speak the Model Context Protocol on standard input and output, for an assistant program.

    The program starts this command: add `weal mcp --store URL` to its list of servers. The
    assistant can read campaigns, ask for rows, tell labels and explain them; it cannot create,
    change or remove a campaign. Needs the extra mcp: pip install 'weal[mcp]'.
    """
    from weal.assistant.server import serve_stdio
    from weal.assistant.tools import CampaignTools
    from weal.store.actors import Actor, parse_permissions

    permissions = parse_permissions(may) - {"manage"}
    if not permissions:
        raise ValueError(f"--may is {may!r}; an assistant may read, ask, tell, skip, or measure")
    actor = Actor(by, frozenset(permissions), frozenset(campaigns) or None)
    with open_store_url(store) as place:
        serve_stdio(CampaignTools(place, actor))
