"""Campaigns that were asked and told for a while, with noise, for tests of what they say."""

import numpy as np

from campaign.lab import campaign, number, truth


def measured(name, sd=0.05):
    """The label of a row: always the same one."""
    return truth(number(name)) + sd * float(np.random.default_rng([number(name), 2]).normal())


def teach(one, labels, batch=3):
    """Ask and tell until there are so many labels."""
    while (left := labels - one.read_ledger().n_labels) > 0:
        for name in one.ask(min(batch, left)):
            one.tell(name, measured(name))
    return one


def taught(labels=24, store="memory:", rows=120, batch=3, **settings):
    """A campaign that knows so many labels."""
    return teach(campaign(store, rows=rows, **settings), labels, batch)
