"""Metrics of a search, against brute force and scikit-learn."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import f1_score

from benchmark.small_pool import NEEDLE, a_small
from weal.benchmark import goal_metrics
from weal.benchmark.methods import Reading
from weal.benchmark.tasks import draw


@pytest.mark.parametrize("ties", [False, True])
def test_metrics_are_those_of_brute_force(ties):
    rng = np.random.default_rng(int(ties))
    split = draw(a_small(NEEDLE), 0, 0)
    f = np.round(split.yt, 1) if ties else split.yt
    split = replace(split, yt=f, yu=f[10:], y0=f[:10])
    asked = rng.permutation(30)[:20]
    means = rng.normal(f.mean(), f.std(), (21, 40))
    readings = [
        Reading(10 + t, means[t], means[t], {}, {}, asked=int(asked[t - 1]) if t else -1)
        for t in range(21)
    ]
    found = goal_metrics.goal_metrics(split, readings)
    tenth = sorted(f, reverse=True)[9]
    for t in range(21):
        known = [*range(10), *(10 + asked[:t])]
        assert found["top_10"][t] == min(sum(f[i] >= tenth for i in known), 10) / 10
        assert found["top_percent"][t] == any(f[i] == f.max() for i in known)
        assert found["regret"][t] == pytest.approx((max(f) - max(f[known])) / (max(f) - min(f)))
        level = goal_metrics.level_of(f, 0.2)
        assert found["f1_fifth"][t] == pytest.approx(f1_score(f > level, means[t] > level))


def test_a_level_lies_between_two_values_and_has_the_share_above_it():
    values = np.random.default_rng(2).normal(size=501) * 1e6
    for share in (0.05, 0.2, 0.5):
        level = goal_metrics.level_of(values, share)
        assert level not in values
        assert abs(np.sum(values > level) - share * 501) <= 0.5
    with pytest.raises(ValueError, match="there is no level"):
        goal_metrics.level_of(np.ones(5), 0.2)
