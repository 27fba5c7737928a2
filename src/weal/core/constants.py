"""Tuned constants of the model, each with the measurement or the judgement behind it.

Tuned means: another value would be as right, and this one was chosen by how well it did, or by
judgement. What follows from double precision or from a definition stands where it is used.
"""

INTERVAL_LEVEL = 0.9  # of the intervals that are shown

# The prior of an integrated magnitude (`conjugate_magnitude`): worth 2 A0 = 1 label, of variance B0
# / A0 = 1. With 1.5, worth 3 labels, long lengthscales, whose magnitudes are large, were penalised:
# log10 NMSE was 0.02 to 0.04 higher at noise of 10 to 30 %, 0.02 on the ten tasks.
MAGNITUDE_PRIOR_A, MAGNITUDE_PRIOR_B = 0.5, 0.5

# Labels that the fit of kernel parameters has spent (`conjugate_magnitude`): labels to come have
# 1 + FITTED_FREEDOM / (labels + 1) times the variance. Without it 90 % intervals held 86, 85
# and 87 % at 15, 20 and 30 labels of 23 tables; five times as many experts 87, 86 and 87 %.
# With all classes of models 5 held 89, 87 and 89 %, and 7 about 90, 88 and 89 %.
# An expert whose noise has the share FITTED_FREEDOM_NOISE of the variance of labels spends half of
# it. One without noise spends the share FEW_LABELS / labels: real labels rarely have none, though
# few of them may look so; from 30 labels on posterior points show what those without noise leave
# open, and 7 for all cost the five functions of the benchmark 0.03 to 0.09 in log density.
FITTED_FREEDOM, FITTED_FREEDOM_NOISE = 7.0, 0.02
FEW_LABELS = 8.0

# The grid of experts (`model_selection`). A smooth family and a rougher one, at lengthscales in
# quarters of a decade around sqrt(d), which is about how far apart standardised points are.
GRID_FAMILIES = ("rbf", "matern52")
GRID_LENGTHS = tuple(10.0 ** (c / 4) for c in range(-5, 6))  # times sqrt(d)
# Down to 1e-10, that functions without noise are predicted as surely as they can be.
NOISE_RATIO_GRID = (1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1e-1, 1.0)
# Variance of the unknown constant, in units of the magnitude: the first few labels may be three sds
# off and cost next to nothing.
OFFSET_VARIANCE = 10.0

# The classes with one lengthscale for each input (`model_selection`). That of anova has so much of
# what is left with every input after the first, 0.48 with five: functions of many inputs in which
# all interact are rare. Together they misled in 2.3 % of 300 isotropic functions of two inputs, 2.7
# % of 150 of five; FITTED_SHARE = 0.5 and 0.3 for anova in 12 and 6 %
# (tests/core/test_model_selection.py measures it). At noise of 30 % log10 NMSE was lower by 0.01
# with 0.5 for anova than with 0.3.
FITTED_SHARE = 0.15
ANOVA_SHARE = 0.15
# Share of the class with a linear trend. On 23 tables with 15, 20 and 30 labels, three seeds each,
# log10 NMSE was lower by 0.019, 0.018 and 0.011 with 0.2, by 0.025, 0.024 and 0.014 with 0.4.
TREND_SHARE = 0.3
POSTERIOR_POINT_PAIRS = (
    3  # pairs of experts that represent a peak (`weal.core.extensions.posterior_points`)
)
# The class with a lengthscale for each level of a category (`level_lengths`). On four tables and a
# function in which one level is unlike the others, 75 labels, four seeds, the mean log density was
# higher by 0.01 (perovskites), 0.02 (solder), 0 (two) and 0.25 (the function), log10 NMSE lower by
# 0.004, 0.01 and 0 on the tables, and higher by 0.06 on the function.
LEVELS_SHARE = 0.1
MIN_LABELS_FOR_ARD = 4  # labels from which there are such
# Selected experts: the least posterior, and the largest number.
MIN_MODEL_POSTERIOR, MAX_EXPERTS = 1e-4, 12

