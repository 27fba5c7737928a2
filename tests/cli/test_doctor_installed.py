"""`weal doctor` says what is installed, and what is missing in what."""

import importlib.metadata
import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from shell import alone_in, typed
from weal.cli.commands import doctor

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


@pytest.fixture(autouse=True)
def _alone(tmp_path, monkeypatch):
    alone_in(tmp_path, monkeypatch)


@pytest.fixture
def project():
    return tomllib.loads(PYPROJECT.read_text())["project"]


@pytest.fixture
def without(monkeypatch):
    """Packages that are not there, or are there in another version."""

    installed = importlib.metadata.version

    def change(**versions):
        def version(name):
            found = versions.get(name.replace("-", "_"), "")
            if found is None:
                raise importlib.metadata.PackageNotFoundError(name)
            return found or installed(name)

        monkeypatch.setattr(importlib.metadata, "version", version)

    return change


def test_the_tables_are_those_of_pyproject(project):
    assert list(doctor.NEEDED) == project["dependencies"]
    extras = project["optional-dependencies"]
    ours = {name: sorted(packages) for name, (_, packages) in doctor.EXTRAS.items()}
    assert ours == {
        name: sorted(extras[name]) for name in extras if name not in ("all", "dev", "docs")
    }


def test_every_package_is_named_with_its_version():
    done = typed("doctor")
    assert done.code == 0
    for name in ("scipy", "scikit-learn", "narwhals"):
        assert re.search(
            rf"^{name} {re.escape(importlib.metadata.version(name))}, for ", done.out, re.M
        )
    for name in doctor.EXTRAS:
        assert f"\nweal[{name}] is " in done.out
    assert "\nPython 3." in done.out
    assert "\nBLAS: " in done.out


def test_json_has_the_same():
    found = json.loads(typed("doctor", "--json").out)
    assert found["packages"]["numpy"] == found["versions"]["numpy"] == np.__version__
    assert set(found["extras"]) == set(doctor.EXTRAS)
    assert found["lacking"] == []
    assert all(one["threads"] >= 1 for one in found["blas"])
    assert set(found["programs"]) == {"postgresql", "chromium"}


def test_what_an_extra_lacks_is_named_with_how_to_get_it(without):
    without(openpyxl=None, polars="0.20.3", distributed=None)
    done = typed("doctor")
    assert done.code == 0  # nobody needs all extras
    assert '(openpyxl is missing); pip install "weal[excel]"' in done.out
    assert "(polars 0.20.3 (needs 1.0))" in done.out
    assert '(distributed is missing); pip install "weal[cluster]"' in done.out
    found = json.loads(typed("doctor", "--json").out)
    assert (found["extras"]["excel"], found["packages"]["openpyxl"]) == (False, None)


def test_a_package_that_weal_cannot_do_without_is_broken(without):
    without(narwhals=None, scipy="1.9.3")
    done = typed("doctor")
    assert done.code == 1
    assert "broken: narwhals is missing; pip install --upgrade weal" in done.out
    assert "broken: scipy 1.9.3 (needs 1.13)" in done.out


@pytest.mark.parametrize(
    ("there", "least", "good"),
    [("2.10", "2.9", True), ("3.0rc1", "3.0", True), ("2.9.9", "2.10", False), ("x", "1", False)],
)
def test_versions_are_compared_as_numbers(there, least, good):
    assert doctor.Package("p", least, there).is_good is good


def test_box2d_is_not_wanted_where_there_is_none(monkeypatch):
    monkeypatch.setattr(doctor.platform, "python_version", lambda: "3.14.1")
    assert "box2d" not in [one.name for one in doctor.packages_of_extra("bench")]
    monkeypatch.setattr(doctor.platform, "python_version", lambda: "3.13.9")
    assert "box2d" in [one.name for one in doctor.packages_of_extra("bench")]
