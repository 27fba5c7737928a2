"""Jobs on tables that people bring: what is in one, and how it becomes a campaign.

A table is known by the random name of its upload. It is looked at as often as choices change; only
`make` writes, all or nothing.

Jobs on worksheets: written for rows that are out, previewed and kept when they come back.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from weal.errors import WealError
from weal.progress import Progress
from weal.tables.cells import short
from weal.tables.plan import TablePlan, encode, make_plan, similar_levels
from weal.tables.plan_columns import DECLARED
from weal.tables.table import Table, read_table
from weal.web.job_context import Arguments, JobContext
from weal.web.server_folder import find_file

EXAMPLE_CELLS = 3  # cells that are shown of a column
MOSTLY_EMPTY = 0.5  # share of missing cells from which a column of numbers may be what is measured
_IDS = ("id", "ids", "name", "sample", "sample_id", "code")


def upload(shelf: JobContext, given: Arguments) -> Path:
    """The uploaded file; WealError where it was swept away."""
    path = find_file(shelf.results.folder, given["file"])
    if path is None:
        raise WealError("this upload is not there any more: bring the file again")
    return path


def look(shelf: JobContext, given: Arguments, progress: Progress) -> dict[str, Any]:
    """The plan for a table, column by column, by the choices so far; what stands in its way."""
    path = upload(shelf, given)
    progress("reading the table", 0, 1)
    table = _read(path, given.get("id"))
    if "id" not in given:  # first look: guess, and say so
        given = {**given, "id": _guess_id(table), "target": _guess_target(table)}
        table = _read(path, given["id"])
    plan, problem = _plan(table, given)
    return {**_table_to_json(table, plan, given), "file": given["file"], "problem": problem}


def make(shelf: JobContext, given: Arguments, progress: Progress) -> dict[str, Any]:
    """Make the campaign of a table; or the same look again, and why it cannot be made."""
    from weal.campaign.creation import create

    path = upload(shelf, given)
    name, types = given["name"], _types(given)
    try:
        if name in shelf.store.campaigns():
            raise ValueError(f"there is a campaign {name!r} already: choose another name")
        roles, who = (given["id"] or None, given["target"] or None), given["who"]
        with _without_path(path):
            made = create(shelf.store, name, path, *roles, "auto", types, {}, who)
        if not made:
            raise ValueError(f"somebody has just made a campaign {name!r}: choose another name")
    except ValueError as error:
        return {**look(shelf, given, progress), "problem": str(error)}
    return {"made": name}


def add(shelf: JobContext, given: Arguments, progress: Progress) -> int:
    """Add the candidates of a table to a campaign; how many there were."""
    path = upload(shelf, given)
    campaign = shelf.campaign(given["name"], given["who"])
    with _without_path(path):
        return campaign.add(path)


def _read(path: Path, id_column: str | None) -> Table:
    with _without_path(path):
        return read_table(path, text=[id_column] if id_column else [])


@contextmanager
def _without_path(path: Path) -> Iterator[None]:
    """Errors without the name of the file, which nobody gave it."""
    try:
        yield
    except ValueError as error:
        raise ValueError(str(error).replace(str(path), "this file")) from error


def _types(given: Arguments) -> dict[str, str]:
    """Types that were chosen, of columns that are inputs."""
    roles = (given["id"], given["target"])
    types = dict(given.get("types", {}))
    return {one: kind for one, kind in types.items() if kind in DECLARED and one not in roles}


def _plan(table: Table, given: Arguments) -> tuple[TablePlan | None, str | None]:
    ids, target = given["id"] or None, given["target"] or None
    try:
        plan = make_plan(table, id_column=ids, target=target, types=_types(given))
        encode(plan, table)
        return plan, None
    except ValueError as error:
        return None, str(error)


def _table_to_json(table: Table, plan: TablePlan | None, given: Arguments) -> dict[str, Any]:
    said = dict(zip((one.name for one in plan.columns), plan.lines(), strict=True)) if plan else {}
    columns = [_column(table, name, said.get(name)) for name in table.columns]
    return {
        "rows": len(table),
        "notes": [*table.notes, *(similar_levels(plan, table) if plan else [])],
        "columns": columns,
        "said": plan.describe() if plan else None,
        "id": given["id"] or "",
        "target": given["target"] or "",
        "types": dict(given.get("types", {})),
        "name": given.get("name", ""),
    }


def _column(table: Table, name: str, said: str | None) -> dict[str, Any]:
    cells = table.cells(name)
    known = [cell for cell in cells if cell is not None]
    examples = [short(cell).strip("'") for cell in dict.fromkeys(known[:200])]
    return {
        "name": name,
        "missing": len(cells) - len(known),
        "examples": examples[:EXAMPLE_CELLS],
        "said": said.removeprefix(f"{name}: ") if said else None,
    }


def _guess_id(table: Table) -> str:
    """A column that names rows: each text in it once."""
    distinct = [
        name
        for name in table.columns
        if None not in (cells := table.cells(name)) and len(set(cells)) == len(cells)
    ]
    texts = [name for name in distinct if isinstance(table.cells(name)[0], str)]
    named = [name for name in distinct if name.strip().lower() in _IDS]
    return next(iter([*named, *texts]), "")


def _guess_target(table: Table) -> str:
    """A column of numbers that is mostly empty: what is to be measured."""
    for name in table.columns:
        cells = table.cells(name)
        known = [cell for cell in cells if cell is not None]
        numbers = known and all(isinstance(cell, int | float) for cell in known)
        if numbers and len(known) <= (1.0 - MOSTLY_EMPTY) * len(cells):
            return name
    return ""


TABLE_JOBS = {"look": look, "make": make, "add": add}

MAX_PREVIEW_LINES = 500  # lines of a sheet; those that need a look first


def worksheet(shelf: JobContext, given: Arguments, progress: Progress) -> dict[str, Any]:
    """Write the worksheet of these rows to a place of the server's; what it is to be called."""
    path = Path(given["path"])
    shelf.campaign(given["name"]).worksheet(given["ids"], path)
    return {"file": path.stem, "called": f"{given['name']}-worksheet{path.suffix}"}


