"""Counts of kills, races, random requests and seeds: small in every run, large with --long.

A soak asks the same of many cases as a test asks of some: ``KILLS = count(60, long=300)``.
"""

LONG = False  # set by `conftest` from the option --long, before modules of tests are imported


def count(usual, *, long):
    """How many, or which, in this run."""
    return long if LONG else usual
