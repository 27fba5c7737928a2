"""`weal new | add`: the candidates of a campaign.

Both read a table in the same way: a line for each column, and notes on anything unexpected. Slow
packages are imported where they are used.
"""

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Unpack

import click

from weal.cli import options as line
from weal.cli.options import (
    FILE,
    Settings,
    command,
    given_settings,
    open_for_command,
    open_store_url,
    plural,
    with_parameters,
)
from weal.cli.screen import say, show, show_activity, show_json, show_row_progress

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign
    from weal.tables.table import Table


@command(
    "Create a campaign from a table of candidates.",
    "weal new alloys --pool candidates.csv --id sample --target hardness",
)
@with_parameters(
    click.argument("name"),
    click.option(
        "--pool",
        type=FILE,
        required=True,
        help="CSV, TSV, Parquet or Excel file; a folder or 'pattern' of Parquet files is not "
        "copied into the store.",
    ),
    click.option("--copy", is_flag=True, help="Copy the rows of Parquet files into the store too."),
    click.option(
        "--id",
        "id_column",
        metavar="COLUMN",
        help="Column of the ids [default: rows are numbered].",
    ),
    click.option("--target", metavar="COLUMN", help="Column to measure; labels in it are saved."),
    click.option(
        "--features", default="auto", metavar="a,b,c", help="Input columns [default: auto]."
    ),
    click.option(
        *("--type", "types"),
        multiple=True,
        metavar="COLUMN=TYPE",
        help="number, flag, category, date, day-first, month-first, ordered:low,high or drop.",
    ),
    click.option(
        *("--missing", "missing"),
        multiple=True,
        metavar="COLUMN=TEXT",
        help="A further text for a missing value, as in 'Druck=<0,5'.",
    ),
    line.sheet,
    line.header,
    line.lease,
    line.acquisition,
    line.goal,
    line.until,
    click.option(
        "--cost",
        metavar="COLUMN",
        help="Cost of a label: scores are divided by it (not random, igs, bald and entropies).",
    ),
    line.outliers,
    line.warp,
    click.option("--seed", type=int, help="Seed of all random choices [default: 0]."),
    click.option("--n-start", type=int, help="Labels before the first model."),
    line.by,
)
def new(
    name: str,
    pool: Path,
    id_column: str | None,
    target: str | None,
    features: str,
    types: tuple[str, ...],
    missing: tuple[str, ...],
    sheet: str | None,
    header: int | None,
    copy: bool,
    store: str | None,
    as_json: bool,
    by: str | None,
    **settings: Unpack[Settings],
) -> None:
    """Create the campaign NAME from a table of candidates."""
    from weal.store.events import check_name

    check_name(name)
    kinds, columns = _types(types), _columns(features)
    absent = _missing(missing)
    with open_store_url(store) as place:
        if name in place.campaigns():
            raise _campaign_exists(name, place.url)
        from weal.campaign.campaign import Campaign, account
        from weal.campaign.candidate_files import is_in_files
        from weal.campaign.creation import DEFAULT_ID_COLUMN, create, strict_columns
        from weal.tables.table import read_table

        who, in_files = by or account(), is_in_files(pool)
        with show_activity(f"reading {pool}"), show_row_progress() as progress:
            strict = strict_columns(target, kinds)
            if in_files and (sheet or header):
                raise ValueError(
                    "--sheet and --header need one CSV or Excel file, not Parquet files"
                )
            table = None
            if not in_files:
                text = [id_column or DEFAULT_ID_COLUMN]
                table = read_table(
                    pool, text=text, missing=absent, sheet=sheet, header=header, strict=strict
                )
            given = (id_column, target, columns, kinds, given_settings(**settings), who)
            further = absent if in_files else None
            made = create(place, name, table or pool, *given, further, copy, progress=progress)
        if not made:
            raise _campaign_exists(name, place.url)
        campaign = Campaign(name, place, who)
        for note in _notes(campaign, table) if table is not None else []:
            say(note)
        _show_new(campaign, as_json)


