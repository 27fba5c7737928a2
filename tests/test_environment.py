"""scripts/environment: what it installs and what it shows. Python and pip are stubs."""

import os
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "environment"
PYTHON = """#!/bin/sh
case "$*" in
    "-m venv "*) echo "$*" >> calls.txt; mkdir -p .venv/bin; cp "$0" .venv/bin/python ;;
    "-m pip --python"*"--version") if [ -e no-pip ]; then exit 1; fi ;;
    "-m pip "*)
        echo "$*" >> calls.txt
        echo "downloading much"
        if [ -e broken ]; then echo "no such package" >&2; exit 1; fi ;;
esac
"""


@pytest.fixture
def clone(tmp_path):
    (tmp_path / "scripts").mkdir()
    shutil.copy(SCRIPT, tmp_path / "scripts")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    (tmp_path / "src" / "weal").mkdir(parents=True)
    (tmp_path / "src" / "weal" / "__init__.py").write_text('__version__ = "1.0"\n')
    (tmp_path / "stub").write_text(PYTHON)
    (tmp_path / "stub").chmod(0o755)
    return tmp_path


def run(clone, line):
    environment = {**os.environ, "PYTHON": str(clone / "stub")}
    return subprocess.run(
        ["bash", "-c", line], cwd=clone, env=environment, capture_output=True, text=True
    )


def installed(clone):
    calls = clone / "calls.txt"
    lines = calls.read_text().splitlines() if calls.exists() else []
    return [line.partition("--editable ")[2] for line in lines if "--editable" in line]


def test_pip_is_quiet_and_each_part_is_installed_once(clone):
    line = "source scripts/environment none; add_extras campaign; add_extras campaign"
    first, again = run(clone, line), run(clone, line)
    assert first.returncode == 0, first.stderr
    assert "downloading" not in first.stdout + first.stderr
    assert installed(clone) == [".", ".[campaign]"]
    assert again.stdout == again.stderr == ""


def test_all_of_the_output_is_shown_where_pip_fails_and_the_next_run_tries_again(clone):
    (clone / "broken").touch()
    done = run(clone, "source scripts/environment none; echo installed")
    assert done.returncode == 1
    assert "installed" not in done.stdout
    assert "downloading much\nno such package\n" in done.stderr
    assert "run this again" in done.stderr
    (clone / "broken").unlink()
    assert run(clone, "source scripts/environment none").returncode == 0
    assert installed(clone) == ["."]


def test_an_environment_for_the_tests_serves_every_part(clone):
    run(clone, "source scripts/environment all,dev")
    run(clone, "source scripts/environment none; add_extras web")
    assert installed(clone) == [".[all,dev]"]


def test_another_version_makes_the_environment_anew(clone):
    run(clone, "source scripts/environment none")
    (clone / "src" / "weal" / "__init__.py").write_text('__version__ = "1.1"\n')
    run(clone, "source scripts/environment none")
    assert installed(clone) == [".", "."]


def test_a_python_without_pip_makes_one_in_the_environment(clone):
    (clone / "no-pip").touch()
    done = run(clone, "source scripts/environment none; add_extras web")
    assert done.returncode == 0, done.stderr
    calls = (clone / "calls.txt").read_text()
    assert "-m venv .venv\n-m pip install " in calls
    assert "--python" not in calls
    assert installed(clone) == [".", ".[web]"]


def test_the_build_tools_are_those_of_the_project():
    project = tomllib.loads((SCRIPT.parents[1] / "pyproject.toml").read_text("utf-8"))
    found = re.search(r"^BUILD_TOOLS=\((.*)\)$", SCRIPT.read_text("utf-8"), re.M)
    assert set(project["build-system"]["requires"]) <= set(shlex.split(found[1]))
