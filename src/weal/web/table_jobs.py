"""Jobs on uploaded files: a table becomes a campaign, a filled-in worksheet becomes labels.

An upload has a random name. `look` and `preview` show the effect of the user's choices and write
nothing; `make`, `add` and `tell_file` save everything or nothing.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from weal.campaign.config import check_goal, check_typed_goal
from weal.campaign.results_import import ResultsImport
from weal.errors import CampaignExists, TooLarge, WealError
from weal.progress import Progress
from weal.tables.candidate_table import PlannedTable, read_candidates
from weal.tables.cells import short, some_of
from weal.tables.plan_columns import DECLARED
from weal.tables.table import Table, read_table, table_of
from weal.tables.table_error import Remedy, TableError
from weal.tables.table_options import TableOptions
from weal.tables.table_preview import TablePreview, preview_table
from weal.web.job_context import Arguments, JobContext
from weal.web.server_folder import find_file

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign
    from weal.campaign.results_import import ImportArguments

EXAMPLE_CELLS = 3  # of a column
RESULT_KINDS = ("result", "result-pass")  # types of columns that are measured besides the target
GUESSED_TARGET_GAPS = 0.5  # share of missing cells in the guessed target
MAX_PREVIEW_LINES = 500  # of a results file; lines with messages come first
_IDS = ("id", "ids", "name", "sample", "sample_id", "code")


class ColumnSummary(TypedDict):
    """A column of a table, for the page."""

    name: str
    missing: int
    examples: list[str]
    said: str | None


def upload(context: JobContext, given: Arguments) -> Path:
    """The uploaded file; WealError where it was deleted since."""
    path = find_file(context.results.folder, given["file"])
    if path is None:
        raise WealError("this upload was deleted: upload the file again")
    return path


def look(context: JobContext, given: Arguments, progress: Progress) -> dict[str, object]:
    """The plan of a table under the user's choices, column by column, and the problem, if any."""
    path = upload(context, given)
    progress("reading the table", 0, 1)
    table, made = table_of({}), None
    try:
        with without_path(path):
            if "id" not in given:  # the first time
                table = read_table(path, _options(given), leave_out=True)
                given = {**given, "id": _guess_id(table), "target": _guess_target(table)}
            table = read_table(path, _options(given), leave_out=True)
        made, problem = _read(path, given)
    except ValueError as error:  # another sheet or header line may help
        _refuse_too_large(error)
        given = {"id": "", "target": "", **given}
        problem = _problem(error)
    if made:
        problem |= _goal_problem(given, len(made.table))
    shown = _table_to_json(made.table if made else table, made, given)
    notes = [note.replace(path.name, "this file") for note in shown["notes"]]
    preview = _preview(path, _options(given), _options(given).named)
    return {**shown, "notes": notes, "file": given["file"], **problem, "preview": preview}


def make(context: JobContext, given: Arguments, progress: Progress) -> dict[str, object]:
    """Make the campaign of a table; the result of `look` and the problem where that fails."""
    from weal.campaign.creation import create

    path = upload(context, given)
    name = given["name"]
    try:
        if name in context.store.campaigns():
            raise CampaignExists(f"there is a campaign {name!r} already: choose another name")
        chosen = _goal_settings(given)
        with without_path(path):
            is_new, _ = create(context.store, name, path, _options(given), chosen, given["who"])
        if not is_new:
            raise CampaignExists(f"the campaign {name!r} was just created; choose another name")
    except ValueError as error:
        return {**look(context, given, progress), **_problem(error)}
    return {"made": name}


def look_more(context: JobContext, given: Arguments, progress: Progress) -> dict[str, object]:
    """What adding the candidates of a table would do: their number, notes, and the problem."""
    from weal.campaign.creation import read_more

    path, options = upload(context, given), _options(given)
    campaign = context.campaign(given["name"])
    ledger = campaign.read_ledger()
    named = [] if ledger.numbered else [ledger.id_column]
    shown = {"file": given["file"], "preview": _preview(path, options, named),
             "options": [list(one) for one in given.get("options", ())]}  # fmt: skip
    if ledger.shards:
        return {**shown, "rows": None, "notes": [], "problem": None}
    try:
        with without_path(path):
            made = read_more(ledger, path, options)
            _refuse_known_ids(campaign, made.table, ledger.id_column)
            notes = [*made.notes, *campaign.far_inputs(made)]
    except ValueError as error:
        _refuse_too_large(error)
        problem = error.for_page() if isinstance(error, TableError) else str(error)
        return {**shown, "rows": 0, "notes": [], "problem": problem}
    notes = [note.replace(path.name, "this file") for note in notes]
    return {**shown, "rows": len(made.table), "notes": notes, "problem": None}


