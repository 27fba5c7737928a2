"""The wheel and the sdist: what is in them, and that they work with what they ask for alone.

Environments are made of links to the packages that are installed here: just those that weal, or
weal with an extra, says it needs, and what these need. `scripts/package` does the same with
downloads.
"""

import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from email import message_from_bytes
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import weal
from weal.cli.commands.doctor import EXTRAS

ROOT = Path(__file__).parents[1]
VENDOR = ROOT / "src/weal/web/static/vendor"
TEST_VENDOR = ROOT / "tests/web/vendor"
FONTS = {".woff", ".woff2", ".ttf", ".otf", ".eot"}
TRIED = ["", "campaign", "web", "widget"]  # the others are left to scripts/package


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with the sdist, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    words = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(words, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def wheel(built):
    [found] = built.glob("*.whl")
    return found


def test_the_wheel_has_all_that_the_package_needs_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
    ours = {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src" / "weal").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in names if ".dist-info/" not in name} == ours
    assert {"weal/py.typed", "weal/samples/alloys.csv", "weal/web/templates/base.html"} <= ours
    kept = {name.partition("licenses/")[2] for name in names if "licenses/" in name}
    assert {"LICENSE", "THIRD_PARTY.txt"} <= kept
    assert {path.name for path in VENDOR.glob("*LICENSE*")} <= {Path(one).name for one in kept}


def test_the_sdist_has_what_it_takes_to_test_and_document(built):
    [sdist] = built.glob("*.tar.gz")
    with tarfile.open(sdist) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    assert {"pyproject.toml", "CHANGELOG.md", "CITATION.cff", "THIRD_PARTY.txt"} <= names
    assert {"tests/test_wheel.py", "docs/conf.py", "scripts/test", "src/weal/py.typed"} <= names
    assert not any("_build" in name or name.endswith(".pyc") for name in names)


def wanted(wheel, extras=()):
    """Distributions that the wheel needs here, and those that these need."""
    with zipfile.ZipFile(wheel) as file:
        [name] = [one for one in file.namelist() if one.endswith(".dist-info/METADATA")]
        asked = message_from_bytes(file.read(name)).get_all("Requires-Dist")
    found, waiting = {}, [(asked, frozenset(extras))]
    while waiting:
        asked, more = waiting.pop()
        for one in map(Requirement, asked or ()):
            fits = not one.marker or any(one.marker.evaluate({"extra": e}) for e in (*more, ""))
            key = (one.name, frozenset(one.extras))
            if fits and key not in found:
                found[key] = distribution(one.name)
                waiting.append((found[key].requires, key[1]))
    return list(found.values())


def linked(folder, wheel, extras):
    """An environment with the wheel and links to what it needs; its Python."""
    try:
        needed = wanted(wheel, extras)
    except PackageNotFoundError as error:
        pytest.skip(f"{error} is not installed here")
    venv.create(folder, symlinks=True)
    place = next(folder.glob("lib/python*/site-packages"))
    for one in needed:
        tops = {file.parts[0] for file in one.files if ".." not in file.parts}
        for top in tops - {"__pycache__"}:
            if not (place / top).exists():
                (place / top).symlink_to(one.locate_file(top))
    python = folder / "bin" / "python"
    words = [
        "--python",
        str(python),
        "install",
        "--no-deps",
        "--no-index",
        "--no-compile",
        str(wheel),
    ]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True, capture_output=True)
    return python


@pytest.mark.parametrize("extra", TRIED)
def test_an_installed_wheel_works_with_what_it_asks_for_alone(tmp_path, wheel, extra):
    extras = [extra] if extra else []
    python = linked(tmp_path / "environment", wheel, extras)
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        [python, "-I", ROOT / "scripts" / "smoke.py", *extras],
        capture_output=True,
        text=True,
        check=False,
        env={**clean, "HOME": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"weal {weal.__version__} works with {extra or 'no extra'}\n"


def test_every_extra_is_tried_somewhere():
    script = (ROOT / "scripts" / "package").read_text()
    smoke = (ROOT / "scripts" / "smoke.py").read_text()
    for name in EXTRAS:
        assert name in script
        assert f"def {name}() -> None" in smoke


def test_files_of_others_are_named_with_their_version_and_licence():
    told = (ROOT / "THIRD_PARTY.txt").read_text()
    for path in (*VENDOR.iterdir(), *TEST_VENDOR.iterdir()):
        assert f"\n    {path.name}\n" in told
    assert "v1.6.32" in (VENDOR / "uPlot.iife.min.js").read_text()
    assert "uPlot 1.6.32" in told
    assert '"2.0.11"' in (VENDOR / "htmx.min.js").read_text()
    assert "htmx 2.0.11" in told
    assert "axe v4.14.0" in (TEST_VENDOR / "axe.min.js").read_text()[:200]
    assert "axe-core 4.14.0" in told


def is_of_others(path):
    """Whether a file looks like a copy: a font, minified, or with a notice."""
    if path.suffix in FONTS or ".min." in path.name:
        return True
    lines = path.read_text("utf-8").splitlines()
    longest = max(map(len, lines), default=0)
    return longest > 1000 or bool(
        re.search(r"copyright|licen[cs]e|@preserve", "\n".join(lines), re.I)
    )


def test_files_of_others_are_in_vendor_folders_alone():
    """So that the test above sees each of them."""
    copied = []
    for folder in ("src", "docs", "tests", "scripts", "benchmarks"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in {".js", ".mjs", ".css", *FONTS} and "_build" not in path.parts:
                copied += [path] if is_of_others(path) else []
    assert copied
    assert {path.parent for path in copied} == {VENDOR, TEST_VENDOR}


def test_the_wheel_has_nothing_of_tests_and_documentation(wheel):
    with zipfile.ZipFile(wheel) as file:
        tops = {Path(name).parts[0] for name in file.namelist()}
    assert tops == {"weal", f"weal-{weal.__version__}.dist-info"}
