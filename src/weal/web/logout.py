"""The page of a session: who is logged in until when, and the forms that end it.

Logging out ends the session of this browser. Whoever may write can also end every session of the
token, for a telephone that was lost; the token itself stays valid (`weal serve --new-token` makes
another).
"""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Form, HTTPException, Response

from weal.web.desk import Sitting, genuine
from weal.web.token import cookie_name

router = APIRouter()


@router.get("/logout")
def show_session(seat: Sitting) -> Response:
    """Who is logged in, and until when."""
    visit = seat.visit
    ends = visit.session.expires if visit and visit.session else None
    until = datetime.fromtimestamp(ends, UTC) if ends else None
    return seat.page("logout.html", principal=visit.principal if visit else None, until=until)


@router.post("/logout", status_code=303)
def log_out(
    seat: Sitting,
    _: Annotated[None, Depends(genuine)],
    everywhere: Annotated[bool, Form()] = False,
) -> Response:
    """End the session of this browser, or all sessions of its token."""
    visit, sessions = seat.visit, seat.desk.door.access.sessions
    if everywhere and seat.is_read_only:
        raise HTTPException(403, "With a token for reading you can log out this browser alone.")
    if everywhere and visit is not None:
        sessions.end_all(visit.token)
    elif visit is not None and visit.session is not None:
        sessions.end(visit.secret)
    answer = seat.go("/")
    answer.delete_cookie(cookie_name(seat.desk.door.port), httponly=True, samesite="strict")
    return answer
