"""Page 1: all campaigns, each with its labels, rows that are out, last activity, error trend."""

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Form, Response

from weal.store.events import MAX_WHO, check_text
from weal.web.desk import WHO, Seat, Sitting, genuine

router = APIRouter()
YEAR = 365 * 24 * 3600  # seconds for which a browser knows who sits there


@router.get("/")
def every_campaign(seat: Sitting) -> Response:
    """All campaigns."""
    found = [_summary(seat, name) for name in seat.desk.store.campaigns()]
    shown = [one for one in found if not one["ledger"].settings.get("hidden")]
    removed, now = len(found) - len(shown), seat.desk.store.now()
    return seat.page("campaigns/page.html", campaigns=shown, removed=removed, now=now)


@router.post("/who", status_code=303)
def say_who(
    seat: Sitting,
    _: Annotated[None, Depends(genuine)],
    name: Annotated[str, Form(max_length=MAX_WHO)],
    back: Annotated[str, Form(max_length=4000)] = "/",
) -> Response:
    """Who sits there, kept in a cookie of this browser."""
    said = quote(check_text(name.strip(), "your name", MAX_WHO), safe="")
    ours = back.startswith("/") and not back.startswith(("//", "/\\")) and back.isprintable()
    answer = seat.go(quote(back, safe="/?=&%") if ours else "/")
    answer.set_cookie(WHO, said, max_age=YEAR, httponly=True, samesite="strict")
    return answer


def _summary(seat: Seat, name: str) -> dict[str, Any]:
    """What the list says of a campaign, from the store and what was found before."""
    ledger = seat.desk.books.ledger(name)
    last = seat.desk.books.events(name, 1)[0]
    status = seat.desk.kept.found(name, "status")
    beliefs = status.data["beliefs"] if status else None
    return {
        "ledger": ledger,
        "out": len(ledger.open_leases(seat.desk.store.now())),
        "last": last,
        "trend": beliefs["left_out"]["course"] if beliefs else [],
    }
