"""The paper's equations written the obvious slow way: what the package must agree with.

decimals   arithmetic with 50 digits, so that the truth has no rounding of its own
kernels    correlations by their textbook definition, one pair of points at a time
gaussian   batch posteriors, evidence and the mixture, from their definitions
cases      unequal experts and read-only data to try things on
"""
