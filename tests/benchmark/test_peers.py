import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor

from weal.benchmark import peers
from weal.benchmark.protocol import run_method
from weal.benchmark.tasks import TASKS, draw
from weal.core.scaling import from_data

SKLEARN = ("sklearn-std", "sklearn-igs", "sklearn-random")
SKACTIVEML = ("skactiveml-igs",)
BOTORCH = ("botorch-var", "botorch-ivr", "botorch-random")
EVERYONE = (*SKLEARN, *SKACTIVEML, *BOTORCH)


def rival(name):
    if line := peers.unavailable().get(name):
        pytest.skip(line)
    return peers.methods()[name]


def played(name, T=3, task="gramacy", seed=5):
    return list(rival(name).run(draw(TASKS[task], 0, seed), 1.0, seed, T))


def scaled(task="branin", n=20, seed=3):
    """Some labelled points and some candidates of a task, and test inputs, all scaled."""
    split = draw(TASKS[task], 0, seed)
    scaling = from_data(np.concatenate([split.X0, split.Xu]), split.y0)
    X, C = scaling.inputs(split.Xu[:n]), scaling.inputs(split.Xu[n : n + 40])
    return X, scaling.labels(split.yu[:n]), C


def known(X, y, C):
    return peers.PeerData(X, y, C, np.random.default_rng(0))


def test_every_rival_can_play_or_says_what_to_install():
    can, cannot = peers.methods(), peers.unavailable()
    assert sorted([*can, *cannot]) == sorted(EVERYONE)
    assert set(SKLEARN) <= set(can)
    assert all(method.name == name and method.group == "peers" for name, method in can.items())
    assert all("pip install" in line and "\n" not in line for line in cannot.values())


def test_a_missing_package_takes_its_methods_away(monkeypatch):
    monkeypatch.setattr(peers, "find_spec", lambda module: None)
    assert tuple(peers.methods()) == SKLEARN
    assert set(peers.unavailable()) == {*SKACTIVEML, *BOTORCH}


