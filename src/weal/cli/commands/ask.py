"""`weal ask`: the next rows to measure, reserved for the person who asks.

Rows are shown with their inputs, prediction, lease and reason. Slow packages are imported where
they are used.
"""

import shlex
from collections.abc import Mapping, Sequence
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import click

from weal.cli import interrupts
from weal.cli import options as line
from weal.cli.options import command, open_for_command, plural, with_parameters
from weal.cli.screen import on_a_terminal, say, show, show_activity, show_json, show_table
from weal.errors import Exhausted
from weal.text import probability, shorten

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign
    from weal.campaign.events import PredictionBody
    from weal.campaign.ledger import Lease
    from weal.campaign.session import Session
    from weal.campaign.suggestions import LeasedRow
    from weal.learner.batch_options import BatchOptions
    from weal.quantities.protocol import Quantity


MAX_INPUT_COLUMNS = 12
PADDING = 3  # of a column on a terminal


def show_suggestions(
    rows: "list[LeasedRow]", quantities: "Sequence[Quantity]", inputs: list[str], again: bool
) -> None:
    """Print the rows as a table; the reasons are its last column, or lines below on a terminal.

    With `again`, the table also has the person and the end of the lease.
    """
    below = on_a_terminal()
    shown = (
        _columns_that_fit(rows, quantities, inputs, again) if below else inputs[:MAX_INPUT_COLUMNS]
    )
    whose = ["with", "until"] if again else []
    expected = _expected_headings(rows, quantities)
    header = ["id", *shown, *expected, *whose, *([] if below else ["why"])]
    cells = [_cells(row, quantities, shown, below) for row in rows]
    at = 1 + len(shown) + len(expected)
    for row, shown_row in zip(rows, cells, strict=True):
        shown_row[at:at] = [row.who, f"{row.until:%Y-%m-%d %H:%M}"] if again else []
    show_table(header, cells)
    for row in rows if below else []:
        show(f"{row.id}: {row.brief}")
    if more := len(inputs) - len(shown):
        say(f"and {plural(more, 'input')} more: --json shows all")


def report_leases(
    campaign: "Campaign",
    before: "Sequence[Lease]",
    ids: Sequence[str],
    rows: "Sequence[LeasedRow]",
    key: str | None,
) -> None:
    """Report rows that were reserved for this person before, and rows of a key used before.

    They include rows of an earlier `weal ask` whose output was lost.
    """
    from weal.tables.cells import some_of

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
    """Rows that are no longer reserved for the person who asked, by their outcome."""
    ledger, found = campaign.last_ledger, dict[str, list[str]]()
    leases = {lease.id: lease for lease in ledger.open_leases(campaign.store.now())}
    for name in ids:
        words = "no longer out: the lease ended or was withdrawn"
        if name in leases:
            words = f"out with {leases[name].who} now"
        elif name in ledger.skipped:
            words = "skipped since"
        elif ledger.is_labelled(name):
            words = "labelled since"
        found.setdefault(words, []).append(name)
    return found


def _columns_that_fit(
    rows: "list[LeasedRow]", quantities: "Sequence[Quantity]", inputs: list[str], again: bool
) -> list[str]:
    """The first inputs, as many as fit on a line of the terminal."""
    cells = [_cells(row, quantities, [], True) for row in rows]
    table = [[""] * (1 + len(headings := _expected_headings(rows, quantities))), *cells]
    table[0][1:] = headings if len(headings) > 1 else [""]
    widths = [max(map(len, column)) + PADDING for column in zip(*table, strict=True)]
    taken = sum(widths) if len(widths) > 2 else 2 * max(widths)
    left, shown = get_terminal_size().columns - taken, list[str]()
    if again:  # and the person and the end of the lease
        left -= max((len(row.who) for row in rows), default=0) + PADDING
        left -= len("2026-11-17 09:30") + PADDING
    for name in inputs[:MAX_INPUT_COLUMNS]:
        left -= max(len(name), *(len(_cell(row.row.get(name))) for row in rows)) + PADDING
        if left < 0:
            break
        shown.append(name)
    return shown


def _expected_headings(rows: "list[LeasedRow]", quantities: "Sequence[Quantity]") -> list[str]:
    """The headings of the predictions: one for each quantity, and for P(works)."""
    several = len(quantities) > 1
    found = [shorten(one.name, 24) if several else "expected" for one in quantities]
    return [*found, "P(works)"] if any(_works(row) for row in rows) else found


