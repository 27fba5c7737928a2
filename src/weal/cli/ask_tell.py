"""`weal ask | tell | skip | withdraw`: the daily round of a campaign.

`tell`, `skip` and `withdraw` are one short transaction each: they read neither candidates nor
model, and start no numerics. Whatever is heavy is imported where it is used.
"""

from dataclasses import asdict
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import click

from weal.cli import options as line
from weal.cli.options import command, opened, plural, takes
from weal.cli.screen import on_a_terminal, say, show, show_json, show_table, working
from weal.errors import Exhausted

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign
    from weal.campaign.explaining import Asked
    from weal.campaign.rules import Entry

MOST_INPUTS = 12  # columns of a table that is shown
PADDING = 3  # around a column on a terminal
_VERBATIM = {"ignore_unknown_options": True}  # -3.5 is a value, and -A17 an id
_file = click.Path(path_type=Path)


@command("Which rows to measure next.", "weal ask alloys -n 4")
@takes(
    line.name,
    click.option("-n", type=click.IntRange(min=1), help="How many rows [default: 1]."),
    click.option(
        *("--check", "checks"),
        type=click.IntRange(min=1),
        metavar="K",
        help="K random rows, for an honest test of the predictions.",
    ),
    line.lease,
    click.option("--again", is_flag=True, help="Show the rows that are out; ask for none."),
    line.scheduler,
    line.by,
)
def ask(
    name: str,
    n: int | None,
    checks: int | None,
    lease: str | None,
    again: bool,
    scheduler: str | None,
    by: str | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Which rows to measure next, what is expected of them, and why these.

    They are out with who asked until their label comes or the lease ends.
    """
    if again and (n or checks or lease):
        raise ValueError("--again shows the rows that are out; leave out -n, --check and --lease")
    late = None
    with opened(name, store, by, scheduler) as campaign, working("choosing"):
        ids: list[str] = []
        if not again and (n or not checks):
            ids += campaign.ask(n or 1, lease=lease)
        try:
            ids += campaign.ask(checks, lease=lease, check=True) if checks else []
        except Exhausted as error:  # those that were asked before are out, and must be shown
            if not ids:
                raise
            late = error
        out = campaign.ledger.leases
        rows = campaign.asked(None if again else [one for one in ids if one in out])
        inputs = _inputs(campaign.ledger.plan)
        for note in campaign.session.beliefs.notes:
            say(note)
    _show(rows, inputs, name, as_json)
    if late:
        raise late


def _show(rows: "list[Asked]", inputs: list[str], name: str, as_json: bool) -> None:
    if as_json:
        show_json([{**asdict(row), "why": row.why} for row in rows])
    elif rows:
        _show_asked(rows, inputs)
    else:
        say(f"no row of {name} is out; `weal ask {name}` asks for one")


def _inputs(plan: dict[str, Any]) -> list[str]:
    """The columns that are learnt from."""
    return [column["name"] for column in plan["columns"] if column["kind"] != "dropped"]


def _show_asked(rows: "list[Asked]", inputs: list[str]) -> None:
    """A table; why each was chosen is its last column, or stands below where lines are short."""
    below = on_a_terminal()
    shown = _fitting(rows, inputs) if below else inputs[:MOST_INPUTS]
    header = ["id", *shown, "expected", *([] if below else ["why"])]
    show_table(header, [_cells(row, shown, below) for row in rows])
    for row in rows if below else []:
        show(f"{row.id}: {row.why}")
    if more := len(inputs) - len(shown):
        say(f"and {plural(more, 'input')} more: --json shows all")


def _fitting(rows: "list[Asked]", inputs: list[str]) -> list[str]:
    """The first inputs, as many as a line of the terminal holds beside id and expectation."""
    edges = [max(len(row.id), len(_cells(row, [], True)[-1])) + PADDING for row in rows]
    left, shown = get_terminal_size().columns - 2 * max(edges, default=0), list[str]()
    for name in inputs[:MOST_INPUTS]:
        left -= max(len(name), *(len(_cell(row.row.get(name))) for row in rows)) + PADDING
        if left < 0:
            break
        shown.append(name)
    return shown


def _cells(row: "Asked", inputs: list[str], below: bool) -> list[str]:
    from weal.diagnostics.wording import plus_minus

    expected = "not known yet"
    if row.mean is not None and row.sd is not None:
        expected = plus_minus(row.mean, row.sd)
    why = [] if below else [row.why]
    return [row.id, *(_cell(row.row.get(name)) for name in inputs), expected, *why]


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else str(value)


@command(
    "Bring a label, or a file of them.",
    "weal tell alloys A-0417 312.5",
    "weal tell alloys --file results.csv",
    context_settings=_VERBATIM,
)
@takes(
    line.name,
    click.argument("id_", metavar="[ID", required=False),
    click.argument("value", metavar="VALUE]", required=False),
    click.option(
        "--file", "file", type=_file, help="A table of labels, taken whole or not at all."
    ),
    click.option("--noise", metavar="SD", help="Standard deviation of the measurement."),
    line.note,
    click.option("--replace", is_flag=True, help="It corrects the label that is there."),
    click.option("--repeat", is_flag=True, help="It is a second measurement."),
    click.option("--key", help="A name of your own: the same key again writes nothing."),
    line.by,
)
def tell(
    name: str,
    id_: str | None,
    value: str | None,
    file: Path | None,
    store: str | None,
    as_json: bool,
    by: str | None,
    replace: bool,
    repeat: bool,
    **details: Any,
) -> None:
    """Bring the label of one row, or those in a file; then it is on disk."""
    _check_usage(id_, value, file, details)
    how: dict[str, Any] = {"replace": replace, "repeat": repeat}
    with opened(name, store, by) as campaign:
        if file is None:
            found, what = _one(id_, value, details), f"{id_}: {value}"
        else:
            found, what = _in_file(campaign, file)
        seq, new = campaign.tell_entries(found, key=details.get("key"), **how)
    say(f"{what} {_said(len(found), new, seq)}")
    show_json({"event": seq, "labels": len(found), "new": new}) if as_json else show(seq)


def _said(labels: int, new: int, seq: int) -> str:
    if not new:
        return f"{'was' if labels == 1 else 'were'} there already (event {seq})"
    return f"kept (event {seq})" if new == labels else f"kept: {new} new (event {seq})"


def _one(id_: Any, value: Any, details: dict[str, Any]) -> "list[Entry]":
    from weal.campaign.entries import entry

    return [entry(id_, value, details.get("noise"), details.get("note"))]


def _check_usage(
    id_: str | None, value: str | None, file: Path | None, details: dict[str, Any]
) -> None:
    if file is None and (id_ is None or value is None):
        raise click.UsageError("Name an ID and its VALUE, or give --file.")
    if file is not None and (id_ is not None or any(details.values())):
        raise click.UsageError(
            "With --file, the file says all: leave ID, VALUE and their options out."
        )


def _in_file(campaign: "Campaign", file: Path) -> "tuple[list[Entry], str]":
    """The labels in a results file, and what to call them."""
    from weal.campaign.entries import entry
    from weal.table.results import read_results

    created = campaign.events()[0].body
    results = read_results(file, created["id"], created["target"])
    if results.empty:
        say(f"{plural(results.empty, 'row')} of {file} without a value: left out")
    found = [entry(row.id, row.value, row.noise, row.note) for row in results.rows]
    return found, f"{file}: {plural(len(found), 'label')}"


@command("Leave rows out.", 'weal skip alloys A-0417 --note "cracked"', context_settings=_VERBATIM)
@takes(
    line.name,
    line.ids,
    click.option("--undo", is_flag=True, help="Let them be asked again."),
    line.note,
    line.by,
)
def skip(
    name: str,
    ids: tuple[str, ...],
    undo: bool,
    note: str | None,
    by: str | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Leave rows out: they are not asked, until --undo or until a label of theirs comes."""
    with opened(name, store, by) as campaign:
        (campaign.unskip if undo else campaign.skip)(ids, note=note)
    _done(ids, "back" if undo else "skipped", as_json)


@command(
    "Take labels back.",
    'weal withdraw alloys A-0417 --note "wrong sample"',
    context_settings=_VERBATIM,
)
@takes(line.name, line.ids, line.note, line.by)
def withdraw(
    name: str,
    ids: tuple[str, ...],
    note: str | None,
    by: str | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Take back the labels of rows; of rows that are out and have none, the lease."""
    with opened(name, store, by) as campaign:
        campaign.withdraw(ids, note=note)
    _done(ids, "withdrawn", as_json)


def _done(ids: tuple[str, ...], what: str, as_json: bool) -> None:
    if as_json:
        show_json({what: list(ids)})
    for one in ids:
        say(f"{one}: {what}")