def test_the_table_of_rivals_does_not_import_torch():
    check = (
        "import sys; from weal.benchmark import peers; peers.methods(); "
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("name", EVERYONE)
def test_readings_come_after_the_first_labels_and_after_each_query(name):
    readings = played(name)
    assert [reading.labels for reading in readings] == [10, 11, 12, 13]
    for reading in readings:
        assert reading.mean.shape == reading.log_density.shape == (100,)
        assert np.isfinite(reading.mean).all()
        assert np.isfinite(reading.log_density).all()
        assert reading.experts == reading.acquisitions == {}


@pytest.mark.parametrize("name", EVERYONE)
def test_the_same_seed_gives_the_same_numbers(name):
    for one, other in zip(played(name), played(name), strict=True):
        assert np.array_equal(one.mean, other.mean)
        assert np.array_equal(one.log_density, other.log_density)


@pytest.mark.parametrize("name", EVERYONE)
def test_three_times_the_labels_more_than_halve_the_error(name):
    curve = run_method(TASKS["currin"], rival(name), 0, seed=0, T=20)
    assert curve.labels[-1] == 3 * curve.labels[0]
    assert curve.nmse[-1] < 0.5 * curve.nmse[0]


@pytest.mark.parametrize("name", ["sklearn-igs", "botorch-var"])
def test_units_of_inputs_and_labels_are_irrelevant(name):
    split = draw(TASKS["branin"], 0, 1)
    moved = type(split)(
        *(
            part
            for X, y in (
                (split.X0, split.y0),
                (split.Xv, split.yv),
                (split.Xu, split.yu),
                (split.Xt, split.yt),
            )
            for part in (X * [8.0, 0.25] + 16.0, 4.0 * y - 32.0)
        )
    )
    method = rival(name)
    for one, other in zip(method.run(split, 1.0, 0, 2), method.run(moved, 1.0, 0, 2), strict=True):
        np.testing.assert_allclose(other.mean, 4.0 * one.mean - 32.0, rtol=1e-4, atol=1e-2)
        np.testing.assert_allclose(other.log_density, one.log_density - np.log(4.0), atol=1e-2)


@pytest.mark.parametrize("name", EVERYONE)
def test_labels_for_validation_and_of_candidates_not_asked_are_not_looked_at(name):
    split = draw(TASKS["currin"], 0, 2)
    method = rival(name)
    first = next(method.run(split, 1.0, 0, 1))
    blank = type(split)(
        split.X0, split.y0, split.Xv * np.nan, split.yv * np.nan, split.Xu, split.yu * np.nan,
        split.Xt, split.yt,
    )  # fmt: skip
    assert np.array_equal(next(method.run(blank, 1.0, 0, 1)).mean, first.mean)


def test_rivals_that_choose_at_random_are_given_the_same_points():
    asked = []

    def spy(model, known):
        scores = peers.at_random(model, known)
        asked.append(known.C[np.argmax(scores)])
        return scores

    split = draw(TASKS["currin"], 0, 2)
    for every in (1, 5):
        list(peers.run_peer(peers.fit_sklearn, spy, every, split, 1.0, 7, 4))
    assert np.array_equal(asked[:4], asked[4:])
    assert all(not np.array_equal(a, b) for a, b in pairwise(asked[:4]))


def test_no_point_is_asked_twice():
    split = draw(TASKS["gramacy"], 0, 2)
    small = type(split)(
        split.X0, split.y0, split.Xv, split.yv, split.Xu[:6], split.yu[:6], split.Xt, split.yt
    )
    seen = []

    def spy(X, y, rng):
        seen.append(X)
        return peers.fit_sklearn(X, y, rng)

    list(peers.run_peer(spy, peers.variance, 1, small, 1.0, 0, 6))
    assert len(np.unique(seen[-1], axis=0)) == 16


def test_igs_takes_the_candidate_that_a_loop_takes():
    X, y, C = scaled()
    model = peers.fit_sklearn(X, y, np.random.default_rng(0))
    mean = model.gp.predict(C)
    slow = [
        min(np.linalg.norm(c - x) * abs(m - label) for x, label in zip(X, y, strict=True))
        for c, m in zip(C, mean, strict=True)
    ]
    np.testing.assert_allclose(peers.igs(model, known(X, y, C)), slow, rtol=1e-12)


def test_between_fits_the_posterior_is_that_of_a_fresh_gp_with_the_same_kernel():
    X, y, C = scaled("ackley", n=24)
    fitted = peers.fit_sklearn(X[:20], y[:20], np.random.default_rng(0))
    kernel = fitted.gp.kernel_
    mean, v = fitted.condition(X[:22], y[:22]).condition(X, y).predict(C)
    fresh = GaussianProcessRegressor(kernel, optimizer=None).fit(X, y)
    fresh_mean, fresh_sd = fresh.predict(C, return_std=True)
    np.testing.assert_allclose(mean, fresh_mean, rtol=1e-12)
    np.testing.assert_allclose(v, fresh_sd**2, rtol=1e-9)


def test_hyperparameters_are_fitted_to_the_first_labels_and_after_every_five():
    split, fitted = draw(TASKS["gramacy"], 0, 2), []

    def spy(X, y, rng):
        fitted.append(len(y))
        return peers.fit_sklearn(X, y, rng)

    list(peers.run_peer(spy, peers.variance, 5, split, 1.0, 0, 11))
    assert fitted == [10, 15, 20]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_fit_is_as_likely_as_scikit_learns_own_with_the_same_key():
    X, y, _ = scaled()
    state = int(np.random.default_rng(4).integers(2**31 - 1))
    fitted = peers.fit_sklearn(X, y, np.random.default_rng(4)).gp
    again = GaussianProcessRegressor(fitted.kernel, n_restarts_optimizer=3, random_state=state)
    assert fitted.log_marginal_likelihood_value_ == again.fit(X, y).log_marginal_likelihood_value_
    theta = fitted.kernel_.theta
    assert (theta >= fitted.kernel_.bounds[:, 0]).all()
    assert (theta <= fitted.kernel_.bounds[:, 1]).all()


@pytest.mark.parametrize("fit", [peers.fit_sklearn, peers.fit_botorch])
def test_density_is_that_of_the_noisy_label_in_raw_units(fit):
    if fit is peers.fit_botorch:
        rival("botorch-var")
    split = draw(TASKS["diabetes"], 0, 0)
    models = []

    def keep(X, y, rng):
        models.append(fit(X, y, rng))
        return models[-1]

    reading = next(peers.run_peer(keep, peers.variance, 5, split, 1.0, 0, 0))
    x_mean = np.concatenate([split.X0, split.Xu]).mean(axis=0)
    x_sd = np.concatenate([split.X0, split.Xu]).std(axis=0)
    mean, v = models[0].predict((split.Xt - x_mean) / x_sd)
    location, scale = split.y0.mean() + split.y0.std() * mean, split.y0.std() * np.sqrt(v)
    np.testing.assert_allclose(reading.mean, location, rtol=1e-9)
    np.testing.assert_allclose(reading.log_density, norm.logpdf(split.yt, location, scale))


def test_rounding_takes_no_variance_below_the_noise():
    X, y, _ = scaled("higdon", n=60)
    model = peers.fit_sklearn(X, y, np.random.default_rng(0))
    _, v = model.predict(X)
    assert v.min() >= model.gp.kernel_.k2.noise_level > 0


def test_scikit_activeml_asks_what_our_igs_asks():
    rival("skactiveml-igs")
    X, y, C = scaled("ackley")
    model = peers.fit_sklearn(X, y, np.random.default_rng(0))
    theirs = peers.skactiveml_igs(model, known(X, y, C))
    np.testing.assert_allclose(theirs, peers.igs(model, known(X, y, C)), rtol=1e-6)


def test_integrated_variance_is_botorchs_own():
    rival("botorch-ivr")
    X, y, C = scaled("ackley")
    model = peers.fit_botorch(X, y, np.random.default_rng(0))
    with peers.torch_settings():
        import torch
        from botorch.acquisition.active_learning import qNegIntegratedPosteriorVariance

        points = torch.tensor(C)
        theirs = qNegIntegratedPosteriorVariance(model.gp, points)(points[:, None]).numpy()
    np.testing.assert_allclose(peers.ivr(model, known(X, y, C)), theirs, rtol=1e-9)


def test_botorch_told_more_labels_is_the_exact_posterior_at_the_same_hyperparameters():
    rival("botorch-var")
    X, y, C = scaled("ackley", n=24)
    fitted = peers.fit_botorch(X[:20], y[:20], np.random.default_rng(0))
    fitted.predict(C)
    mean, v = fitted.condition(X[:21], y[:21]).condition(X, y).predict(C)
    gp, unit = fitted.gp, float(fitted.gp.outcome_transform.stdvs)
    lengths, noise = gp.covar_module.lengthscale.detach().numpy(), float(gp.likelihood.noise.item())

    def k(A, B):
        return unit**2 * np.exp(-0.5 * (((A[:, None] - B) / lengths) ** 2).sum(axis=-1))

    centre = float(gp.outcome_transform.means) + unit * float(gp.mean_module.constant.item())
    S = np.linalg.inv(k(X, X) + unit**2 * noise * np.eye(len(X)))
    np.testing.assert_allclose(mean, centre + k(C, X) @ S @ (y - centre), rtol=1e-5, atol=1e-7)
    left = unit**2 * (1 + noise) - np.einsum("ui,ij,uj->u", k(C, X), S, k(C, X))
    np.testing.assert_allclose(v, left, rtol=1e-4)


def test_torch_is_left_as_it_was():
    rival("botorch-var")
    import torch

    threads, stream = torch.get_num_threads(), torch.get_rng_state()
    X, y, C = scaled(n=10)
    peers.fit_botorch(X, y, np.random.default_rng(0)).predict(C)
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.get_rng_state(), stream)
    assert torch.is_grad_enabled()
