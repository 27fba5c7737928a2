"""`weal token`: tokens with a name, for programs and people that use `weal serve`."""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, TypedDict

import click

from weal.cli.options import (
    campaign_names,
    examples,
    open_store_url,
    store_url,
    with_parameters,
)
from weal.cli.screen import say, show, show_json, show_table

if TYPE_CHECKING:
    from weal.store.protocol import Store
    from weal.store.tokens import Token


class TokenJson(TypedDict):
    """A token as `--json` shows it, without its secret."""

    name: str
    state: str
    may: list[str]
    campaigns: list[str] | None
    created: datetime
    expires: datetime | None
    revoked: datetime | None


@click.group(
    short_help="Make, list and revoke tokens for programs and people.",
    epilog=examples("weal token add robot-1 --may ask,tell --campaign alloys", "weal token list"),
)
def token() -> None:
    """Manage tokens for `weal serve` and its API: name, permissions and expiry.

    The store keeps only a digest of each token; the token itself is shown once.
    """


@token.command("add", epilog=examples("weal token add robot-1 --may ask,tell --campaign alloys"))
@with_parameters(
    click.argument("name"),
    click.option(
        "--may",
        metavar="WORDS",
        required=True,
        help="Some of read, ask, tell, skip, manage, or a role: read, measure (read, ask, tell, "
        "skip), manage (everything).",
    ),
    click.option(
        "--campaign",
        "campaigns",
        multiple=True,
        metavar="NAME",
        shell_complete=campaign_names,
        help="Only this campaign; may be repeated [default: all].",
    ),
    click.option(
        "--expires",
        metavar="TIME",
        help="Expiry of the token: 12h, 30d, 2w, or a date such as 2027-01-31 [default: none].",
    ),
)
def add(
    name: str, may: str, campaigns: tuple[str, ...], expires: str | None, store: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Create a token and print it; it is not shown again.

    Events record changes made with the token under NAME.
    """
    from weal.campaign.config import seconds_left
    from weal.store.actors import parse_permissions
    from weal.store.tokens import check_token_name, decide_add, digest_of, find_named, new_secret

    name, words, secret = check_token_name(name), parse_permissions(may), new_secret()
    store_url(store)
    with open_store_url(store) as opened:
        only = _known_campaigns(opened, campaigns)
        seconds = None if expires is None else seconds_left(expires, opened.now())
        made = opened.write_tokens(decide_add(name, digest_of(secret), words, only, seconds))
        told = {"token": secret, **_plain(find_named(made, name), opened.now())}
        _show_or_revoke(
            opened, name, (lambda: show_json(told)) if as_json else (lambda: show(secret))
        )
    say(f"the token of {name!r} is shown once: keep it where only {name!r} can read it")


@token.command("list", epilog=examples("weal token list --json"))
@with_parameters()
def list_(store: str | None, as_json: bool) -> None:
    """List all tokens: names, permissions, campaigns and expiry, without secrets."""
    store_url(store)
    with open_store_url(store) as opened:
        found = [_plain(one, opened.now()) for one in opened.tokens()]
    if as_json:
        show_json(found)
    elif found:
        show_table(["name", "may", "campaigns", "state", "created", "expires"], _cells(found))
    else:
        say("there are no tokens: create one with `weal token add NAME --may measure`")


@token.command("limit", epilog=examples("weal token limit robot-1 --may tell --expires 7d"))
@with_parameters(
    click.argument("name"),
    click.option("--may", metavar="WORDS", help="Permissions to keep, as in `weal token add`."),
    click.option(
        "--campaign",
        "campaigns",
        multiple=True,
        metavar="NAME",
        shell_complete=campaign_names,
        help="Only this campaign; may be repeated [default: those it has].",
    ),
    click.option(
        "--expires",
        metavar="TIME",
        help="Expiry of the token: 12h, 30d, 2w, or a date such as 2027-01-31 [default: as it is].",
    ),
)
def limit(
    name: str, may: str | None, campaigns: tuple[str, ...], expires: str | None,
    store: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Remove permissions or campaigns from a token, or let it expire earlier; nothing is added."""
    from weal.campaign.config import seconds_left
    from weal.store.actors import parse_permissions
    from weal.store.tokens import decide_limit, find_named

    words = None if may is None else parse_permissions(may)
    store_url(store)
    with open_store_url(store) as opened:
        seconds = None if expires is None else seconds_left(expires, opened.now())
        only = _known_campaigns(opened, campaigns)
        found = find_named(opened.write_tokens(decide_limit(name, words, only, seconds)), name)
        told = _plain(found, opened.now())
    if as_json:
        show_json(told)
    else:
        show_table(["name", "may", "campaigns", "state", "created", "expires"], _cells([told]))


@token.command("revoke", epilog=examples("weal token revoke robot-1"))
@with_parameters(click.argument("name"))
def revoke(name: str, store: str | None, as_json: bool) -> None:
    """Revoke a token: every server of the store refuses it from now on."""
    from weal.store.tokens import decide_revoke, find_named

    store_url(store)
    with open_store_url(store) as opened:
        found = find_named(opened.write_tokens(decide_revoke(name)), name)
        now = opened.now()
    if as_json:
        show_json(_plain(found, now))
    else:
        say(f"the token {found.name!r} is revoked, and its sessions have ended")


def _known_campaigns(store: "Store", names: tuple[str, ...]) -> frozenset[str] | None:
    """These campaigns; UnknownCampaign if one does not exist."""
    for name in names:
        store.head(name)
    return frozenset(names) or None


def _show_or_revoke(store: "Store", name: str, show_it: Callable[[], None]) -> None:
    """Print the token; if that fails, revoke it, because nobody has seen it."""
    import sys

    from weal.store.tokens import decide_revoke

    try:
        show_it()
        sys.stdout.flush()
    except OSError:
        store.write_tokens(decide_revoke(name))
        raise


def _plain(one: "Token", now: datetime) -> TokenJson:
    from weal.store.actors import PERMISSIONS

    return {
        "name": one.name,
        "state": one.state(now),
        "may": [word for word in PERMISSIONS if word in one.may],
        "campaigns": None if one.campaigns is None else sorted(one.campaigns),
        "created": one.created,
        "expires": one.expires,
        "revoked": one.revoked,
    }


def _cells(found: list[TokenJson]) -> list[list[str]]:
    from weal.store.actors import permissions_text

    return [
        [
            one["name"],
            permissions_text(frozenset(one["may"])),
            "all" if one["campaigns"] is None else ", ".join(one["campaigns"]),
            one["state"],
            f"{one['created']:%Y-%m-%d %H:%M}",
            f"{one['expires']:%Y-%m-%d %H:%M}" if one["expires"] else "never",
        ]
        for one in found
    ]
