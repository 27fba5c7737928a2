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
    TableWords,
    chosen_settings,
    command,
    given_settings,
    open_for_command,
    open_store_url,
    plural,
    table_options,
    with_parameters,
)
from weal.cli.screen import say, show, show_activity, show_json, show_row_progress
from weal.errors import CampaignExists

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign
    from weal.campaign.earlier_labels import EarlierCampaign
    from weal.campaign.ledger import Ledger
    from weal.quantities.protocol import Quantity


DEFAULT_BOX_ROWS = 2000


class NewOptions(TableWords, Settings):
    """Options of a table, and settings of a campaign."""


@command(
    "Create a campaign from a table of candidates.",
    "weal new alloys --pool candidates.csv --id sample --target hardness",
    "weal new reactor --box inputs.toml --target conversion",
)
@with_parameters(
    click.argument("name"),
    click.option(
        "--pool",
        type=FILE,
        help="CSV, TSV, Parquet or Excel file; a folder or 'pattern' of Parquet files is not "
        "copied into the store.",
    ),
    click.option(
        "--box",
        type=FILE,
        help="TOML file of bounds, mixtures and constraints, instead of --pool.",
    ),
    click.option("--rows", type=int, help="Candidates drawn in the box [default: 2000]."),
    click.option(
        "--like",
        metavar="CAMPAIGN",
        help="An earlier campaign in the store; its targets are used, and its labels help the new "
        "models.",
    ),
    click.option("--copy", is_flag=True, help="Copy the rows of Parquet files into the store too."),
    click.option(
        "--id",
        "id_column",
        metavar="COLUMN",
        help="Column of the ids [default: rows are numbered].",
    ),
    click.option(
        "--target",
        "targets",
        multiple=True,
        metavar="COLUMN",
        help="Column of the measured quantity; existing values are saved as labels. Repeatable.",
    ),
    click.option(
        "--features", default="auto", metavar="a,b,c", help="Input columns [default: auto]."
    ),
    *line.TABLE_OPTIONS,
    line.lease,
    line.acquisition,
    line.goal,
    line.subject_to,
    line.weight,
    line.until,
    click.option(
        "--cost",
        metavar="COLUMN",
        help="Cost of a label: scores are divided by it (not random, igs, bald and entropies).",
    ),
    line.title,
    line.budget,
    line.outliers,
    line.repeats,
    line.warp,
    line.model_version,
    click.option("--seed", type=int, help="Seed of all random choices [default: 0]."),
    click.option("--n-start", type=int, help="Labels before the first model."),
    line.by,
)
def new(
    name: str,
    pool: Path | None,
    box: Path | None,
    rows: int | None,
    like: str | None,
    id_column: str | None,
    targets: tuple[str, ...],
    features: str,
    copy: bool,
    store: str | None,
    as_json: bool,
    by: str | None,
    **others: Unpack[NewOptions],
) -> None:
    """Create the campaign NAME from a table of candidates, or from a box of inputs.

    Use --type if weal guesses the type of a column wrong. The type of a target is number,
    pass:yes,no (the word for a pass first), ordered:low,high or classes:a,b,c.
    """
    source = _source(pool, box, rows, copy)
    from weal.store.events import check_name

    check_name(name)
    target, more = next(iter(targets), None), targets[1:]
    named = {"id_column": id_column, "target": target, "more_targets": more}
    options = table_options(others, **named, features=_columns(features))
    with open_store_url(store) as place:
        if name in place.campaigns():
            raise _campaign_exists(name, place.url)
        from weal.campaign.box_candidates import create_from_box
        from weal.campaign.campaign import Campaign, account
        from weal.campaign.creation import create

        who = by or account()
        earlier = None if like is None else _earlier(Campaign(like, place, who))
        with show_activity(f"reading {source}"), show_row_progress() as progress:
            settings = given_settings(**chosen_settings(others))
            if box is not None:
                n = DEFAULT_BOX_ROWS if rows is None else rows
                is_new, made = create_from_box(place, name, box, n, options, settings, who, earlier)
            else:
                is_new, made = create(
                    place,
                    name,
                    source,
                    options,
                    settings,
                    who,
                    copy,
                    progress=progress,
                    like=earlier,
                )
        if not is_new:
            raise _campaign_exists(name, place.url)
        for note in made.all_notes if made is not None else ():
            say(note)
        _show_new(Campaign(name, place, who), as_json)


def _source(pool: Path | None, box: Path | None, rows: int | None, copy: bool) -> Path:
    """The file of the candidates or of the box."""
    if pool is not None and pool.suffix.lower() == ".toml":
        raise click.UsageError(f"{pool} is a box of inputs; write --box {quote(str(pool))}.")
    if box is not None and box.suffix.lower() in (".csv", ".tsv", ".xlsx", ".parquet"):
        raise click.UsageError(f"{box} is a table of candidates; write --pool {quote(str(box))}.")
    if pool is not None and box is None and rows is None:
        return pool
    if box is not None and pool is None and not copy:
        return box
    if pool is None and box is None:
        raise click.UsageError(
            "Give a table of candidates (--pool candidates.csv) or a box of inputs (--box "
            "inputs.toml)."
        )
    raise click.UsageError(
        "--rows belongs to --box, --copy to --pool; give one of --pool and --box."
    )


