"""`weal tell --file`: what became of each line, and what its owner should know."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weal.cli import options as line
from weal.cli.commands.ask import _VERBATIM, _file
from weal.cli.options import command, open_for_command, plural, takes
from weal.cli.screen import say, show, show_json, show_table

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign
    from weal.campaign.results_import import ResultsImport


@command(
    "Bring a label, or a file of them.",
    "weal tell alloys A-0417 312.5",
    "weal tell alloys --file batch.xlsx",
    context_settings=_VERBATIM,
)
@takes(
    line.name,
    click.argument("id_", metavar="[ID", required=False),
    click.argument("value", metavar="VALUE]", required=False),
    click.option(
        "--file", "file", type=_file, help="A table of labels, taken whole or not at all."
    ),
    click.option("--value", "column", metavar="COLUMN", help="Of the file: where the values are."),
    line.sheet,
    line.header,
    click.option("--dry-run", is_flag=True, help="With --file: say what would happen."),
    click.option("--noise", metavar="SD", help="Standard deviation of the measurement."),
    line.note,
    click.option("--sure", is_flag=True, help="It was checked: never take it for an outlier."),
    click.option("--replace", is_flag=True, help="It corrects the label that is there."),
    click.option("--repeat", is_flag=True, help="It is a second measurement."),
    click.option("--key", help="A name of your own: the same key and labels again write nothing."),
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
    **details: Any,
) -> None:
    """Bring the label of one row, or those in a file; then it is on disk.

    In a file: the id, a column named as the target, and perhaps noise and note, as a worksheet of
    `weal ask --to` has them; "failed" in place of a value skips the row.
    """
    _check_usage(id_, value, file, details)
    with open_for_command(name, store, by) as campaign:
        if file is None:
            _tell_one(campaign, str(id_), str(value), details, as_json)
        else:
            tell_file(campaign, file, details, as_json)


def _tell_one(
    campaign: "Campaign", id_: str, value: str, details: dict[str, Any], as_json: bool
) -> None:
    from weal.campaign.label_input import entry
    from weal.tables.results_reader import FAILED

    if value.strip().lower() in FAILED:
        note = f"--note {shlex.quote(value.strip())}"
        words = f"weal skip {shlex.quote(campaign.name)} {shlex.quote(id_)} {note}"
        raise ValueError(f"{value!r} is no number; a row without one is skipped: `{words}`")
    found = entry(id_, value, details["noise"], details["note"], details["sure"])
    how = {name: details[name] for name in ("replace", "repeat", "key")}
    kept = campaign.tell_entries([found], **how)
    read_as = f" as {found.y}" if "," in value else ""
    became = [f"{id_}: {value} {'kept' + read_as if kept.new else 'was there already'}"]
    for words in (*(kept.superseded or became), *kept.doubts):
        say(words)
    if as_json:
        told = {"event": kept.seq, "labels": 1, "new": kept.new}
        show_json({**told, "doubts": list(kept.doubts)})
    else:
        show(kept.seq)


def _check_usage(
    id_: str | None, value: str | None, file: Path | None, details: dict[str, Any]
) -> None:
    if file is None and (id_ is None or value is None):
        raise click.UsageError("Name an ID and its VALUE, or give --file.")
    if file is None and any(details[name] for name in ("column", "sheet", "header", "dry_run")):
        raise click.UsageError("--value, --sheet, --header and --dry-run go with --file.")
    if file is not None and (id_ is not None or details["noise"] or details["note"]):
        raise click.UsageError(
            "With --file, the file says all: leave ID, VALUE, --noise and --note out."
        )


@command("Leave rows out.", 'weal skip alloys A-0417 --note "cracked"', context_settings=_VERBATIM)
@takes(
    line.name,
    line.ids,
    click.option("--undo", is_flag=True, help="Let them be asked again."),
    line.note,
    click.option("--key", help="A name of your own: the same key and rows again write nothing."),
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
    """Leave rows out: they are not asked, until --undo or until a label of theirs comes."""
    with open_for_command(name, store, by) as campaign:
        from weal.campaign.label_input import distinct
        from weal.campaign.rules import skip_rows

        since = skip_rows(campaign, distinct(list(ids)), not undo, campaign.who, note, key)
    _report_ids([one for one in ids if one not in since], "back" if undo else "skipped", as_json)
    for words in since.values():
        say(words)


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
    with open_for_command(name, store, by) as campaign:
        campaign.withdraw(ids, note=note)
    _report_ids(ids, "withdrawn", as_json)


def _report_ids(ids: Sequence[str], what: str, as_json: bool) -> None:
    if as_json:
        show_json({what: list(ids)})
    for one in ids:
        say(f"{one}: {what}")


MAX_LINES_SHOWN = 10  # that are talked of
_SAID = {
    "told": "{} kept",
    "corrected": "{} corrected",
    "repeated": "{} added to others",
    "confirmed": "{} said to be sure",
    "same": "{} there already",
    "skipped": "{} skipped",
    "empty": "{} without a value: left out",
    "refused": "{} refused",
}


def tell_file(campaign: "Campaign", file: Path, details: dict[str, Any], as_json: bool) -> None:
    """Take the labels of a file, or say what would become of them."""
    how = {name: details[name] for name in ("replace", "repeat", "key", "sure", "sheet", "header")}
    dry = details["dry_run"]
    found = (campaign.preview if dry else campaign.tell_file)(file, value=details["column"], **how)
    for note in found.notes:
        say(note)
    _talk(found, dry)
    if as_json:
        show_json(as_dict(found))
    elif dry:
        _show_lines(found)
    else:
        show(found.event)


def as_dict(found: "ResultsImport") -> dict[str, Any]:
    """What became of a file, as what JSON can say."""
    return {
        "event": found.event,
        "labels": found.labels,
        "new": found.new,
        **{action: found.counts.get(action, 0) for action in ("skipped", "empty", "refused")},
        "problems": list(found.problems),
        "notes": list(found.notes),
        "rows": [asdict(row) for row in found.rows],
    }


def _talk(found: "ResultsImport", dry: bool) -> None:
    said = [row for row in found.rows if row.message]
    for row in said[:MAX_LINES_SHOWN]:
        say(f"line {row.line}: {row.message}")
    if len(said) > MAX_LINES_SHOWN:
        say(f"and {len(said) - MAX_LINES_SHOWN} more: --json has all")
    for problem in found.problems:
        say(problem)
    counts = [_SAID[action].format(plural(n, "row")) for action, n in found.counts.items()]
    stopped = found.problems or found.counts.get("refused")
    would = ("nothing would be taken: " if stopped else "would be: ") if dry else ""
    say(f"{found.where}: {would}{', '.join(counts)}")


def _show_lines(found: "ResultsImport") -> None:
    cells = [
        [str(row.line), row.id, row.action, "" if row.value is None else f"{row.value:.10g}"]
        for row in found.rows
    ]
    show_table(["line", "id", "action", "value"], cells)
