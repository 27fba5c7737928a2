"""The model: training on labels, and predictions in the user's units.

parameters         parameters of the estimator, and the kernels that follow from them
checks             checks of arguments
scaled_data        data in scaled units
expert_kind        exact, inducing points or features, by the number of labels
expert_selection   experts, outliers and warp for a set of labels
noise_selection    varying noise in the selection of experts
training           the ensemble after labels, and when experts are selected again
model              `Model`: a trained ensemble that predicts
joint_posterior    covariance of f at several points, and functions drawn from it
class_model        probabilities of pass/fail results, classes and grades
blas               one BLAS thread for small matrices
"""
