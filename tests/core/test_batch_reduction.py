"""The variance that a greedy batch removes, against a posterior from scratch at every step."""

import numpy as np
import pytest

from weal.core.extensions.batch_reduction import greedy_reduction


def posterior(K, chosen, noise):
    """The covariance of all points after labels of the chosen ones, by the textbook formula."""
    if not chosen:
        return K
    A = K[np.ix_(chosen, chosen)] + noise * np.eye(len(chosen))
    return K - K[:, chosen] @ np.linalg.solve(A, K[chosen])


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e8])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_batch_is_greedy_and_its_gains_add_up(seed, scale):
    rng = np.random.default_rng(seed)
    N, R, k = 9, 7, 5
    X = rng.uniform(size=(N + R, 3))
    w, noise = np.array([0.6, 0.3, 0.1]), np.array([1e-6, 0.05, 0.4]) * scale
    lengths, sizes = [0.3, 0.8, 2.0], np.array([2.0, 1.0, 0.2]) * scale
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    K = np.stack([s * np.exp(-D / (2 * one**2)) for one, s in zip(lengths, sizes, strict=True)])
    at, gains = greedy_reduction(w, K[:, :N, :N], K[:, :N, N:], noise, k)

    def variance(chosen):
        each = [posterior(*one)[range(N, N + R), range(N, N + R)].mean()
                for one in zip(K, [chosen] * 3, noise, strict=True)]  # fmt: skip
        return w @ np.array(each)

    chosen = []
    for n in range(k):
        left = {i: variance([*chosen, i]) for i in range(N) if i not in chosen}
        best = min(left, key=left.get)
        assert at[n] == best
        assert gains[n] == pytest.approx(variance(chosen) - left[best], rel=1e-5)
        chosen.append(best)
    assert len(set(at.tolist())) == k
    assert gains.sum() == pytest.approx(variance([]) - variance(chosen), rel=1e-6)


def test_arguments_stay_as_they_are():
    cov, points = np.eye(3)[None], np.ones((1, 3, 2))
    cov.flags.writeable = points.flags.writeable = False
    greedy_reduction(np.ones(1), cov, points, np.ones(1), 3)
