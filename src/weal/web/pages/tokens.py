"""The page Tokens: who may do what, for people who may manage all campaigns.

A token is shown once, in the answer to the form that makes it; pages are not cached. A person
whose token expires creates only tokens that expire by then.
"""

from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Form, HTTPException, Response

from weal.campaign.config import seconds_left
from weal.errors import NotPermitted
from weal.store.actors import PERMISSIONS, parse_permissions, permissions_text
from weal.store.tokens import (
    Token,
    check_token_name,
    decide_add,
    decide_limit,
    decide_revoke,
    digest_of,
    find_named,
    new_secret,
)
from weal.web.actors import require
from weal.web.request import RequestContext, ServerManage, ServerRead

router = APIRouter()
TokenName = Annotated[str, Form(max_length=200)]
Words = Annotated[list[str], Form(max_length=20)]
Campaigns = Annotated[list[str], Form(max_length=10_000)]
Scope = Annotated[str, Form(pattern="^(all|only|same)$")]
End = Annotated[str, Form(max_length=100)]


@router.get("/tokens")
def list_tokens(context: ServerRead) -> Response:
    """All tokens of the store, without their secrets."""
    require(context.request, "manage")
    if not context.may_create:
        raise NotPermitted(
            "only a token that may manage all campaigns shows the tokens: log in with one"
        )
    return _page(context)


@router.post("/tokens")
def add(
    context: ServerManage, name: TokenName, may: Words = [], scope: Scope = "all",  # noqa: B006
    campaign: Campaigns = [], expires: End = "",  # noqa: B006
) -> Response:  # fmt: skip
    """Make a token and show it, this once."""
    store, secret = context.server.store, new_secret()
    name, words = check_token_name(name.strip()), parse_permissions(",".join(may))
    only, ends = _chosen(context, scope, campaign), _end(context, expires)
    made = store.write_tokens(decide_add(name, digest_of(secret), words, only, *ends))
    return _page(context, made=find_named(made, name), secret=secret)


@router.post("/tokens/limit", status_code=303)
def limit(
    context: ServerManage, name: TokenName, may: Words = [], scope: Scope = "same",  # noqa: B006
    campaign: Campaigns = [], expires: End = "",  # noqa: B006
) -> Response:  # fmt: skip
    """Take permissions or campaigns from a token, or end it earlier."""
    only = None if scope == "same" else _chosen(context, scope, campaign)
    end = seconds_left(expires, context.server.store.now()) if expires.strip() else None
    decide = decide_limit(name, parse_permissions(",".join(may)), only, end)
    context.server.store.write_tokens(decide)
    return context.redirect(context.address("/tokens"))


@router.post("/tokens/revoke", status_code=303)
def revoke(context: ServerManage, name: TokenName) -> Response:
    """Revoke a token."""
    context.server.store.write_tokens(decide_revoke(name))
    return context.redirect(context.address("/tokens"))


def _page(context: RequestContext, made: Token | None = None, secret: str = "") -> Response:
    store = context.server.store
    return context.page(
        "tokens/page.html", tokens=store.tokens(), made=made, secret=secret, now=store.now(),
        campaigns=store.campaigns(), permissions=PERMISSIONS, words_of=permissions_text,
    )  # fmt: skip


def _chosen(context: RequestContext, scope: str, names: list[str]) -> frozenset[str] | None:
    """The campaigns of a form; None: all."""
    if scope == "all":
        return None
    for name in names:
        context.server.store.head(name)  # UnknownCampaign
    if not names:
        raise HTTPException(422, "Choose at least one campaign, or all campaigns.")
    return frozenset(names)


def _end(context: RequestContext, expires: str) -> tuple[float | None, datetime | None]:
    """The seconds that were typed, and when the token of this person ends; None: never."""
    store, actor = context.server.store, context.actor
    now = store.now()
    typed = seconds_left(expires, now) if expires.strip() else None
    name = actor.name if actor else None
    own = next((one.expires for one in store.tokens() if one.name == name), None)
    if typed is not None and own is not None and now + timedelta(seconds=typed) > own:
        raise ValueError(
            f"your own token ends on {own:%Y-%m-%d %H:%M} UTC and creates none that "
            "ends later: choose an earlier end"
        )
    return typed, own
