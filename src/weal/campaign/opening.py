"""Open a campaign, or make it: the way in for programs and for the command line."""

import getpass
import os
from collections.abc import Sequence
from typing import Any

from weal.campaign.campaign import Campaign
from weal.shards.scheduler_address import check_scheduler
from weal.store.events import check_name
from weal.store.store import Store, open_store
from weal.table.index import with_ids


def open_campaign(
    name: str,
    store: str | os.PathLike[str] | Store | None = None,
    *,
    pool: Any = None,
    id_column: str | None = None,
    target: str | None = None,
    features: Any = "auto",
    types: dict[str, str] | None = None,
    missing: dict[str, Sequence[str]] | None = None,
    by: str | None = None,
    copy: bool = False,
    scheduler: Any = None,
    progress: Any = None,
    **settings: Any,
) -> Campaign:
    """The campaign of that name; with `pool`, it is made if it is not there yet.

    Parameters
    ----------
    name : str
        Of the campaign.
    store : str, path, Store or None
        Where it is kept: sqlite:///weal.db, postgresql://user@host/database or memory: ; None:
        what WEAL_STORE says, else sqlite:///weal.db.
    pool : path, frame or None
        Table of candidates: CSV, TSV, Parquet or Excel file; pandas, polars or pyarrow frame. A
        pattern of Parquet files, a folder of them or a pool of `weal.open_pool` stays where it
        is: the store keeps names, sizes and hashes of the files, not their rows.
    id_column : str or None
        Column with the ids. None: the index of a pandas frame, where it does not just count the
        rows; else rows are numbered 1, 2, 3, ...
    target : str or None
        What is measured; labels that a column of that name has already are taken.
    features : list of str, or "auto"
        Columns to learn from; "auto": all that can be.
    types : dict of column to type, or None
        What a column is, where we would guess wrong: {"made": "day-first"}.
    missing : dict of column to texts, or None
        Further texts that stand for a missing cell, as {"pressure": ["<0.5"]}.
    by : str or None
        Who is at work; None: WEAL_WHO, else the name of the account.
    copy : bool
        Whether the store is to keep the rows of candidates in many files too.
    scheduler : str, distributed.Client or None
        Who does passes over such files; see `weal.ActiveLearner`.
    progress : function or None
        Called with what is being done, how many rows are done, and of how many.
    **settings
        Of a new campaign: acquisition, lease ("7d"), goal (error at which to stop), n_start, seed,
        warp, outliers, cost (a column: what is gained by a label is divided by it).

    Returns
    -------
    Campaign
        Open; close it, or use it in a ``with`` block.

    Raises
    ------
    UnknownCampaign
        Where the store has none of that name, and no `pool` was given.
    ValueError
        Where the table, a column, a setting or the name of the store cannot be.
    WealError
        Where the store cannot be reached, or is of a newer weal.

    Examples
    --------
    >>> import weal
    >>> from weal.samples import alloys, path
    >>> with weal.open_campaign(
    ...     "alloys", "memory:", pool=path("alloys.csv"), id_column="sample", target="hardness"
    ... ) as campaign:
    ...     ids = campaign.ask(4)
    ...     number = campaign.tell(ids[0], alloys.measure(ids[0]), by="mk", note="batch 7")
    ...     campaign.ledger.n_labels
    13
    """
    check_scheduler(scheduler)
    named = store is None or isinstance(store, str | os.PathLike)
    place: Store = open_store(store) if named else store  # type: ignore[arg-type,assignment]
    name, who = check_name(name), by or account()
    try:
        if pool is not None and name not in place.campaigns():
            from weal.campaign.creating import create
            from weal.campaign.shard_pool import is_in_files
            from weal.shards.crews import crew_of

            id_column, target = (None if one is None else str(one) for one in (id_column, target))
            if not is_in_files(pool):
                pool, id_column = with_ids(pool, id_column)
            create(
                place, name, pool, id_column, target, features, types or {}, settings, who,
                missing, copy, crew_of(scheduler), progress,
            )  # fmt: skip
        elif pool is None and settings:
            raise ValueError(
                f"{', '.join(settings)}: settings are given with a pool, for a new campaign; "
                "change them later with campaign.change(...)"
            )
        return Campaign(name, place, who, scheduler=scheduler, progress=progress)
    except BaseException:
        place.close()
        raise


def account() -> str:
    """Who is at work, if nobody says so."""
    try:
        return os.environ.get("WEAL_WHO") or getpass.getuser()
    except (OSError, KeyError):  # an account without a name, as in some containers
        return ""
