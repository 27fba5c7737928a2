"""The model: labels in the user's units to predictions in the user's units.

Read in this order:

    checks       parameters, checked at the border
    units        from the user's units to the core's, and data checked on the way
    warping      whether labels are bent
    settling     from parameters and labels to experts before the first label
    fold         the fold of the labels, and when experts are settled anew
    prediction   what a fold believes of points
    model        `PeerModel`: fold and scaling, a value that predicts
    regressor    the same as an estimator of scikit-learn's kind; encoder: inputs that stay secret
    archive      the one safe file format; model_file: a model in it
    blas         one thread for small matrices

Only `regressor` and `encoder` import scikit-learn.
"""
