"""A small part of `benchmarks/contradictions.py`: errors are named, clean campaigns are not."""

import pytest
from benchmarks.contradictions import KINDS, clean, found

pytestmark = pytest.mark.filterwarnings("ignore:.* is far from the labels")
CLEAN = [
    ("bounded", 0.0, 501),
    ("saturated", 0.05, 502),
    ("terrace", 0.0, 208),
    ("step", 0.05, 101),
    ("step", 0.0, 403),
]


@pytest.mark.parametrize("kind", KINDS)
def test_planted_errors_are_named(kind):
    assert sum(found(kind, seed) for seed in range(1000, 1003)) >= 2


@pytest.mark.parametrize(("name", "noise", "seed"), CLEAN)
def test_clean_campaigns_are_not_warned_of(name, noise, seed):
    assert clean(name, noise, seed).named() == []
