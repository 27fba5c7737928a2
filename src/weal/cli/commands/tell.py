"""`weal tell | skip | withdraw`: save labels, leave rows out, withdraw labels.

Each is one short transaction that reads neither candidates nor model and imports no numerics.
"""

import shlex
from collections.abc import Sequence
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
    """Options of `weal tell`, without the label."""

    column: str | None
    sheet: str | None
    header: int | None
    dry_run: bool
    noise: tuple[str, ...]
    note: str | None
    accident: bool
    sure: bool
    replace: bool
    repeat: bool
    key: str | None


@command(
    "Save a label, or a file of labels.",
    "weal tell alloys A-0417 312.5",
    "weal tell salts R-17 yield=82.1 crystallised=yes",
    "weal tell salts R-18 failed --note 'stirrer stopped'",
    "weal tell alloys --file batch.xlsx",
    context_settings=VERBATIM,
)
@with_parameters(
    line.name,
    click.argument("id_", metavar="[ID", required=False),
    click.argument("values", metavar="VALUE...]", nargs=-1),
    click.option(
        "--file", "file", type=FILE, help="A table of labels, saved completely or not at all."
    ),
    click.option("--value", "column", metavar="COLUMN", help="Column of the values in the file."),
    line.sheet,
    line.header,
    click.option("--dry-run", is_flag=True, help="With --file: show the outcome, save nothing."),
    click.option(
        "--noise",
        metavar="[NAME=]SD",
        multiple=True,
        help="Standard deviation of the measurement error.",
    ),
    line.note,
    click.option(
        "--accident", is_flag=True, help="With failed: an accident that the model ignores."
    ),
    click.option(
        "--sure", is_flag=True, help="The label was checked: never treat it as an outlier."
    ),
    click.option("--replace", is_flag=True, help="Replace the existing label of the row."),
    click.option("--repeat", is_flag=True, help="Add a repeated measurement of the row."),
    click.option("--key", help="Idempotency key: the same key and labels again save nothing."),
    line.by,
)
def tell(
    name: str,
    id_: str | None,
    values: tuple[str, ...],
    file: Path | None,
    store: str | None,
    as_json: bool,
    by: str | None,
    **details: Unpack[TellOptions],
) -> None:
    """Save the labels of one row, or the labels in a file.

    With several quantities, name them: yield=82.1 crystallised=yes. Write failed instead of a value
    if the run failed. A bound such as <0.1 or >95 is kept as a note and not used by the model. A
    file has the columns of a worksheet written by `weal ask --to`: the id, the targets, and
    optionally noise and note.
    """
    _check_usage(id_, values, file, details)
    with open_for_command(name, store, by) as campaign:
        if file is not None:
            tell_file(campaign, file, details, as_json)
        else:
            _tell_results(campaign, str(id_), values, details, as_json)


def _tell_results(
    campaign: "Campaign", id_: str, values: Sequence[str], details: TellOptions, as_json: bool
) -> None:
    """Save the labels of a row, a failed run, or a bound."""
    from weal.campaign.row_results import read_missing_label, split_values

    quantities = campaign.read_quantities()
    typed, several = split_values(quantities, values), len(quantities) > 1
    missing = read_missing_label(campaign.name, id_, typed, len(values), details["note"], several)
    if missing is None:
        _tell_row(campaign, id_, values, details, as_json)
    elif missing.what == "failed":
        _tell_failure(campaign, id_, missing.note, details, as_json)
    else:
        _tell_bound(campaign, id_, str(missing.note), details, as_json)


def _tell_failure(
    campaign: "Campaign", id_: str, note: str | None, details: TellOptions, as_json: bool
) -> None:
    """Save a failed run."""
    from weal.campaign.row_rules import fail_rows

    more = (details["accident"], details["replace"], details["key"])
    kept = fail_rows(campaign, [id_], campaign.who, note, *more)
    undo = shlex.join(["weal", "withdraw", "--", campaign.name, id_])
    what = f"failed; `{undo}` undoes this"
    if details["accident"]:
        what = "failed by accident: skipped, and the model ignores it"
    for words in kept.messages or [f"{id_}: {what}"]:
        say(words)
    if as_json:
        show_json({"event": kept.seq, "failed": [id_], "new": kept.new})
    else:
        show(kept.seq)


def _tell_bound(
    campaign: "Campaign", id_: str, note: str, details: TellOptions, as_json: bool
) -> None:
    """Keep a bound such as <0.1 as the note of a skipped row."""
    from weal.campaign.row_rules import skip_rows

    since = skip_rows(campaign, [id_], True, campaign.who, note, details["key"])
    undo = shlex.join(["weal", "skip", "--undo", "--", campaign.name, id_])
    say(since.get(id_) or f"{id_}: kept as {note}, and skipped; `{undo}` undoes this")
    seq = campaign.read_ledger().seq
    if as_json:
        show_json({"event": seq, "labels": 0, "new": 0, "skipped": [id_], "note": note})
    else:
        show(seq)


