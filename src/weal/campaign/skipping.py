"""Rows are left out, or brought back; a retry with a key says which of them changed since."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from weal.campaign import rules
from weal.store.events import Draft
from weal.store.store import Book

if TYPE_CHECKING:
    from weal.campaign.campaign import Campaign


def skip_rows(
    campaign: "Campaign", ids: Sequence[str], on: bool, who: str, note: str | None, key: str | None
) -> dict[str, str]:
    """Skip rows (`on`) or bring them back; of a retry, words on each row that changed since."""
    changed: dict[str, str] = {}

    def decide(book: Book) -> list[Draft]:
        drafts, since = rules.skipped(book, ids, who, on, note, key)
        changed.clear()
        changed.update(since)
        return drafts

    campaign.transact(decide)
    return changed
