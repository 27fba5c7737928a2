"""The worked recipes of docs/contribute: each diff applies, and its conformance suite tells.

With the whole diff the suite passes; with its part for the tests alone it fails, so that it is the
new thing that makes it pass.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECIPES = {  # the diff: the tests that tell, and which of them
    "new-kernel": ("tests/seams/test_kernel_family.py", "matern72 or textbooks"),
    "new-score": ("tests/seams/test_acquisition.py", "gsx"),
}
PYTEST = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:randomly"]


@pytest.fixture
def project(tmp_path):
    """A copy of what a change of the core touches."""
    compiled = shutil.ignore_patterns("__pycache__")  # others may be writing there
    others = shutil.ignore_patterns("__pycache__", "golden_0_*", "web", "docs", "benchmark")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=compiled)
    shutil.copytree(ROOT / "tests", tmp_path / "tests", ignore=others)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def diff_of(recipe):
    return ROOT / "docs" / "contribute" / f"{recipe}.diff"


def apply(project, recipe, *how):
    diff = diff_of(recipe)
    alone = {**os.environ, "GIT_CEILING_DIRECTORIES": str(project.parent)}
    done = subprocess.run(
        ["git", "apply", "-C1", *how, diff], cwd=project, env=alone, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{diff.name} no longer applies, make it anew: {done.stderr}"


def conformance(project, recipe):
    """How the conformance tests of a recipe end, and what they say."""
    file, which = RECIPES[recipe]
    done = subprocess.run(
        [*PYTEST, file, "-k", which],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(project / "src")},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_passes_its_conformance_suite(project, recipe):
    apply(project, recipe)
    code, said = conformance(project, recipe)
    assert code == 0, said
    changed = re.findall(r"^\+\+\+ b/(.*)$", diff_of(recipe).read_text(), re.MULTILINE)
    ruff = [sys.executable, "-m", "ruff", "check", *changed]
    done = subprocess.run(ruff, cwd=project, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("recipe", RECIPES)
def test_without_the_new_thing_the_suite_fails(project, recipe):
    apply(project, recipe, "--include=tests/*")
    code, said = conformance(project, recipe)
    assert code in (1, 2), said  # a test that failed, or a name that cannot be imported
    assert "weal/core" in said or "unknown kernel" in said or "cannot import" in said


def test_the_page_shows_every_diff():
    page = (ROOT / "docs" / "contribute" / "recipes.md").read_text("utf-8")
    there = {path.stem for path in (ROOT / "docs" / "contribute").glob("*.diff")}
    assert there == set(RECIPES)
    for name in there:
        assert f"{{literalinclude}} {name}.diff" in page


def test_files_that_the_recipes_name_are_there():
    page = (ROOT / "docs" / "contribute" / "recipes.md").read_text("utf-8")
    named = set(re.findall(r"`((?:src/weal|tests|docs)/[\w/.]+)`", page)) - {
        "src/weal/store/KIND.py"
    }
    assert len(named) > 15
    assert not {name for name in named if not (ROOT / name).exists()}
