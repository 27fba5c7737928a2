"""The notebook of the first tutorial is what its page says, and runs."""

import os
import runpy
import sys
from pathlib import Path

import pytest

from weal import open_campaign

SCRIPT = Path(__file__).parents[2] / "scripts" / "make_notebook.py"


@pytest.fixture(scope="module")
def made():
    return runpy.run_path(str(SCRIPT))


def test_the_committed_notebook_is_made_from_the_page(made):
    again = "python scripts/make_notebook.py makes it again"
    assert made["NOTEBOOK"].read_text("utf-8") == made["notebook_text"](), again


def run(notebook, folder, monkeypatch):
    """Execute the cells in a new folder; what they show."""
    nbclient = pytest.importorskip("nbclient")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("IPYTHONDIR", str(folder / "ipython"))  # without the magic of our pages
    work = folder / "work"
    work.mkdir()
    nbclient.NotebookClient(
        notebook, timeout=600, resources={"metadata": {"path": str(work)}}
    ).execute()
    shown = [out for cell in notebook.cells if cell.cell_type == "code" for out in cell.outputs]
    said = "".join(out.get("text", "") for out in shown)
    assert "Usage:" not in said
    assert "A typo, or another unit?" in said
    with open_campaign("reactions", f"sqlite:///{work}/weal.db") as campaign:
        assert not campaign.suspects()
        return len(campaign.read_ledger().quantity().labels), shown, said


@pytest.mark.filterwarnings("ignore")  # of Jupyter's own packages
def test_its_first_week_runs_in_an_empty_folder(made, tmp_path, monkeypatch):
    """All ways in which a cell can be written; the page itself runs with the documentation."""
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.reads(made["notebook_text"](), as_version=4)
    nbformat.validate(notebook)
    [last] = [n for n, cell in enumerate(notebook.cells) if "{value} --replace" in cell.source]
    del notebook.cells[last + 1 :]
    labels, _, _ = run(notebook, tmp_path, monkeypatch)
    assert labels == 10 + 6 + 1


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_it_runs_in_an_empty_folder(made, tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.reads(made["notebook_text"](), as_version=4)
    labels, shown, said = run(notebook, tmp_path, monkeypatch)
    assert labels == 10 + 6 + 1 + 3 * 8 + 6
    assert sum("image/png" in out.get("data", {}) for out in shown) == 3
    assert "within its interval" in said
