"""A campaign that measures yield, purity, whether it crystallised, a phase and a grade."""

import pandas as pd

from campaign.lab import pool
from weal.campaign.campaign import open_campaign

TARGETS = ["yield [%]", "purity [%]", "crystallised", "phase", "grade"]
TYPES = {
    "crystallised": "pass:ja,nein",
    "phase": "classes:fcc,bcc,hcp",
    "grade": "ordered:low,medium,high",
}


def several(store="memory:", targets=TARGETS, rows=40, **settings):
    """A campaign on the first rows of the pool, without labels."""
    table = pool(0, rows).assign(**dict.fromkeys(targets))
    types = {name: kind for name, kind in TYPES.items() if name in targets}
    how = {"id_column": "name", "target": targets, "types": types, "by": "ann", "n_start": 5}
    return open_campaign("lab", store, pool=table, **{**how, **settings})


def labels(one):
    """The labels by quantity and row, as they are shown; failures under "worked"."""
    ledger = one.read_ledger()
    every = ledger.with_failures().items()
    return {name: _shown(own) for name, own in every if own.labels}


def _shown(own):
    shown = own.quantity.format
    return {name: [shown(told.y) for told in some] for name, some in own.labels.items()}


def frame(**columns):
    """A results table."""
    return pd.DataFrame(columns)
