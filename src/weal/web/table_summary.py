"""A table as the page of its plan shows it: columns, guessed roles, spellings and problems."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, TypedDict

from weal.tables.candidate_table import PlannedTable
from weal.tables.cells import short
from weal.tables.columns import level
from weal.tables.plan import way_in
from weal.tables.similar_levels import SimilarLevels
from weal.tables.table import Table
from weal.tables.table_error import Remedy, TableError
from weal.web.job_context import Arguments

MAX_MERGED_LEVELS = 40  # of a category whose spellings can be merged by hand
EXAMPLE_CELLS = 3  # of a column
GUESSED_TARGET_GAPS = 0.5  # share of missing cells in the guessed target
_IDS = ("id", "ids", "name", "sample", "sample_id", "code")


class ColumnSummary(TypedDict):
    """A column of a table, for the page."""

    name: str
    missing: int
    examples: list[str]
    said: str | None
    way_in: str  # the option, as a button sends it, that makes it an input; empty: none
    at: int  # its place in the table


def table_to_json(table: Table, made: PlannedTable | None, given: Arguments) -> dict[str, Any]:
    """The columns of a table and how they are used, with the choices that were made."""
    plan = made.plan if made else None
    said = dict(zip((one.name for one in plan.columns), plan.lines(), strict=True)) if plan else {}
    ways = {one.name: way_in(one) for one in plan.columns} if plan else {}
    columns = [
        _column(table, name, said.get(name), ways.get(name), n)
        for n, name in enumerate(table.columns)
    ]
    asked = made.questions if made else ()
    return {
        "rows": len(table),
        "notes": list(made.notes if made else (*table.notes, *table.row_notes)),
        "questions": [_question(one) for one in asked],
        "merged": [_merged(one, table) for one in given.get("same", ())],
        "levels": _levels(made, given),
        "columns": columns,
        "said": plan.describe() if plan else None,
        "id": given["id"] or "",
        "target": given["target"] or "",
        "types": dict(given.get("types", {})),
        "options": [list(one) for one in given.get("options", ())],
        "name": given.get("name", ""),
        "goal": given.get("goal") or "learn",
        "until": given.get("until", ""),
    }


def _question(one: SimilarLevels) -> dict[str, str]:
    return {"words": one.question, "pair": "\n".join((one.column, one.rare, one.usual))}


def _merged(one: Sequence[str], table: Table) -> dict[str, object]:
    """A spelling that is merged, with its rows."""
    column, spelling, level_ = one
    cells = table.cells(column) if column in table.columns else []
    rows = sum(cell is not None and level(cell) == spelling for cell in cells)
    return {"column": column, "spelling": spelling, "level": level_, "rows": rows,
            "pair": "\n".join(one)}  # fmt: skip


def _levels(made: PlannedTable | None, given: Arguments) -> dict[str, list[dict[str, object]]]:
    """The spellings in each column of a category with their rows, to merge them by hand."""
    found = {}
    same = {(column, spelling): one for column, spelling, one in given.get("same", ())}
    for column in made.plan.columns if made else ():
        if column.kind != "category" or made is None:
            continue
        cells = [level(cell) for cell in made.table.cells(column.name) if cell is not None]
        counts = Counter(cells)
        if 1 < len(counts) <= MAX_MERGED_LEVELS:
            found[column.name] = [
                {"level": one, "rows": n, "same": same.get((column.name, one), "")}
                for one, n in sorted(counts.items())
            ]
    return found


def _column(
    table: Table, name: str, said: str | None, way: Remedy | None, at: int
) -> ColumnSummary:
    cells = table.cells(name)
    known = [cell for cell in cells if cell is not None]
    examples = [short(cell).strip("'") for cell in dict.fromkeys(known[:200])]
    return {
        "name": name,
        "missing": len(cells) - len(known),
        "examples": examples[:EXAMPLE_CELLS],
        "said": for_page(said.removeprefix(f"{name}: ")) if said else None,
        "way_in": f"{way.option}\n{way.value}" if way else "",
        "at": at,
    }


def guess_id(table: Table) -> str:
    """A column that can hold ids: all cells different."""
    distinct = [
        name
        for name in table.columns
        if None not in (cells := table.cells(name)) and len(set(cells)) == len(cells)
    ]
    if not len(table):
        return ""
    texts = [name for name in distinct if isinstance(table.cells(name)[0], str)]
    named = [name for name in distinct if name.strip().lower() in _IDS]
    return next(iter([*named, *texts]), "")


def guess_target(table: Table) -> str:
    """A column of numbers that is mostly empty: the likely target."""
    for name in table.columns:
        cells = table.cells(name)
        known = [cell for cell in cells if cell is not None]
        numbers = known and all(isinstance(cell, int | float) for cell in known)
        if numbers and len(known) <= (1.0 - GUESSED_TARGET_GAPS) * len(cells):
            return name
    return ""


def problem_of(error: ValueError) -> dict[str, object]:
    """The problem in words, and the options that solve it as buttons."""
    if not isinstance(error, TableError):
        return {"problem": for_page(str(error)), "remedies": []}
    ways = [_remedy(one, one.for_page()) for one in error.remedies]
    return {"problem": for_page(error.for_page()), "remedies": ways}


def for_page(words: str) -> str:
    """A message without the options of the shell, which the page has fields and buttons for.

    >>> for_page("choose another sheet (--sheet) or line (--header); --type 'x=drop' leaves it out")
    'choose another sheet or line'
    """
    words = re.sub(r" \((--[a-z-]+[^)]*|in JSON [^)]*)\)", "", words)
    return re.sub(r"[;,] (or )?--[a-z][a-z-]* [^;]*", "", words)


def _remedy(one: Remedy, words: str) -> dict[str, str]:
    return {"option": one.option, "value": one.value, "words": words}
