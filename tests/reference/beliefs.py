"""Beliefs to score: experts of weight exactly 0, variances exactly 0, tiny and huge scales."""

import numpy as np
from hypothesis import strategies as st

from reference.cases import frozen
from weal.core.extensions.variance_reduction import TargetBelief, experts_in_reduction
from weal.core.paper.acquisition import Belief

SCALES = (1e-60, 1e-6, 1.0, 1e6, 1e60)


def belief(seed, M=4, N=6, d=3, t=5, scale=1.0, unequal=3.0, blanks=True):
    """A belief in labels of that scale whose sds differ by factors of exp(unequal / 2)."""
    rng = np.random.default_rng([seed, M, N])
    w = 1e-3 + rng.dirichlet(np.ones(M))
    mu = scale * rng.standard_normal((M, N)) * np.exp(rng.standard_normal((M, 1)))
    var = scale**2 * np.exp(unequal * rng.standard_normal((M, N)))
    noise = scale**2 * np.exp(unequal * rng.standard_normal(M)) * 10.0 ** -rng.integers(0, 4)
    if blanks:
        w[rng.random(M) < 0.3] = 0.0
        w[rng.integers(M)] += 0.1
        var[rng.random((M, N)) < 0.2] = 0.0
        mu[:, rng.random(N) < 0.2] = scale  # where all agree
    w = w / w.sum()
    part = experts_in_reduction(w)
    correlated = rng.uniform(-0.5, 0.5, (len(part), N, 7)) * np.sqrt(var[part])[:, :, None]
    target_belief = TargetBelief(
        part,
        frozen(scale * rng.standard_normal((len(part), 7))),
        frozen(scale * correlated),
        frozen(scale**2 * rng.exponential(0.3, (len(part), 7))),
    )
    return Belief(
        w=frozen(w),
        mu=frozen(mu),
        var=frozen(var),
        noise=frozen(noise),
        X=frozen(rng.standard_normal((N, d))),
        X_labelled=frozen(rng.standard_normal((t, d))),
        y_labelled=frozen(scale * rng.standard_normal(t)),
        key=(seed, t),
        reduction=frozen(scale**2 * rng.exponential(1.0, (M, N)) * (rng.random((M, N)) < 0.8)),
        target_belief=target_belief,
    )


def beliefs(scales=SCALES, **changed):
    """Beliefs of all sizes; `changed` replaces the strategy of a parameter."""
    parts = {
        "seed": st.integers(0, 10**6),
        "M": st.integers(1, 6),
        "N": st.integers(1, 9),
        "d": st.integers(3, 5),
        "t": st.integers(0, 6),
        "scale": st.sampled_from(scales),
    }
    return st.builds(belief, **{**parts, **changed})
