"""The classifier: scikit-learn's contract, probabilities, labels left out, files."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.estimator_checks import parametrize_with_checks

from weal import EnsembleGPClassifier, EnsembleGPRegressor, Kernel
from weal.errors import UnreadableFile
from weal.model import class_model

IRIS = load_iris(as_frame=True)
ROWS = np.random.default_rng(0).permutation(150)
X, y = IRIS.data.to_numpy()[ROWS], IRIS.target_names[IRIS.target][ROWS]
FEW, OTHERS = slice(0, 40), slice(40, None)
for shared in (X, y):
    shared.flags.writeable = False


@pytest.fixture(scope="module")
def fitted():
    return EnsembleGPClassifier().fit(X[FEW], y[FEW])


@parametrize_with_checks([EnsembleGPClassifier([Kernel("matern52", 1.5)], noise_ratios=(1e-2,))])
def test_scikit_learn_finds_nothing_to_complain_of(estimator, check):
    check(estimator)


def test_iris_is_told_apart(fitted):
    p = fitted.predict_proba(X[OTHERS])
    assert fitted.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert fitted.score(X[OTHERS], y[OTHERS]) > 0.9
    assert log_loss(y[OTHERS], p) < 0.25
    assert len(fitted.models_) == len(fitted.slopes_) == 3


def test_it_works_in_a_pipeline_and_in_cross_validation():
    pipeline = make_pipeline(PolynomialFeatures(2), EnsembleGPClassifier())
    scores = cross_val_score(pipeline, X[FEW], y[FEW], cv=3, scoring="neg_log_loss")
    assert scores.mean() > -0.4


@pytest.mark.parametrize("kind", [bool, int, float, str, object], ids=lambda kind: kind.__name__)
def test_classes_are_of_any_kind_and_come_back_from_a_file(kind, tmp_path):
    labels = (y[FEW] == "virginica").astype(str if kind is object else int).astype(kind)
    model = EnsembleGPClassifier(random_state=3).fit(X[FEW], labels)
    model.save(tmp_path / "c.weal")
    again = EnsembleGPClassifier.load(tmp_path / "c.weal")
    assert again.get_params() == model.get_params()
    assert again.classes_.tolist() == model.classes_.tolist()
    assert again.classes_.dtype.kind == model.classes_.dtype.kind
    np.testing.assert_array_equal(again.predict(X[OTHERS]), model.predict(X[OTHERS]))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.leave_one_out() == model.leave_one_out()
    assert set(model.predict(X)) <= set(labels)


def test_a_frame_keeps_its_columns_in_a_file(tmp_path):
    frame = IRIS.data.iloc[ROWS[FEW]]
    model = EnsembleGPClassifier(classes=["setosa", "versicolor", "virginica", "x"])
    model.fit(frame, y[FEW]).save(tmp_path / "c.weal")
    again = EnsembleGPClassifier.load(tmp_path / "c.weal")
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame[frame.columns[::-1]])
    assert again.predict_proba(frame).shape == (40, 4)


def test_files_of_others_are_refused(tmp_path):
    EnsembleGPRegressor().fit(X[:5], np.arange(5.0)).save(tmp_path / "r.weal")
    with pytest.raises(UnreadableFile):
        EnsembleGPClassifier.load(tmp_path / "r.weal")
    EnsembleGPClassifier().fit(X[:9], np.arange(9) % 2).save(tmp_path / "c.weal")
    with pytest.raises(UnreadableFile):
        EnsembleGPRegressor.load(tmp_path / "c.weal")
    (tmp_path / "broken.weal").write_bytes((tmp_path / "c.weal").read_bytes()[:-200])
    with pytest.raises(UnreadableFile):
        EnsembleGPClassifier.load(tmp_path / "broken.weal")


def test_two_classes_have_one_model_and_their_order_is_irrelevant():
    labels = y[FEW] == "virginica"
    model = EnsembleGPClassifier().fit(X[FEW], labels)
    assert len(model.models_) == 1
    p = class_model.pass_probability(model.models_[0], X)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], p, rtol=1e-12)
    other = EnsembleGPClassifier().fit(X[FEW], ~labels).predict_proba(X)
    np.testing.assert_allclose(other[:, 0], p, atol=1e-5)


def test_labels_left_out_are_predicted_about_as_well_as_new_ones(fitted):
    p, scores = fitted.leave_one_out_proba(), fitted.leave_one_out()
    assert p.shape == (40, 3)
    codes = np.searchsorted(fitted.classes_, y[FEW])
    assert scores.log_loss == pytest.approx(-np.log(p[np.arange(40), codes]).mean())
    assert scores.accuracy == (p.argmax(axis=1) == codes).mean()
    new = log_loss(y[OTHERS], fitted.predict_proba(X[OTHERS]))
    assert scores.log_loss == pytest.approx(new, abs=0.15)
    assert scores.log_loss < 0.5 * scores.baseline_log_loss
    assert scores.calibration_error < 0.15


def test_classes_without_labels_have_a_probability():
    model = EnsembleGPClassifier(classes=["no", "yes"]).fit(X[:12], ["yes"] * 12)
    p = model.predict_proba(X[:12])
    assert p.shape == (12, 2)
    assert ((p[:, 1] > 0.95) & (p[:, 1] < 0.97)).all()
    assert model.predict(X[:3]).tolist() == ["yes"] * 3
    one = EnsembleGPClassifier().fit(X[:12], ["yes"] * 12)
    np.testing.assert_array_equal(one.predict_proba(X[:5]), np.ones((5, 1)))
    three = EnsembleGPClassifier(classes=[0, 1, 2]).fit(X[:1], [2])
    assert three.predict_proba(X[:1]).argmax() == 2


def test_a_class_that_was_not_named_is_refused_with_the_parameter():
    model = EnsembleGPClassifier(classes=["no", "yes"]).fit(X[:6], ["yes", "no"] * 3)
    before = model.predict_proba(X[:3])
    expected = r"class 'perhaps', and the classes are .*; list all classes in `classes`"
    with pytest.raises(ValueError, match=expected):
        model.fit(X[:2], ["yes", "perhaps"])
    np.testing.assert_array_equal(model.predict_proba(X[:3]), before)


def test_numbers_that_are_no_classes_and_text_inputs_are_refused():
    with pytest.raises(ValueError, match="continuous"):
        EnsembleGPClassifier().fit(X[:5], np.linspace(0.0, 1.0, 5))
    frame = pd.DataFrame({"solvent": ["THF", "DMF"]})
    with pytest.raises(ValueError, match=r"EnsembleGPClassifier needs numbers.*ActiveLearner"):
        EnsembleGPClassifier().fit(frame, [0, 1])


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_units_of_the_inputs_do_not_matter(scale):
    model = EnsembleGPClassifier().fit(X[FEW] * scale, y[FEW])
    plain = EnsembleGPClassifier().fit(X[FEW], y[FEW])
    np.testing.assert_allclose(
        model.predict_proba(X[OTHERS] * scale), plain.predict_proba(X[OTHERS]), atol=1e-5
    )


def test_many_inputs_and_constant_ones_are_no_trouble():
    rng = np.random.default_rng(1)
    wide = np.column_stack([X[FEW], rng.normal(size=(40, 14)), np.ones(40), np.zeros(40)])
    p = EnsembleGPClassifier().fit(wide, y[FEW]).predict_proba(wide)
    assert np.isfinite(p).all()
    constant = EnsembleGPClassifier().fit(np.ones((30, 2)), np.arange(30) % 3)
    np.testing.assert_allclose(constant.predict_proba(np.ones((1, 2))), 1.0 / 3.0, atol=1e-6)