# The fit of lengthscales (`weal.core.extensions.ard`, `ard`). Level of the log lengthscales, sd of
# the level and of each around it: a factor of 2.7 either way.
LEVEL_LENGTH = 2.7  # times sqrt(d)
ANOVA_LENGTH = 5.4  # of anova, whose correlations see one input each
LEVEL_SPREAD, LENGTH_SPREAD = 1.0, 1.0
STRENGTH_SPREAD = 2.0  # of log s
SOUGHT_LENGTHS = (0.02, 200.0)  # the upper one times sqrt(d)
SOUGHT_STRENGTHS = (9e-4, 1.1e3)  # s of anova: additive and product, to the third digit
SOUGHT_RATIOS = (1e-11, 10.0)  # of the noise, down to what exact experts bear
# Prior of the noise ratio, of the grid and of what is fitted: so much of it in a hill around a
# noise sd of a fifth or less (magnitudes of smooth functions are around 3), with that sd of its
# log. While the grid was even, what is fitted lost where there is no noise: NPLL of Higdon with 15
# labels was higher by 0.2. With 0.8 around 0.0067 noise was found as well, Branin predicted worse.
NOISE_HILL, NOISE_RATIO, NOISE_SPREAD = 0.65, 0.012, 2.0
# The trend family (`trend_kernel`): how much longer the lengthscales of what stands for the line
# are, and the strength tau of the trend, as its prior has it and as it is sought; beyond these ends
# either part is all. With an RBF for the deviations the gain at 30 labels was 0.003 instead of
# 0.011; with one lengthscale for all inputs half of it at 15 and 20.
TREND_REACH = 10.0
TREND_STRENGTH, SOUGHT_TREND_STRENGTHS = 1.0, (1e-2, 1e2)
ANOVA_START, ANOVA_RATIO = 2.0, 1e-2  # lengthscale and noise ratio that its fit starts from
FIT_ITERATIONS = 60  # of L-BFGS, at most
FIT_ROUNDS = 2  # of a fit where noise is stated, whose unit follows from where the peak is

# The search for the few of many inputs that matter (`relevant_inputs`), from MANY_INPUTS on:
# found on 18 inputs of which 3 matter. Lengthscales of inputs that do and do not (the latter times
# sqrt d), the noise ratio, log evidence that an input has to add, and labels that are looked at.
MANY_INPUTS = 6
SHORT_LENGTH, LONG_LENGTH = 1.5, 5.0
FORWARD_RATIO, FORWARD_GAIN, FORWARD_LABELS = 1e-2, 1.0, 200

# Subsets of relevant inputs (`relevant_inputs`): lengthscale of inputs that do not matter, and from
# when a status says that a column could be left out of the sheet.
# At 1e6 the others shift correlations by 1e-11, as much as the least noise, and the log evidence of
# 100 labels without noise by 5.
IRRELEVANT = 1e9
MAX_IRRELEVANT_PROBABILITY, MIN_LABELS_TO_LEAVE_OUT = 0.05, 20

# Stated noise (`label_noise`): labels that tell the magnitude it is measured by, and rounds of the
# fixed point, of which 10 are mostly enough. 100 labels tell the magnitude to 15 % or so, at a
# tenth of the cost of 300 (0.2 s instead of 1.8 s for the whole grid).
UNIT_LABELS, UNIT_ROUNDS = 100, 30

