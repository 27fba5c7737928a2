"""The printed worksheet: the rows of a person on paper, with room for results and notes.

A table with a column for each input fits on paper while there are few of them. Beyond that each row
is a block: its id, its results and its inputs below one another, so that the room for a result is
on the paper whatever the number of inputs.

Where phones can reach the server, each row has a QR code with the address of its form: the server's
name and the row, and no token. A phone that is not logged in shows the login form first, and then
the row.

    reached by another name   the name in the address of the page, which the server was told
                              (`--allow-host`), and which a proxy may serve
    reached as localhost      the first name of `--allow-host`, if the server listens for other
                              machines and no proxy stands in between; otherwise no code
"""

from collections.abc import Sequence
from urllib.parse import quote

from fastapi import APIRouter, Response
from markupsafe import Markup

from weal.web.access import LOOPBACK
from weal.web.pages.row_form import predicted_text
from weal.web.request import CampaignRead, CampaignRequest, RequestContext

router = APIRouter()
MAX_TABLE_COLUMNS = 7  # inputs and results that fit on the short side of a sheet
MAX_TABLE_NAME_LETTERS = 20  # of a column
MAX_QR_LETTERS = 800  # of an address: beyond, a phone's camera does not read a code of 3 cm


@router.get("/c/{name}/print")
def print_rows(context: CampaignRead) -> Response:
    """A printable sheet of the rows of this person, with room for results and a note."""
    mine = [one for one in context.ledger.open_leases(context.now) if one.who == context.who]
    columns = [one["name"] for one in context.ledger.plan["columns"] if one["kind"] != "dropped"]
    return context.page(
        "bench/print.html",
        mine=mine,
        columns=columns,
        is_table=fits_table(columns, [one or "" for one in context.targets]),
        rows=context.rows([lease.id for lease in mine]),
        now=context.now,
        predicted={lease.id: predicted_text(context, lease.body) for lease in mine},
        codes={lease.id: row_code(context, lease.id) for lease in mine},
    )


def fits_table(inputs: Sequence[str], results: Sequence[str]) -> bool:
    """Whether a table with a column for each of these fits on the short side of a sheet.

    >>> fits_table(["temp", "hours"], ["yield"]), fits_table([f"x{k}" for k in range(18)], ["y"])
    (True, False)
    """
    names = (*inputs, *results)
    if len(names) > MAX_TABLE_COLUMNS:
        return False
    return all(len(name) <= MAX_TABLE_NAME_LETTERS for name in names)


def server_address(context: RequestContext) -> str:
    """The address of the server that phones can reach; empty: they cannot, or it is not known."""
    policy, url = context.server.policy, context.request.url
    if url.hostname and url.hostname.lower() not in LOOPBACK:
        return f"{url.scheme}://{url.netloc}{policy.root_path}"
    return policy.reachable.rstrip("/")


def row_code(context: CampaignRequest, id_: str) -> Markup | None:
    """The QR code of the address of a row, as SVG; None where phones cannot use one."""
    server = server_address(context)
    path = f"/c/{quote(context.name, safe='')}/bench?id={quote(id_, safe='')}"
    if not server or len(server + path) > MAX_QR_LETTERS:
        return None
    return draw_code(server + path, f"QR code of row {id_}")


def draw_code(content: str, title: str) -> Markup:
    """A QR code as an SVG element, black on white with its margin."""
    import segno  # needed where phones are served, alone

    drawn = segno.make_qr(content, error="m").svg_inline(
        border=4, omitsize=True, svgclass="code", lineclass=None, dark="#000", light="#fff"
    )
    named = Markup('<svg role="img" aria-label="{}" ').format(title)
    return named + Markup(str(drawn).removeprefix("<svg "))
