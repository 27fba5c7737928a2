"""Golden files of regressors, one for each kind of model, and of an encoder."""

import numpy as np

import weal
from golden import reading
from golden.made_up import END, measured, points
from golden.renamed import Renamed


def default_model():
    X = points(10, 25, 3)
    X[4, 2] = 1243.0  # a heavy tail: the column is bent
    X[:, 2] += 3.0
    y = measured(np.clip(X, -2.0, 2.0))
    noise = np.where(np.arange(25) % 3 == 0, 0.2, 0.0)
    return weal.EnsembleGPRegressor(random_state=7).fit(X, y, sample_noise=noise), 3


def paper_model():
    X = points(11, 28, 2)
    model = weal.EnsembleGPRegressor.paper(n_frequencies=10, random_state=3)
    return model.fit(X, measured(X)), 2


def given_noise_model():
    """Given kernels, of every family, with a magnitude that is fitted and noises that are given."""
    X = points(12, 22, 2)
    kernels = [
        weal.Kernel("rbf", 0.7),
        weal.Kernel("matern12", 3.0),
        weal.Kernel("matern32", (0.5, 2.0)),
        weal.Kernel("matern52", 1.0, offset=0.5),
        weal.Kernel("rq", 1.0, alpha=2.0),
    ]
    model = weal.EnsembleGPRegressor(
        kernels,
        magnitude=None,
        noise=[0.01, 0.0225, 0.04, 0.0625, 0.09],
        noise_bounds=(0.0004, 25.0),
        prior_weights=[0.3, 0.1, 0.2, 0.2, 0.2],
        temper=0.8,
        random_state=1,
    )
    return model.fit(X, measured(X)), 2


def bounded_noise_model():
    """Noise that is fitted, and found at the lower of its bounds."""
    X = points(13, 20, 2)
    kernels = [weal.Kernel("rbf", 1.0), weal.Kernel("matern52", 2.0)]
    model = weal.EnsembleGPRegressor(
        kernels, magnitude=None, noise_bounds=(0.09, 0.16), random_state=1
    )
    return model.fit(X, measured(X, sd=0.01)), 2


def held_model():
    """Magnitude, one noise for all and scaling given; a lengthscale that is fitted."""
    X = points(14, 20, 2)
    scaling = weal.Scaling(np.array([0.1, -0.2]), np.array([0.8, 1.1]), 0.3, 1.7)
    model = weal.EnsembleGPRegressor(
        [weal.Kernel("rbf", 1.0), weal.Kernel("matern32", 1.5)],
        magnitude=2.0,
        noise=0.0064,
        fit_length_scale=True,
        condition=False,
        scaling=scaling,
        random_state=1,
    )
    return model.fit(X, measured(X)), 2


def warped_model():
    """Labels with a long tail, of a frame whose columns have names."""
    import pandas

    X = points(15, 24, 2)
    model = weal.EnsembleGPRegressor(warp="asinh", random_state=2)
    frame = pandas.DataFrame(X, columns=["heat", "time"])
    return model.fit(frame, np.round(np.exp(1.5 * measured(X, sd=0.05)), 4)), 2


def features_model():
    X = points(16, 26, 2)
    model = weal.EnsembleGPRegressor(
        approximation="features", n_frequencies=12, orthogonal=True, random_state=5
    )
    model.fit(X[:20], measured(X)[:20])
    return model.partial_fit(X[20:], measured(X)[20:], sample_noise=0.05), 2


def encoded_model(folder):
    X = points(17, 24, 2)
    encoder = weal.FeatureEncoder(n_frequencies=6, random_state=11).fit(points(18, 60, 2))
    encoder.save(folder / f"encoder{END}")
    model = weal.EnsembleGPRegressor(approximation="encoded", n_frequencies=6)
    return model.fit(encoder.transform(X), measured(X)), 2


MODELS = {
    "model-default": default_model,
    "model-paper": paper_model,
    "model-given-noise": given_noise_model,
    "model-bounded-noise": bounded_noise_model,
    "model-held": held_model,
    "model-warped": warped_model,
    "model-features": features_model,
}


def make_models(folder):
    for name, fitted in MODELS.items():
        model, d = fitted()
        model.save(folder / f"{name}{END}")
        yield f"{name}{END}", model_case(folder / f"{name}{END}", d)
    model, d = encoded_model(folder)
    model.save(folder / f"model-encoded{END}")
    yield f"model-encoded{END}", model_case(folder / f"model-encoded{END}", d, f"encoder{END}")


def model_case(path, d, encoder_file=None):
    """What is asked of a model, and what 0.1.0 answered."""
    at, more, anew = points(90, 5, d), points(91, 7, d), points(92, 12, d)
    case = {
        "points": at.tolist(),
        "labels": measured(at, 5).tolist(),
        "more": more.tolist(),
        "more labels": measured(more, 6).tolist(),
        "anew": anew.tolist(),
        "labels anew": measured(anew, 7).tolist(),
    }
    encoder = None
    if encoder_file:
        encoder = weal.FeatureEncoder.load(path.with_name(encoder_file))
        case["encoder"] = encoder_file
        case["encoded"] = encoder.transform(at[:2]).tolist()
    old = weal.EnsembleGPRegressor.load(path)
    if hasattr(old, "feature_names_in_"):
        case["columns"] = old.feature_names_in_.tolist()
    model = Renamed(old)
    case["loaded"] = reading.estimator_says(model, case, encoder)
    old.partial_fit(reading.inputs(case, "more", encoder), case["more labels"])
    case["after more"] = reading.estimator_says(model, case, encoder)
    old.fit(reading.inputs(case, "anew", encoder), case["labels anew"])
    case["fitted anew"] = reading.estimator_says(model, case, encoder)
    return case
