"""The lines of a file of results beside what the campaign has: ids that are meant, and inputs."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from weal.store.events import check_id
from weal.table.cells import cell_text, read_number
from weal.table.guarding import unguarded
from weal.table.results import Form, Results, read_results

if TYPE_CHECKING:
    from weal.campaign.view import CampaignView

ALIKE = 1e-4  # relative difference of two inputs that are the same, one of them rounded


def read(campaign: "CampaignView", source: Any, **options: Any) -> Results:
    """The lines of a file of results, its ids those of the campaign where they can be found."""
    created = campaign.created
    own = tuple(column["name"] for column in created["plan"]["columns"])
    value = options.pop("value", None)
    form = Form(created["id"], created["target"], own, value)
    try:
        results = read_results(source, form, **options)
    except ValueError:
        more = campaign.columns()  # the pool may have columns that nothing is learnt from
        if set(more) <= {*own, form.id_column, form.target}:
            raise
        results = read_results(source, replace(form, own=more), **options)
    return _with_known_ids(results, campaign.known)


def _with_known_ids(results: Results, known: Callable[[Sequence[str]], set[str]]) -> Results:
    """Ids without blanks around them, and without a ' that a spreadsheet kept, where that helps."""
    ways = {line.id: _ways(line.id) for line in results.lines if not line.bad}
    there = known(list({one for some in ways.values() for one in some}))
    lines = (
        line._replace(id=next((one for one in ways[line.id] if one in there), line.id.strip()))
        if line.id in ways
        else line
        for line in results.lines
    )
    return replace(results, lines=tuple(lines))


def _ways(name: str) -> list[str]:
    found = []
    for one in (name, name.strip(), unguarded(name.strip())):
        try:
            found.append(check_id(one))
        except ValueError:  # such as one that is empty, or has a NUL
            continue
    return found


def differing(results: Results, rows: Mapping[str, Mapping[str, Any]]) -> dict[int, str]:
    """Lines whose inputs are not those of their row, with what to say; rows by id."""
    found = {}
    for n, line in enumerate(results.lines):
        own = rows.get(line.id)
        if own is None or not line.says:
            continue
        other = [
            f"{name} {written.strip() or 'empty'} here, {_shown(own.get(name))} in the campaign"
            for name, written in line.inputs.items()
            if not _alike(own.get(name), written)
        ]
        if other:
            found[n] = f"{line.id} has {'; '.join(other[:3])}: is it the right row?"
    return found


def _shown(cell: Any) -> str:
    return "nothing" if cell is None else cell_text(cell)


def _alike(cell: Any, written: str) -> bool:
    """Whether what is written is the cell; a number may be rounded, or have a decimal comma."""
    if cell is None or isinstance(cell, datetime | bool):
        return True  # spreadsheets write dates and truth values in ways of their own
    text = written.strip()
    if isinstance(cell, str):
        return text.casefold() in (cell.strip().casefold(), unguarded(cell).strip().casefold())
    number = read_number(text)
    number = read_number(text.replace(",", ".")) if number is None else number
    return number is not None and math.isclose(number, cell, rel_tol=ALIKE, abs_tol=1e-12)
