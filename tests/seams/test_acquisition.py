"""The conformance suite of acquisition functions; the paper's five against its equations."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import scores
from reference.beliefs import belief, beliefs
from reference.cases import frozen
from weal.core.extensions.acquisition_registry import (
    ACQUISITIONS,
    is_pointwise,
    needs_reduction,
    needs_targets,
)
from weal.core.extensions.more_acquisitions import (
    igs,
    ivr,
    misfit_power,
    mvr_var,
    unexplained_share,
)
from weal.core.extensions.variance_reduction import TargetBelief
from weal.core.paper.acquisition import (
    NEGLIGIBLE_WEIGHT,
    PAPER,
    VAR_FLOOR,
    gpm_ent,
    gpm_var,
    qbc,
    random,
    went,
    wvar,
)
from weal.core.paper.ensemble import Ensemble
from weal.core.paper.fixed_magnitude import FixedMagnitude
from weal.learner.pools import score_pass as in_blocks
from weal.learner.pools.protocol import ScorePass

few = settings(max_examples=15, deadline=None)
EVERY = sorted(ACQUISITIONS)
POINTWISE = [name for name in EVERY if name != "random"]
LOOPS = {
    "wvar": scores.weighted_variance,
    "went": scores.weighted_entropy,
    "qbc": scores.committee,
    "gpm-var": scores.mixture_variance,
    "gpm-ent": scores.mixture_entropy_bound,
}
TARGETED = ["mvr", "mvr-var", "mvr-var-igs", "mvr-var-misfit"]
ENTROPIES = ("went", "gpm-ent")
# How a score follows labels that are measured in another unit: times unit^power.
POWERS = {
    "wvar": 2,
    "qbc": 2,
    "gpm-var": 2,
    "ivr": 2,
    "mvr": 2,
    "mvr-var": 2,
    "mvr-var-igs": 2.5,
    "igs": 1,
    "bald": 0,
    "random": 0,
}


def close(a, b, bel, name):
    """Equal to rounding: relative to the largest score, and to the cancellation in mu - mean."""
    size = np.abs(b).max()
    if name in ("qbc", "gpm-var"):
        size = max(size, np.abs(bel.mu).max() ** 2 * 1e-3)
    if name == "igs":
        outputs = np.append(np.abs(bel.mu).max(), np.abs(bel.y_labelled)).max()
        size = max(size, outputs * np.abs(bel.X).max())
    np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12 * size)


def shuffled(bel, order):
    """The same belief with its candidates in another order, or some of them."""
    return replace(
        bel,
        mu=frozen(bel.mu[:, order]),
        var=frozen(bel.var[:, order]),
        X=frozen(bel.X[order]),
        reduction=frozen(bel.reduction[:, order]),
        target_belief=bel.target_belief.at(order),
    )


def experts(bel, which):
    """The same belief with its experts in another order, or some of them."""
    parts = ("w", "mu", "var", "noise", "reduction")
    rows = {m: row for row, m in enumerate(bel.target_belief.which.tolist())}
    order = np.arange(len(bel.w))[which].tolist()
    there = [n for n, m in enumerate(order) if m in rows]
    at = [rows[order[n]] for n in there]
    target = bel.target_belief
    target_belief = TargetBelief(np.array(there), target.mu[at], target.cov[at], target.var[at])
    chosen = {name: frozen(getattr(bel, name)[which]) for name in parts}
    return replace(bel, **chosen, target_belief=target_belief)


@pytest.mark.parametrize("name", PAPER)
@few
@given(bel=beliefs())
def test_the_papers_five_are_its_equations(name, bel):
    # [1, eq:w_var, eq:w_entropy, eq:QBC, eq:QBC_mean, eq:var-GPM, eq:mix.ent., eq:z]
    close(ACQUISITIONS[name](bel), LOOPS[name](bel.w, bel.mu, bel.var), bel, name)


@few
@given(bel=beliefs())
def test_the_variance_of_the_mixture_is_that_of_the_experts_and_their_disagreement(bel):
    # [1, claim:sum]
    close(gpm_var(bel), wvar(bel) + qbc(bel), bel, "gpm-var")


@pytest.mark.parametrize("name", ENTROPIES)
def test_certain_experts_give_the_least_finite_entropy(name):
    bel = belief(3, N=5)
    sure = replace(bel, mu=frozen(np.zeros_like(bel.mu)), var=frozen(np.zeros_like(bel.var)))
    least = 0.5 * np.log((2.0 if name == "went" else 4.0) * np.pi * VAR_FLOOR)
    np.testing.assert_allclose(ACQUISITIONS[name](sure), least, rtol=1e-12)


@few
@given(bel=beliefs(scales=(1e-6, 1.0, 1e6), blanks=st.just(False)))
def test_one_expert_alone_is_as_unsure_by_its_entropy_as_by_its_variance(bel):
    # [1, claim:entropy]
    one = replace(bel, w=frozen([1.0]), mu=bel.mu[:1], var=bel.var[:1], noise=bel.noise[:1])
    for score in (wvar(one), went(one)):
        assert one.var[0, score.argmax()] == pytest.approx(one.var.max(), rel=1e-12)


@few
@given(bel=beliefs(scales=(1e-6, 1.0, 1e6), unequal=st.floats(0.0, 6.0), blanks=st.just(False)))
def test_gpm_ent_is_a_lower_bound_of_the_entropy_of_the_mixture(bel):
    # [1, claim:bound]
    entropy = [
        scores.mixture_entropy(bel.w, bel.mu[:, n], np.sqrt(bel.var[:, n]))
        for n in range(bel.mu.shape[1])
    ]
    assert (gpm_ent(bel) <= np.array(entropy) + 1e-9).all()


@pytest.mark.parametrize("spread", [0.0, 6.0, 13.8])
@pytest.mark.parametrize("M", [3, 11])
@pytest.mark.parametrize("share", [1e-3, 0.5, 0.999])
def test_leaving_negligible_experts_out_stays_within_the_stated_bound(M, spread, share):
    """Weights share x NEGLIGIBLE; variances exp(+- 2 spread), at most from 1e-12 to 1e12."""
    worst = 0.0
    for seed in range(30):
        bel = belief(seed, M=M, N=4, blanks=False)
        rng = np.random.default_rng(seed)
        w = bel.w.copy()
        small = rng.permutation(M)[: rng.integers(1, M)]
        w[small] = share * NEGLIGIBLE_WEIGHT
        w /= w.sum()
        var = np.exp(2.0 * spread * rng.uniform(-1.0, 1.0, bel.var.shape))
        bel = replace(bel, w=frozen(w), var=frozen(var))
        truth = scores.mixture_entropy_bound(bel.w, bel.mu, bel.var)
        beta, light = w[small].sum(), w[small]
        logs = 0.5 * np.abs(np.log(4.0 * np.pi * var)).max()
        bound = beta * (np.sqrt(2.0) * M + logs) - (light * np.log(light)).sum()
        error = np.abs(gpm_ent(bel) - truth).max()
        assert error <= bound + 1e-14 * np.abs(truth).max()
        worst = max(worst, error)
    assert worst < 1e-8


@few
@given(bel=beliefs(t=st.integers(1, 6)))
def test_igs_is_the_least_product_of_distances_over_the_labels(bel):
    truth = scores.greedy_distance(bel.X, bel.w @ bel.mu, bel.X_labelled, bel.y_labelled)
    close(igs(bel), truth, bel, "igs")


def test_igs_without_labels_prefers_nobody():
    assert len(set(igs(belief(1, t=0)).tolist())) == 1


@few
@given(bel=beliefs(), other=st.integers(0, 10**6))
def test_random_looks_at_the_key_alone(bel, other):
    unlike = replace(belief(other, N=bel.mu.shape[1]), key=bel.key)
    assert (random(bel) == random(unlike)).all()
    assert ((random(bel) >= 0.0) & (random(bel) < 1.0)).all()
    for key in ((bel.key[0] + 1, bel.key[1]), (bel.key[0], bel.key[1] + 1)):
        assert (random(bel) != random(replace(bel, key=key))).any()


def test_ivr_says_what_it_needs():
    with pytest.raises(ValueError, match="reduction"):
        ivr(replace(belief(0), reduction=None))


def test_mvr_says_what_it_needs():
    with pytest.raises(ValueError, match="target_belief"):
        ACQUISITIONS["mvr-var"](replace(belief(0), target_belief=None))


def test_own_functions_can_ask_for_the_targets():
    def own(bel):
        return bel.target_belief.cov[0, :, 0]

    assert [name for name in EVERY if needs_targets(ACQUISITIONS[name])] == TARGETED
    assert not needs_targets(own)
    own.needs_targets = True
    assert needs_targets(own)


def test_own_functions_can_ask_for_the_reduction():
    def own(bel):
        return bel.reduction[0]

    assert needs_reduction(ivr)
    assert not any(needs_reduction(ACQUISITIONS[name]) for name in EVERY if name != "ivr")
    assert not needs_reduction(own)
    own.needs_reduction = True
    assert needs_reduction(own)


@dataclass(frozen=True)
class OfBelief:
    """Targets of which the weightier experts believe what they do in a belief."""

    bel: Any

    @property
    def means(self):
        return self.bel.target_belief.mu

    @property
    def variances(self):
        return self.bel.target_belief.var

    def posterior(self, experts, which):
        np.testing.assert_array_equal(which, self.bel.target_belief.which)
        return self

    def covariance(self, points):
        return self.bel.target_belief.cov[:, points].copy()


def of_a_pass(bel, functions):
    """Scores (K, N) of a pass over a pool on which the experts believe this."""
    with np.errstate(divide="ignore"):
        log_w = np.log(bel.w)
    ens = Ensemble(None, log_w, FixedMagnitude(np.ones_like(bel.w)), bel.noise)
    everyone, N = np.ones(bel.mu.shape[1], dtype=bool), bel.mu.shape[1]
    asked = ScorePass(ens, functions, bel.X_labelled, bel.y_labelled, bel.key, everyone, range(N))
    q = bel.reduction * (bel.var + bel.noise[:, None])
    given = in_blocks.belief_of(asked, slice(None), bel.mu, bel.var, q, bel.X)
    asked = replace(asked, targets=OfBelief(bel))
    return in_blocks.score(asked, np.arange(len(bel.w)), given, lambda _, at: at).scores


# The suite that every acquisition function passes.


@pytest.mark.parametrize("name", EVERY)
@few
@given(bel=beliefs())
def test_a_score_is_one_finite_number_for_each_candidate(name, bel):
    got = ACQUISITIONS[name](bel)
    assert got.shape == (bel.mu.shape[1],)
    assert got.dtype == np.float64
    assert np.isfinite(got).all()


@pytest.mark.parametrize("name", EVERY)
@few
@given(bel=beliefs())
def test_a_score_is_a_pure_function_of_the_belief(name, bel):
    """Inputs are read-only, so that a function that writes into them fails by itself."""
    before = {part: np.copy(getattr(bel, part)) for part in ("w", "mu", "var", "noise", "X")}
    first = ACQUISITIONS[name](bel).copy()
    assert (ACQUISITIONS[name](bel) == first).all()
    assert all((getattr(bel, part) == kept).all() for part, kept in before.items())


@pytest.mark.parametrize("name", POINTWISE)
@few
@given(bel=beliefs(), seed=st.integers(0, 99))
def test_the_order_of_the_candidates_is_irrelevant(name, bel, seed):
    order = np.random.default_rng(seed).permutation(bel.mu.shape[1])
    close(ACQUISITIONS[name](shuffled(bel, order)), ACQUISITIONS[name](bel)[order], bel, name)


@pytest.mark.parametrize("name", POINTWISE)
@few
@given(bel=beliefs(), cut=st.integers(1, 8))
def test_a_score_of_a_candidate_knows_nothing_of_the_others(name, bel, cut):
    parts = np.split(np.arange(bel.mu.shape[1]), [min(cut, bel.mu.shape[1])])
    blocks = [ACQUISITIONS[name](shuffled(bel, rows)) for rows in parts if len(rows)]
    close(np.concatenate(blocks), ACQUISITIONS[name](bel), bel, name)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_large_pools_are_scored_in_blocks_with_the_same_result(constants, name, size):
    bel = belief(5, N=40)
    constants(in_blocks, SCORE_BLOCK_CANDIDATES=size)
    close(of_a_pass(bel, {name: ACQUISITIONS[name]})[0], ACQUISITIONS[name](bel), bel, name)


@pytest.mark.parametrize("pointwise", [True, False])
def test_a_users_function_is_given_blocks_if_it_says_so(constants, pointwise):
    sizes = []

    def own(bel):
        sizes.append(bel.mu.shape[1])
        return bel.reduction[0] + bel.X[:, 0] + bel.mean

    own.pointwise = pointwise
    constants(in_blocks, SCORE_BLOCK_CANDIDATES=15)
    bel = belief(6, N=40)
    found = of_a_pass(bel, {"own": own, "qbc": qbc})
    assert sizes == ([15, 15, 10] if pointwise else [40])
    close(found[0], bel.reduction[0] + bel.X[:, 0] + bel.w @ bel.mu, bel, "qbc")


def test_which_functions_look_at_one_candidate_at_a_time():
    assert [name for name in EVERY if is_pointwise(ACQUISITIONS[name])] == POINTWISE
    assert not is_pointwise(lambda bel: bel.mean)


@pytest.mark.parametrize("name", EVERY)
@few
@given(bel=beliefs(), seed=st.integers(0, 99))
def test_the_order_of_the_experts_is_irrelevant(name, bel, seed):
    order = np.random.default_rng(seed).permutation(len(bel.w))
    close(ACQUISITIONS[name](experts(bel, order)), ACQUISITIONS[name](bel), bel, name)


@pytest.mark.parametrize("name", EVERY)
@few
@given(bel=beliefs())
def test_experts_of_weight_zero_have_no_say(name, bel):
    close(ACQUISITIONS[name](experts(bel, bel.w > 0.0)), ACQUISITIONS[name](bel), bel, name)


@pytest.mark.parametrize("name", EVERY)
@few
@given(
    bel=beliefs(scales=(1.0,), blanks=st.just(False)), unit=st.sampled_from([1e-50, 1e-3, 7.0, 1e9])
)
def test_scores_follow_the_unit_of_the_labels(name, bel, unit):
    other = replace(
        bel,
        mu=frozen(unit * bel.mu),
        var=frozen(unit**2 * bel.var),
        noise=frozen(unit**2 * bel.noise),
        y_labelled=frozen(unit * bel.y_labelled),
        reduction=frozen(unit**2 * bel.reduction),
        target_belief=TargetBelief(
            bel.target_belief.which,
            unit * bel.target_belief.mu,
            unit**2 * bel.target_belief.cov,
            unit**2 * bel.target_belief.var,
        ),
    )
    was = ACQUISITIONS[name](bel)
    if name in ("ei", "ei-min"):  # logs of amounts, of 1 without a label
        expected = was + np.log(unit) * bool(len(bel.y_labelled))
    else:
        t = len(bel.y_labelled)
        power = POWERS.get(name, 2.0 + misfit_power(unexplained_share(bel), t))
        expected = was + np.log(unit) if name in ENTROPIES else was * unit**power
    if name == "mvr-var-misfit" and not len(bel.y_labelled):
        expected = was * unit**2
    if name.endswith("igs") and not len(bel.y_labelled):
        expected = was * unit ** (POWERS[name] - POWERS["igs"] * (0.5 if name != "igs" else 1.0))
    close(ACQUISITIONS[name](other), expected, other, name)


def test_went_is_a_sum_over_the_experts_that_counts_certainty_once():
    """One certain expert of weight 0.25 lowers the score by 0.25 of what certainty costs."""
    bel = belief(9, M=3, N=1, blanks=False)
    w, var = frozen([0.25, 0.5, 0.25]), np.array(bel.var)
    var[0] = 0.0
    sure = replace(bel, w=w, var=frozen(var))
    drop = 0.125 * (np.log(VAR_FLOOR) - np.log(bel.var[0]))
    np.testing.assert_allclose(went(sure) - went(replace(bel, w=w)), drop, rtol=1e-12)


@pytest.mark.parametrize("t", [3, 20, 28, 35, 60])
def test_misfit_is_mvr_var_where_the_model_fits_and_mvr_var_igs_where_it_does_not(t):
    bel = belief(7, t=t)
    target = bel.target_belief
    agreed = replace(target, mu=target.mu[:1] + 0.0 * target.mu, var=0.0 * target.var)
    fits = replace(bel, target_belief=agreed)
    unsure = replace(bel, target_belief=replace(target, mu=0.0 * target.mu, var=1.0 + target.var))
    assert unexplained_share(fits) < 1e-12
    assert unexplained_share(unsure) == 1.0
    close(ACQUISITIONS["mvr-var-misfit"](fits), mvr_var(fits), fits, "mvr-var")
    part = np.clip((t - 20) / 15, 0.0, 1.0)
    expected = mvr_var(unsure) * igs(unsure) ** (0.5 * part)
    close(ACQUISITIONS["mvr-var-misfit"](unsure), expected, unsure, "mvr-var")


def test_the_power_of_igs_rises_with_the_unexplained_share():
    powers = [misfit_power(share, 100) for share in np.linspace(0.0, 1.0, 11).tolist()]
    np.testing.assert_allclose(powers[:2], 0.0, atol=1e-12)
    np.testing.assert_allclose(np.diff(powers[1:5]), 0.5 / 3)
    assert set(powers[4:]) == {0.5}
    assert misfit_power(0.9, 20) == 0.0
