"""Jobs on uploaded files: a table becomes a campaign, a filled-in worksheet becomes labels.

An upload has a random name. `look` and `preview` show the effect of the user's choices and write
nothing; `make`, `add` and `tell_file` save everything or nothing.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from weal.campaign.config import check_goal, check_typed_goal
from weal.campaign.results_import import ResultsImport
from weal.errors import TooLarge, WealError, campaign_exists
from weal.progress import Progress
from weal.tables.candidate_table import DEFAULT_ID_COLUMN, PlannedTable, read_candidates
from weal.tables.cells import some_of
from weal.tables.plan_columns import DECLARED
from weal.tables.table import Table, read_table, table_of
from weal.tables.table_error import TableError
from weal.tables.table_options import TableOptions
from weal.tables.table_preview import TablePreview, preview_table
from weal.web.job_context import Arguments, JobContext
from weal.web.server_folder import find_file
from weal.web.table_summary import (
    for_page,
    guess_id,
    guess_target,
    problem_of,
    table_to_json,
)

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign
    from weal.campaign.results_import import ImportArguments

THIS_FILE = "this file"  # an upload whose name is not known
ONE_ROW = (
    "The table has one row, so there is nothing to choose from: add rows to the file, or add "
    "candidates later (Settings)."
)
ADD_STAGES = 2  # reading, comparing
MAKE_STAGES = 2  # reading, saving
LOOK_STAGES = 4  # reading, reading again with the columns known, planning, checking
RESULT_KINDS = ("result", "result-pass")  # types of columns that are measured besides the target
MAX_PREVIEW_LINES = 500  # of a results file; lines with messages come first


def upload(context: JobContext, given: Arguments) -> Path:
    """The uploaded file; WealError where it was deleted since."""
    path = find_file(context.results.folder, given["file"])
    if path is None:
        raise WealError("this upload was deleted: upload the file again")
    return path


def look(context: JobContext, given: Arguments, progress: Progress) -> dict[str, object]:
    """The plan of a table under the user's choices, column by column, and the problem, if any."""
    path, called = upload(context, given), given.get("called", "")
    table, made = table_of({}), None
    try:
        progress("reading the table", 0, LOOK_STAGES)
        with without_path(path, called):
            if "id" not in given:  # the first time
                table = read_table(path, _options(given), leave_out=True)
                given = {**given, "id": guess_id(table), "target": guess_target(table)}
                progress("reading the table", 1, LOOK_STAGES)
            table = _read_table(path, given)
        progress("planning the columns", 2, LOOK_STAGES)
        made, problem = _plan(table, given)
        progress("checking the plan", 3, LOOK_STAGES)
    except ValueError as error:  # another sheet or header line may help
        _refuse_too_large(error)
        given = {"id": "", "target": "", **given}
        problem = problem_of(error)
    if made:
        problem |= _goalproblem_of(given, len(made.table))
    shown = table_to_json(made.table if made else table, made, given)
    notes = [for_page(note.replace(path.name, called or THIS_FILE)) for note in shown["notes"]]
    if made and len(made.table) == 1:
        notes.append(ONE_ROW)
    preview = _preview(path, _options(given), _options(given).named)
    return {**shown, "notes": notes, "file": given["file"], "called": called, **problem,
            "preview": preview}  # fmt: skip


def make(context: JobContext, given: Arguments, progress: Progress) -> dict[str, object]:
    """Make the campaign of a table; the result of `look` and the problem where that fails."""
    from weal.campaign.creation import create

    path = upload(context, given)
    name = given["name"]
    try:
        if name in context.store.campaigns():
            raise campaign_exists(name)
        chosen = _goal_settings(given)
        with without_path(path, given.get("called", "")):
            progress("reading the table", 0, MAKE_STAGES)
            table = _read_table(path, given)
            progress("saving the candidates", 1, MAKE_STAGES)
            is_new, _ = create(context.store, name, table, _options(given), chosen, given["who"])
        if not is_new:
            raise campaign_exists(name)  # by somebody else, a moment ago
    except ValueError as error:
        return {**look(context, given, progress), **problem_of(error)}
    return {"made": name}


