"""A status as text: short sections of plain lines.

Also the facts of a campaign in one line and as HTML, from its events, without a model.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from weal.campaign.plausibility import correction_command
from weal.campaign.quantity_text import failure_lines, quantity_lines, waiting_line, word_lines
from weal.diagnostics.model_text import coverage_text, estimate, model_lines
from weal.errors import WealError
from weal.goals.grammar import parse_goal
from weal.text import facts_html, number, percent, some

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign
    from weal.campaign.quantity_status import QuantityStatus
    from weal.campaign.status import LeasedId, Status
    from weal.diagnostics.model_status import ModelStatus


MAX_SUSPECTS_SHOWN = 5  # labels that are shown


def lines(status: "Status") -> list[str]:
    """The status, section by section."""
    found = [*_progress_lines(status)]
    if status.goal_lines:
        heading, *rest = status.goal_lines
        found += ["", heading, *(f"  {line}" for line in rest)]
    if not status.quantities:
        found += _quantity_sections(status)
    for one in status.quantities:
        found += _sections_of(status, one)
    if status.failures:
        found += ["", *failure_lines(status.failures)]
    found += ["", *_stopping(status)]
    return found


def _quantity_sections(status: "Status", quantity: str | None = None) -> list[str]:
    """Errors, model, suspects and contradictions; `quantity` begins the headings."""
    found, of = [], f"{quantity}: " if quantity else ""
    sections: list[list[str]] = []
    if status.beliefs:
        sections += [_errors(status, status.beliefs), model_lines(status.beliefs, status.chosen)]
    if status.suspects:
        sections.append(_suspects(status, quantity))
    if status.contradictions:
        sections.append(_contradictions(status, quantity))
    for heading, *rest in sections:
        found += ["", f"{of}{heading[0].lower()}{heading[1:]}" if of else heading, *rest]
    return found


def _sections_of(status: "Status", one: "QuantityStatus") -> list[str]:
    """The sections of one of several quantities, or of one with words."""
    if one.counts:
        found = ["", *word_lines(one)] if one.scores else []
        if one.unlikely:
            fix = correction_command(
                status.name, str(one.unlikely[0].id), _option(status, one.name)
            )
            words = [f"  {label.words}" for label in one.unlikely[:MAX_SUSPECTS_SHOWN]]
            found += ["", f"{one.name}: labels to check: very unlikely given the others", *words]
            found.append(f"  `{fix}` corrects one; --sure confirms it")
        return found
    own = replace(
        status,
        labels=one.labels,
        beliefs=one.beliefs,
        check=one.check,
        coverage=one.coverage,
        chosen=one.chosen,
        suspects=one.suspects,
        other_units=one.other_units,
        contradictions=one.contradictions,
    )
    return _quantity_sections(own, one.name)


def _option(status: "Status", quantity: str | None) -> str | None:
    """The quantity that a command names: None if there is only one."""
    return quantity if len(status.quantities) > 1 else None


def _suspects(status: "Status", quantity: str | None) -> list[str]:
    """Labels to check, and the command that corrects one."""
    first = status.suspects[0]
    fix = f"`{correction_command(status.name, str(first.id), _option(status, quantity))}`"
    more = len(status.suspects) - MAX_SUSPECTS_SHOWN
    counted = sum(one.aside and one.counted for one in status.suspects)
    still = f"  the error estimates above still count {counted} of them"
    return [
        f"Labels to check: {_left_aside(status)}",
        *(f"  {unit.words}" for unit in status.other_units),
        *(f"  {one.words}" for one in status.suspects[:MAX_SUSPECTS_SHOWN]),
        *([f"  and {more} more: --json has all"] if more > 0 else []),
        *([still] if counted else []),
        f"  {fix} corrects one; --sure confirms it",
    ]


def _contradictions(status: "Status", quantity: str | None) -> list[str]:
    """Labels in use that the others contradict, with advice."""
    first = status.contradictions[0].ids[0]
    fix = correction_command(status.name, str(first), _option(status, quantity))
    return [
        "Labels that contradict the others: the model still uses them",
        *(f"  {one.words}" for one in status.contradictions),
        f"  `{fix}` corrects a label; weal changes none of them",
    ]


def _left_aside(status: "Status") -> str:
    aside = sum(one.aside for one in status.suspects)
    if aside == len(status.suspects):
        return "the model treats them as outliers and ignores them"
    return f"the model ignores {aside} of them" if aside else "the model still uses them"


def _progress_lines(status: "Status") -> list[str]:
    share = percent(status.labelled / status.candidates)
    found = [
        f"{status.name}: {status.labels:,} {_plural(status.labels, 'label')}, "
        f"{status.candidates:,} {_plural(status.candidates, 'candidate')} ({share} labelled)"
    ]
    found += [line for one in status.quantities for line in quantity_lines(one)]
    found += _samples(status)
    if status.waiting:
        found.append(waiting_line(status.waiting))
    if status.repeats:
        found.append(f"  measured again   {status.repeats}")
    if status.out:
        found.append(f"  out              {len(status.out)}: {some(map(_out, status.out))}")
    if status.lapsed:
        found.append(f"  lapsed           {len(status.lapsed)}: {some(map(_out, status.lapsed))}")
    if status.skipped:
        found.append(f"  skipped          {status.skipped}")
    found += [f"  budget           {one.text}" for one in (status.spending,) if one]
    found += [f"  unused label {name}: {why}" for name, why in status.unusable.items()]
    if status.choice:
        found.append(f"  choice           {status.choice}")
    if status.missing and not status.quantities:
        more = f"{status.missing} more {_plural(status.missing, 'label')}"
        found.append(f"  no model yet     {more} to come before there is one")
    return found


def _samples(status: "Status") -> list[str]:
    """The sizes of the samples behind the estimates and behind an ask."""
    found = []
    if status.sampled:
        found.append(
            f"  a sample         {status.sampled:,} of them are used for the estimates below"
        )
    if status.compared and status.best_share:
        found.append(
            f"  compared         {status.compared:,} of them, drawn at random, at each ask: the "
            f"row asked is among the best {100 * status.best_share:.2g} % of all (with 99 % "
            "probability)"
        )
    return found


def _out(out: "LeasedId") -> str:
    who = f" ({out.who}," if out.who else " ("
    return f"{out.id}{who} until {out.until:%Y-%m-%d})".replace("( ", "(")


def _errors(status: "Status", beliefs: "ModelStatus") -> list[str]:
    over = f"by the model, over {beliefs.expected_over:,} candidates"
    if status.sampled and beliefs.expected_error:
        over += f", +- {number(beliefs.expected_error, 2)}"
    before = f"last {beliefs.window} labels, each predicted before it was told"
    found = [
        "Error estimates, in units of the label",
        estimate("leave-one-out", beliefs.left_out, _left_out(status, beliefs)),
        f"  {'':<13}  guessing the mean gives {number(beliefs.baseline)}: "
        f"{percent(max(beliefs.explained, 0.0))} of the variance explained",
        estimate("prequential", beliefs.prequential, before),
        estimate("expected", beliefs.expected, over),
    ]
    if status.chosen:
        found.append(f"  {parse_goal(status.goal).error_bias}")
    if status.check:
        error = f" +- {number(status.check.error, 2)}" if status.check.error else ""
        found.append(
            f"  random test    {number(status.check.rmse)}{error}   {_random_test_text(status)}"
        )
    if status.coverage:
        found.append(f"  {coverage_text(status.coverage)} when asked")
    found.append(f"  {coverage_text(beliefs.left_out_coverage)} in leave-one-out")
    return found


def _random_test_text(status: "Status") -> str:
    n = status.check.n if status.check else 0
    return f"{n} {_plural(n, 'row')} drawn at random, as predicted when asked"


def _left_out(status: "Status", beliefs: "ModelStatus") -> str:
    """The method behind the error, and its standard error if labels were sampled."""
    if beliefs.left_out_error is None:
        return "each label predicted from the others"
    of = f"{beliefs.left_out_over:,} of {status.labels:,} labels"
    return f"{of}, each predicted from the others, +- {number(beliefs.left_out_error, 2)}"


def _stopping(status: "Status") -> list[str]:
    return ["Stopping", *(f"  {line}" for line in (status.advice, *status.stopping))]


def _plural(n: int, word: str) -> str:
    return word if n == 1 else f"{word}s"


def line(campaign: "Campaign") -> str:
    """One line."""
    found = facts(campaign)
    if isinstance(found, str):
        return f"<Campaign {campaign.name!r}: {found}>"
    of = f" of {found['target']}" if "target" in found else ""
    one = "label" if found["labels"] == 1 else "labels"
    parts = [f"{found['candidates']} candidates", f"{found['labels']} {one}{of}"]
    parts += [f"{found[name]} {name}" for name in ("failed", "out", "skipped") if found.get(name)]
    return f"<Campaign {campaign.name!r}: {', '.join(parts)}; {found['store']}>"


def page(campaign: "Campaign") -> str:
    """The facts of a campaign as HTML."""
    found = facts(campaign)
    shown = {"state": found} if isinstance(found, str) else found
    return facts_html(f"Campaign {campaign.name}", shown)


def facts(campaign: "Campaign") -> dict[str, Any] | str:
    """The facts of a campaign by name; the reason, if the store cannot be read."""
    if campaign.closed:
        return "closed"
    try:
        store, ledger = campaign.store, campaign.read_ledger()
        columns = [one.quantity.column for one in ledger.quantities.values() if one.quantity.column]
        target = {"target": ", ".join(columns)} if columns else {}
        failed = {"failed": len(ledger.failures.labels)} if ledger.failures.labels else {}
        return {
            "store": store.url,
            "candidates": ledger.rows,
            "labels": ledger.n_labels,
            **target,
            **failed,
            "out": len(ledger.open_leases(store.now())),
            "skipped": len(ledger.skipped),
            "chooses by": _format_acquisition(ledger.settings["acquisition"]),
        }
    except WealError as error:
        return str(error)


def _format_acquisition(acquisition: Any) -> str:
    return acquisition if isinstance(acquisition, str) else ", ".join(acquisition)