# Labels that may be wrong (`decision`). Prior probability of a label; width of where wrong ones
# come from and how far gross ones lie, in robust sds; share of labels that may be wrong; labels
# from which any may.
(
    PRIOR_OUTLIER_PROBABILITY,
    OUTLIER_PRIOR_WIDTH,
    GROSS_ERROR_SDS,
    MAX_OUTLIER_SHARE,
    MIN_LABELS_FOR_OUTLIERS,
) = 0.01, 5.0, 6.0, 0.2, 6
# Powers of ten by which the decimal point of a label slips, and how likely one has
# (`slips_and_swaps`); nats by which the predictions of the other labels must contradict zero. At 0
# nats sharp peaks of 8 to 15 labels were treated as slips (3.1 and 1.8 % of labels, at 5 nats 0.9
# and 0.4 %, as without slips at all): there it favoured or contradicted zero by 8 nats at most,
# where labels had slipped by 10 to 22.
DECIMAL_SLIP_POWERS, PRIOR_SLIPPED, MIN_NATS_AGAINST_ZERO = (-3, -2, -1, 1, 2, 3), 0.01, 5.0
# Penalty in nats of an excluded label, and of one beyond all others by more than their range:
# without it a tenth of clean fits raised a false alarm. What it is charged that labels are skewed.
OUTLIER_PENALTY_NATS, FAR_OUTLIER_PENALTY_NATS, SKEWED_OUTLIER_PENALTY_NATS = 6.0, 2.0, 4.0
# Log odds from which a label beyond all others is set aside: a probability of a third. Where 8 to
# 15 labels leave it open, a wrong one that is believed costs 0.57 of log10 NMSE, a right one that
# is set aside 0.12 (0.02 log-normal labels, 0.3 sharp peaks; a lone label on a peak up to 0.9, so
# that -1.4 cost clean functions 0.018 in a block of fits where -0.7 cost 0.008, and 0 nothing).
EXTREME_LABEL_LOG_ODDS = -0.7
SEARCH_LOG_ODDS = (
    -2.0
)  # log odds, no charge paid, from which a label is suspicious and a search begins
# Nats by which labels must be more likely with two of them exchanged (`slips_and_swaps`), beside
# the log of how many others either came with: of a pair that is believed, and of one that is
# doubted already.
SWAP_PENALTY_NATS, SWAP_PENALTY_OF_OUTLIERS_NATS = 3.0, 0.0
MAX_SDS_FOR_SCALING = 10.0  # robust sds beyond which a label has no say in the scaling

# Variance of warped labels for which their mean is raised above the median, at most
# (`label_warp`). On 13 public tables whose labels were warped, with 80 of them, log10 NMSE was 0.03
# below that of labels as they are with 4, 0.07 with 0.25 and 0.09 with 0, which is the median;
# 0.035 with 0.25 on 24 tables that had no say.
MAX_WARPED_MEAN_VARIANCE = 0.25

# What a label would teach about the mixture (`variance_reduction`). Targets that stand for the
# pool.
N_TARGET_POINTS = 128
# Experts that take part have this weight or more, and are the weightiest if there are many: the
# cost goes with their square, and from the ninth on they rarely have more than a hundredth each.
MIN_EXPERT_WEIGHT, MAX_EXPERTS_IN_REDUCTION = 1e-2, 8
# Candidates that it is computed for, half of them by variance and half by hash: with 256 of 500 a
# query of the ten tasks takes 13 % more processor time than with the six functions weighted before.
SHORTLIST_CANDIDATES = 256
# The default score (`more_acquisitions.mvr_var_misfit`): unexplained shares up to which `igs` has
# no part and from which it has its whole one, and numbers of labels likewise. Mean of log10 NMSE
# over 45 queries, less that with the whole part always, 7 to 11 realisations: Gramacy -0.19 (0.04),
# Friedman -0.13 (0.02), waves -0.01 (0.03), Robot 3D +0.02 (0.01), 4D +0.01 (0.02); without any
# part -0.19, -0.12, -0.03, +0.02, +0.01. With shares alone, or half of the part before there are
# labels enough, waves lost 0.05 and Friedman's function gained less.
MISFIT_SHARES, MISFIT_LABELS = (0.1, 0.4), (20, 35)