def look_more(context: JobContext, given: Arguments, progress: Progress) -> dict[str, object]:
    """What adding the candidates of a table would do: their number, notes, and the problem."""
    from weal.campaign.creation import read_more

    path, options = upload(context, given), _options(given)
    campaign = context.campaign(given["name"])
    progress("reading the table", 0, ADD_STAGES)
    ledger = campaign.read_ledger()
    named = [] if ledger.numbered else [ledger.id_column]
    called = given.get("called", "")
    shown = {"file": given["file"], "called": called, "preview": _preview(path, options, named),
             "options": [list(one) for one in given.get("options", ())]}  # fmt: skip
    if ledger.shards:
        return {**shown, "rows": None, "notes": [], "problem": None}
    try:
        with without_path(path, called):
            made = read_more(ledger, path, options)
            progress("comparing it with the candidates", 1, ADD_STAGES)
            _refuse_known_ids(campaign, made.table, ledger.id_column)
            notes = [*made.notes, *campaign.far_inputs(made)]
    except ValueError as error:
        _refuse_too_large(error)
        return {**shown, "rows": 0, "notes": [], "problem": problem_of(error)["problem"]}
    notes = [for_page(note.replace(path.name, called or THIS_FILE)) for note in notes]
    return {**shown, "rows": len(made.table), "notes": notes, "problem": None}


def _refuse_known_ids(campaign: "Campaign", table: Table, ids: str) -> None:
    names = [str(name) for name in table.cells(ids)]
    if known := campaign.existing_ids(names):
        some = some_of([repr(name) for name in names if name in known])
        raise ValueError(f"ids that already exist: {some}; delete these rows, or rename them")


def add(context: JobContext, given: Arguments, progress: Progress) -> int:
    """Add the candidates of a table to a campaign, and return their number."""
    path = upload(context, given)
    campaign = context.campaign(given["name"], given["who"])
    with without_path(path, given.get("called", "")):
        return campaign.add(path, options=_options(given))


@contextmanager
def without_path(path: Path, called: str = "") -> Iterator[None]:
    """Errors with the name of the file on the user's machine, not the random one of the upload."""
    try:
        yield
    except TableError:
        raise
    except ValueError as error:
        text = (
            str(error)
            .replace(str(path), called or THIS_FILE)
            .replace(path.name, called or THIS_FILE)
        )
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
    same: dict[str, dict[str, str]] = {}
    for column, spelling, meant in given.get("same", ()):
        same.setdefault(column, {})[spelling] = meant
    options = TableOptions(roles[0], next(iter(targets), None), types=types, same=same)
    return replace(options, more_targets=tuple(targets[1:])).with_words(words)


def _read_table(path: Path, given: Arguments) -> Table:
    """The table as `read_candidates` reads it, once for all that look at it."""
    options = _options(given)
    ids = options.id_column or DEFAULT_ID_COLUMN
    return read_table(path, options, text=[ids], leave_out=True)


def _plan(table: Table, given: Arguments) -> tuple[PlannedTable | None, dict[str, object]]:
    try:
        return read_candidates(table, _options(given)), {"problem": None, "remedies": []}
    except ValueError as error:
        return None, problem_of(error)


def _goalproblem_of(given: Arguments, rows: int) -> dict[str, object]:
    """What is wrong with the goal or the stop condition; empty where nothing is."""
    try:
        check_goal(_goal_settings(given), rows)
    except ValueError as error:
        return problem_of(error)
    return {}


def _goal_settings(given: Arguments) -> dict[str, object]:
    return check_typed_goal(given.get("goal", ""), given.get("until", ""))


def _preview(path: Path, options: TableOptions, named: Sequence[str]) -> dict[str, object]:
    """The first rows of a file, to choose its sheet and the line of its column names."""
    for sheet, header in ((options.sheet, options.header), (None, None)):
        with suppress(ValueError):  # such as a sheet that is not there
            return preview_table(path, sheet, header, named).to_json()
    return TablePreview().to_json()


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
        found = ResultsImport(given["called"], (), (for_page(str(error)),))
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
        "problems": [for_page(one) for one in found.problems],
        "notes": list(found.notes),
    }


WORKSHEET_JOBS = {"worksheet": worksheet, "preview": preview, "tell_file": tell_file}