def _tell_row(
    campaign: "Campaign", id_: str, values: Sequence[str], details: TellOptions, as_json: bool
) -> None:
    """Save the labels of one row, all or none."""
    from weal.campaign.label_input import entries
    from weal.campaign.quantity_names import label_text
    from weal.campaign.row_results import label_answer

    quantities = campaign.read_quantities()
    labels = _assigned(campaign, values, "label")
    if details["accident"]:
        raise click.UsageError("--accident needs failed instead of the values.")
    noise = _assigned(campaign, details["noise"], "noise") if details["noise"] else None
    found = entries(quantities, id_, labels, noise, details["note"], details["sure"])
    kept = campaign.tell_entries(
        found, replace=details["replace"], repeat=details["repeat"], key=details["key"]
    )
    typed = " ".join(values)
    read = [label_text(quantities[one.quantity], one.y) for one in found]
    read_as = f" as {' '.join(read)}" if "," in typed else ""
    undo = shlex.join(["weal", "withdraw", "--event", str(kept.seq), "--", campaign.name, id_])
    again = f" as a repeat: the row keeps its label. `{undo}` undoes this" if kept.repeated else ""
    before = f" ({len(found) - kept.new} of {len(found)} before)" * (kept.new < len(found))
    became = f"saved{read_as}{again}{before}" if kept.new else "was saved before"
    for words in (*(kept.superseded or kept.unclear or [f"{id_}: {typed} {became}"]), *kept.doubts):
        say(words)
    if as_json:
        show_json(label_answer(found, kept))
    else:
        show(kept.seq)


def _assigned(campaign: "Campaign", values: Sequence[str], what: str) -> dict[str, str]:
    """The values of NAME=VALUE by quantity; ValueError if a quantity occurs twice."""
    from weal.campaign.quantity_names import split_assignment

    quantities, found = campaign.read_quantities(), dict[str, str]()
    for typed in values:
        quantity, value = split_assignment(quantities, typed)
        if quantity.name in found:
            raise click.UsageError(f"{typed!r} is a second {what} of {quantity.name}; give one.")
        found[quantity.name] = value
    return found


def _check_usage(
    id_: str | None, values: Sequence[str], file: Path | None, details: TellOptions
) -> None:
    if file is None and (id_ is None or not values):
        raise click.UsageError("Give an ID and its VALUE, or --file.")
    if wrong := [one for one in values if one.startswith("--") and one.strip("-")]:
        raise click.NoSuchOption(wrong[0])
    if file is None and (
        details["column"] or details["sheet"] or details["header"] or details["dry_run"]
    ):
        raise click.UsageError("--value, --sheet, --header and --dry-run need --file.")
    if file is not None and (
        id_ is not None or details["noise"] or details["note"] or details["accident"]
    ):
        raise click.UsageError(
            "With --file, leave out ID, VALUE, --noise, --note and --accident: the file has them."
        )


@command("Skip rows.", 'weal skip alloys A-0417 --note "cracked"', context_settings=VERBATIM)
@with_parameters(
    line.name,
    line.ids,
    click.option("--undo", is_flag=True, help="Allow them to be suggested again."),
    line.note,
    click.option("--key", help="Idempotency key: the same key and rows again save nothing."),
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
    """Skip rows: they are not suggested until --undo, or until they get a label."""
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
        help="Only the label of this event (printed by `weal tell`); other labels of the row stay.",
    ),
    click.option("--quantity", metavar="NAME", help="Only labels of this quantity, or failed."),
    line.note,
    click.option("--key", help="Idempotency key: the same key and rows again save nothing."),
    line.by,
)
def withdraw(
    name: str,
    ids: tuple[str, ...],
    event: int | None,
    quantity: str | None,
    note: str | None,
    key: str | None,
    by: str | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Withdraw the labels and failures of rows, or the lease of rows without a label.

    If a row is reserved for a repeat, the reservation ends and the label stays.
    """
    from weal.campaign.label_input import distinct
    from weal.campaign.row_rules import decide_withdrawals

    with open_for_command(name, store, by) as campaign:
        who, found = campaign.who, distinct(list(ids))
        written = campaign.transact(
            lambda tx: decide_withdrawals(tx, found, who, note, event, quantity, key)
        )
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
LABEL_ACTIONS = ("told", "corrected", "repeated", "confirmed", "same")  # of each of several labels

_ACTIONS = {
    "told": "{} saved",
    "corrected": "{} corrected",
    "repeated": "{} added as repeated measurements",
    "confirmed": "{} confirmed",
    "same": "{} saved before",
    "failed": "{} failed",
    "skipped": "{} skipped",
    "empty": "{} without a value",
    "refused": "{} refused",
}


def tell_file(campaign: "Campaign", file: Path, details: TellOptions, as_json: bool) -> None:
    """Save the labels of a file, or show what would be saved."""
    from weal.campaign.answers import import_answer

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
        show_json(import_answer(found))
    elif dry:
        _show_lines(found)
    else:
        show(found.event)


def _report_import(found: "ResultsImport", dry: bool) -> None:
    noted = [row for row in found.rows if row.message]
    for row in noted[:MAX_LINES_SHOWN]:
        say(f"line {row.line}: {row.message}")
    if len(noted) > MAX_LINES_SHOWN:
        say(f"and {len(noted) - MAX_LINES_SHOWN} more: --json shows all")
    for problem in found.problems:
        say(problem)
    several = any(row.quantity for row in found.rows)
    counts = [
        _ACTIONS[action].format(
            plural(n, "label" if several and action in LABEL_ACTIONS else "row")
        )
        for action, n in found.counts.items()
    ]
    stopped = found.problems or found.counts.get("refused")
    would = ("nothing would be saved; without these lines: " if stopped else "dry run: ") * dry
    say(f"{found.where}: {would}{', '.join(counts)}")


def _show_lines(found: "ResultsImport") -> None:
    several = any(row.quantity for row in found.rows)
    cells = [
        [str(row.line), row.id, row.action, row.quantity or "", _value_text(row.value)]
        for row in found.rows
    ]
    header = ["line", "id", "action", "quantity", "value"]
    shown = [n for n, name in enumerate(header) if several or name != "quantity"]
    show_table([header[n] for n in shown], [[row[n] for n in shown] for row in cells])


def _value_text(value: float | str | None) -> str:
    return value if isinstance(value, str) else "" if value is None else f"{value:.10g}"
