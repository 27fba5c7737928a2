"""The package as a whole: what `import weal` costs, and the names it offers."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

import weal


def modules_after(statement):
    """Names of all modules that a fresh interpreter has loaded after the statement."""
    code = f"import sys\n{statement}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_weal_loads_no_heavy_library():
    loaded = modules_after("import weal; dir(weal); weal.__version__")
    assert "weal" in loaded
    assert not loaded & {"numpy", "scipy", "sklearn", "pandas", "polars", "matplotlib"}
    assert not loaded & {"anywidget", "ipywidgets", "traitlets"}


def test_the_core_does_not_need_scikit_learn():
    loaded = modules_after("from weal import Kernel, Scaling, UnreadableFile")
    assert "numpy" in loaded
    assert "sklearn" not in loaded


CAMPAIGN = """
import numpy as np
from weal.active_learner import ActiveLearner
X = np.random.default_rng(0).normal(size=(40, 3))
learner = ActiveLearner(X)
for _ in range(6):
    batch = learner.ask(2)
    learner.tell(batch, np.sin(X[batch, 0]), noise=0.01)
learner.forget(batch[0])
learner.tell(batch[1], 0.3, replace=True)
learner.add(X[:3] + 0.1)
learner.model.predict(X, return_std=True)
learner.watch(X).predict()
learner.save({path!r})
ActiveLearner.load({path!r}).ask(3)
"""


def test_a_learner_never_needs_scikit_learn(tmp_path):
    for work in ("import weal.active_learner", CAMPAIGN.format(path=str(tmp_path / "learner"))):
        loaded = modules_after(work)
        assert "weal.learner.transitions" in loaded
        assert not {name.split(".")[0] for name in loaded} & {"sklearn", "pandas", "narwhals"}


@pytest.mark.parametrize("name", weal.__all__)
def test_every_public_name_loads_on_first_use(name):
    assert getattr(weal, name).__name__ == name
    assert getattr(weal, name) is getattr(weal, name)


@pytest.mark.parametrize("name", weal.__all__)
def test_every_public_name_says_what_it_is(name):
    assert getattr(weal, name).__doc__


def test_an_unknown_name_is_answered_with_those_there_are():
    with pytest.raises(AttributeError, match="weal has no 'Regressor'") as caught:
        _ = weal.Regressor
    for name in weal.__all__:
        assert name in str(caught.value)


def test_importing_an_unknown_name_is_an_import_error():
    with pytest.raises(ImportError, match="cannot import name 'Regressor'"):
        exec("from weal import Regressor")


def test_dir_shows_the_public_names_only():
    assert dir(weal) == sorted([*weal.__all__, "__version__"])


def test_the_version_is_the_one_installed():
    assert weal.__version__ == importlib.metadata.version("weal")


def test_the_package_is_typed():
    assert (Path(weal.__file__).parent / "py.typed").is_file()


def test_our_errors_are_also_what_callers_already_catch():
    assert issubclass(weal.UnreadableFile, weal.WealError)
    assert issubclass(weal.UnreadableFile, ValueError)
