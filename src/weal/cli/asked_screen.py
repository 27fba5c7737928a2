"""Rows that were asked, on the screen: inputs, what is expected, who has them, and why."""

import shlex
from collections.abc import Sequence
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

from weal.cli.options import plural
from weal.cli.screen import on_a_terminal, say, show, show_table

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign
    from weal.campaign.explaining import Asked
    from weal.campaign.ledger import Lease

MOST_INPUTS = 12  # columns of a table that is shown
PADDING = 3  # around a column on a terminal


def show_asked(rows: "list[Asked]", inputs: list[str], again: bool) -> None:
    """A table; why each was chosen is its last column, or stands below where lines are short.

    Rows that are out already are shown with who has them until when.
    """
    below = on_a_terminal()
    shown = _fitting(rows, inputs, again) if below else inputs[:MOST_INPUTS]
    whose = ["with", "until"] if again else []
    header = ["id", *shown, "expected", *whose, *([] if below else ["why"])]
    cells = [_cells(row, shown, below) for row in rows]
    at = 2 + len(shown)
    for row, shown_row in zip(rows, cells, strict=True):
        shown_row[at:at] = [row.who, f"{row.until:%Y-%m-%d %H:%M}"] if again else []
    show_table(header, cells)
    for row in rows if below else []:
        show(f"{row.id}: {row.brief}")
    if more := len(inputs) - len(shown):
        say(f"and {plural(more, 'input')} more: --json shows all")


def say_out(
    campaign: "Campaign",
    before: "Sequence[Lease]",
    ids: Sequence[str],
    rows: "Sequence[Asked]",
    key: str | None,
) -> None:
    """Name rows that who asks had out before, and say what came of a key that was used already.

    An ask whose answer was lost has taken its rows; else nobody would look for them.
    """
    from weal.table.cells import some_of

    who = f" with {campaign.who}" if campaign.who else ""
    if others := [one for one in before if one.id not in ids]:
        are = "1 row is" if len(others) == 1 else f"{len(others):,} rows are"
        by = f" --by {shlex.quote(campaign.who)}" if who else ""
        say(
            f"{are} out{who} already ({some_of([one.id for one in others])}), the last since "
            f"{others[-1].since:%Y-%m-%d %H:%M} UTC: `weal ask {shlex.quote(campaign.name)} "
            f"--again{by}` shows them"
        )
    out = {row.id for row in rows}
    gone = [one for one in ids if one not in out and key is not None]
    if asked := [one.id for one in before if one.id in ids] + gone:
        were = "1 row was" if len(asked) == 1 else f"{len(asked):,} rows were"
        say(f"{were} asked under this key before, and no other is asked")
    for words, names in _by_outcome(campaign, gone).items():
        say(f"{some_of(names)}: {words}")
    if gone and not rows:
        again = f"weal ask {shlex.quote(campaign.name)} -n {len(ids)} --key OTHER"
        say(f"no row of the key {key!r} is out{who} any more; `{again}` asks for other rows")


def _by_outcome(campaign: "Campaign", ids: Sequence[str]) -> dict[str, list[str]]:
    """Rows that were asked and are not out with who asked any more, by what became of them."""
    ledger, found = campaign.ledger, dict[str, list[str]]()
    leases = {lease.id: lease for lease in ledger.open_leases(campaign.store.now())}
    for name in ids:
        words = "not out any more, as the lease ended or was withdrawn"
        if name in ledger.labels:
            words = "labelled since"
        elif name in ledger.skipped:
            words = "skipped since"
        elif name in leases:
            words = f"out with {leases[name].who} now"
        found.setdefault(words, []).append(name)
    return found


def _fitting(rows: "list[Asked]", inputs: list[str], again: bool) -> list[str]:
    """The first inputs, as many as a line of the terminal holds beside all else."""
    edges = [max(len(row.id), len(_cells(row, [], True)[-1])) + PADDING for row in rows]
    left, shown = get_terminal_size().columns - 2 * max(edges, default=0), list[str]()
    if again:  # and who has it, until when
        left -= max((len(row.who) for row in rows), default=0) + PADDING
        left -= len("2026-11-17 09:30") + PADDING
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
    why = [] if below else [row.brief]
    return [row.id, *(_cell(row.row.get(name)) for name in inputs), expected, *why]


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else str(value)
