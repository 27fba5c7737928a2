"""The page Explore: candidates with predictions, searched and sorted, and a page for each row.

The query (`candidate_search.CandidateQuery`) is in the address, so that it can be bookmarked. Its
columns are c0, c1, ...: column names of the user never become part of an SQL query.
"""

import re
from collections.abc import Callable
from typing import Annotated, TypedDict
from urllib.parse import parse_qsl, quote, urlencode

from fastapi import APIRouter, Form, HTTPException, Query, Response

from weal.errors import ReusedKey
from weal.store.events import MAX_ID
from weal.text import decimals
from weal.web import candidate_search
from weal.web.candidate_search import PREDICTION_COLUMNS, CandidatePage, CandidateQuery
from weal.web.job_context import Arguments
from weal.web.pages.quantity_view import job_key
from weal.web.pages.row_labels import NO_ANSWER, Answer, row_labels, undo_offer
from weal.web.pages.watch import event_text
from weal.web.request import CampaignAsk, CampaignRead, CampaignRequest

router = APIRouter()


class Filters(TypedDict):
    """The filters of a query."""

    bounds: tuple[tuple[str, float | None, float | None], ...]
    equal: tuple[tuple[str, str], ...]


_COLUMN = re.compile(r"c[0-9]{1,4}")
COLUMN_TITLES = {"id": "Id", "y": "Measured", "mean": "Predicted", "sd": "\N{PLUS-MINUS SIGN}",
          "low": "From", "high": "To"}  # fmt: skip
Text = Annotated[str, Query(max_length=200)]
Id = Annotated[str, Query(min_length=1, max_length=MAX_ID)]


@router.get("/c/{name}/explore")
def explore(
    context: CampaignRead, sort: Text = "n", down: bool = False, q: Text = "", only: Text = "",
    after: Annotated[str, Query(max_length=2000)] = "",
) -> Response:  # fmt: skip
    """A page of the candidates, searched, filtered and sorted by the query in the address."""
    current = context.candidates_file()
    given = dict(parse_qsl(str(context.request.url.query)))
    query = CandidateQuery(
        sort=sort if sort in ("n", *PREDICTION_COLUMNS) or _COLUMN.fullmatch(sort) else "n",
        down=down,
        text=q.strip(),
        only=only if only in ("measured", "open") else "",
        **_filters(given),
        after=candidate_search.read_after(after),
    )
    page = candidate_search.read(current, query)
    if context.is_part and page is not None:  # a page that waited reloads
        return Response(status_code=204, headers={"HX-Refresh": "true"})
    template = "explore/waiting.html" if context.is_part else "explore/page.html"
    return context.page(
        template, page=page, query=query, given=given, titles=COLUMN_TITLES,
        link=_linker(context, given), more=_more(context, given, page),
        failure=context.job_failure("explore"), places=_places(context, page), **_columns(context),
    )  # fmt: skip


MAX_PLACES = 6  # decimals of labels


