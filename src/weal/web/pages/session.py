"""The person's name, and log out.

A token with a name is that of the person; others give a name once, which a cookie of the browser
keeps. Logging out ends the session of this browser; a person who may write, or who has a token of
their own, can also end every session of the token, as for a lost phone. The token itself stays
valid (`weal token revoke`, `weal serve --new-token`).
"""

from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, HTTPException, Response

from weal.store.events import MAX_WHO, check_text
from weal.web.access import cookie_name
from weal.web.login import is_local
from weal.web.request import MAX_BACK_LETTERS, WHO_COOKIE, FormToken, RequestContext, ServerRead

router = APIRouter()
NAME_COOKIE_SECONDS = 365 * 24 * 3600


@router.post("/who", status_code=303)
def set_name(
    context: ServerRead,
    _: FormToken,
    name: Annotated[str, Form(max_length=MAX_WHO)],
    back: Annotated[str, Form(max_length=MAX_BACK_LETTERS)] = "/",
) -> Response:
    """Store the name of the person in a cookie of this browser."""
    cookie = quote(check_text(name.strip(), "your name", MAX_WHO), safe="")
    place = quote(back, safe="/?=&%+") if is_local(back) else "/"
    answer = context.redirect(context.address(place))
    answer.set_cookie(
        WHO_COOKIE, cookie, max_age=NAME_COOKIE_SECONDS, httponly=True, samesite="strict",
        path=context.server.policy.cookie_path, secure=_is_secure(context),
    )  # fmt: skip
    return answer


@router.get("/logout")
def show_session(context: ServerRead) -> Response:
    """The session of this browser and its end."""
    visit = context.visit
    ends = visit.session.expires if visit and visit.session else None
    until = datetime.fromtimestamp(ends, UTC) if ends else None
    return context.page("logout.html", actor=visit.actor if visit else None, until=until)


@router.post("/logout", status_code=303)
def log_out(
    context: ServerRead,
    _: FormToken,
    everywhere: Annotated[bool, Form()] = False,
) -> Response:
    """End the session of this browser, or all sessions of its token."""
    visit, sessions = context.visit, context.server.policy.access.sessions
    if everywhere and context.is_read_only and not context.has_own_name:
        raise HTTPException(403, "With a read-only token you can log out only this browser.")
    if everywhere and visit is not None:
        sessions.end_all(visit.token)
    elif visit is not None and visit.session is not None:
        sessions.end(visit.secret)
    policy = context.server.policy
    answer = context.redirect(context.address("/"))
    answer.delete_cookie(
        cookie_name(policy.port), policy.cookie_path, httponly=True, samesite="strict"
    )
    return answer


def _is_secure(context: RequestContext) -> bool:
    """Whether cookies of this request are for https alone."""
    return context.server.policy.secure or context.request.url.scheme == "https"
