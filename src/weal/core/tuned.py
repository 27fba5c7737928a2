"""Constants that were tuned, together, with where each comes from; one name, one value.

Tuned means: another value would be as right, and this one was chosen by how well it did, or by
judgement. What follows from double precision or from a definition stands where it is used.
"""

# The prior of an integrated magnitude (`magnitude`): worth 2 A0 = 3 labels, of variance 1. A0 > 1
# so that it has a mean, and small so that five labels can overrule it.
A0, B0 = 1.5, 0.5

# The grid of experts (`lineup`). A smooth family and a rougher one, at lengthscales in quarters of
# a decade around sqrt(d), which is about how far apart standardised points are.
GRID_FAMILIES = ("rbf", "matern52")
GRID_LENGTHS = tuple(10.0 ** (c / 4) for c in range(-5, 6))  # times sqrt(d)
# Down to 1e-10, that functions without noise are predicted as surely as they can be.
RATIOS = (1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1e-1, 1.0)
# Variance of the unknown constant, in units of the magnitude: the first few labels may be three sds
# off and cost next to nothing.
OFFSET = 10.0

# The class with one lengthscale for each input (`lineup`). Its mass: with 0.5 it misled in 6.5 % of
# isotropic functions of two inputs, with 0.2 in 2.4 % (tests/core/test_lineup.py measures it).
FITTED_SHARE = 0.2
# Its overall scale, which few labels leave open, is entered a little shorter and longer, too.
MULTIPLES = (0.6, 1.0, 1.7)
FEWEST_FITTED = 4  # labels from which there are such
# Who plays: at most so many, with at least so much; what the others had is given to them.
LEAST_POSTERIOR, MOST_EXPERTS = 1e-4, 12

# The fit of lengthscales (`relevance`). Prior sd of log l_i, a factor of 4.5 either way, so that
# ten labels cannot switch an input off by themselves.
LENGTH_SPREAD = 1.5
SOUGHT_LENGTHS = (0.02, 200.0)  # the upper one times sqrt(d)
SOUGHT_RATIOS = (1e-11, 10.0)  # of the noise, down to what exact experts bear
FIT_ITERATIONS = 60  # of L-BFGS, at most
FIT_ROUNDS = 2  # of a fit where noise is stated, whose unit follows from where the peak is

# The search for the few of many inputs that matter (`relevance.forward`), from MANY_INPUTS on:
# found on 18 inputs of which 3 matter. Lengthscales of those that do and do not (the latter times
# sqrt d), the noise ratio, log evidence that an input has to add, and labels that are looked at.
MANY_INPUTS = 6
SHORT_LENGTH, LONG_LENGTH = 1.5, 5.0
FORWARD_RATIO, FORWARD_GAIN, FORWARD_LABELS = 1e-2, 1.0, 200

# Stated noise (`stated_noise`): labels that tell the magnitude it is measured by, and rounds of the
# fixed point, of which 10 are mostly enough. 100 labels tell the magnitude to 15 % or so, at a
# tenth of the cost of 300 (0.2 s instead of 1.8 s for the whole grid).
UNIT_LABELS, UNIT_ROUNDS = 100, 30

# What a label would teach about the mixture (`mixture_reduction`). Targets that stand for the pool.
TARGETS = 128
# Experts that take part have this weight or more, and are the weightiest if there are many: the
# cost goes with their square, and from the ninth on they seldom have more than a hundredth each.
LEAST_PART, MOST_PARTS = 1e-2, 8
# Candidates that it is computed for, half of them by variance and half by hash: with 256 of 500 a
# query of the ten tasks takes 13 % more processor time than with the six functions weighed before.
SHORTLIST = 256
