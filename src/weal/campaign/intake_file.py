"""A file of results, previewed or told: what `intake` decides, with the campaign at hand."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from weal.campaign.intake import Glance, How, Intake, Plan, plan
from weal.campaign.intake_lines import differing, read
from weal.campaign.lookup import near_ids, rows, transact
from weal.store.events import Draft
from weal.store.store import Book
from weal.table.results import Results

if TYPE_CHECKING:
    from weal.campaign.view import CampaignView


def preview(campaign: "CampaignView", source: Any, **how: Any) -> Intake:
    """What would become of each line, as things stand now."""
    return _planned(campaign, source, how)(Glance(campaign)).intake


def tell_file(campaign: "CampaignView", source: Any, **how: Any) -> Intake:
    """The same, decided under the lock and written; ValueError where a line cannot be taken."""
    decided, planned = list[Plan](), _planned(campaign, source, how)

    def decide(book: Book) -> tuple[Draft, ...]:
        decided[:] = [planned(book)]
        if decided[0].error:
            raise decided[0].error
        return decided[0].drafts

    events = transact(campaign, decide)
    event = events[-1].seq if events else decided[0].there
    return replace(decided[0].intake, event=event)


def _planned(
    campaign: "CampaignView", source: Any, given: dict[str, Any]
) -> Callable[[Book], Plan]:
    """The file, read; what is left is to look at the book."""
    files = {key: given.pop(key) for key in ("name", "value", "sheet", "header") if key in given}
    who = given.pop("by", None) or campaign.who
    how = How(who, **given)
    if how.replace and how.repeat:
        raise ValueError("replace corrects a label and repeat adds to it: not both at once")
    results = read(campaign, source, **files)
    if not results.lines:
        raise ValueError(f"{results.where} has no rows below its header: there is no label in it")
    differs, ledger = _differing(campaign, results), campaign.ledger

    def planned(book: Book) -> Plan:
        ids = lambda: near_ids(campaign)  # noqa: E731
        return plan(campaign.name, book, results, differs, how, ids, ledger)

    return planned


def _differing(campaign: "CampaignView", results: Results) -> dict[int, str]:
    """Lines whose inputs are not those of the campaign; without inputs no candidate is read."""
    columns = {name for line in results.lines for name in line.inputs}
    if not columns:
        return {}
    return differing(results, rows(campaign, {line.id for line in results.lines}, columns))