def _refuse_known_ids(campaign: "Campaign", table: Table, ids: str) -> None:
    names = [str(name) for name in table.cells(ids)]
    if known := campaign.existing_ids(names):
        some = some_of([repr(name) for name in names if name in known])
        raise ValueError(f"ids that are there already: {some}; delete these rows, or rename them")


def add(context: JobContext, given: Arguments, progress: Progress) -> int:
    """Add the candidates of a table to a campaign, and return their number."""
    path = upload(context, given)
    campaign = context.campaign(given["name"], given["who"])
    with without_path(path):
        return campaign.add(path, options=_options(given))


@contextmanager
def without_path(path: Path) -> Iterator[None]:
    """Errors without the random name of the upload."""
    try:
        yield
    except TableError:
        raise
    except ValueError as error:
        text = str(error).replace(str(path), "this file")
        if isinstance(error, WealError):  # its type and code say more
            error.args = (text, *error.args[1:])
            raise
        raise ValueError(text) from error


def _refuse_too_large(error: ValueError) -> None:
    """Raise the error of a file beyond the limits again: no choice of a sheet helps."""
    if isinstance(error, TooLarge) or isinstance(error.__cause__, TooLarge):
        raise error


def _options(given: Arguments) -> TableOptions:
    """The user's choices as options of a table."""
    chosen = dict(given.get("types", {}))
    roles = (given.get("id") or None, given.get("target") or None)
    types = {
        one: kind for one, kind in chosen.items()
        if kind in DECLARED and (one not in roles or (one == roles[1] and kind == "number"))
    }  # fmt: skip
    results = [one for one, kind in chosen.items() if kind in RESULT_KINDS and one not in roles]
    types |= {one: "pass" for one in results if chosen[one] == "result-pass"}
    targets = [*filter(None, roles[1:]), *results]
    words = [(one, value) for one, value in given.get("options", ())]
    options = TableOptions(roles[0], next(iter(targets), None), types=types)
    return replace(options, more_targets=tuple(targets[1:])).with_words(words)


def _read(path: Path, given: Arguments) -> tuple[PlannedTable | None, dict[str, object]]:
    try:
        with without_path(path):
            return read_candidates(path, _options(given)), {"problem": None, "remedies": []}
    except ValueError as error:
        return None, _problem(error)


def _goal_problem(given: Arguments, rows: int) -> dict[str, object]:
    """What is wrong with the goal or the stop condition; empty where nothing is."""
    try:
        check_goal(_goal_settings(given), rows)
    except ValueError as error:
        return _problem(error)
    return {}


def _goal_settings(given: Arguments) -> dict[str, object]:
    return check_typed_goal(given.get("goal", ""), given.get("until", ""))


def _problem(error: ValueError) -> dict[str, object]:
    """The problem in words, and the options that solve it as buttons."""
    if not isinstance(error, TableError):
        return {"problem": str(error), "remedies": []}
    ways = [_remedy(one, f"{one.for_shell()} {one.effect}") for one in error.remedies]
    return {"problem": error.for_page(), "remedies": ways}


def _remedy(one: Remedy, words: str) -> dict[str, str]:
    return {"option": one.option, "value": one.value, "words": words}


def _preview(path: Path, options: TableOptions, named: Sequence[str]) -> dict[str, object]:
    """The first rows of a file, to choose its sheet and the line of its column names."""
    for sheet, header in ((options.sheet, options.header), (None, None)):
        with suppress(ValueError):  # such as a sheet that is not there
            return preview_table(path, sheet, header, named).to_json()
    return TablePreview().to_json()


