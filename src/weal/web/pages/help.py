"""Help: what each page shows and what its buttons do, from the texts of `help_topics`."""

from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Response

from weal.web.actors import require
from weal.web.help_topics import TOPICS, WORDS
from weal.web.request import ServerRead

router = APIRouter()
Page = Annotated[str, Path(pattern="^[a-z-]{1,40}$", description="The name of a page.")]


@router.get("/help")
def overview(context: ServerRead) -> Response:
    """All pages and all words."""
    require(context.request, "read")
    return context.page("help/page.html", topic=None, topics=TOPICS, words=WORDS)


@router.get("/help/{page}")
def help_of(context: ServerRead, page: Page) -> Response:
    """The help of one page."""
    require(context.request, "read")
    if page not in TOPICS:
        raise HTTPException(404, "There is no such help: open /help for all pages.")
    return context.page("help/page.html", topic=TOPICS[page], topics=TOPICS, words=WORDS)