def _earlier(campaign: "Campaign") -> "EarlierCampaign":
    from weal.campaign.earlier_labels import read_earlier

    return read_earlier(campaign)


def _campaign_exists(name: str, place: str) -> CampaignExists:
    return CampaignExists(
        f"there is a campaign {name!r} in {place} already: continue with `weal ask {quote(name)}`, "
        f"add candidates with `weal add {quote(name)} FILE`, or choose another name"
    )


def _columns(features: str) -> list[str] | None:
    """Names of columns, None for all; as in CSV, a name with a comma is quoted."""
    if features == "auto":
        return None
    import csv

    return [name.strip() for row in csv.reader([features]) for name in row if name.strip()]


def _show_new(campaign: "Campaign", as_json: bool) -> None:
    from weal.campaign.answers import description_answer
    from weal.campaign.earlier_labels import earlier_line
    from weal.tables.design_file import space_from_json
    from weal.tables.plan import TablePlan

    ledger = campaign.read_ledger()
    plan = TablePlan.from_json(ledger.plan)
    if as_json:
        show_json(description_answer(ledger))
        return
    box = [] if ledger.box is None else space_from_json(ledger.box).words()
    for words in (*plan.lines(), *box, *map(earlier_line, ledger.earlier)):
        say(f"  {words}")
    for one in ledger.quantities.values():
        if words := _quantity_line(one.quantity, len(ledger.quantities)):
            say(f"  {words}")
    rows = plural(ledger.rows, "candidate")
    show(f"{ledger.name}: {rows}, {plan.describe()}, {_label_words(ledger)}")


def _quantity_line(quantity: "Quantity", among: int) -> str:
    """A target with its kind or its bounds; empty for the only one without any."""
    from weal.campaign.quantity_names import describe_quantity

    ends = zip(("from", "to"), (quantity.low, quantity.high), strict=True)
    bounds = [f"{word} {end:.15g}" for word, end in ends if end is not None]
    if bounds:
        return f"{quantity.column}: {'a' if among > 1 else 'the'} target, labels {' '.join(bounds)}"
    return describe_quantity(quantity) if among > 1 or quantity.words else ""


def _label_words(ledger: "Ledger") -> str:
    """The numbers of labels and failed runs in the table."""
    failed, labels = len(ledger.failures.labels), plural(ledger.n_labels, "label")
    more = f", {plural(failed, 'failed run')}" if failed else ""
    if not ledger.n_labels:
        return f"no labels yet{more}"
    columns = [one.quantity.column for one in ledger.quantities.values() if one.n_labels]
    if len(ledger.quantities) > 1:
        return f"{labels} of {plural(len(columns), 'quantity', 'quantities')} already{more}"
    return f'{labels} already in the column "{columns[0]}"{more}'


@command("Add candidates to a campaign.", "weal add alloys more.csv")
@with_parameters(line.name, click.argument("file", type=FILE), *line.TABLE_OPTIONS[-4:], line.by)
def add(
    name: str,
    file: Path,
    by: str | None,
    store: str | None,
    as_json: bool,
    **words: Unpack[TableWords],
) -> None:
    """Add the candidates in FILE, which must have the columns of the first table."""
    with open_for_command(name, store, by) as campaign, show_activity(f"reading {file}"):
        from weal.campaign.candidate_files import is_in_files
        from weal.campaign.creation import read_more

        ledger = campaign.read_ledger()
        far: list[str] = []
        if ledger.shards or is_in_files(file):
            added = campaign.add(file)
        else:
            made = read_more(ledger, file, table_options(words))
            far = campaign.far_inputs(made)
            added = campaign.add(made)
            for note in (*made.notes, *far):
                say(note)
        after = campaign.read_ledger()
        rows, labels = after.rows, after.n_labels - ledger.n_labels
    if as_json:
        show_json({"added": added, "candidates": rows, "labels": labels, "far": far})
    else:
        came = f", with {plural(labels, 'label')}" if labels else ""
        show(f"{name}: {plural(added, 'candidate')} added{came}, {rows:,} now")


@command("Add candidates near the promising ones.", "weal refine reactor -n 100")
@with_parameters(
    line.name,
    click.option("-n", "count", type=int, default=100, show_default=True, help="How many."),
    line.by,
)
def refine(name: str, count: int, by: str | None, store: str | None, as_json: bool) -> None:
    """Add candidates near the rows that would be asked next, within the box of the campaign."""
    with open_for_command(name, store, by) as campaign, show_activity("drawing candidates"):
        added = campaign.refine(count)
        rows = campaign.read_ledger().rows
    if as_json:
        show_json({"added": added, "candidates": rows})
    else:
        ends = f"{added[0]} to {added[-1]}" if len(added) > 1 else added[0]
        show(f"{name}: {plural(len(added), 'candidate')} added ({ends}), {rows:,} now")
