"""`weal tell | skip | withdraw`: save labels, leave rows out, withdraw labels.

Each is one short transaction that reads neither candidates nor model and imports no numerics.
"""

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from weal.cli import options as line
from weal.cli.options import FILE, VERBATIM, command, open_for_command, plural, with_parameters
from weal.cli.screen import say, show, show_json, show_table

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign
    from weal.campaign.results_import import ResultsImport


class TellOptions(TypedDict):
    """Options of `weal tell` beside the label itself."""

    column: str | None
    sheet: str | None
    header: int | None
    dry_run: bool
    noise: str | None
    note: str | None
    sure: bool
    replace: bool
    repeat: bool
    key: str | None


@command(
    "Save a label, or a file of labels.",
    "weal tell alloys A-0417 312.5",
    "weal tell alloys --file batch.xlsx",
    context_settings=VERBATIM,
)
@with_parameters(
    line.name,
    click.argument("id_", metavar="[ID", required=False),
    click.argument("value", metavar="VALUE]", required=False),
    click.option(
        "--file", "file", type=FILE, help="A table of labels, saved completely or not at all."
    ),
    click.option("--value", "column", metavar="COLUMN", help="Column of the values in the file."),
    line.sheet,
    line.header,
    click.option("--dry-run", is_flag=True, help="With --file: show the outcome, save nothing."),
    click.option("--noise", metavar="SD", help="Standard deviation of the measurement error."),
    line.note,
    click.option(
        "--sure", is_flag=True, help="The label was checked: never treat it as an outlier."
    ),
    click.option("--replace", is_flag=True, help="Replace the existing label of the row."),
    click.option("--repeat", is_flag=True, help="Add a repeated measurement of the row."),
    click.option("--key", help="A key of your choice: the same key and labels again save nothing."),
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
    **details: Unpack[TellOptions],
) -> None:
    """Save the label of one row, or the labels in a file.

    A file has the columns of a worksheet written by `weal ask --to`: the id, the target, and
    optionally noise and note. "failed" in place of a value skips the row; a bound such as <0.1 or
    >95 is kept as its note and not learned from.
    """
    _check_usage(id_, value, file, details)
    with open_for_command(name, store, by) as campaign:
        if file is None:
            _tell_one(campaign, str(id_), str(value), details, as_json)
        else:
            tell_file(campaign, file, details, as_json)


def _tell_one(
    campaign: "Campaign", id_: str, value: str, details: TellOptions, as_json: bool
) -> None:
    from weal.campaign.label_input import entry
    from weal.quantities.kinds import find_quantity
    from weal.tables.result_lines import bound_note, read_failure

    if bound := bound_note(value, details["note"]):
        return _tell_bound(campaign, id_, bound, details, as_json)
    if read_failure(value.strip(), None)[0]:
        note = f"--note {shlex.quote(value.strip())}"
        words = f"weal skip {shlex.quote(campaign.name)} {shlex.quote(id_)} {note}"
        raise ValueError(f"{value!r} is not a number; skip a row without one: `{words}`")
    quantity = find_quantity(campaign.read_quantities())
    found = entry(quantity, id_, value, details["noise"], details["note"], details["sure"])
    kept = campaign.tell_entries(
        [found], replace=details["replace"], repeat=details["repeat"], key=details["key"]
    )
    read_as = f" as {found.y}" if "," in value else ""
    undo = shlex.join(["weal", "withdraw", "--event", str(kept.seq), "--", campaign.name, id_])
    again = (
        f" as a repeat: the row keeps its label. `{undo}` takes it back" if kept.repeated else ""
    )
    became = [f"{id_}: {value} {'saved' + read_as + again if kept.new else 'was saved before'}"]
    for words in (*(kept.superseded or kept.unclear or became), *kept.doubts):
        say(words)
    if as_json:
        told = {"event": kept.seq, "labels": 1, "new": kept.new}
        show_json({**told, "doubts": list(kept.doubts)})
    else:
        show(kept.seq)


def _tell_bound(
    campaign: "Campaign", id_: str, note: str, details: TellOptions, as_json: bool
) -> None:
    """Keep a bound such as <0.1 as the note of a skipped row."""
    from weal.campaign.rules import skip_rows

    since = skip_rows(campaign, [id_], True, campaign.who, note, details["key"])
    undo = shlex.join(["weal", "skip", "--undo", "--", campaign.name, id_])
    say(since.get(id_) or f"{id_}: kept as {note}, and skipped; `{undo}` takes it back")
    seq = campaign.read_ledger().seq
    if as_json:
        show_json({"event": seq, "labels": 0, "new": 0, "skipped": [id_], "note": note})
    else:
        show(seq)


def _check_usage(
    id_: str | None, value: str | None, file: Path | None, details: TellOptions
) -> None:
    if file is None and (id_ is None or value is None):
        raise click.UsageError("Give an ID and its VALUE, or --file.")
    if file is None and (
        details["column"] or details["sheet"] or details["header"] or details["dry_run"]
    ):
        raise click.UsageError("--value, --sheet, --header and --dry-run need --file.")
    if file is not None and (id_ is not None or details["noise"] or details["note"]):
        raise click.UsageError(
            "With --file, leave out ID, VALUE, --noise and --note: the file has them."
        )


