"""`weal show | log | remove`: one row, the events, and hiding a campaign.

Slow packages are imported where they are used.
"""

import shlex
from datetime import UTC, datetime, timedelta

import click

from weal.cli import options as line
from weal.cli.options import VERBATIM, command, open_for_command, with_parameters
from weal.cli.screen import say, show, show_json, show_table


@command(
    "Show one row: inputs, labels, reservation.",
    "weal show alloys A-0417",
    context_settings=VERBATIM,
    name="show",
)
@with_parameters(line.name, click.argument("id_", metavar="ID"))
def show_(name: str, id_: str, store: str | None, as_json: bool) -> None:
    """Show one row: inputs, labels, leases, notes, prediction, and why it was asked."""
    from weal.campaign.candidate_report import card_lines

    with open_for_command(name, store) as campaign:
        found, ledger = campaign.card(id_), campaign.last_ledger
    if as_json:
        show_json(found.to_dict())
        return
    names = [one["name"] for one in ledger.plan["columns"] if one["kind"] != "dropped"]
    quantities = {key: one.quantity for key, one in ledger.quantities.items()}
    for words in card_lines(found, quantities, names):
        show(words)


@command("List the events, newest last.", "weal log alloys --since 2d --by ann")
@with_parameters(
    line.name,
    click.option(
        "--since",
        metavar="WHEN",
        help="A date (2026-11-17), a time ago (2d), or the number of an event.",
    ),
    click.option("--by", metavar="WHO", help="Only events of this person."),
    click.option("--id", "id_", metavar="ID", help="Only events of this row."),
)
def log(
    name: str, since: str | None, by: str | None, id_: str | None, store: str | None, as_json: bool
) -> None:
    """List the events: number, time, person, kind, row."""
    from weal.campaign.answers import event_answer
    from weal.campaign.candidate_report import told_event

    with open_for_command(name, store) as campaign:
        first, after = _since(since, campaign.store.now())
        quantities = campaign.read_quantities()
        events = [
            event
            for event in campaign.events()
            if event.seq >= first
            and event.time >= after
            and by in (None, event.who)
            and id_ in (None, event.id)
        ]
    if as_json:
        show_json([event_answer(event) for event in events])
        return
    rows = [
        [
            str(event.seq),
            f"{event.time:%Y-%m-%d %H:%M}",
            event.who,
            event.kind,
            event.id or "",
            told_event(event, quantities),
        ]
        for event in events
    ]
    if rows:
        show_table(["number", "time (UTC)", "by", "kind", "id", "what"], rows)
    else:
        say(f"no such event in {name}: `weal log {shlex.quote(name)}` shows all")


def _since(given: str | None, now: datetime) -> tuple[int, datetime]:
    """The first event number and the first time to show."""
    start = datetime.min.replace(tzinfo=UTC)
    if given is None:
        return 0, start
    if given.isdigit():
        return int(given), start
    try:
        when = datetime.fromisoformat(given)
        return 0, when if when.tzinfo else when.replace(tzinfo=UTC)
    except ValueError:
        pass
    from weal.campaign.config import seconds

    try:
        return 0, now - timedelta(seconds=seconds(given))
    except (ValueError, OverflowError):
        raise ValueError(
            f"--since is {given!r}; write a date (2026-11-17), a time ago (2d, 12h) or the number "
            "of an event"
        ) from None
