"""Page 4: the candidates with their predictions, and a row's own page.

A wish (`candidate_search.CandidateQuery`) is in the address, so that it can be kept as a bookmark;
the columns in it are c0, c1, ..: names of the user's never become part of a query.
"""

import hashlib
import json
import re
from typing import Annotated, Any
from urllib.parse import parse_qsl, quote, urlencode

from fastapi import APIRouter, Form, HTTPException, Query, Response

from weal.errors import ReusedKey
from weal.store.events import MAX_ID
from weal.web import candidate_search
from weal.web.candidate_search import PREDICTION_COLUMNS, CandidatePage, CandidateQuery
from weal.web.pages.watch import event_text
from weal.web.request import CampaignRequest, Here, Writing

router = APIRouter()
_COLUMN = re.compile(r"c[0-9]{1,4}")
TITLES = {"id": "Id", "y": "Measured", "mean": "Expected", "sd": "\N{PLUS-MINUS SIGN}",
          "low": "From", "high": "To"}  # fmt: skip
Text = Annotated[str, Query(max_length=200)]
Id = Annotated[str, Query(min_length=1, max_length=MAX_ID)]


@router.get("/c/{name}/explore")
def explore(
    here: Here, sort: Text = "n", down: bool = False, q: Text = "", only: Text = "",
    after: Annotated[str, Query(max_length=2000)] = "",
) -> Response:  # fmt: skip
    """The candidates as a table: searched, filtered and sorted by what the address says."""
    current = here.catalogue()
    given = dict(parse_qsl(str(here.request.url.query)))
    wish = CandidateQuery(
        sort=sort if sort in ("n", *PREDICTION_COLUMNS) or _COLUMN.fullmatch(sort) else "n",
        down=down,
        text=q.strip(),
        only=only if only in ("measured", "open") else "",
        **_filters(given),
        after=candidate_search.read_after(after),
    )
    page = candidate_search.read(current, wish)
    if here.is_part and page is not None:  # it was waited for
        return Response(status_code=204, headers={"HX-Refresh": "true"})
    template = "explore/waiting.html" if here.is_part else "explore/page.html"
    return here.page(
        template, page=page, wish=wish, given=given, titles=TITLES, link=_linker(here, given),
        more=_more(here, given, page), trouble=here.trouble("explore"),
        **_columns(here),
    )  # fmt: skip


def _filters(given: dict[str, str]) -> dict[str, Any]:
    """Bounds and texts of columns: least-c0=3, most-sd=2.5, is-c1=A."""
    low, high, equal = dict[str, float](), dict[str, float](), list[tuple[str, str]]()
    for key, value in given.items():
        how, _, column = key.partition("-")
        if not value or not (column in PREDICTION_COLUMNS or _COLUMN.fullmatch(column)):
            continue
        if how == "is":
            equal.append((column, value))
        elif how in ("least", "most") and (bound := _number(value)) is not None:
            (low if how == "least" else high)[column] = bound
    names = dict.fromkeys([*low, *high])
    return {"bounds": tuple((one, low.get(one), high.get(one)) for one in names),
            "equal": tuple(equal)}  # fmt: skip


def _number(text: str) -> float | None:
    try:
        found = float(text.replace(",", ".") if text.count(",") == 1 else text)
    except ValueError:
        return None
    return found if abs(found) < float("inf") else None


def _linker(here: CampaignRequest, given: dict[str, str]) -> Any:
    """Addresses of the same wish with something else in it."""

    def link(**changes: Any) -> str:
        wish = {k: v for k, v in given.items() if k != "after" and v} | changes
        plain = {k: str(v) for k, v in wish.items() if v not in ("", None, False)}
        return f"{here.url('explore')}?{urlencode(plain)}"

    return link


def _more(here: CampaignRequest, given: dict[str, str], page: CandidatePage | None) -> str | None:
    if page is None or page.last is None:
        return None
    return str(_linker(here, given)(after=candidate_search.spell_after(page.last)))


def _columns(here: CampaignRequest) -> dict[str, Any]:
    """Kinds of the columns, and levels of the categories."""
    columns = here.ledger.plan.get("columns", [])
    return {"kinds": {one["name"]: one["kind"] for one in columns},
            "levels": {one["name"]: one.get("levels", ()) for one in columns}}  # fmt: skip


def inputs_of(here: CampaignRequest) -> list[str]:
    """Columns that the model learns from."""
    columns = here.ledger.plan.get("columns", [])
    return [one["name"] for one in columns if one["kind"] != "dropped"]


@router.get("/c/{name}/row")
def row(here: Here, id: Id, work: Text = "") -> Response:
    """A row: inputs, what is expected of it, what happened to it."""
    here.done(work, "take", name=here.name)  # an ask that failed says why
    story = here.story(id)
    known, ledger = candidate_search.read_row(here.catalogue(), id), here.ledger
    if known is None and not story and not here.campaign().known([id]):
        raise HTTPException(404, f"There is no candidate {id!r} here.")
    cells = known["cells"] if known else here.rows([id]).get(id)
    return here.page(
        "explore/row.html", id=id, known=known, cells=cells, trouble=here.trouble("explore"),
        labels=ledger.labels.get(id, ()),
        lease=ledger.leases.get(id), note=ledger.skipped.get(id), skipped=id in ledger.skipped,
        story=[(one, event_text(one)) for one in story],
    )  # fmt: skip


@router.get("/c/{name}/row/near")
def near(here: Here, id: Id) -> Response:
    """The nearest measured rows, once the worker has found them."""
    job = here.submit("near", job_key(here, "near", id), name=here.name, id=id)
    again = f"{here.url('row/near')}?id={quote(id, safe='')}"
    if not job.finished.wait(0.25):
        return here.page("explore/wait.html", again=again)
    return here.page(
        "explore/near.html",
        near=here.done(job.id, "near"),
        known=candidate_search.read_row(here.catalogue(), id),
    )


@router.post("/c/{name}/row/ask")
def take(here: Writing, id: Annotated[str, Form(min_length=1, max_length=MAX_ID)],
         key: Annotated[str, Form(pattern="^[0-9a-f]{32}$")]) -> Response:  # fmt: skip
    """Ask for this very row."""
    given = {"name": here.name, "who": here.who, "id": id}
    job = here.submit("take", key, **given)
    if job.kind != "take" or job.given != given:
        used = repr(job.given["id"]) if job.kind == "take" else "something else"
        raise ReusedKey(f"This form has asked for {used} already, not for {id!r}.")
    return here.progress(job, then=f"{here.url('row')}?id={quote(id, safe='')}")


def job_key(here: CampaignRequest, kind: str, *what: str) -> str:
    """The same work on the same campaign is one job."""
    words = json.dumps([kind, here.name, here.ledger.seq, *what])
    return hashlib.blake2b(words.encode(), digest_size=16).hexdigest()
