"""Learning without seeing the inputs: the same queries and predictions, from features alone."""

import json
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from learning import KERNELS, MAGNITUDE, NOISE, OUTSIDE, POOL, Y, beliefs, measure, told
from weal import ActiveLearner, EnsembleGPRegressor, FeatureEncoder, Scaling, UnreadableFile
from weal.core.constants import MAGNITUDE_PRIOR_A, MAGNITUDE_PRIOR_B
from weal.core.paper import random_features

GIVEN = {"magnitude": MAGNITUDE, "noise": NOISE, "n_frequencies": 30}


@parametrize_with_checks([FeatureEncoder(), FeatureEncoder(n_frequencies=7, orthogonal=True)])
def test_scikit_learn_finds_nothing_to_complain_of(estimator, check):
    check(estimator)


def an_encoder(**changes):
    return FeatureEncoder(KERNELS, n_frequencies=30, random_state=5, **changes).fit(POOL)


def twins(encoder, acquisition, first=8):
    """A learner that sees the inputs, and one that sees the features alone."""
    y_mean, y_sd = np.mean(Y[:first]), np.std(Y[:first])
    scaling = Scaling(encoder.scaling_.x_mean, encoder.scaling_.x_sd, y_mean, y_sd)
    orthogonal = encoder.orthogonal
    sees = EnsembleGPRegressor(
        KERNELS,
        approximation="features",
        random_state=5,
        scaling=scaling,
        orthogonal=orthogonal,
        **GIVEN,
    )
    blind = EnsembleGPRegressor(approximation="encoded", **GIVEN)
    learners = (
        ActiveLearner(POOL, sees, acquisition, n_start=first),
        ActiveLearner(encoder.transform(POOL), blind, acquisition, n_start=first),
    )
    for learner in learners:
        learner.tell(range(first), Y[:first])
    return learners


@pytest.mark.covering
@pytest.mark.parametrize(
    "acquisition", ["random", "wvar", "went", "qbc", "gpm-var", "gpm-ent", "ivr", "bald", "multi"]
)
@pytest.mark.parametrize("orthogonal", [False, True])
def test_a_whole_campaign_asks_and_predicts_the_same_without_the_inputs(acquisition, orthogonal):
    # [1, claim:inputs]
    encoder = an_encoder(orthogonal=orthogonal)
    sees, blind = twins(encoder, acquisition)
    for step in range(15):
        batch = sees.ask(3) if step % 5 == 4 else [sees.ask()]
        assert blind.ask(len(batch)) == batch
        for learner in (sees, blind):
            learner.tell(batch, Y[batch])
    sees.tell_points(OUTSIDE[:2], measure(OUTSIDE[:2]))
    blind.tell_points(encoder.transform(OUTSIDE[:2]), measure(OUTSIDE[:2]))
    got = beliefs(blind, encoder.transform(OUTSIDE))
    assert_allclose(got, beliefs(sees, OUTSIDE), rtol=1e-8)
    assert_allclose(blind.model.weights_, sees.model.weights_, rtol=1e-7)
    encoded = encoder.transform(OUTSIDE)
    log_p = blind.model.log_predictive_density(encoded, measure(OUTSIDE))
    assert_allclose(log_p, sees.model.log_predictive_density(OUTSIDE, measure(OUTSIDE)), rtol=1e-7)


@pytest.mark.parametrize("magnitude", ["integrated", None])
def test_the_blind_model_finds_its_own_magnitude_and_noise(magnitude):
    encoder = FeatureEncoder(n_frequencies=60, random_state=1).fit(POOL)
    model = EnsembleGPRegressor(approximation="encoded", n_frequencies=60, magnitude=magnitude)
    model.fit(encoder.transform(POOL[:45]), Y[:45])
    error = model.predict(encoder.transform(POOL[45:])) - Y[45:]
    assert np.sqrt(np.mean(error**2)) < 0.5 * np.std(Y)


def test_magnitudes_of_the_blind_model_are_integrated_out():
    """By exact algebra: features are a kernel, and every one goes with every noise ratio."""
    ratios, t = (1e-4, 1e-2, 1.0), 30
    Z, outside = an_encoder().transform(POOL), an_encoder().transform(OUTSIDE)
    blind = EnsembleGPRegressor(approximation="encoded", n_frequencies=30, noise_ratios=ratios)
    blind.fit(Z[:12], Y[:12]).partial_fit(Z[12:t], Y[12:t])
    z = (Y[:t] - Y[:12].mean()) / Y[:12].std()
    log_p, means = [], []
    for m in range(3):
        Phi, at = (rows[:, 60 * m : 60 * (m + 1)] for rows in (Z[:t], outside))
        for ratio in ratios:
            C = Phi @ Phi.T + ratio * np.eye(t)
            b = MAGNITUDE_PRIOR_B + 0.5 * z @ np.linalg.solve(C, z)
            log_p.append(-(MAGNITUDE_PRIOR_A + 0.5 * t) * np.log(b) - 0.5 * np.linalg.slogdet(C)[1])
            means.append(at @ Phi.T @ np.linalg.solve(C, z))
    weights = softmax(log_p)
    assert_allclose(blind.weights_, weights, rtol=1e-6, atol=1e-12)
    expected = Y[:12].mean() + Y[:12].std() * weights @ np.array(means)
    assert_allclose(blind.predict(outside), expected, rtol=1e-6)