def preview(shelf: JobContext, given: Arguments, progress: Progress) -> dict[str, Any]:
    """What would become of each line."""
    campaign = shelf.campaign(given["name"])
    how = {**given["how"], "name": given["called"] or "the file"}
    return _import_to_json(campaign.preview(upload(shelf, given), **how), given, kept=False)


def tell_file(shelf: JobContext, given: Arguments, progress: Progress) -> dict[str, Any]:
    """Keep the labels of a sheet, all or none; where it is none, the preview says why."""
    campaign = shelf.campaign(given["name"], given["who"])
    how = {**given["how"], "name": given["called"] or "the file"}
    try:
        found = campaign.tell_file(upload(shelf, given), **how)
    except ValueError:
        return preview(shelf, given, progress)
    return _import_to_json(found, given, kept=True)


def _import_to_json(intake: Any, given: Arguments, kept: bool) -> dict[str, Any]:
    rows = sorted(intake.rows, key=lambda row: (row.action != "refused", not row.message))
    lines = [
        {"line": row.line, "id": row.id, "action": row.action, "value": row.value,
         "note": row.note, "message": row.message}
        for row in rows[:MAX_PREVIEW_LINES]
    ]  # fmt: skip
    return {
        "file": given["file"],
        "called": given["called"],
        "how": next(iter(given["how"]), ""),
        "kept": kept,
        "lines": sorted(lines, key=lambda line: line["line"]),
        "more": len(rows) - len(lines),
        "counts": intake.counts,
        "new": intake.new,
        "problems": list(intake.problems),
        "notes": list(intake.notes),
    }


WORKSHEET_JOBS = {"worksheet": worksheet, "preview": preview, "tell_file": tell_file}