def _table_to_json(table: Table, made: PlannedTable | None, given: Arguments) -> dict[str, Any]:
    plan = made.plan if made else None
    said = dict(zip((one.name for one in plan.columns), plan.lines(), strict=True)) if plan else {}
    columns = [_column(table, name, said.get(name)) for name in table.columns]
    asked = made.questions if made else ()
    return {
        "rows": len(table),
        "notes": list(made.notes if made else (*table.notes, *table.row_notes)),
        "questions": [{**_remedy(one.remedy, "Yes"), "words": one.question} for one in asked],
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


def _column(table: Table, name: str, said: str | None) -> ColumnSummary:
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
    """A column that can hold ids: all cells different."""
    distinct = [
        name
        for name in table.columns
        if None not in (cells := table.cells(name)) and len(set(cells)) == len(cells)
    ]
    texts = [name for name in distinct if isinstance(table.cells(name)[0], str)]
    named = [name for name in distinct if name.strip().lower() in _IDS]
    return next(iter([*named, *texts]), "")


def _guess_target(table: Table) -> str:
    """A column of numbers that is mostly empty: the likely target."""
    for name in table.columns:
        cells = table.cells(name)
        known = [cell for cell in cells if cell is not None]
        numbers = known and all(isinstance(cell, int | float) for cell in known)
        if numbers and len(known) <= (1.0 - GUESSED_TARGET_GAPS) * len(cells):
            return name
    return ""


TABLE_JOBS = {"look": look, "make": make, "look_more": look_more, "add": add}


def worksheet(context: JobContext, given: Arguments, progress: Progress) -> dict[str, object]:
    """Write the worksheet of these rows to a file of the server, and return its download name."""
    path = Path(given["path"])
    context.campaign(given["name"]).worksheet(given["ids"], path)
    return {"file": path.stem, "called": f"{given['name']}-worksheet{path.suffix}"}


def preview(context: JobContext, given: Arguments, progress: Progress) -> dict[str, object]:
    """The action that `tell_file` would take for each line."""
    campaign, path = context.campaign(given["name"]), upload(context, given)
    try:
        found = campaign.preview(path, **_import_arguments(given))
    except ValueError as error:  # another sheet or header line may help
        _refuse_too_large(error)
        found = ResultsImport(given["called"], (), (str(error),))
    shown = _import_to_json(found, given, kept=False)
    named = [campaign.read_ledger().id_column]
    return {**shown, "preview": _preview(path, _options(given), named)}


def tell_file(context: JobContext, given: Arguments, progress: Progress) -> dict[str, object]:
    """Save the labels of a worksheet; the preview where a line has an error."""
    campaign = context.campaign(given["name"], given["who"])
    try:
        found = campaign.tell_file(upload(context, given), **_import_arguments(given))
    except ValueError:
        return preview(context, given, progress)
    return _import_to_json(found, given, kept=True)


def _import_arguments(given: Arguments) -> "ImportArguments":
    how, chosen = given["how"], _options(given)
    return {
        "replace": how.get("replace", False),
        "repeat": how.get("repeat", False),
        "name": given["called"] or "the file",
        "sheet": chosen.sheet,
        "header": chosen.header,
    }


def _import_to_json(found: "ResultsImport", given: Arguments, kept: bool) -> dict[str, object]:
    rows = sorted(found.rows, key=lambda row: (row.action != "refused", not row.message))
    shown = sorted(rows[:MAX_PREVIEW_LINES], key=lambda row: row.line)
    lines = [
        {"line": row.line, "id": row.id, "action": row.action, "value": row.value,
         "note": row.note, "message": row.message}
        for row in shown
    ]  # fmt: skip
    return {
        "file": given["file"],
        "called": given["called"],
        "how": next(iter(given["how"]), ""),
        "options": [list(one) for one in given.get("options", ())],
        "kept": kept,
        "lines": lines,
        "more": len(rows) - len(lines),
        "counts": found.counts,
        "new": found.new,
        "problems": list(found.problems),
        "notes": list(found.notes),
    }


WORKSHEET_JOBS = {"worksheet": worksheet, "preview": preview, "tell_file": tell_file}
