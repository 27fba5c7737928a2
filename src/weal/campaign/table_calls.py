"""Tables in calls of programs: create a campaign, or add candidates, once for each key.

The options of a table are those of `open_campaign`, as JSON:

    {"id_column": "sample", "target": ["yield", "purity"], "types": {"made": "day-first"}}

A key belongs to the content of the call (`idempotency`): the table, its options and the settings.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from weal.campaign.box_candidates import create_in_space
from weal.campaign.campaign import Campaign
from weal.campaign.creation import add, create, read_more
from weal.campaign.idempotency import Change, content_change, was_called
from weal.errors import campaign_exists
from weal.store.events import check_name
from weal.store.protocol import Store
from weal.tables.design_file import DEFAULT_ROWS, space_from_json
from weal.tables.table_options import TableOptions, check_features, decimal_marks


def table_options(given: Mapping[str, Any]) -> TableOptions:
    """The options of a table.

    >>> table_options({"target": ["yield", "purity"], "units": {"volume": "mL"}}).targets
    ('yield', 'purity')
    """
    target = given.get("target")
    targets = [target] if isinstance(target, str) else list(target or ())
    ranges = {name: (low, high) for name, (low, high) in given.get("ranges", {}).items()}
    header = given.get("header")
    return TableOptions(
        given.get("id_column"), next(iter(targets), None),
        check_features(given.get("features", "auto")), given.get("types", {}),
        tuple(given.get("also_inputs", ())), given.get("same", {}), given.get("units", {}),
        decimal_marks(given.get("decimal")), given.get("missing", {}), given.get("sheet"),
        None if header is None else int(header), ranges, tuple(targets[1:]),
    )  # fmt: skip


def create_once(
    store: Store, name: str, source: object, given: Mapping[str, Any], who: str, key: str | None,
    content: object,
) -> None:  # fmt: skip
    """Create the campaign of a table or of a box (`given["box"]`), once for this key and content.

    CampaignExists if another call made a campaign of this name.
    """
    call = [content_change("campaign", content)]
    if _was_created(store, check_name(name), key, call):
        return
    options, settings = table_options(given), given.get("settings", {})
    if "box" in given:
        space = space_from_json(given["box"])
        n = int(given.get("n", DEFAULT_ROWS))
        is_new, _ = create_in_space(
            store, name, space, n, options, settings, who, key=key, call=call
        )
    else:
        is_new, _ = create(store, name, source, options, settings, who, key=key, call=call)
    if not is_new and not _was_created(store, name, key, call):
        raise campaign_exists(name)  # another server created it meanwhile, and was interrupted


def _was_created(store: Store, name: str, key: str | None, call: Sequence[Change]) -> bool:
    """Whether this call created the campaign; an error if another one did."""
    if name not in store.campaigns():
        return False
    [first] = store.events_between(name, 1, 1)
    if key is None or first.key != key:
        raise campaign_exists(name)
    return was_called(store, name, key, call)


def add_once(
    campaign: Campaign, source: object, given: Mapping[str, Any], key: str | None, content: object
) -> dict[str, object]:
    """Add candidates once for this key and content; the answer of `weal add`."""
    call = [content_change("candidates", content)]
    before = campaign.read_ledger()
    if before.shards:
        raise ValueError(
            f"the candidates of {campaign.name!r} are in files: add others with `weal add`"
        )
    added, far = 0, list[str]()
    if not was_called(campaign.store, campaign.name, key, call):
        session = campaign.read_session()
        like = session.state.candidates.inputs_at(slice(None))
        made = read_more(session.ledger, source, table_options(given))
        far = campaign.far_inputs(made)
        try:
            add(campaign.store, session.ledger, made, like, campaign.who, key=key, call=call)
            added = len(made.table)
        except ValueError:  # the ids exist: perhaps added by the same call at the same moment
            if not was_called(campaign.store, campaign.name, key, call):
                raise
    after = campaign.read_ledger()
    labels = after.n_labels - before.n_labels
    return {"added": added, "candidates": after.rows, "labels": labels, "far": far}
