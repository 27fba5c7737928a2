"""No test of this room touches the user's cache, data folder or scikit-learn downloads."""

import os
from pathlib import Path

import pytest

BESIDE = Path(__file__).parents[2].parent / "shared" / "data"
NAMED = os.environ.get("WEAL_DATA")


@pytest.fixture(autouse=True)
def _a_machine_without_data(tmp_path, monkeypatch):
    monkeypatch.setenv("WEAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "sklearn"))
    monkeypatch.delenv("WEAL_DATA", raising=False)


@pytest.fixture(scope="session")
def data_folder():
    """A folder with california.csv and the Malaria stand-in."""
    folder = Path(NAMED) if NAMED else BESIDE
    missing = [
        file
        for file in ("california.csv", "malaria_standin_hotspots_civ.csv")
        if not (folder / file).is_file()
    ]
    if missing:
        pytest.skip(f"no {' and no '.join(missing)}: name their folder with WEAL_DATA")
    return folder
