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


@pytest.mark.filterwarnings("ignore")  # of Jupyter's own packages
def test_it_runs_in_an_empty_folder(made, tmp_path, monkeypatch):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))  # without the magic of our pages
    notebook = nbformat.reads(made["notebook_text"](), as_version=4)
    nbformat.validate(notebook)
    work = tmp_path / "work"
    work.mkdir()
    nbclient.NotebookClient(
        notebook, timeout=600, resources={"metadata": {"path": str(work)}}
    ).execute()
    with open_campaign("reactions", f"sqlite:///{work}/weal.db") as campaign:
        assert len(campaign.read_ledger().quantity().labels) == 10 + 6 + 1 + 3 * 8 + 6
        assert not campaign.suspects()
    shown = [out for cell in notebook.cells if cell.cell_type == "code" for out in cell.outputs]
    assert sum("image/png" in out.get("data", {}) for out in shown) == 3
    said = "".join(out.get("text", "") for out in shown)
    assert "A typo, or another unit?" in said
    assert "within its interval" in said
    assert "Usage:" not in said
