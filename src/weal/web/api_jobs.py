"""Jobs of the API: calls that need a model or read a table. Each answers JSON text and a tag.

The tag names the state of the campaign that the answer is of (`campaign.preconditions`).
"""

from weal.campaign.answers import json_text, row_answer
from weal.campaign.campaign import Campaign
from weal.campaign.preconditions import state_tag
from weal.campaign.suggestions import explain
from weal.progress import Progress
from weal.store.events import from_the_future
from weal.web.job_context import Arguments, JobContext

TaggedText = tuple[str, str]


def _tagged(campaign: Campaign, value: object) -> TaggedText:
    ledger = campaign.last_ledger
    return json_text(value), state_tag(ledger.seq, ledger.hash)


def suggest(context: JobContext, arguments: Arguments, progress: Progress) -> TaggedText:
    """Lease rows; the rows that are out with their reasons, or only their ids."""
    call = dict(arguments["call"])
    only_ids = call.pop("only_ids", False)
    with context.guarded_campaign(arguments) as (campaign, guarded):
        ids: list[str] = campaign.ask(call.pop("n", 1), **call)
        tag = guarded.tag or ""
        if only_ids:
            return json_text({"ids": ids}), tag
        session = campaign.replay_session()
        leases = session.ledger.leases
        out = [leases[one] for one in ids if one in leases and leases[one].who == campaign.who]
        return json_text([row_answer(row) for row in explain(session, out)]), tag


def asked(context: JobContext, arguments: Arguments, progress: Progress) -> TaggedText:
    """The rows that are out, of one person or of all."""
    campaign = context.campaign(arguments["name"])
    by = arguments["call"].get("by")
    rows = [row_answer(row) for row in campaign.asked() if by in (None, row.who)]
    return _tagged(campaign, rows)


def report(context: JobContext, arguments: Arguments, progress: Progress) -> TaggedText:
    """The status, as `weal status --json` prints it."""
    campaign = context.campaign(arguments["name"])
    found = campaign.status(progress=progress, **arguments["call"])
    future = from_the_future(campaign.events(), context.store.now())
    return _tagged(campaign, {**found.to_dict(), "future": [event.seq for event in future]})


API_JOBS = {"suggest": suggest, "asked": asked, "report": report}
