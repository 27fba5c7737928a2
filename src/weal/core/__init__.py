"""The model, as pure functions on frozen dataclasses of arrays; numpy and scipy only.

    arrays          numpy arrays with their shapes; arrays that grow
    constants       tuned constants, and where they come from
    scaling         the user's units to ours, and back
    distances       squared distances, space-filling starts
    hashing         hashes of ids and rows
    tie_breaking    the best of many scores, ties by key
    one_hot         a 0/1 column for each level of a category
    packed_factors  Cholesky factors that grow by a row
    protocols       what every kind of expert, magnitude and embedding can do
    paper           the model of the paper
    extensions      everything beyond it

Read in the order of `paper` and `extensions`, the docstrings of the modules are the manual.

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

# Register their families, so that `Kernel("anova")` and `Kernel("trend")` work everywhere.
from weal.core.extensions import anova_kernel as anova_kernel
from weal.core.extensions import trend_kernel as trend_kernel
