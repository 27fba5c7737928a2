"""Operations on campaigns: list and describe them, show and change their settings."""

from urllib.parse import quote

from weal.campaign.answers import campaign_answer, description_answer, settings_answer
from weal.campaign.preconditions import state_tag
from weal.web.api.call import Answer, Call
from weal.web.api.operations import Example, Parameter, flag, operation

MAX_CAMPAIGNS = 200  # on one page of the list


@operation(
    "GET", "/campaigns", "list_campaigns", "List the campaigns.",
    may="read", answer="list",
    query=[
        Parameter("limit", {"type": "integer", "minimum": 1, "maximum": MAX_CAMPAIGNS,
                            "default": MAX_CAMPAIGNS}, "Campaigns on a page."),
        Parameter("after", {"type": "string", "maxLength": 100}, "Begin after this name."),
        Parameter("all", flag("Also removed campaigns.")),
    ],
    examples=[Example("first page", path={})],
)  # fmt: skip
def list_campaigns(call: Call) -> Answer:
    """Sorted by name. The header Link has the address of the next page (rel="next")."""
    every, limit, server = call.query["all"], int(call.query["limit"]), call.server
    names = [one for one in call.actor.visible(server.store.campaigns())
             if one > call.query.get("after", "")]  # fmt: skip
    rows: list[dict[str, object]] = []
    for name in names:
        ledger = server.ledgers.ledger(name)
        hidden = bool(ledger.settings.get("hidden"))
        if every or not hidden:
            more = {"removed": hidden} if every else {}
            rows.append({**campaign_answer(ledger, server.store.now()), **more})
        if len(rows) > limit:
            break
    page = rows[:limit]
    if len(rows) <= limit:
        return call.answer(page)
    after = quote(str(page[-1]["name"]), safe="")
    address = f"?limit={limit}&after={after}{'&all=true' if every else ''}"
    return call.answer(page, link=f'<{address}>; rel="next"')


@operation(
    "GET", "/campaigns/{name}", "get_campaign", "Describe a campaign.",
    may="read", answer="new", is_conditional=True, examples=[Example("alloys")],
)  # fmt: skip
def get_campaign(call: Call) -> Answer:
    """Numbers of candidates and labels, columns, quantities and settings, as after `weal new`."""
    ledger = call.server.ledgers.ledger(call.name)
    return call.answer(description_answer(ledger), state_tag(ledger.seq, ledger.hash))


@operation(
    "GET", "/campaigns/{name}/settings", "get_settings", "Show its settings.",
    may="read", answer="settings", is_conditional=True, examples=[Example("now")],
)  # fmt: skip
def get_settings(call: Call) -> Answer:
    """The settings, as `weal settings` shows them."""
    ledger = call.server.ledgers.ledger(call.name)
    return call.answer(settings_answer(ledger), state_tag(ledger.seq, ledger.hash))
