"""The figure and the tables of Contribute: drawn from the contract, readable in either colour."""

import importlib.util
from pathlib import Path
from xml.etree import ElementTree

import pytest

EXTENSION = Path(__file__).parents[2] / "docs" / "_ext" / "rooms.py"


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
