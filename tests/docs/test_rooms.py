"""The rooms as Contribute and their docstrings describe them: complete, and in either colour."""

import ast
import importlib.util
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

EXTENSION = Path(__file__).parents[2] / "docs" / "_ext" / "rooms.py"
PACKAGE = EXTENSION.parents[2] / "src" / "weal"
PACKAGES = sorted({path.parent for path in PACKAGE.rglob("*/__init__.py")} - {PACKAGE})
# A name at the beginning of a line or in a column, before a colon, or in backquotes.
NAME = re.compile(r"^ *(\w+)/?(?= )|(\w+)(?=/?  |: )|`(\w+)", re.MULTILINE)


@pytest.fixture(scope="module")
def rooms():
    pytest.importorskip("sphinx")
    spec = importlib.util.spec_from_file_location("rooms", EXTENSION)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_figure_has_every_room_and_every_step_once(rooms):
    drawn = ElementTree.fromstring(rooms.figure())
    words = [one.text for one in drawn.iter("text")]
    names = [room for row in rooms.layers() for room in row]
    assert sorted(one for one in words if one in names) == sorted(names)
    assert [one for one in words if one.isdigit()] == [str(n + 1) for n in range(len(rooms.way()))]


def test_every_room_is_a_room_of_the_package(rooms):
    source = EXTENSION.parents[2] / "src" / "weal"
    there = {
        path.stem for path in source.iterdir() if path.stem[0] != "_" and path.suffix != ".typed"
    }
    assert there == set(rooms.WORDS)


def test_a_step_that_is_no_longer_there_is_an_error(rooms, constants, tmp_path):
    (tmp_path / "docs" / "contribute").mkdir(parents=True)
    text = (rooms.ROOT / "docs/contribute/way.toml").read_text()
    (tmp_path / "docs/contribute/way.toml").write_text(
        text.replace("transitions:apply", "transitions:gone")
    )
    constants(rooms, ROOT=tmp_path)
    rooms.way.cache_clear()
    with pytest.raises(AttributeError, match="gone"):
        rooms.way()
    rooms.way.cache_clear()


def test_tables_name_all(rooms):
    assert all(f"`{name}`" in rooms.table() for name in rooms.WORDS)
    assert all(f"`weal[{name}]`" in rooms.extras() for name in rooms.EXTRAS)
    assert rooms.steps().startswith("1. **cli**")


def test_the_way_scores_with_the_default_function(rooms):
    from weal.core.extensions.acquisition_registry import ACQUISITIONS
    from weal.goals.learn import DEFAULT_ACQUISITION

    default = ACQUISITIONS[DEFAULT_ACQUISITION]
    assert f"{default.__module__}:{default.__name__}" in [one["at"] for one in rooms.way()]


@pytest.mark.parametrize("folder", PACKAGES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_docstring_of_a_package_names_all_of_its_modules(folder):
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) or ""
    named = {name for found in NAME.findall(text) for name in found if name}
    modules = {path.stem for path in folder.glob("*.py") if not path.stem.startswith("__")}
    modules |= {path.parent.name for path in folder.glob("*/__init__.py")}
    assert not modules - named, "add them to the list, with a short clause"