def test_noise_that_is_stated_is_measured_by_how_much_features_vary():
    Z = an_encoder().transform(POOL)
    blind = EnsembleGPRegressor(approximation="encoded", n_frequencies=30, noise_ratios=(0.1, 1.0))
    blind.fit(Z[:20], Y[:20])
    unit = blind.model_.trained.prior.scale.unit.reshape(3, 2)
    for m in range(3):
        K = Z[:20, 60 * m : 60 * (m + 1)] @ Z[:20, 60 * m : 60 * (m + 1)].T
        varied = np.diag(K).mean() - K.mean()
        assert_allclose(unit[m] * (varied + np.array([0.1, 1.0])), 1.0)


def test_what_looks_at_a_learner_needs_no_kernels():
    encoded = FeatureEncoder(n_frequencies=10, random_state=0).fit_transform(POOL)
    blind = ActiveLearner(encoded, EnsembleGPRegressor(approximation="encoded", n_frequencies=10))
    blind.run(lambda name: Y[name], 16, by_id=True)
    assert f"{len(blind.model.weights_)} experts" in repr(blind.model)
    assert "encoded" in blind.model._repr_html_()
    assert np.isfinite(blind.predicted_error())
    for plot in (blind.plot.learning_curve, blind.plot.predicted, blind.plot.experts):
        plot()
    blind.plot.inputs()


def test_a_blind_learner_starts_by_itself():
    encoded = FeatureEncoder(n_frequencies=25, random_state=0).fit_transform(POOL)
    blind = ActiveLearner(encoded, EnsembleGPRegressor(approximation="encoded", n_frequencies=25))
    how = blind.run(lambda name: Y[name], 20, by_id=True)
    assert how.labels == 20
    assert blind.model.n_labels_ == 20


# The rows


def test_a_row_holds_the_features_of_every_expert_one_after_the_other():
    encoder = an_encoder()
    Z = encoder.transform(OUTSIDE)
    assert Z.shape == (9, 3 * 60)
    scaled = encoder.scaling_.inputs(OUTSIDE)
    expected = random_features.features(scaled, encoder.frequencies_)  # (M, N, F)
    for m in range(3):
        assert_array_equal(Z[:, 60 * m : 60 * (m + 1)], expected[m])
    assert_allclose((Z**2).sum(axis=1), 3.0)


def test_rows_do_not_depend_on_the_blocks_they_are_made_in(constants):
    encoder = an_encoder()
    whole = encoder.transform(POOL)
    constants(random_features, FEATURE_BLOCK_BYTES=40_000)
    assert_allclose(encoder.transform(POOL), whole, rtol=0, atol=1e-12)


def test_frequencies_come_from_the_random_state():
    one, same, other = (
        FeatureEncoder(KERNELS, random_state=seed).fit(POOL).frequencies_ for seed in (1, 1, 2)
    )
    assert_array_equal(one, same)
    assert not np.isclose(one, other).any()
    secret = [FeatureEncoder(KERNELS).fit(POOL).frequencies_ for _ in range(2)]
    assert not np.isclose(*secret).any()


def test_encoder_and_model_agree_on_the_number_of_frequencies_where_none_is_given():
    blind = EnsembleGPRegressor(approximation="encoded")
    assert FeatureEncoder().n_frequencies == blind.n_frequencies
    blind.fit(FeatureEncoder(KERNELS).fit_transform(POOL), Y)
    assert blind.weights_.size % 3 == 0


def test_it_works_in_a_pipeline():
    blind = EnsembleGPRegressor(approximation="encoded", n_frequencies=30)
    pipeline = make_pipeline(clone(an_encoder()), blind).fit(POOL, Y)
    assert pipeline.score(POOL, Y) > 0.9


# Refusals


def test_another_number_of_columns_is_refused():
    encoder = an_encoder()
    with pytest.raises(ValueError, match="X has 2 features, but FeatureEncoder is expecting 3"):
        encoder.transform(POOL[:, :2])
    with pytest.raises(ValueError, match=r"Kernel.* has 3 lengthscales, but X has 2 columns"):
        FeatureEncoder(KERNELS).fit(POOL[:, :2])


