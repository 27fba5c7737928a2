"""The model of the paper, and nothing else: every equation of [1] is computed in this package.

    kernels               stationary kernels and their spectral densities
    random_features       random Fourier features whose inner product is about the kernel
    fixed_magnitude       the innovation of a label, and its Gaussian density with a fixed scale
    feature_gp            Bayesian linear regression on features: the recursive posterior
    exact_gp              exact GP experts
    marginal_likelihood   magnitude, noise and lengthscale by evidence
    ensemble              Bayes weights over the experts, and their mixture
    acquisition           wVar, wEnt, QBC, GPM-Var, GPM-Ent
    adaptive_acquisition  Algorithm 2: pseudo labels, losses, weights of the acquisition functions

It imports nothing of `weal.core.extensions`.
"""
