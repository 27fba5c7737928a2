"""Points and labels that the golden files were made of."""

import numpy as np

END = ".weal-0.1"


def smooth(X):
    """A function of the rows of X (N, d)."""
    X = np.atleast_2d(X)
    return np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.4 * X[:, -1] * np.cos(X[:, 0])


def measured(X, seed=1, sd=0.1):
    """The same with noise, rounded as people write numbers down."""
    return np.round(smooth(X) + sd * np.random.default_rng(seed).normal(size=len(X)), 4)


def points(seed, n, d):
    return np.round(np.random.default_rng(seed).uniform(-1.5, 1.5, (n, d)), 4)
