"""The model, as pure functions on frozen dataclasses of arrays; numpy and scipy only.

Read in this order, the docstrings of the modules are the manual:

    arrays        what an array is here
    scaling       the user's units to ours, and back
    bend          labels with a long tail, bent and unbent
    kernels       correlations k(x, x') and the spectral densities behind them
    anova         the one that is no function of a distance: main effects and interactions
    features      phi(x): random features whose inner product is about k
    tuned         constants that were tuned, and where they come from
    magnitude     the magnitude of an expert: held, or integrated out
    likelihood    what a label tells an expert
    experts       M Gaussian processes conditioned on labels; the kind on random features
    exact         the exact kind
    pivots        points that stand for all
    inducing      the kind that knows f through such points
    embedding     inputs in the form that a kind of expert works on
    ensemble      Bayes weights over the experts; their mixture
    mixture_quantiles   quantiles of that mixture for many points, from a table
    evidence      marginal likelihood: magnitude, noise and lengthscale
    stated_noise  noise that is known in label units, as a ratio to the magnitude
    shapes        what is fitted of a kernel, and how likely it is beforehand
    wide_hessian  the curvature of such a fit with many inputs, all columns at once
    relevance     one lengthscale for each input, fitted to the labels
    draws         a peak as several experts, for what labels leave open
    lineup        which experts play, out of all that could
    refining      the same for many labels
    mixture_reduction   what a label would teach about the mixture, its weights included
    slab, outlier_search   labels that may be wrong, doubted one by one
    slips         which labels have their decimal point elsewhere
    swaps         which two labels were exchanged
    outliers      which labels are wrong, out of all that could be
    outlier_odds  the same of labels that were not searched
    contradictions, partitions   sets of labels that the others contradict: stuck, shifted, wrong
    acquisition   how much a label of each candidate would be worth
    held          which experts a pool can do without, and no score is changed
    reference     the same with regard to reference points, kept up to date
    targets       points that stand for the pool, and how candidates covary with them
    choice        ties, and a start that fills space
    leave_one_out every label predicted from all the others
    validation    how good the ensemble would be after a pseudo label
    mixing        weights over acquisition functions: Algorithm 2

One letter, one quantity, everywhere:

    M  experts                          w, log_w   weights of the experts        (M,)
    D  frequencies, F = 2 D features    zeta       frequencies                   (M, D, d)
    d  inputs                           phi, Phi   features of a point, points   (M, F), (M, N, F)
    N  points                           theta      posterior mean of the weights (M, F)
    t  labels seen                      Sigma      their posterior covariance    (M, F, F)
                                        mu, v      mean and variance of f(x)     (M, N)
    sig2  magnitude of an expert        lam        its noise variance / sig2     (M,)

Units: means are in scaled-label units (`scaling`); Sigma, v and lam are in units of the
magnitude, so that a prior variance is 1 and the noise of a label is sig2 lam.

Equations are cited by their label in the source of
[1] Polyzos, Lu, Giannakis: Weighted Ensembles for Active Learning with Adaptivity, 2022,
    arXiv 2206.05009; for example `# [1, eq:w_update]`.
"""

from weal.core import anova as anova  # registers its family: `Kernel("anova")` works everywhere