def _works(row: "LeasedRow") -> str:
    """The probability that the run works; empty if no run has failed."""
    from weal.quantities.kinds import WORKED

    p = row.quantities.get(WORKED, {}).get("mean")
    return "" if p is None else probability(p)


def _cells(
    row: "LeasedRow", quantities: "Sequence[Quantity]", inputs: list[str], below: bool
) -> list[str]:
    from weal.campaign.prediction_text import prediction_of_quantity, prediction_text

    body: PredictionBody = {
        "mean": row.mean, "sd": row.sd, "low": row.low, "high": row.high,
        "quantities": row.quantities,
    }  # fmt: skip
    bodies = [prediction_of_quantity(body, one.name, quantities[0].name) for one in quantities]
    expected = [prediction_text(*pair) for pair in zip(quantities, bodies, strict=True)]
    why = ([_works(row)] if _works(row) else []) + ([] if below else [row.brief])
    return [row.id, *(_cell(row.row.get(name)) for name in inputs), *expected, *why]


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else str(value)


@command(
    "Suggest the next rows to measure.",
    "weal ask alloys -n 4",
    "weal ask alloys -n 8 --to batch.xlsx",
    "weal ask alloys -n 6 --same quench --where 'temper_temp < 500'",
)
@with_parameters(
    line.name,
    click.option("-n", type=click.IntRange(min=1), help="Number of rows [default: 1]."),
    click.option(
        *("--check", "checks"),
        type=click.IntRange(min=1),
        metavar="K",
        help="Also K random rows, for an unbiased test of the predictions.",
    ),
    line.lease,
    click.option(
        "--again",
        is_flag=True,
        help="Show the reserved rows (with --by: of this person) and reserve no others.",
    ),
    click.option(
        "--to",
        metavar="FILE",
        help="Write a worksheet (.xlsx, .csv) to fill in; `weal tell NAME --file FILE` reads it.",
    ),
    click.option("--force", is_flag=True, help="Replace an existing worksheet."),
    click.option(
        "--key",
        help="Idempotency key: a retry with the same key shows the same rows and reserves no "
        "others.",
    ),
    click.option("--no-repeats", is_flag=True, help="Suggest no measured row again."),
    click.option(
        "--same",
        multiple=True,
        metavar="COLUMN",
        help="Use one value of this column in the whole batch, the value with the best batch. "
        "Repeatable.",
    ),
    click.option(
        "--at-most",
        multiple=True,
        metavar="COLUMN=K",
        help="At most K different values of this column in the batch. Repeatable.",
    ),
    click.option(
        "--where",
        multiple=True,
        metavar="CONDITION",
        help="A condition that every row must satisfy, as in 'solvent is THF and temp < 90'. "
        "Repeatable.",
    ),
    click.option(
        "--instead-of",
        multiple=True,
        metavar="ID",
        help="A row reserved for you, to replace by another. Repeatable.",
    ),
    click.option(
        *("--row", "rows"),
        multiple=True,
        metavar="ID",
        help="A row to include in any case; it counts towards -n. Repeatable.",
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
    no_repeats: bool,
    same: tuple[str, ...],
    at_most: tuple[str, ...],
    where: Sequence[str],
    instead_of: tuple[str, ...],
    rows: tuple[str, ...],
    scheduler: str | None,
    by: str | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Suggest the next rows to measure, with predictions and reasons.

    The rows are reserved ("out") for the person who asks until they are labelled or the lease ends.
    With a goal other than learn, a measured row may be suggested for a repeat.
    """
    limited = bool(same or at_most or where or instead_of or rows)
    _check_together(again, bool(n or lease or key or no_repeats), bool(checks), limited)
    if to is not None:
        from weal.campaign.export import check_worksheet

        check_worksheet(to, force)  # before rows are reserved
    late = None
    with open_for_command(name, store, by, scheduler) as campaign, show_activity("choosing"):
        if again:
            shown = [row for row in campaign.asked() if by in (None, row.who)]
        else:
            from weal.campaign.suggestions import explain

            before = campaign.read_ledger().open_leases(campaign.store.now())
            again_ = f"weal ask {shlex.quote(name)} --again"
            interrupts.explain(f"stopped; if rows were asked by then, `{again_}` shows them")
            options = _options(same, at_most, where, instead_of, rows) if limited else None
            ids, late = _ask_rows(campaign, n, checks, lease, key, not no_repeats, options)
            session = campaign.replay_session()
            out = [session.ledger.leases[one] for one in ids if one in session.ledger.leases]
            shown = explain(session, [lease for lease in out if lease.who == campaign.who])
            own = [one for one in before if one.who == campaign.who and one.id not in instead_of]
            report_leases(campaign, own, ids, shown, key)
        session = campaign.replay_session()
        inputs, quantities = _inputs(session.ledger.plan), session.state.measured
        from weal.campaign.budget import beyond_budget

        costs = beyond_budget(session, campaign.store.now())
        for note in (*session.beliefs.notes, *_doubts(session), *costs):
            say(note)
        if to is not None and shown:
            _write_worksheet(campaign, shown, to, force)
    if as_json:
        from weal.campaign.answers import row_answer

        show_json([row_answer(row) for row in shown])
    else:
        _show(shown, quantities, inputs, name, again)
    if late:
        raise late


def _check_together(again: bool, asks: bool, checks: bool, limited: bool) -> None:
    """Raise an error for options that contradict each other."""
    if again and (asks or checks or limited):
        raise ValueError(
            "--again shows the rows that are out; leave out -n, --check, --lease, --key, "
            "--no-repeats, --same, --at-most, --where, --instead-of and --row"
        )
    if checks and limited:
        raise ValueError(
            "--check draws rows at random from all candidates; use it in a separate command, "
            "without --same, --at-most, --where, --instead-of and --row"
        )


def _doubts(session: "Session") -> list[str]:
    """A suggestion to repeat a suspicious label, if the goal selects rows."""
    from weal.campaign.goal_report import doubt_note

    found = doubt_note(session)
    return [found] if found else []


def _options(
    same: Sequence[str], at_most: Sequence[str], where: Sequence[str], instead_of: Sequence[str],
    rows: Sequence[str],
) -> "BatchOptions":  # fmt: skip
    """The options of the batch, from the command line."""
    from weal.campaign.label_input import distinct
    from weal.learner.batch_options import read_limits, read_options

    limits = read_limits(at_most) if at_most else None
    condition = " and ".join(where) if where else None
    return read_options(same, limits, condition, distinct(instead_of), distinct(rows))


def _ask_rows(
    campaign: "Campaign", n: int | None, checks: int | None, lease: str | None, key: str | None,
    repeats: bool, options: "BatchOptions | None" = None,
) -> tuple[list[str], Exhausted | None]:  # fmt: skip
    """The reserved ids, and an error if there were too few rows for --check."""
    from weal.campaign.idempotency import key_of_checks
    from weal.campaign.suggestions import ask, check_key
    from weal.learner.batch_options import NO_OPTIONS

    options = options or NO_OPTIONS
    n, checks, who = n or (0 if checks else options.count(n)), checks or 0, campaign.who
    if key is not None:  # a key that cannot be used is refused before rows are reserved
        check_key(campaign, key, n, checks, lease, options)
    ledger, own = campaign.last_ledger, (key, checks, repeats, options)
    ids = ask(campaign, ledger, n, who, lease, False, *own) if n else []
    drawn_key = None if key is None else key_of_checks(key)
    try:
        drawn = ask(campaign, ledger, checks, who, lease, True, drawn_key) if checks else []
        return ids + drawn, None
    except Exhausted as error:  # the first rows are reserved and must be shown
        if not ids:
            raise
        return ids, error


def _write_worksheet(campaign: "Campaign", rows: "list[LeasedRow]", to: str, force: bool) -> None:
    several = len(campaign.last_ledger.quantities) > 1
    columns = "columns of the targets" if several else "column of the target"
    try:
        campaign.worksheet([row.id for row in rows], to, force=force)
    except (OSError, ValueError) as error:
        again = f"weal ask {shlex.quote(campaign.name)} --again --to FILE"
        raise type(error)(f"{error}; the rows are out: `{again}` writes them once more") from error
    say(
        f"{plural(len(rows), 'row')} written to {to}: fill in the {columns} (or write "
        f"failed), then `weal tell {shlex.quote(campaign.name)} --file {shlex.quote(to)}`"
    )


def _show(
    rows: "list[LeasedRow]", quantities: "Sequence[Quantity]", inputs: list[str], name: str,
    again: bool,
) -> None:  # fmt: skip
    if rows:
        show_suggestions(rows, quantities, inputs, again)
    elif again:
        say(f"no row of {name} is out; `weal ask {shlex.quote(name)}` asks for one")


def _inputs(plan: Mapping[str, Any]) -> list[str]:
    """The input columns."""
    return [column["name"] for column in plan["columns"] if column["kind"] != "dropped"]
