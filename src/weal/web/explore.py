"""Page 4: the candidates with their predictions, and a row's own page."""

from fastapi import APIRouter, Response

from weal.web.desk import Here

router = APIRouter()


@router.get("/c/{name}/explore")
def explore(here: Here) -> Response:
    """The candidates as a table."""
    return here.page("explore/page.html")
