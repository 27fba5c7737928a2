"""What a campaign is, in a line and as HTML; from its events alone, without a model."""

from typing import TYPE_CHECKING, Any

from weal.errors import WealError
from weal.table.cards import card

if TYPE_CHECKING:
    from weal.campaign.view import CampaignView


def line(campaign: "CampaignView") -> str:
    """One line."""
    found = facts(campaign)
    if isinstance(found, str):
        return f"<Campaign {campaign.name!r}: {found}>"
    of = f" of {found['target']}" if "target" in found else ""
    parts = [f"{found['candidates']} candidates", f"{found['labels']} labels{of}"]
    parts += [f"{found[name]} {name}" for name in ("out", "skipped") if found[name]]
    return f"<Campaign {campaign.name!r}: {', '.join(parts)}; {found['store']}>"


def page(campaign: "CampaignView") -> str:
    """The same as HTML."""
    found = facts(campaign)
    shown = {"state": found} if isinstance(found, str) else found
    return card(f"Campaign {campaign.name}", shown)


def facts(campaign: "CampaignView") -> dict[str, Any] | str:
    """What there is to say; why not, where the store does not answer."""
    if campaign.closed:
        return "closed"
    try:
        store, ledger = campaign.store, campaign.ledger
        target = {"target": ledger.target} if ledger.target else {}
        return {
            "store": store.url,
            "candidates": ledger.rows,
            "labels": ledger.n_labels,
            **target,
            "out": len(ledger.open_leases(store.now())),
            "skipped": len(ledger.skipped),
            "chooses by": _spelt(ledger.settings["acquisition"]),
        }
    except WealError as error:
        return str(error)


def _spelt(acquisition: Any) -> str:
    return acquisition if isinstance(acquisition, str) else ", ".join(acquisition)