@command("Leave rows out.", 'weal skip alloys A-0417 --note "cracked"', context_settings=VERBATIM)
@with_parameters(
    line.name,
    line.ids,
    click.option("--undo", is_flag=True, help="Allow them to be suggested again."),
    line.note,
    click.option("--key", help="A key of your choice: the same key and rows again save nothing."),
    line.by,
)
def skip(
    name: str,
    ids: tuple[str, ...],
    undo: bool,
    note: str | None,
    key: str | None,
    by: str | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Leave rows out: they are not suggested until --undo, or until they get a label."""
    with open_for_command(name, store, by) as campaign:
        from weal.campaign.label_input import distinct
        from weal.campaign.row_rules import skip_rows

        since = skip_rows(campaign, distinct(list(ids)), not undo, campaign.who, note, key)
    _report_ids([one for one in ids if one not in since], "back" if undo else "skipped", as_json)
    for words in since.values():
        say(words)


@command(
    "Withdraw labels.",
    'weal withdraw alloys A-0417 --note "wrong sample"',
    context_settings=VERBATIM,
)
@with_parameters(
    line.name,
    line.ids,
    click.option(
        "--event",
        type=click.IntRange(min=1),
        help="Only the label of this event, which `weal tell` has printed; others of the row stay.",
    ),
    line.note,
    line.by,
)
def withdraw(
    name: str,
    ids: tuple[str, ...],
    event: int | None,
    note: str | None,
    by: str | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Withdraw the labels of rows, or the lease of rows without a label.

    A row that you have for a repeat is given back, and keeps its label.
    """
    from weal.campaign.label_input import distinct
    from weal.campaign.row_rules import decide_withdrawals

    with open_for_command(name, store, by) as campaign:
        who, found = campaign.who, distinct(list(ids))
        written = campaign.transact(lambda tx: decide_withdrawals(tx, found, who, note, event))
    _report_ids(ids, "withdrawn", as_json)
    for id_ in [str(one.id) for one in written if one.body.get("labels") == []]:
        words = shlex.join(["weal", "withdraw", "--", name, id_])
        say(f"{id_}: the repeat is withdrawn, and the label stays; `{words}` withdraws it")


def _report_ids(ids: Sequence[str], what: str, as_json: bool) -> None:
    if as_json:
        show_json({what: list(ids)})
    for one in ids:
        say(f"{one}: {what}")


MAX_LINES_SHOWN = 10
_ACTIONS = {
    "told": "{} saved",
    "corrected": "{} corrected",
    "repeated": "{} added as repeated measurements",
    "confirmed": "{} confirmed",
    "same": "{} saved before",
    "skipped": "{} skipped",
    "empty": "{} without a value",
    "refused": "{} refused",
}


def tell_file(campaign: "Campaign", file: Path, details: TellOptions, as_json: bool) -> None:
    """Save the labels of a file, or show what would happen to them."""
    dry = details["dry_run"]
    found = (campaign.preview if dry else campaign.tell_file)(
        file,
        value=details["column"],
        replace=details["replace"],
        repeat=details["repeat"],
        key=details["key"],
        sure=details["sure"],
        sheet=details["sheet"],
        header=details["header"],
    )
    for note in found.notes:
        say(note)
    _report_import(found, dry)
    if as_json:
        show_json(as_dict(found))
    elif dry:
        _show_lines(found)
    else:
        show(found.event)


def as_dict(found: "ResultsImport") -> dict[str, object]:
    """The outcome of a file as JSON."""
    return {
        "event": found.event,
        "labels": found.labels,
        "new": found.new,
        **{action: found.counts.get(action, 0) for action in ("skipped", "empty", "refused")},
        "problems": list(found.problems),
        "notes": list(found.notes),
        "rows": [asdict(row) for row in found.rows],
    }


def _report_import(found: "ResultsImport", dry: bool) -> None:
    noted = [row for row in found.rows if row.message]
    for row in noted[:MAX_LINES_SHOWN]:
        say(f"line {row.line}: {row.message}")
    if len(noted) > MAX_LINES_SHOWN:
        say(f"and {len(noted) - MAX_LINES_SHOWN} more: --json shows all")
    for problem in found.problems:
        say(problem)
    counts = [_ACTIONS[action].format(plural(n, "row")) for action, n in found.counts.items()]
    stopped = found.problems or found.counts.get("refused")
    would = ("nothing would be saved; without these lines: " if stopped else "dry run: ") * dry
    say(f"{found.where}: {would}{', '.join(counts)}")


def _show_lines(found: "ResultsImport") -> None:
    cells = [
        [str(row.line), row.id, row.action, "" if row.value is None else f"{row.value:.10g}"]
        for row in found.rows
    ]
    show_table(["line", "id", "action", "value"], cells)