def test_a_blind_model_says_when_the_frequencies_do_not_fit():
    encoded = an_encoder().transform(POOL)  # 180 columns
    wrong = EnsembleGPRegressor(approximation="encoded", n_frequencies=32)
    for work in (lambda: wrong.fit(encoded, Y), lambda: ActiveLearner(encoded, wrong)):
        with pytest.raises(ValueError, match=r"2 x n_frequencies = 64 columns.*180 columns"):
            work()
    right = EnsembleGPRegressor(approximation="encoded", n_frequencies=30).fit(encoded, Y)
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 180"):
        right.predict(POOL)


@pytest.mark.parametrize("n_frequencies", [0, -3, 2.5, "many"])
def test_frequencies_that_are_none_are_refused(n_frequencies):
    with pytest.raises(ValueError, match="n_frequencies"):
        FeatureEncoder(KERNELS, n_frequencies=n_frequencies).fit(POOL)


def test_points_beyond_the_range_of_floats_are_refused():
    with pytest.raises(ValueError, match="standard deviations"):
        an_encoder().transform([[1e150, 0.0, 0.0]])
    with pytest.raises(ValueError, match="NaN"):
        an_encoder().transform([[np.nan, 0.0, 0.0]])


# Files


@pytest.mark.parametrize("frame", [False, True])
def test_the_secret_survives_its_file(frame, tmp_path):
    encoder, points = an_encoder(), OUTSIDE
    if frame:
        pandas = pytest.importorskip("pandas")
        names = ["heat", "length", "größe"]
        encoder.fit(pandas.DataFrame(POOL, columns=names))
        points = pandas.DataFrame(OUTSIDE, columns=names)
    encoder.save(tmp_path / "secret.weal")
    back = FeatureEncoder.load(tmp_path / "secret.weal")
    assert_array_equal(back.transform(points), encoder.transform(points))
    assert back.dictionary_ == encoder.dictionary_
    assert back.get_params()["n_frequencies"] == 30
    again = back.set_params(random_state=5).fit(POOL)
    assert_array_equal(again.transform(OUTSIDE), an_encoder().transform(OUTSIDE))


def test_a_blind_model_and_a_blind_learner_survive_their_files(tmp_path):
    encoder = an_encoder()
    sees, blind = twins(encoder, "multi")
    assert blind.ask(2) == sees.ask(2)
    blind.save(tmp_path / "learner.weal")
    EnsembleGPRegressor.of(blind.model).save(tmp_path / "model.weal")
    encoded = encoder.transform(OUTSIDE)
    model = EnsembleGPRegressor.load(tmp_path / "model.weal")
    assert_array_equal(model.predict(encoded), blind.model.predict(encoded))
    back = ActiveLearner.load(tmp_path / "learner.weal")
    for _ in range(8):
        query = sees.ask()
        assert back.ask() == query
        for learner in (sees, back):
            learner.tell(query, Y[query])
    back.forget(3)
    sees.forget(3)
    assert told(back) == told(sees)
    assert_allclose(beliefs(back, encoded), beliefs(sees, OUTSIDE), rtol=1e-8)


def test_no_file_of_a_blind_learner_holds_the_inputs(tmp_path):
    encoder = an_encoder()
    _, blind = twins(encoder, "gpm-var")
    blind.save(tmp_path / "learner.weal")
    content = (tmp_path / "learner.weal").read_bytes()
    for secret in (POOL[17], encoder.frequencies_[0, 0], encoder.scaling_.x_mean):
        assert secret[:1].tobytes() not in content


def test_a_file_that_is_no_encoder_is_refused(tmp_path):
    path = tmp_path / "secret.weal"
    with pytest.raises(ValueError, match="not fitted yet"):
        FeatureEncoder().save(path)
    EnsembleGPRegressor(KERNELS).fit(POOL, Y).save(path)
    with pytest.raises(UnreadableFile, match="holds a EnsembleGPRegressor, not a FeatureEncoder"):
        FeatureEncoder.load(path)
    an_encoder().save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UnreadableFile, match="cut short or damaged"):
        FeatureEncoder.load(path)
    path.write_bytes(whole)
    with zipfile.ZipFile(path) as bundle:
        members = {name: bundle.read(name) for name in bundle.namelist()}
    header = json.loads(members["header.json"])
    del header["kernels"]
    members["header.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as bundle:
        for name, content in members.items():
            bundle.writestr(name, content)
    with pytest.raises(UnreadableFile, match="not a complete encoder"):
        FeatureEncoder.load(path)
