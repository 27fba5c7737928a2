"""Golden files of regressors of 0.2, one for each kind of expert, and of an encoder."""

import numpy as np

import weal
from golden_0_2 import reading
from golden_0_2.rows import additive, measure, points


def default_model():
    """Noise stated for some labels, one label that is wrong, one that is confirmed."""
    X = points(10, 22, 3)
    X[4, 2] = 812.0  # a heavy tail: the column is transformed
    y = measure(np.clip(X, -2.0, 2.0))
    y[7] = 31.4
    noise = np.where(np.arange(22) % 3 == 0, 0.2, 0.0)
    trusted = np.arange(22) == 11
    return weal.EnsembleGPRegressor(random_state=7).fit(X, y, sample_noise=noise, sure=trusted), 3


def paper_model():
    """Random-feature experts with a fixed magnitude; labels told one after another."""
    X = points(11, 20, 2)
    model = weal.EnsembleGPRegressor.paper(n_frequencies=6, random_state=3)
    model.fit(X[:14], measure(X)[:14])
    return model.partial_fit(X[14:], measure(X)[14:]), 2


def ard_model():
    """Experts chosen by evidence among isotropic, ARD and ANOVA ones, for an additive function."""
    X = points(12, 30, 5)
    model = weal.EnsembleGPRegressor(random_state=1)
    return model.fit(X, measure(X, sd=0.02, function=additive)), 5


def kernels_model():
    """Kernels of every family, given; noise given for each, a prior, tempered weights."""
    X = points(13, 16, 2)
    kernels = [
        weal.Kernel("rbf", 0.7),
        weal.Kernel("matern12", 3.0),
        weal.Kernel("matern32", (0.5, 2.0)),
        weal.Kernel("matern52", 1.0, offset=0.5),
        weal.Kernel("rq", 1.0, alpha=2.0),
        weal.Kernel("anova", (0.8, 1.6)),
    ]
    model = weal.EnsembleGPRegressor(
        kernels,
        magnitude=None,
        noise=[0.1, 0.15, 0.2, 0.25, 0.3, 0.1],
        noise_bounds=(0.02, 5.0),
        prior_weights=[0.3, 0.1, 0.2, 0.1, 0.1, 0.2],
        temper=0.8,
        random_state=1,
    )
    return model.fit(X, measure(X)), 2


def inducing_model():
    """Experts with inducing points."""
    X = points(14, 40, 2)
    kernels = [weal.Kernel("rbf", 1.0), weal.Kernel("matern52", 2.0)]
    model = weal.EnsembleGPRegressor(
        kernels, approximation="inducing", noise_ratios=(1e-2, 1e-1), random_state=1
    )
    return model.fit(X, measure(X)), 2


def fitted_length_model():
    """Magnitude, noise and scaling given; a lengthscale that is fitted; no outliers."""
    X = points(15, 14, 2)
    model = weal.EnsembleGPRegressor(
        [weal.Kernel("rbf", 1.0), weal.Kernel("matern32", 1.5)],
        magnitude=2.0,
        noise=0.08,
        fit_length_scale=True,
        condition=False,
        outliers=False,
        scaling=weal.Scaling(np.array([0.1, -0.2]), np.array([0.8, 1.1]), 0.3, 1.7),
        random_state=1,
    )
    return model.fit(X, measure(X)), 2


def warped_model():
    """Labels with a long tail, warped because the evidence says so; a frame with named columns."""
    import pandas

    X = points(16, 34, 2)
    frame = pandas.DataFrame(X, columns=["heat", "time"])
    y = np.round(np.exp(1.5 * measure(X, sd=0.05)), 4)
    return weal.EnsembleGPRegressor(random_state=2).fit(frame, y), 2


def features_model():
    """Orthogonal random features with an integrated magnitude."""
    X = points(17, 18, 2)
    model = weal.EnsembleGPRegressor(
        approximation="features", n_frequencies=4, orthogonal=True, random_state=5
    )
    model.fit(X[:14], measure(X)[:14])
    return model.partial_fit(X[14:], measure(X)[14:], sample_noise=0.05), 2


def encoded_model(folder):
    """A model that sees encoded inputs alone."""
    X = points(18, 18, 2)
    encoder = weal.FeatureEncoder(n_frequencies=3, random_state=11).fit(points(19, 60, 2))
    encoder.save(folder / "encoder.weal-0.2")
    model = weal.EnsembleGPRegressor(approximation="encoded", n_frequencies=3)
    return model.fit(encoder.transform(X), measure(X)), 2


MODELS = {
    "model-default": default_model,
    "model-paper": paper_model,
    "model-ard": ard_model,
    "model-kernels": kernels_model,
    "model-inducing": inducing_model,
    "model-fitted-length": fitted_length_model,
    "model-warped": warped_model,
    "model-features": features_model,
}


def make_models(folder):
    """Write the files; yields each name and what must come out."""
    for name, make in MODELS.items():
        model, d = make()
        model.save(folder / f"{name}.weal-0.2")
        yield f"{name}.weal-0.2", model_case(folder / f"{name}.weal-0.2", d)
    model, d = encoded_model(folder)
    model.save(folder / "model-encoded.weal-0.2")
    yield (
        "model-encoded.weal-0.2",
        model_case(folder / "model-encoded.weal-0.2", d, "encoder.weal-0.2"),
    )


def model_case(path, d, encoder_file=None):
    """The questions that the test asks of a model, and the answers of 0.2."""
    at, more, anew = points(90, 4, d), points(91, 5, d), points(92, 10, d)
    case = {
        "points": at.tolist(),
        "labels": measure(at, 5).tolist(),
        "more": more.tolist(),
        "more labels": measure(more, 6).tolist(),
        "anew": anew.tolist(),
        "labels anew": measure(anew, 7).tolist(),
    }
    if encoder_file:
        case["encoder"] = encoder_file
        encoder = weal.FeatureEncoder.load(path.with_name(encoder_file))
        case["encoded"] = encoder.transform(at[:2]).tolist()
    model, encoder = reading.load_model(path, case)
    if hasattr(model, "feature_names_in_"):
        case["columns"] = model.feature_names_in_.tolist()
    case["loaded"] = reading.read_estimator(model, case, encoder)
    model.partial_fit(reading.inputs(case, "more", encoder), case["more labels"])
    case["after more"] = reading.read_estimator(model, case, encoder)
    model.fit(reading.inputs(case, "anew", encoder), case["labels anew"])
    case["fitted anew"] = reading.read_estimator(model, case, encoder)
    return case
