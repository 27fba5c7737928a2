"""`weal list`, `weal copy` and `weal archive`: the campaigns of a store."""

import shlex

import click

from weal.cli import options as line
from weal.cli.options import command, open_for_command, open_store_url, plural, with_parameters
from weal.cli.screen import say, show_json, show_table


@command("List the campaigns of a store.", "weal list --store sqlite:///weal.db", name="list")
@with_parameters(click.option("--all", "every", is_flag=True, help="Also archived campaigns."))
def list_(every: bool, store: str | None, as_json: bool) -> None:
    """List the campaigns of a store."""
    from weal.campaign.answers import campaign_answer
    from weal.campaign.campaign import Campaign

    with open_store_url(store) as place:
        ledgers = [Campaign(name, place).read_ledger() for name in place.campaigns()]
        archived = [ledger.name for ledger in ledgers if ledger.is_hidden]
        ledgers = [ledger for ledger in ledgers if every or not ledger.is_hidden]
        rows = [
            {
                **campaign_answer(ledger, place.now()),
                **({"archived": ledger.is_hidden} if every else {}),
            }
            for ledger in ledgers
        ]
        where = place.url
    if as_json:
        show_json(rows)
    elif rows:
        _show_list(rows)
    elif not archived:
        say(f"{where} has no campaigns yet: create one with `weal new`")
    if archived and not every and not as_json:
        say(f"{plural(len(archived), 'campaign')} archived: `weal list --all` shows all")


def _show_list(rows: list[dict[str, object]]) -> None:
    """The table of campaigns, without empty columns."""
    columns = [name for name in rows[0] if name != "title" or any(row["title"] for row in rows)]
    cells = [["" if row[name] is None else str(row[name]) for name in columns] for row in rows]
    show_table(columns, cells)


@command("Copy a campaign.", "weal copy alloys alloys-2", "weal copy alloys fresh --without-labels")
@with_parameters(
    line.name,
    click.argument("new"),
    click.option(
        "--without-labels",
        is_flag=True,
        help="Only candidates and settings: no labels, failures and skipped rows.",
    ),
    line.by,
)
def copy(
    name: str, new: str, without_labels: bool, by: str | None, store: str | None, as_json: bool
) -> None:
    """Copy the campaign NAME to a campaign NEW of the same store.

    The copy gives the same predictions. Reservations of rows are not copied.
    """
    from weal.campaign.answers import description_answer

    with open_for_command(name, store, by) as campaign:
        ledger = campaign.copy(new, labels=not without_labels).read_ledger()
    if as_json:
        show_json(description_answer(ledger))
        return
    held = f"{plural(ledger.rows, 'candidate')}, {plural(ledger.n_labels, 'label')}"
    say(f"{new}: a copy of {name} with {held}; continue with `weal ask {shlex.quote(new)}`")


@command("Archive a finished campaign.", "weal archive alloys", "weal archive alloys --undo")
@with_parameters(line.name, click.option("--undo", is_flag=True, help="Open it again."), line.by)
def archive(name: str, undo: bool, by: str | None, store: str | None, as_json: bool) -> None:
    """Archive the campaign NAME: `weal list` hides it, and `weal ask` suggests no rows.

    Nothing is deleted, and labels can still be saved.
    """
    with open_for_command(name, store, by) as campaign:
        campaign.archive(not undo)
    back = f"`weal archive {shlex.quote(name)} --undo` restores it"
    say(f"{name}: {'open again' if undo else f'archived; nothing is deleted. {back}'}")
    if as_json:
        show_json({"name": name, "archived": not undo})
