"""`weal ask | tell | skip | withdraw`: the daily round of a campaign.

`tell`, `skip` and `withdraw` are one short transaction each: they read neither candidates nor
model, and start no numerics. Whatever is heavy is imported where it is used.
"""

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weal.cli import interrupts
from weal.cli import options as line
from weal.cli.asked_screen import say_out, show_asked
from weal.cli.options import command, opened, plural, takes
from weal.cli.screen import say, show, show_json, working
from weal.errors import Exhausted

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign
    from weal.campaign.explaining import Asked

_VERBATIM = {"ignore_unknown_options": True}  # -3.5 is a value, and -A17 an id
_file = click.Path(path_type=Path)


@command(
    "Which rows to measure next.",
    "weal ask alloys -n 4",
    "weal ask alloys -n 8 --to batch.xlsx",
)
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
    click.option(
        "--again", is_flag=True, help="Show the rows that are out (with --by: whose); ask for none."
    ),
    click.option(
        "--to",
        metavar="FILE",
        help="A worksheet (.xlsx, .csv) to be filled in; `weal tell NAME --file FILE` takes it.",
    ),
    click.option("--force", is_flag=True, help="Replace a worksheet that is there."),
    click.option(
        "--key", help="A name of your own: the same key again shows the same rows, asks for none."
    ),
    line.scheduler,
    line.by,
)
def ask(
    name: str,
    n: int | None,
    checks: int | None,
    lease: str | None,
    again: bool,
    to: str | None,
    force: bool,
    key: str | None,
    scheduler: str | None,
    by: str | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Which rows to measure next, what is expected of them, and why these.

    They are out with who asked until their label comes or the lease ends.
    """
    if again and (n or checks or lease or key):
        raise ValueError(
            "--again shows the rows that are out; leave out -n, --check, --lease and --key"
        )
    if to is not None:
        from weal.campaign.worksheet import check_worksheet

        check_worksheet(to, force)  # before rows are out
    late = None
    with opened(name, store, by, scheduler) as campaign, working("choosing"):
        if again:
            rows = [row for row in campaign.asked() if by in (None, row.who)]
        else:
            before = campaign.session.ledger.open_leases(campaign.store.now())
            again_ = f"weal ask {shlex.quote(name)} --again"
            interrupts.explain(f"stopped; if rows were asked by then, `{again_}` shows them")
            ids, late = _asked(campaign, n, checks, lease, key)
            leases, own = campaign.ledger.leases, [one for one in before if one.who == campaign.who]
            rows = campaign.asked(
                [one for one in ids if one in leases and leases[one].who == campaign.who]
            )
            say_out(campaign, own, ids, rows, key)
        inputs = _inputs(campaign.ledger.plan)
        for note in campaign.session.beliefs.notes:
            say(note)
        if to is not None and rows:
            _write_worksheet(campaign, rows, to, force)
    _show(rows, inputs, name, again, as_json)
    if late:
        raise late


def _asked(
    campaign: "Campaign", n: int | None, checks: int | None, lease: str | None, key: str | None
) -> tuple[list[str], Exhausted | None]:
    """Ids that are out now; with the error where rows for a test were too many."""
    from weal.campaign.asking import ask, check_key
    from weal.campaign.idempotency import key_of_checks

    n, checks, who = n or (0 if checks else 1), checks or 0, campaign.who
    if key is not None:  # one that cannot be used is refused before rows are out
        check_key(campaign, key, n, checks, lease)
    ids = ask(campaign, n, who, lease, False, key, checks) if n else []
    own = None if key is None else key_of_checks(key)
    try:
        return ids + (ask(campaign, checks, who, lease, True, own) if checks else []), None
    except Exhausted as error:  # those that were asked before are out, and must be shown
        if not ids:
            raise
        return ids, error


def _write_worksheet(campaign: "Campaign", rows: "list[Asked]", to: str, force: bool) -> None:
    try:
        campaign.worksheet([row.id for row in rows], to, force=force)
    except (OSError, ValueError) as error:
        again = f"weal ask {shlex.quote(campaign.name)} --again --to FILE"
        raise type(error)(f"{error}; the rows are out: `{again}` writes them once more") from error
    say(
        f"{plural(len(rows), 'row')} written to {to}: fill in the column of the target (or write "
        f"failed there), then `weal tell {shlex.quote(campaign.name)} --file {shlex.quote(to)}`"
    )


def _show(rows: "list[Asked]", inputs: list[str], name: str, again: bool, as_json: bool) -> None:
    if as_json:
        show_json([{**asdict(row), "why": row.why} for row in rows])
    elif rows:
        show_asked(rows, inputs, again)
    elif again:
        say(f"no row of {name} is out; `weal ask {shlex.quote(name)}` asks for one")


def _inputs(plan: dict[str, Any]) -> list[str]:
    """The columns that are learnt from."""
    return [column["name"] for column in plan["columns"] if column["kind"] != "dropped"]


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
    with opened(name, store, by) as campaign:
        if file is None:
            _tell_one(campaign, str(id_), str(value), details, as_json)
        else:
            from weal.cli.telling import tell_file

            tell_file(campaign, file, details, as_json)


def _tell_one(
    campaign: "Campaign", id_: str, value: str, details: dict[str, Any], as_json: bool
) -> None:
    from weal.campaign.entries import entry
    from weal.table.results import FAILED

    if value.strip().lower() in FAILED:
        note = f"--note {shlex.quote(value.strip())}"
        words = f"weal skip {shlex.quote(campaign.name)} {shlex.quote(id_)} {note}"
        raise ValueError(f"{value!r} is no number; a row without one is skipped: `{words}`")
    found = entry(id_, value, details["noise"], details["note"], details["sure"])
    how = {name: details[name] for name in ("replace", "repeat", "key")}
    kept = campaign.tell_entries([found], **how)
    became = [f"{id_}: {value} {'kept' if kept.new else 'was there already'}"]
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
    with opened(name, store, by) as campaign:
        from weal.campaign.entries import distinct
        from weal.campaign.skipping import skip_rows

        since = skip_rows(campaign, distinct(list(ids)), not undo, campaign.who, note, key)
    _done([one for one in ids if one not in since], "back" if undo else "skipped", as_json)
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
    with opened(name, store, by) as campaign:
        campaign.withdraw(ids, note=note)
    _done(ids, "withdrawn", as_json)


def _done(ids: Sequence[str], what: str, as_json: bool) -> None:
    if as_json:
        show_json({what: list(ids)})
    for one in ids:
        say(f"{one}: {what}")
