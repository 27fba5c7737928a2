"""Page 3: how far it is, as labels come."""

from fastapi import APIRouter, Response

from weal.web.desk import Here

router = APIRouter()


@router.get("/c/{name}/watch")
def watch(here: Here) -> Response:
    """Learning curve and advice, as the worker found them last."""
    template = "watch/part.html" if here.is_part else "watch/page.html"
    return here.page(template, status=here.found("status"))