def _campaign_exists(name: str, place: str) -> ValueError:
    return ValueError(
        f"there is a campaign {name!r} in {place} already: continue with `weal ask {quote(name)}`, "
        f"add candidates with `weal add {quote(name)} FILE`, or choose another name"
    )


def _types(given: tuple[str, ...]) -> dict[str, str]:
    """COLUMN=TYPE as a mapping; the name of a column may contain =."""
    if wrong := [one for one in given if "=" not in one]:
        raise ValueError(f"--type is {wrong[0]!r}; write it as COLUMN=TYPE, such as steel=category")
    pairs = [one.rpartition("=") for one in given]
    return {column: kind for column, _, kind in pairs}


def _missing(given: tuple[str, ...]) -> dict[str, list[str]]:
    """COLUMN=TEXT as a mapping; the text may contain =."""
    found: dict[str, list[str]] = {}
    for one in given:
        column, equals, text = one.partition("=")
        if not equals or not column or not text:
            raise ValueError(f"--missing is {one!r}; write it as COLUMN=TEXT, such as 'Druck=<0,5'")
        found.setdefault(column, []).append(text.strip())
    return found


def _columns(features: str) -> str | list[str]:
    """Names of columns; as in CSV, a name with a comma is quoted."""
    if features == "auto":
        return features
    import csv

    return [name.strip() for row in csv.reader([features]) for name in row if name.strip()]


def _notes(campaign: "Campaign", table: "Table") -> list[str]:
    """Notes on a table for its owner."""
    from weal.tables.plan import TablePlan, similar_levels

    return [*table.notes, *similar_levels(TablePlan.from_json(campaign.read_ledger().plan), table)]


def _show_new(campaign: "Campaign", as_json: bool) -> None:
    from weal.campaign.config import settings_to_json
    from weal.tables.plan import TablePlan

    ledger = campaign.read_ledger()
    plan = TablePlan.from_json(ledger.plan)
    if as_json:
        counts = {"candidates": ledger.rows, "labels": ledger.n_labels}
        settings = settings_to_json(ledger.settings)
        show_json({"name": ledger.name, **counts, "plan": ledger.plan, "settings": settings})
        return
    for words in plan.lines():
        say(f"  {words}")
    where = f' already in the column "{ledger.target}"' if ledger.n_labels else ""
    labels = plural(ledger.n_labels, "label") if ledger.n_labels else "no labels yet"
    rows = plural(ledger.rows, "candidate")
    show(f"{ledger.name}: {rows}, {plan.describe()}, {labels}{where}")


@command("Add candidates to a campaign.", "weal add alloys more.csv")
@with_parameters(line.name, click.argument("file", type=FILE), line.by)
def add(name: str, file: Path, by: str | None, store: str | None, as_json: bool) -> None:
    """Add the candidates in FILE, which has the columns of the first table."""
    with open_for_command(name, store, by) as campaign, show_activity(f"reading {file}"):
        from weal.campaign.candidate_files import is_in_files
        from weal.campaign.creation import strict_columns
        from weal.tables.plan import TablePlan, notes
        from weal.tables.table import read_table

        ledger = campaign.read_ledger()
        plan = TablePlan.from_json(ledger.plan)
        far: list[str] = []
        if ledger.shards or is_in_files(file):
            added = campaign.add(file)
        else:
            strict = strict_columns(ledger.target, {one.name: one.kind for one in plan.columns})
            text = [plan.id_column] if plan.id_column else []
            table = read_table(file, text=text, strict=strict)
            far = campaign.far_inputs(table)
            added = campaign.add(table)
            for words in (*table.notes, *notes(plan, table), *far):
                say(words)
        after = campaign.read_ledger()
        rows, labels = after.rows, after.n_labels - ledger.n_labels
    if as_json:
        show_json({"added": added, "candidates": rows, "labels": labels, "far": far})
    else:
        came = f", with {plural(labels, 'label')}" if labels else ""
        show(f"{name}: {plural(added, 'candidate')} added{came}, {rows:,} now")
