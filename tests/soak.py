"""What runs always, and what only with --long.

A soak asks the same of many cases as a test asks of some: ``KILLS = count(60, long=300)``. A test
with several parameters and the marker ``covering`` runs every value of every parameter, in few
combinations (a covering array); with ``covering(strength=2)`` every pair of values. All
combinations run with --long, and so do tests with the marker ``long``.
"""

from collections import defaultdict
from itertools import combinations

LONG = False  # set by `conftest` from the option --long, before modules of tests are imported


def count(usual, *, long):
    """How many, or which, in this run."""
    return long if LONG else usual


def covering(cases, strength=1):
    """Indices of few cases (dicts of parameters) that have every value, or tuple of values."""
    tuples = [set(combinations([(k, id(v)) for k, v in c.items()], strength)) for c in cases]
    left, kept = set().union(*tuples), []
    while left:
        best = max(range(len(cases)), key=lambda i: len(tuples[i] & left))
        kept.append(best)
        left -= tuples[best]
    return kept


def left_out(items):
    """Those of the collected tests that run only with --long, in no order."""
    groups, out = defaultdict(list), {item for item in items if item.get_closest_marker("long")}
    for item in sorted(items, key=lambda item: item.nodeid):
        if item.get_closest_marker("covering") and item not in out:
            groups[item.parent, item.originalname].append(item)
    for group in groups.values():
        strength = group[0].get_closest_marker("covering").kwargs.get("strength", 1)
        kept = covering([item.callspec.params for item in group], strength)
        out |= set(group) - {group[i] for i in kept}
    return out
