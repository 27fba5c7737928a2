"""Extensions of the model beyond the paper.

conjugate_magnitude   the scale of an expert, integrated out
integrated_evidence   evidence of labels with the scale integrated out
anova_kernel          a kernel of main effects and interactions
trend_kernel          a kernel of a linear trend and deviations from it
inducing_gp           experts on inducing points, chosen by pivoted Cholesky
embeddings            inputs in the form that a kind of expert works on
label_noise           noise that is stated in label units
quasi_newton          minimisation from the Hessian of a similar problem
relevant_inputs       subsets of the inputs that matter, by evidence
level_lengths         a lengthscale for each level of a category
noise_regions         boxes in which labels scatter more or less
noise_field           noise whose variance depends on the inputs
varying_noise         test for varying noise, and the field of residuals
noise_hypotheses      experts with even and with varying noise in one mixture
ard                   one lengthscale for each input, fitted by evidence, with priors
posterior_points      experts that represent a peak of the evidence
model_selection       the experts with non-negligible posterior probability
label_warp            labels with long tails, warped
mixture_quantiles     quantiles of the mixture at many points
outliers              labels that may be wrong
contradiction_evidence  evidence that a set of labels is in error
variance_reduction    expected variance reduction of the mixture
reference_variance    variance reduction at reference points
batch_reduction       variance that a greedy batch removes, in closed form
more_acquisitions     further acquisition functions for a small error everywhere
score_combination     scores of several models as one, and of runs that may fail
level_probability     the probability of a row to be above a level, and the level of k rows
goal_acquisitions     acquisition functions for the highest rows, and for levels
feasibility           expected improvement under constraints
hypervolume           Pareto rows, and expected hypervolume improvement of two objectives
acquisition_registry  acquisition functions by name
expert_pruning        experts that can be dropped from pool scoring with a bounded error
leave_one_out         every label predicted from all the others
pass_fail             pass/fail results as labels +1 and -1, their probability and information
class_scores          log loss, accuracy and calibration of predicted classes
"""