def _places(context: CampaignRequest, page: CandidatePage | None) -> dict[str, int | None]:
    """Decimals of the labels and of the predictions of a page, each the same in its column.

    Predictions have two digits of their usual uncertainty, labels as many as any of them needs.
    """
    rows = page.rows if page else []
    if context.measured.quantity.words:
        return {"measured": None, "predicted": 2}
    sds = sorted(
        float(row["sd"]) for row in rows if isinstance(row["sd"], int | float) and row["sd"]
    )
    middle = sds[len(sds) // 2] if sds else 0.0
    told = context.measured.labels
    texts = [f"{one.y:.10g}" for row in rows for one in told.get(str(row["id"]), ())]
    plain = all("e" not in one for one in texts)
    needed = [len(one.partition(".")[2]) for one in texts]
    return {
        "measured": min(max(needed, default=0), MAX_PLACES) if plain else None,
        "predicted": decimals(-1.645 * middle, 1.645 * middle),
    }


def _filters(given: dict[str, str]) -> Filters:
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


def _linker(context: CampaignRequest, given: dict[str, str]) -> Callable[..., str]:
    """A function that returns the address of the same query with some values changed."""

    def link(**changes: str) -> str:
        query = {k: v for k, v in given.items() if k != "after" and v} | changes
        plain = {k: str(v) for k, v in query.items() if v not in ("", None, False)}
        return f"{context.url('explore')}?{urlencode(plain)}"

    return link


def _more(
    context: CampaignRequest, given: dict[str, str], page: CandidatePage | None
) -> str | None:
    if page is None or page.last is None:
        return None
    return _linker(context, given)(after=candidate_search.write_after(page.last))


def _columns(context: CampaignRequest) -> dict[str, object]:
    """Kinds of the columns, and levels of the categories."""
    columns = context.ledger.plan.get("columns", [])
    return {"kinds": {one["name"]: one["kind"] for one in columns},
            "levels": {one["name"]: one.get("levels", ()) for one in columns}}  # fmt: skip


@router.get("/c/{name}/row")
def row(
    context: CampaignRead, id: Id, work: Text = "",
    event: Annotated[int, Query(ge=0, le=2**53)] = 0,
) -> Response:  # fmt: skip
    """The page of a row: inputs, prediction, labels, events."""
    context.job_result(work, "take", name=context.name)  # raises the error of a failed ask
    return row_page(context, id, answer=Answer(opened=event))


def row_page(
    context: CampaignRequest, id_: str, code: int = 200, /, answer: Answer = NO_ANSWER
) -> Response:
    """The page of a row; `answer`: the message of a form that was not saved."""
    events = context.row_events(id_)
    known, ledger = candidate_search.read_row(context.candidates_file(), id_), context.ledger
    if known is None and not events and not context.campaign().existing_ids([id_]):
        raise HTTPException(404, f"No candidate has the id {id_!r}.")
    cells = known["cells"] if known else context.rows([id_]).get(id_)
    return context.page(
        "explore/row.html", code, id=id_, known=known, cells=cells,
        failure=context.job_failure("explore"), state=row_labels(context, id_),
        lease=ledger.leases.get(id_), undo=undo_offer(context), answer=answer,
        events=[(one, event_text(one, context)) for one in events],
        others=_other_quantities(context, id_),
    )  # fmt: skip


def _other_quantities(context: CampaignRequest, id_: str) -> list[dict[str, object]]:
    """Labels and predictions of a row for each quantity, where there are several or words."""
    if context.is_plain:
        return []
    found: list[dict[str, object]] = []
    for n, (name, own) in enumerate(context.ledger.quantities.items()):
        path = context.server.results.path(context.name, candidate_search.candidates_file(n))
        known, quantity = candidate_search.read_row(path, id_), own.quantity
        mean, sd = (known["mean"], known["sd"]) if known else (None, None)
        has = isinstance(mean, int | float) and isinstance(sd, int | float)
        labels = [(quantity.format(told.y, 6), told) for told in own.labels.get(id_, ())]
        words = quantity.format_prediction(float(mean), float(sd)) if has else ""  # type: ignore[arg-type]
        found.append({"name": name, "labels": labels, "predicted": words})
    return found


@router.get("/c/{name}/row/near")
def near(context: CampaignRead, id: Id) -> Response:
    """The nearest measured rows once the worker has found them."""
    quantity = context.measured.quantity.name
    job = context.submit(
        "near", job_key(context, "near", id, quantity), name=context.name, id=id, quantity=quantity
    )
    again = f"{context.url('row/near')}?id={quote(id, safe='')}&quantity={quote(quantity, safe='')}"
    if not context.has_finished(job):
        return context.page("explore/wait.html", again=again)
    return context.page(
        "explore/near.html",
        near=context.job_result(job.id, "near"),
        known=candidate_search.read_row(context.candidates_file(), id),
    )


@router.post("/c/{name}/row/ask")
def take(context: CampaignAsk, id: Annotated[str, Form(min_length=1, max_length=MAX_ID)],
         key: Annotated[str, Form(pattern="^[0-9a-f]{32}$")]) -> Response:  # fmt: skip
    """Ask for this very row."""
    given: Arguments = {"name": context.name, "who": context.who, "id": id}
    job = context.submit("take", key, **given)
    if job.kind != "take" or job.arguments != given:
        used = repr(job.arguments["id"]) if job.kind == "take" else "something else"
        raise ReusedKey(f"This form was used before to ask for {used}, not for {id!r}.")
    return context.show_progress(job, then=f"{context.url('row')}?id={quote(id, safe='')}")
