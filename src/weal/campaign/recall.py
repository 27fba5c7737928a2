"""From a store to a mind that has been through the whole ledger, and what is kept for next time."""

from weal.campaign import checkpoint
from weal.campaign.candidate_table import read_pool
from weal.campaign.ledger import Ledger
from weal.campaign.mind import Mind
from weal.store.store import Store


def up_to_date(mind: Mind | None, store: Store, ledger: Ledger) -> Mind:
    """A mind that has been through the whole ledger: this one, if it can go on."""
    whole = mind is not None and len(mind.pool.ids) == ledger.rows
    pool = mind.pool if mind is not None and whole else read_pool(store, ledger)
    if mind is None or not mind.follows_from(ledger):
        kept = store.snapshot(ledger.name, checkpoint.KIND)
        return Mind(ledger, pool, kept[2] if kept else None)
    mind.pool = pool
    mind.follow(ledger)
    return mind


def keep(mind: Mind, store: Store, ledger: Ledger) -> None:
    """Keep the experts, if they were settled anew since the last time."""
    past = mind.past(ledger)
    if past is None or past == mind.kept or mind.aside:
        return
    data = checkpoint.write(mind.learner.model.fold_, past, ledger.settings)
    if data is not None:
        store.keep_snapshot(ledger.name, checkpoint.KIND, ledger.seq, ledger.hash, data)
        mind.kept = past
